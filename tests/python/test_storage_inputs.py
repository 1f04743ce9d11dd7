"""Whatever numbers and times are given: a plan, or an error that says why."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(0, 100),
    st.sampled_from([0.0, -0.0, 1e-300, 1e-9, 1e7, 1e12, 1e300]),
)
MINUTES = st.integers(-3000, 3000)
PRICE = st.one_of(st.floats(-1, 1), st.sampled_from([0.0, 1e-9, -1e12, 1e12]))
TIMES = st.builds(lambda minutes: SIX + timedelta(minutes=minutes), MINUTES)


def curve(values: list[float]) -> sw.Prices:
    """Hours from six on."""
    return sw.Prices.from_values(SIX, values, currency="EUR")


ROWS_OF_LIMITS = st.tuples(TIMES, TIMES, *[st.none() | NUMBERS] * 4)


@settings(max_examples=300, deadline=None)
@given(
    values=st.lists(PRICE, max_size=8),
    selling=st.none() | st.lists(PRICE, max_size=8),
    numbers=st.lists(NUMBERS, min_size=9, max_size=9),
    targets=st.lists(st.builds(sw.SocTarget, st.none() | TIMES, st.none() | NUMBERS), max_size=3),
    consumption=st.lists(st.tuples(TIMES, TIMES, NUMBERS, st.booleans()), max_size=2),
    limits=st.lists(ROWS_OF_LIMITS, max_size=2),
    now=TIMES,
    until=st.none() | TIMES,
)
def test_any_numbers_plan_or_are_refused(
    values: list[float],
    selling: list[float] | None,
    numbers: list[float],
    now: datetime,
    until: datetime | None,
    **lists: Any,
) -> None:
    """Nothing panics, and what is planned is finite."""
    capacity, soc, limit, efficiency, out, power, power_out, reserve, value = numbers
    try:
        plan = sw.plan_storage(
            curve(values),
            export_prices=None if selling is None else curve(selling),
            now=now,
            until=until,
            battery=sw.Battery(capacity, soc, limit, efficiency),
            discharge_efficiency=out,
            power_max_kw=power,
            discharge_max_kw=power_out,
            reserve_percent=reserve,
            end_value_per_kwh=value,
            **lists,
        )
    except sw.InputError:
        return
    assert math.isfinite(plan.cost)
    assert math.isfinite(plan.certificate.gap)
    assert 0 <= plan.soc_percent_by(SIX) <= 100
    assert len(plan.explain()) >= 0
    assert "StoragePlan(" in repr(plan)


@settings(max_examples=200, deadline=None)
@given(
    values=st.lists(PRICE, min_size=1, max_size=8),
    numbers=st.lists(NUMBERS, min_size=9, max_size=9),
    arrival=TIMES,
    departure=TIMES,
)
def test_any_row_is_planned_or_says_why(
    values: list[float], numbers: list[float], arrival: datetime, departure: datetime
) -> None:
    """A row has numbers or an error, never neither."""
    names = (
        "capacity_kwh",
        "soc_percent",
        "target_percent",
        "efficiency",
        "discharge_efficiency",
        "power_max_kw",
        "discharge_max_kw",
        "reserve_percent",
        "end_value_per_kwh",
    )
    row = {"id": [1], "arrival": [arrival], "departure": [departure]}
    columns = row | {name: [value] for name, value in zip(names, numbers, strict=True)}
    prices = curve(values)
    [answer] = pa.table(sw.plan_storage_batch(pa.table(columns), prices, prices)).to_pylist()
    assert (answer["error"] is None) == (answer["cost"] is not None)
    assert answer["cost"] is None or math.isfinite(answer["cost"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"power_max_kw": -1}, "power_max_kw is -1 kW; it is 0 kW or more"),
        ({"discharge_max_kw": math.nan}, "discharge_max_kw: NaN kW is not a finite number"),
        ({"discharge_efficiency": 0}, "discharge_efficiency is 0; it lies between 0.01 and 1"),
        ({"limits": [(SIX, SIX)]}, "limits[0] ends at"),
        ({"limits": [(SIX, SIX + timedelta(1), -2)]}, "limits[0].power_max_kw is -2 kW"),
        ({"consumption": [(SIX, SIX + timedelta(1), -2)]}, "consumption[0].energy_kwh is -2 kWh"),
        ({"consumption": [(SIX, SIX + timedelta(1), 1)] * 2}, "consumption: slot 1 starts at"),
        ({"wear_price_per_kwh": -0.1}, "wear_price_per_kwh is -0.1 per kWh"),
        (
            {"targets": [sw.SocTarget(None, 101)]},
            "targets[0].soc_percent: 101 % is outside 0 to 100 %",
        ),
        ({"battery": sw.Battery(10, None)}, "soc_percent is not known"),
        ({"after_deadline": "later"}, "after_deadline is"),
    ],
)
def test_errors_name_field_value_and_unit(change: dict[str, Any], message: str) -> None:
    """One clause, with what was given."""
    wishes: dict[str, Any] = {
        "now": SIX,
        "battery": sw.Battery(10, 50),
        "power_max_kw": 4,
        "discharge_max_kw": 4,
    }
    with pytest.raises(sw.InputError) as caught:
        sw.plan_storage(curve([0.1]), **(wishes | change))
    assert message in str(caught.value)


def test_naive_times_are_type_errors() -> None:
    """A time without a zone is no instant."""
    battery = sw.Battery(10, 50)
    with pytest.raises(TypeError, match="time zone"):
        sw.plan_storage(
            curve([0.1]),
            now=datetime(2026, 1, 5, 18),  # noqa: DTZ001  the point of the test
            battery=battery,
            power_max_kw=4,
            discharge_max_kw=4,
        )


@pytest.mark.parametrize(
    ("prices", "export_prices", "message"),
    [
        ({}, {}, "prices holds no price curve"),
        ({"a": curve([0.1])}, {}, "export_prices holds no price curve; leave it out"),
        (
            {"a": curve([0.1])},
            {"b": curve([0.2])},
            "export_prices has 'b', which prices lacks: 'a'",
        ),
        (curve([0.1]), {}, "export_prices is a mapping where prices is not"),
    ],
)
def test_prices_of_a_table_that_no_vehicle_can_have_are_refused(
    prices: Any, export_prices: Any, message: str
) -> None:
    rows = pa.table(
        {
            "id": [1],
            "price_id": ["a"],
            "arrival": [SIX],
            "departure": [SIX + timedelta(hours=1)],
            "capacity_kwh": [10.0],
            "soc_percent": [50.0],
            "power_max_kw": [4.0],
            "discharge_max_kw": [4.0],
        }
    )
    with pytest.raises(sw.InputError, match=re.escape(message)):
        sw.plan_storage_batch(rows, prices, export_prices)
