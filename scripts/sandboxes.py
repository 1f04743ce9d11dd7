"""Starts a server with a sandbox, for the scripts that ask it things."""

import http.client
import json
import os
import subprocess
import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# Under this name identifiers are made from the names in a scenario.
NAMES = uuid.UUID("5b0f6a54-7f0c-4b5e-9d3c-51ac8a7e0001")


def uuid_of(name: str) -> str:
    """What clients know a thing of the scenario by."""
    return str(uuid.uuid5(NAMES, name))


class NotStartedError(RuntimeError):
    """The server ended before it listened."""


@dataclass
class Running:
    """A server that listens."""

    process: subprocess.Popen[str]
    base: str
    admin: str
    token: str
    # What it logged as an error since it listens.
    errors: list[str] = field(default_factory=list)


def spawn(server: str, arguments: Iterable[str], settings: dict[str, str]) -> subprocess.Popen[str]:
    """Runs the street on free ports."""
    command = [server, "serve", "--listen", "127.0.0.1:0", "--scenario", "street", "--welcome"]
    return subprocess.Popen(
        [*command, *arguments],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def listening(process: subprocess.Popen[str]) -> Running:
    """A server that was started, once it listens.

    Raises:
        NotStartedError: It ended instead.
    """
    if process.stdout is None or process.stderr is None:
        raise NotStartedError("the server has no output")
    token = ""
    for line in process.stdout:
        if "Bearer " in line:
            token = line.partition("Bearer ")[2].partition("'")[0]
        if line.startswith("Documentation"):
            break
    log = []
    for line in process.stderr:
        log.append(line)
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("message") == "listening":
            running = Running(process, event["base"], event["admin"], token)
            # A pipe that nobody reads fills up, and then the server waits.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            threading.Thread(target=_errors, args=(process.stderr, running), daemon=True).start()
            return running
    process.wait()
    raise NotStartedError(f"the server did not start: {''.join(log)}")


def _errors(lines: Iterable[str], running: Running) -> None:
    running.errors += [line for line in lines if '"level":"ERROR"' in line]


class Asker:
    """A connection to one address of a server."""

    def __init__(self, address: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and the body of an answer that came in full."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()
