"""A price of emissions from options of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import slackwater as sw
from slackwater._engine import InputError
from slackwater.cli.files import read_periods


@dataclass(frozen=True)
class CarbonOptions:
    """What the command line says about emissions; ``None`` where an option is missing.

    Attributes:
        file: Table of the carbon intensity over time.
        unit: Unit of its values.
        price_per_kg: Money per kg of CO2.
        time_zone: IANA name of the zone whose clocks times without an offset show.
    """

    file: Path | None
    unit: str | None
    price_per_kg: float | None
    time_zone: str | None

    def read(self) -> sw.Carbon | None:
        """Read the intensity; ``None`` if nothing was said of emissions.

        Raises:
            InputError: An option is missing beside the others, or as :meth:`Series.from_series`.
            OSError: The file cannot be read.
        """
        given = {
            "--carbon": self.file,
            "--carbon-unit": self.unit,
            "--carbon-price-per-kg": self.price_per_kg,
        }
        missing = [option for option, value in given.items() if value is None]
        if len(missing) == len(given):
            return None
        if self.file is None or self.unit is None or self.price_per_kg is None:
            first = next(option for option in given if option not in missing)
            raise InputError(f"{first} needs {' and '.join(missing)}")
        rows = read_periods(self.file)
        try:
            intensity = sw.Series.from_series(rows, unit=self.unit, time_zone=self.time_zone)
        except (InputError, TypeError) as error:
            raise InputError(f"{self.file}: {error}") from None
        return sw.Carbon(price_per_kg=self.price_per_kg, intensity=intensity)
