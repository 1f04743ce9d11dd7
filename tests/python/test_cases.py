"""The project's own cases, and that the runner can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cases

OWN = sorted((Path(__file__).parents[1] / "cases").glob("*.json"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_own_cases_pass(path: Path) -> None:
    """Every case has a call and its expected answer."""
    given = json.loads(path.read_text(encoding="utf-8"))
    failures: list[str] = []
    count = cases.run(given, failures.append)
    assert not failures
    assert count == {"passed": len(given), "failed": 0}
    assert len({case["id"] for case in given}) == len(given)


def test_a_wrong_expectation_fails_with_both_values() -> None:
    """A cent more, an interval more, an error instead of an answer."""
    [plans] = [path for path in OWN if path.stem == "plan"]
    [case, *_] = json.loads(plans.read_text(encoding="utf-8"))
    wrong = json.loads(json.dumps(case))
    wrong["expected"]["cost"] += 0.01
    refused = json.loads(json.dumps(case))
    refused["input"]["kw"] = -1
    failures: list[str] = []
    assert cases.run([case, wrong, refused], failures.append) == {"passed": 1, "failed": 2}
    assert "expected" in failures[0]
    assert "power_max_kw is -1 kW" in failures[1]


def test_a_call_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing run is no success."""
    assert cases.run([{"id": "x", "fn": "no.such", "input": {}, "expected": 1}])["failed"] == 0
    assert cases.main([]) == 1
    assert "0 passed, 0 failed" in capsys.readouterr().out
