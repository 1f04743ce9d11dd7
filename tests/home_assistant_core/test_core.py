"""A home of the sandbox in Home Assistant itself, which finds it at the broker."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from broker import PASSWORD, PATIENCE, USER, Broker, free_port, running
from test_bridge import serving

CORE = Path(__file__).parent / "core.py"


class Core:
    """Home Assistant as a process that takes orders."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Wait until it has started and is connected."""
        self.process = process
        self.version: str = self.read()

    def read(self) -> Any:
        """Read the next answer."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "Home Assistant has ended"
        return json.loads(line)

    def order(self, *order: str) -> Any:
        """Give an order and return the answer."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self.read()

    def until(self, holds: Callable[[Any], Any]) -> Any:
        """Ask for the states until they hold, and return them."""
        end = time.monotonic() + PATIENCE
        while True:
            states = self.order("states")
            if holds(states):
                return states
            assert time.monotonic() < end, states


@contextmanager
def home_assistant(folder: Path, broker: Broker) -> Iterator[Core]:
    """Run Home Assistant, with the broker added to it."""
    folder.mkdir()
    (folder / "configuration.yaml").touch()
    account = {"broker": "127.0.0.1", "port": broker.port, "username": USER, "password": PASSWORD}
    command = [
        os.environ["HOME_ASSISTANT"],
        "-I",
        str(CORE),
        str(folder),
        str(free_port()),
        json.dumps(account),
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Core(process)
        finally:
            process.kill()


def test_home_assistant_finds_the_car_and_has_it_charge(tmp_path: Path) -> None:
    with (
        running(tmp_path / "broker") as broker,
        serving(tmp_path / "service", broker) as service,
        home_assistant(tmp_path / "core", broker) as core,
    ):
        name = "fjord_skagen"
        switch = f"switch.{name}_charge_now"
        states = core.until(lambda all_of: all_of.get(switch, {}).get("state") == "off")
        plan = states[f"sensor.{name}_plan"]
        assert plan["state"] == "waiting"
        assert plan["currency"] == "NOK"
        assert plan["next_start"] == "2026-01-14T21:00:00Z"
        assert plan["periods"][0]["start"] == plan["next_start"]
        assert states[f"sensor.{name}_next_start"]["state"] == "2026-01-14T21:00:00+00:00"
        assert states[f"sensor.{name}_reason"]["state"] == plan["reasons"][0]
        energy, cost = (states[f"sensor.{name}_planned_{of}"] for of in ("energy", "cost"))
        assert (energy["unit_of_measurement"], energy["device_class"]) == ("kWh", "energy")
        assert (cost["unit_of_measurement"], cost["device_class"]) == ("NOK", "monetary")
        assert float(energy["state"]) > 20
        core.order("call", "switch", "turn_on", switch)
        states = core.until(lambda all_of: all_of[switch]["state"] == "on")
        assert states[f"sensor.{name}_plan"]["state"] == "override"
        core.order("call", "switch", "turn_off", switch)
        core.until(lambda all_of: all_of[switch]["state"] == "off")
        service.process.kill()
        core.until(lambda all_of: all_of[f"sensor.{name}_plan"]["state"] == "unavailable")
