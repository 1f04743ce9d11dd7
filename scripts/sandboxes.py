"""Starts a server with a sandbox, for the scripts that ask it things."""

import http.client
import json
import os
import subprocess
import threading
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Json = Any
"""What a JSON document holds."""

NAMES = uuid.UUID("5b0f6a54-7f0c-4b5e-9d3c-51ac8a7e0001")
"""Under this name identifiers are made from the names in a scenario."""

STREET = ("--scenario", "street", "--welcome")
"""Arguments for the street that comes with the service; the token is in its welcome."""


def uuid_of(name: str) -> str:
    """What clients know a thing of the scenario by."""
    return str(uuid.uuid5(NAMES, name))


class NotStartedError(RuntimeError):
    """The server ended before it listened."""


@dataclass
class Running:
    """A server that listens.

    Attributes:
        process: Its process.
        base: Address of the public interface.
        auth: Address at which tokens are issued.
        admin: Address of operators.
        token: The token of its welcome; empty if it has none.
        start: What it logged before it listened.
        log: What it logged since it listens.
    """

    process: subprocess.Popen[str]
    base: str
    auth: str
    admin: str
    token: str = ""
    start: list[Json] = field(default_factory=list)
    log: list[Json] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        """What it logged as an error."""
        return [json.dumps(event) for event in self.log if event.get("level") == "ERROR"]

    def end(self) -> None:
        """Tell it to stop, and wait until it has."""
        self.process.terminate()
        self.process.wait()


def spawn(
    server: str | Path, arguments: Iterable[str | Path], settings: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Run a server on free ports; `settings` are variables of its environment."""
    return subprocess.Popen(
        [server, "serve", "--listen", "127.0.0.1:0", *arguments],
        # No balancer has to notice that it stops.
        env={**os.environ, "SLACKWATER_SERVE__DRAIN_SECONDS": "0", **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def listening(
    process: subprocess.Popen[str], *, is_welcome: bool = False, reads_output: bool = True
) -> Running:
    """A server that was started, once it listens.

    Args:
        process: The server.
        is_welcome: Whether it was told to say welcome.
        reads_output: Whether its output is read here and dropped.

    Raises:
        NotStartedError: It ended instead.
    """
    out, err = process.stdout, process.stderr
    if out is None or err is None:
        raise NotStartedError("the server has no output")
    said = []
    for line in err:
        said.append(line)
        event = event_of(line)
        if event.get("message") == "listening":
            running = Running(process, event["base"], event["auth"], event["admin"])
            running.start = [event for event in map(event_of, said) if event]
            # It welcomes before it listens: all of that is there.
            running.token = token_in(out) if is_welcome else ""
            # A pipe that nobody reads fills up, and then the server waits.
            if reads_output:
                threading.Thread(target=out.read, daemon=True).start()
            threading.Thread(target=keep_log, args=(err, running.log), daemon=True).start()
            return running
    process.wait()
    raise NotStartedError(f"the server did not start: {''.join(said)}")


def event_of(line: str) -> Json:
    """A line of a log; empty if it is none, or cut off."""
    try:
        return json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return {}


def keep_log(lines: Iterable[str], log: list[Json]) -> None:
    """Read a log until its process ends."""
    for line in lines:
        log += filter(None, [event_of(line)])


def token_in(lines: Iterable[str]) -> str:
    """The token of a welcome."""
    token = ""
    for line in lines:
        if "Bearer " in line:
            token = line.partition("Bearer ")[2].partition("'")[0]
        if line.startswith("Documentation"):
            break
    return token


class Asker:
    """Asks one address of a server, with a connection for each thread."""

    def __init__(self, address: str, token: str = "", *, patience_seconds: float = 60) -> None:
        self._netloc = urlsplit(address).netloc
        self._patience_seconds = patience_seconds
        self._local = threading.local()
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Json]:
        """The status and the body of an answer that came in full; strings are sent as they are."""
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        connection = getattr(self._local, "connection", None)
        if connection is None:
            patience = self._patience_seconds
            connection = http.client.HTTPConnection(self._netloc, timeout=patience)
            self._local.connection = connection
        try:
            connection.request(method, path, text, {**self.headers, **(headers or {})})
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        return answer.status, json.loads(content) if content else None

    def close(self) -> None:
        """End the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None
