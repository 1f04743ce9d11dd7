"""Devices: what they show, what they can do, and whether they take a command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, cast

from slackwater import _engine, _public
from slackwater._record import Record
from slackwater._row import entries, row

PowerState = Literal[
    "unknown",
    "unplugged",
    "initializing",
    "charging",
    "complete",
    "stopped",
    "no_power",
    "fault",
    "discharging",
]
Ability = Literal[
    "information",
    "charge_state",
    "location",
    "odometer",
    "set_max_current",
    "start_charging",
    "stop_charging",
    "smart_charging",
    "refresh_state",
    "set_charge_rate_limit",
    "set_follow_schedule",
    "set_permanent_hold",
]
Permission = Literal[
    "read_data",
    "read_location",
    "control_charging",
    "control_operation_mode",
    "control_mode",
    "control_power_limit",
]
Command = Literal[
    "start",
    "stop",
    "max_current_amps",
    "charge_rate_limit_kw",
    "follow_schedule",
    "self_reliance",
    "time_of_use",
    "import_focus",
    "export_focus",
    "idle",
]
HvacMode = Literal["off", "auto", "cool", "heat"]


class _ChargeStateFields(NamedTuple):
    power_state: PowerState = "unknown"
    is_plugged_in: bool | None = None
    is_charging: bool | None = None
    is_fully_charged: bool | None = None
    charge_rate_kw: float | None = None
    charge_time_remaining_minutes: float | None = None
    charge_rate_limit_kw: float | None = None
    last_updated: datetime | None = None


class ChargeState(_ChargeStateFields, Record):
    """A charge state as reported, or as shown; ``None`` is not known.

    Attributes:
        power_state: Where the delivery of power stands.
        is_plugged_in: Whether a plug is in.
        is_charging: Whether it charges.
        is_fully_charged: Whether the vehicle is full.
        charge_rate_kw: Power now.
        charge_time_remaining_minutes: Minutes until the charge limit.
        charge_rate_limit_kw: Highest power allowed.
        last_updated: When all of this was read, aware.
    """

    __slots__ = ()


class _OwnedFields(NamedTuple):
    id: str
    user_id: str


class Owned(_OwnedFields, Record):
    """A device and the user who linked it.

    Attributes:
        id: The device.
        user_id: The user.
    """

    __slots__ = ()


class _PairingFields(NamedTuple):
    plugged_in_charger_id: str | None
    plugged_in_vehicle_id: str | None


class Pairing(_PairingFields, Record):
    """Signs by which a vehicle and a charger show each other.

    Attributes:
        plugged_in_charger_id: What the vehicle shows.
        plugged_in_vehicle_id: What the charger shows.
    """

    __slots__ = ()


class _PowerRangeFields(NamedTuple):
    min_kw: float | None = None
    max_kw: float | None = None


class PowerRange(_PowerRangeFields, Record):
    """Powers between which a limit can be set; ``None`` is not known.

    Attributes:
        min_kw: Lowest limit.
        max_kw: Highest limit.
    """

    __slots__ = ()


class _WhereaboutsFields(NamedTuple):
    longitude: float | None = None
    latitude: float | None = None
    last_updated: datetime | None = None
    location_id: str | None = None


class Whereabouts(_WhereaboutsFields, Record):
    """Where a device is; ``None`` is not known, or not shown.

    Attributes:
        longitude: Degrees east.
        latitude: Degrees north.
        last_updated: When that was read, aware.
        location_id: The location of its user that it is at.
    """

    __slots__ = ()


class _CapabilityFields(NamedTuple):
    is_capable: bool
    intervention_ids: Sequence[str] = ()
    allowed_range: PowerRange | None = None


class Capability(_CapabilityFields, Record):
    """Whether a device can do something, and what a person could do about it.

    Attributes:
        is_capable: Whether it can in full.
        intervention_ids: Steps that a person could take; also where it can.
        allowed_range: For a limit of the charge rate.
    """

    __slots__ = ()


class _RefusalFields(NamedTuple):
    code: str
    detail: str


class Refusal(_RefusalFields, Record):
    """Why a command is not sent.

    Attributes:
        code: ``not_permitted``, ``controlled``, ``incapable``,
            ``outside_range``, ``cannot_act``, ``fully_charged`` or
            ``already_there``: reasons in the order in which they are looked at.
        detail: The reason as a clause.
    """

    __slots__ = ()


def shown_charge_state(
    reported: ChargeState, *, now: datetime, device: Literal["vehicle", "charger"] = "vehicle"
) -> ChargeState:
    """Tell what a device shows of what its vendor reported.

    The state is unknown once the reading is over seven days old. Whether the
    vehicle is full is not shown in an unknown state. Power and remaining time
    are shown only while it charges, and the limit of the power only with a
    plug in. A charger is never complete, but stopped.

    Args:
        reported: What the vendor says.
        now: When it is shown, aware.
        device: Who reports.

    Raises:
        InputError: The state is unknown, or a number is NaN or infinite.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> now = datetime(2026, 1, 12, tzinfo=UTC)
        >>> week_old = ChargeState("complete", is_fully_charged=True, last_updated=now)
        >>> late = now + timedelta(days=7, microseconds=1)
        >>> shown = shown_charge_state(week_old, now=late)
        >>> shown.power_state, shown.is_fully_charged
        ('unknown', None)
    """
    shown = _engine.device_charge_state(row(ChargeState, reported), device=device, now=now)
    return ChargeState(cast("PowerState", shown[0]), *shown[1:])


def pair(vehicle: Owned, charger: Owned, *, is_detected_together: bool) -> Pairing:
    """Tell whether a vehicle and a charger name each other.

    They do if both belong to one user and were detected as plugged into each
    other; else neither does.

    Example:
        >>> pair(Owned("car", "ada"), Owned("box", "ada"), is_detected_together=True)
        Pairing(plugged_in_charger_id='box', plugged_in_vehicle_id='car')
        >>> pair(Owned("car", "ada"), Owned("box", "bob"), is_detected_together=True)
        Pairing(plugged_in_charger_id=None, plugged_in_vehicle_id=None)
    """
    is_paired = _engine.device_are_paired(
        vehicle, charger, is_detected_together=is_detected_together
    )
    return Pairing(charger.id, vehicle.id) if is_paired else Pairing(None, None)


def _capabilities(given: Mapping[Ability, Capability], name: str) -> list[Any]:
    rows = {ability: row(Capability, one) for ability, one in entries(given, name).items()}
    return [
        (ability, one.is_capable, list(one.intervention_ids), one.allowed_range)
        for ability, one in rows.items()
    ]


def merge_capabilities(
    vehicle: Mapping[Ability, Capability],
    charger: Mapping[Ability, Capability] | None = None,
    *,
    vehicle_permissions: Iterable[Permission] | None = None,
    charger_permissions: Iterable[Permission] | None = None,
) -> dict[Ability, Capability]:
    """Tell what a vehicle can do, with the advice of the charger it stands at.

    Interventions under abilities that both have are listed together, the
    vehicle's first, each once. Everything else is the vehicle's own. An
    ability whose permission is missing is none, without advice.

    Args:
        vehicle: The vehicle's own capabilities.
        charger: Those of the charger it is paired with; ``None`` if it is not.
        vehicle_permissions: What its owner granted; ``None`` is everything.
        charger_permissions: The same for the charger.

    Raises:
        InputError: An ability or permission is unknown, or a number is not finite.

    Example:
        >>> car = {"start_charging": Capability(True, ["log in"])}
        >>> box = {"start_charging": Capability(False, ["reset", "log in"])}
        >>> merge_capabilities(car, box)["start_charging"]
        Capability(is_capable=True, intervention_ids=['log in', 'reset'], allowed_range=None)
        >>> merge_capabilities(car, box, vehicle_permissions=["read_data"])["start_charging"]
        Capability(is_capable=False, intervention_ids=[], allowed_range=None)
    """
    merged = _engine.device_capabilities(
        _capabilities(vehicle, "vehicle"),
        None if charger is None else _capabilities(charger, "charger"),
        vehicle_permissions=None if vehicle_permissions is None else list(vehicle_permissions),
        charger_permissions=None if charger_permissions is None else list(charger_permissions),
    )
    return {
        cast("Ability", ability): Capability(
            is_capable, interventions, None if power is None else PowerRange(*power)
        )
        for ability, is_capable, interventions, power in merged
    }


def shown_whereabouts(reported: Whereabouts, *, permissions: Iterable[Permission]) -> Whereabouts:
    """Show where a device is, as far as its owner granted it.

    Without ``"read_location"`` nothing is shown, the name of the place included.

    Raises:
        InputError: A permission is unknown.
        TypeError: A time has no zone.

    Example:
        >>> here = Whereabouts(10.7, 59.9, location_id="home")
        >>> shown_whereabouts(here, permissions=["read_data", "read_location"]) == here
        True
        >>> shown_whereabouts(here, permissions=["read_data"]).location_id is None
        True
    """
    return Whereabouts(
        *_engine.device_whereabouts(row(Whereabouts, reported), permissions=list(permissions))
    )


def shown_consumption_kw(reported_kw: float | None, *, is_active: bool) -> float | None:
    """Show what a heating or cooling unit consumes, in kW: nothing while it is inactive.

    A unit that does not tell shows ``None``.

    Raises:
        InputError: The number is NaN or infinite.

    Example:
        >>> shown_consumption_kw(1.2, is_active=True), shown_consumption_kw(1.2, is_active=False)
        (1.2, 0.0)
    """
    return _engine.device_shown_consumption(reported_kw, is_active=is_active)


def check_command(
    command: Command,
    *,
    power_state: PowerState,
    value: float | None = None,
    is_fully_charged: bool | None = None,
    is_permitted: bool = True,
    controller: Literal["override", "schedule", "smart_charging", "nobody"] = "nobody",
    is_capable: bool = True,
    allowed_range_kw: PowerRange | tuple[float | None, float | None] | None = None,
) -> Refusal | None:
    """Tell why a command is refused; ``None`` if it is accepted.

    Permission first, then whether a feature is in charge (for starting and
    stopping), then what the device is able to do.

    Args:
        command: What the device is told.
        power_state: Where its delivery of power stands.
        value: The current in A or the power in kW, for commands that set one.
        is_fully_charged: Whether the vehicle says that it is full.
        is_permitted: Whether the owner granted what the command needs.
        controller: Who controls the device.
        is_capable: Whether the device can do it.
        allowed_range_kw: Limits of the charge rate that it takes.

    Raises:
        InputError: A word is unknown, or a number is missing or not finite.

    Example:
        >>> check_command("start", power_state="stopped") is None
        True
        >>> check_command("start", power_state="stopped", controller="schedule").code
        'controlled'
        >>> check_command("start", power_state="fault").code
        'cannot_act'
    """
    refusal = _engine.device_check_command(
        command,
        value=value,
        power_state=power_state,
        is_fully_charged=is_fully_charged,
        is_permitted=is_permitted,
        controller=controller,
        is_capable=is_capable,
        allowed_range_kw=allowed_range_kw,
    )
    return None if refusal is None else Refusal(*refusal)


def is_reached(
    command: Command,
    *,
    power_state: PowerState,
    value: float | None = None,
    max_current_amps: float | None = None,
    charge_rate_limit_kw: float | None = None,
    operation_mode: str | None = None,
    follows_schedule: bool | None = None,
) -> bool:
    """Tell whether a device that reads so does what it was told.

    A start is reached when it charges, a stop when no power flows; a state that
    nobody knows is neither. Limits are compared to a twentieth of an ampere or
    kilowatt. What the device does not say (``None``) is not reached.

    Args:
        command: What the device was told.
        power_state: Where its delivery of power stands.
        value: The current in A or the power in kW, for commands that set one.
        max_current_amps: Its limit of the current.
        charge_rate_limit_kw: Its limit of the charge rate.
        operation_mode: What a battery aims at.
        follows_schedule: Whether a heating unit follows its own schedule.

    Raises:
        InputError: A word is unknown, or a number is missing or not finite.

    Example:
        >>> is_reached("start", power_state="charging")
        True
        >>> is_reached("max_current_amps", value=10, power_state="stopped", max_current_amps=16)
        False
    """
    return _engine.device_is_reached(
        command,
        value=value,
        power_state=power_state,
        max_current_amps=max_current_amps,
        charge_rate_limit_kw=charge_rate_limit_kw,
        operation_mode=operation_mode,
        follows_schedule=follows_schedule,
    )


def last_seen(last_data: datetime | None, *, linked_at: datetime) -> datetime:
    """Tell when a device was last seen: its last live data, or when it was linked.

    Raises:
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC
        >>> last_seen(None, linked_at=datetime(2026, 1, 5, tzinfo=UTC)).isoformat()
        '2026-01-05T00:00:00+00:00'
    """
    return _engine.device_last_seen(last_data, linked_at=linked_at)


def serial_number(reported: str | None, *, vendor_id: str) -> str:
    """Tell a charger's serial number; without one, what its manufacturer calls it.

    Example:
        >>> serial_number("", vendor_id="box-7"), serial_number("S1", vendor_id="box-7")
        ('box-7', 'S1')
    """
    return _engine.device_serial_number(reported, vendor_id=vendor_id)


def check_hold(
    mode: HvacMode,
    *,
    heat_setpoint_celsius: float | None = None,
    cool_setpoint_celsius: float | None = None,
    capable_modes: Iterable[HvacMode] | None = None,
    heat_range_celsius: tuple[float, float] | None = None,
    cool_range_celsius: tuple[float, float] | None = None,
    difference_range_celsius: tuple[float, float] | None = None,
) -> str | None:
    """Tell why a heating or cooling unit is not held so; ``None`` if it can be.

    Ranges include both ends; ``None`` does not restrict. The difference of
    the setpoints counts in ``"auto"`` only.

    Args:
        mode: What the unit is to do.
        heat_setpoint_celsius: It heats below this.
        cool_setpoint_celsius: It cools above this.
        capable_modes: Modes that it has.
        heat_range_celsius: Setpoints of heating that it takes.
        cool_range_celsius: Setpoints of cooling that it takes.
        difference_range_celsius: Cooling minus heating that it takes.

    Raises:
        InputError: A mode is unknown, or a number is NaN or infinite.

    Example:
        >>> check_hold("heat", heat_setpoint_celsius=30, heat_range_celsius=(5, 30)) is None
        True
        >>> check_hold("heat", heat_setpoint_celsius=30.1, heat_range_celsius=(5, 30))
        'heat_setpoint_celsius is 30.1, outside 5 to 30 °C'
    """
    return _engine.device_check_hold(
        mode,
        heat_setpoint_celsius=heat_setpoint_celsius,
        cool_setpoint_celsius=cool_setpoint_celsius,
        capable_modes=None if capable_modes is None else list(capable_modes),
        heat_range_celsius=heat_range_celsius,
        cool_range_celsius=cool_range_celsius,
        difference_range_celsius=difference_range_celsius,
    )


_public.guard(__name__)
