"""Polars and DuckDB sum up the table of the benchmark to the same figures."""

from __future__ import annotations

import copy

import pytest

from peers import goals, statistics_run
from peers.children import DisagreementError
from peers.machine import Machine
from peers.results import Run

ROWS = 10_000_000


def test_engines_agree_on_ten_million_samples() -> None:
    answers = [
        statistics_run.measured(engine, "month", ROWS, 1) for engine in statistics_run.ENGINES
    ]
    statistics_run.compare(answers)
    assert answers[0]["digest"]["rows"] == 48 * 71 + 15
    wrong = copy.deepcopy(answers[1])
    wrong["digest"]["cost"] *= 1 + 1e-8
    with pytest.raises(DisagreementError, match="cost: slackwater"):
        statistics_run.compare([answers[0], wrong])
    lines = [statistics_run.line(answer) for answer in answers]
    assert all("M rows/s" in line for line in lines)


@pytest.mark.parametrize(("resolution", "length"), [("day", 96), ("quarter_hour", 1)])
def test_engines_agree_on_days_and_quarters(resolution: str, length: int) -> None:
    rows = 300_000
    engines = statistics_run.ENGINES
    answers = [statistics_run.measured(engine, resolution, rows, 1) for engine in engines]
    statistics_run.compare(answers)
    assert answers[0]["digest"]["rows"] == -(-rows // length)


def test_rounds_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def measured(engine: str, resolution: str, rows: int, repeats: int) -> dict[str, object]:
        asked.append(engine)
        number = len(asked)
        facts = {"engine": engine, "resolution": resolution, "rows": rows, "digest": {}}
        return facts | {"seconds": [number] * repeats, "extra_bytes": number}

    monkeypatch.setattr(statistics_run, "measured", measured)
    answers = statistics_run.race("day", 96, 2, 2)
    assert asked == [*statistics_run.ENGINES] * 2
    assert [answer["seconds"] for answer in answers] == [[1, 1, 4, 4], [2, 2, 5, 5], [3, 3, 6, 6]]
    assert [answer["extra_bytes"] for answer in answers] == [4, 5, 6]


def test_figures_become_goals() -> None:
    def sums(engine: str, resolution: str, seconds: float) -> dict[str, object]:
        return {
            "engine": engine,
            "resolution": resolution,
            "rows": 140_256_000,
            "seconds": [seconds] * 3,
            "extra_bytes": 300e6,
            "output_bytes": 150e6,
        }

    machine = Machine("cpu", 2, 1.0, "system", "python", "rustc", "commit")
    run = Run(machine, "command", 1, 1, [], {}, [])
    evidence = goals.Evidence(
        run, {}, [sums("slackwater", "month", 2.0), sums("polars", "month", 3.0)]
    )
    found = {goal.work: goal.measure(evidence) for goal in goals.STATISTICS_GOALS}
    ratio = found["statistics, samples to months, against polars"]
    assert ratio is not None
    assert ratio.value == 1.5
    memory = found["their peak memory above input and answer, months"]
    assert memory is not None
    assert memory.value == 150e6
    assert memory.text == "150 MB, and 150 MB of answer"
    assert found["statistics, samples to days, against duckdb"] is None
    assert found["the same from Python, Arrow to Arrow"] is None
