"""The made-up year of prices and the made-up fleet."""

from __future__ import annotations

import statistics
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import slackwater as sw
from slackwater import InputError, io, sim

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)
WEEK_START = date(2025, 10, 20)


@pytest.fixture(scope="module")
def fleet() -> io.VehicleStays:
    return sim.week_of_stays(400, week_start=WEEK_START)


def local_days(prices: sw.Prices, zone: ZoneInfo) -> Counter[date]:
    return Counter(start.astimezone(zone).date() for start, _, _ in prices.slots)


@pytest.mark.parametrize(("year", "hours"), [(2023, 8760), (2024, 8784), (2025, 8760)])
def test_a_year_has_its_hours_and_its_two_odd_days(year: int, hours: int) -> None:
    prices = sim.year_of_prices(year)
    assert len(prices) == hours
    assert prices.gaps == []
    assert prices.slots[0][0] == datetime(year - 1, 12, 31, 23, tzinfo=UTC)
    days = local_days(prices, BERLIN)
    assert Counter(days.values()) == {24: len(days) - 2, 23: 1, 25: 1}


def test_the_odd_days_follow_the_zone() -> None:
    prices = sim.year_of_prices(2025, time_zone="America/New_York", currency="USD")
    days = local_days(prices, ZoneInfo("America/New_York"))
    assert days[date(2025, 3, 9)] == 23
    assert days[date(2025, 11, 2)] == 25
    assert prices.currency == "USD"
    india = sim.year_of_prices(2025, time_zone="Asia/Kolkata")
    no_change = local_days(india, ZoneInfo("Asia/Kolkata"))
    assert set(no_change.values()) == {24}


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert sim.year_of_prices(2025, seed=7) == sim.year_of_prices(2025, seed=7)
    assert sim.year_of_prices(2025, seed=7) != sim.year_of_prices(2025, seed=8)
    first = sim.week_of_stays(5, week_start=WEEK_START, seed=7)
    assert first == sim.week_of_stays(5, week_start=WEEK_START, seed=7)
    assert first != sim.week_of_stays(5, week_start=WEEK_START, seed=8)


def test_numbers_do_not_change_between_machines_and_versions() -> None:
    slots = sim.year_of_prices(2025).slots[:4]
    assert [price for _, _, price in slots] == [0.13097, 0.1279, 0.13426, 0.13327]
    stay = sim.week_of_stays(1, week_start=WEEK_START).stays[0]
    assert stay.arrival == datetime(2025, 10, 19, 16, 55, tzinfo=UTC)
    assert stay.energy_kwh == 2.89


@pytest.mark.parametrize("seed", range(5))
def test_prices_are_plausible(seed: int) -> None:
    slots = sim.year_of_prices(2025, seed=seed).slots
    values = [price for _, _, price in slots]
    assert 0.07 < statistics.mean(values) < 0.11
    assert 0.035 < statistics.stdev(values) < 0.055
    assert 0.002 < sum(value < 0 for value in values) / len(values) < 0.06
    assert -0.2 < min(values) < 0
    assert max(values) < 0.4
    by_hour: dict[int, list[float]] = {}
    for start, _, price in slots:
        by_hour.setdefault(start.astimezone(BERLIN).hour, []).append(price)
    mean = {hour: statistics.mean(prices) for hour, prices in by_hour.items()}
    assert mean[19] > mean[8] > mean[13]
    assert mean[8] > mean[3]


def test_a_fleet_of_ten_thousand_has_as_many_rows_as_promised(fleet: io.VehicleStays) -> None:
    assert len({stay.vehicle for stay in fleet.stays}) == 400
    assert 7 * 400 <= len(fleet) <= 10 * 400
    places = Counter(stay.location for stay in fleet.stays)
    assert set(places) == {"home", "work"}
    assert 0.05 < places["work"] / len(fleet) < 0.25


def test_stays_of_a_car_follow_each_other(fleet: io.VehicleStays) -> None:
    last: dict[str, datetime] = {}
    for stay in fleet.stays:
        assert stay.arrival < stay.departure
        assert stay.arrival > last.get(stay.vehicle, stay.arrival - HOUR)
        assert stay.energy_kwh > 0
        assert 10 <= stay.soc_percent < 80
        assert stay.capacity_kwh is not None
        assert stay.energy_kwh <= 0.7 * stay.capacity_kwh / 0.9 + 0.01
        last[stay.vehicle] = stay.departure
    first = datetime(2025, 10, 19, tzinfo=BERLIN)
    assert min(stay.arrival for stay in fleet.stays) > first
    assert max(last.values()) < datetime(2025, 10, 27, 12, tzinfo=BERLIN)


def test_people_come_home_in_the_evening(fleet: io.VehicleStays) -> None:
    arrivals = Counter(
        stay.arrival.astimezone(BERLIN).hour for stay in fleet.stays if stay.location == "home"
    )
    assert arrivals.most_common(1)[0][0] in range(15, 20)
    assert sum(arrivals[hour] for hour in range(5)) == 0


def test_a_week_is_about_what_cars_use(fleet: io.VehicleStays) -> None:
    energy_kwh = sum(stay.energy_kwh for stay in fleet.stays) / 400
    assert 35 < energy_kwh < 80


def test_a_larger_fleet_starts_with_the_smaller_one() -> None:
    small = sim.week_of_stays(3, week_start=WEEK_START)
    large = sim.week_of_stays(6, week_start=WEEK_START)
    assert large.stays[: len(small)] == small.stays


def test_a_fleet_can_be_planned_as_it_is(fleet: io.VehicleStays) -> None:
    plans = pa.table(sw.plan_batch(fleet, sim.year_of_prices(2025)))
    statuses = Counter(plans.column("status").to_pylist())
    assert statuses["error"] == 0
    assert statuses["shortfall"] < 0.02 * len(fleet)


@pytest.fixture(scope="module")
def day() -> dict[str, list[io.VehicleStay]]:
    """Stays of one day by the kind of place."""
    found: dict[str, list[io.VehicleStay]] = {"home": [], "work": [], "depot": []}
    for stay in sim.fleet(8_000, seed=4).stays:
        found[stay.location or ""].append(stay)
    return found


def clock(at: datetime) -> float:
    """Hours since the midnight before the fifth of January in Berlin."""
    return (at - datetime(2026, 1, 5, tzinfo=BERLIN)) / HOUR


# As the table of `sim.fleet` has them: share, mean hour and deviation of the arrival and of
# the departure (at work: of the length of the stay), median energy.
@pytest.mark.parametrize(
    ("place", "share", "arrival", "departure", "median_kwh"),
    [
        ("home", 0.75, (17.75, 2.17), (31.5, 1.25), 7.5),
        ("work", 0.15, (8.33, 0.75), (8.3, 1.2), 9),
        ("depot", 0.10, (17.25, 1.33), (30.25, 0.58), 30),
    ],
)
def test_a_day_of_a_fleet_is_as_its_table_says(
    day: dict[str, list[io.VehicleStay]],
    place: str,
    share: float,
    arrival: tuple[float, float],
    departure: tuple[float, float],
    median_kwh: float,
) -> None:
    stays = day[place]
    assert len(stays) / 8_000 == pytest.approx(share, abs=0.015)
    comes = [clock(stay.arrival) for stay in stays]
    leaves = [clock(stay.departure) for stay in stays]
    if place == "work":
        leaves = [end - start for start, end in zip(comes, leaves, strict=True)]
    for hours, (mean, deviation) in ((comes, arrival), (leaves, departure)):
        assert statistics.mean(hours) == pytest.approx(mean, abs=0.15)
        assert statistics.stdev(hours) == pytest.approx(deviation, rel=0.1)
    # What a stay cannot deliver is cut off, above all at sockets.
    energies = [stay.energy_kwh for stay in stays]
    assert statistics.median(energies) == pytest.approx(median_kwh, rel=0.04)


def test_nobody_of_a_fleet_is_short_alone(day: dict[str, list[io.VehicleStay]]) -> None:
    stays = [stay for of_place in day.values() for stay in of_place]
    for stay in stays:
        hours = (stay.departure - stay.arrival) / HOUR
        assert 0 < stay.energy_kwh <= 0.9 * stay.power_max_kw * hours + 0.005
    powers = {place: {stay.power_max_kw for stay in of_place} for place, of_place in day.items()}
    assert powers == {"home": {2.3, 3.7, 7.4, 11, 22}, "work": {7.4, 11, 22}, "depot": {11, 22}}


def test_a_fleet_of_a_seed_is_always_the_same() -> None:
    first = sim.fleet(20, seed=7)
    assert first == sim.fleet(20, seed=7)
    assert first != sim.fleet(20, seed=8)
    assert sim.fleet(40, seed=7).stays[:20] == first.stays
    assert len({stay.id for stay in first.stays}) == 20
    # On every machine, and in every version that does not say otherwise.
    stay = sim.fleet(1).stays[0]
    assert (stay.arrival, stay.energy_kwh) == (datetime(2026, 1, 5, 16, 43, tzinfo=UTC), 28.02)


def test_a_fleet_follows_the_clocks_of_its_zone() -> None:
    stays = sim.fleet(200, day=date(2025, 10, 25), time_zone="America/New_York").stays
    zone = ZoneInfo("America/New_York")
    assert {stay.arrival.astimezone(zone).date() for stay in stays} == {date(2025, 10, 25)}


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="vehicles is -1"):
        sim.fleet(-1)
    with pytest.raises(InputError, match="time zone 'Mars' is unknown"):
        sim.fleet(1, time_zone="Mars")
    with pytest.raises(InputError, match="time zone 'Mars' is unknown"):
        sim.year_of_prices(2025, time_zone="Mars")
    with pytest.raises(InputError, match="vehicles is -1"):
        sim.week_of_stays(-1, week_start=WEEK_START)
