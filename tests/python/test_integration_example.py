"""The example of an integration: a program outside the workspace serves its own device."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/folder-integration"

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
[store]
url = "sqlite:{folder}/kept.db"

[serve]
drain_seconds = 0

[admin]
listen = "127.0.0.1:0"

[environments.production]
base = {{ listen = "127.0.0.1:0" }}
auth = {{ listen = "127.0.0.1:0" }}
link = {{ listen = "127.0.0.1:0" }}

[environments.production.integrations.cellar]
type = "folder"
folder = "{folder}/devices"
user_name = "ada"
password = "sesame"
"""


def ask(
    method: str, url: str, body: str | None = None, headers: dict[str, str] | None = None
) -> tuple[http.client.HTTPResponse, str]:
    """One request on a connection of its own."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


class Client:
    """A client of the production environment."""

    def __init__(self, base: str, auth: str, client: dict[str, Any]) -> None:
        secret = b64encode(f"{client['client_id']}:{client['client_secret']}".encode()).decode()
        headers = {
            "Authorization": f"Basic {secret}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        form = "grant_type=client_credentials"
        _, token = ask("POST", f"{auth}/oauth2/token", form, headers)
        self.base = base
        self.headers = {
            "Authorization": f"Bearer {json.loads(token)['access_token']}",
            "Content-Type": "application/json",
        }

    def send(self, method: str, path: str, body: object = None) -> Any:
        """The body of the answer, which is good."""
        text = None if body is None else json.dumps(body)
        answer, content = ask(method, self.base + path, text, self.headers)
        assert answer.status == 200, content
        return json.loads(content)


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
def served(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: run `make example`"
    devices = tmp_path / "devices"
    devices.mkdir()
    (devices / "cellar.json").write_text(json.dumps(READING))
    settings = tmp_path / "settings.toml"
    settings.write_text(SETTINGS.format(folder=tmp_path))
    command = [str(PROGRAM), "serve", "--config", str(settings)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        events = (json.loads(line) for line in process.stderr)
        addresses = next(event for event in events if event.get("message") == "listening")
        yield settings, addresses
        process.terminate()


def test_a_program_outside_the_workspace_serves_its_device(
    served: tuple[Path, dict[str, str]],
) -> None:
    settings, addresses = served
    made = subprocess.run(
        [PROGRAM, "client", "create", "--environment", "production", "--config", settings],
        env={**os.environ, "SLACKWATER_ADMIN_URL": addresses["admin"]},
        capture_output=True,
        text=True,
        check=True,
    )
    client = Client(addresses["base"], addresses["auth"], json.loads(made.stdout))
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
    settings = tmp_path / "settings.toml"
    text = SETTINGS.format(folder=tmp_path).replace('type = "folder"', 'type = "attic"')
    settings.write_text(text)
    done = subprocess.run(
        [PROGRAM, "serve", "--config", settings], capture_output=True, text=True, check=False
    )
    expected = (
        "error: environments.production.integrations.cellar.type: "
        "there is no integration `attic`; one of folder\n"
    )
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1]) == (1, expected)
