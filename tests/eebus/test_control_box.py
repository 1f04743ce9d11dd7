"""Limits of an EEBUS control box as limits of the service, and the fail-safe without the box.

The box is `steuerbox` of the crate `eebus`, the energy guard that its authors wrote. The program is
made of the same library, so this shows nothing about control boxes of others.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from production import serving, wait_until
from server import SERVER

PROGRAM = SERVER.with_name("slackwater-eebus")
BOX = Path(os.environ["STEUERBOX"])

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
    """The rest of the next line of a program that has a name in it."""
    assert process.stdout
    line = next((line for line in process.stdout if name in line), "")
    assert line, f"no line with {name!r}"
    return line.partition(name)[2].strip()


@contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run a program until the end of the block."""
    assert Path(command[0]).is_file(), f"{command[0]} is missing: run `make eebus`"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_limits_of_the_box_are_in_force_and_the_fail_safe_follows_its_end(tmp_path: Path) -> None:
    box: list[str | Path] = [BOX, "--state", tmp_path / "box", "--port", "0"]
    # A box that dials needs no multicast. Nobody listens at port 9.
    with running(*box, "--dial", "127.0.0.1:9") as process:
        trusted = read_value(process, "SKI ")
    with serving(tmp_path, SETTINGS) as served:

        def until_in_force(limit_kw: float | None, reason: str) -> None:
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
            ski = read_value(program, "SKI ").replace(" ", "")
            box += ["--trust", ski, "--dial", read_value(program, "listening on")]
            with running(*box, "--limit", "4200", "--for", "900") as limiting:
                until_in_force(4.2, "ordered")
                assert read_value(limiting, "4200 W accepted")
                assert served.sender("dso")["until"]
            ended = time.monotonic()
            until_in_force(3.0, "fail_safe")
            assert time.monotonic() - ended < SILENCE + 2
            # The box returns, and permits what the devices like.
            with running(*box, "--release") as releasing:
                until_in_force(None, "free")
                assert read_value(releasing, "accepted")
        assert program.returncode == 0
