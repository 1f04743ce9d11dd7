"""Inverters and batteries by SunSpec at the whole service: values, a command, and an outage."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import production
from production import Client, ask, run_program
from sunspec_devices import PATIENCE, Devices, make_devices

SETTINGS = """
[environments.production.integrations.energy]
type = "sunspec"
users.ada.password_file = "{folder}/password"

[environments.production.integrations.energy.devices.roof]
address = "127.0.0.1:{port}"
user = "ada"
name = "Roof"
kinds = ["inverter", "battery"]
installed_on = "2024-05-01"
serial_number = "F-77"

[environments.production.integrations.energy.devices.cellar]
address = "127.0.0.1:{port}"
unit_id = 2
user = "ada"
kinds = ["battery"]

[environments.production.integrations.energy.devices.shed]
address = "127.0.0.1:{port}"
unit_id = 3
user = "ada"
kinds = ["inverter"]
installed_on = "2025-06-01"
"""

OFFERED = ["cellar/battery", "roof/battery", "roof/inverter", "shed/inverter"]


class Served:
    """The running service and its client."""

    def __init__(self, service: production.Production) -> None:
        self.client = service.create_client()
        self.admin = service.running.admin

    def operate(self, *words: str) -> Any:
        """Give a command to the running service."""
        return json.loads(run_program(*words, SLACKWATER_ADMIN_URL=self.admin))

    def read(self, device: str) -> Any:
        """The last reading of a device."""
        _, text = ask("GET", f"{self.admin}/devices/{device}")
        return json.loads(text)["reading"]


@contextmanager
def serving(folder: Path, devices: Devices) -> Iterator[Served]:
    """Start the service with the devices in its settings."""
    password = folder / "password"
    password.write_text("sesame\n")
    password.chmod(0o600)
    devices_settings = SETTINGS.replace("{port}", str(devices.port))
    settings = production.write_settings(folder, devices_settings)
    checked = run_program("config", "check", "--config", settings)
    assert checked.splitlines()[-1] == "The settings can be used."
    with production.serving(folder, devices_settings) as service:
        yield Served(service)


def until(find: Callable[[], Any], tell: Callable[[], Any]) -> Any:
    """Ask until there is an answer."""
    end = time.monotonic() + PATIENCE
    while not (found := find()):
        assert time.monotonic() < end, tell()
    return found


def link(client: Client) -> None:
    """Link all devices as their owner does in a browser."""
    scopes = ["inverter:read:data", "battery:read:data", "battery:control:operation_mode"]
    body = {"vendor": "SUNSPEC", "scopes": scopes, "redirectUri": "https://app.example.org/linked"}
    url = client.send("POST", "/users/ada/link", body)["linkUrl"]
    page, html = ask("GET", url)
    cookie = page.getheader("set-cookie", "").partition(";")[0]
    for entered in (
        [("user_name", "ada"), ("password", "sesame")],
        [*(("device", device) for device in OFFERED), ("do", "allow")],
    ):
        hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', html)
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        page, html = ask("POST", url, urlencode([*hidden, *entered]), headers)
        assert page.status in (302, 303), html
        if page.status == 303:
            _, html = ask("GET", url, headers={"Cookie": cookie})


# The server of pymodbus does not close connections that it was about to accept when it ends.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_devices_are_read_commanded_lost_and_found(tmp_path: Path) -> None:
    devices = make_devices()
    with serving(tmp_path, devices) as served:
        with devices.serving():
            inverter, battery = check_values(served)
            check_command(served, devices, battery)
        hint = f"/inverters/{inverter}"
        check_reachable(served, hint, is_reachable=False)
        # What was read last is still there.
        assert served.client.send("GET", hint)["productionState"]["productionRate"] == 5.23
        with devices.serving():
            check_reachable(served, hint, is_reachable=True)


def wait_for_power(client: Client, inverter: str) -> Any:
    """Wait until an inverter has a power: one that was just linked is polled in the background."""
    path = f"/inverters/{inverter}"

    def find() -> Any:
        shown = client.send("GET", path)
        return shown if shown["productionState"]["productionRate"] is not None else None

    return until(find, lambda: client.send("GET", path))


def wait_for_reading(served: Served, device: str) -> Any:
    """Wait for the first reading of a device."""
    return until(lambda: served.read(device), lambda: device)


def check_values(served: Served) -> tuple[str, str]:
    """Compare readings with the registers, and return the devices of the roof."""
    client = served.client
    link(client)
    inverters = client.send("GET", "/users/ada/inverters")["data"]
    by_name = {one["information"]["id"]: one for one in inverters}
    assert sorted(by_name) == ["roof/inverter", "shed/inverter"]
    for name, rate, model, site in (
        ("roof/inverter", 5.23, "Hybrid 8", "Roof"),
        ("shed/inverter", 2.5005, "Float 3", "shed"),
    ):
        shown = wait_for_power(client, by_name[name]["id"])
        assert shown["vendor"] == "SUNSPEC"
        assert shown["isReachable"]
        assert shown["productionState"]["productionRate"] == rate
        information = shown["information"]
        assert (information["brand"], information["model"]) == ("Fjord", model)
        assert information["siteName"] == site
    inverter = by_name["roof/inverter"]["id"]
    assert served.read(inverter)["counters"] == {"imported_kwh": 0.0, "exported_kwh": 1234.5}
    batteries = {}
    for one in client.send("GET", "/batteries")["data"]:
        reading = wait_for_reading(served, one["id"])
        batteries[reading["facts"]["battery"]["capacity_kwh"]] = (one["id"], reading)
    roof, hybrid = batteries[10.24]
    facts = {"mode": "self_reliance", "soc_percent": 64.0, "capacity_kwh": 10.24}
    assert hybrid["facts"]["battery"] == {**facts, "power_kw": None, "position": None}
    _, alone = batteries[13.5]
    facts = {"mode": None, "soc_percent": 80.5, "capacity_kwh": 13.5}
    assert alone["facts"]["battery"] == {**facts, "power_kw": 1.2, "position": None}
    assert alone["counters"] == {"imported_kwh": 101.0, "exported_kwh": 90.0}
    return inverter, roof


def check_command(served: Served, devices: Devices, battery: str) -> None:
    """Command a mode, which the device shows before the action is confirmed."""
    assert devices.writes == []
    action = served.operate("command", "operation-mode", battery, "import-focus")
    # Behind the marker, and models 1, 103 and 120 with their headers.
    control = 2 + 68 + 52 + 28
    full = 10_000
    expected = [
        (1, control + 15, [1800]),
        (1, control + 12, [0x10000 - full, full]),
        (1, control + 5, [3]),
    ]
    assert devices.until_written(3)[:3] == expected

    def ended() -> Any:
        ask_for_poll(served.client, f"/batteries/{battery}")
        shown = served.operate("command", "show", action["id"])
        return shown if shown["state"] != "PENDING" else None

    assert until(ended, lambda: served.read(battery))["state"] == "CONFIRMED"
    assert served.read(battery)["facts"]["battery"]["mode"] == "import_focus"


def ask_for_poll(client: Client, path: str) -> None:
    """Ask for an early poll of a device; too many hints are refused."""
    hint, text = ask("POST", f"{client.base}{path}/refresh-hint", headers=client.headers)
    assert hint.status in (204, 429), text


def check_reachable(served: Served, path: str, *, is_reachable: bool) -> None:
    """Ask for early polls until a device is reachable, or is not."""

    def is_as_expected() -> bool:
        ask_for_poll(served.client, path)
        shown = served.client.send("GET", path)
        return bool(shown["isReachable"] is is_reachable)

    until(is_as_expected, lambda: served.client.send("GET", path))
