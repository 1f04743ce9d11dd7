"""The town of the night: its homes, what is asked for its cars, and its prices."""

from __future__ import annotations

import json
import math
import random
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from sandboxes import Json

STARTS = datetime(2026, 1, 13, 11, tzinfo=UTC)
"""Tuesday noon in Oslo; the night ends a day later."""

LASTS = timedelta(hours=24)
ENDS = STARTS + LASTS
QUARTER = timedelta(minutes=15)

AREA = ("NO1", "oslo-east")
DAY_AHEAD_AT = STARTS + timedelta(hours=1)
SIGNAL_AT = STARTS + timedelta(hours=5, minutes=30)
REVISED_AT = STARTS + timedelta(hours=11, minutes=30)
CHANGES = (DAY_AHEAD_AT, SIGNAL_AT, REVISED_AT)
"""When prices change: tomorrow's market, a price signal, and the same once more."""

OUTAGE_OF = "FJORD_MOTORS"
OUTAGE = (STARTS + timedelta(hours=13, minutes=30), STARTS + timedelta(hours=15))

SCHEDULED_MODELS = ("chen-car", "june-car")
"""Their owners use a schedule in place of a policy."""

SCHEDULE_FROM, SCHEDULE_TO = time(22), time(6)
OWNERS_EARLY = 0.05
EARLY = "06:15"
"""Owners who change their minds in the evening want their cars at this time."""

EARLY_AT = STARTS + timedelta(hours=8)
OVERRIDES_FROM, OVERRIDES_TO = STARTS + timedelta(hours=6), STARTS + timedelta(hours=10)
OWNERS_IMPATIENT = 0.03


def quarter_of(at: datetime) -> int:
    """The number of the quarter of an hour that holds an instant."""
    return int(at.timestamp()) // 900


def quarter_at(number: int) -> datetime:
    """The first instant of a quarter."""
    return datetime.fromtimestamp(number * 900, UTC)


def nights_quarters() -> range:
    """The quarters of the night."""
    return range(quarter_of(STARTS), quarter_of(ENDS))


@dataclass(frozen=True)
class Home:
    """A home, as far as prices matter."""

    name: str
    user: str
    zone: ZoneInfo
    market: str
    area: str
    tariff: str | None
    intervals: tuple[Json, ...]

    @property
    def is_limited(self) -> bool:
        """Whether it is in the area with the limit."""
        return (self.market, self.area) == AREA

    @property
    def currency(self) -> str:
        """Of its prices."""
        return "NOK" if self.market == "NO1" else "GBP"


@dataclass(frozen=True)
class Car:
    """A car, and what is asked for it by the morning."""

    name: str
    home: Home
    vendor: str | None
    power_kw: float
    offered_kw: float
    """What its place would give; that is what its vendor shows."""
    capacity_kwh: float
    efficiency: float
    limit_percent: float
    taper_from: float
    taper_end: float
    may_be_woken: bool
    sleeps_after: timedelta | None
    follows: str
    """`flex`, `smart`, `hours`, `schedule` or `nobody`."""
    policy: str | None
    target_percent: float
    reserve_percent: float
    deadline: time | None
    hours: float
    """Of charging that are asked for, if a charger is planned for."""
    device: str
    """What is told: the car, or the charger of a car that no vendor connects."""

    @property
    def is_planned(self) -> bool:
        """Whether a plan rules it."""
        return self.follows in ("flex", "smart", "hours")

    def by(self, deadline: time | None = None) -> datetime | None:
        """The deadline in the morning."""
        clock = deadline or self.deadline
        if clock is None:
            return None
        day = ENDS.astimezone(self.home.zone).date()
        return datetime.combine(day, clock, self.home.zone).astimezone(UTC)


@dataclass
class Prices:
    """All prices, each layer with the time since which it is known."""

    rates: dict[str, dict[str, float]]
    layers: dict[str, list[tuple[datetime, dict[int, float]]]] = field(default_factory=dict)

    def publish(self, name: str, known_at: datetime, prices: dict[int, float]) -> None:
        """Remember a layer: what it has counts from then on."""
        self.layers.setdefault(name, []).append((known_at, prices))

    def layered(self, name: str, quarter: int, known_at: datetime) -> float | None:
        """The price of a market or area that was known at a time."""
        found = None
        for at, prices in self.layers.get(name, []):
            if at <= known_at:
                found = prices.get(quarter, found)
        return found

    def paid(self, home: Home, quarter: int, known_at: datetime = ENDS) -> float | None:
        """What a kWh costs at a home: its tariff, else the market."""
        rate = self._rate(home, quarter)
        return self.layered(home.market, quarter, known_at) if rate is None else rate

    def followed(
        self, home: Home, quarter: int, *, is_flex: bool, known_at: datetime = ENDS
    ) -> float | None:
        """What a plan goes by: for flex the price signal of the area comes first."""
        signal = None
        if is_flex:
            signal = self.layered(f"{home.market}/{home.area}", quarter, known_at)
        return self.paid(home, quarter, known_at) if signal is None else signal

    def _rate(self, home: Home, quarter: int) -> float | None:
        if home.tariff is None:
            return None
        local = quarter_at(quarter).astimezone(home.zone)
        minute = local.hour * 60 + local.minute
        for interval in home.intervals:
            weekdays = interval.get("weekdays")
            if weekdays is not None and local.weekday() not in weekdays:
                continue
            start = minutes(interval.get("start") or "00:00")
            end = minutes(interval.get("end") or "00:00") or 24 * 60
            is_in = start <= minute < end if start < end else minute >= start or minute < end
            if is_in:
                return self.rates[home.tariff][interval["name"]]
        return None


def minutes(clock: str) -> int:
    """Minutes after midnight."""
    hour, minute = clock.split(":")[:2]
    return int(hour) * 60 + int(minute)


@dataclass(frozen=True)
class Town:
    """Everything about the homes that is known before the night."""

    scenario: Json
    homes: dict[str, Home]
    cars: dict[str, Car]
    rates: dict[str, dict[str, float]]

    @classmethod
    def generate(cls, binary: Path, homes: int, seed: int) -> Town:
        """Have the server make homes up, and read what they are."""
        command = [str(binary), "sandbox", "generate", "--homes", str(homes), "--seed", str(seed)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        scenario = json.loads(made.stdout)
        scenario["starts"] = STARTS.strftime("%Y-%m-%dT%H:%M:%SZ")
        scheduled = [
            policy["vehicle"]
            for policy in scenario["vehicle_policies"]
            if policy["vehicle"].startswith(SCHEDULED_MODELS)
        ]
        scenario["vehicle_policies"] = [
            policy for policy in scenario["vehicle_policies"] if policy["vehicle"] not in scheduled
        ]
        places = {place["id"]: home_of(place) for place in scenario["locations"]}
        rates = {
            tariff["id"]: {rate["name"]: float(rate["cost"]) for rate in tariff["rates"]}
            for tariff in scenario["tariffs"]
        }
        return cls(scenario, places, cars_of(scenario, places, set(scheduled)), rates)

    def billed_at(self, device: Json, kind: str) -> Home | None:
        """Whose prices a device pays; nobody's if its vehicle may not say where it is."""
        scopes = device.get("scopes")
        is_known = kind != "vehicle" or scopes is None or "read_location" in scopes
        return self.homes[device["location"]] if is_known else None

    @property
    def limited(self) -> int:
        """Homes in the area with the limit."""
        return sum(home.is_limited for home in self.homes.values())


def home_of(place: Json) -> Home:
    """A location of the scenario."""
    tariff = place.get("tariff") or {}
    return Home(
        name=place["id"],
        user=place["user"],
        zone=ZoneInfo(place["time_zone"]),
        market=place["zone"],
        area=place["area"],
        tariff=tariff.get("tariff"),
        intervals=tuple(tariff.get("intervals", ())),
    )


def cars_of(scenario: Json, homes: dict[str, Home], scheduled: set[str]) -> dict[str, Car]:
    """The cars of a scenario, with what is asked for each."""
    flex = {policy["vehicle"]: policy for policy in scenario["flex_policies"]}
    smart = {policy["vehicle"]: policy for policy in scenario["vehicle_policies"]}
    hours = {policy["charger"]: policy for policy in scenario["charger_policies"]}
    chargers = {charger["id"]: charger for charger in scenario["chargers"]}
    cars = {}
    for spec in scenario["vehicles"]:
        name, home = spec["id"], homes[spec["location"]]
        charger = chargers.get(spec.get("charger") or "")
        outlet = charger["outlet"] if charger else spec["socket"]
        offered = outlet["phases"] * outlet.get("volts", 230.0) * outlet["amps"] / 1000
        asked: Json = {"follows": "nobody", "deadline": None, "target": 0.0, "reserve": 0.0}
        device = name
        if name in flex:
            asked = flex_asked(flex[name], home)
        elif name in smart:
            policy = smart[name]
            asked = {
                "follows": "smart",
                "deadline": policy["deadline"],
                "target": 100.0,
                "reserve": policy["minimum_charge_limit_percent"],
            }
        elif name in scheduled:
            asked["follows"] = "schedule"
        elif spec.get("vendor") is None and spec.get("charger") in hours:
            device = spec["charger"]
            policy = hours[device]
            length = minutes(policy["charging_duration"]) / 60
            asked.update(follows="hours", deadline=policy["deadline"], hours=length)
        vendor = chargers[device]["vendor"] if device in chargers else spec.get("vendor")
        cars[name] = Car(
            name=name,
            home=home,
            vendor=vendor,
            power_kw=min(spec["power_max_kw"], offered),
            offered_kw=offered,
            capacity_kwh=spec["capacity_kwh"],
            efficiency=spec["efficiency_percent"] / 100,
            limit_percent=spec["charge_limit_percent"],
            taper_from=spec["taper_from_percent"],
            taper_end=spec["taper_end_percent"] / 100,
            may_be_woken=spec["may_be_woken"],
            sleeps_after=sleeps_after(spec),
            follows=asked["follows"],
            policy=asked.get("policy"),
            target_percent=min(asked["target"], spec["charge_limit_percent"]),
            reserve_percent=min(asked["reserve"], spec["charge_limit_percent"]),
            deadline=time.fromisoformat(asked["deadline"]) if asked["deadline"] else None,
            hours=asked.get("hours", 0.0),
            device=device,
        )
    return cars


def sleeps_after(vehicle: Json) -> timedelta | None:
    """After which time without power and wheels a vehicle sleeps; `None` if never."""
    idle: float | None = vehicle.get("sleeps_after_minutes")
    return None if idle is None else timedelta(minutes=idle)


def flex_asked(policy: Json, home: Home) -> Json:
    """What a flex policy asks for the morning."""
    weekday = ENDS.astimezone(home.zone).strftime("%A").lower()
    day = policy["schedule"].get(weekday)
    return {
        "follows": "flex",
        "policy": policy["id"],
        "deadline": day["deadline"] if day else None,
        "target": day["target_percent"] if day else 0.0,
        "reserve": policy["reserve_percent"],
    }


def market_of(name: str, first: datetime, last: datetime) -> dict[int, float]:
    """Hourly prices of a market: dear evenings, cheap nights, a little chance."""
    chance = random.Random(f"{name} {first.isoformat()}")
    level, swing = (0.95, 0.45) if name == "NO1" else (0.24, 0.11)
    prices: dict[int, float] = {}
    for number in range(quarter_of(first), quarter_of(last), 4):
        hour = quarter_at(number).hour
        shape = math.cos((hour - 17) / 12 * math.pi) + 0.5 * math.cos((hour - 7) / 6 * math.pi)
        price = round(level + swing * 0.6 * shape + chance.uniform(-0.1, 0.1) * level, 4)
        prices.update(dict.fromkeys(range(number, number + 4), price))
    return prices


def signal_of(cheapest: datetime, first: datetime, last: datetime) -> dict[int, float]:
    """Prices of an area by quarters: a valley around the hour in which there is wind."""
    chance = random.Random(f"signal {cheapest.isoformat()}")
    prices: dict[int, float] = {}
    for number in range(quarter_of(first), quarter_of(last)):
        distance = (quarter_at(number) - cheapest) / timedelta(hours=1)
        valley = math.exp(-((distance / 2.2) ** 2))
        prices[number] = round(1.45 - 1.15 * valley + chance.uniform(-0.04, 0.04), 4)
    return prices
