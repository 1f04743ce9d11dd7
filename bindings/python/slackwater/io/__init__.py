"""Prices and driving logs from the files of others.

Every reader answers prices (or stays) together with notes: a sentence for all
that was guessed, dropped, resolved or found missing. A missing price is a gap
and stays one. An error names file, row, column and value; rows are counted as
lines of the file, the header being row 1.
"""

from slackwater import _public
from slackwater.io._prices import PriceImport
from slackwater.io.entsoe import read_entsoe
from slackwater.io.nordpool import read_nordpool
from slackwater.io.octopus import read_octopus
from slackwater.io.prices_csv import read_prices_csv
from slackwater.io.simbev import VehicleStay, VehicleStays, read_simbev

__all__ = [
    "PriceImport",
    "VehicleStay",
    "VehicleStays",
    "read_entsoe",
    "read_nordpool",
    "read_octopus",
    "read_prices_csv",
    "read_simbev",
]

_public.guard(__name__)
