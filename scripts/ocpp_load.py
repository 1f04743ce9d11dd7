"""Thousands of charge points at the service: connections, memory, and the time to a limit.

A service of its own gets charge points of the example ``charge_points`` of ``api/ocpp``, in sites
of ten behind one fuse each. Each charges and sends meter values every ten seconds. The time from
the meter value that shows a rise of the other load of a site to the lower limits of its charge
points is measured three times: while each site rises once a minute, in turn; when all sites rise
within ten seconds, each with its next meter value; and when all rise at one instant. Then the
service is killed and started again.

Usage: ``python scripts/ocpp_load.py FOLDER_OF_PROGRAMS [--points 2000] [--seconds 120]``
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Self

from sandboxes import Json

SIZE = 10
"""Charge points of a site."""

RISE = "meter value in to lower limit out,"
RISES = {
    "wave": "all sites within ten seconds by their meter values",
    "surge": "all sites at one instant",
}
"""Rises of all sites, by the order to the charge points."""

RISE_SECONDS = 20
CALM_SECONDS = 100
"""Time for the lower limits, and until all are as before: the rise ends, and raises wait."""

LIMIT_SECONDS = 120
CLOCK_ERROR_SECONDS = 20
PATIENCE_SECONDS = 600
SPARE_DESCRIPTORS = 512

SETTINGS = """
[store]
url = "sqlite:{folder}/kept.db"

[admin]
listen = "127.0.0.1:0"

[serve]
drain_seconds = 0

[environments.production]
base = {{ listen = "127.0.0.1:0" }}
auth = {{ listen = "127.0.0.1:0" }}
link = {{ listen = "127.0.0.1:0" }}

[environments.production.integrations.chargers]
type = "ocpp"
listen = "{address}"
security_profile = 1
state_folder = "{folder}/chargers"
limit_seconds = {limit_seconds}
"""

SITE = """
[environments.production.integrations.chargers.sites.site{number}]
fuse_amps = 100
base_amps = 40
base_meter = {{ charger = "CP-{first}" }}
clock_error_seconds = {clock_error}
probe = false
chargers = {{ {chargers} }}
"""


def main() -> int:
    """Measure, and print the figures."""
    arguments = parsed()
    needed = arguments.points + SPARE_DESCRIPTORS
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if needed > most:
        print(f"{arguments.points} charge points need {needed} file descriptors of {most}")
        return 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for line in measured(arguments, Path(folder)):
            print(line, flush=True)
    return 0


def parsed() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", type=Path, help="folder of slackwater-api, such as target/dist")
    parser.add_argument("--points", type=int, default=2000, help="charge points, in tens")
    parser.add_argument("--seconds", type=int, default=120, help="time that is measured")
    parser.add_argument("--folder", type=Path, help="folder for the files, on the disk to measure")
    return parser.parse_args()


def measured(arguments: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Lines with figures, as they come."""
    sites, points = arguments.points // SIZE, arguments.points // SIZE * SIZE
    (folder / "chargers").mkdir()
    generator = arguments.programs / "examples/charge_points"
    prepare = [generator, "prepare", folder / "chargers", str(sites), str(SIZE)]
    password = json.loads(subprocess.check_output(prepare))["password"]
    address = f"127.0.0.1:{free_port()}"
    settings = SETTINGS.format(folder=folder, address=address, limit_seconds=LIMIT_SECONDS)
    yield f"{points} charge points in {sites} sites; load of the machine {os.getloadavg()[0]:.1f}"

    with Service(arguments.programs, folder, settings, address) as service:
        empty = service.memory()
    settings += "".join(site(number) for number in range(sites))
    run = [generator, "run", address, str(sites), str(SIZE), password]
    service = Service(arguments.programs, folder, settings, address)
    with service, generated(run) as ask:
        began = perf_counter()
        wait_until(lambda: ask("state")["connected"] == points)
        yield f"connected within {perf_counter() - began:.1f} s"
        # Limits of an earlier service would hold until then: nothing is raised before.
        sleep(LIMIT_SECONDS + CLOCK_ERROR_SECONDS + 60)
        ask("times")
        spent, answered, began = service.processor(), ask("state")["answered"], perf_counter()
        sleep(arguments.seconds)
        took = perf_counter() - began
        times, state = ask("times"), ask("state")
        share = (service.processor() - spent) / took
        yield f"meter values per second: {(state['answered'] - answered) / took:.0f}"
        yield f"cores of the service: {share:.2f}; load of the machine {os.getloadavg()[0]:.1f}"
        yield f"meter value in to its answer: {shown(times['answer'])}"
        yield f"{RISE} each site once a minute, {limits_of(times)}"
        each = (service.memory() - empty) / points
        yield f"memory per charge point: {each / 1000:.1f} kB over {empty / 1e6:.0f} MB"
        for order, name in RISES.items():
            yield f"{RISE} {name}, {limits_of(rise(ask, order))}"
        each = (service.memory() - empty) / points
        yield f"memory per charge point after these rises: {each / 1000:.1f} kB"
        service.kill()
        wait_until(lambda: ask("state")["connected"] == 0)
        began = perf_counter()
        service.start()
        wait_until(lambda: ask("state")["connected"] == points)
        yield f"all connected again {perf_counter() - began:.1f} s after a start"


def site(number: int) -> str:
    """Settings of a site."""
    first = number * SIZE
    chargers = ", ".join(f"CP-{first + place} = {{}}" for place in range(SIZE))
    return SITE.format(
        number=number, first=first, chargers=chargers, clock_error=CLOCK_ERROR_SECONDS
    )


def rise(ask: Callable[[str], Json], order: str) -> Json:
    """Times of the limits that follow a rise of all sites."""
    sleep(CALM_SECONDS)
    ask("times")
    ask(order)
    sleep(RISE_SECONDS)
    return ask("times")


def limits_of(times: Json) -> str:
    """Times of limits, and how close together their causes were."""
    rises, most = times["rises"], times["rises_of_busiest_second"]
    return f"{rises} rises, {most} in the busiest second: {shown(times['limit'])}"


def shown(times: Json) -> str:
    """Quantiles in one line."""
    if not times["count"]:
        return "none"
    return (
        f"p50 {times['p50_ms']:.1f} ms, p99 {times['p99_ms']:.1f} ms, "
        f"longest {times['max_ms']:.1f} ms of {times['count']}"
    )


class Service:
    """The service as a process, on the same address and files each time."""

    def __init__(self, programs: Path, folder: Path, settings: str, address: str) -> None:
        """Write the settings."""
        self.file = folder / "settings.toml"
        self.file.write_text(settings)
        self.program, self.log, self.address = programs / "slackwater-api", folder / "log", address

    def start(self) -> None:
        """Start it, and wait until it listens for charge points."""
        command = [str(self.program), "serve", "--config", str(self.file), "--log", "warn"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stderr=log)
        wait_until(lambda: listens(self.address))

    def kill(self) -> None:
        """End it without a last word."""
        self.process.kill()
        self.process.wait()

    def memory(self) -> int:
        """Memory in use, in bytes."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(text.split()[1]) * resource.getpagesize()

    def processor(self) -> float:
        """Time of processors that it has used, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.kill()


@contextmanager
def generated(command: list[str | Path]) -> Iterator[Callable[[str], Json]]:
    """Charge points as a process, and how to ask it."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:

        def ask(line: str) -> Json:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the charge points have no pipes")
            print(line, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        try:
            yield ask
        finally:
            process.kill()


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def listens(address: str) -> bool:
    """Tell whether somebody listens."""
    host, _, port = address.partition(":")
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


def wait_until(holds: Callable[[], bool]) -> None:
    """Ask ten times a second until something holds."""
    began = perf_counter()
    while not holds():
        if perf_counter() - began > PATIENCE_SECONDS:
            sys.exit(f"this took more than {PATIENCE_SECONDS} s")
        sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
