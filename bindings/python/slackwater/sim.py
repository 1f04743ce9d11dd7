"""Made-up prices and a made-up fleet, for demonstrations and notebooks.

Everything is drawn from :class:`random.Random` of the standard library, so no
other package is needed and the same seed gives the same numbers on every
machine. The distributions are written down with the functions. They are
plausible, not fitted: do not draw conclusions about a real grid from them.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from slackwater import _public
from slackwater._engine import InputError
from slackwater.io import VehicleStay, VehicleStays
from slackwater.prices import Prices

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = timedelta(hours=1)
SATURDAY = 5

# Of the whole fleet: usable capacity in kWh, and kW of the charger at home.
# Each value is drawn as often as it is listed.
CAPACITIES_KWH = (40.0, 52.0, 58.0, 58.0, 64.0, 77.0, 77.0, 82.0)
HOME_POWERS_KW = (2.3, 3.7, 3.7, 7.4, 7.4, 11.0, 11.0, 11.0, 11.0, 22.0)
WORK_POWERS_KW = (3.7, 11.0, 11.0, 22.0)

TARGET_PERCENT = 80.0
PLUGS_IN_AT_WORK_BELOW_PERCENT = 78.0
CHARGES_ON_THE_WAY_BELOW_PERCENT = 10.0
EFFICIENCY = 0.9

# Years whose local midnights lie in the calendar of Python, in any zone.
YEAR_MIN, YEAR_MAX = 10, 9990


def year_of_prices(
    year: int = 2025,
    *,
    time_zone: str = "Europe/Berlin",
    currency: str = "EUR",
    seed: int = 0,
) -> Prices:
    """Make up hourly day-ahead prices for a whole civil year.

    The year runs from local midnight to local midnight: 8760 slots, 8784 in a
    leap year, of which the day of the spring change has 23 and that of the
    autumn change 25. People follow clocks, so the shape of a day does too.

    A price per kWh is the sum of

    - a level of 0.100 with a winter that is 0.020 above and a summer that is
      0.020 below it;
    - the habits of a day: a peak of 0.020 around 08:00, one of 0.040 around
      19:00, and a night 0.018 below;
    - sun: a valley around 13:30, shallow in winter and deep in summer, scaled
      by the cloud cover of the day;
    - a weekend, 0.022 cheaper;
    - wind and weather: a first-order autoregression by the hour with a time
      constant of 60 hours and a standard deviation of 0.032;
    - noise with a standard deviation of 0.004.

    The numbers are chosen so that mean (about 0.09), spread (about 0.043), the
    correlation of one day's mean with the next (about 0.7) and the share of
    negative hours (1 to 3 %) resemble day-ahead prices in Belgium and Germany
    in 2023. They are rounded to 0.01 per MWh, the step of the exchanges.

    Args:
        year: The civil year.
        time_zone: IANA name of the zone whose year it is.
        currency: Name of the currency.
        seed: Another seed gives another year.

    Returns:
        Prices without a gap.

    Raises:
        InputError: The time zone is unknown.

    Example:
        >>> prices = year_of_prices(2025, time_zone="Europe/Berlin")
        >>> len(prices), prices.gaps
        (8760, [])
        >>> len(year_of_prices(2024))
        8784
    """
    zone = _zone(time_zone)
    if not YEAR_MIN <= year <= YEAR_MAX:
        raise InputError(f"year is {year}; it lies from {YEAR_MIN} to {YEAR_MAX}")
    start = datetime(year, 1, 1, tzinfo=zone).astimezone(UTC)
    end = datetime(year + 1, 1, 1, tzinfo=zone).astimezone(UTC)
    hours = [(start + number * HOUR).astimezone(zone) for number in range((end - start) // HOUR)]
    return Prices.from_values(start, list(_hourly_prices(hours, Random(seed))), currency=currency)


def _hourly_prices(hours: list[datetime], random: Random) -> Iterator[float]:
    memory = math.exp(-1 / 60)
    surprise = 0.032 * math.sqrt(1 - memory**2)
    weather = random.gauss(0, 0.032)
    sun, today = 0.0, None
    for local in hours:
        if local.date() != today:
            today, sun = local.date(), random.uniform(0.2, 1.4)
        weather = memory * weather + random.gauss(0, surprise)
        winter = math.cos(2 * math.pi * (local.timetuple().tm_yday - 20) / 365.25)
        hour = local.hour + 0.5
        price = (
            0.100
            + 0.020 * winter
            + 0.020 * _bump(hour, 8.0, 1.8)
            + 0.040 * _bump(hour, 19.5, 2.0)
            - 0.018 * _bump(hour, 3.5, 2.6)
            - (0.040 - 0.030 * winter) * sun * _bump(hour, 13.5, 2.6)
            - (0.022 if local.weekday() >= SATURDAY else 0)
            + weather
            + random.gauss(0, 0.004)
        )
        yield round(price, 5)


def _bump(hour: float, middle: float, width: float) -> float:
    return math.exp(-0.5 * ((hour - middle) / width) ** 2)


def week_of_stays(
    vehicles: int,
    *,
    week_start: date,
    time_zone: str = "Europe/Berlin",
    seed: int = 0,
) -> VehicleStays:
    """Make up a week of stays at a charger for a fleet of private cars.

    Each car is drawn by itself, so the first cars of a larger fleet are those
    of a smaller one. A stay is a row for :func:`slackwater.plan_batch`; it
    wants the car at 80 % when it leaves, counted at the plug with an
    efficiency of 0.9. There are about seven stays a car.

    What is drawn, and why:

    - **Cars.** Capacity of 40 to 82 kWh, as sold for some years. Consumption
      is normal around 0.19 kWh/km, cut at 0.14 and 0.26.
    - **Chargers.** At home 2.3 kW (a household socket, one in ten), 3.7, 7.4,
      11 (four in ten) or 22 kW. Two commuters in five find one at work.
    - **Commuters**, two cars in three: on nine workdays in ten they leave
      within a quarter of an hour of a habit of their own (normal around
      07:24, deviation 48 minutes), drive a log-normal distance with median
      14 km and mean 18 km, stay for about 8.6 hours, and on a third of all
      ways home do an errand.
    - **Other days**: a car moves on 65 % of workdays and 70 % of weekend
      days, mostly once, late in the morning, for a log-normal 24 km (median)
      and some hours. Surveys of German and European drivers find close to
      half of all cars idle on a given day and 40 to 80 km on days of use;
      electric cars stand mostly with people who drive, so ours move more.
    - **Habits of charging**: every car is plugged in whenever it is at home,
      since that is what a plan needs; at work only below 78 %. A car that
      comes below 10 % has charged on the way.
    - **Before the week** cars were out for a log-normal 24 km, and came home
      around 18:00, give or take two hours, from a level of 80 %.
    - **Between stays** a car holds what its charger could deliver, so one on
      a household socket starts its next trip with less.

    Times are whole minutes. The first stay of a car begins on the evening
    before the week, the last one ends on the morning after it.

    Args:
        vehicles: Number of cars.
        week_start: First day; which days are a weekend follows from it.
        time_zone: IANA name of the zone on whose clocks people live. A time
            that clocks skip takes the offset before the jump.
        seed: Another seed gives another fleet.

    Returns:
        All stays, car by car, oldest first.

    Raises:
        InputError: The time zone is unknown, or ``vehicles`` is negative.

    Example:
        >>> from datetime import date
        >>> stays = week_of_stays(2, week_start=date(2025, 10, 20))
        >>> first = stays.stays[0]
        >>> first.id, first.location, first.power_max_kw
        ('car-00001/1', 'home', 7.4)
    """
    return _private_cars(vehicles, _Days(week_start, _zone(time_zone), 7), seed)


def year_of_stays(
    vehicles: int,
    year: int,
    *,
    time_zone: str = "Europe/Berlin",
    seed: int = 0,
) -> VehicleStays:
    """Make up all stays at a charger in a civil year, for a fleet of private cars.

    As :func:`week_of_stays`, for every day of a year: each car keeps its battery, its
    charger and its habits. There are about 350 stays a car.

    Args:
        vehicles: Number of cars.
        year: The year.
        time_zone: IANA name of the zone on whose clocks people live. A time
            that clocks skip takes the offset before the jump.
        seed: Another seed gives another fleet.

    Returns:
        All stays, car by car, oldest first. The first of a car begins on the evening
        before the year, the last ends on the morning after it.

    Raises:
        InputError: The time zone is unknown, or ``vehicles`` is negative.

    Example:
        >>> stays = year_of_stays(1, 2026).stays
        >>> stays[0].vehicle == stays[-1].vehicle, 250 < len(stays) < 500
        (True, True)
    """
    if not YEAR_MIN <= year <= YEAR_MAX:
        raise InputError(f"year is {year}; it lies from {YEAR_MIN} to {YEAR_MAX}")
    first = date(year, 1, 1)
    count = (date(year + 1, 1, 1) - first).days
    return _private_cars(vehicles, _Days(first, _zone(time_zone), count), seed)


def _private_cars(vehicles: int, days: _Days, seed: int) -> VehicleStays:
    """Draw cars one after the other, and their stays on some days."""
    if vehicles < 0:
        raise InputError(f"vehicles is {vehicles}, but has to be 0 or more")
    stays: list[VehicleStay] = []
    for number in range(1, vehicles + 1):
        random = Random(f"{seed}/{number}")
        stays.extend(_stays_of(f"car-{number:05}", _Car.draw(random), days, random))
    return VehicleStays(tuple(stays), ())


def fleet(
    vehicles: int,
    seed: int = 0,
    *,
    day: date = date(2026, 1, 5),
    time_zone: str = "Europe/Berlin",
) -> VehicleStays:
    """Make up the stays of a whole fleet that comes on one day, one a vehicle.

    Made for areas: thousands of vehicles of several kinds under one limit. Each
    is drawn by itself, so the first vehicles of a larger fleet are those of a
    smaller one. Of each kind, by clocks of the zone:

    ======== ===== ======================= ======================= ==================
    location share arrival                 departure               energy at the plug
    ======== ===== ======================= ======================= ==================
    home     75 %  normal, 17:45 ± 2:10    next day, 07:30 ± 1:15  log-normal, median
                                                                   7.5 kWh, mean 10
    work     15 %  normal, 08:20 ± 0:45    8.3 ± 1.2 h later       log-normal, median
                                                                   9 kWh, mean 11
    depot    10 %  normal, 17:15 ± 1:20    next day, 06:15 ± 0:35  normal, 30 ± 10 kWh
    ======== ===== ======================= ======================= ==================

    Chargers at home have 2.3 to 22 kW as in :func:`week_of_stays`; those at
    work 7.4, 11 or 22 kW; those in depots 11 or 22 kW. An energy is at most what
    nine tenths of the stay can deliver, so that nobody is short but for limits.

    Only two of these numbers are measured: the median energy at home and when
    people come home. The statistics of the British Department for Transport on
    charging at home in 2017 (Electric Chargepoint Analysis: Domestics) find
    7.5 kWh a session, and most sessions begin between 17:00 and 19:00. That
    there are chargers of 7 and 22 kW at which cars stand longer than they
    charge is in Bayram and others, Statistical characterisation of public AC
    EV chargers in the UK (IEEE Access 11, 2023).

    All else is assumed: shares and spreads; at work the hours of an office and
    about a day's way; in depots vans that drive some 100 km a day at 0.3 kWh a
    kilometre, are back after a working day and away early.

    Args:
        vehicles: Number of vehicles.
        seed: Another seed gives another fleet.
        day: The day on which all arrive.
        time_zone: IANA name of the zone on whose clocks people live.

    Returns:
        One stay a vehicle, in the order of their numbers.

    Raises:
        InputError: The time zone is unknown, or ``vehicles`` is negative.

    Example:
        >>> stays = fleet(3)
        >>> [(stay.id, stay.location, stay.power_max_kw) for stay in stays.stays][0]
        ('ev-0000001', 'depot', 22.0)
    """
    if vehicles < 0:
        raise InputError(f"vehicles is {vehicles}, but has to be 0 or more")
    days = _Days(day, _zone(time_zone), 1)
    random = Random(f"fleet/{seed}")
    seeds = (random.getrandbits(64) for _ in range(vehicles))
    return VehicleStays(
        tuple(_visit(number, days, Random(seed)) for number, seed in enumerate(seeds, start=1)), ()
    )


def _visit(number: int, days: _Days, random: Random) -> VehicleStay:
    kind = random.random()
    if kind < 0.75:
        location, power = "home", random.choice(HOME_POWERS_KW)
        arrival = _cut(random.gauss(17.75, 2.17), 11, 23.9)
        departure = 24 + _cut(random.gauss(7.5, 1.25), 4.5, 12)
        energy = random.lognormvariate(math.log(7.5), 0.76)
    elif kind < 0.9:
        location, power = "work", random.choice((7.4, 11.0, 11.0, 22.0))
        arrival = _cut(random.gauss(8.33, 0.75), 5.5, 12)
        departure = arrival + _cut(random.gauss(8.3, 1.2), 3, 11)
        energy = random.lognormvariate(math.log(9), 0.63)
    else:
        location, power = "depot", random.choice((11.0, 11.0, 22.0))
        arrival = _cut(random.gauss(17.25, 1.33), 13, 22)
        departure = 24 + _cut(random.gauss(6.25, 0.58), 4, 9)
        energy = _cut(random.gauss(30, 10), 6, 70)
    start, end = days.instant(arrival), days.instant(departure)
    energy = round(min(energy, 0.9 * power * ((end - start) / HOUR)), 2)
    capacity = random.choice(CAPACITIES_KWH)
    soc = TARGET_PERCENT - 100 * energy * EFFICIENCY / capacity
    name = f"ev-{number:07}"
    return VehicleStay(
        id=name,
        vehicle=name,
        location=location,
        arrival=start,
        departure=end,
        energy_kwh=energy,
        power_max_kw=power,
        soc_percent=round(max(soc, 0.0), 2),
        capacity_kwh=capacity,
    )


class _Days:
    """Clock times of some days as instants."""

    def __init__(self, start: date, zone: ZoneInfo, count: int) -> None:
        self.weekdays = [(start + timedelta(days=day)).weekday() for day in range(count)]
        self._midnight = datetime(start.year, start.month, start.day)  # noqa: DTZ001  a wall clock
        self._zone = zone

    def instant(self, hour: float) -> datetime:
        """The instant at which clocks show so many hours after the first midnight."""
        local = self._midnight + timedelta(minutes=round(hour * 60))
        return local.replace(tzinfo=self._zone).astimezone(UTC)


class _Car(NamedTuple):
    """Properties that do not change from day to day."""

    capacity_kwh: float
    use_kwh_per_km: float
    home_power_kw: float
    work_power_kw: float
    commutes: bool
    commute_km: float
    leaves_at: float
    works_hours: float

    @classmethod
    def draw(cls, random: Random) -> _Car:
        """Draw a car and the habits of who drives it."""
        return cls(
            capacity_kwh=random.choice(CAPACITIES_KWH),
            use_kwh_per_km=_cut(random.gauss(0.19, 0.02), 0.14, 0.26),
            home_power_kw=random.choice(HOME_POWERS_KW),
            work_power_kw=random.choice(WORK_POWERS_KW) if random.random() < 0.4 else 0.0,
            commutes=random.random() < 2 / 3,
            commute_km=min(random.lognormvariate(math.log(14), 0.7), 90),
            leaves_at=_cut(random.gauss(7.4, 0.8), 4.5, 11),
            works_hours=_cut(random.gauss(8.6, 0.7), 4, 11),
        )


class _Stop(NamedTuple):
    """A stay, in hours after the first midnight, and the way to it."""

    location: str
    arrival: float
    departure: float
    km: float


def _stays_of(vehicle: str, car: _Car, days: _Days, random: Random) -> Iterator[VehicleStay]:
    soc = TARGET_PERCENT
    number = 0
    for stop in _stops_of(car, days, random):
        soc = soc - 100 * stop.km * car.use_kwh_per_km / car.capacity_kwh
        soc = max(soc, CHARGES_ON_THE_WAY_BELOW_PERCENT)
        at_work = stop.location == "work"
        power = car.work_power_kw if at_work else car.home_power_kw
        if power == 0 or soc >= (PLUGS_IN_AT_WORK_BELOW_PERCENT if at_work else TARGET_PERCENT):
            continue
        number += 1
        missing_kwh = (TARGET_PERCENT - soc) / 100 * car.capacity_kwh / EFFICIENCY
        stay = VehicleStay(
            id=f"{vehicle}/{number}",
            vehicle=vehicle,
            location=stop.location,
            arrival=days.instant(stop.arrival),
            departure=days.instant(stop.departure),
            energy_kwh=round(missing_kwh, 2),
            power_max_kw=power,
            soc_percent=round(soc, 2),
            capacity_kwh=car.capacity_kwh,
        )
        yield stay
        possible_kwh = min(missing_kwh, power * ((stay.departure - stay.arrival) / HOUR))
        soc += 100 * possible_kwh * EFFICIENCY / car.capacity_kwh


def _stops_of(car: _Car, days: _Days, random: Random) -> Iterator[_Stop]:
    """Work and home in turn. Home lasts until the next day on which the car moves."""
    home = -_cut(random.gauss(6, 2), 0.2, 13), min(random.lognormvariate(math.log(24), 0.9), 300)
    for day, weekday in enumerate(days.weekdays):
        midnight = 24.0 * day
        if car.commutes and weekday < SATURDAY and random.random() < 0.9:
            leaves, back, km, work = _workday(car, midnight, random)
        elif random.random() < (0.65 if weekday < SATURDAY else 0.7):
            leaves, back, km = _outing(midnight, random)
            work = None
        else:
            continue
        yield _Stop("home", home[0], leaves, home[1])
        if work:
            yield work
        home = back, km
    yield _Stop("home", home[0], 24.0 * len(days.weekdays) + car.leaves_at, home[1])


def _workday(car: _Car, midnight: float, random: Random) -> tuple[float, float, float, _Stop]:
    """Leaving, coming back, kilometres of the way back, and the stay at work."""
    leaves = midnight + _cut(random.gauss(car.leaves_at, 0.25), 4, 12)
    drive = 0.15 + car.commute_km / 45
    arrives = leaves + drive
    goes = min(arrives + _cut(random.gauss(car.works_hours, 0.5), 3, 11), midnight + 23.5 - drive)
    back, km = goes + drive, car.commute_km
    if random.random() < 1 / 3:
        back += 0.3 + random.expovariate(1.2)
        km += min(random.lognormvariate(math.log(8), 0.8), 60)
    back = min(back, midnight + 23.9)
    return leaves, back, km, _Stop("work", arrives, goes, car.commute_km)


def _outing(midnight: float, random: Random) -> tuple[float, float, float]:
    """Leaving, coming back, and kilometres there and back."""
    leaves = _cut(random.gauss(10.5, 2.2), 5, 19)
    km = min(random.lognormvariate(math.log(24), 0.9), 300)
    away = km / 50 + _cut(random.gauss(3, 2), 0.3, 10)
    return midnight + leaves, midnight + min(leaves + away, 23.9), km


def _cut(value: float, least: float, most: float) -> float:
    return max(least, min(value, most))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InputError(f"time zone {name!r} is unknown") from error


_public.guard(__name__)
