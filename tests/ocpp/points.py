"""Charge points of the package `ocpp`, which holds every message against the schemas."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from ocpp.routing import on
from ocpp.v16 import ChargePoint as ChargePoint16
from ocpp.v16 import call as call16
from ocpp.v16 import call_result as result16
from ocpp.v201 import ChargePoint as ChargePoint201
from ocpp.v201 import call as call201
from ocpp.v201 import call_result as result201
from websockets.exceptions import ConnectionClosed


def now() -> str:
    """Return the time as the protocol writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def limit_of(schedule: dict[str, Any]) -> float:
    """Return the first limit of a schedule."""
    return float(schedule["charging_schedule_period"][0]["limit"])


async def listen(point: Any) -> None:
    """Answer requests until the connection ends."""
    with suppress(ConnectionClosed):
        await point.start()


class Post16(ChargePoint16):
    """A charger of 1.6 with one connector that keeps what it is told."""

    def __init__(self, *arguments: Any, profiles: str = "Core,RemoteTrigger,SmartCharging") -> None:
        """Report the feature profiles."""
        super().__init__(*arguments)
        self.register_wh = 1000
        self.transaction: int | None = None
        self.requests: list[str] = []
        self.profiles: list[dict[str, Any]] = []
        # Keys that were asked for, and composite schedules.
        self.keys: list[Any] = []
        self.composites: list[tuple[int, int]] = []
        self.cleared: list[dict[str, Any]] = []
        # Limit that it reports, if another than that of its last profile.
        self.reported: float | None = None
        # Set once there is a profile that ends.
        self.has_limit = asyncio.Event()
        self.configuration = {
            "SupportedFeatureProfiles": profiles,
            "MeterValuesSampledData": "Energy.Active.Import.Register",
            "MeterValueSampleInterval": "0",
            "NumberOfConnectors": "1",
        }

    async def boot(self) -> Any:
        """Introduce the charger and its connector."""
        answer = await self.ask(
            call16.BootNotification(charge_point_vendor="Fjord", charge_point_model="Post")
        )
        await self.show("Available")
        return answer

    async def ask(self, payload: Any) -> Any:
        """Send a request; an error is raised."""
        return await self.call(payload, suppress=False)

    async def show(self, status: str) -> None:
        """Report the state of the connector."""
        await self.ask(
            call16.StatusNotification(connector_id=1, error_code="NoError", status=status)
        )

    async def begin(self, tag: str = "ada") -> None:
        """Start a transaction and charge."""
        answer = await self.ask(
            call16.StartTransaction(
                connector_id=1, id_tag=tag, meter_start=self.register_wh, timestamp=now()
            )
        )
        self.transaction = answer.transaction_id
        await self.show("Charging")

    async def measure(self, power_w: float, advance_wh: int) -> None:
        """Report power and register."""
        self.register_wh += advance_wh
        power = {"value": str(power_w), "measurand": "Power.Active.Import", "unit": "W"}
        register = {"value": str(self.register_wh), "unit": "Wh"}
        sampled = [power, register]
        await self.ask(
            call16.MeterValues(
                connector_id=1,
                transaction_id=self.transaction,
                meter_value=[{"timestamp": now(), "sampledValue": sampled}],
            )
        )

    async def finish(self) -> None:
        """End the transaction."""
        assert self.transaction is not None
        await self.ask(
            call16.StopTransaction(
                transaction_id=self.transaction, meter_stop=self.register_wh, timestamp=now()
            )
        )
        self.transaction = None
        await self.show("Finishing")

    @on("GetConfiguration")
    def on_get_configuration(self, key: Any = None) -> Any:
        """Return all keys."""
        self.requests.append("GetConfiguration")
        self.keys.append(key)
        keys = [
            {"key": key, "value": value, "readonly": False}
            for key, value in self.configuration.items()
        ]
        return result16.GetConfiguration(configuration_key=keys)

    @on("ChangeConfiguration")
    def on_change_configuration(self, key: str, value: str) -> Any:
        """Set a key."""
        self.requests.append("ChangeConfiguration")
        self.configuration[key] = value
        return result16.ChangeConfiguration(status="Accepted")

    @on("RemoteStartTransaction")
    def on_remote_start(self, id_tag: str, **_: Any) -> Any:
        """Start a transaction after the answer."""
        self.requests.append("RemoteStartTransaction")
        self.later = asyncio.create_task(self.begin(id_tag))
        return result16.RemoteStartTransaction(status="Accepted")

    @on("RemoteStopTransaction")
    def on_remote_stop(self, transaction_id: int) -> Any:
        """End the transaction after the answer, if it is this one."""
        self.requests.append("RemoteStopTransaction")
        if transaction_id != self.transaction:
            return result16.RemoteStopTransaction(status="Rejected")
        self.later = asyncio.create_task(self.finish())
        return result16.RemoteStopTransaction(status="Accepted")

    @on("SetChargingProfile")
    def on_set_profile(self, cs_charging_profiles: dict[str, Any], **_: Any) -> Any:
        """Keep a profile, and pause at a limit of zero."""
        self.profiles.append(cs_charging_profiles)
        if "valid_to" in cs_charging_profiles:
            self.has_limit.set()
        if self.transaction is not None:
            limit = limit_of(cs_charging_profiles["charging_schedule"])
            self.later = asyncio.create_task(self.show("Charging" if limit else "SuspendedEVSE"))
        return result16.SetChargingProfile(status="Accepted")

    @on("ClearChargingProfile")
    def on_clear_profiles(self, **fields: Any) -> Any:
        """Keep what is to be removed."""
        self.cleared.append(fields)
        return result16.ClearChargingProfile(status="Accepted")

    @on("GetCompositeSchedule")
    def on_composite(self, connector_id: int, duration: int, **_: Any) -> Any:
        """Return the limit of the last profile."""
        self.composites.append((connector_id, duration))
        schedule = self.profiles[-1]["charging_schedule"]
        limit = limit_of(schedule) if self.reported is None else self.reported
        composite = {
            "duration": duration,
            "charging_rate_unit": schedule["charging_rate_unit"],
            "charging_schedule_period": [{"start_period": 0, "limit": limit}],
        }
        return result16.GetCompositeSchedule(
            status="Accepted",
            connector_id=connector_id,
            schedule_start=now(),
            charging_schedule=composite,
        )

    @on("TriggerMessage")
    def on_trigger(self, **_: Any) -> Any:
        """Refuse to send a message."""
        return result16.TriggerMessage(status="NotImplemented")

    @on("UnlockConnector")
    def on_unlock(self, connector_id: int) -> Any:
        """End the transaction first, if there is one."""
        self.requests.append("UnlockConnector")
        if connector_id != 1:
            return result16.UnlockConnector(status="NotSupported")
        if self.transaction is not None:
            self.later = asyncio.create_task(self.finish())
        return result16.UnlockConnector(status="Unlocked")

    @on("ClearCache")
    def on_clear(self) -> Any:
        """Forget all tokens."""
        self.requests.append("ClearCache")
        return result16.ClearCache(status="Accepted")

    @on("Reset")
    def on_reset(self, **fields: str) -> Any:
        """Restart after the answer."""
        self.requests.append(f"Reset {fields['type']}")
        self.later = asyncio.create_task(self.restart())
        return result16.Reset(status="Accepted")

    async def restart(self) -> None:
        """End the transaction, if there is one, and start anew."""
        if self.transaction is not None:
            await self.finish()
        await self.boot()


class Obedient16(Post16):
    """A charger that sends the messages that it is asked for."""

    @on("TriggerMessage")
    def on_trigger(self, requested_message: str, **_: Any) -> Any:
        """Send the message after the answer."""
        self.requests.append(requested_message)
        self.later = asyncio.create_task(self.tell(requested_message))
        return result16.TriggerMessage(status="Accepted")

    async def tell(self, message: str) -> None:
        """Send a message."""
        match message:
            case "BootNotification":
                await self.boot()
            case "StatusNotification":
                await self.show("Available")
            case "MeterValues":
                await self.measure(0, 0)
            case "Heartbeat":
                await self.ask(call16.Heartbeat())
            case "DiagnosticsStatusNotification":
                await self.ask(call16.DiagnosticsStatusNotification(status="Idle"))
            case _:
                await self.ask(call16.FirmwareStatusNotification(status="Idle"))


class Stubborn16(Post16):
    """A charger that neither restarts nor unlocks its cable."""

    @on("Reset")
    def on_reset(self, **_: str) -> Any:
        """Refuse."""
        return result16.Reset(status="Rejected")

    @on("UnlockConnector")
    def on_unlock(self, **_: int) -> Any:
        """Fail."""
        return result16.UnlockConnector(status="UnlockFailed")


class Post201(ChargePoint201):
    """A charging station of 2.0.1 with one EVSE."""

    def __init__(self, *arguments: Any) -> None:
        """Begin without a transaction."""
        super().__init__(*arguments)
        self.register_wh = 1000.0
        self.transaction: str | None = None
        self.sequence = 0
        self.profiles: list[dict[str, Any]] = []
        self.variables: dict[tuple[str, str], str] = {
            ("SmartChargingCtrlr", "Enabled"): "true",
            ("SmartChargingCtrlr", "RateUnit"): "A",
            ("SampledDataCtrlr", "TxUpdatedMeasurands"): "Energy.Active.Import.Register",
            ("SampledDataCtrlr", "TxUpdatedInterval"): "0",
        }

    async def ask(self, payload: Any) -> Any:
        """Send a request; an error is raised."""
        return await self.call(payload, suppress=False)

    async def boot(self) -> Any:
        """Introduce the station and its connector."""
        station = {"model": "Post", "vendor_name": "Fjord"}
        answer = await self.ask(
            call201.BootNotification(charging_station=station, reason="PowerUp")
        )
        await self.show("Available")
        return answer

    async def show(self, status: str) -> None:
        """Report the state of the connector."""
        await self.ask(
            call201.StatusNotification(
                timestamp=now(), connector_status=status, evse_id=1, connector_id=1
            )
        )

    async def report(self, kind: str, state: str, **more: Any) -> Any:
        """Report about the transaction."""
        self.sequence += 1
        sample = {
            "value": self.register_wh,
            "measurand": "Energy.Active.Import.Register",
            "unit_of_measure": {"unit": "Wh"},
        }
        return await self.ask(
            call201.TransactionEvent(
                event_type=kind,
                timestamp=now(),
                trigger_reason="ChargingStateChanged",
                seq_no=self.sequence,
                transaction_info={"transaction_id": self.transaction, "charging_state": state},
                evse={"id": 1, "connector_id": 1},
                meter_value=[{"timestamp": now(), "sampled_value": [sample]}],
                **more,
            )
        )

    async def begin(self, tag: str = "ada", **more: Any) -> Any:
        """Start a transaction and charge."""
        self.transaction = f"tx-{self.sequence}"
        await self.show("Occupied")
        kind = {"id_token": tag, "type": "Central"}
        return await self.report("Started", "Charging", id_token=kind, **more)

    async def finish(self) -> None:
        """End the transaction; the cable stays in."""
        await self.report("Ended", "EVConnected")
        self.transaction = None

    @on("GetVariables")
    def on_get_variables(self, get_variable_data: list[dict[str, Any]], **_: Any) -> Any:
        """Return the variables that there are."""
        results = []
        for one in get_variable_data:
            component, variable = one["component"], one["variable"]
            value = self.variables.get((component["name"], variable["name"]))
            result = {"component": component, "variable": variable}
            if value is None:
                result["attribute_status"] = "UnknownVariable"
            else:
                result |= {"attribute_status": "Accepted", "attribute_value": value}
            results.append(result)
        return result201.GetVariables(get_variable_result=results)

    @on("SetVariables")
    def on_set_variables(self, set_variable_data: list[dict[str, Any]], **_: Any) -> Any:
        """Set variables."""
        results = []
        for one in set_variable_data:
            component, variable = one["component"], one["variable"]
            self.variables[component["name"], variable["name"]] = one["attribute_value"]
            results.append(
                {"component": component, "variable": variable, "attribute_status": "Accepted"}
            )
        return result201.SetVariables(set_variable_result=results)

    @on("RequestStartTransaction")
    def on_start(self, id_token: dict[str, str], remote_start_id: int, **_: Any) -> Any:
        """Start a transaction after the answer."""
        assert remote_start_id > 0
        self.later = asyncio.create_task(self.begin(id_token["id_token"]))
        return result201.RequestStartTransaction(status="Accepted")

    @on("RequestStopTransaction")
    def on_stop(self, transaction_id: str, **_: Any) -> Any:
        """End the transaction after the answer, if it is this one."""
        if transaction_id != self.transaction:
            return result201.RequestStopTransaction(status="Rejected")
        self.later = asyncio.create_task(self.finish())
        return result201.RequestStopTransaction(status="Accepted")

    @on("SetChargingProfile")
    def on_set_profile(self, charging_profile: dict[str, Any], **_: Any) -> Any:
        """Keep a profile, and pause at a limit of zero."""
        self.profiles.append(charging_profile)
        if self.transaction is not None:
            limit = limit_of(charging_profile["charging_schedule"][0])
            state = "Charging" if limit else "SuspendedEVSE"
            self.later = asyncio.create_task(self.report("Updated", state))
        return result201.SetChargingProfile(status="Accepted")

    @on("GetCompositeSchedule")
    def on_composite(self, duration: int, evse_id: int, **_: Any) -> Any:
        """Return the limit of the last profile."""
        schedule = self.profiles[-1]["charging_schedule"][0]
        composite = {
            "evse_id": evse_id,
            "duration": duration,
            "schedule_start": now(),
            "charging_rate_unit": schedule["charging_rate_unit"],
            "charging_schedule_period": [{"start_period": 0, "limit": limit_of(schedule)}],
        }
        return result201.GetCompositeSchedule(status="Accepted", schedule=composite)

    @on("TriggerMessage")
    def on_trigger(self, **_: Any) -> Any:
        """Refuse to send a message."""
        return result201.TriggerMessage(status="NotImplemented")
