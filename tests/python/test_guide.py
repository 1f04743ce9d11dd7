"""Examples of the guide: every one runs, and prints what its page shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import slackwater

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import page_examples as pages  # noqa: E402  it stands next to the other programs

DOCS = ROOT / "docs"

# Numbers in examples look like what they are.
pytestmark = pytest.mark.filterwarnings("error::slackwater.PlausibilityWarning")

# Pages whose examples need a running service are tested in `test_guide_service.py`,
# the example of an integration in `test_integration_example.py`, backups in `test_backup.py`,
# chargers by OCPP in `tests/ocpp/test_first_charger.py`.
SERVICE = {
    "how-to/grid-orders.md",
    "how-to/interface.md",
    "how-to/operate.md",
    "how-to/service.md",
    "how-to/webhooks.md",
    "integrations.md",
    "ocpp.md",
}
# Each of its examples is a program of its own.
TASKS = "how-to/tasks.md"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if "```python" in path.read_text(encoding="utf-8")
    or "```sh" in path.read_text(encoding="utf-8")
)


def programs(folder: Path) -> Mapping[str, str]:
    """Environment in which `slackwater` and `python` are those of the tests."""
    program = folder / "slackwater"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m slackwater "$@"\n')
    program.chmod(0o755)
    (folder / "python").symlink_to(sys.executable)
    home = str(Path(slackwater.__file__).parents[1])
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": home, "TERMINAL_WIDTH": "100"}


@pytest.mark.parametrize("name", [name for name in PAGES if name not in {*SERVICE, TASKS}])
def test_a_page_shows_what_happens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert pages.run_page(DOCS / name, tmp_path, programs(tmp_path)) > 0


# Lines that each program of that page may have.
LINES_MAX = [10, 15, 16, 8, 12, 16, 11, 9, 7]


def test_each_task_is_a_whole_program_of_a_few_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tasks = pages.blocks((DOCS / TASKS).read_text(encoding="utf-8"))
    lines = [
        sum(1 for line in task.code.splitlines() if line and not line.startswith("#"))
        for task in tasks
    ]
    assert len(lines) == len(LINES_MAX)
    assert all(count <= most for count, most in zip(lines, LINES_MAX, strict=True)), lines
    for task in tasks:
        list(pages.run_python(task, {}, "tasks.md"))


def test_pages_with_examples_are_found() -> None:
    assert {"start.md", "how-to/prices.md", "how-to/fleet.md", *SERVICE} <= set(PAGES)


def test_a_wrong_output_is_found() -> None:
    block = pages.blocks("```python\nprint(1 + 1)\n# 3\n```")[0]
    with pytest.raises(pages.PageError, match=r"page:2 shows \['3'\], but prints \['2'\]"):
        list(pages.run_python(block, {}, "page"))


def test_a_failing_command_is_found(tmp_path: Path) -> None:
    block = pages.blocks("```sh\nfalse\ntrue\n```")[0]
    with pytest.raises(pages.PageError, match="line 2"):
        pages.run_shell(block, tmp_path, os.environ)
