"""The judge of ``make load``: what it lets pass, and what it complains of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import load


def part(*, may_refuse: bool, answers: list[tuple[str, int, str]]) -> load.Part:
    """A part of a run with these answers: kind, status, ``Retry-After``."""
    made = load.Part(1.0)
    for kind, status, retry_after in answers:
        made.add(load.Answer(kind, status, retry_after, 0.001, 7.0), may_refuse=may_refuse)
    return made


def test_answers_as_expected_are_no_flaws() -> None:
    expected = [("charger", 200, ""), ("unknown", 404, ""), ("command", 400, "")]
    made = part(may_refuse=False, answers=expected)
    assert (made.flaws, made.refusals) == ({}, 0)


@pytest.mark.parametrize("status", [429, 503])
def test_refusals_are_for_the_overload_and_name_a_pause(status: int) -> None:
    answers = [("charger", status, "1")]
    assert part(may_refuse=True, answers=answers).flaws == {}
    assert part(may_refuse=False, answers=answers).flaws == {f"charger: {status}": 1}
    mute = part(may_refuse=True, answers=[("charger", status, "")])
    assert mute.flaws == {f"charger: {status} without Retry-After": 1}
    assert (mute.refusals, mute.last_refusal) == (1, 7.0)


def test_another_failure_is_a_flaw_in_any_part() -> None:
    for may_refuse in (False, True):
        assert part(may_refuse=may_refuse, answers=[("tariff", 500, "")]).flaws == {
            "tariff: 500": 1
        }


def test_memory_and_descriptors_may_not_grow() -> None:
    calm = [(100.0 + number % 3, 30 + number % 4) for number in range(40)]
    assert list(load.judge(calm)) == []
    leaking = [(100.0 + number, 30) for number in range(40)]
    assert [flaw.split(" from")[0] for flaw in load.judge(leaking)] == ["memory grew"]
    opening = [(100.0, 30 + number) for number in range(40)]
    assert [flaw.split(" ")[0] for flaw in load.judge(opening)] == ["descriptors"]
    # What the first tenth needs to begin is no growth.
    assert list(load.judge([(50.0, 10)] * 4 + calm[4:])) == []
