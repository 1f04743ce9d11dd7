"""Kills a service at random instants while sixteen clients write, and looks what is left.

The server keeps its rows in SQLite. After each restart nothing that was
acknowledged is lost, nothing is half made, and each transition has its events
exactly once. The instants come from the seed; where they fall depends on the
machine.

Usage: ``python scripts/kills.py target/debug/slackwater-api [--rounds 200]``
"""

import argparse
import http.client
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from kills_control import Cancels, Commands, Overrides, Schedules
from kills_store import Events, flaws, opened
from kills_writers import (
    BEGIN,
    ChargerMember,
    Doors,
    FlexDay,
    RefusedError,
    Signal,
    Tariff,
    TariffTimes,
    Writer,
)
from sandboxes import STREET, NotStartedError, Running, listening, spawn

# Acknowledged writes before a kill, at most.
WRITES_MAX = 150
# The last of it is chance between two instructions.
DELAY_MAX_SECONDS = 0.02
# In one of so many restarts the service is killed while it starts, too.
START_KILLS = 8
# In time of the sandbox. Tokens are good for an hour of it.
STEP_MAX_SECONDS = 20
STEPS_MAX = 150

# What a connection to a process that was killed says.
GONE = (OSError, http.client.HTTPException, ValueError)


def writers() -> list[Writer]:
    """Sixteen, some of them on the same things."""
    rates = ["low", "peak", "standard"]
    return [
        Signal("NO1", "NOK", "oslo-east"),
        Signal("GB", "GBP", "bristol"),
        Signal("NO1", "NOK", "nobody-lives-here"),
        Tariff("octave", rates),
        TariffTimes("nora-home", "octave", rates),
        ChargerMember("gus-charger", "deadline", "deadline"),
        ChargerMember("gus-charger", "chargingDuration", "charging_duration"),
        FlexDay("ada-car-flex", "monday"),
        FlexDay("ada-car-flex", "tuesday"),
        FlexDay("bo-car-flex", "friday"),
        Commands("hana-charger", 1),
        Commands("hana-charger", 2),
        Cancels("june-charger"),
        Overrides("mo-charger"),
        Schedules("ada", "ada-charger"),
        Schedules("bo", "bo-charger"),
    ]


class Tally:
    """Acknowledged writes of a round, and what was refused."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0
        self.flaws: list[str] = []
        self.is_over = False

    def add(self, flaw: str | None = None) -> None:
        """One more."""
        with self._changed:
            self.count += 1
            self.flaws += [flaw] if flaw else []
            self._changed.notify_all()

    def reaches(self, count: int) -> None:
        """Waits for so many, or for the first refusal."""
        with self._changed:
            self._changed.wait_for(lambda: self.count >= count or self.flaws)


def write(writer: Writer, doors: Doors, rng: random.Random, tally: Tally) -> None:
    """Writes until the service is gone."""
    while not tally.is_over:
        try:
            writer.write(doors, rng)
        except RefusedError as refused:
            tally.add(f"{writer.name} was refused: {refused}")
            return
        except GONE:
            return
        tally.add()


@dataclass
class Trial:
    """A database, and everything that was promised about it."""

    server: str
    file: Path
    rng: random.Random
    writers: list[Writer]
    events: Events = field(default_factory=Events)
    # The sandbox's clock, at least.
    seconds: float = 0.0
    acknowledged: int = 0
    start_kills: int = 0
    restarts: list[float] = field(default_factory=list)
    client_id: str = ""

    def spawn(self) -> subprocess.Popen[str]:
        """The server on this database, from where its clock was."""
        settings = {
            "SLACKWATER_STORE__URL": f"sqlite:{self.file}",
            "SLACKWATER_SANDBOX__START": (BEGIN + timedelta(seconds=self.seconds)).isoformat(),
        }
        return spawn(self.server, [*STREET, "--clock", "0x"], settings)

    def begin(self) -> Running:
        """The first start, which makes the database."""
        running = listening(self.spawn(), is_welcome=True)
        store = opened(self.file)
        (self.client_id,) = store.execute("select id from clients").fetchone()
        store.close()
        return running

    def restart(self) -> Running:
        """The start after a kill, measured until the service is ready."""
        if self.restarts and self.rng.randrange(START_KILLS) == 0:
            self.kill_start()
        begun = time.monotonic()
        running = listening(self.spawn(), is_welcome=True)
        doors = Doors(running, self.client_id)
        status, body = doors.base.ask("GET", "/health/ready")
        self.restarts.append(time.monotonic() - begun)
        doors.close()
        if status != 200:
            raise NotStartedError(f"the server is not ready: {body}")
        return running

    def kill_start(self) -> None:
        """A start that is killed before the service is ready, most likely."""
        self.start_kills += 1
        process = self.spawn()
        time.sleep(self.rng.random() * statistics.median(self.restarts))
        process.kill()
        process.communicate()

    def step(self, doors: Doors, rng: random.Random, tally: Tally) -> None:
        """Puts the clock forward now and then, so that things happen by themselves."""
        for _ in range(STEPS_MAX):
            seconds = rng.uniform(1, STEP_MAX_SECONDS)
            # Counted before it is done: no clock goes back.
            self.seconds += seconds
            try:
                doors.admin.ask("POST", "/sandbox/clock", {"step_seconds": seconds})
            except GONE:
                return
            if tally.is_over:
                return

    def round(self, running: Running, number: int) -> list[str]:
        """Writes, kill."""
        tally = Tally()
        every = [Doors(running, self.client_id) for _ in range(len(self.writers) + 1)]
        threads = [
            threading.Thread(
                target=write,
                args=(writer, doors, random.Random(f"{number} {writer.name}"), tally),
            )
            for writer, doors in zip(self.writers, every, strict=False)
        ]
        clock = (every[-1], random.Random(f"{number} clock"), tally)
        threads.append(threading.Thread(target=self.step, args=clock))
        for thread in threads:
            thread.start()
        tally.reaches(self.rng.randint(1, WRITES_MAX))
        time.sleep(self.rng.random() * DELAY_MAX_SECONDS)
        running.process.kill()
        tally.is_over = True
        for thread in threads:
            thread.join()
        running.process.wait()
        for doors in every:
            doors.close()
        self.acknowledged += tally.count
        return tally.flaws + running.errors

    def look(self, running: Running) -> list[str]:
        """What is not as it was promised."""
        doors = Doors(running, self.client_id)
        store = opened(self.file)
        found = [flaw for writer in self.writers for flaw in writer.check(doors, store)]
        days = [writer for writer in self.writers if isinstance(writer, FlexDay)]
        found += flaws(store, self.events, days)
        store.close()
        doors.close()
        return found


def run(trial: Trial, rounds: int) -> list[str]:
    """All rounds, or those up to the first that shows a flaw."""
    running = trial.begin()
    found: list[str] = []
    try:
        for number in range(rounds):
            found = trial.round(running, number)
            running = trial.restart()
            found += trial.look(running)
            if found:
                return [f"round {number}: {flaw}" for flaw in found]
            if (number + 1) % 20 == 0:
                print(f"{number + 1} kills, {trial.acknowledged} writes acknowledged", flush=True)
        # All events again, the old ones, too.
        trial.events = Events()
        return trial.look(running)
    finally:
        running.process.kill()
        running.process.wait()


def main() -> int:
    """Runs the rounds and says what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", help="the binary")
    parser.add_argument("--rounds", type=int, default=200, help="kills")
    parser.add_argument("--seed", type=int, default=1, help="where the instants come from")
    parser.add_argument("--restart-max", type=float, help="seconds that a restart may take")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(arguments.seed)
        trial = Trial(arguments.server, Path(folder) / "kills.db", rng, writers())
        found = run(trial, arguments.rounds)
    worst = max(trial.restarts, default=0.0)
    print(
        f"seed {arguments.seed}: {len(trial.restarts)} kills under {len(trial.writers)} writers"
        f" and {trial.start_kills} of starts; {trial.acknowledged} writes acknowledged,"
        f" {trial.events.last} events, {len(trial.events.of_action)} actions"
    )
    if trial.restarts:
        median = statistics.median(trial.restarts)
        print(f"restart: median {median:.2f} s, worst {worst:.2f} s")
    if arguments.restart_max is not None and worst > arguments.restart_max:
        found.append(f"a restart took {worst:.2f} s")
    for flaw in found:
        print(flaw, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
