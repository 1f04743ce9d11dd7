"""A limit of an EEBUS control box as the limit of the service, and the fail-safe without the box.

The box is the example `control_box`, which is made of the library of the program: this shows that
the three processes fit together, and nothing about control boxes of others.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from production import serving, wait_until
from server import SERVER

PROGRAM = SERVER.with_name("slackwater-eebus")
BOX = SERVER.parent / "examples/control_box"

PATIENCE = 60
"""Longest wait for anything, in seconds."""

SILENCE = 20
"""Silence after which the heartbeat is lost, in seconds."""

SETTINGS = f"""
[grid.dso]
zone = "NO1"
area = "north"
fail_safe_kw = 3.0
silence_max_seconds = {SILENCE}
"""


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


def test_a_limit_of_the_box_is_in_force_and_the_fail_safe_follows_its_end(tmp_path: Path) -> None:
    key = tmp_path / "box.key"
    with running(BOX, key) as process:
        trusted = read_value(process, "SKI")
    with serving(tmp_path, SETTINGS) as served:

        def until_in_force(limit_kw: float, reason: str) -> None:
            def holds() -> bool:
                sender = served.sender("dso")
                return (sender["limit_kw"], sender["reason"]) == (limit_kw, reason)

            wait_until(holds, lambda: served.sender("dso"), PATIENCE)

        options = ["--listen", "127.0.0.1:0", "--grid", "dso", "--admin", served.running.admin]
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
                assert served.sender("dso")["until"]
            ended = time.monotonic()
            until_in_force(3.0, "fail_safe")
            assert time.monotonic() - ended < SILENCE + 2
        assert program.returncode == 0
