"""Clients that write to a service which is killed, and remember what it promised."""

import json
import random
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sandboxes import Asker, Running, uuid_of

BEGIN = datetime(2026, 1, 5, 18, tzinfo=UTC)

# Steps of a price signal. All of them are there, or none is.
STEPS = 48


class RefusedError(RuntimeError):
    """The service did not take what it has to take."""


class Doors:
    """The addresses of a server, for one writer."""

    def __init__(self, running: Running, client_id: str) -> None:
        self.base = Asker(running.base, running.token)
        self.admin = Asker(running.admin, running.token)
        self.client_id = client_id

    def close(self) -> None:
        """Ends the connections."""
        self.base.close()
        self.admin.close()


def must(answer: tuple[int, Any], *statuses: int) -> Any:  # noqa: ANN401 (JSON)
    """The body of an answer with one of these statuses.

    Raises:
        RefusedError: It has another one.
    """
    if answer[0] not in (statuses or (200, 204)):
        raise RefusedError(f"{answer[0]} {answer[1]}")
    return answer[1]


def clock(number: int) -> str:
    """One of the 1,440 minutes of a day."""
    return f"{number // 60 % 24:02}:{number % 60:02}"


class Writer(ABC):
    """One client. It has one write under way at a time."""

    name: str

    @abstractmethod
    def write(self, doors: Doors, rng: random.Random) -> None:
        """Writes once. Returns when the service has said that it is kept."""

    @abstractmethod
    def check(self, doors: Doors, store: sqlite3.Connection) -> Iterator[str]:
        """What is not as it was promised, after a restart."""


class Register(Writer):
    """Something that each write replaces. A write that had no answer may be there or not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.applied = 0
        self.promised: Any = None
        self.tried: Any = None

    def write(self, doors: Doors, rng: random.Random) -> None:
        """Puts the next value in the place of the last."""
        del rng
        self.count += 1
        self.tried = self.value(self.count)
        self.put(doors, self.tried)
        self.promised, self.tried = self.tried, None
        self.applied += 1

    def check(self, doors: Doors, store: sqlite3.Connection) -> Iterator[str]:
        """Whether the last value is there, whole."""
        kept, shown = self.kept(store), self.shown(doors)
        if self.tried is not None and kept == self.tried:
            self.promised = self.tried
            self.applied += 1
        if self.promised is not None:
            if kept != self.promised:
                yield f"{self.name}: kept is {kept}, promised {self.promised}, tried {self.tried}"
            if shown is not None and shown != kept:
                yield f"{self.name}: shown is {shown}, kept {kept}"
        self.tried = None
        yield from self.check_more(store)

    @abstractmethod
    def value(self, number: int) -> Any:  # noqa: ANN401 (JSON)
        """Another value for each number."""

    @abstractmethod
    def put(self, doors: Doors, value: Any) -> None:  # noqa: ANN401 (JSON)
        """Writes a value."""

    @abstractmethod
    def kept(self, store: sqlite3.Connection) -> Any:  # noqa: ANN401 (JSON)
        """The value in the database."""

    def shown(self, doors: Doors) -> Any:  # noqa: ANN401 (JSON)
        """The value in the memory of the service, if it can be asked for."""

    def check_more(self, store: sqlite3.Connection) -> Iterator[str]:
        """What else each write has to leave behind."""
        del store
        yield from ()


class Signal(Register):
    """Prices of an area, with the wish that plans follow them."""

    def __init__(self, zone: str, currency: str, area: str) -> None:
        super().__init__(f"prices of {zone}/{area}")
        self.zone, self.currency, self.area = zone, currency, area

    def value(self, number: int) -> list[float]:
        """Another price in each step, or steps would be one."""
        return [(number * STEPS + step) / 1000 for step in range(STEPS)]

    def put(self, doors: Doors, value: list[float]) -> None:
        """A price signal."""
        values = [
            {"at": (BEGIN + timedelta(minutes=30 * step)).isoformat(), "price": price}
            for step, price in enumerate(value)
        ]
        end = (BEGIN + timedelta(minutes=30 * STEPS)).isoformat()
        body = {"currency": self.currency, "to": end, "values": values}
        path = f"/flex/price-signals/{self.zone}/areas/{self.area}"
        must(doors.base.ask("PUT", path, body))

    def kept(self, store: sqlite3.Connection) -> list[float]:
        """The steps."""
        query = """select price from price_steps join price_series on id = series_id
                   where zone_id = ? and area_id = ? order by start_at"""
        return [float(price) for (price,) in store.execute(query, (self.zone, self.area))]

    def shown(self, doors: Doors) -> list[float] | None:
        """The same from memory."""
        window = "from=2026-01-05T00:00:00Z&to=2026-01-08T00:00:00Z"
        place = f"client={doors.client_id}&zone={self.zone}&area={self.area}"
        status, steps = doors.admin.ask("GET", f"/prices/signal?{place}&{window}")
        return [step["price_per_kwh"] for step in steps] if status == 200 else None

    def check_more(self, store: sqlite3.Connection) -> Iterator[str]:
        """Each write counts up the series, and asks for plans."""
        place = (self.zone, self.area)
        series = "select revision from price_series where zone_id = ? and area_id = ?"
        jobs = "select asked from area_jobs where zone_id = ? and area_id = ?"
        for query in (series, jobs):
            (count,) = store.execute(query, place).fetchone() or (0,)
            if count != self.applied:
                yield f"{self.name}: {self.applied} writes, counted {count} by {query}"


class Tariff(Register):
    """The rates of a tariff."""

    def __init__(self, tariff: str, rates: list[str]) -> None:
        super().__init__(f"tariff {tariff}")
        self.tariff, self.rates = tariff, rates

    def value(self, number: int) -> list[dict[str, str]]:
        """Rates of another cost."""
        return [{"name": name, "cost": f"{number}.{i}"} for i, name in enumerate(self.rates)]

    def put(self, doors: Doors, value: list[dict[str, str]]) -> None:
        """All of them."""
        must(doors.base.ask("PUT", f"/tariffs/{self.tariff}", value))

    def kept(self, store: sqlite3.Connection) -> list[dict[str, str]]:
        """The row."""
        query = "select rates from tariffs where id = ?"
        (rates,) = store.execute(query, (self.tariff,)).fetchone() or ("[]",)
        return list(json.loads(rates))


class TariffTimes(Register):
    """When which rate holds at a place."""

    def __init__(self, place: str, tariff: str, rates: list[str]) -> None:
        super().__init__(f"tariff of {place}")
        self.location_id, self.tariff, self.rates = uuid_of(place), tariff, rates

    def value(self, number: int) -> list[list[str]]:
        """A day in two parts, divided at other minutes."""
        first, second = clock(number % 720), clock(720 + number % 720)
        return [[self.rates[0], first, second], [self.rates[1], second, first]]

    def put(self, doors: Doors, value: list[list[str]]) -> None:
        """All intervals."""
        intervals = [{"name": name, "start": start, "end": end} for name, start, end in value]
        path = f"/tariffs/schedule?client={doors.client_id}&location={self.location_id}"
        must(doors.admin.ask("PUT", path, {"tariff_id": self.tariff, "intervals": intervals}))

    def kept(self, store: sqlite3.Connection) -> list[list[str]]:
        """The row."""
        query = "select intervals from tariff_schedules where location_id = ?"
        (intervals,) = store.execute(query, (self.location_id,)).fetchone() or ("[]",)
        return [[item["name"], item["start"], item["end"]] for item in json.loads(intervals)]


class ChargerMember(Register):
    """One member of the smart charging policy of a charger. Others change others."""

    def __init__(self, charger: str, member: str, column: str) -> None:
        super().__init__(f"{member} of {charger}")
        self.charger_id, self.member, self.column = uuid_of(charger), member, column

    def value(self, number: int) -> str:
        """Another minute."""
        return clock(number)

    def put(self, doors: Doors, value: str) -> None:
        """That member only."""
        path = f"/chargers/{self.charger_id}/smart-charging-policy"
        body = must(doors.base.ask("PUT", path, {self.member: value}))
        if body[self.member] != value:
            raise RefusedError(f"{self.name}: {body}")

    def kept(self, store: sqlite3.Connection) -> str | None:
        """From the row."""
        query = "select policy from smart_charging_policies where device_id = ?"
        (policy,) = store.execute(query, (self.charger_id,)).fetchone() or ("{}",)
        kept = json.loads(policy).get("charger", {}).get(self.column)
        return None if kept is None else str(kept)

    def shown(self, doors: Doors) -> str:
        """From memory."""
        path = f"/chargers/{self.charger_id}/smart-charging-policy"
        return str(must(doors.base.ask("GET", path))[self.member])


class FlexDay(Register):
    """One day of a flex policy. Others change others of the same policy."""

    def __init__(self, policy: str, day: str) -> None:
        super().__init__(f"{day} of {policy}")
        self.policy_id, self.day = uuid_of(policy), day

    def value(self, number: int) -> str:
        """Another deadline."""
        return clock(number)

    def put(self, doors: Doors, value: str) -> None:
        """That day only."""
        day = {"deadline": value, "minimumChargeTarget": 70}
        path = f"/flex/vehicle-policies/{self.policy_id}"
        must(doors.base.ask("PATCH", path, {"schedule": {self.day: day}}))

    def kept(self, store: sqlite3.Connection) -> str | None:
        """From the row."""
        query = "select policy from flex_policies where id = ?"
        (policy,) = store.execute(query, (self.policy_id,)).fetchone()
        day = json.loads(policy)["schedule"].get(self.day)
        return None if day is None else str(day["deadline"])

    def shown(self, doors: Doors) -> str:
        """From memory."""
        policy = must(doors.base.ask("GET", f"/flex/vehicle-policies/{self.policy_id}"))
        return str(policy["schedule"][self.day]["deadline"])
