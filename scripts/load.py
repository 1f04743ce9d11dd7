"""Loads a sandbox for an hour, then with four times as many connections, and judges it.

The server runs the street on free ports, its clock sixty times as fast as time, so that devices
are polled, planned for and commanded beside the requests. Each connection sends one request after
the other, of a mix of reads and writes. In the first part no answer may be other than expected,
memory may not grow by more than 5 % from the first quarter after a warm-up to the last, nor the
number of file descriptors.
In the second part requests may be refused by 429 or 503, each with ``Retry-After``, and by nothing
else. Within five seconds after it the first part's connections are answered as before.

Usage: ``python scripts/load.py target/debug/slackwater-api [--minutes 60] [--connections 64]``
"""

import argparse
import asyncio
import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sandboxes import Asker, Running, listening, spawn, uuid_of

OVERLOAD = 4
OVERLOAD_SECONDS = 20
RECOVERY_SECONDS_MAX = 5
GROWTH_MAX_PERCENT = 5
DESCRIPTORS_MORE_MAX = 4
"""A connection to the database is opened when it is first needed."""
SAMPLES = 40
"""Looks at memory and descriptors of the process."""
TOKEN_SECONDS = 1800
"""After so long another token is fetched; one is good for an hour."""
REFUSALS = (429, 503)
QUEUE = "too many changes wait for the database"
"""In errors of the log that an overload may have: the change is tried again, or refused by 503."""
SHARE = 2
"""Requests that the service takes at once, as a multiple of the connections of the first part. A
client has three quarters of them: more than the first part needs, and less than the second."""

CHARGERS = [uuid_of(f"{name}-charger") for name in ("hana", "gus", "mo", "june", "bo")]
CAR = uuid_of("ada-car")

Body = Any
Kind = Callable[[random.Random], tuple[str, str, Body]]


def charger(rng: random.Random) -> str:
    """One of the chargers."""
    return rng.choice(CHARGERS)


def tariff(rng: random.Random) -> Body:
    """Rates that differ each time."""
    names = ("low", "peak", "standard")
    return [{"name": name, "cost": f"{rng.random():.6f}"} for name in names]


MIX: dict[str, tuple[int, tuple[int, ...], Kind]] = {
    "charger": (30, (200,), lambda rng: ("GET", f"/chargers/{charger(rng)}", None)),
    "vehicle": (15, (200,), lambda _: ("GET", f"/vehicles/{CAR}", None)),
    "page of chargers": (15, (200,), lambda _: ("GET", "/chargers?pageSize=20", None)),
    "page of users": (5, (200,), lambda _: ("GET", "/users?pageSize=20", None)),
    "unknown": (2, (404,), lambda _: ("GET", f"/chargers/{uuid_of('nobody')}", None)),
    # 400: the charger has that current already.
    "command": (
        12,
        (200, 400),
        lambda rng: (
            "POST",
            f"/chargers/{charger(rng)}/max-current",
            {"maxCurrent": rng.randint(6, 16)},
        ),
    ),
    "tariff": (10, (204,), lambda rng: ("PUT", "/tariffs/octave", tariff(rng))),
    "policy": (
        6,
        (200,),
        lambda rng: (
            "PUT",
            f"/chargers/{charger(rng)}/smart-charging-policy",
            {"deadline": f"{rng.randint(0, 23):02}:00"},
        ),
    ),
    "hint": (5, (204,), lambda rng: ("POST", f"/chargers/{charger(rng)}/refresh-hint", None)),
}
"""Kinds of request: how many in a hundred, the statuses that are fine, and the request."""


@dataclass
class Answer:
    """An answer, as far as it is judged."""

    kind: str
    status: int
    retry_after: str
    seconds: float
    at: float


@dataclass
class Part:
    """Answers of a part of the run."""

    seconds: float
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    flaws: Counter[str] = field(default_factory=Counter)
    refusals: int = 0
    last_refusal: float = 0.0

    def add(self, answer: Answer, *, may_refuse: bool) -> None:
        """Count an answer, and say what is wrong with it."""
        self.answers[answer.kind, answer.status] += 1
        self.times.append(answer.seconds)
        if answer.status in REFUSALS:
            self.refusals += 1
            self.last_refusal = answer.at
            if not answer.retry_after:
                self.flaws[f"{answer.kind}: {answer.status} without Retry-After"] += 1
            if may_refuse:
                return
        if answer.status not in MIX[answer.kind][1]:
            self.flaws[f"{answer.kind}: {answer.status}"] += 1

    def quantile_ms(self, share: float) -> float:
        """Time of an answer that this share is below, in milliseconds."""
        times = sorted(self.times)
        return 1e3 * times[min(int(share * len(times)), len(times) - 1)] if times else 0.0

    def line(self, name: str) -> str:
        """The part in a line."""
        return (
            f"{name}: {len(self.times)} answers in {self.seconds:.0f} s"
            f" ({len(self.times) / self.seconds:.0f}/s), median {self.quantile_ms(0.5):.1f} ms,"
            f" p99 {self.quantile_ms(0.99):.1f} ms, {self.refusals} refused,"
            f" {sum(self.flaws.values())} wrong"
        )


class Load:
    """A server under load."""

    def __init__(self, running: Running, client: dict[str, str]) -> None:
        self.running = running
        address = urlsplit(running.base)
        self.host, self.port = str(address.hostname), int(address.port or 80)
        self.client = client
        self.token, self.issued_at = "", -float("inf")

    def refresh_token(self) -> None:
        """Fetch a token if the one there is has become old."""
        if time.monotonic() - self.issued_at < TOKEN_SECONDS:
            return
        secret = f"{self.client['client_id']}:{self.client['client_secret']}".encode()
        headers = {
            "Authorization": f"Basic {base64.b64encode(secret).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        asker = Asker(self.running.auth)
        status, body = asker.ask("POST", "/oauth2/token", "grant_type=client_credentials", headers)
        asker.close()
        if status != 200:
            raise RuntimeError(f"no token: {status} {body}")
        self.token, self.issued_at = body["access_token"], time.monotonic()

    def request(self, kind: str, rng: random.Random) -> bytes:
        """A request as it is sent."""
        method, path, body = MIX[kind][2](rng)
        text = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Length: {len(text)}\r\n"
            "Content-Type: application/json\r\n\r\n"
        )
        return head.encode() + text

    async def connection(self, number: int, end: float, take: Callable[[Answer], None]) -> None:
        """Send requests until the end, one after the other."""
        rng = random.Random(number)
        kinds, weights = list(MIX), [weight for weight, _, _ in MIX.values()]
        reader, writer = await asyncio.open_connection(self.host, self.port)
        while time.monotonic() < end:
            (kind,) = rng.choices(kinds, weights)
            begun = time.monotonic()
            writer.write(self.request(kind, rng))
            status, headers = await read_answer(reader)
            at = time.monotonic()
            take(Answer(kind, status, headers.get("retry-after", ""), at - begun, at))
        writer.close()
        await writer.wait_closed()

    async def part(self, connections: int, seconds: float, *, may_refuse: bool = False) -> Part:
        """Keep so many connections busy for so long."""
        part = Part(seconds)

        def take(answer: Answer) -> None:
            part.add(answer, may_refuse=may_refuse)

        end = time.monotonic() + seconds
        tasks = (self.connection(number, end, take) for number in range(connections))
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, BaseException):
                part.flaws[f"a connection broke: {outcome!r}"] += 1
        return part

    def process(self) -> tuple[float, int]:
        """Memory in MB, and the number of file descriptors."""
        folder = Path(f"/proc/{self.running.process.pid}")
        (line,) = (line for line in (folder / "status").read_text().splitlines() if "VmRSS" in line)
        return int(line.split()[1]) * 1024 / 1e6, len(list((folder / "fd").iterdir()))


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers of an answer, whose body is read."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    await reader.readexactly(int(headers.get("content-length", "0")))
    return int(first.split()[1]), headers


def is_ready(running: Running) -> bool:
    """Whether the service says that it is ready."""
    asker = Asker(running.admin)
    status, _ = asker.ask("GET", "/health/ready")
    asker.close()
    return status == 200


def judge(looks: list[tuple[float, int]]) -> Iterator[str]:
    """What memory and descriptors should not have done, from even looks at them."""
    settled = looks[len(looks) // 10 :]
    quarter = max(len(settled) // 4, 1)
    first, last = settled[:quarter], settled[-quarter:]
    before, after = (sum(memory for memory, _ in part) / quarter for part in (first, last))
    growth = 100 * (after / before - 1)
    open_before, open_after = (max(count for _, count in part) for part in (first, last))
    print(f"memory: {looks[0][0]:.1f} MB at first, {before:.1f} MB, then {after:.1f} MB", end="")
    print(f" ({growth:+.1f} %); descriptors: {open_before}, then {open_after}")
    if growth > GROWTH_MAX_PERCENT:
        yield f"memory grew from {before:.1f} MB to {after:.1f} MB"
    if open_after > open_before + DESCRIPTORS_MORE_MAX:
        yield f"descriptors grew from {open_before} to {open_after}"


async def run(load: Load, minutes: float, connections: int) -> list[str]:
    """Both parts and the time after; what was wrong with them."""
    looks = []
    whole = Part(minutes * 60)
    for _ in range(SAMPLES):
        load.refresh_token()
        part = await load.part(connections, minutes * 60 / SAMPLES)
        whole.answers += part.answers
        whole.flaws += part.flaws
        whole.times += part.times
        whole.refusals += part.refusals
        looks.append(load.process())
    print(whole.line(f"{connections} connections"))
    flaws = [*judge(looks), *load.running.errors]
    flaws += (f"{count} x {flaw}" for flaw, count in whole.flaws.items())
    calm = len(load.running.errors)
    load.refresh_token()
    over = await load.part(OVERLOAD * connections, OVERLOAD_SECONDS, may_refuse=True)
    print(over.line(f"{OVERLOAD * connections} connections"))
    ended = time.monotonic()
    after = await load.part(connections, 2 * RECOVERY_SECONDS_MAX, may_refuse=True)
    print(after.line(f"{connections} connections again"))
    recovery = max(after.last_refusal - ended, 0)
    print(f"last refusal {recovery:.1f} s after the end of the overload")
    flaws += (f"{count} x {flaw}" for flaw, count in (over.flaws + after.flaws).items())
    if over.refusals == 0:
        flaws.append("the overload was not refused: it was none")
    if recovery > RECOVERY_SECONDS_MAX:
        flaws.append(f"requests were still refused {recovery:.1f} s after the overload")
    busy = [error for error in load.running.errors[calm:] if QUEUE in error]
    print(f"{len(busy)} changes gave up their place in the queue of the database")
    flaws += (error for error in load.running.errors[calm:] if QUEUE not in error)
    if not is_ready(load.running):
        flaws.append("the service is not ready afterwards")
    return flaws


def make_client(server: str, settings: dict[str, str]) -> dict[str, str]:
    """A client of the sandbox, with its secret."""
    made = subprocess.run(
        [server, "client", "create", "--store", "--environment", "sandbox", "--name", "load"],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    client: dict[str, str] = json.loads(made.stdout)
    return client


def main() -> None:
    """Run it, and exit with 1 if something was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("server", help="the program slackwater-api")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "SLACKWATER_STORE__URL": f"sqlite:{folder}/load.db",
            "SLACKWATER_SERVE__REQUESTS_MAX": str(SHARE * given.connections),
            "SLACKWATER_SERVE__ACCESS_LOG": "off",
        }
        client = make_client(given.server, settings)
        arguments = ["--scenario", "street", "--clock", "60x"]
        running = listening(spawn(given.server, arguments, settings))
        try:
            flaws = asyncio.run(run(Load(running, client), given.minutes, given.connections))
        finally:
            running.end()
    for flaw in flaws:
        print(flaw)
    sys.exit(1 if flaws else 0)


if __name__ == "__main__":
    main()
