"""The guide of chargers: its commands, to the plan and the pulled cable, by a stepped clock."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pytest
from ocpp.v16 import call as call16

from production import run_program
from server import ROOT, SERVER

import points
from central import connected
from owner import allow
from points import Post16, limit_of, listen

sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes

import page_examples as pages

PROGRAM = SERVER.parent / "examples/simulated_production"
PAGE = (ROOT / "docs/ocpp.md").read_text(encoding="utf-8")
BLOCKS = pages.blocks(PAGE)

# 21:45 in Berlin: the cheap night of the guide begins a quarter of an hour later.
STARTS = datetime(2026, 1, 5, 20, 45, tzinfo=UTC)

REST = """
[store]
url = "sqlite:{folder}/kept.db"

[serve]
drain_seconds = 0

[admin]
listen = "127.0.0.1:0"
"""


def settings_of(folder: Path, count: int = 1) -> str:
    """Return the first tables of the guide, with free ports and a folder of the test."""
    tables = [block.code for block in BLOCKS if block.language == "toml"]
    own = "\n".join(tables[:count])
    for port in ("8080", "8081", "8082"):
        own = own.replace(f"127.0.0.1:{port}", "127.0.0.1:0")
    own = own.replace("0.0.0.0:9000", "127.0.0.1:0")
    return REST.format(folder=folder) + own.replace("/var/lib/slackwater", str(folder))


@dataclass
class Clock:
    """The service by a clock that is stepped."""

    process: subprocess.Popen[str]
    running: sandboxes.Running
    now: datetime = STARTS

    def order(self, line: str) -> Any:
        """Give an order, and return its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(line, file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer

    async def pass_minutes(self, minutes: int) -> None:
        """Step minute by minute, and let all be done that is due."""
        for _ in range(minutes):
            self.now += timedelta(minutes=1)
            await asyncio.to_thread(self.order, "step 60")

    def write(self) -> str:
        """Return the time as the protocol writes it."""
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def serving(folder: Path) -> Iterator[Clock]:
    """Run the service with the settings of the guide."""
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: make ocpp"
    scenario = folder / "scenario.json"
    scenario.write_text(json.dumps({"starts": STARTS.isoformat()}))
    pipe = subprocess.PIPE
    command = [PROGRAM, folder / "settings.toml", scenario]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        running = sandboxes.listening(process, reads_output=False)
        assert process.stdout is not None
        # The secrets of simulated chargers: there are none.
        assert json.loads(process.stdout.readline()) == {}
        try:
            yield Clock(process, running)
        finally:
            running.end()


class Reader:
    """Runs the commands of the guide, block by block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places = {"/var/lib/slackwater": str(folder)}
        path = f"{SERVER.parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path}
        self.left = [
            (block, after)
            for block, after in zip(BLOCKS, [*BLOCKS[1:], None], strict=True)
            if block.language == "sh" and not block.marks
        ]

    def meet(self, running: sandboxes.Running) -> Self:
        """Know the addresses of the service from here on."""
        self.environment["SLACKWATER_ADMIN_URL"] = running.admin
        self.places |= {"http://127.0.0.1:8080": running.base}
        self.places |= {"http://127.0.0.1:8081": running.auth}
        return self

    def run_next(self, begins: str) -> list[str]:
        """Run the next block, which has a command that begins so, and return what it printed."""
        block, after = self.left.pop(0)
        assert begins in block.code, block
        code = block.code
        for shown, real in self.places.items():
            code = code.replace(shown, real)
        here = pages.Block(block.language, "", code, block.line)
        printed = pages.run_shell(here, self.folder, self.environment)
        if after is not None and after.language == "text":
            pages.compare(after.code.splitlines(), printed, f"ocpp.md:{block.line}")
        return printed

    async def run(self, begins: str) -> list[str]:
        """Run the next block while a charger answers."""
        return await asyncio.to_thread(self.run_next, begins)


def limit_at(point: Post16, at: datetime) -> float:
    """Limit of a charger by its own clock: the newest that has not ended, else its default."""
    for profile in reversed(point.profiles):
        end = profile.get("valid_to")
        if end is None or at < datetime.fromisoformat(end):
            return limit_of(profile["charging_schedule"])
    raise AssertionError("no profile")


async def follow(reader: Reader, clock: Clock, password: str, code: str) -> Post16:
    """Follow the guide from the address in the charger to the cable, and return the charger."""
    (door,) = [one["address"] for one in clock.running.start if "for charge" in one["message"]]
    async with connected(door, "garage", password, "ocpp1.6") as socket:
        point = Post16("garage", socket)
        listening = asyncio.create_task(listen(point))
        await point.boot()
        (listed,) = json.loads("".join(await reader.run("charger list")))
        assert (listed["model"]["model"], listed["is_connected"]) == ("Post", True)
        (url,) = await reader.run("client create")
        await asyncio.to_thread(allow, url, "garage", code)
        await clock.pass_minutes(1)
        await reader.run("location create")
        await reader.run("smart-charging-policy")
        await point.show("Preparing")
        await point.begin()
        await point.ask(call16.Heartbeat())
        # The plug is seen at once, and the pause is written.
        await clock.pass_minutes(2)
        await reader.run("plan show")
        assert limit_at(point, clock.now) == 0
        await clock.pass_minutes(14)
        assert limit_at(point, clock.now) == 16
        await reader.run("charger show")
        (shown,) = json.loads((reader.folder / "shown.json").read_text())["connectors"]
        limits = shown["limits"]
        assert (limits["default_amps"], limits["composite"]) == (6, "agrees")
        assert limits["written"]["limit"] == {"current_amps": 16}
        listening.cancel()
        await asyncio.wait([listening])
    return point


def test_a_reader_gets_a_plan_and_pulls_the_cable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.toml").write_text(settings_of(tmp_path))
    reader = Reader(tmp_path)
    added = reader.run_next("charger add")
    secrets = dict(line.split(" ") for line in added)
    with serving(tmp_path) as clock:
        monkeypatch.setattr(points, "now", clock.write)
        reader.meet(clock.running)
        point = asyncio.run(follow(reader, clock, **secrets))
        asyncio.run(clock.pass_minutes(5))
        assert limit_at(point, clock.now) == 6
    assert reader.left == []


def test_vehicles_and_site_of_the_guide_go_with_its_settings(tmp_path: Path) -> None:
    (tmp_path / "chargers").mkdir()
    path = tmp_path / "settings.toml"
    for block, name in ((2, "chargers.vehicles"), (3, "sites.garage")):
        settings = settings_of(tmp_path, block)
        assert name in settings
        path.write_text(settings)
        assert run_program("config", "check", "--config", path) == "The settings can be used.\n"
