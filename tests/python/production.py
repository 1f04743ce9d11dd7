"""A service in production on free ports, as tests of devices and of grid operators start it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from server import ROOT, SERVER

sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@dataclass
class Production:
    """A running service.

    Attributes:
        program: The program that serves.
        settings: File of its settings.
        running: Its process, its addresses and its log.
    """

    program: Path
    settings: Path
    running: sandboxes.Running

    def create_client(self) -> Client:
        """Create a client by the operators' address."""
        made = run_program(
            *("client", "create", "--environment", "production", "--config", self.settings),
            program=self.program,
            SLACKWATER_ADMIN_URL=self.running.admin,
        )
        return Client(self.running.base, self.running.auth, json.loads(made))

    def sender(self, name: str) -> Any:
        """A sender of grid orders as the service shows it."""
        answer, text = ask("GET", f"{self.running.admin}/grid/{name}")
        assert answer.status == 200, text
        return json.loads(text)


def run_program(*arguments: str | Path, program: Path = SERVER, **environment: str) -> str:
    """Run a command of the program, which is good, and return its output."""
    done = subprocess.run(
        [program, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def write_settings(folder: Path, more: str) -> Path:
    """Write settings of a production environment, and more of them; `{folder}` is the folder."""
    settings = folder / "settings.toml"
    settings.write_text((SETTINGS + more).format(folder=folder))
    return settings


@contextmanager
def serving(folder: Path, more: str = "", *, program: Path = SERVER) -> Iterator[Production]:
    """Run the service until the end of the block, with more settings."""
    assert program.is_file(), f"{program} is missing: see CONTRIBUTING.md, Commands"
    settings = write_settings(folder, more)
    command: list[str | Path] = [program, "serve", "--config", settings]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        running = sandboxes.listening(process)
        try:
            yield Production(program, settings, running)
        finally:
            running.end()


def wait_until(
    holds: Callable[[], bool], told: Callable[[], object], patience_seconds: float
) -> None:
    """Ask until something holds; `told` is the message if it does not in time."""
    end = time.monotonic() + patience_seconds
    while not holds():
        assert time.monotonic() < end, told()
        threading.Event().wait(0.05)
