"""The page about houses of OCHRE says what was measured, and what follows from it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from houses_page import HouseResult, WinterRun, write_page


def run(bill: float, *, below: float = 0.0, above: float = 0.0) -> WinterRun:
    return WinterRun(bill, bill * 10, below, above, 21.0)


HOUSE = HouseResult(
    building="hut",
    climate="Denver",
    heating="heat pump",
    has_set_back=False,
    loss_kw_per_k=(0.1, 0.09, 0.11),
    capacity_kwh_per_k=(5.0, 4.0, 6.0),
    fit_rmse_celsius=0.5,
    mismatch_6h_celsius=1.25,
    own=run(100.0, below=2.0),
    lowest=run(90.0),
    planned=run(80.0, below=1.0, above=1.0),
)


def test_a_saving_is_a_share_of_the_thermostat_that_it_is_compared_with() -> None:
    assert HOUSE.saving == pytest.approx(0.2)
    assert HOUSE.saving_by_timing == pytest.approx(1 - 80 / 90)


def test_degree_hours_on_both_sides_of_the_band_count() -> None:
    assert HOUSE.is_as_comfortable
    assert not replace(HOUSE, planned=run(80.0, below=1.0, above=1.1)).is_as_comfortable


def test_the_page_has_each_house_and_the_sums_of_all() -> None:
    other = replace(HOUSE, building="barn", has_set_back=True, planned=run(110.0, below=3.0))
    page = write_page([HOUSE, other], "0.9.2", "2.0.0")
    row = "| hut, Denver, heat pump | 100 | 80 | 20.0% | 11.1% | 2.0 | 2.0 | 21.0 | 21.0 |"
    assert row in page
    assert "| barn, Denver, heat pump, set-back at night | 100 | 110 | -10.0% | -22.2% |" in page
    model = "0.100 (0.090 to 0.110) | 5.0 (4.0 to 6.0) | 50 | 0.50 | 1.25 |"
    assert page.count(model) == 2
    # 190 of 200, and of 180 at the lower edge.
    assert "The plans of the 2 houses cost 5.0% less than their thermostats" in page
    assert "the median house 5.0% less. In 1 houses they save 15% or more, and 1 have" in page
    assert "plans save -5.6%" in page
