"""Driving and parking events of SimBEV, as stays at a charger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from slackwater import _engine
from slackwater._engine import InputError
from slackwater._record import Record
from slackwater.io._text import StrPath, TextTable, numbers_of, read_table, times_of

# Row, timestamp, start and length in steps, location, fractions of charge at
# start and end, kWh, kW of the charger.
EventRow: TypeAlias = tuple[int, datetime | None, int, int, str, float, float, float, float]

# Beyond this, a float no longer counts one by one.
_STEPS_MAX = 2**53

_NUMBERS = (
    "event_start",
    "event_time",
    "soc_start",
    "soc_end",
    "energy",
    "station_charging_capacity",
)


@dataclass(frozen=True, slots=True)
class VehicleStay(Record):
    """A stay at a charger, and what it has to put into the battery.

    Attributes:
        id: Vehicle and number of the stay, such as ``"blue/3"``.
        vehicle: Name of the vehicle's file without ``_events``.
        location: Where the charger is, in the words of the log.
        arrival: Plug-in time, in UTC.
        departure: When the vehicle leaves, in UTC.
        energy_kwh: Energy at the plug that the stay needs, in kWh.
        power_max_kw: Highest power of the charger, in kW.
        soc_percent: State of charge on arrival, in percent.
        capacity_kwh: Capacity of the battery, in kWh; ``None`` if the log
            does not tell.
    """

    id: str
    vehicle: str
    location: str
    arrival: datetime
    departure: datetime
    energy_kwh: float
    power_max_kw: float
    soc_percent: float
    capacity_kwh: float | None


@dataclass(frozen=True, repr=False)
class VehicleStays(Record):
    """Stays of one or more vehicles, ready for `plan_batch`.

    Any Arrow library reads them as a table, and `plan_batch` takes them as
    they are.

    Attributes:
        stays: All stays, vehicle by vehicle, oldest first.
        notes: A sentence for each vehicle about all events of its log, and
            one for all that was resolved or does not fit together.
    """

    stays: tuple[VehicleStay, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.stays)

    def __repr__(self) -> str:
        vehicles = len({stay.vehicle for stay in self.stays})
        return f"<VehicleStays: {len(self)} stays of {vehicles} vehicles>"

    def to_pydict(self) -> dict[str, list[object]]:
        """The stays as columns, as `pyarrow.table` and data frames take them."""
        columns = VehicleStay.__slots__
        return {name: [getattr(stay, name) for stay in self.stays] for name in columns}

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        rows = [
            (
                stay.id,
                stay.vehicle,
                stay.location,
                stay.arrival,
                stay.departure,
                stay.energy_kwh,
                stay.power_max_kw,
                stay.soc_percent,
                stay.capacity_kwh,
            )
            for stay in self.stays
        ]
        return _engine.stays_to_table(rows).__arrow_c_stream__(requested_schema)


def read_simbev(
    path: StrPath,
    *,
    time_zone: str,
    origin: datetime | None = None,
    step_minutes: int = 15,
    capacity_kwh: float | None = None,
) -> VehicleStays:
    """Read a file of events, or a folder with a file for each vehicle.

    Every parking event with a charger is a stay, also one at which the log
    charged nothing. Driving and parking without a charger are counted in
    ``notes``. A stay needs the energy that the log put into the battery
    during it: afterwards the vehicle is as full as in the log, so that all
    later trips and states of charge stay true. The log has no losses, so this
    counts as energy at the plug.

    Steps are elapsed time. The timestamps of a simulation run on through a
    change of clocks; a note then says from where on clocks show another time.

    Args:
        path: A file, or a folder whose ``*.csv`` are read in order of name.
        time_zone: IANA name of the time zone of the timestamps.
        origin: Instant of step 0. It moves the log to other days, such as
            those of a price list. Without it, the first timestamp says.
        step_minutes: Length of a step, in minutes.
        capacity_kwh: Capacity of the battery, in kWh. Without it, driving
            tells: energy used per state of charge used.

    Returns:
        The stays of all vehicles, and notes.

    Raises:
        InputError: A column is missing, a cell is no number, events overlap,
            energy has the wrong sign, or timestamps contradict the steps.

    Example:
        >>> from slackwater import io, samples
        >>> stays = io.read_simbev(samples.SIMBEV_EVENTS, time_zone="Europe/Berlin")
        >>> stays
        <VehicleStays: 11 stays of 2 vehicles>
        >>> stays.stays[0].energy_kwh, stays.stays[0].power_max_kw
        (9.0, 11.0)
    """
    files = _files_at(Path(path))
    stays: list[VehicleStay] = []
    notes: list[str] = []
    for file in files:
        vehicle = file.stem.removesuffix("_events")
        events = _events_in(read_table(file))
        try:
            found, capacity, sentences = _engine.stays_from_events(
                events,
                time_zone=time_zone,
                step_minutes=step_minutes,
                origin=origin,
                capacity_kwh=capacity_kwh,
            )
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
        notes.extend(f"{vehicle}: {sentence}" for sentence in sentences)
        for number, stay in enumerate(found, start=1):
            _, arrival, departure, location, energy_kwh, soc_percent, power_max_kw = stay
            stays.append(
                VehicleStay(
                    id=f"{vehicle}/{number}",
                    vehicle=vehicle,
                    location=location,
                    arrival=arrival,
                    departure=departure,
                    energy_kwh=energy_kwh,
                    power_max_kw=power_max_kw,
                    soc_percent=soc_percent,
                    capacity_kwh=capacity,
                )
            )
    return VehicleStays(tuple(stays), tuple(notes))


def _files_at(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.csv"))
    if not files:
        raise InputError(f"{path}: the folder has no *.csv")
    return files


def _events_in(table: TextTable) -> list[EventRow]:
    location = table.column("location")
    columns = [_all_numbers(table, name) for name in _NUMBERS]
    timestamps: Sequence[datetime | None] = [None] * len(table.rows)
    if "timestamp" in table.header:
        timestamps = _timestamps(table, table.column("timestamp"))
    events = []
    for row, timestamp, *numbers in zip(table.rows, timestamps, *columns, strict=True):
        start, length, soc_start, soc_end, energy, power = numbers
        steps = (
            _whole(table, row.number, "event_start", start),
            _whole(table, row.number, "event_time", length),
        )
        place = row.cells[location]
        events.append((row.number, timestamp, *steps, place, soc_start, soc_end, energy, power))
    return events


def _timestamps(table: TextTable, column: int) -> list[datetime | None]:
    times = times_of(table, column)
    for row, time in zip(table.rows, times, strict=True):
        if time and time.time.tzinfo is not None:
            raise table.error(row, column, "has an offset; a log shows a wall clock")
    return [time and time.time for time in times]


def _all_numbers(table: TextTable, name: str) -> list[float]:
    column = table.column(name)
    numbers = []
    for row, number in zip(table.rows, numbers_of(table, column), strict=True):
        if number is None:
            raise table.error(row, column, "is no number")
        numbers.append(number)
    return numbers


def _whole(table: TextTable, row: int, name: str, number: float) -> int:
    if not number.is_integer() or abs(number) > _STEPS_MAX:
        raise InputError(f"{table.path}, row {row}, column {name!r}: {number} is no count of steps")
    return int(number)
