"""Test cases of the Open Charge Alliance for central systems of OCPP 1.6, by their public ids.

The list is that of the published document (2026-02). Each test plays the exchange that the title of
its case names, with a charge point of the package `ocpp`: it shows interoperation, and certifies
nothing. `docs/ocpp-cases.md` has all cases, and the reasons of those that do not apply.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import websockets
from ocpp.v16 import call

from central import ROOT, Central, basic, connected
from certificates import RSA, certify, make_authority, openssl, write_with_crlf
from points import Obedient16, Post16, Stubborn16, limit_of, listen, now
from test_points import DEVICE, IDENTITY, charging, play, playing

Scene = Callable[[Central, Any], Awaitable[None]]


def with_charger(
    folder: Path, scene: Scene, kind: Callable[..., Any] = Post16, **settings: Any
) -> None:
    async def whole(central: Central, password: str) -> None:
        async with playing(central, password, "ocpp1.6", kind) as point:
            await scene(central, point)

    play(folder, whole, **settings)


async def is_charging(central: Central) -> Any:
    return charging(await central.ask(f"poll {DEVICE}")).get("is_charging")


async def power_state(central: Central) -> Any:
    return charging(await central.ask(f"poll {DEVICE}")).get("power_state")


async def asked(central: Central, point: Any, action: str) -> None:
    """Wait until the charge point was asked for something."""
    await central.settle()
    await central.until(f"poll {DEVICE}", lambda _: action in point.requests)


def ago(minutes: float) -> str:
    at = datetime.now(UTC) - timedelta(minutes=minutes)
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def test_tc_001_csms_cold_boot(tmp_path: Path) -> None:
    async def scene(_: Central, point: Any) -> None:
        answer = await point.boot()
        assert (answer.status, answer.interval > 0) == ("Accepted", True)
        assert (await point.ask(call.Heartbeat())).current_time.endswith("Z")

    with_charger(tmp_path, scene)


def test_tc_003_csms_regular_session_plug_in_first(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show("Preparing")
        assert (await point.ask(call.Authorize(id_tag="ada"))).id_tag_info["status"] == "Accepted"
        await point.begin()
        assert await is_charging(central)
        await point.finish()
        await point.show("Available")
        assert not await is_charging(central)

    with_charger(tmp_path, scene)


def test_tc_004_1_csms_regular_session_identification_first(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        assert (await point.ask(call.Authorize(id_tag="ada"))).id_tag_info["status"] == "Accepted"
        await point.show("Preparing")
        await point.begin()
        assert await is_charging(central)

    with_charger(tmp_path, scene)


def test_tc_010_csms_remote_start_cable_plugged_in_first(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show("Preparing")
        assert await central.ask(f'send {DEVICE} {{"charge": "start"}}') == "sent"
        await point.later
        assert await is_charging(central)

    with_charger(tmp_path, scene)


def test_tc_011_1_csms_remote_start_first(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        assert await central.ask(f'send {DEVICE} {{"charge": "start"}}') == "sent"
        await point.later
        assert point.requests[-1] == "RemoteStartTransaction"
        assert await is_charging(central)

    with_charger(tmp_path, scene)


def test_tc_012_csms_remote_stop(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        # Without profiles, the transaction itself is ended.
        point.configuration["SupportedFeatureProfiles"] = "Core,RemoteTrigger"
        await asked(central, point, "GetConfiguration")
        await point.begin()
        assert await central.ask(f'send {DEVICE} {{"charge": "stop"}}') == "sent"
        await point.later
        assert point.requests[-1] == "RemoteStopTransaction"
        assert not await is_charging(central)

    with_charger(tmp_path, scene)


def restarted(folder: Path, kind: str) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.begin()
        assert await central.ask(f"reset {IDENTITY} {kind}") == "accepted"
        await point.later
        assert point.requests[-1] == f"Reset {kind.title()}"
        # Its transaction has ended, and it has introduced itself anew.
        assert not await is_charging(central)
        assert await power_state(central) == "unplugged"

    with_charger(folder, scene)


def test_tc_013_csms_hard_reset(tmp_path: Path) -> None:
    restarted(tmp_path, "hard")


def test_tc_014_csms_soft_reset(tmp_path: Path) -> None:
    restarted(tmp_path, "soft")


def unlocked(folder: Path, plug: str) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show(plug)
        assert await central.ask(f"unlock {IDENTITY} 1") == "accepted"
        assert point.requests == ["UnlockConnector"]

    with_charger(folder, scene)


def test_tc_017_1_csms_unlock_no_session_cable_not_fixed(tmp_path: Path) -> None:
    unlocked(tmp_path, "Available")


def test_tc_017_2_csms_unlock_no_session_cable_fixed(tmp_path: Path) -> None:
    unlocked(tmp_path, "Preparing")


def test_tc_018_1_csms_unlock_during_a_session(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.begin()
        assert await central.ask(f"unlock {IDENTITY} 1") == "accepted"
        await point.later
        assert not await is_charging(central)

    with_charger(tmp_path, scene)


def test_tc_030_csms_unlock_fails(tmp_path: Path) -> None:
    async def scene(central: Central, _: Any) -> None:
        assert "UnlockFailed" in (await central.ask(f"unlock {IDENTITY} 1"))["error"]

    with_charger(tmp_path, scene, Stubborn16)


def test_tc_031_csms_unlock_an_unknown_connector(tmp_path: Path) -> None:
    async def scene(central: Central, _: Any) -> None:
        assert "not support" in (await central.ask(f"unlock {IDENTITY} 7"))["error"]

    with_charger(tmp_path, scene)


def test_tc_061_csms_clear_the_cache_of_tokens(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        assert await central.ask(f"clear {IDENTITY}") == "accepted"
        assert point.requests == ["ClearCache"]

    with_charger(tmp_path, scene)


def test_tc_014_csms_a_reset_that_is_rejected(tmp_path: Path) -> None:
    async def scene(central: Central, _: Any) -> None:
        answer = await central.ask(f"reset {IDENTITY} soft")
        assert "Rejected" in answer["error"]

    with_charger(tmp_path, scene, Stubborn16)


def test_tc_004_2_csms_identification_first_connection_time_out(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        assert (await point.ask(call.Authorize(id_tag="ada"))).id_tag_info["status"] == "Accepted"
        await point.show("Preparing")
        assert await power_state(central) == "stopped"
        await point.show("Available")
        assert await power_state(central) == "unplugged"
        assert not await is_charging(central)

    with_charger(tmp_path, scene)


def test_tc_005_1_csms_disconnected_at_the_vehicle(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.begin()
        await point.show("SuspendedEV")
        answer = await point.ask(
            call.StopTransaction(
                transaction_id=point.transaction,
                meter_stop=point.register_wh,
                timestamp=now(),
                reason="EVDisconnected",
            )
        )
        # Without a token there is nothing to judge.
        assert answer.id_tag_info is None
        await point.show("Finishing")
        assert await power_state(central) == "stopped"
        await point.show("Available")
        assert await power_state(central) == "unplugged"

    with_charger(tmp_path, scene)


def test_tc_007_csms_regular_start_with_a_cached_id(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show("Preparing")
        # No Authorize: the charge point knows the token.
        answer = await point.ask(
            call.StartTransaction(connector_id=1, id_tag="ada", meter_start=0, timestamp=now())
        )
        assert (answer.id_tag_info["status"], answer.transaction_id > 0) == ("Accepted", True)
        await point.show("Charging")
        assert await is_charging(central)

    with_charger(tmp_path, scene)


class Hesitant(Post16):
    """Agrees to a start, and nobody plugs in."""

    async def begin(self, tag: str = "ada") -> None:
        assert tag
        await self.show("Preparing")
        await self.show("Available")


def test_tc_011_2_csms_remote_start_time_out(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        assert await central.ask(f'send {DEVICE} {{"charge": "start"}}') == "sent"
        await point.later
        assert await power_state(central) == "unplugged"
        assert not await is_charging(central)

    with_charger(tmp_path, scene, Hesitant)


def test_tc_019_1_csms_retrieve_all_configuration_keys(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await asked(central, point, "GetConfiguration")
        assert point.keys == [None]

    with_charger(tmp_path, scene)


def test_tc_021_csms_change_configuration(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await asked(central, point, "ChangeConfiguration")
        assert point.configuration["MeterValueSampleInterval"] == "60"

    with_charger(tmp_path, scene)


def test_tc_023_1_csms_start_with_an_invalid_token(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show("Preparing")
        assert (await point.ask(call.Authorize(id_tag="eve"))).id_tag_info["status"] == "Invalid"
        await point.show("Available")
        assert not await is_charging(central)
        assert (await point.ask(call.Authorize(id_tag="ada"))).id_tag_info["status"] == "Accepted"

    with_charger(tmp_path, scene, tokens=["ada"])


def test_tc_024_csms_start_with_a_lock_failure(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show("Preparing")
        await point.ask(
            call.StatusNotification(
                connector_id=1, error_code="ConnectorLockFailure", status="Faulted"
            )
        )
        assert await power_state(central) == "fault"
        assert not await is_charging(central)

    with_charger(tmp_path, scene)


class Refusing(Post16):
    """Refuses what it is asked."""

    refused: str
    status = "Rejected"

    async def route_message(self, raw: str) -> None:
        if f'"{self.refused}"' in raw:
            self.requests.append(self.refused)
            identifier = raw.split('"')[1]
            await self._connection.send(f'[3,"{identifier}",{{"status":"{self.status}"}}]')
        else:
            await super().route_message(raw)


class RefusingStart(Refusing):
    refused = "RemoteStartTransaction"


class RefusingStop(Refusing):
    refused = "RemoteStopTransaction"


class RefusingTrigger(Refusing):
    refused = "TriggerMessage"

    async def boot(self) -> None:
        """Say nothing of itself."""


class RefusingKey(Refusing):
    refused = "ChangeConfiguration"


class NotSupportingKey(Refusing):
    refused = "ChangeConfiguration"
    status = "NotSupported"


def test_tc_026_csms_remote_start_rejected(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show("Preparing")
        answer = await central.ask(f'send {DEVICE} {{"charge": "start"}}')
        assert "Rejected" in answer["error"]
        assert not await is_charging(central)

    with_charger(tmp_path, scene, RefusingStart)


def test_tc_028_csms_remote_stop_rejected(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        point.configuration["SupportedFeatureProfiles"] = "Core,RemoteTrigger"
        await asked(central, point, "GetConfiguration")
        await point.begin()
        answer = await central.ask(f'send {DEVICE} {{"charge": "stop"}}')
        assert "Rejected" in answer["error"]
        assert await is_charging(central)

    with_charger(tmp_path, scene, RefusingStop)


def test_tc_032_1_csms_power_failure_boot_stops_transactions(tmp_path: Path) -> None:
    async def scene(central: Central, password: str) -> None:
        async with playing(central, password, "ocpp1.6", Post16) as point:
            await point.begin()
            transaction = point.transaction
        async with playing(central, password, "ocpp1.6", Post16) as point:
            answer = await point.ask(
                call.StopTransaction(
                    transaction_id=transaction,
                    meter_stop=1500,
                    timestamp=now(),
                    reason="PowerLoss",
                )
            )
            assert answer is not None
            assert not await is_charging(central)
            reading = await central.ask(f"poll {DEVICE}")
            assert reading["counters"]["imported_kwh"] == pytest.approx(1.5)

    play(tmp_path, scene)


@pytest.mark.parametrize(("tag", "status"), [("ada", "Accepted")])
def test_tc_037_1_csms_offline_start_with_a_valid_token(
    tmp_path: Path, tag: str, status: str
) -> None:
    async def scene(central: Central, point: Any) -> None:
        answer = await point.ask(
            call.StartTransaction(connector_id=1, id_tag=tag, meter_start=0, timestamp=ago(30))
        )
        assert answer.id_tag_info["status"] == status
        await point.show("Charging")
        assert await is_charging(central)

    with_charger(tmp_path, scene, tokens=["ada"])


def test_tc_037_3_csms_offline_start_with_an_invalid_token(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        answer = await point.ask(
            call.StartTransaction(connector_id=1, id_tag="eve", meter_start=0, timestamp=ago(30))
        )
        assert answer.id_tag_info["status"] == "Invalid"
        # It has a number all the same, by which it ends.
        assert answer.transaction_id > 0
        await point.ask(
            call.StopTransaction(
                transaction_id=answer.transaction_id,
                meter_stop=10,
                timestamp=now(),
                reason="DeAuthorized",
            )
        )
        assert not await is_charging(central)

    with_charger(tmp_path, scene, tokens=["ada"])


def test_tc_039_csms_offline_transaction(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        answer = await point.ask(
            call.StartTransaction(connector_id=1, id_tag="ada", meter_start=1000, timestamp=ago(90))
        )
        await point.ask(
            call.StopTransaction(
                transaction_id=answer.transaction_id,
                meter_stop=4000,
                timestamp=ago(30),
                reason="Local",
            )
        )
        assert not await is_charging(central)
        reading = await central.ask(f"poll {DEVICE}")
        assert reading["counters"]["imported_kwh"] == pytest.approx(4)

    with_charger(tmp_path, scene)


@pytest.mark.parametrize("kind", [NotSupportingKey], ids=["NotSupported"])
def test_tc_040_1_csms_configuration_key_not_supported(
    tmp_path: Path, kind: Callable[..., Any]
) -> None:
    with_charger(tmp_path, refused_keys, kind)


def test_tc_040_2_csms_configuration_key_with_an_invalid_value(tmp_path: Path) -> None:
    with_charger(tmp_path, refused_keys, RefusingKey)


async def refused_keys(central: Central, point: Any) -> None:
    """The interval, all quantities and each of the four are asked for once; the rest goes on."""
    await central.settle()
    await central.until(
        f"poll {DEVICE}", lambda _: point.requests.count("ChangeConfiguration") == 6
    )
    await central.settle()
    await point.ask(call.Heartbeat())
    assert point.requests.count("ChangeConfiguration") == 6
    assert await central.ask(f'send {DEVICE} {{"charge": "start"}}') == "sent"


class Silent(Post16):
    """Introduces itself when it is asked to, not before."""

    async def boot(self) -> None:
        """Say nothing of itself."""

    async def route_message(self, raw: str) -> None:
        if '"TriggerMessage"' in raw:
            self.requests.append(raw)
            identifier = raw.split('"')[1]
            await self._connection.send(f'[3,"{identifier}",{{"status":"Accepted"}}]')
            if "BootNotification" in raw:
                self.later = asyncio.create_task(super().boot())
        else:
            await super().route_message(raw)


def test_tc_054_csms_trigger_message(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await central.settle()
        reading = await central.until(
            f"poll {DEVICE}",
            lambda answer: (
                answer.get("facts", {}).get("charger", {}).get("information", {}).get("brand")
            ),
        )
        assert reading["facts"]["charger"]["information"]["brand"] == "Fjord"
        assert "BootNotification" in point.requests[0]

    with_charger(tmp_path, scene, Silent)


def test_tc_054_csms_each_message_by_the_operator(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        for word, message in [
            ("boot", "BootNotification"),
            ("status", "StatusNotification"),
            ("meter_values", "MeterValues"),
            ("heartbeat", "Heartbeat"),
            ("diagnostics", "DiagnosticsStatusNotification"),
            ("firmware", "FirmwareStatusNotification"),
        ]:
            assert await central.ask(f"trigger {IDENTITY} {word}") == "accepted"
            await point.later
            assert point.requests[-1] == message

    with_charger(tmp_path, scene, Obedient16)


def test_tc_055_csms_trigger_message_rejected(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await central.settle()
        async with asyncio.timeout(30):
            while len(point.requests) < 2:
                await point.ask(call.Heartbeat())
        await central.settle()
        await point.ask(call.Heartbeat())
        # Once for the model and once for the states, and no more.
        assert point.requests == ["TriggerMessage"] * 2

    with_charger(tmp_path, scene, RefusingTrigger)


async def limited(central: Central, point: Any, current: int) -> None:
    await central.settle()
    order = f'send {DEVICE} {{"max_current_amps": {current}}}'
    assert await central.ask(order) == "sent"
    await asyncio.wait_for(point.has_limit.wait(), 30)


def test_tc_056_csms_tx_default_profile(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await limited(central, point, 10)
        purposes = {profile["charging_profile_purpose"] for profile in point.profiles}
        assert purposes == {"TxDefaultProfile"}
        default, limit = point.profiles
        assert (limit_of(default["charging_schedule"]), "valid_to" in default) == (6, False)
        assert (limit_of(limit["charging_schedule"]), "valid_to" in limit) == (10, True)

    with_charger(tmp_path, scene)


def test_tc_057_csms_tx_profile(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.begin()
        await limited(central, point, 10)
        profile = point.profiles[-1]
        assert profile["charging_profile_purpose"] == "TxProfile"
        assert profile["transaction_id"] == point.transaction
        assert limit_of(profile["charging_schedule"]) == 10

    with_charger(tmp_path, scene)


def test_tc_066_csms_get_composite_schedule(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.begin()
        await limited(central, point, 10)
        reading = await central.until(
            f"poll {DEVICE}",
            lambda answer: answer["facts"]["charger"]["max_current_amps"] is not None,
        )
        assert reading["facts"]["charger"]["max_current_amps"] == 10
        await central.until(f"poll {DEVICE}", lambda _: point.composites == [(1, 60)])

    with_charger(tmp_path, scene)


def test_tc_066_csms_a_composite_schedule_that_differs_is_shown(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        point.reported = 16
        await point.begin()
        await limited(central, point, 10)
        await central.until(
            f"poll {DEVICE}",
            lambda answer: answer["facts"]["charger"]["max_current_amps"] == 16,
        )

    with_charger(tmp_path, scene)


def test_tc_067_csms_clear_charging_profile(tmp_path: Path) -> None:
    """Profiles of the trials of a model are removed at their end, all defaults of the connector."""

    async def scene(central: Central, point: Any) -> None:
        await central.settle()
        await central.until(f"poll {DEVICE}", lambda _: len(point.composites) == 1)
        # The answer has come before that to the second heartbeat.
        for _ in range(2):
            await point.ask(call.Heartbeat())
        assert "valid_to" in point.profiles[-1]
        tried = len(point.profiles)
        # Its limit is over when it is asked for the second time.
        point.reported = 6
        await central.ask("wait 91")
        await central.until(
            f"poll {DEVICE}", lambda _: point.cleared and len(point.profiles) > tried
        )
        assert len(point.composites) >= 2
        (cleared,) = point.cleared
        assert cleared == {"connector_id": 1, "charging_profile_purpose": "TxDefaultProfile"}
        # The default comes back; limits of the site may follow.
        after = point.profiles[tried]
        assert "valid_to" not in after
        assert limit_of(after["charging_schedule"]) == 6

    site = {"fuse_amps": 20, "base_amps": 0, "chargers": {IDENTITY: {}}}
    with_charger(tmp_path, scene, sites={"garage": site})


def test_tc_064_csms_data_transfer_to_a_central_system(tmp_path: Path) -> None:
    async def scene(_: Central, point: Any) -> None:
        answer = await point.ask(call.DataTransfer(vendor_id="Fjord", message_id="x"))
        assert answer.status == "UnknownVendorId"

    with_charger(tmp_path, scene)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_authority(tmp_path_factory.mktemp("authority"))


def over_tls(folder: Path, authority: Path, profile: int, *, has_certificate: bool) -> None:
    """Boot a charge point over TLS."""
    settings = {
        "security_profile": profile,
        "certificate_file": str(authority / "central.pem"),
        "key_file": str(authority / "central.key"),
    }
    if profile == 3:
        settings["client_ca_file"] = str(authority / "ca.pem")
    context = ssl.create_default_context(cafile=str(authority / "ca.pem"))
    if has_certificate:
        context.load_cert_chain(authority / "point.pem", authority / "point.key")

    async def scene(central: Central, password: str) -> None:
        secret = password if profile == 2 else None
        async with connected(central.address, IDENTITY, secret, "ocpp1.6", ssl=context) as socket:
            point = Post16(IDENTITY, socket)
            listening = asyncio.create_task(listen(point))
            assert (await point.boot()).status == "Accepted"
            await socket.close()
            await listening

    play(folder, scene, **settings)


def test_tc_085_csms_basic_authentication(tmp_path: Path) -> None:
    async def scene(central: Central, password: str) -> None:
        for secret, is_right in [(password, True), (password[:-1], False), ("", False)]:
            joined = websockets.connect(
                f"ws://{central.address}/{IDENTITY}",
                subprotocols=[websockets.Subprotocol("ocpp1.6")],
                additional_headers=basic(IDENTITY, secret),
            )
            if is_right:
                async with joined as socket:
                    assert socket.subprotocol == "ocpp1.6"
                continue
            with pytest.raises(websockets.exceptions.InvalidStatus) as caught:
                await joined
            assert caught.value.response.status_code == 401

    play(tmp_path, scene)


def test_tc_086_csms_tls_with_a_certificate_of_the_server(tmp_path: Path, authority: Path) -> None:
    over_tls(tmp_path, authority, 2, has_certificate=False)


@pytest.mark.parametrize("form", ["PKCS#1", "PKCS#8"])
def test_tc_086_csms_tls_with_a_key_of_rsa(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, form: str
) -> None:
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    certify(authority, "central", "central", "subjectAltName=IP:127.0.0.1", kind=RSA)
    key, made = authority / "central.key", authority / "made.key"
    if form == "PKCS#1":
        openssl("pkey", "-in", str(key), "-traditional", "-out", str(made))
    else:
        openssl("pkcs8", "-topk8", "-nocrypt", "-in", str(key), "-out", str(made))
    first = {"PKCS#1": "-----BEGIN RSA PRIVATE KEY-----", "PKCS#8": "-----BEGIN PRIVATE KEY-----"}
    assert made.read_text().splitlines()[0] == first[form]
    made.replace(key)
    over_tls(tmp_path, authority, 2, has_certificate=False)


def test_tc_087_csms_tls_with_files_whose_lines_end_as_on_windows(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    write_with_crlf(authority)
    assert b"\r\n" in (authority / "central.key").read_bytes()
    over_tls(tmp_path, authority, 3, has_certificate=True)


def test_tc_087_csms_tls_with_a_certificate_of_the_client(tmp_path: Path, authority: Path) -> None:
    over_tls(tmp_path, authority, 3, has_certificate=True)


def test_tc_087_csms_without_its_certificate_a_client_is_refused(
    tmp_path: Path, authority: Path
) -> None:
    with pytest.raises((ssl.SSLError, OSError, websockets.exceptions.WebSocketException)):
        over_tls(tmp_path, authority, 3, has_certificate=False)


def test_tc_088_csms_negotiation_of_the_subprotocol(tmp_path: Path) -> None:
    async def scene(central: Central, password: str) -> None:
        for offered, expected in [
            (["ocpp1.6"], "ocpp1.6"),
            (["ocpp1.5", "ocpp1.6"], "ocpp1.6"),
            (["ocpp1.6", "ocpp2.0.1"], "ocpp1.6"),
            (["ocpp2.0.1", "ocpp1.6"], "ocpp2.0.1"),
        ]:
            async with websockets.connect(
                f"ws://{central.address}/{IDENTITY}",
                subprotocols=[websockets.Subprotocol(one) for one in offered],
                additional_headers=basic(IDENTITY, password),
            ) as socket:
                assert socket.subprotocol == expected
        # Without a common version the handshake ends without one, and so does the connection.
        with pytest.raises(websockets.exceptions.WebSocketException):
            async with websockets.connect(
                f"ws://{central.address}/{IDENTITY}",
                subprotocols=[websockets.Subprotocol("ocpp1.2")],
                additional_headers=basic(IDENTITY, password),
            ) as socket:
                await socket.recv()

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[2,"1","StartTransaction",{}]', "OccurenceConstraintViolation"),
        ('[2,"1","StartTransaction",{"connectorId":-1}]', "TypeConstraintViolation"),
        ('[2,"1","StatusNotification",{"connectorId":1,"status":"Busy"}]', "PropertyConstraint"),
        ('[2,"1","Reset",{"type":"Hard"}]', "NotSupported"),
        ('[2,"1","Refuel",{}]', "NotImplemented"),
        ('[2,"1","Heartbeat",[]]', "FormationViolation"),
    ],
)
def test_a_message_that_breaks_the_protocol_is_answered_with_an_error(
    tmp_path: Path, text: str, code: str
) -> None:
    async def scene(central: Central, password: str) -> None:
        async with connected(central.address, IDENTITY, password, "ocpp1.6") as socket:
            await socket.send(text)
            answer = str(await socket.recv())
            assert answer.startswith('[4,"1","' + code), answer
            await socket.send('[2,"2","Heartbeat",{}]')
            assert str(await socket.recv()).startswith('[3,"2",')

    play(tmp_path, scene)


def test_the_page_has_all_cases_with_a_test_or_a_reason() -> None:
    page = (ROOT / "docs/ocpp-cases.md").read_text()
    rows = re.findall(r"^\| (TC_\w+_CSMS) \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE)
    cases = dict(rows)
    assert (len(rows), len(cases)) == (77, 77)
    tests = Path(__file__).read_text()
    tested = {case for case, text in rows if text.strip() == "tested"}
    for case, text in cases.items():
        has_test = f"def test_{case.lower()}" in tests
        assert has_test == (case in tested), (case, text)
        assert case in tested or len(text) > 20, case
    assert f"{len(tested)} of the 77 cases" in page
