"""Chargers of the package `ocpp` at the whole service: a limit, operators, and a second system.

The second system is a central system of the package, for which the service is the charger.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import websockets
from ocpp.v16 import call as call16

import production
from production import Client, run_program

from billing import Billing, Tape, answers, calls
from central import connected
from owner import allow
from points import Obedient16, Post16, limit_of, listen

SETTINGS = """
[environments.production.integrations.chargers]
type = "ocpp"
listen = "127.0.0.1:0"
security_profile = 1
state_folder = "{folder}/chargers"
"""


@contextmanager
def serving(folder: Path, more: str = "") -> Iterator[SimpleNamespace]:
    """Start the service with a charger that was added, and with more settings."""
    chargers = folder / "chargers"
    chargers.mkdir()
    added = run_program("charger", "add", "garage", "--state-folder", chargers)
    secrets = dict(line.split(" ") for line in added.splitlines())
    with production.serving(folder, SETTINGS + more) as service:
        # The integration listens before the service does.
        (door,) = [
            event
            for event in service.running.start
            if event.get("message") == "listening for charge points"
        ]
        yield SimpleNamespace(
            client=service.create_client(),
            address=door["address"],
            admin=service.running.admin,
            chargers=chargers,
            **secrets,
        )
    # Finalisers of coroutines that run while pytest compiles a plug-in end in a SystemError of
    # Python 3.11.7: they run here instead.
    gc.collect()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[SimpleNamespace]:
    with serving(tmp_path) as one:
        yield one


def link(client: Client, code: str) -> Any:
    """Link the charger as its owner does in a browser, and return it."""
    scopes = ["charger:read:data", "charger:control:charging"]
    body = {"vendor": "OCPP", "scopes": scopes, "redirectUri": "https://app.example.org/linked"}
    url = client.send("POST", "/users/ada/link", body)["linkUrl"]
    allow(url, "garage", code)
    (charger,) = client.send("GET", "/users/ada/chargers")["data"]
    return charger


async def limit(served: SimpleNamespace, point: Any, amps: float) -> None:
    """Link the charger and limit it as its owner."""
    charger = await asyncio.to_thread(link, served.client, served.code)
    assert charger["vendor"] == "OCPP"
    path = f"/chargers/{charger['id']}"
    # A charger that was just linked is polled in the background.
    async with asyncio.timeout(60):
        while (information := charger["information"])["brand"] is None:
            charger = await asyncio.to_thread(served.client.send, "GET", path)
    assert information["brand"] == "Fjord"
    body = {"maxCurrent": amps}
    action = await asyncio.to_thread(served.client.send, "POST", f"{path}/max-current", body)
    assert (action["state"], action["targetState"]) == ("PENDING", {"maxCurrent": amps})
    # The limit follows the default, which has to be there first.
    async with asyncio.timeout(60):
        await point.has_limit.wait()


def test_a_charger_is_added_linked_and_limited(served: SimpleNamespace) -> None:
    async def scene() -> list[float]:
        async with connected(served.address, "garage", served.password, "ocpp1.6") as socket:
            point = Post16("garage", socket)
            listening = asyncio.create_task(listen(point))
            await point.boot()
            await point.show("Preparing")
            await point.begin()
            await limit(served, point, 10)
            listening.cancel()
            await asyncio.wait([listening])
            return [limit_of(profile["charging_schedule"]) for profile in point.profiles]

    assert asyncio.run(scene()) == [6, 10]
    files = sorted(path.name for path in served.chargers.iterdir())
    assert files == ["garage.credentials.json", "garage.state.json"]
    for path in served.chargers.iterdir():
        text = path.read_text()
        assert served.password not in text
        assert served.code not in text


def test_a_charger_is_seen_when_it_comes_and_leaves(served: SimpleNamespace) -> None:
    """Without a refresh hint, and long before the next poll at an interval of 9 minutes."""

    async def seen(path: str, *, reachable: bool) -> Any:
        """Return the charger as a client sees it, once it is reachable or not."""
        async with asyncio.timeout(60):
            while True:
                charger = await asyncio.to_thread(served.client.send, "GET", path)
                if charger["isReachable"] is reachable:
                    return charger
                await asyncio.sleep(0.2)

    async def scene() -> None:
        charger = await asyncio.to_thread(link, served.client, served.code)
        path = f"/chargers/{charger['id']}"
        async with connected(served.address, "garage", served.password, "ocpp1.6") as socket:
            point = Post16("garage", socket)
            listening = asyncio.create_task(listen(point))
            await point.boot()
            await point.show("Preparing")
            charger = await seen(path, reachable=True)
            assert charger["chargeState"]["isPluggedIn"] is True
            listening.cancel()
            await asyncio.wait([listening])
        await seen(path, reachable=False)

    asyncio.run(scene())


def test_an_operator_triggers_restarts_and_forgets_a_charger(served: SimpleNamespace) -> None:
    async def operate(*words: str) -> Any:
        """Give a command to the running service."""
        done = await asyncio.to_thread(run_program, *words, SLACKWATER_ADMIN_URL=served.admin)
        return json.loads(done)

    async def scene() -> None:
        async with connected(served.address, "garage", served.password, "ocpp1.6") as socket:
            point = Obedient16("garage", socket)
            listening = asyncio.create_task(listen(point))
            await point.boot()
            (listed,) = await operate("charger", "list")
            assert (listed["identity"], listed["is_connected"]) == ("garage", True)
            trigger = ("charger", "trigger", "garage", "status", "--connector", "1")
            assert await operate(*trigger) == {"reply": "accepted"}
            await point.later
            assert await operate("charger", "reset", "garage", "--hard") == {"reply": "accepted"}
            await point.later
            # A slow machine gives the service time for requests of its own.
            ordered = [one for one in point.requests if one in ("StatusNotification", "Reset Hard")]
            assert ordered == ["StatusNotification", "Reset Hard"]
            shown = await operate("charger", "show", "garage")
            told = [message["what"] for message in shown["messages"]]
            assert {"Reset", "BootNotification"} <= set(told)
            assert await operate("charger", "forget", "garage") == {"forgotten": "garage"}
            # The service has ended the connection.
            async with asyncio.timeout(60):
                await listening
        assert await operate("charger", "list") == []
        with pytest.raises(websockets.exceptions.InvalidStatus) as refused:
            async with connected(served.address, "garage", served.password, "ocpp1.6"):
                pass
        assert refused.value.response.status_code == 404
        acts = (await operate("admin", "audit"))["acts"]
        assert [(act["method"], act["path"], act["status"]) for act in acts[-3:]] == [
            ("POST", "/chargers/garage/trigger", 200),
            ("POST", "/chargers/garage/reset", 200),
            ("DELETE", "/chargers/garage", 200),
        ]

    asyncio.run(scene())
    assert not list(served.chargers.iterdir())


UPSTREAM = """
[environments.production.integrations.chargers.upstream]
address = "ws://127.0.0.1:{port}/steve"
token = "ada"
"""


def test_the_service_stands_between_a_charger_and_a_billing_system(tmp_path: Path) -> None:
    """Billing passes byte for byte, the lower limit wins, and their stop holds."""

    async def scene(served: SimpleNamespace, billing: Billing) -> None:
        async with connected(served.address, "garage", served.password, "ocpp1.6") as socket:
            tape = Tape(socket)
            point = Post16("garage", tape)
            listening = asyncio.create_task(listen(point))
            booted = await point.boot()
            # The interval is theirs.
            assert booted.interval == 777
            await point.begin("bo")
            assert point.transaction == billing.desk.last_transaction
            await limit(served, point, 10)
            assert limit_of(point.profiles[-1]["charging_schedule"]) == 10
            theirs = {
                "charging_profile_id": 7,
                "stack_level": 0,
                "charging_profile_purpose": "TxDefaultProfile",
                "charging_profile_kind": "Absolute",
                "charging_schedule": {
                    "charging_rate_unit": "A",
                    "charging_schedule_period": [{"start_period": 0, "limit": 8}],
                },
            }
            answer = await billing.ask(
                call16.SetChargingProfile(connector_id=1, cs_charging_profiles=theirs)
            )
            assert answer.status == "Accepted"
            assert limit_of(point.profiles[-1]["charging_schedule"]) == 8
            stop = call16.RemoteStopTransaction(transaction_id=point.transaction)
            assert (await billing.ask(stop)).status == "Accepted"
            await point.later
            (charger,) = await asyncio.to_thread(
                lambda: served.client.send("GET", "/users/ada/chargers")["data"]
            )
            assert charger["vendor"] == "OCPP"
            listening.cancel()
            await asyncio.wait([listening])
        # The charger's requests arrive as it wrote them, in order, and the answers come back.
        assert calls(billing.heard) == calls(tape.said)
        assert set(answers(billing.said)) <= set(tape.heard)

    async def both() -> None:
        async with Billing("ocpp1.6") as billing:
            with serving(tmp_path, UPSTREAM.format(port=billing.port)) as served:
                await scene(served, billing)

    asyncio.run(both())
