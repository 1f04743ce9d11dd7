"""The page about Ray says what was measured, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from peers import cluster_page
from peers.machine import Machine

MACHINE = Machine("a CPU", 2, 8.0, "a system", "3.11", "rustc", "abc1234")


def found() -> dict[str, Any]:
    fleet = {
        "vehicles": 1_000_000,
        "rounds": 70,
        "gap": 9e-4,
        "local_s": 6.0,
        "two_actors_s": 9.0,
        "starting_s": 2.5,
        "answering_s": 0.5,
        "questions": 20,
        "round_s": [0.1, 0.2, 0.3],
        "alone_s": [0.3, 0.3, 0.3],
        "writing_s": 2.0,
        "peak_bytes": 700_000_000,
    }
    times = [{"actors": n, "median_s": 1e-3 + 5e-4 * n, "worst_s": 0.1} for n in (1, 2, 4, 8)]
    return {"actors": times, "fleets": [{**fleet, "vehicles": 10}, fleet]}


def test_nodes_share_what_actors_do_and_the_driver_does_the_rest() -> None:
    whole = cluster_page.estimate(found(), vehicles=100_000_000, nodes=50)
    assert whole.starting_s == pytest.approx(2.5)
    assert whole.asking_s == pytest.approx(2 * 0.5)
    assert whole.travel_s == pytest.approx(20 * 50 * 5e-4)
    assert whole.driver_s == pytest.approx(100 * 6.0)
    assert whole.writing_s == pytest.approx(2 * 2.0)
    assert whole.driver_bytes == pytest.approx(70e9)
    assert whole.total_s == pytest.approx(2.5 + 1.0 + 0.5 + 600.0 + 4.0)


def test_the_page_has_every_figure() -> None:
    text = cluster_page.page(found(), MACHINE, "2026-01-31")
    for words in (
        "a CPU, 2 cores, 8.0 GB; commit abc1234, 2026-01-31",
        "Each actor more adds 0.50 ms",
        "| 1,000,000 | 70 | 9.0e-04 | 6.00 | 9.00 | 2.50 | 0.50 | 20 | 0.2000 | 0.3000 |",
        "| 2.00 | 700 |",
        "| the driver alone | 100 x 6.00 s | 600 s |",
        "| together |  | 10.1 min |",
        "has 99 % of the time",
    ):
        assert words in text
