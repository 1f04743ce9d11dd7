"""What is asked of the service, and the section of ``RESULTS.md`` about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from peers.goals import MILLISECOND, Evidence, Goal, Measured
from peers.results import rate_text, time_text

COMMAND: Final = "make bench-api"
ONE: Final = "GET one charger"
PAGE: Final = "a page of 50"
DEVICES: Final = 100_000

Service = dict[str, Any]


def _request(service: Service, what: str) -> dict[str, Any]:
    """The figures of one kind of request; empty if there are none."""
    return next((each for each in service.get("requests", []) if each["what"] == what), {})


def _rate(what: str) -> Callable[[Evidence], Measured | None]:
    def measure(evidence: Evidence) -> Measured | None:
        if not (found := _request(evidence.service, what)):
            return None
        return Measured(found["requests_per_s"], rate_text(found["requests_per_s"]), COMMAND)

    return measure


def _p99(what: str) -> Callable[[Evidence], Measured | None]:
    def measure(evidence: Evidence) -> Measured | None:
        if not (found := _request(evidence.service, what)):
            return None
        return Measured(found["p99_s"], time_text(found["p99_s"]), COMMAND)

    return measure


def _start(evidence: Evidence) -> Measured | None:
    if evidence.service.get("devices") != DEVICES:
        return None
    seconds = evidence.service["start_s"]
    return Measured(seconds, time_text(seconds), COMMAND)


def _of(what: str, per_s: int, p99_ms: int) -> tuple[Goal, Goal]:
    """The two goals of a kind of request."""
    often, slow = f">= {per_s:,}/s", f"<= {p99_ms} ms"
    work = f"service, {what}, 64 connections, {DEVICES:,} devices"
    return (
        Goal(work, often, per_s, at_least=True, measure=_rate(what)),
        Goal(
            "99 of 100 answers to it within",
            slow,
            p99_ms * MILLISECOND,
            at_least=False,
            measure=_p99(what),
        ),
    )


SERVICE_GOALS: Final = (
    *_of(ONE, 20_000, 15),
    *_of(PAGE, 4_000, 30),
    Goal(
        f"start of the service with {DEVICES:,} devices",
        "<= 2 s",
        2.0,
        at_least=False,
        measure=_start,
    ),
)


def section(service: Service) -> str:
    """All kinds of request as a table, with a handler that does nothing beside them."""
    if not service:
        return "## Service\n\nNot measured."
    lines = ["| request | answers/s | median | 99 of 100 within |", "| --- | --- | --- | --- |"]
    for each in service["requests"]:
        times = [time_text(each[key]) for key in ("median_s", "p99_s")]
        lines.append(
            f"| {each['what']} | {rate_text(each['requests_per_s'])} | {' | '.join(times)} |"
        )
    about = (
        "One process asks over 64 connections and answers, on the same cores. The bare handler is"
        " one of the same framework that answers as many bytes as a charger has, and looks nothing"
        " up."
    )
    return "\n\n".join(["## Service", "\n".join(lines), about])
