"""Every call of the SDK `enode` of PyPI against a sandbox, and the table of what they do."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import enode
import httpx
import pytest
from enode.errors import EnodeError
from enode.models import Security

from sandboxes import Asker, Running, listening, spawn, uuid_of

ROOT = Path(__file__).parents[2]
SERVER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/slackwater-api"
TABLE = ROOT / "docs/sdk-calls.md"
VERSION = "0.2.6"

# Manufacturers of the street under codes that the SDK knows: it reads no others.
VENDORS = {
    "FJORD_MOTORS": "BMW",
    "BOREAL": "VOLVO",
    "LUMEN": "TESLA",
    "VOLTBOX": "ZAPTEC",
    "KESTREL": "EASEE",
    "NORDVARME": "NIBE",
    "HEARTH": "TADO",
    "SOLVANG": "SOLAREDGE",
    "TESSERA": "ENPHASE",
}
HEAD = (Path(__file__).parent / "head.md").read_text(encoding="utf-8")

NOBODY = "9f0b9a1e-6f0e-4c59-8f0d-6a3f4f1c0000"
OPERATIONS = [
    (method.upper(), re.sub(r"\{\w+\}", "[^/]+", path))
    for path, item in json.loads((ROOT / "api/http/openapi.json").read_text())["paths"].items()
    for method in item
]

# Calls that end something come last; a new command would end the action that is to be cancelled.
LAST, FIRST = ("delete", "end_", "unlink"), "cancel"


@dataclass
class Sandbox:
    """A street, an SDK that acts for its client, and values for arguments."""

    running: Running
    seen: list[tuple[str, str, int]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    own: dict[str, dict[str, Any]] = field(default_factory=dict)

    def sdk(self) -> enode.Enode:
        """An SDK with the token of the street, which notes what it sends."""

        def note(answer: httpx.Response) -> None:
            request = answer.request
            self.seen.append((request.method, request.url.path, answer.status_code))

        headers = {"Authorization": f"Bearer {self.running.token}"}
        client = httpx.Client(headers=headers, event_hooks={"response": [note]})
        return enode.Enode(client=client, server_url=self.running.base)

    def read(self) -> None:
        """Find a device of each kind, and something to change."""
        asker = Asker(self.running.base, self.running.token)

        def first(path: str) -> Any:
            return asker.ask("GET", path)[1]["data"][0]

        charger = asker.ask("GET", f"/chargers/{uuid_of('ada-charger')}")[1]
        kinds = {"vehicle_id": "/vehicles", "hvac_id": "/hvacs", "inverter_id": "/inverters"}
        self.values = {name: first(path)["id"] for name, path in kinds.items()}
        schedule = {
            "isEnabled": True,
            "defaultShouldCharge": False,
            "rules": [{"shouldCharge": True, "hourMinute": {"from": "22:00", "to": "06:00"}}],
            "targetId": charger["id"],
            "targetType": "charger",
            "locationId": None,
        }
        made = asker.ask("POST", f"/users/{charger['userId']}/schedules", schedule)[1]
        limit = asker.ask("POST", f"/chargers/{charger['id']}/max-current", {"maxCurrent": 10})[1]
        battery = first("/batteries")["id"]
        command = {"operation_mode": "import_focus"}
        operator = Asker(self.running.admin)
        mode = operator.ask("POST", f"/control/devices/{battery}/command", command)[1]
        self.own = {"batteries": {"action_id": mode["id"]}}
        self.values |= {
            "charger_id": charger["id"],
            "user_id": charger["userId"],
            "asset_id": charger["id"],
            "battery_id": battery,
            "action_id": limit["id"],
            "schedule_id": made["id"],
            "schedule": schedule,
            "partial_schedule": schedule,
            "location_id": uuid_of("ada-home"),
            "tariff_id": "night-and-day",
            "request_body": [{"name": "all", "cost": "0.20"}],
            "max_current": 10,
            "action": "START",
            "scopes": ["charger:read:data"],
            "language": "en-US",
            "redirect_uri": "https://example.org/linked",
            "start_date": "2026-01-05",
            "type_": "charger",
            "year": 2026,
            "name": "home",
            "latitude": 59.9,
            "longitude": 10.7,
            "month": 1,
            "operation_mode": "IMPORT_FOCUS",
            "hvac_set_permanent_hold_payload": {"mode": "OFF"},
            "tariff_intervals": [],
            "url": "https://example.org/events",
            "secret": "of-this-test-alone",
            **dict.fromkeys(["hem_system", "intervention_id", "meter_id", "webhook_id"], NOBODY),
        }

    def call(self, name: str, method: Any) -> tuple[str, str]:
        """Operation and outcome of one call."""
        self.seen.clear()
        parameters = inspect.signature(method).parameters.values()
        required = [each.name for each in parameters if each.default is each.empty]
        outcome = "works"
        try:
            values = self.values | self.own.get(name.partition(".")[0], {})
            method(**{each: values[each] for each in required})
        except EnodeError as error:
            outcome = f"not read: {cause(error)}" if error.status_code < 300 else refusal(error)
        (verb, path, _) = self.seen[-1]
        is_offered = any(
            verb == each and re.fullmatch(pattern, path) for each, pattern in OPERATIONS
        )
        return self.operation(), outcome if is_offered else "not offered"

    def operation(self) -> str:
        """The request that was sent, with the names of its values."""
        method, path, _ = self.seen[-1]
        known = {NOBODY: "{id}"}
        for values in (self.values, *self.own.values()):
            for name, value in values.items():
                if isinstance(value, str):
                    known.setdefault(value, f"{{{name}}}")
        parts = [known.get(part, part) for part in path.split("/")]
        return f"`{method} {'/'.join(parts)}`"


def cause(error: EnodeError) -> str:
    """First field that the SDK did not expect so."""
    found: list[Any] = getattr(error.__cause__, "errors", list)()
    if not found:
        return f"content is `{error.headers.get('content-type')}`"
    place = ".".join(str(part) for part in found[0]["loc"])
    return f"`{place}`: {found[0]['msg']}"


def refusal(error: EnodeError) -> str:
    """What the service answered."""
    try:
        detail = json.loads(error.body)["detail"]
    except (KeyError, ValueError):
        detail = error.body
    return f"refused: {error.status_code} {detail}".strip()


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("sdk")
    text = (ROOT / "scenarios/street.yaml").read_text(encoding="utf-8")
    for ours, known in VENDORS.items():
        text = text.replace(ours, known)
    scenario = folder / "street.yaml"
    scenario.write_text(text, encoding="utf-8")
    arguments = ("--scenario", scenario, "--welcome", "--clock", "0x")
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/street.db"}
    running = listening(spawn(SERVER, arguments, settings), is_welcome=True)
    try:
        made = Sandbox(running)
        made.read()
        yield made
    finally:
        running.end()


def calls(sdk: enode.Enode) -> list[tuple[str, Any]]:
    """All calls, in the order in which they can be made."""
    found: list[tuple[str, Any]] = []
    for part in sorted(sdk._sub_sdk_map):
        methods = inspect.getmembers(getattr(sdk, part), inspect.ismethod)
        found += [
            (f"{part}.{name}", method)
            for name, method in methods
            if not name.startswith(("_", "do_")) and not name.endswith("_async")
        ]

    def order(call: tuple[str, Any]) -> tuple[int, str]:
        name = call[0].partition(".")[2]
        return name.startswith(LAST) - name.startswith(FIRST), call[0]

    return sorted(found, key=order)


def test_calls_do_what_the_table_says(sandbox: Sandbox) -> None:
    assert enode.VERSION == VERSION
    rows = {name: sandbox.call(name, method) for name, method in calls(sandbox.sdk())}
    outcomes = Counter(outcome.partition(":")[0] for _, outcome in rows.values())
    text = HEAD.format(
        version=VERSION,
        works=outcomes["works"],
        unread=outcomes["not read"],
        refused=outcomes["refused"],
        absent=outcomes["not offered"],
    )
    text += "".join(f"| `{name}` | {rows[name][0]} | {rows[name][1]} |\n" for name in sorted(rows))
    if os.environ.get("UPDATE_EXPECT"):
        TABLE.write_text(text, encoding="utf-8")
    assert TABLE.read_text(encoding="utf-8") == text


def test_the_sdk_gets_its_own_token(sandbox: Sandbox) -> None:
    command = [str(SERVER), "client", "create", "--environment", "sandbox", "--name", "sdk"]
    command += ["--admin", sandbox.running.admin]
    made = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    security = Security(
        client_id=made["client_id"],
        client_secret=made["client_secret"],
        token_url=f"{sandbox.running.auth}/oauth2/token",
    )
    with enode.Enode(security=security, server_url=sandbox.running.base) as sdk:
        assert sdk.chargers.list().data == []
