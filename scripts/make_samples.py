#!/usr/bin/env python3
"""Writes the sample data of the package, or says with `--check` what would change.

All numbers are made up: smooth daily curves, plus noise of a fixed seed. The
files carry, on purpose, what real ones do: a doubled hour, a skipped one, an
empty price, a rate without an end, positions left out.
"""

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

FOLDER = Path(__file__).parents[1] / "bindings" / "python" / "slackwater" / "samples"

QUARTER = timedelta(minutes=15)
HOUR = timedelta(hours=1)


@dataclass
class Noise:
    """Numbers from -1 to 1 that look random and never change."""

    state: int

    def next(self) -> float:
        """The next number."""
        self.state = (1_103_515_245 * self.state + 12_345) % 2**31
        return self.state / 2**30 - 1


def hours_of(start: str, end: str, zone: ZoneInfo, step: timedelta) -> Iterator[datetime]:
    """Instants from one local midnight to another, in steps of elapsed time."""
    at = datetime.fromisoformat(start).replace(tzinfo=zone).astimezone(UTC)
    until = datetime.fromisoformat(end).replace(tzinfo=zone).astimezone(UTC)
    while at < until:
        yield at
        at += step


def shape(local: datetime) -> float:
    """A day of prices around 1: cheap at night and noon, dear in the evening."""
    hour = local.hour + local.minute / 60
    evening = math.exp(-(((hour - 19) / 2.5) ** 2))
    morning = math.exp(-(((hour - 8) / 2) ** 2))
    noon = math.exp(-(((hour - 13.5) / 3) ** 2))
    weekend = 0.2 if local.isoweekday() in {6, 7} else 0.0
    return 0.8 + 0.9 * evening + 0.5 * morning - 0.85 * noon - weekend


def local_text(at: datetime, zone: ZoneInfo) -> str:
    """What a clock shows, without an offset."""
    return at.astimezone(zone).strftime("%Y-%m-%dT%H:%M")


def day_ahead_autumn() -> str:
    """A week of hours; 02:00 of 25 October is there twice."""
    zone, noise = ZoneInfo("Europe/Berlin"), Noise(1)
    lines = ["local_time,price_eur_per_mwh"]
    for at in hours_of("2026-10-22", "2026-10-29", zone, HOUR):
        price = 80 * shape(at.astimezone(zone)) + 12 * noise.next() - 15
        lines.append(f"{local_text(at, zone)},{price:.2f}")
    return "\n".join(lines) + "\n"


def day_ahead_spring() -> str:
    """A week of hours with decimal commas; 02:00 of 29 March is empty, one price is missing."""
    zone, noise = ZoneInfo("Europe/Berlin"), Noise(2)
    lines = ["Beginn;Preis (ct/kWh)"]
    for at in hours_of("2026-03-26", "2026-04-02", zone, HOUR):
        local = at.astimezone(zone)
        price = f"{28 + 9 * shape(local) + noise.next():.3f}".replace(".", ",")
        if local.isoformat().startswith("2026-03-29T03:00"):
            lines.append("29.03.2026 02:00;")
        if local.isoformat().startswith("2026-03-31T11:00"):
            price = ""
        lines.append(f"{local:%d.%m.%Y %H:%M};{price}")
    return "\ufeff" + "\r\n".join(lines) + "\r\n"


def nordpool_spring() -> str:
    """Three days of hours with starts and ends; the second day has 23."""
    zone, noise = ZoneInfo("Europe/Stockholm"), Noise(3)
    lines = ["day,hour,local_start,local_end,ore_per_kwh"]
    for index, at in enumerate(hours_of("2026-03-28", "2026-03-31", zone, HOUR)):
        local = at.astimezone(zone)
        end = (local.replace(tzinfo=None) + HOUR).strftime("%Y-%m-%dT%H:%M")
        price = 60 * shape(local) + 8 * noise.next()
        lines.append(f"{local:%Y%m%d},{index},{local_text(at, zone)},{end},{price:.2f}")
    return "\n".join(lines) + "\n"


def octopus_day() -> str:
    """The half hours of a British day, newest first; the newest has no end."""
    zone, noise = ZoneInfo("Europe/London"), Noise(4)
    half = timedelta(minutes=30)
    results: list[dict[str, object]] = []
    for at in hours_of("2026-07-18", "2026-07-19", zone, half):
        rate = 17 * shape(at.astimezone(zone)) + 2 * noise.next()
        until = f"{at + half:%Y-%m-%dT%H:%M:%SZ}"
        result = {
            "value_exc_vat": round(rate, 3),
            "value_inc_vat": round(rate * 1.05, 5),
            "valid_from": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            "valid_to": until,
            "payment_method": None,
        }
        results.insert(0, result)
    results[0]["valid_to"] = None
    answer = {"count": len(results), "next": None, "previous": None, "results": results}
    return json.dumps(answer, indent=1) + "\n"


def entsoe_day() -> str:
    """A day of quarter hours; where a price repeats, the position is left out."""
    zone, noise = ZoneInfo("Europe/Brussels"), Noise(5)
    instants = list(hours_of("2026-02-10", "2026-02-11", zone, QUARTER))
    points, before = [], None
    for position, at in enumerate(instants, start=1):
        price = round(70 * shape(at.astimezone(zone)) + 6 * noise.next(), 2)
        if position % 20 in {7, 8} and before is not None:
            continue
        points.append(
            f"      <Point><position>{position}</position>"
            f"<price.amount>{price:.2f}</price.amount></Point>"
        )
        before = price
    start, end = instants[0], instants[-1] + QUARTER
    interval = (
        f"      <timeInterval><start>{start:%Y-%m-%dT%H:%MZ}</start>"
        f"<end>{end:%Y-%m-%dT%H:%MZ}</end></timeInterval>"
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<Publication_MarketDocument xmlns="urn:example:made-up-prices">',
        "  <TimeSeries>",
        "    <mRID>1</mRID>",
        "    <in_Domain.mRID>MADE-UP-ZONE</in_Domain.mRID>",
        "    <currency_Unit.name>EUR</currency_Unit.name>",
        "    <price_Measure_Unit.name>MWH</price_Measure_Unit.name>",
        "    <curveType>A03</curveType>",
        "    <Period>",
        interval,
        "      <resolution>PT15M</resolution>",
        *points,
        "    </Period>",
        "  </TimeSeries>",
        "</Publication_MarketDocument>",
    ]
    return "\n".join(lines) + "\n"


@dataclass
class Car:
    """A made-up car that writes down what it does."""

    capacity_kwh: float
    soc: float
    noise: Noise
    step: int = 0
    rows: list[str] = field(default_factory=list)

    def drive(self, steps: int, energy_kwh: float) -> None:
        """Uses energy on the road."""
        energy_kwh *= 1 + 0.2 * self.noise.next()
        self.note("driving", "", steps, -energy_kwh / self.capacity_kwh, 0.0)

    def park(self, until: int, location: str, use_case: str, power_max_kw: float = 0.0) -> None:
        """Stands until a step, and charges to the full where there is a charger."""
        most = power_max_kw * (until - self.step) / 4 / self.capacity_kwh
        self.note(location, use_case, until - self.step, min(1.0 - self.soc, most), power_max_kw)

    def note(
        self, location: str, use_case: str, steps: int, soc_gain: float, power_max_kw: float
    ) -> None:
        """Writes an event down."""
        start = datetime(2026, 10, 22, tzinfo=UTC) + self.step * QUARTER
        soc_end = round(self.soc + soc_gain, 4)
        energy = round((soc_end - self.soc) * self.capacity_kwh, 4)
        cells = [
            len(self.rows),
            f"{start:%Y-%m-%d %H:%M:%S}",
            self.step,
            steps,
            location,
            use_case,
            self.soc,
            soc_end,
            energy,
            power_max_kw,
            round(energy / steps * 4, 4) if power_max_kw else 0.0,
        ]
        self.rows.append(",".join(str(cell) for cell in cells))
        self.soc = soc_end
        self.step += steps

    def log(self) -> str:
        """All that was written down."""
        header = (
            ",timestamp,event_start,event_time,location,use_case,soc_start,soc_end,energy,"
            "station_charging_capacity,average_charging_power"
        )
        return "\n".join([header, *self.rows]) + "\n"


def blue_events() -> str:
    """A commuter with a charger at home."""
    car = Car(capacity_kwh=50.0, soc=0.82, noise=Noise(6))
    for day in range(7):
        midnight = 96 * day
        charger = 11.0 if day != 1 else 0.0
        if day in {2, 3}:
            car.park(midnight + 42, "home", "home", charger)
            car.drive(2, 5)
            car.park(midnight + 52, "shopping", "public")
            car.drive(2, 5)
            continue
        car.park(midnight + 29, "home", "home", charger)
        car.drive(3, 9)
        car.park(midnight + 66, "work", "work")
        car.drive(3, 9)
    car.park(96 * 7, "home", "home", 11.0)
    return car.log()


def red_events() -> str:
    """A car without a charger at home that charges at work, and once on the road."""
    car = Car(capacity_kwh=75.0, soc=0.55, noise=Noise(7))
    saturday = 2
    for day in range(7):
        midnight = 96 * day
        car.park(midnight + 32, "home", "home")
        if day == saturday:
            car.drive(10, 38)
            car.park(car.step + 2, "hpc", "hpc", 150.0)
            car.drive(10, 36)
            continue
        car.drive(2, 6)
        car.park(midnight + 67, "work", "work", 22.0 if day in {0, 4, 6} else 0.0)
        car.drive(2, 6)
    car.park(96 * 7, "home", "home")
    return car.log()


def samples() -> dict[str, str]:
    """All files by their name."""
    return {
        "day-ahead-autumn.csv": day_ahead_autumn(),
        "day-ahead-spring.csv": day_ahead_spring(),
        "entsoe-day.xml": entsoe_day(),
        "nordpool-spring.csv": nordpool_spring(),
        "octopus-day.json": octopus_day(),
        "simbev/blue_events.csv": blue_events(),
        "simbev/red_events.csv": red_events(),
    }


def main() -> int:
    """Writes the files, or compares them."""
    check = "--check" in sys.argv[1:]
    stale = []
    for name, text in samples().items():
        path, data = FOLDER / name, text.encode()
        if not path.exists() or path.read_bytes() != data:
            stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    print(f"{'stale' if check else 'written'}: {', '.join(stale) or 'nothing'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
