"""The demonstration on the files of others: what is found, read, moved and planned."""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

import slackwater as sw
from demo_fleet import Fleet, summary
from slackwater import InputError, io
from slackwater.cli.prices import PriceOptions, read_prices

WEEK = timedelta(weeks=1)
YEAR_DAYS = 365.25
ENDINGS = (".csv", ".json", ".parquet", ".xml")
EVENT_COLUMNS = frozenset({"event_start", "event_time", "station_charging_capacity"})

# Price lists of local times do not say of which place. Their names often do.
PLACES = {
    "at": ("Europe/Vienna", "EUR"),
    "be": ("Europe/Brussels", "EUR"),
    "ch": ("Europe/Zurich", "EUR"),
    "de": ("Europe/Berlin", "EUR"),
    "dk": ("Europe/Copenhagen", "DKK"),
    "es": ("Europe/Madrid", "EUR"),
    "fi": ("Europe/Helsinki", "EUR"),
    "fr": ("Europe/Paris", "EUR"),
    "gb": ("Europe/London", "GBP"),
    "it": ("Europe/Rome", "EUR"),
    "nl": ("Europe/Amsterdam", "EUR"),
    "no": ("Europe/Oslo", "NOK"),
    "pl": ("Europe/Warsaw", "PLN"),
    "se": ("Europe/Stockholm", "SEK"),
    "uk": ("Europe/London", "GBP"),
}
ANYWHERE = ("Europe/Berlin", "EUR")


class PriceList(NamedTuple):
    """A price list that was read."""

    name: str
    prices: sw.Prices
    time_zone: str


class DrivingLog(NamedTuple):
    """A driving log that was read."""

    name: str
    stays: io.VehicleStays
    time_zone: str


def plan_files(
    folder: Path, *, time_zone: str | None, is_aligned: bool
) -> Iterator[tuple[str, Fleet]]:
    """Read all that a folder has, and plan each driving log against each price list.

    Everything is said as it happens: what each file was taken for, what its
    importer noted, how far stays were moved, how many had to be left out.

    Args:
        folder: Where to look, subfolders included.
        time_zone: The zone of local times; without it, names of files tell.
        is_aligned: Whether stays that a price list does not cover are moved
            onto it, by whole weeks.

    Yields:
        A name, and the plans, for each pair that has any.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder")
    lists, logs = list(_price_lists(folder, time_zone)), list(_driving_logs(folder, time_zone))
    if not lists or not logs:
        missing = "price list" if not lists else "folder of SimBEV events"
        raise InputError(f"{folder}: there is no {missing} that can be read")
    for log in logs:
        for known in lists:
            print(f"\n== {log.name} on {known.name}")
            stays = _stays_for(log, known, is_aligned=is_aligned)
            if not len(stays):
                continue
            fleet = Fleet.plan(stays, known.prices, time_zone=known.time_zone)
            print("\n".join(summary(fleet)))
            yield f"{known.name} {log.name}", fleet


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)


def _is_log(path: Path) -> bool:
    if path.suffix.lower() != ".csv":
        return False
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return set(next(csv.reader(file), [])) >= EVENT_COLUMNS


def _price_lists(folder: Path, time_zone: str | None) -> Iterator[PriceList]:
    for path in _files(folder):
        if _is_log(path):
            continue
        print(f"prices   {path.relative_to(folder)}")
        zone, currency, why = _place_of(path)
        if time_zone:
            zone, why = time_zone, "as --time-zone says"
        try:
            found = _read_prices(path, zone, currency)
        except InputError as error:
            print(f"         not read: {error}")
            continue
        print(f"         local times are those of {zone}, {why}")
        print(f"         {found.prices!r}")
        for note in found.notes:
            print(f"         note: {note}")
        yield PriceList(path.stem, found.prices, zone)


def _place_of(path: Path) -> tuple[str, str, str]:
    """Zone, currency, and how they were found."""
    for word in re.split(r"[\W_\d]+", path.stem.lower()):
        if word in PLACES:
            return *PLACES[word], f"for the {word!r} in its name"
    return *ANYWHERE, "an assumption: its name has no country; --time-zone says otherwise"


def _read_prices(path: Path, time_zone: str, currency: str) -> io.PriceImport:
    """Read prices in the currency that the file names, or else in that of the place."""
    try:
        return read_prices(path, PriceOptions(time_zone=time_zone))
    except InputError:
        return read_prices(path, PriceOptions(time_zone=time_zone, currency=currency))


def _driving_logs(folder: Path, time_zone: str | None) -> Iterator[DrivingLog]:
    for place in sorted({path.parent for path in _files(folder) if _is_log(path)}):
        zone = time_zone or ANYWHERE[0]
        why = "as --time-zone says" if time_zone else "an assumption; --time-zone says otherwise"
        print(f"stays    {place.relative_to(folder)}/")
        try:
            stays = io.read_simbev(place, time_zone=zone)
        except InputError as error:
            print(f"         not read: {error}")
            continue
        print(f"         local times are those of {zone}, {why}")
        vehicles = len({stay.vehicle for stay in stays.stays})
        print(f"         {len(stays)} stays of {vehicles} vehicles, {_span(stays)}")
        for note in stays.notes:
            print(f"         note: {note}")
        yield DrivingLog(place.name, stays, zone)


def _span(stays: io.VehicleStays) -> str:
    first = min(stay.arrival for stay in stays.stays)
    last = max(stay.departure for stay in stays.stays)
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def _stays_for(log: DrivingLog, known: PriceList, *, is_aligned: bool) -> io.VehicleStays:
    """The stays of a log that lie within known prices, moved if that is wanted and needed."""
    periods = _priced(known.prices)
    stays, zone = log.stays, ZoneInfo(log.time_zone)
    weeks = 0
    if not _covered(stays, periods).any():
        print(f"   no stay ({_span(stays)}) lies within these prices")
        if not is_aligned:
            print("   nothing is planned; --align would move the stays by whole weeks")
            return dataclasses.replace(stays, stays=())
        weeks = _best_weeks(stays, periods)
        stays = moved(stays, weeks, zone)
    within = _covered(stays, periods)
    kept = tuple(stay for stay, keep in zip(stays.stays, within, strict=True) if keep)
    if weeks and kept:
        print(f"   moved by {weeks} weeks, to {_span(stays)}: days of the week stay the same")
        shifted = _off_the_clock(log.stays, stays, weeks, zone)
        if shifted:
            print(f"   {shifted} stays are an hour off on the clock: clocks change within the log")
    left_out = len(stays) - len(kept)
    if not kept:
        print("   nothing is planned: not moved by any number of whole weeks, either")
    elif left_out:
        print(f"   {len(kept)} stays lie wholly within known prices; {left_out} are left out")
    return dataclasses.replace(stays, stays=kept)


def moved(stays: io.VehicleStays, weeks: int, zone: ZoneInfo) -> io.VehicleStays:
    """Stays so many weeks later, the first one at the same time of the week on local clocks.

    All are moved by the same length of time, so a change of clocks among them
    shifts the later ones by an hour: a log counts elapsed time.
    """
    first = min(stay.arrival for stay in stays.stays)
    wall = first.astimezone(zone).replace(tzinfo=None) + weeks * WEEK
    by = wall.replace(tzinfo=zone).astimezone(UTC) - first
    later = (
        dataclasses.replace(stay, arrival=stay.arrival + by, departure=stay.departure + by)
        for stay in stays.stays
    )
    return dataclasses.replace(stays, stays=tuple(later))


def _off_the_clock(
    before: io.VehicleStays, after: io.VehicleStays, weeks: int, zone: ZoneInfo
) -> int:
    """How many moved stays begin at another time of day than before."""
    walls = [
        [stay.arrival.astimezone(zone).replace(tzinfo=None) for stay in stays.stays]
        for stays in (before, after)
    ]
    return sum(old + weeks * WEEK != new for old, new in zip(*walls, strict=True))


Periods = Sequence[tuple[datetime, datetime]]


def _priced(prices: sw.Prices) -> Periods:
    """Periods with known prices and no gap."""
    slots = prices.slots
    bounds = [slots[0][0], *(at for gap in prices.gaps for at in gap), slots[-1][1]]
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _covered(stays: io.VehicleStays, periods: Periods, weeks: int = 0) -> npt.NDArray[np.bool_]:
    """Which stays, so many weeks later, lie wholly within one of the periods."""
    by = weeks * WEEK.total_seconds()
    arrivals = np.array([stay.arrival.timestamp() for stay in stays.stays]) + by
    departures = np.array([stay.departure.timestamp() for stay in stays.stays]) + by
    starts, ends = (
        np.array([at.timestamp() for at in side]) for side in zip(*periods, strict=True)
    )
    place = np.searchsorted(starts, arrivals, side="right") - 1
    return (place >= 0) & (departures <= ends[place])


def _best_weeks(stays: io.VehicleStays, periods: Periods) -> int:
    """Where most stays are covered; among equals, as close to the same season as possible."""
    first = min(stay.arrival for stay in stays.stays)
    last = max(stay.departure for stay in stays.stays)
    least, most = (periods[0][0] - last) // WEEK, (periods[-1][1] - first) // WEEK + 1

    def merit(weeks: int) -> tuple[int, float, int]:
        years = weeks * 7 / YEAR_DAYS
        return int(_covered(stays, periods, weeks).sum()), -abs(years - round(years)), -abs(weeks)

    return max(range(least, most + 1), key=merit)
