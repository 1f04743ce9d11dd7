"""The public interface of the package: names, signatures, documentation and help.

The golden files do not say what is right. They show in a review what a change
alters for users; ``UPDATE_EXPECT=1`` writes them anew.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import slackwater
from slackwater.cli import app as cli_app

GOLDEN = Path(__file__).parents[1] / "golden" / "python"
NOT_INSTALLED = {"slackwater.flexmeasures", "slackwater.ray"}


def check(name: str, text: str) -> None:
    """Compare with a golden file, or write it."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_EXPECT"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


def modules() -> Iterator[ModuleType]:
    """All public modules, in the order of their names."""
    found = pkgutil.walk_packages(slackwater.__path__, "slackwater.")
    names = sorted(info.name for info in found)
    for name in ["slackwater", *names]:
        is_public = not any(part.startswith("_") for part in name.split("."))
        if is_public and name not in NOT_INSTALLED and not name.startswith("slackwater.cli"):
            yield importlib.import_module(name)


def signature(value: object) -> str:
    """Arguments with their defaults; nothing for what is not called."""
    try:
        return str(inspect.signature(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""


def line(name: str, value: object) -> str:
    """One name: its arguments, and a fingerprint of its documentation."""
    doc = inspect.getdoc(value) or ""
    first = doc.partition("\n")[0]
    digest = hashlib.sha256(doc.encode()).hexdigest()[:8]
    return f"{name}{signature(value)}\n    {digest} {first}\n"


def lines(module: ModuleType) -> Iterator[str]:
    """All public names of a module, and the public members of its classes."""
    yield line(module.__name__, module)
    for name in sorted(getattr(module, "__all__", None) or vars(module)):
        value = getattr(module, name)
        home = getattr(value, "__module__", module.__name__)
        is_shown_here = home == module.__name__ or module is slackwater
        if name.startswith("_") or inspect.ismodule(value) or not is_shown_here:
            continue
        path = f"{module.__name__}.{name}"
        yield line(path, value if callable(value) else None)
        if inspect.isclass(value):
            for member in sorted(dir(value)):
                if not member.startswith("_"):
                    yield line(f"{path}.{member}", inspect.getattr_static(value, member))


def test_names_signatures_and_documentation() -> None:
    """What users import and read by ``help``."""
    check("interface.txt", "".join(text for module in modules() for text in lines(module)))


def commands(command: Any, words: list[str]) -> Iterator[list[str]]:
    """The words that lead to each command."""
    yield words
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from commands(below, [*words, name])


def test_help_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``slackwater COMMAND --help`` prints, as wide as a terminal of 100 columns."""
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    monkeypatch.setenv("COLUMNS", "100")
    runner = CliRunner()
    shown = []
    for words in commands(typer.main.get_command(cli_app.app), []):
        result = runner.invoke(cli_app.app, [*words, "--help"])
        assert result.exit_code == 0, words
        shown.append(f"$ slackwater {' '.join(words)} --help\n{result.output}")
    assert len(shown) > 8
    check("help.txt", "".join(shown))
