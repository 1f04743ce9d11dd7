"""Test cases of the Open Charge Alliance for central systems of OCPP 1.6, by their public ids.

The list is that of the published document (2026-02). Each test plays the exchange that the title of
its case names, with a charge point of the package `ocpp`: it shows interoperation, and certifies
nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ocpp.v16 import call

from central import Central
from points import Post16, limit_of
from test_points import DEVICE, charging, play, playing

Scene = Callable[[Central, Any], Awaitable[None]]


def with_charger(folder: Path, scene: Scene) -> None:
    async def whole(central: Central, password: str) -> None:
        async with playing(central, password, "ocpp1.6", Post16) as point:
            await scene(central, point)

    play(folder, whole)


async def is_charging(central: Central) -> Any:
    return charging(await central.ask(f"poll {DEVICE}")).get("is_charging")


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
        await central.until(f"poll {DEVICE}", lambda _: "GetConfiguration" in point.requests)
        await point.begin()
        assert await central.ask(f'send {DEVICE} {{"charge": "stop"}}') == "sent"
        await point.later
        assert point.requests[-1] == "RemoteStopTransaction"
        assert not await is_charging(central)

    with_charger(tmp_path, scene)


def test_tc_064_csms_data_transfer_to_a_central_system(tmp_path: Path) -> None:
    async def scene(_: Central, point: Any) -> None:
        answer = await point.ask(call.DataTransfer(vendor_id="Fjord", message_id="x"))
        assert answer.status == "UnknownVendorId"

    with_charger(tmp_path, scene)


def test_a_limit_is_written_above_a_safe_default(tmp_path: Path) -> None:
    async def scene(central: Central, point: Any) -> None:
        await point.show("Preparing")
        await point.begin()
        assert await central.ask(f'send {DEVICE} {{"max_current_amps": 10}}') == "sent"
        reading = await central.until(
            f"poll {DEVICE}",
            lambda answer: answer["facts"]["charger"]["max_current_amps"] is not None,
        )
        assert reading["facts"]["charger"]["max_current_amps"] == 10
        purposes = [profile["charging_profile_purpose"] for profile in point.profiles]
        assert purposes == ["TxDefaultProfile", "TxProfile"]
        limits = [limit_of(profile["charging_schedule"]) for profile in point.profiles]
        assert limits == [6, 10]
        assert "valid_to" in point.profiles[1]

    with_charger(tmp_path, scene)
