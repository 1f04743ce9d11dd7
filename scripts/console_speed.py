"""Start of a service with many homes, and times of the console's pages and of lists.

The street of the sandbox is read and planned for on the evening of `make serve`. Its homes are
copied in the database, with readings, policies and plans, and a service starts on all of them.

Usage: ``python scripts/console_speed.py target/dist/slackwater-api [--homes 28000]``
"""

import argparse
import http.client
import os
import sqlite3
import statistics
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

from sandboxes import Asker, Running, listening, spawn

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ("--config", "scenarios/evening.toml", "--clock", "0x", "--welcome")
STREET_HOMES = 20
# Devices are read, planned for, and read again.
STEPS_SECONDS = (300, 300, 300)
ASKED = 9

# Tables of which rows are copied, in the order of their references, with the columns that name
# something of the copy: identifiers, and names that clients and vendors gave.
IDENTIFIERS = {"id", "device_id", "vehicle_id", "location_id", "flex_policy_id"}
NAMES = {"user_id", "vendor_device"}
TABLES = {
    "users": ({"id"}, IDENTIFIERS - {"id"}),
    "connections": (NAMES, IDENTIFIERS),
    "locations": (NAMES, IDENTIFIERS),
    "devices": (NAMES, IDENTIFIERS),
    "tariff_schedules": (NAMES, IDENTIFIERS - {"id"}),
    "smart_charging_policies": (NAMES, IDENTIFIERS),
    "flex_policies": (NAMES, IDENTIFIERS),
    "plans": (NAMES, IDENTIFIERS),
}


@contextmanager
def served(server: Path, database: Path) -> Iterator[Running]:
    """Run a service on a database until the end of the block."""
    with chdir(ROOT):
        process = spawn(server, SETTINGS, {"SLACKWATER_STORE__URL": f"sqlite:{database}"})
    with process:
        running = listening(process, is_welcome=True)
        try:
            yield running
        finally:
            running.end()


def read_street(server: Path, database: Path) -> None:
    """Keep a street whose devices were read and planned for."""
    with served(server, database) as running:
        operator = Asker(running.admin)
        for seconds in STEPS_SECONDS:
            operator.ask("POST", "/sandbox/clock", {"step_seconds": seconds})
        operator.close()


def renamed(value: object, number: int, *, is_name: bool, is_identifier: bool) -> object:
    """What the copy of that number has in the place of a value."""
    if value is None:
        return None
    if is_name:
        return f"{value}-{number}"
    return str(uuid.uuid5(uuid.UUID(str(value)), str(number))) if is_identifier else value


def copy_homes(database: Path, copies: int) -> None:
    """Add copies of all homes, with identifiers of their own."""
    with closing(sqlite3.connect(database)) as connection, connection:
        for table, (names, identifiers) in TABLES.items():
            found = connection.execute(f"select * from {table}")  # noqa: S608  a name of ours
            columns = [column for column, *_ in found.description]
            rows = found.fetchall()
            places = ", ".join("?" for _ in columns)
            added = (
                [
                    renamed(
                        value, number, is_name=column in names, is_identifier=column in identifiers
                    )
                    for column, value in zip(columns, row, strict=True)
                ]
                for number in range(1, copies)
                for row in rows
            )
            connection.executemany(f"insert into {table} values ({places})", added)  # noqa: S608


def memory_mb(running: Running) -> float:
    """What a process has of the memory."""
    pages = int(Path(f"/proc/{running.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def seconds_of(address: str, path: str, token: str = "") -> float:
    """Median time from a request to the end of its answer."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    times = []
    for _ in range(ASKED):
        began = perf_counter()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        times.append(perf_counter() - began)
        if answer.status != http.client.OK:
            raise SystemExit(f"{path}: {answer.status} {content[:200]!r}")
    connection.close()
    return statistics.median(times)


def pages_of(database: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Addresses of pages and of lists."""
    with closing(sqlite3.connect(database)) as connection:
        (client,) = connection.execute("select id from clients").fetchone()
        found = "select id, user_id from devices where vendor_device = 'rosa-car-1'"
        device, user = connection.execute(found).fetchone()
    pages = {
        "overview": "/console",
        "50 homes": f"/console/homes?client={client}&from=m",
        "a home": f"/console/home?client={client}&user={user}",
        "a device with its plan": f"/console/devices/{device}",
        "areas": "/console/areas",
        "an area of 13 homes in 20": "/console/area?zone=NO1&area=oslo-east",
        "vendors": "/console/vendors",
        "50 events": "/console/events",
    }
    lists = {
        "`/users`, 50": "/users?pageSize=50",
        "`/vehicles`, 50": "/vehicles?pageSize=50",
        "`/chargers`, 50": "/chargers?pageSize=50",
        "`/vehicles/{vehicleId}`": f"/vehicles/{device}",
    }
    return pages, lists


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", type=Path)
    parser.add_argument("--homes", type=int, default=28_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "street.db"
        server = given.server.resolve()
        read_street(server, database)
        copy_homes(database, -(-given.homes // STREET_HOMES))
        with closing(sqlite3.connect(database)) as connection:
            counts = [
                connection.execute(f"select count(*) from {table}").fetchone()[0]  # noqa: S608  names of ours
                for table in ("users", "devices", "plans")
            ]
        began = perf_counter()
        with served(server, database) as running:
            started = perf_counter() - began
            pages, lists = pages_of(database)
            rows = {name: seconds_of(running.admin, path) for name, path in pages.items()}
            token = running.token
            rows |= {name: seconds_of(running.base, path, token) for name, path in lists.items()}
            memory = memory_mb(running)
    print("{:,} homes, {:,} devices, {:,} plans\n".format(*counts))
    print("| | |\n|---|---|")
    print(f"| start | {started:.1f} s |\n| memory | {memory:.0f} MB |")
    for name, seconds in rows.items():
        print(f"| {name} | {seconds * 1e3:.1f} ms |")


if __name__ == "__main__":
    main()
