"""Charge points of the package `ocpp` before simulated chargers, by a clock that is stepped.

The package checks every message against the schemas of the protocol. A charge point measures,
reports, keeps profiles and obeys them by the clock that it is told; while its network is down it
goes on by itself, and delivers what was missed afterwards.
"""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from base64 import b64encode
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, TypeVar

import websockets
from ocpp.routing import after, on
from ocpp.v16 import ChargePoint as ChargePoint16
from ocpp.v16 import call as call16
from ocpp.v16 import call_result as result16
from ocpp.v201 import ChargePoint as ChargePoint201
from ocpp.v201 import call as call201
from ocpp.v201 import call_result as result201
from websockets.exceptions import ConnectionClosed

from night_profiles import Outlet, Profiles
from sandboxes import Json

Out = TypeVar("Out")

QUARTER = timedelta(minutes=15)
CURRENT_MIN_A = 6.0
TOKEN = "card"  # noqa: S105
"""A card that the owner holds to the charger with each plug."""

VERSIONS = ("ocpp1.6", "ocpp2.0.1")
SILENT, FULL, EMPTY = "SuspendedEVSE", "SuspendedEV", "Available"

KEYS = {
    "SupportedFeatureProfiles": "Core,RemoteTrigger,SmartCharging",
    "ChargingScheduleAllowedChargingRateUnit": "Current",
    "ChargeProfileMaxStackLevel": "8",
    "ChargingScheduleMaxPeriods": "6",
    "MeterValuesSampledData": "Energy.Active.Import.Register,Power.Active.Import",
    "MeterValueSampleInterval": "300",
    "NumberOfConnectors": "1",
}
VARIABLES = {
    ("SmartChargingCtrlr", "Enabled"): "true",
    ("SmartChargingCtrlr", "RateUnit"): "A",
    ("SmartChargingCtrlr", "ProfileStackLevel"): "8",
    ("SmartChargingCtrlr", "PeriodsPerSchedule"): "6",
    ("SampledDataCtrlr", "TxUpdatedMeasurands"): KEYS["MeterValuesSampledData"],
    ("SampledDataCtrlr", "TxUpdatedInterval"): KEYS["MeterValueSampleInterval"],
}


def written(at: datetime) -> str:
    """Return a time as the protocol writes it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Session:
    """A transaction.

    Attributes:
        number: Its number at this charger.
        begun: When it began.
        ident: Its identifier (1.6: given by the service).
    """

    number: int
    begun: datetime
    ident: Json = None


@dataclass(frozen=True)
class Look:
    """The simulated charger at an instant."""

    at: datetime
    is_plugged_in: bool
    is_charging: bool
    power_w: float
    register_wh: float

    @classmethod
    def of(cls, reading: Json) -> Look:
        """Read it from a reading of the homes."""
        charging = reading["facts"]["charger"]["charging"]
        return cls(
            at=datetime.fromisoformat(reading["at"]),
            is_plugged_in=bool(charging["is_plugged_in"]),
            is_charging=bool(charging["is_charging"]),
            power_w=(charging.get("charge_rate_kw") or 0.0) * 1000,
            register_wh=reading["counters"]["imported_kwh"] * 1000,
        )


@dataclass
class Received:
    """An order of the service that changed what a charger gives."""

    at: datetime
    device: str
    command: str

    def as_json(self) -> Json:
        """Return it as the judge reads commands."""
        return {"at": written(self.at), "device": self.device, "command": self.command}


class Charger:
    """What a charger does, whatever version it speaks."""

    def __init__(self, fleet: Fleet, name: str, version: str, outlet: Outlet) -> None:
        self.fleet, self.name, self.version = fleet, name, version
        self.profiles = Profiles(outlet)
        self.given_amps = outlet.amps
        self.session: Session | None = None
        self.is_ended = False
        """Whether its last transaction was ended with the plug in."""
        self.look: Look | None = None
        self.line: Line16 | Line201 | None = None
        self.told: str | None = None
        self.settings: dict[Json, str] = dict(KEYS if version == "ocpp1.6" else VARIABLES)
        self.interval = timedelta(0)
        self.heard_at: datetime | None = None
        self.sequence = 0
        self._count = 0
        self._last_state = EMPTY
        self._turn = asyncio.Lock()
        self._missed: deque[Callable[[Json], Awaitable[None]]] = deque()

    @property
    def state(self) -> str:
        """Its state in the words of 1.6."""
        look = self.look
        if look is None or not look.is_plugged_in:
            return EMPTY
        if self.session is None:
            return "Finishing" if self.is_ended else "Preparing"
        if look.is_charging:
            return "Charging"
        return SILENT if self.given_amps < CURRENT_MIN_A else FULL

    @property
    def begun(self) -> datetime | None:
        """When its transaction began, if there is one."""
        return self.session.begun if self.session else None

    @property
    def limit_amps(self) -> float:
        """What it may give now."""
        if self.is_ended:
            return 0.0
        amps = self.profiles.limit_amps(self.fleet.now, self.begun)
        return amps if amps >= CURRENT_MIN_A else 0.0

    async def live(self, look: Look) -> None:
        """Look at the plug and the clock, obey limits that begin or end, and report."""
        await self._notice(look)
        await self.obey()
        look = self.look or look
        is_quarter = look.at.timestamp() % QUARTER.total_seconds() == 0
        is_due = look.at.timestamp() % self.sample_seconds == 0 and self.session
        if is_quarter or is_due:
            session = self.session
            self._report(lambda line: line.measure(session, look))
        await self.deliver()
        if self.line and self.heard_at and look.at - self.heard_at >= self.interval:
            await self.line.beat()

    @property
    def sample_seconds(self) -> int:
        """The interval of its meter values."""
        key = "MeterValueSampleInterval"
        own = key if self.version == "ocpp1.6" else ("SampledDataCtrlr", "TxUpdatedInterval")
        return int(self.settings[own])

    async def obey(self) -> None:
        """Give what the profiles allow, and look what comes of it."""
        amps = self.limit_amps
        if amps != self.given_amps:
            self.given_amps = amps
            await self._notice(Look.of(await self.fleet.limit(self.name, amps)))

    async def _notice(self, look: Look) -> None:
        before, self.look = self.look, look
        was_plugged_in = before is not None and before.is_plugged_in
        if look.is_plugged_in and not was_plugged_in:
            self.begin()
        if was_plugged_in and not look.is_plugged_in:
            self.end("EVDisconnected")
            self.is_ended = False
        told = self.state
        session = self.session
        if session and before and told != self._last_state:
            self._report(lambda line: line.change(session, look, told))
        self._last_state = told

    def begin(self, remote: int | None = None) -> None:
        """Start a transaction, if there is none."""
        look = self.look
        if look is None or self.session:
            return
        self._count += 1
        self.is_ended = False
        session = self.session = Session(self._count, look.at)
        if self.version == "ocpp2.0.1":
            session.ident = f"{self.name}-{self._count}"
        self._report(lambda line: line.begin(session, look, remote))

    def end(self, reason: str) -> None:
        """End the transaction, if there is one."""
        look, session = self.look, self.session
        if look is None or session is None:
            return
        self.session, self.is_ended = None, True
        self.profiles.end_session()
        self._report(lambda line: line.end(session, look, reason))

    def _report(self, message: Callable[[Json], Awaitable[None]]) -> None:
        """Have a message about a transaction delivered, now or when there is a connection."""
        self._missed.append(message)

    async def deliver(self) -> None:
        """Deliver what waits, and the state."""
        async with self._turn:
            while self.line and self._missed:
                await self._missed[0](self.line)
                self._missed.popleft()
            if self.line and self.told != self.state:
                self.told = self.state
                await self.line.show(self.told)

    def command(self, text: str) -> None:
        """Remember an order of the service that changes something."""
        self.fleet.received.append(Received(self.fleet.now, self.name, text))

    def put_profile(self, profile: Json) -> None:
        """Keep a profile of the service."""
        before = self.limit_amps
        self.profiles.put(profile)
        # Without a car it is for the next one.
        if self.session and self.limit_amps != before:
            self.command(f"limit of {self.limit_amps:g} A in place of {before:g} A")

    async def follow(self) -> None:
        """Obey and report, after an order was answered."""
        await self.obey()
        await self.deliver()

    async def start_remotely(self, number: int | None = None) -> None:
        """Start a transaction that the service wants."""
        self.begin(number)
        await self.follow()

    async def stop_remotely(self) -> None:
        """End the transaction that the service wants ended."""
        self.end("Remote")
        await self.follow()


class Line16(ChargePoint16):
    """A connection in 1.6."""

    def __init__(self, charger: Charger, socket: Json) -> None:
        super().__init__(charger.name, socket)
        self.charger = charger

    async def ask(self, payload: Json) -> Json:
        """Send a request; an error is raised."""
        self.charger.heard_at = self.charger.fleet.now
        return await self.call(payload, suppress=False)

    async def boot(self) -> None:
        """Introduce the charger."""
        answer = await self.ask(
            call16.BootNotification(charge_point_vendor="Fjord", charge_point_model="Night")
        )
        self.charger.fleet.check_time(answer.current_time)
        self.charger.interval = timedelta(seconds=answer.interval)

    async def beat(self) -> None:
        """Send a sign of life."""
        answer = await self.ask(call16.Heartbeat())
        self.charger.fleet.check_time(answer.current_time)

    async def show(self, state: str) -> None:
        """Report the state of the connector."""
        await self.ask(
            call16.StatusNotification(
                connector_id=1,
                error_code="NoError",
                status=state,
                timestamp=written(self.charger.fleet.now),
            )
        )

    async def begin(self, session: Session, look: Look, _: int | None) -> None:
        """Report the start of a transaction."""
        answer = await self.ask(
            call16.StartTransaction(
                connector_id=1,
                id_tag=TOKEN,
                meter_start=round(look.register_wh),
                timestamp=written(session.begun),
            )
        )
        session.ident = answer.transaction_id

    async def change(self, session: Session, look: Look, _: str) -> None:
        """Report power and register with a change of the state."""
        await self.measure(session, look)

    async def measure(self, session: Session | None, look: Look) -> None:
        """Report power and register."""
        sampled = [
            {"value": repr(look.register_wh), "unit": "Wh"},
            {"value": repr(look.power_w), "measurand": "Power.Active.Import", "unit": "W"},
        ]
        await self.ask(
            call16.MeterValues(
                connector_id=1,
                transaction_id=session.ident if session else None,
                meter_value=[{"timestamp": written(look.at), "sampledValue": sampled}],
            )
        )

    async def end(self, session: Session, look: Look, reason: str) -> None:
        """Report the end of a transaction."""
        await self.ask(
            call16.StopTransaction(
                transaction_id=session.ident,
                meter_stop=round(look.register_wh),
                timestamp=written(look.at),
                reason=reason,
            )
        )

    @on("GetConfiguration")
    def on_get_configuration(self, **_: Json) -> Json:
        """Return all keys."""
        settings = self.charger.settings.items()
        keys = [{"key": key, "value": value, "readonly": False} for key, value in settings]
        return result16.GetConfiguration(configuration_key=keys)

    @on("ChangeConfiguration")
    def on_change_configuration(self, key: str, value: str) -> Json:
        """Set a key."""
        self.charger.settings[key] = value
        return result16.ChangeConfiguration(status="Accepted")

    @on("SetChargingProfile")
    def on_set_profile(self, cs_charging_profiles: Json, **_: Json) -> Json:
        """Keep a profile."""
        self.charger.put_profile(cs_charging_profiles)
        return result16.SetChargingProfile(status="Accepted")

    @after("SetChargingProfile")
    def after_set_profile(self, **_: Json) -> None:
        """Obey it."""
        self.charger.fleet.run(self.charger.follow())

    @on("ClearChargingProfile")
    def on_clear_profile(self, **wanted: Json) -> Json:
        """Forget profiles."""
        names = {"id": "charging_profile_id"}
        wanted = {names.get(name, name): value for name, value in wanted.items()}
        wanted.pop("connector_id", None)
        found = self.charger.profiles.clear(lambda one: not wanted.items() <= one.items())
        return result16.ClearChargingProfile(status="Accepted" if found else "Unknown")

    @on("GetCompositeSchedule")
    def on_composite(self, duration: int, **_: Json) -> Json:
        """Return the limits that follow from the profiles."""
        charger = self.charger
        now = charger.fleet.now
        return result16.GetCompositeSchedule(
            status="Accepted",
            connector_id=1,
            schedule_start=written(now),
            charging_schedule={
                "duration": duration,
                "charging_rate_unit": "A",
                "charging_schedule_period": charger.profiles.steps(now, duration, charger.begun),
            },
        )

    @on("RemoteStartTransaction")
    def on_remote_start(self, **_: Json) -> Json:
        """Start a transaction after the answer, if a plug is in."""
        charger = self.charger
        is_possible = charger.state in ("Preparing", "Finishing")
        if is_possible:
            charger.command("start")
        return result16.RemoteStartTransaction(status="Accepted" if is_possible else "Rejected")

    @after("RemoteStartTransaction")
    def after_remote_start(self, **_: Json) -> None:
        """Start it."""
        if self.charger.state in ("Preparing", "Finishing"):
            self.charger.fleet.run(self.charger.start_remotely())

    @on("RemoteStopTransaction")
    def on_remote_stop(self, transaction_id: int) -> Json:
        """End the transaction after the answer, if it is this one."""
        session = self.charger.session
        is_own = session is not None and session.ident == transaction_id
        if is_own:
            self.charger.command("stop")
        return result16.RemoteStopTransaction(status="Accepted" if is_own else "Rejected")

    @after("RemoteStopTransaction")
    def after_remote_stop(self, transaction_id: int) -> None:
        """End it."""
        session = self.charger.session
        if session and session.ident == transaction_id:
            self.charger.fleet.run(self.charger.stop_remotely())

    @on("TriggerMessage")
    def on_trigger(self, **_: Json) -> Json:
        """Refuse: everything was said."""
        return result16.TriggerMessage(status="NotImplemented")


class Line201(ChargePoint201):
    """A connection in 2.0.1."""

    STATES: ClassVar[dict[str, str]] = {
        SILENT: "SuspendedEVSE",
        FULL: "SuspendedEV",
        "Charging": "Charging",
    }

    def __init__(self, charger: Charger, socket: Json) -> None:
        super().__init__(charger.name, socket)
        self.charger = charger

    async def ask(self, payload: Json) -> Json:
        """Send a request; an error is raised."""
        self.charger.heard_at = self.charger.fleet.now
        return await self.call(payload, suppress=False)

    async def boot(self) -> None:
        """Introduce the station."""
        station = {"model": "Night", "vendor_name": "Fjord"}
        answer = await self.ask(
            call201.BootNotification(charging_station=station, reason="PowerUp")
        )
        self.charger.fleet.check_time(answer.current_time)
        self.charger.interval = timedelta(seconds=answer.interval)

    async def beat(self) -> None:
        """Send a sign of life."""
        answer = await self.ask(call201.Heartbeat())
        self.charger.fleet.check_time(answer.current_time)

    async def show(self, state: str) -> None:
        """Report the state of the connector."""
        await self.ask(
            call201.StatusNotification(
                timestamp=written(self.charger.fleet.now),
                connector_status="Available" if state == EMPTY else "Occupied",
                evse_id=1,
                connector_id=1,
            )
        )

    async def begin(self, session: Session, look: Look, remote: int | None) -> None:
        """Report the start of a transaction."""
        more = {} if remote is None else {"remote_start_id": remote}
        state = "Charging" if look.is_charging else "EVConnected"
        token = {"id_token": TOKEN, "type": "Central"}
        await self._tell(session, look, "Started", "CablePluggedIn", state, more, id_token=token)

    async def change(self, session: Session, look: Look, state: str) -> None:
        """Report a change of the state."""
        own = state if state in self.STATES else "EVConnected"
        await self._tell(session, look, "Updated", "ChargingStateChanged", own, {})

    async def measure(self, session: Session | None, look: Look) -> None:
        """Report power and register."""
        if session is None:
            await self.ask(call201.MeterValues(evse_id=1, meter_value=[measured(look)]))
            return
        state = "Charging" if look.is_charging else "SuspendedEVSE"
        if not look.is_charging and self.charger.given_amps >= CURRENT_MIN_A:
            state = "SuspendedEV"
        await self._tell(session, look, "Updated", "MeterValuePeriodic", state, {})

    async def end(self, session: Session, look: Look, reason: str) -> None:
        """Report the end of a transaction."""
        is_gone = reason == "EVDisconnected"
        cause = "EVDeparted" if is_gone else "RemoteStop"
        state = "Idle" if is_gone else "EVConnected"
        await self._tell(session, look, "Ended", cause, state, {"stopped_reason": reason})

    async def _tell(
        self,
        session: Session,
        look: Look,
        kind: str,
        cause: str,
        state: str,
        more: Json,
        **fields: Json,
    ) -> None:
        self.charger.sequence += 1
        await self.ask(
            call201.TransactionEvent(
                event_type=kind,
                timestamp=written(look.at),
                trigger_reason=cause,
                seq_no=self.charger.sequence,
                transaction_info={
                    "transaction_id": session.ident,
                    "charging_state": state,
                    **more,
                },
                evse={"id": 1, "connector_id": 1},
                meter_value=[measured(look)],
                **fields,
            )
        )

    @on("GetVariables")
    def on_get_variables(self, get_variable_data: list[Json], **_: Json) -> Json:
        """Return the variables that there are."""
        results = []
        for one in get_variable_data:
            value = self.charger.settings.get((one["component"]["name"], one["variable"]["name"]))
            result = {"component": one["component"], "variable": one["variable"]}
            if value is None:
                result["attribute_status"] = "UnknownVariable"
            else:
                result |= {"attribute_status": "Accepted", "attribute_value": value}
            results.append(result)
        return result201.GetVariables(get_variable_result=results)

    @on("SetVariables")
    def on_set_variables(self, set_variable_data: list[Json], **_: Json) -> Json:
        """Set variables."""
        results = []
        for one in set_variable_data:
            name = (one["component"]["name"], one["variable"]["name"])
            self.charger.settings[name] = one["attribute_value"]
            result = {"component": one["component"], "variable": one["variable"]}
            results.append({**result, "attribute_status": "Accepted"})
        return result201.SetVariables(set_variable_result=results)

    @on("SetChargingProfile")
    def on_set_profile(self, charging_profile: Json, **_: Json) -> Json:
        """Keep a profile."""
        self.charger.put_profile(charging_profile)
        return result201.SetChargingProfile(status="Accepted")

    @after("SetChargingProfile")
    def after_set_profile(self, **_: Json) -> None:
        """Obey it."""
        self.charger.fleet.run(self.charger.follow())

    @on("ClearChargingProfile")
    def on_clear_profile(
        self, charging_profile_id: int | None = None, charging_profile_criteria: Json = None
    ) -> Json:
        """Forget profiles."""
        wanted = dict(charging_profile_criteria or {})
        wanted.pop("evse_id", None)
        if charging_profile_id is not None:
            wanted["id"] = charging_profile_id
        found = self.charger.profiles.clear(lambda one: not wanted.items() <= one.items())
        return result201.ClearChargingProfile(status="Accepted" if found else "Unknown")

    @on("GetCompositeSchedule")
    def on_composite(self, duration: int, evse_id: int, **_: Json) -> Json:
        """Return the limits that follow from the profiles."""
        charger = self.charger
        now = charger.fleet.now
        return result201.GetCompositeSchedule(
            status="Accepted",
            schedule={
                "evse_id": evse_id,
                "duration": duration,
                "schedule_start": written(now),
                "charging_rate_unit": "A",
                "charging_schedule_period": charger.profiles.steps(now, duration, charger.begun),
            },
        )

    @on("RequestStartTransaction")
    def on_start(self, **_: Json) -> Json:
        """Start a transaction after the answer, if a plug is in."""
        charger = self.charger
        is_possible = charger.state in ("Preparing", "Finishing")
        if is_possible:
            charger.command("start")
        return result201.RequestStartTransaction(status="Accepted" if is_possible else "Rejected")

    @after("RequestStartTransaction")
    def after_start(self, remote_start_id: int, **_: Json) -> None:
        """Start it."""
        if self.charger.state in ("Preparing", "Finishing"):
            self.charger.fleet.run(self.charger.start_remotely(remote_start_id))

    @on("RequestStopTransaction")
    def on_stop(self, transaction_id: str, **_: Json) -> Json:
        """End the transaction after the answer, if it is this one."""
        session = self.charger.session
        is_own = session is not None and session.ident == transaction_id
        if is_own:
            self.charger.command("stop")
        return result201.RequestStopTransaction(status="Accepted" if is_own else "Rejected")

    @after("RequestStopTransaction")
    def after_stop(self, transaction_id: str, **_: Json) -> None:
        """End it."""
        session = self.charger.session
        if session and session.ident == transaction_id:
            self.charger.fleet.run(self.charger.stop_remotely())

    @on("TriggerMessage")
    def on_trigger(self, **_: Json) -> Json:
        """Refuse: everything was said."""
        return result201.TriggerMessage(status="NotImplemented")


def measured(look: Look) -> Json:
    """Return a meter value of 2.0.1."""
    register = {
        "value": look.register_wh,
        "measurand": "Energy.Active.Import.Register",
        "unit_of_measure": {"unit": "Wh"},
    }
    power = {
        "value": look.power_w,
        "measurand": "Power.Active.Import",
        "unit_of_measure": {"unit": "W"},
    }
    return {"timestamp": written(look.at), "sampled_value": [register, power]}


class ClockError(RuntimeError):
    """The service told another time than the clock."""


class Fleet:
    """All charge points, on a thread with their connections."""

    def __init__(self, address: str, now: datetime, limit: Callable[[str, float], Json]) -> None:
        self.address, self.now = address, now
        self.chargers: dict[str, Charger] = {}
        self.received: list[Received] = []
        self._limit = limit
        # Orders wait for a step of the clock, which waits for answers: these are checked on the
        # threads of the loop, which orders must leave alone.
        self._orders = ThreadPoolExecutor(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def wait(self, work: Coroutine[Json, Json, Out]) -> Out:
        """Do something on the thread of the connections, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def limit(self, name: str, amps: float) -> Json:
        """Limit a simulated charger, and return its reading."""
        return await self._loop.run_in_executor(self._orders, self._limit, name, amps)

    def run(self, work: Coroutine[Json, Json, None]) -> None:
        """Do something after an answer was sent."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

    async def rest(self) -> bool:
        """Wait until nothing is done after answers; tell whether something was."""
        had_any = bool(self._tasks)
        while self._tasks:
            done, _ = await asyncio.wait(self._tasks)
            self._tasks -= done
            for task in done:
                task.result()
        return had_any

    async def live(self, now: datetime, truth: dict[str, Json]) -> None:
        """Let every charger live up to a time."""
        self.now = now
        await asyncio.gather(
            *(charger.live(Look.of(truth[name])) for name, charger in self.chargers.items())
        )

    async def connect(self, names: Iterable[str], passwords: dict[str, str]) -> None:
        """Connect chargers."""
        for name in names:
            charger = self.chargers[name]
            pair = b64encode(f"{name}:{passwords[name]}".encode()).decode()
            socket = await websockets.connect(
                f"ws://{self.address}/{name}",
                subprotocols=[websockets.Subprotocol(charger.version)],
                additional_headers={"Authorization": f"Basic {pair}"},
                # The clock of the service stands still between steps.
                ping_interval=None,
            )
            kind = Line16 if charger.version == "ocpp1.6" else Line201
            line = kind(charger, socket)
            task = self._listening[name] = asyncio.ensure_future(listen(line))
            task.add_done_callback(self._notice_end)
            await line.boot()
            charger.line, charger.told = line, None
            await charger.deliver()

    async def cut(self, names: Iterable[str]) -> None:
        """Take the network from chargers."""
        for name in names:
            charger = self.chargers[name]
            line, charger.line = charger.line, None
            if line:
                await line._connection.close()  # noqa: SLF001
                await self._listening.pop(name)

    def _notice_end(self, task: asyncio.Task[None]) -> None:
        """Have a failure of a charge point end the night: the service would wait for its answer."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            traceback.print_exception(error)
            os._exit(1)

    def check_time(self, told: str) -> None:
        """Check that the service goes by the clock of the chargers."""
        if abs(datetime.fromisoformat(told) - self.now) > timedelta(seconds=1):
            message = f"the service says {told} at {written(self.now)}"
            raise ClockError(message)


async def listen(line: Json) -> None:
    """Answer requests until the connection ends."""
    with suppress(ConnectionClosed):
        await line.start()
