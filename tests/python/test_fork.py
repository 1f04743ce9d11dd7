"""Work on all cores after a fork, and what becomes of a panic."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import slackwater as sw
from slackwater import _engine, statistics

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
PRICES = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2], currency="EUR")
SECONDS_MAX = 60
STAYS = {"id": [1, 2], "arrival": [SIX] * 2, "departure": [SIX + 3 * HOUR] * 2}
CARS = pa.table(STAYS | {"power_max_kw": [7.0, 7.0], "energy_kwh": [9.0, 5.0]})
BATTERIES = pa.table(
    STAYS
    | {
        "capacity_kwh": [10.0] * 2,
        "soc_percent": [50.0] * 2,
        "power_max_kw": [4.0] * 2,
        "discharge_max_kw": [4.0] * 2,
    }
)
SAMPLES = pa.table({"start": [SIX], "end": [SIX + HOUR], "power_kw": [4.0], "session": ["a"]})
SESSIONS = pa.table({"session": ["a"], "plugged_in": [SIX], "power_max_kw": [8.0]})
READINGS = pa.table({"at": [SIX, SIX + HOUR], "total_kwh": [1.0, 2.0]})

PARALLEL: dict[str, Callable[[], object]] = {
    "plan_batch": lambda: sw.plan_batch(CARS, PRICES),
    "plan_storage_batch": lambda: sw.plan_storage_batch(BATTERIES, PRICES),
    "plan_area": lambda: sw.plan_area(CARS, PRICES, limit_kw=8),
    "aggregate": lambda: statistics.aggregate(SAMPLES.drop("session"), resolution="day"),
    "freeze_sessions": lambda: statistics.freeze_sessions(SESSIONS, SAMPLES, PRICES),
    "samples_from_meter": lambda: statistics.samples_from_meter(READINGS, gap_max=HOUR),
}


def in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def in_children(work: Callable[[], object], depth: int = 1) -> None:
    """Do work in a child, in a thread of it, and in a child of the child."""
    fork = multiprocessing.get_context("fork")

    def child() -> None:
        work()
        in_a_thread(work)
        if depth:
            in_children(work, depth - 1)

    process = fork.Process(target=child)
    process.start()
    process.join(SECONDS_MAX)
    is_hung = process.is_alive()
    process.kill()
    process.join()
    assert not is_hung
    assert process.exitcode == 0


@pytest.mark.parametrize("name", PARALLEL)
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_works(name: str) -> None:
    """A child has the pool of its parent without its threads."""
    work = PARALLEL[name]
    work()
    in_children(work)


def test_more_names_than_prices_are_refused() -> None:
    with pytest.raises(sw.InputError, match="price_ids has 2 names for 1 prices"):
        _engine.freeze_sessions(
            SESSIONS, SAMPLES, [PRICES._native], by="session", price_ids=["a", "b"]
        )


def test_a_panic_is_an_exception_like_others() -> None:
    """What PyO3 raises for a panic is caught by ``except Exception``, and asks for a report."""
    panic = _engine.PanicException
    assert issubclass(panic, RuntimeError)
    assert str(panic("index 3")) == (
        "slackwater failed by a fault of its own; please report it: index 3"
    )
