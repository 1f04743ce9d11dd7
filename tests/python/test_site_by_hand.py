"""Sites whose plans are worked out by hand, one feature at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import slackwater as sw

from site_model import HOUR, START

HALF = HOUR / 2


def prices(*values: float, slot: timedelta = HOUR) -> sw.Prices:
    return sw.Prices.from_values(START, values, currency="EUR", slot=slot)


def van(kwh: float | None = None, name: str = "van", **more: Any) -> sw.Vehicle:
    """A vehicle of 11 kW with one wish for the end of the prices."""
    targets = [] if kwh is None else [sw.Target(None, kwh)]
    arguments: dict[str, Any] = {"power_max_kw": 11, "targets": targets} | more
    return sw.Vehicle(name, **arguments)


def plan(curve: sw.Prices, *devices: sw.site_devices.Device, **more: Any) -> sw.SitePlan:
    arguments: dict[str, Any] = {"now": START, "devices": list(devices)} | more
    return sw.plan_site(curve, **arguments)


def causes(plan: sw.SitePlan, name: str) -> list[tuple[str, str | None]]:
    return [(cause.code, cause.limit) for cause in plan.device(name).wishes[0].causes]


def test_a_reserve_is_reached_at_once_at_any_price() -> None:
    # 4 of 40 kWh are there, 10 are to be: two hours of 3 kW, at 0.5 and 0.4.
    car = van(power_max_kw=3, battery=sw.Battery(40, 10), reserve_percent=25)
    found = plan(prices(0.5, 0.4, 0.1, 0.1), car)
    assert found.devices[0].power_kw == pytest.approx([3, 3, 0, 0])
    assert found.cost == pytest.approx(2.7)


def test_a_reserve_that_is_there_is_not_sold() -> None:
    # 24 of 40 kWh are there and 20 are kept: 4 kWh are sold at 0.9.
    car = van(
        battery=sw.Battery(40, 60, efficiency=1.0),
        reserve_percent=50,
        discharge=sw.Discharge(discharge_max_kw=10, discharge_efficiency=1.0),
    )
    curve = prices(0.9, 0.9)
    found = plan(curve, car, export_prices=curve)
    assert found.cost == pytest.approx(-3.6)
    assert min(found.devices[0].soc_percent) == pytest.approx(50)


@pytest.mark.parametrize(
    ("values", "cost"),
    [
        # 4 kWh are there, and below 8 nothing is given back: 2 kW for one hour do not get there.
        ((0.1, 0.9), 0.0),
        # Three hours do: 10 kWh, of which 2 are sold. 3 x 2 x 0.1 - 2 x 0.9.
        ((0.1, 0.1, 0.1, 0.9), -1.2),
    ],
)
def test_below_the_least_state_of_charge_nothing_is_given_back(
    values: tuple[float, ...], cost: float
) -> None:
    car = van(
        power_max_kw=2,
        battery=sw.Battery(40, 10, efficiency=1.0),
        discharge=sw.Discharge(discharge_max_kw=2, discharge_efficiency=1.0, soc_min_percent=20),
    )
    curve = prices(*values)
    found = plan(curve, car, export_prices=curve)
    assert found.cost == pytest.approx(cost)
    assert found.certificate.gap == pytest.approx(0, abs=1e-6)


def test_preferences_spend_their_budget_and_no_more() -> None:
    # All in the second hour costs 1.0. Each kWh an hour earlier costs 0.1 more: 3 kWh for 0.3.
    found = plan(prices(0.2, 0.1), van(10), preference_budget=0.3)
    assert found.devices[0].power_kw == pytest.approx([3, 7])
    assert found.cost == pytest.approx(1.3)
    assert found.certificate.is_proved
    assert found.certificate.bound == pytest.approx(1.0)


def test_only_the_periods_of_a_demand_charge_count() -> None:
    # Charged at all times, the halves balance: 5 x 0.1 + 5 x 0.3 + 5 x 1.
    charge: dict[str, Any] = {"peak_price_per_kw": 1.0, "window": HOUR}
    found = plan(prices(0.1, 0.3), van(10), demand_charge=sw.DemandCharge(**charge))
    assert (found.cost, found.peak_kw) == pytest.approx((7, 5))
    # Charged in the first hour only, all goes to the second: 10 x 0.3.
    masked = sw.DemandCharge(**charge, periods=[(START, START + HOUR)])
    found = plan(prices(0.1, 0.3), van(10), demand_charge=masked)
    assert found.devices[0].power_kw == pytest.approx([0, 10])
    assert (found.cost, found.peak_kw) == pytest.approx((3, 0))


def test_part_of_a_window_is_already_used() -> None:
    # 4 kWh were imported from 12:00 to 12:30, and 6 kW are paid for: 2 kWh more, then 3.
    charge = sw.DemandCharge(
        peak_price_per_kw=10, peak_incurred_kw=6, window=HOUR, window_energy_kwh=4
    )
    found = plan(prices(0.1, 0.3), van(5), now=START + HALF, demand_charge=charge)
    assert found.devices[0].power_kw == pytest.approx([4, 3])
    assert (found.costs.demand, found.cost, found.peak_kw) == pytest.approx((0, 1.1, 6))


def test_a_peak_in_the_window_of_now_is_paid_whatever_comes() -> None:
    # 8 kWh in half an hour are a mean of 8 kW already, 2 above the 6 that were paid for.
    charge = sw.DemandCharge(
        peak_price_per_kw=10, peak_incurred_kw=6, window=HOUR, window_energy_kwh=8
    )
    found = plan(prices(0.1, 0.3), van(5), now=START + HALF, demand_charge=charge)
    assert (found.costs.demand, found.peak_kw) == pytest.approx((20, 8))
    assert found.devices[0].power_kw == pytest.approx([0, 5])
    assert found.certificate.is_proved


def test_a_window_averages_its_quarters() -> None:
    # 3 kW are paid for, so each hour takes 3 kWh, within it at 11 kW when it is cheapest:
    # 3 x 0.1 + 3 x 0.2.
    charge = sw.DemandCharge(peak_price_per_kw=5, peak_incurred_kw=3, window=HOUR)
    curve = prices(0.4, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2, slot=HOUR / 4)
    found = plan(curve, van(6), demand_charge=charge)
    assert found.devices[0].power_kw == pytest.approx([0, 11, 1, 0, 11, 1, 0, 0])
    assert (found.cost, found.peak_kw) == pytest.approx((0.9, 3))


@pytest.mark.parametrize(("day", "hours"), [((2026, 4, 5), 25), ((2026, 10, 4), 23)])
def test_a_day_of_half_hour_offset_is_as_long_as_it_is(
    day: tuple[int, int, int], hours: int
) -> None:
    # Midnight in Adelaide is half past in UTC, and windows of 30 minutes begin there too. A peak
    # that costs more than any hour spreads 2 kWh over each hour of the day.
    adelaide = ZoneInfo("Australia/Adelaide")
    start = datetime(*day, tzinfo=adelaide)
    end = datetime(day[0], day[1], day[2] + 1, tzinfo=adelaide)
    count = (end.astimezone(UTC) - start.astimezone(UTC)) // HOUR
    assert count == hours
    curve = sw.Prices.from_values(start, [0.1 + i / 100 for i in range(count)], currency="AUD")
    charge = sw.DemandCharge(peak_price_per_kw=100, window=HALF)
    found = plan(curve, van(2 * count), now=start, demand_charge=charge)
    assert found.devices[0].power_kw == pytest.approx([2.0] * (2 * count))
    assert found.costs.demand == pytest.approx(200)


def test_of_nested_limits_the_one_that_binds_is_named() -> None:
    inner: dict[str, Any] = {"group": "inner", "power_max_kw": 11}
    groups = [sw.Group("outer", limit_kw=20), sw.Group("inner", limit_kw=5, parent="outer")]
    devices = [van(4, "a", **inner), van(4, "b", **inner), van(4, "c", group="outer", priority=2)]
    # The inner limit leaves 5 of 8 kWh.
    found = plan(prices(0.1), *devices, groups=groups)
    assert found.shortfall_kwh == pytest.approx(3)
    short = [d.name for d in found.devices if d.shortfall_kwh > 0]
    assert short
    assert [causes(found, name) for name in short] == [[("limit", "inner")]] * len(short)
    # The outer one leaves 8 of 12 kWh, 4 of them to the one that weighs more.
    tight = [sw.Group("outer", limit_kw=8), groups[1]]
    found = plan(prices(0.1), *devices, groups=tight)
    assert found.device("c").shortfall_kwh == 0
    assert found.shortfall_kwh == pytest.approx(4)
    outer = [("limit", "outer"), ("priority", None)]
    for name in (d.name for d in found.devices if d.shortfall_kwh > 0):
        assert causes(found, name) == outer


def test_three_phases_share_one_conductor_with_a_single_one() -> None:
    # 20 A at 230 V are 4.6 kW a conductor. The large one takes 11.04 kW on three, 3.68 on L1;
    # the small one has the 0.92 kW that are left there. The other way round 5.52 kWh less flow.
    large = sw.Vehicle("large", amps=16, targets=[sw.Target(None, 11.04)], group="fuse")
    small = sw.Vehicle(
        "small", amps=16, phases=("L1",), targets=[sw.Target(None, 3.68)], group="fuse"
    )
    found = plan(prices(0.1), large, small, groups=[sw.Group("fuse", amps=20)])
    assert [d.power_kw[0] for d in found.devices] == pytest.approx([11.04, 0.92])
    (cause,) = found.device("small").wishes[0].causes
    assert (cause.code, cause.limit, cause.phase) == ("limit", "fuse", "l1")


def test_a_taper_holds_at_the_end_of_each_slot() -> None:
    # 5 of 10 kWh; 10 kW at 50 %, none at 100 %: 20 - 2 x level. In an hour c <= 20 - 2 (5 + c),
    # so 10/3; then c <= 20 - 2 (25/3 + c), so 10/9. Of 5 kWh 5/9 are missing.
    car = van(
        power_max_kw=20,
        battery=sw.Battery(10, 50, efficiency=1.0),
        targets=[sw.SocTarget(None, 100)],
        taper=[(50, 10), (100, 0)],
    )
    found = plan(prices(0.1, 0.2), car)
    assert found.devices[0].power_kw == pytest.approx([10 / 3, 10 / 9])
    assert found.shortfall_kwh == pytest.approx(5 / 9)
    assert causes(found, "van") == [("own_limits", None)]


def test_an_export_limit_turns_sunshine_down() -> None:
    house = sw.Load("house", power_kw=1)
    more: dict[str, Any] = {"export_prices": prices(0.2), "export_limit_kw": 4}
    found = plan(prices(0.3), sw.Solar("roof", power_kw=10), house, **more)
    assert (found.cost, found.slots[0].export_kwh) == pytest.approx((-0.8, 4))
    assert found.limits[0].shadow_price_per_kwh == pytest.approx([0.2])
    # What cannot be turned down passes the limit by 5 kW, and that is named.
    found = plan(prices(0.3), sw.Solar("roof", power_kw=10, is_curtailable=False), house, **more)
    (breach,) = found.breaches
    assert (breach.name, breach.is_hard) == ("export", True)
    assert breach.excess_kw == pytest.approx(5)
    assert found.cost == pytest.approx(-1.8)


def test_a_priced_limit_is_passed_where_that_is_cheaper() -> None:
    # A kWh above the limit costs 0.1 + 0.5, less than 0.9 an hour later: 10 x 0.1 + 6 x 0.5.
    found = plan(prices(0.1, 0.9), van(10), import_limit_kw=4, import_breach_price_per_kwh=0.5)
    (breach,) = found.breaches
    assert (breach.start, breach.is_hard) == (START, False)
    assert breach.excess_kw == pytest.approx(6)
    assert (found.cost, found.costs.breach) == pytest.approx((4, 3))
    assert found.limits[0].shadow_price_per_kwh == pytest.approx([0.5, 0])


def test_a_run_may_end_where_a_price_changes() -> None:
    # 90 minutes of 2 kW: from 12:30 half an hour at 0.3 and one at 0.1, which is 0.3 + 0.2.
    washer = sw.ShiftableLoad("washer", power_kw=2, duration=1.5 * HOUR)
    found = plan(prices(0.3, 0.1, 0.5), washer)
    assert found.cost == pytest.approx(0.5)
    (interval,) = found.devices[0].intervals
    assert (interval.start, interval.end) == (START + HALF, START + 2 * HOUR)


def test_too_little_room_for_the_least_power_is_named() -> None:
    # 3 kW are there, and the vehicle takes 4 or nothing.
    found = plan(prices(0.1), van(4, power_min_kw=4), import_limit_kw=3)
    assert found.shortfall_kwh == pytest.approx(4)
    assert causes(found, "van") == [("limit", "import")]


def test_a_breach_of_milliwatts_stops_nobody() -> None:
    # The house is 5 mW above 4 kW in the first hour; the second has 4 kWh for the vehicles.
    house = sw.Load("house", power_kw=[4.000005, 0])
    found = plan(prices(0.1, 0.1), house, van(10, "a"), van(10, "b"), import_limit_kw=4)
    assert found.shortfall_kwh == pytest.approx(16, abs=1e-4)
    assert found.status == "optimal"


def test_a_block_that_is_paid_for_is_not_bought_to_be_sold() -> None:
    # In the first block a kWh earns 0.2 when bought. The vehicle buys its 3 kWh in the second
    # hour and leaves 3 kWh of sunshine to be sold: -3 x 0.2 - 3 x 0.05.
    found = plan(
        prices(0.1, 0.1), sw.Solar("roof", power_kw=[3, 0], is_curtailable=False), van(3),
        export_prices=prices(0.05, 0.05), tiers=sw.Tiers(blocks=[(5, -0.3), (None, 0.0)]),
    )  # fmt: skip
    assert found.cost == pytest.approx(-0.75)
    assert all(min(slot.import_kwh, slot.export_kwh) == 0 for slot in found.slots)
    assert found.certificate.gap == pytest.approx(0, abs=1e-6)


def test_windows_divide_a_day() -> None:
    charge = sw.DemandCharge(peak_price_per_kw=1, window=timedelta(minutes=50))
    with pytest.raises(sw.InputError, match="50 minutes"):
        plan(prices(0.1), demand_charge=charge)


def test_a_clock_that_ends_at_once_still_charges_and_says_so() -> None:
    # What needs a search: each takes 6 kW or nothing, and one fits at a time.
    devices = [van(13 + i, f"van {i}", power_min_kw=6) for i in range(6)]
    curve = prices(*(0.1 + (i * 7 % 5) / 10 for i in range(12)))
    found = plan(curve, *devices, import_limit_kw=17, time_max=timedelta(0))
    assert found.status == "time_reached"
    assert not found.is_reproducible
    assert found.certificate.gap > 0
    assert not found.breaches
