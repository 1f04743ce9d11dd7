"""A charge point of the package `ocpp` behind the proxy, and a central system of it in front.

Neither knows of the proxy: texts of billing pass byte for byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ocpp.v16 import call as call16
from ocpp.v201 import call as call201

from billing import Billing, Tape, answers, calls
from central import PATIENCE, Central, basic, connected
from certificates import make_authority
from points import Post16, Post201, limit_of, listen
from test_points import DEVICE, IDENTITY

VERSIONS = {"ocpp1.6": Post16, "ocpp2.0.1": Post201}
BOTH = pytest.mark.parametrize("version", VERSIONS)


@dataclass
class Scene:
    """Everybody in a test."""

    central: Central
    billing: Billing
    point: Any
    tape: Tape

    async def limits(self, expected: float) -> None:
        """Wait until the charge point holds a limit above its default."""
        await until(
            lambda: any(
                "valid_to" in one and limit_of_profile(one) == expected
                for one in self.point.profiles[-1:]
            )
        )


def limit_of_profile(profile: dict[str, Any]) -> float:
    """Return the limit of a profile of either version."""
    schedule = profile["charging_schedule"]
    return limit_of(schedule[0] if isinstance(schedule, list) else schedule)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if holds():
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def proxied(
    folder: Path, version: str, tls: ssl.SSLContext | None = None, **more: str
) -> AsyncIterator[Scene]:
    """Put a billing system in front of a charge point that has introduced itself."""
    (folder / "CP~3a1.password").write_text("open sesame\n")
    async with Billing(version, tls) as billing:
        scheme = "wss" if tls else "ws"
        upstream = {
            "address": f"{scheme}://127.0.0.1:{billing.port}/steve",
            "password_file": str(folder / "{identity}.password"),
            "token": "ada",
        } | more
        with Central(folder, upstream=upstream, call_timeout_seconds=20) as central:
            added = central.order(f"add {IDENTITY}")
            central.order(f"link {IDENTITY} {added['code']}")
            async with connected(central.address, IDENTITY, added["password"], version) as socket:
                tape = Tape(socket)
                point = VERSIONS[version](IDENTITY, tape)
                listening = asyncio.create_task(listen(point))
                try:
                    assert (await point.boot()).interval == 777
                    await central.settle()
                    yield Scene(central, billing, point, tape)
                finally:
                    listening.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await listening


def play(folder: Path, version: str, scene: Callable[[Scene], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with proxied(folder, version) as everybody:
            await scene(everybody)

    asyncio.run(whole())


def profile(version: str, limit: float) -> Any:
    """Return a request that sets a default of the billing system."""
    periods = [{"startPeriod": 0, "limit": limit}]
    schedule: dict[str, Any] = {"chargingRateUnit": "A", "chargingSchedulePeriod": periods}
    fields: dict[str, Any] = {
        "stackLevel": 3,
        "chargingProfilePurpose": "TxDefaultProfile",
        "chargingProfileKind": "Absolute",
    }
    if version == "ocpp1.6":
        fields |= {"chargingProfileId": 77, "chargingSchedule": schedule}
        return call16.SetChargingProfile(connector_id=1, cs_charging_profiles=fields)
    fields |= {"id": 77, "chargingSchedule": [{"id": 1} | schedule]}
    return call201.SetChargingProfile(evse_id=1, charging_profile=fields)


def clearing(version: str) -> Any:
    """Return a request that clears it."""
    if version == "ocpp1.6":
        return call16.ClearChargingProfile(id=77)
    return call201.ClearChargingProfile(charging_profile_id=77)


async def measure(point: Any) -> None:
    """Report a register during the transaction."""
    if isinstance(point, Post16):
        await point.measure(7400, 600)
    else:
        point.register_wh += 600.0
        await point.report("Updated", "Charging")


@BOTH
def test_texts_of_billing_pass_byte_for_byte(tmp_path: Path, version: str) -> None:
    async def scene(it: Scene) -> None:
        assert it.billing.paths == [f"/steve/{IDENTITY}"]
        assert it.billing.headers == [basic(IDENTITY, "open sesame")["Authorization"]]
        token = {"id_token": "eve", "type": "Central"}
        is_old = version == "ocpp1.6"
        ask = call16.Authorize(id_tag="eve") if is_old else call201.Authorize(id_token=token)
        answer = await it.point.ask(ask)
        judged = answer.id_tag_info if is_old else answer.id_token_info
        assert judged["status"] == "Blocked"
        await it.point.begin()
        await measure(it.point)
        if is_old:
            assert it.point.transaction > 4000
        await it.point.finish()
        # The billing system asks, the charge point answers.
        wanted = {
            "component": {"name": "SmartChargingCtrlr"},
            "variable": {"name": "Enabled"},
        }
        if is_old:
            await it.billing.ask(call16.GetConfiguration(key=["NumberOfConnectors"]))
        else:
            await it.billing.ask(call201.GetVariables(get_variable_data=[wanted]))
        own = [text for text in calls(it.tape.heard) if '"slackwater-' in text]
        theirs = [text for text in calls(it.tape.heard) if text not in own]
        assert calls(it.tape.said) == calls(it.billing.heard)
        assert answers(it.tape.heard) == answers(it.billing.said)
        assert theirs == calls(it.billing.said)
        ids = [json.loads(text)[1] for text in own]
        to_billing = [text for text in answers(it.tape.said) if json.loads(text)[1] not in ids]
        assert to_billing == answers(it.billing.heard)
        # This system has listened.
        reading = await it.central.ask(f"poll {DEVICE}")
        assert reading["counters"]["imported_kwh"] == pytest.approx(1.6)

    play(tmp_path, version, scene)


@BOTH
def test_the_lower_limit_wins_and_is_answered_once_it_holds(tmp_path: Path, version: str) -> None:
    async def scene(it: Scene) -> None:
        await it.point.begin()
        assert await it.central.ask(f'send {DEVICE} {{"max_current_amps": 10}}') == "sent"
        await it.limits(10)
        assert (await it.billing.ask(profile(version, 8))).status == "Accepted"
        await it.limits(8)
        reading = await it.central.until(
            f"poll {DEVICE}", lambda answer: answer["facts"]["charger"]["max_current_amps"] == 8
        )
        assert reading["is_reachable"] is True
        assert (await it.billing.ask(profile(version, 14))).status == "Accepted"
        await it.limits(10)
        assert await it.central.ask(f'send {DEVICE} {{"max_current_amps": 16}}') == "sent"
        await it.limits(14)
        assert (await it.billing.ask(clearing(version))).status == "Accepted"
        await it.limits(16)
        assert (await it.billing.ask(clearing(version))).status == "Unknown"

    play(tmp_path, version, scene)


@BOTH
def test_starts_of_the_billing_system_pass_and_its_stops_hold(tmp_path: Path, version: str) -> None:
    async def scene(it: Scene) -> None:
        is_old = version == "ocpp1.6"
        token = {"id_token": "bob", "type": "Central"}
        start = (
            call16.RemoteStartTransaction(id_tag="bob", connector_id=1)
            if is_old
            else call201.RequestStartTransaction(id_token=token, remote_start_id=5, evse_id=1)
        )
        assert (await it.billing.ask(start)).status == "Accepted"
        await until(lambda: hasattr(it.point, "later"))
        await it.point.later
        number = it.point.transaction
        stop = (
            call16.RemoteStopTransaction(transaction_id=number)
            if is_old
            else call201.RequestStopTransaction(transaction_id=number)
        )
        assert (await it.billing.ask(stop)).status == "Accepted"
        await it.point.later
        refused = await it.central.ask(f'send {DEVICE} {{"charge": "start"}}')
        assert "the upstream system has stopped charging" in refused["error"]
        # Another vehicle may be started from here, with the card that the billing system knows.
        await it.point.show("Available")
        await it.point.show("Preparing" if is_old else "Occupied")
        assert await it.central.ask(f'send {DEVICE} {{"charge": "start"}}') == "sent"
        await it.point.later
        assert '"ada"' in calls(it.billing.heard)[-2 if is_old else -1]

    play(tmp_path, version, scene)


@BOTH
def test_a_billing_system_that_was_away_gets_what_it_missed_in_order(
    tmp_path: Path, version: str
) -> None:
    async def scene(it: Scene) -> None:
        await it.billing.leave()
        await asyncio.wait_for(until(lambda: not it.billing.is_connected.is_set()), PATIENCE)
        before = len(it.tape.said)
        await it.point.begin()
        await measure(it.point)
        await it.point.finish()
        assert await it.central.ask(f'send {DEVICE} {{"max_current_amps": 10}}') == "sent"
        missed = [text for text in calls(it.tape.said[before:]) if "StatusNotification" not in text]
        assert len(missed) == 3
        seen = len(it.billing.heard)
        await it.billing.open()
        await until(lambda: len(calls(it.billing.heard[seen:])) >= 4)
        delivered = calls(it.billing.heard[seen:])[:3]
        if version == "ocpp1.6":
            # But for the number of the transaction, which the billing system gives.
            assert delivered[0] == missed[0]
            given = json.loads(missed[1])[3]["transactionId"]
            number = json.loads(delivered[1])[3]["transactionId"]
            assert (given > 1_000_000_000, number > 4000) == (True, True)
            for one, other in zip(missed[1:], delivered[1:], strict=True):
                kept = json.loads(one)
                kept[3]["transactionId"] = number
                assert json.loads(other) == kept
        else:
            assert delivered == missed
        await it.point.show("Available")

    play(tmp_path, version, scene)


def test_the_upstream_system_is_reached_by_tls_with_the_certificate_of_the_charge_point(
    tmp_path: Path,
) -> None:
    (tmp_path / "authority").mkdir()
    (tmp_path / "state").mkdir()
    files = make_authority(tmp_path / "authority")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(files / "ca.pem"))
    context.load_cert_chain(files / "central.pem", files / "central.key")
    context.verify_mode = ssl.CERT_REQUIRED
    more = {
        "ca_file": str(files / "ca.pem"),
        "certificate_file": str(files / "point.pem"),
        "key_file": str(files / "point.key"),
    }

    async def whole() -> None:
        async with proxied(tmp_path / "state", "ocpp1.6", context, **more) as it:
            subject = dict(pair[0] for pair in it.billing.certificates[0]["subject"])
            assert subject == {"commonName": IDENTITY}

    asyncio.run(whole())
