"""What is asked of the service, and the section of ``RESULTS.md`` about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from peers.goals import MILLISECOND, Evidence, Goal, Measured
from peers.results import rate_text, time_text

COMMAND: Final = "make bench-api"
ONE: Final = "GET one charger"
PAGE: Final = "a page of 50"
WRITE: Final = "POST max-current"
DEVICES: Final = 100_000

Service = dict[str, Any]
_Look = Callable[[Evidence], Measured | None]


def _request(service: Service, what: str) -> dict[str, Any]:
    """The figures of one kind of request; empty if there are none."""
    return next((each for each in service.get("requests", []) if each["what"] == what), {})


def _shown(what: str, key: str, shown: Callable[[float], str]) -> _Look:
    """A figure of one kind of request."""

    def measure(evidence: Evidence) -> Measured | None:
        if not (found := _request(evidence.service, what)):
            return None
        return Measured(found[key], shown(found[key]), COMMAND)

    return measure


def _of(what: str, connections: int, per_s: int, p99_ms: int) -> tuple[Goal, Goal]:
    """The two goals of a kind of request."""
    often, slow = f">= {per_s:,}/s", f"<= {p99_ms} ms"
    work = f"service, {what}, {connections} connections, {DEVICES:,} devices"
    look = _shown(what, "requests_per_s", rate_text)
    return (
        Goal(work, often, per_s, at_least=True, measure=look),
        Goal(
            "99 of 100 answers to it within",
            slow,
            p99_ms * MILLISECOND,
            at_least=False,
            measure=_shown(what, "p99_s", time_text),
        ),
    )


def _start(evidence: Evidence) -> Measured | None:
    if evidence.service.get("devices") != DEVICES:
        return None
    seconds = evidence.service["start_s"]
    return Measured(seconds, time_text(seconds), COMMAND)


def _idle(evidence: Evidence) -> Measured | None:
    if (found := evidence.service.get("idle_mb")) is None:
        return None
    return Measured(found, f"{found:.1f} MB", COMMAND)


def _acting(key: str) -> _Look:
    def measure(evidence: Evidence) -> Measured | None:
        if not (acting := evidence.service.get("acting")):
            return None
        return Measured(acting[key], time_text(acting[key]), COMMAND)

    return measure


def _beside(evidence: Evidence) -> Measured | None:
    if not (acting := evidence.service.get("acting")):
        return None
    worst = max(each["p99_s"] for each in acting["beside"])
    return Measured(worst, time_text(worst), COMMAND)


def _within(work: str, seconds: float, measure: _Look) -> Goal:
    goal = f"<= {time_text(seconds)}"
    return Goal(work, goal, seconds, at_least=False, measure=measure)


SERVICE_GOALS: Final = (
    *_of(ONE, 64, 20_000, 15),
    *_of(PAGE, 64, 4_000, 30),
    _within(f"start of the service with {DEVICES:,} devices", 2.0, _start),
    Goal(
        "memory of an idle service with twenty homes",
        "<= 60 MB",
        60.0,
        at_least=False,
        measure=_idle,
    ),
    *_of(WRITE, 32, 1_000, 100),
    _within("service, a price signal of 35,040 values, on disk", 1.0, _acting("signal_s")),
    _within(
        f"from the 204 of two days of prices to the last of {DEVICES:,} plans kept",
        10.0,
        _acting("plans_s"),
    ),
    _within("the same with prices for a week ahead", 10.0, _acting("plans_of_a_week_s")),
    _within("service, four years of quarter hours of a vehicle", 1.0, _acting("statistics_s")),
    _within("99 of 100 answers to others beside these three within", 0.2, _beside),
)


def section(service: Service) -> str:
    """All kinds of request as a table, with a handler that does nothing beside them."""
    if not service:
        return "## Service\n\nNot measured."
    lines = ["| request | answers/s | median | 99 of 100 within |", "| --- | --- | --- | --- |"]
    for each in (*service["requests"], *service["acting"]["beside"]):
        times = [time_text(each[key]) for key in ("median_s", "p99_s")]
        lines.append(
            f"| {each['what']} | {rate_text(each['requests_per_s'])} | {' | '.join(times)} |"
        )
    about = (
        "One process asks and answers, on the same cores: over 64 connections what reads, over 32"
        " what writes, to the disk. The bare handler is one of the same framework that answers as"
        " many bytes as a charger has, and looks nothing up. The last two ask one after the other,"
        f" while price signals come in, {DEVICES:,} vehicles are planned for and statistics are"
        " summed up."
    )
    return "\n\n".join(["## Service", "\n".join(lines), about])
