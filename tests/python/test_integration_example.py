"""The example of an integration: a program outside the workspace serves its own device."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from production import Production, ask, serving, write_settings
from server import SERVER

PROGRAM = SERVER.with_name("folder-integration")

# A charger with a vehicle that charges, as a bridge would write it.
READING = {
    "at": "2026-01-05T17:59:30Z",
    "is_reachable": True,
    "capabilities": {"set_max_current": {"is_capable": True, "intervention_ids": []}},
    "counters": {"imported_kwh": 120.5, "exported_kwh": 0.0},
    "facts": {
        "charger": {
            "information": {"brand": "Cellar", "model": "One"},
            "charging": {"is_plugged_in": True, "is_charging": True, "power_state": "charging"},
            "max_current_amps": 16.0,
            "plugged_into": None,
        }
    },
}

SETTINGS = """
[environments.production.integrations.cellar]
type = "folder"
folder = "{folder}/devices"
user_name = "ada"
password = "sesame"
"""


def link(url: str) -> str:
    """Log in and consent, as a browser without scripts does; returns where it is sent."""
    page, html = ask("GET", url)
    cookie = page.getheader("set-cookie", "").partition(";")[0]
    for entered in (
        {"user_name": "ada", "password": "sesame"},
        {"device": "cellar", "do": "allow"},
    ):
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', html))
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        page, html = ask("POST", url, urlencode({**hidden, **entered}), headers)
        assert page.status in (302, 303), html
        if page.status == 303:
            _, html = ask("GET", url, headers={"Cookie": cookie})
    return page.getheader("location", "")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Production]:
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: run `make example`"
    devices = tmp_path / "devices"
    devices.mkdir()
    (devices / "cellar.json").write_text(json.dumps(READING))
    with serving(tmp_path, SETTINGS, program=PROGRAM) as one:
        yield one


def test_a_program_outside_the_workspace_serves_its_device(served: Production) -> None:
    client = served.create_client()
    session = client.send(
        "POST",
        "/users/ada/link",
        {
            "vendor": "FOLDER",
            "scopes": ["charger:read:data", "charger:control:charging"],
            "redirectUri": "https://app.example.org/linked",
        },
    )
    assert link(session["linkUrl"]).startswith("https://app.example.org/linked?state=")
    (charger,) = client.send("GET", "/users/ada/chargers")["data"]
    assert charger["vendor"] == "FOLDER"
    path = f"/chargers/{charger['id']}/max-current"
    action = client.send("POST", path, {"maxCurrent": 10})
    assert (action["state"], action["targetState"]) == ("PENDING", {"maxCurrent": 10.0})


def test_settings_of_an_unknown_type_are_refused_at_the_start(tmp_path: Path) -> None:
    settings = write_settings(tmp_path, SETTINGS.replace('type = "folder"', 'type = "attic"'))
    done = subprocess.run(
        [PROGRAM, "serve", "--config", settings], capture_output=True, text=True, check=False
    )
    expected = (
        "error: environments.production.integrations.cellar.type: "
        "there is no integration `attic`; one of folder\n"
    )
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1]) == (1, expected)
