"""The list of planted defects fits the tree; ``make planted`` runs it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import planted

ROOT = Path(__file__).parents[2]

AREAS = {
    "engine",
    "control",
    "wire",
    "store",
    "service",
    "simulation",
    "http",
    "server",
    "link",
    "ocpp",
    "python",
}


def test_each_place_is_there_once_and_each_area_has_a_defect() -> None:
    defects = planted.read_list()
    assert len(defects) >= 12
    assert {defect["area"].partition(":")[0] for defect in defects} == AREAS


def test_each_test_exists() -> None:
    for defect in planted.read_list():
        if "python" in defect:
            file = ROOT / "tests/python" / defect["python"]
            assert f"def {defect['test']}(" in file.read_text("utf-8")
            continue
        name = defect["test"].rpartition("::")[2]
        folders = {path.parts[0] for path in [Path(defect["file"])]} | {"tests", "api"}
        files = (file for folder in folders for file in (ROOT / folder).rglob("*.rs"))
        word = re.compile(rf"\bfn {name}\b")
        assert any(word.search(file.read_text("utf-8")) for file in files), defect["test"]


def test_the_copy_is_compiled_with_the_settings_of_the_tree(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """cargo compares this value, and compiles HiGHS anew where it differs."""
    defect = planted.Defect(package="slackwater-wire", target="lib", test="a")
    show = [sys.executable, "-c", "import os; print(os.environ['CMAKE_TOOLCHAIN_FILE'], end='')"]
    monkeypatch.setattr(planted, "command", lambda _: show)
    monkeypatch.delenv("CMAKE_TOOLCHAIN_FILE", raising=False)
    assert planted.run(defect, tmp_path) == (0, str(ROOT / ".cargo/highs.cmake"))
    monkeypatch.setenv("CMAKE_TOOLCHAIN_FILE", "/own.cmake")
    assert planted.run(defect, tmp_path) == (0, "/own.cmake")


def test_a_defect_that_fits_nowhere_or_twice_is_refused() -> None:
    defect = planted.Defect(file="a.rs", find="a > b", replace="a >= b")
    assert planted.planted("if a > b {", defect) == "if a >= b {"
    for text in ("", "a > b; a > b"):
        with pytest.raises(planted.ListError, match=r"a\.rs has [02] times 'a > b'"):
            planted.planted(text, defect)
    with pytest.raises(planted.ListError):
        planted.planted("a > b", planted.Defect(file="a.rs", find="a > b", replace="a > b"))
