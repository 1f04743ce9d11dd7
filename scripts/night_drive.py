"""The night itself: a clock is stepped, and people, markets and a manufacturer do things."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from urllib.parse import quote

from night_service import Service, instant, written
from night_town import (
    AREA,
    DAY_AHEAD_AT,
    EARLY,
    EARLY_AT,
    ENDS,
    OUTAGE,
    OUTAGE_OF,
    OVERRIDES_FROM,
    OVERRIDES_TO,
    OWNERS_EARLY,
    OWNERS_IMPATIENT,
    REVISED_AT,
    SCHEDULE_FROM,
    SCHEDULE_TO,
    SIGNAL_AT,
    STARTS,
    Car,
    Prices,
    Town,
    market_of,
    signal_of,
)
from sandboxes import Json, uuid_of

STEP = timedelta(minutes=1)
LOOK = timedelta(minutes=5)
"""How often the true state of every car is written down."""

FORCED_WITHIN = timedelta(minutes=3)
"""A car whose owner cannot wait is looked at each minute for so long."""

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
KINDS = {"vehicle": "charging", "charger": "charging", "hvac": "charging", "inverter": "production"}
"""Kinds of device with statistics, and the series that they are in."""

FINE = 300


@dataclass(frozen=True)
class Seen:
    """A car at an instant, as it really is."""

    at: datetime
    soc_percent: float
    is_plugged_in: bool
    power_kw: float


def seen_in(reading: Json, now: datetime) -> Seen:
    """What a true reading of a car says."""
    facts = reading["facts"]["vehicle"]
    charging = facts["charging"]
    return Seen(
        at=now,
        soc_percent=facts["soc_percent"],
        is_plugged_in=charging["is_plugged_in"],
        power_kw=charging.get("charge_rate_kw") or 0.0,
    )


@dataclass
class Record:
    """What the checker reads, and what it compares that with."""

    cars: dict[str, list[Seen]] = field(default_factory=dict)
    metered: dict[str, list[float]] = field(default_factory=dict)
    events: list[Json] = field(default_factory=list)
    delivered: list[Json] = field(default_factory=list)
    commands: list[Json] = field(default_factory=list)
    statistics: dict[tuple[str, str], list[Json]] = field(default_factory=dict)
    plans: list[Json] = field(default_factory=list)
    overrides: list[tuple[datetime, str]] = field(default_factory=list)
    """When, and the charger."""
    forced: dict[str, list[Seen]] = field(default_factory=dict)
    """The cars at these chargers as they really were, from then on."""
    early: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    """Identifiers of devices by their names in the scenario."""
    seen_by: dict[str, str] = field(default_factory=dict)
    """Devices that show the plugs of cars which show nothing themselves."""


class Night:
    """Goes through a night."""

    def __init__(self, town: Town, service: Service, seed: int) -> None:
        self.town = town
        self.service = service
        self.prices = Prices(town.rates)
        self.record = Record(cars={name: [] for name in town.cars})
        self._chance = random.Random(f"night {seed}")
        self._agenda: list[tuple[datetime, Callable[[], None]]] = []

    def run(self) -> Record:
        """Everything, from one noon to the next."""
        now = self.service.step(0)
        self._find_devices()
        self._write_agenda()
        self._look(now)
        while now < ENDS:
            while self._agenda and self._agenda[0][0] <= now:
                self._agenda.pop(0)[1]()
            now = self.service.step(STEP.total_seconds())
            if (now - STARTS) % LOOK == timedelta(0):
                self._look(now)
            for at, charger in self.record.overrides:
                if at < now <= at + FORCED_WITHIN:
                    self._look_at(charger, now)
            if (now - STARTS) % HOUR == timedelta(0):
                print(f"\r{now:%H:%M}", end="", file=sys.stderr, flush=True)
        print("\r     \r", end="", file=sys.stderr)
        self._close()
        return self.record

    def _find_devices(self) -> None:
        """Write down what the service calls the devices."""
        for device in self.service.operator.get("/sandbox/devices"):
            if device["linked_as"]:
                self.record.ids[device["name"]] = device["linked_as"][0]

    def _write_agenda(self) -> None:
        started = STARTS.replace(hour=0)
        self._market(STARTS, started - DAY, started + DAY)
        self._schedules()
        entries: list[tuple[datetime, Callable[[], None]]] = [
            (DAY_AHEAD_AT, lambda: self._market(DAY_AHEAD_AT, started + DAY, started + 2 * DAY)),
            (SIGNAL_AT, lambda: self._signal(SIGNAL_AT, 13)),
            (REVISED_AT, lambda: self._signal(REVISED_AT, 16)),
            (EARLY_AT, self._change_minds),
            (OUTAGE[0], lambda: self._vendor("outage")),
            (OUTAGE[1], lambda: self._vendor("answer")),
        ]
        times = [DAY_AHEAD_AT, SIGNAL_AT, REVISED_AT, OUTAGE[1], EARLY_AT]
        entries += [(at + timedelta(minutes=20), self._keep_plans) for at in times]
        entries += [(STARTS + n * HOUR, self._keep_plans) for n in range(7, 19, 3)]
        chargers = [charger["id"] for charger in self.town.scenario["chargers"]]
        count = max(1, round(OWNERS_IMPATIENT * len(chargers)))
        for charger in self._chance.sample(chargers, count):
            minute = self._chance.randrange((OVERRIDES_TO - OVERRIDES_FROM) // STEP)
            entries.append((OVERRIDES_FROM + minute * STEP, partial(self._override, charger)))
        self._agenda = sorted(entries, key=lambda entry: entry[0])

    def _look(self, now: datetime) -> None:
        """Write down how every car really is."""
        for name, reading in self._truth_of_cars().items():
            self.record.cars[name].append(seen_in(reading, now))

    def _truth_of_cars(self) -> dict[str, Json]:
        """Read every car as it really is."""
        rows = self.service.operator.get("/sandbox/truth?kind=vehicle")
        return {row["device"]: row["reading"] for row in rows}

    def _truth_of(self, name: str) -> Json:
        """Read a device as it really is."""
        return self.service.operator.get(f"/sandbox/devices/{quote(name)}")

    def _look_at(self, charger: str, now: datetime) -> None:
        """Write down how the car of a charger really is, if it has one."""
        vehicles = self.town.scenario["vehicles"]
        looks = self.record.forced.setdefault(charger, [])
        for name in (spec["id"] for spec in vehicles if spec.get("charger") == charger):
            looks.append(seen_in(self._truth_of(name), now))

    def _market(self, known_at: datetime, first: datetime, last: datetime) -> None:
        """A day of prices of both markets is published."""
        for zone, currency in (("NO1", "NOK"), ("GB", "GBP")):
            prices = market_of(zone, first, last)
            rows = [
                f"{at.strftime('%Y-%m-%dT%H:%MZ')},{prices[number] * 1000!r}"
                for number, at in (
                    (int((first + n * HOUR).timestamp()) // 900, first + n * HOUR)
                    for n in range((last - first) // HOUR)
                )
            ]
            text = f"start,price_{currency.lower()}_per_mwh\n" + "\n".join(rows) + "\n"
            path = f"/prices/market?zone={zone}&currency={currency}"
            self.service.operator.post(path, text)
            # Read back as the service reads it: a price per MWh, divided.
            read = {number: price * 1000 / 1000 for number, price in prices.items()}
            self.prices.publish(zone, known_at, read)

    def _signal(self, known_at: datetime, valley_after_hours: float) -> None:
        """The area's grid says when energy is cheap there."""
        first, last = known_at + HOUR / 2, ENDS
        prices = signal_of(STARTS + timedelta(hours=valley_after_hours), first, last)
        values = [
            {"at": written(first + n * timedelta(minutes=15)), "price": price}
            for n, price in enumerate(prices.values())
        ]
        body = {"currency": "NOK", "to": written(last), "values": values}
        zone, area = AREA
        self.service.client.put(f"/flex/price-signals/{zone}/areas/{area}", body)
        self.prices.publish(f"{zone}/{area}", known_at, prices)

    def _schedules(self) -> None:
        """Some owners let a clock decide."""
        window = {"from": f"{SCHEDULE_FROM:%H:%M}", "to": f"{SCHEDULE_TO:%H:%M}"}
        for car in self.town.cars.values():
            if car.follows != "schedule":
                continue
            schedule = {
                "isEnabled": True,
                "defaultShouldCharge": False,
                "rules": [{"shouldCharge": True, "hourMinute": window}],
                "targetId": self.record.ids[car.device],
                "targetType": "vehicle" if car.device == car.name else "charger",
                "locationId": uuid_of(car.home.name),
            }
            self.service.client.post(f"/users/{quote(car.home.user)}/schedules", schedule)

    def _change_minds(self) -> None:
        """Some owners want their cars earlier than on other days."""
        flex = [car for car in self.town.cars.values() if car.policy and car.deadline]
        for car in self._chance.sample(flex, max(1, round(OWNERS_EARLY * len(flex)))):
            weekday = ENDS.strftime("%A").lower()
            wish = {"deadline": EARLY, "minimumChargeTarget": car.target_percent}
            patch = {"schedule": {weekday: wish}}
            self.service.client.patch(f"/flex/vehicle-policies/{uuid_of(car.policy or '')}", patch)
            self.record.early.append(car.name)

    def _override(self, charger: str) -> None:
        """An owner cannot wait."""
        path = f"/chargers/{self.record.ids[charger]}/smart-override"
        status, _ = self.service.client.ask("POST", path)
        if status == 200:
            now = self.service.step(0)
            self.record.overrides.append((now, charger))
            self._look_at(charger, now)

    def _vendor(self, conduct: str) -> None:
        order = {"vendor": OUTAGE_OF, "conduct": conduct}
        self.service.operator.post("/sandbox/conduct", order)

    def _keep_plans(self) -> None:
        """Ask what is planned now, to look at it when the night is over."""

        def plan(car: Car) -> Json:
            path = f"/plans/{self.record.ids[car.device]}"
            status, answer = self.service.operator.ask("GET", path)
            return {"car": car.name, **answer} if status == 200 else None

        planned = [car for car in self.town.cars.values() if car.is_planned]
        plans = self.service.each(plan, (car for car in planned if car.device in self.record.ids))
        known = {(plan["car"], plan["made_at"]) for plan in self.record.plans}
        for plan_ in plans:
            if plan_ and plan_["plan"] and (plan_["car"], plan_["made_at"]) not in known:
                self.record.plans.append(plan_)

    def _close(self) -> None:
        """Owners look at their cars once more, and everything is read."""
        client = self.service.client
        self._wake_cars()
        kinds = self._kinds()
        ids = self.record.ids
        told = [name for name in ids if kinds[name] in KINDS]
        self.service.each(
            lambda name: client.ask("POST", f"/{kinds[name]}s/{ids[name]}/refresh-hint"), told
        )
        self.service.step(1)
        self._read_homes()
        self._statistics(kinds)
        self.service.wait_for_deliveries()
        self.record.events = self.service.events()

    def _wake_cars(self) -> None:
        """Wake every car by a hand on its door: whoever sleeps tells no meter reading."""
        self.service.each(
            lambda name: self.service.operator.post(
                "/sandbox/hand", {"device": name, "hand": "repair"}
            ),
            self.town.cars,
        )

    def _kinds(self) -> dict[str, str]:
        """Kinds of all devices."""
        return {d["name"]: d["kind"] for d in self.service.operator.get("/sandbox/devices")}

    def _read_homes(self) -> None:
        """Read all meters, and what manufacturers were told."""
        window = f"from={written(STARTS)}&to={written(ENDS)}"
        for row in self.service.operator.get(f"/sandbox/metered?{window}"):
            net = zip(row["imported_kwh"], row["exported_kwh"], strict=True)
            self.record.metered[row["device"]] = [taken - given for taken, given in net]
        self.record.commands = self.service.operator.get("/sandbox/commands")

    def _statistics(self, kinds: dict[str, str]) -> None:
        owners = {
            device["id"]: device["user"]
            for kind in ("vehicles", "chargers", "hvacs", "inverters")
            for device in self.town.scenario[kind]
        }
        wanted = sorted({(owners[n], kinds[n]) for n in self.record.ids if kinds[n] in KINDS})

        def ask(of: tuple[str, str]) -> list[Json]:
            user, kind = of
            path = f"/users/{quote(user)}/statistics/{KINDS[kind]}"
            rows: list[Json] = self.service.client.get(
                f"{path}?resolution=QUARTER_HOUR&type={kind}"
            )
            return [row for row in rows if STARTS <= instant(row["date"]) < ENDS]

        self.record.statistics = dict(zip(wanted, self.service.each(ask, wanted), strict=True))
