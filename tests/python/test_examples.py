"""The examples run, and are short enough to be read at once."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "python"
EXAMPLES = sorted(FOLDER.glob("*.py"))
LINES_MAX = 16


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_runs(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_is_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    first_statement = ast.parse(text).body[1]
    lines = text.splitlines()[first_statement.lineno - 1 :]
    assert len([line for line in lines if line.strip()]) <= LINES_MAX
