"""A limit of an EEBUS control box as the limit of the service, and the fail-safe without the box.

The box is the example `control_box`, which is made of the library of the program: this shows that
the three processes fit together, and nothing about control boxes of others.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import sandboxes

ROOT = Path(__file__).parents[2]
DEBUG = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
SERVICE = DEBUG / "slackwater-api"
PROGRAM = DEBUG / "slackwater-eebus"
BOX = DEBUG / "examples/control_box"

PATIENCE = 60
"""Longest wait for anything, in seconds."""

SILENCE = 20
"""Silence after which the heartbeat is lost, in seconds."""

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

[grid.dso]
zone = "NO1"
area = "north"
fail_safe_kw = 3.0
silence_max_seconds = {silence}
"""


def read_sender(admin: str) -> Any:
    """The sender as the service shows it."""
    connection = http.client.HTTPConnection(urlsplit(admin).netloc, timeout=PATIENCE)
    connection.request("GET", "/grid/dso")
    sender = json.loads(connection.getresponse().read())
    connection.close()
    return sender


def wait_until(holds: Callable[[], bool], told: Callable[[], object]) -> None:
    """Ask until something holds; `told` is the message if it does not in time."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, told()
        threading.Event().wait(0.05)


def read_value(process: subprocess.Popen[str], name: str) -> str:
    """The rest of the next line that a program prints, which begins with a name."""
    assert process.stdout
    line = process.stdout.readline().strip()
    assert line.startswith(name), line
    return line.removeprefix(name).strip()


@contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run a program until the end of the block."""
    assert Path(command[0]).is_file(), f"{command[0]} is missing: run `make eebus`"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run the service, and yield its operators' address."""
    settings = folder / "settings.toml"
    settings.write_text(SETTINGS.format(folder=folder, silence=SILENCE))
    command: list[str | Path] = [SERVICE, "serve", "--config", settings]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as service:
        listening = sandboxes.listening(service)
        try:
            yield listening.admin
        finally:
            listening.end()


def test_a_limit_of_the_box_is_in_force_and_the_fail_safe_follows_its_end(tmp_path: Path) -> None:
    key = tmp_path / "box.key"
    with running(BOX, key) as process:
        trusted = read_value(process, "SKI")
    with serving(tmp_path) as admin:

        def until_in_force(limit_kw: float, reason: str) -> None:
            def holds() -> bool:
                sender = read_sender(admin)
                return (sender["limit_kw"], sender["reason"]) == (limit_kw, reason)

            wait_until(holds, lambda: read_sender(admin))

        options = ["--listen", "127.0.0.1:0", "--grid", "dso", "--admin", admin]
        command: list[str | Path] = [
            PROGRAM,
            "--trust",
            trusted,
            "--key-file",
            tmp_path / "own.key",
            *options,
        ]
        with running(*command) as program:
            ski = read_value(program, "SKI")
            address = read_value(program, "listening on")
            with running(BOX, key, ski, address, "4200", "900") as box:
                until_in_force(4.2, "ordered")
                assert read_value(box, "SKI") == trusted
                assert read_value(box, "acknowledged")
                assert read_sender(admin)["until"]
            ended = time.monotonic()
            until_in_force(3.0, "fail_safe")
            assert time.monotonic() - ended < SILENCE + 2
        assert program.returncode == 0
