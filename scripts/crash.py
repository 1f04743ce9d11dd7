"""Fails the disk and the process under a service at chosen places, and looks what is left.

The server keeps its rows in SQLite. Nothing that was acknowledged is lost and nothing is half made
when the machine fails with writes that no sync covers, and when the process is killed at a write,
a sync or an answer. A log whose end is cut or flipped is read up to there. While writes fail the
service says so, answers reads, and writes again as soon as the disk does. It needs strace.

Usage: ``python scripts/crash.py target/debug/slackwater-api [--states 2000] [--kills 100]``
"""

import argparse
import http.client
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crash_disk import Disk, Files, place
from crash_trace import ANSWER, NoStraceError, attached, failing, killing, recorded, recording
from kills import GONE, Trial, writers
from kills_control import Commands, state_of
from kills_store import Events, flaws
from kills_writers import Doors, RefusedError, Register, Writer
from sandboxes import Asker, NotStartedError, Running, spawn, uuid_of

# Calls at which the process is killed: it has written, synced or answered, or has not.
KILLED_AT = ("pwrite64", "fdatasync", *ANSWER)
# Calls in a round of a record, at most: a kill falls into the round.
CALLS_MAX = 120
FAILURES = [
    ("pwrite64", "ENOSPC"),
    ("pwrite64", "EIO"),
    ("fdatasync", "EIO"),
    ("pwrite64", "EROFS"),
]
# Bytes at the end of the log that are cut off and flipped.
TAIL = 4096
# Writes after which a disk that is well again must be written to.
RECOVERY_WRITES = 3
SMALL_MB = 16
# Folders of the system in which nobody makes files, root neither.
UNWRITABLE = ("/proc/crash.db", "/sys/crash.db", "/nowhere/crash.db")
# Chargers whose current is set.
MOVED = [uuid_of("hana-charger"), uuid_of("june-charger")]
MEMORY = Path("/dev/shm")  # noqa: S108


@dataclass(frozen=True)
class Promise:
    """An acknowledged write: what it was, in the order of the answers."""

    writer: Writer
    value: Any


def promises(trial: Trial, doors: Doors, count: int) -> list[Promise]:
    """Writes one after the other, by all writers with one request for each."""
    every = [each for each in trial.writers if isinstance(each, Register | Commands)]
    made = []
    for number in range(count):
        writer = every[number % len(every)]
        before = len(writer.promised) if isinstance(writer, Commands) else 0
        writer.write(doors, trial.rng)
        if isinstance(writer, Register):
            made.append(Promise(writer, writer.promised))
        elif len(writer.promised) > before:
            # Else the device has that current already, and the answer is no success.
            made.append(Promise(writer, writer.promised[-1]))
    return made


@dataclass
class Watched(Trial):
    """A trial that knows its last process."""

    last: subprocess.Popen[str] | None = None

    def spawn(self) -> subprocess.Popen[str]:
        """The server on this database."""
        self.last = super().spawn()
        return self.last


@contextmanager
def street(server: str, folder: Path, seed: int) -> Iterator[tuple[Trial, Running]]:
    """A service with a street, on a file of its own. No process is left when the block ends."""
    folder.mkdir(exist_ok=True)
    trial = Watched(server, folder / "crash.db", random.Random(seed), writers())
    try:
        running = trial.begin()
        wait_for_polls(running)
        yield trial, running
    finally:
        if trial.last is not None:
            trial.last.kill()
            trial.last.communicate()


def wait_for_polls(running: Running) -> None:
    """Wait until all chargers were polled, before which nobody knows what they can do."""
    asker = Asker(running.base, running.token)
    while any(
        not charger["capabilities"]["setMaxCurrent"]["isCapable"]
        for charger in asker.ask("GET", "/chargers?pageSize=50")[1]["data"]
        if charger["id"] in MOVED
    ):
        pass
    asker.close()


def end(running: Running) -> None:
    """Kill a server."""
    running.process.kill()
    running.process.wait()


def files_of(database: Path) -> Files:
    """The files as they are; a log that is not there is empty."""
    log = database.with_name(f"{database.name}-wal")
    return {"": database.read_bytes(), "-wal": log.read_bytes() if log.exists() else b""}


# ------------------------------------------------------- failures of the machine


def power(server: str, folder: Path, count: int, seed: int) -> Iterator[str]:
    """Contents of the disk after failures of the machine, made from a record of the writes."""
    with street(server, folder, seed) as (trial, running):
        doors, trace = Doors(running, trial.client_id), folder / "trace"
        must_write(trial, doors)
        with attached(running.process.pid, *recording(trace)) as strace:
            # What is written from here on is recorded, and done again to this.
            before = files_of(trial.file)
            made = promises(trial, doors, CALLS_MAX)
            doors.close()
            running.end()
            strace.wait()
        calls = recorded(trace)
        answers = [call.began for call in calls if call.is_success]
        if len(answers) != len(made):
            yield f"power: {len(made)} writes were acknowledged, {len(answers)} answers recorded"
            return
        disk = Disk.of(trial.file, before, calls)
        rng = random.Random(seed)
        instants = sorted(
            {at for call in disk.calls for at in (call.began, call.ended)} | set(answers)
        )
        copy = folder / "state" / "crash.db"
        copy.parent.mkdir()
        for number in range(count):
            at = instants[number * len(instants) // count]
            # The least that the disk may have, or anything.
            place(copy, disk.contents(at, None if number % 3 == 0 else rng))
            acknowledged = sum(answer <= at for answer in answers)
            yield from (
                f"power, state {number}: {flaw}" for flaw in lost(copy, made[:acknowledged], made)
            )
        syncs = sum(call.name != "pwrite64" for call in disk.calls)
        print(
            f"power: {count} contents at {len(instants)} instants of"
            f" {len(disk.calls) - syncs} writes and {syncs} syncs; {len(made)} acknowledged"
        )
        place(trial.file, disk.contents(instants[-1], None))
        yield from restart_and_look(trial, "power")


def must_write(trial: Trial, doors: Doors) -> None:
    """Let each writer write, so that all rows are there."""
    for writer in trial.writers:
        writer.write(doors, trial.rng)


def lost(database: Path, acknowledged: list[Promise], made: list[Promise]) -> Iterator[str]:
    """What is not whole in a file, or not there though it was acknowledged."""
    store = sqlite3.connect(database, isolation_level=None)
    try:
        yield from flaws(store, Events(), [])
        last = {promise.writer: number for number, promise in enumerate(acknowledged)}
        for number, promise in enumerate(acknowledged):
            if isinstance(promise.writer, Commands):
                if state_of(store, promise.value) is None:
                    yield f"{promise.writer.name}: {promise.value} is lost"
            elif isinstance(promise.writer, Register) and last[promise.writer] == number:
                # A later write may be there before its answer.
                later = [p.value for p in made[number:] if p.writer is promise.writer]
                if (kept := promise.writer.kept(store)) not in later:
                    yield f"{promise.writer.name}: kept is {kept}, acknowledged {promise.value}"
    except sqlite3.DatabaseError as error:
        yield f"the file: {error}"
    finally:
        store.close()


def restart_and_look(trial: Trial, what: str) -> Iterator[str]:
    """Whether a service starts on the files that are left, and shows what it promised."""
    trial.events = Events()
    running = trial.restart()
    try:
        yield from (f"{what}: {flaw}" for flaw in [*trial.look(running), *running.errors])
    finally:
        end(running)


# -------------------------------------------------------------- kills at a call


def kills(server: str, folder: Path, count: int, seed: int) -> Iterator[str]:
    """A process killed as it begins a write, a sync or an answer."""
    with street(server, folder, seed) as (trial, first):
        running = first
        died: dict[str, int] = dict.fromkeys(KILLED_AT, 0)
        for number in range(count):
            call, when = KILLED_AT[number % len(KILLED_AT)], trial.rng.randint(1, CALLS_MAX)
            with attached(running.process.pid, *killing(call, when)):
                trial_writes(trial, running)
            is_dead = running.process.poll() is not None
            end(running)
            died[call] += is_dead
            running = trial.restart()
            found = [*trial.look(running), *running.errors]
            yield from (f"kill {number} at {call} {when}: {flaw}" for flaw in found)
        end(running)
        told = ", ".join(f"{count} at {call}" for call, count in died.items() if count)
        print(f"kills: {told}")
        if count and not any(died.values()):
            yield "kills: no process was killed"


def trial_writes(trial: Trial, running: Running) -> None:
    """Writes of all writers in turn, until the process is gone or has had its calls."""
    doors = Doors(running, trial.client_id)
    try:
        for number in range(CALLS_MAX):
            trial.writers[number % len(trial.writers)].write(doors, trial.rng)
    except GONE:
        pass
    finally:
        doors.close()


# ------------------------------------------------------------ disks that refuse


def refusals(server: str, folder: Path, seed: int) -> Iterator[str]:
    """Writes and syncs that fail, and then succeed again."""
    with street(server, folder, seed) as (trial, running):
        doors = Doors(running, trial.client_id)
        must_write(trial, doors)
        told = []
        for call, error in FAILURES:
            what = f"{call} {error}"
            with attached(running.process.pid, *failing(call, error)) as strace:
                refused = 0
                for writer in trial.writers:
                    try:
                        writer.write(doors, trial.rng)
                    except RefusedError as answer:
                        refused += 1
                        if not str(answer).startswith("503"):
                            yield f"{what}: {writer.name} was refused with {answer}"
                yield from (f"{what}: {flaw}" for flaw in while_it_fails(running))
                strace.terminate()
                strace.wait()
            if not refused:
                yield f"{what}: no write was refused"
            told.append(f"{refused} of {len(trial.writers)} at {what}")
            yield from (f"after {what}: {flaw}" for flaw in recovered(trial, running, doors))
        doors.close()
        end(running)
        print(f"refusals: {', '.join(told)}")
        yield from restart_and_look(trial, "after refusals")


def while_it_fails(running: Running) -> Iterator[str]:
    """Answers of a service that cannot write: reads are made, writes say when to come again."""
    limit = f"/chargers/{uuid_of('gus-charger')}/charge-rate-limit"
    for method, path, body, expected in [
        ("GET", "/chargers", None, 200),
        ("POST", limit, '{"chargeRateLimit": 5.0}', 503),
    ]:
        connection = http.client.HTTPConnection(urlsplit(running.base).netloc, timeout=30)
        headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = json.loads(answer.read())
        connection.close()
        if answer.status != expected:
            yield f"{method} {path}: {answer.status} {content}"
        elif expected == 503 and not (answer.headers["Retry-After"] or "").isdigit():
            yield f"{method} {path}: 503 without Retry-After"


def recovered(trial: Trial, running: Running, doors: Doors) -> Iterator[str]:
    """Whether a service writes again after a failure, and shows what it kept."""
    for attempt in range(RECOVERY_WRITES):
        status, _ = doors.base.ask("PUT", "/tariffs/other", [{"name": "low", "cost": f"{attempt}"}])
        if status < 300:
            break
    else:
        yield f"{RECOVERY_WRITES} writes were refused"
    yield from trial.look(running)
    must_write(trial, doors)
    yield from trial.look(running)


def full_disk(server: str, folder: Path, seed: int) -> Iterator[str]:
    """A file system that is full, and then has room again."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_MB}m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        print("full disk: left out, because nothing can be mounted here")
        return
    try:
        with street(server, folder, seed) as (trial, running):
            yield from fill(trial, running, folder)
    finally:
        subprocess.run(["umount", str(folder)], check=False)  # noqa: S607


def fill(trial: Trial, running: Running, folder: Path) -> Iterator[str]:
    """Fills the folder of a database, and makes room again."""
    doors = Doors(running, trial.client_id)
    must_write(trial, doors)
    # The last of it does not fit, which is what it is for.
    with suppress(OSError):
        (folder / "filler").write_bytes(bytes(shutil.disk_usage(folder).total))
    refused = sum(not is_written(writer, doors, trial) for writer in trial.writers)
    if not refused:
        yield "full disk: no write was refused"
    (folder / "filler").unlink()
    yield from (f"full disk: {flaw}" for flaw in recovered(trial, running, doors))
    doors.close()
    end(running)
    print(f"full disk: {refused} of {len(trial.writers)} writes refused")
    yield from restart_and_look(trial, "after a full disk")


def is_written(writer: Writer, doors: Doors, trial: Trial) -> bool:
    """Whether a write was not refused."""
    try:
        writer.write(doors, trial.rng)
    except RefusedError:
        return False
    return True


def unwritable(server: str) -> Iterator[str]:
    """A database where no file can be made: one line, and an exit that says so."""
    for place_of in UNWRITABLE:
        url = {"SLACKWATER_STORE__URL": f"sqlite:{place_of}"}
        process = spawn(server, [], url)
        _, err = process.communicate(timeout=60)
        lines = [line for line in err.splitlines() if not line.startswith("{")]
        if process.returncode == 0 or len(lines) != 1 or place_of not in lines[0]:
            yield f"unwritable {place_of}: {process.returncode} {err}"


# ---------------------------------------------------------------- damaged logs


def torn(server: str, folder: Path, count: int, seed: int) -> Iterator[str]:
    """The log of a killed process, cut or with a flipped bit near its end."""
    with street(server, folder, seed) as (trial, first):
        doors = Doors(first, trial.client_id)
        must_write(trial, doors)
        made = promises(trial, doors, CALLS_MAX)
        doors.close()
        end(first)
        files, rng = files_of(trial.file), random.Random(seed)
        log = files["-wal"]
        copy = folder / "state" / "crash.db"
        copy.parent.mkdir()
        for number in range(count):
            offset = rng.randrange(max(0, len(log) - TAIL), len(log))
            damaged = bytearray(log[:offset]) if number % 2 else bytearray(log)
            if number % 2 == 0:
                damaged[offset] ^= 1 << rng.randrange(8)
            place(copy, {"": files[""], "-wal": bytes(damaged)})
            yield from (f"torn, {offset}: {flaw}" for flaw in lost(copy, [], made))
        print(f"torn: {count} logs of {len(log)} bytes with damage in the last {TAIL}")
        # A whole service starts on the last of them.
        place(trial.file, files_of(copy))
        running = trial.restart()
        yield from (f"torn: {flaw}" for flaw in running.errors)


def main() -> int:
    """Runs all attacks and says what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", help="the binary")
    parser.add_argument("--states", type=int, default=2000, help="contents of a failed disk")
    parser.add_argument("--kills", type=int, default=100, help="kills at a call")
    parser.add_argument("--torn", type=int, default=2000, help="logs with damage")
    parser.add_argument("--seed", type=int, default=1, help="where the choices come from")
    arguments = parser.parse_args()
    server, seed, found = arguments.server, arguments.seed, list[str]()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        try:
            found += power(server, folder / "power", arguments.states, seed)
            found += kills(server, folder / "kills", arguments.kills, seed)
            found += refusals(server, folder / "refusals", seed)
            found += full_disk(server, folder / "full", seed)
            found += torn(server, folder / "torn", arguments.torn, seed)
            found += unwritable(server)
        except (NoStraceError, NotStartedError, RefusedError) as error:
            found.append(str(error))
    for flaw in found:
        print(flaw, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
