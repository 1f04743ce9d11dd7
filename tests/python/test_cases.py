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


@pytest.mark.parametrize(("known", "other"), [("timeout", "timedout"), ("post", "posted")])
def test_an_event_of_another_name_is_none(known: str, other: str) -> None:
    """Names are not guessed: one that is nearly right fails its case."""
    [devices] = [path for path in OWN if path.stem == "devices"]
    found = json.loads(devices.read_text(encoding="utf-8"))
    named = [case for case in found if f'"event": "{known}"' in json.dumps(case)]
    misnamed = json.loads(json.dumps(named).replace(f'"event": "{known}"', f'"event": "{other}"'))
    failures: list[str] = []
    count = cases.run([*named, *misnamed], failures.append)
    assert count == {"passed": len(named), "failed": len(named)}
    assert all(f"no event is called {other}" in failure for failure in failures)


def test_a_call_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing run is no success."""
    assert cases.run([{"id": "x", "fn": "no.such", "input": {}, "expected": 1}])["failed"] == 0
    assert cases.main([]) == 1
    assert "0 passed, 0 failed" in capsys.readouterr().out
