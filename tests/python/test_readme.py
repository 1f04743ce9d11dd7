"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from slackwater import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[list[str]]:
    """The arguments of each ``slackwater`` command."""
    lines = "\n".join(blocks("sh")).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("slackwater ")]


def test_the_python_example_prints_what_it_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102  our own page
    printed = capsys.readouterr().out.splitlines()
    promised = re.findall(r"^print\(.*\)\n# (.*)$", example, flags=re.MULTILINE)
    assert len(printed) == len(promised) == 2
    for line, promise in zip(printed, promised, strict=True):
        assert line.startswith(promise.removesuffix("..."))
    assert (tmp_path / "plan.png").stat().st_size > 0


def test_the_commands_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bindings").symlink_to(ROOT / "bindings")
    monkeypatch.chdir(tmp_path)
    codes = [cli.main(arguments) for arguments in commands()]
    assert codes == [0, 0, 0, 0]
    written = {path.name for path in tmp_path.iterdir()}
    assert {"plan.png", "plans.parquet", "report.html", "stays.csv"} <= written


def test_the_rust_example_is_that_of_the_crate() -> None:
    # Cargo runs the example on the page of the crate, with lines that it hides.
    page = (ROOT / "engine/README.md").read_text(encoding="utf-8")
    example = re.findall(r"```rust\n(.*?)```", page, flags=re.DOTALL)[0]
    visible = "".join(line for line in example.splitlines(True) if not line.startswith("# "))
    assert blocks("rust") == [visible]


def test_the_first_screen_shows_what_to_type() -> None:
    first = README.splitlines()[:20]
    assert "pip install slackwater" in first
    assert any("plan_charge" in line for line in first)


def test_links_and_pictures_exist() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 5
    assert [target for target in targets if not (ROOT / target).exists()] == []
