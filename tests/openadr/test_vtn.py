"""Events at a VTN of another project (OpenLEADR) as limits of the service; without it, a fail-safe.

The VTN is `openleadr-vtn` with a PostgreSQL of its own. Users are added by its own interface, so
that the program asks for its tokens as any VEN does.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from production import Production, serving, wait_until
from server import SERVER

from postgres import postgres

PROGRAM = SERVER.with_name("slackwater-openadr")
TARGET = SERVER.parent.parent
VTN = Path(os.environ.get("OPENLEADR_VTN", TARGET / "openleadr/bin/openleadr-vtn"))

SECRET = b"a key of tests, which signs tokens of the VTN"
CLIENT, PASSWORD = "slackwater", "a-secret-of-tests"

READER = "slackwater-reader"
"""A client to which the VTN shows events for all targets.

Targets of a client by its VEN object need a view of the VTN's database, which is not made with
PostgreSQL 15 of Debian 12: a migration is written for 16, and the VTN goes on without.
"""

PATIENCE = 30
"""Longest wait for anything, in seconds."""

SILENCE = 6
"""Silence after which the heartbeat is lost, in seconds. The program polls each second."""

FAIL_SAFE_KW = 3.0

SETTINGS = f"""
[grid.dso]
zone = "NO1"
area = "north"
fail_safe_kw = {FAIL_SAFE_KW}
silence_max_seconds = {SILENCE}
"""


def send(method: str, url: str, body: object = None, token: str = "") -> tuple[int, Any]:
    """Send one request with JSON on a connection of its own."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
    headers = {"Content-Type": "application/json"} | (
        {"Authorization": f"Bearer {token}"} if token else {}
    )
    text = None if body is None else json.dumps(body)
    connection.request(method, parts.path, text, headers)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    is_json = answer.getheader("content-type", "").startswith("application/json")
    return answer.status, json.loads(content) if is_json else content


def sign_token(scopes: list[str]) -> str:
    """Make a token of the business logic, by the key that the VTN was given (RFC 7519, HS256)."""

    def encode(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    claims = {"sub": "operator", "exp": int(time.time()) + 3600, "scope": " ".join(scopes)}
    parts = [{"alg": "HS256", "typ": "JWT"}, claims]
    text = ".".join(encode(json.dumps(part).encode()) for part in parts)
    return f"{text}.{encode(hmac.digest(SECRET, text.encode(), hashlib.sha256))}"


@dataclass
class Vtn:
    """A running VTN with a program, as its operator uses it."""

    url: str
    process: subprocess.Popen[bytes]
    token: str = ""
    program: str = ""

    def send(self, method: str, path: str, body: object = None) -> Any:
        """The body of the answer, which is good."""
        status, content = send(method, f"{self.url}/{path}", body, self.token)
        assert status in {200, 201}, content
        return content

    def prepare(self) -> None:
        """Add a program, and clients that may read."""
        scopes = ["read_all", "write_programs", "write_events", "write_vens_bl", "write_users"]
        self.token = sign_token(scopes)
        self.program = self.send("POST", "programs", {"programName": "evening"})["id"]
        for client, may in (
            (CLIENT, ["read_targets", "read_ven_objects"]),
            (READER, ["read_all"]),
        ):
            user = self.send("POST", "users", {"reference": client, "scope": may})["id"]
            credential = {"client_id": client, "client_secret": PASSWORD}
            self.send("POST", f"users/{user}", credential)

    def event(self, limits_kw: list[float], priority: int | None = None, **more: Any) -> Any:
        """An event of now, with a limit for each of its intervals of an hour."""
        start = datetime.now(UTC) - timedelta(minutes=1)
        return {
            "programID": self.program,
            "priority": priority,
            "intervalPeriod": {"start": start.isoformat(), "duration": "PT1H"},
            "intervals": [
                {"id": i, "payloads": [{"type": "IMPORT_CAPACITY_LIMIT", "values": [limit]}]}
                for i, limit in enumerate(limits_kw)
            ],
            **more,
        }

    def add(self, limits_kw: list[float], priority: int | None = None, **more: Any) -> str:
        """Add an event, and return its name."""
        name: str = self.send("POST", "events", self.event(limits_kw, priority, **more))["id"]
        return name


@contextmanager
def serving_vtn() -> Iterator[Vtn]:
    """Run a VTN with a database of its own."""
    assert VTN.is_file(), f"{VTN} is missing: run `make openadr`"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with postgres() as server:
        server.execute("create database vtn")
        settings = {
            "DATABASE_URL": server.url("vtn"),
            "PORT": str(port),
            "OAUTH_TYPE": "INTERNAL",
            "OAUTH_TOKEN_URL": f"{url}/auth/token",
            "OAUTH_BASE64_SECRET": base64.b64encode(SECRET).decode(),
        }
        with subprocess.Popen([VTN], env=os.environ | settings) as process:
            try:

                def answers() -> bool:
                    assert process.poll() is None, "the VTN has ended"
                    try:
                        return send("GET", f"{url}/health")[0] == 200
                    except OSError:
                        return False

                wait_until(answers, lambda: "the VTN does not answer", PATIENCE)
                vtn = Vtn(url, process)
                vtn.prepare()
                yield vtn
            finally:
                process.send_signal(signal.SIGCONT)
                process.terminate()


@dataclass
class Ven:
    """The program between a VTN and a service, and its log."""

    service: Production
    process: subprocess.Popen[str]
    log: list[str] = field(default_factory=list)

    def read_log(self) -> None:
        """Keep each line of the log until the process ends."""
        assert self.process.stderr
        self.log.extend(iter(self.process.stderr.readline, ""))

    def sender(self) -> Any:
        """The sender as the service shows it."""
        return self.service.sender("dso")

    def until_in_force(self, limit_kw: float | None, reason: str) -> None:
        """Wait until the service has a limit in force, for a reason."""

        def holds() -> bool:
            sender = self.sender()
            return (sender["limit_kw"], sender["reason"]) == (limit_kw, reason)

        wait_until(holds, lambda: (self.sender(), self.log[-5:]), PATIENCE)


@pytest.fixture(scope="module")
def vtn() -> Iterator[Vtn]:
    with serving_vtn() as one:
        yield one


@contextmanager
def following(vtn: Vtn, folder: Path, *more: str, client: str = CLIENT) -> Iterator[Ven]:
    """Run the service, and the program between the VTN and it."""
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: run `make openadr`"
    secret = folder / "secret"
    secret.write_text(PASSWORD + "\n")
    command: list[str | Path] = [PROGRAM, "--vtn", vtn.url, "--program", vtn.program]
    command += ["--client-id", client, "--client-secret-file", secret]
    command += ["--grid", "dso", "--poll-seconds", "1", *more]
    with serving(folder, SETTINGS) as service:
        command += ["--admin", service.running.admin]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            ven = Ven(service, process)
            reader = threading.Thread(target=ven.read_log)
            reader.start()
            try:
                yield ven
            finally:
                process.terminate()
                reader.join()
        assert process.returncode == 0, ven.log


@pytest.fixture
def ven(vtn: Vtn, tmp_path: Path) -> Iterator[Ven]:
    with following(vtn, tmp_path) as one:
        yield one
    for event in vtn.send("GET", "events"):
        vtn.send("DELETE", f"events/{event['id']}")


def test_events_are_orders_by_priority_until_they_are_deleted(vtn: Vtn, ven: Ven) -> None:
    ven.until_in_force(None, "free")
    weak = vtn.add([8.0])
    ven.until_in_force(8.0, "ordered")
    strong = vtn.add([50.0], priority=2)
    ven.until_in_force(50.0, "ordered")
    strongest = vtn.add([4.2, 11.0], priority=0)
    ven.until_in_force(4.2, "ordered")
    vtn.send("PUT", f"events/{strongest}", vtn.event([5.5, 11.0], priority=0))
    ven.until_in_force(5.5, "ordered")
    for name, limit_kw, reason in (
        (strongest, 50.0, "ordered"),
        (strong, 8.0, "ordered"),
        (weak, None, "free"),
    ):
        vtn.send("DELETE", f"events/{name}")
        ven.until_in_force(limit_kw, reason)


def test_an_interval_that_ends_is_followed_by_the_next_and_the_last_by_none(
    vtn: Vtn, ven: Ven
) -> None:
    period = {"start": datetime.now(UTC).isoformat(), "duration": "PT4S"}
    vtn.add([4.2, 9.0], intervalPeriod=period)
    ven.until_in_force(4.2, "ordered")
    until = datetime.fromisoformat(ven.sender()["until"])
    assert until == datetime.fromisoformat(period["start"]) + timedelta(seconds=8)
    ven.until_in_force(9.0, "ordered")
    ven.until_in_force(None, "free")


def test_events_for_other_targets_are_not_followed(vtn: Vtn, tmp_path: Path) -> None:
    with following(vtn, tmp_path, "--target", "north", client=READER) as ven:
        south = vtn.add([1.0], priority=0, targets=["south"])
        both = vtn.add([8.0], priority=1, targets=["north", "south"])
        ven.until_in_force(8.0, "ordered")
        everybody = vtn.add([6.0], priority=0)
        ven.until_in_force(6.0, "ordered")
        for name in (south, both, everybody):
            vtn.send("DELETE", f"events/{name}")
        ven.until_in_force(None, "free")


def test_a_vtn_that_does_not_answer_is_the_fail_safe_until_it_is_back(vtn: Vtn, ven: Ven) -> None:
    vtn.add([20.0])
    ven.until_in_force(20.0, "ordered")
    vtn.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    ven.until_in_force(FAIL_SAFE_KW, "fail_safe")
    # The last heartbeat is at most a poll older than the stop.
    assert time.monotonic() - stopped < SILENCE + 2, ven.log
    vtn.process.send_signal(signal.SIGCONT)
    ven.until_in_force(20.0, "ordered")


def test_a_negative_limit_is_silence_with_a_message(vtn: Vtn, ven: Ven) -> None:
    vtn.add([20.0])
    ven.until_in_force(20.0, "ordered")
    wrong = vtn.add([-7.0], priority=0)
    ven.until_in_force(FAIL_SAFE_KW, "fail_safe")
    assert any("-7 kW is below 0 kW" in line and wrong in line for line in ven.log), ven.log
    vtn.send("DELETE", f"events/{wrong}")
    ven.until_in_force(20.0, "ordered")


def test_without_a_token_no_heartbeat_is_sent(vtn: Vtn, tmp_path: Path) -> None:
    with following(vtn, tmp_path, "--token-url", f"{vtn.url}/auth/nowhere") as ven:
        ven.until_in_force(FAIL_SAFE_KW, "fail_safe")
        assert any("/auth/nowhere answers 404" in line for line in ven.log), ven.log
