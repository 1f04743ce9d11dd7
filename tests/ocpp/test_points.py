"""The central system interoperates with charge points of the package `ocpp` (PyPI, 2.1.0).

That package holds every message of ours against the schemas of the protocol, in both versions. It
is no certification.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import websockets
from ocpp.v16 import call as call16
from ocpp.v201 import call as call201

from central import Central, basic, connected
from points import Post16, Post201, listen

IDENTITY = "CP:1"
DEVICE = f"{IDENTITY}/1"
VERSIONS = [("ocpp1.6", Post16), ("ocpp2.0.1", Post201)]


def charging(reading: Any) -> dict[str, Any]:
    """Return the state of charging of a reading."""
    if "error" in reading:
        return {}
    state: dict[str, Any] = reading["facts"]["charger"]["charging"]
    return state


@asynccontextmanager
async def playing(
    central: Central, password: str, version: str, kind: Callable[..., Any]
) -> AsyncIterator[Any]:
    """Connect a charge point that has introduced itself."""
    async with connected(central.address, IDENTITY, password, version) as socket:
        point = kind(IDENTITY, socket)
        listening = asyncio.create_task(listen(point))
        await point.boot()
        try:
            yield point
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listening


def play(
    folder: Path, scene: Callable[[Central, str], Coroutine[Any, Any, None]], **settings: Any
) -> None:
    """Run a scene with a central system that has one charge point, linked by its owner."""
    with Central(folder, **settings) as central:
        added = central.order(f"add {IDENTITY}")
        offers = central.order(f"link {IDENTITY} {added['code'].lower()}")
        assert [offer["device"] for offer in offers] == [DEVICE]
        asyncio.run(scene(central, added["password"]))


@pytest.mark.parametrize(("version", "kind"), VERSIONS)
def test_a_session_is_started_measured_and_stopped(
    tmp_path: Path, version: str, kind: Callable[..., Any]
) -> None:
    async def scene(central: Central, password: str) -> None:
        async with playing(central, password, version, kind) as point:
            await point.show("Preparing" if kind is Post16 else "Occupied")
            reading = await central.ask(f"poll {DEVICE}")
            assert charging(reading)["power_state"] == "stopped"
            assert await central.ask(f'send {DEVICE} {{"charge": "start"}}') == "sent"
            await central.until(
                f"poll {DEVICE}", lambda answer: charging(answer).get("is_charging") is True
            )
            assert await central.ask(f'send {DEVICE} {{"charge": "stop"}}') == "sent"
            reading = await central.until(
                f"poll {DEVICE}", lambda answer: charging(answer).get("is_charging") is False
            )
            assert charging(reading)["power_state"] == "stopped"
            assert reading["is_reachable"] is True
            assert reading["counters"]["imported_kwh"] == pytest.approx(1.0)
            information = reading["facts"]["charger"]["information"]
            assert (information["brand"], information["model"]) == ("Fjord", "Post")

    play(tmp_path, scene)


def test_power_and_energy_are_read(tmp_path: Path) -> None:
    async def scene(central: Central, password: str) -> None:
        async with playing(central, password, "ocpp1.6", Post16) as point:
            await point.begin()
            await point.measure(7400, 600)
            reading = await central.ask(f"poll {DEVICE}")
            assert charging(reading)["charge_rate_kw"] == pytest.approx(7.4)
            assert reading["counters"]["imported_kwh"] == pytest.approx(1.6)

    play(tmp_path, scene)


def test_an_open_transaction_survives_the_death_of_the_central_system(tmp_path: Path) -> None:
    with Central(tmp_path) as central:
        added = central.order(f"add {IDENTITY}")

        async def before() -> int:
            async with playing(central, added["password"], "ocpp1.6", Post16) as point:
                await point.begin()
                central.stop()
                transaction: int = point.transaction
                return transaction

        transaction = asyncio.run(before())
    with Central(tmp_path) as central:
        central.order(f"link {IDENTITY} {added['code']}")

        async def after() -> None:
            async with playing(central, added["password"], "ocpp1.6", Post16) as point:
                point.transaction = transaction
                await point.show("Charging")
                assert await central.ask(f'send {DEVICE} {{"charge": "stop"}}') == "sent"
                await central.until(
                    f"poll {DEVICE}", lambda answer: charging(answer).get("is_charging") is False
                )
                # A pause by a limit, in the transaction that it has kept.
                assert point.profiles[-1]["transaction_id"] == transaction

        asyncio.run(after())


@pytest.mark.parametrize("version", ["ocpp1.6", "ocpp2.0.1"])
def test_a_wrong_password_and_a_stranger_are_refused(tmp_path: Path, version: str) -> None:
    with Central(tmp_path) as central:
        password = central.order(f"add {IDENTITY}")["password"]

        async def refused(identity: str, headers: dict[str, str]) -> int:
            with pytest.raises(websockets.exceptions.InvalidStatus) as caught:
                async with websockets.connect(
                    f"ws://{central.address}/{identity}",
                    subprotocols=[websockets.Subprotocol(version)],
                    additional_headers=headers,
                ):
                    pass
            return caught.value.response.status_code

        for identity, headers, status in [
            (IDENTITY, {}, 401),
            (IDENTITY, basic(IDENTITY, password + "0"), 401),
            (IDENTITY, basic("CP:2", password), 401),
            ("CP:2", basic("CP:2", password), 404),
            ("x%2FCP:1", basic("x/CP:1", password), 404),
        ]:
            assert asyncio.run(refused(identity, headers)) == status, (identity, headers)


def test_a_version_that_is_not_known_is_closed(tmp_path: Path) -> None:
    async def scene(central: Central, password: str) -> None:
        with pytest.raises(websockets.exceptions.WebSocketException):
            async with connected(central.address, IDENTITY, password, "ocpp1.5") as socket:
                await socket.recv()

    play(tmp_path, scene)


def test_a_new_connection_takes_the_place_of_the_old(tmp_path: Path) -> None:
    async def scene(central: Central, password: str) -> None:
        async with playing(central, password, "ocpp1.6", Post16) as old:
            async with playing(central, password, "ocpp1.6", Post16) as new:
                await asyncio.wait_for(old._connection.wait_closed(), 30)
                await new.ask(call16.Heartbeat())
                reading = await central.ask(f"poll {DEVICE}")
                assert reading["is_reachable"] is True
            await central.until(f"poll {DEVICE}", lambda answer: answer["is_reachable"] is False)
            answer = await central.ask(f'send {DEVICE} {{"charge": "start"}}')
            assert answer == {"error": "the manufacturer cannot reach the device"}

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("version", "kind", "payloads"),
    [
        (
            "ocpp1.6",
            Post16,
            [
                call16.Authorize(id_tag="ada"),
                call16.DataTransfer(vendor_id="Fjord"),
                call16.DiagnosticsStatusNotification(status="Idle"),
                call16.FirmwareStatusNotification(status="Installed"),
                call16.Heartbeat(),
                call16.SecurityEventNotification(
                    type="x", timestamp="2026-01-05T18:00:00Z", tech_info="y"
                ),
                call16.SignCertificate(csr="x"),
            ],
        ),
        (
            "ocpp2.0.1",
            Post201,
            [
                call201.Authorize(id_token={"id_token": "ada", "type": "Central"}),
                call201.DataTransfer(vendor_id="Fjord"),
                call201.FirmwareStatusNotification(status="Idle"),
                call201.Heartbeat(),
                call201.LogStatusNotification(status="Idle"),
                call201.SecurityEventNotification(type="x", timestamp="2026-01-05T18:00:00Z"),
                call201.SignCertificate(csr="x"),
            ],
        ),
    ],
)
def test_messages_that_are_answered_and_not_acted_on(
    tmp_path: Path, version: str, kind: Callable[..., Any], payloads: list[Any]
) -> None:
    async def scene(central: Central, password: str) -> None:
        async with playing(central, password, version, kind) as point:
            for payload in payloads:
                # The package raises an error for an answer that breaks the schema.
                assert await point.ask(payload) is not None, payload

    play(tmp_path, scene)
