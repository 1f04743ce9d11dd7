"""Made-up arguments in every public call: an answer or an error that names the argument.

No panic, no text of the native part, no long call, no growing memory. ``SLACKWATER_EXAMPLES``
is the number of calls; ``make soak`` makes a million.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import re
import resource
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import slackwater as sw
from public_calls import Call, public_calls
from test_odd_arguments import CALLS as RICH_CALLS
from test_odd_arguments import SIX as SOON
from test_odd_arguments import leaves

EXAMPLES = int(os.environ.get("SLACKWATER_EXAMPLES", "4000"))
PARTS = 4
SECONDS_MAX = 1.0
HUNG_AFTER_SECONDS = 120
LEAK_CALLS = int(os.environ.get("SLACKWATER_LEAK_CALLS", "3000"))
LEAK_MAX_KB = 1024

# Words of Rust, of PyO3 and of the crates behind them.
NATIVE = re.compile(
    r"panick|pyo3|PyErr|unwrap|RUST_BACKTRACE|\.rs\b|rustc|"
    r"\b(f64|f32|u8|u16|u32|u64|i32|i64|usize|isize|chrono|serde|NaiveDate\w*|DateTime<|Utc|Vec<|Option<)\b|"
    r"\b(Some|Ok|Err)\(|\(None\)|::"
)

# What ``docs`` promises: values that make no sense, types that do, files that are not there,
# numbers that Python cannot show.
EXPECTED = (sw.InputError, TypeError, OSError, KeyError)

ODD_FLOATS = [0.0, -0.0, 5e-324, 1e308, -1e308, float("nan"), float("inf"), 1e12, 1e-12, -1.0]
ODD_INTS = [0, -1, 2**31, 2**32, 2**63, -(2**63) - 1, 2**64, 10**400]
ODD_TEXTS = [
    *["", "\x00", "\ud800", "\U0001f50c", "UTC", "Europe/Oslo", "EUR", "a" * 5000],
    *["24:00", "23:59", "00:00", "7:00", "{}", "[]", "[" * 5000, "null", "1e999"],
]
ZONES = [UTC, ZoneInfo("Europe/Oslo"), timezone(timedelta(hours=-14)), None]
# They get a zone, or stay without one on purpose.
NEAR = datetime(2026, 1, 5)  # noqa: DTZ001
ODD_TIMES = [datetime.min, datetime.max, datetime(2026, 3, 29, 2, 30), NEAR]  # noqa: DTZ001, DTZ901
SPANS = [timedelta(0), timedelta.min, timedelta.max, timedelta(microseconds=1), -timedelta(hours=1)]
TABLES = [
    pa.table({}),
    pa.table({"id": pa.array([], pa.int64())}),
    pa.table({"id": [None], "arrival": [None], "departure": [None], "power_max_kw": [None]}),
    pa.table({"id": ["a", "a"], "start": [0, 1], "end": [1, 0], "power_kw": ["x", "y"]}),
    pa.table({"start": pa.array([0], pa.timestamp("ns")), "power_kw": [float("nan")]}),
]
OTHERS = [None, True, False, b"", b"\xff", date(2026, 1, 5), time(7, 0), object(), 1j, {}, [], ()]


class Maker:
    """Values of all kinds, the same ones for the same name."""

    def __init__(self, name: str) -> None:
        self.rng = random.Random(name)

    def number(self) -> float:
        """A number: odd, of any size, or of the size that the field has."""
        pick = self.rng.random()
        if pick < 0.2:
            return self.rng.choice([*ODD_FLOATS, *ODD_INTS])
        if pick < 0.4:
            return self.rng.choice([-1, 1, 1]) * 10 ** self.rng.uniform(-13, 13)
        return self.rng.choice([self.rng.uniform(0, 100), self.rng.randint(0, 100)])

    def text(self) -> str:
        """A text: odd, or of random letters."""
        if self.rng.random() < 0.5:
            return self.rng.choice(ODD_TEXTS)
        return "".join(chr(self.rng.randrange(1, 0x250)) for _ in range(self.rng.randint(1, 9)))

    def instant(self) -> datetime:
        """A time in some zone or without one."""
        near = NEAR + timedelta(minutes=self.rng.uniform(-1e4, 1e4))
        return self.rng.choice([near, near, *ODD_TIMES]).replace(tzinfo=self.rng.choice(ZONES))

    def anything(self, depth: int = 2) -> Any:
        """A value of any kind, or a collection of some."""
        kinds: list[Callable[[], Any]] = [self.number, self.text, self.instant]
        kinds += [lambda: self.rng.choice(SPANS), lambda: self.rng.choice(TABLES)]
        kinds += [lambda: self.rng.choice(OTHERS)]
        if depth:
            inner = partial(self.anything, depth - 1)
            kinds += [lambda: [inner() for _ in range(self.rng.randint(1, 3))]]
            kinds += [lambda: (inner(), inner()), lambda: {self.text(): inner()}]
        return self.rng.choice(kinds)()


def rich(name: str) -> Call:
    """A call with many arguments, by their names."""
    function, arguments = RICH_CALLS[name]
    return Call(name, function, arguments, ())


# As many as they are told to make: their time is that of a number of the caller's.
LEFT_OUT = {"sim.year_of_stays"}
CALLED = [rich(name) for name in RICH_CALLS]
CALLED += [call for call in public_calls() if call.name not in LEFT_OUT]


def put_in(call: Call, maker: Maker) -> dict[str, Any]:
    """Arguments of a call, of which one to three are made up, as a whole or in part."""
    changed: dict[str, Any] = {}
    for _ in range(maker.rng.randint(1, 3)):
        name = maker.rng.choice(list(call.arguments))
        inside = list(leaves(changed.get(name, call.arguments[name]), name))
        if not inside or maker.rng.random() < 0.3:
            changed[name] = maker.anything()
            continue
        _, leaf, put = maker.rng.choice(inside)
        # The class of an argument may refuse it by itself.
        with suppress(*EXPECTED):
            changed[name] = put(maker.text() if isinstance(leaf, str) else maker.number())
    return changed


def try_call(call: Call, changed: dict[str, Any], number: int) -> None:
    """Make a call, and check how it ended and how long it took."""
    refusal = ""
    faulthandler.dump_traceback_later(HUNG_AFTER_SECONDS, exit=True)
    began = process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.run(**changed)
    except EXPECTED as error:
        refusal = str(error)
    except ValueError as error:
        # What Python itself says of the name of a file.
        if str(error) != "embedded null byte":
            raise
    finally:
        took = process_time() - began
        faulthandler.cancel_dump_traceback_later()
    assert not NATIVE.search(refusal), f"call {number}, {call.name}: {refusal}"
    assert took < SECONDS_MAX, f"call {number}, {call.name} took {took:.1f} s"


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Let each call load what it needs, which is not its own time."""
    for call in CALLED:
        if call.arguments:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    call.run()
                except EXPECTED:
                    continue


@pytest.mark.parametrize("part", range(PARTS))
def test_made_up_arguments_are_answered_or_refused(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure names the number of the call, which makes it again."""
    monkeypatch.chdir(tmp_path)
    calls = [call for call in CALLED if call.arguments]
    for number in range(part * EXAMPLES // PARTS, (part + 1) * EXAMPLES // PARTS):
        maker = Maker(f"{number}")
        call = maker.rng.choice(calls)
        try_call(call, put_in(call, maker), number)


def memory_kb() -> int:
    """Memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("name", ["plan_charge", "plan_vehicle", "flex.check", "refusal"])
def test_memory_does_not_grow(name: str) -> None:
    def refusal() -> None:
        with suppress(sw.InputError):
            call.run(now=SOON, power_max_kw=-1.0)

    call = rich("plan_charge" if name == "refusal" else name)
    work: Callable[[], object] = refusal if name == "refusal" else call.run

    def grown_kb() -> int:
        before = memory_kb()
        for _ in range(LEAK_CALLS):
            work()
        gc.collect()
        return memory_kb() - before

    # The first calls fill caches and the pools of the allocator.
    grown_kb()
    assert min(grown_kb() for _ in range(2)) < LEAK_MAX_KB
