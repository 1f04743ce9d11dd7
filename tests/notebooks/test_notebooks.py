"""Every notebook runs from top to bottom, and its committed outputs are those of a fresh run."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import notebooks

PATHS = notebooks.notebooks()


def draws(cell: notebooks.Notebook) -> bool:
    """Tell whether a cell is there for its picture."""
    return cell.cell_type == "code" and (".plot(" in cell.source or ".plot_" in cell.source)


def shows(cell: notebooks.Notebook) -> bool:
    """Tell whether a cell that ran has a picture among its outputs."""
    return bool(set(notebooks.PICTURES) & set(notebooks.content(cell)))


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_committed_outputs_are_those_of_a_run(path: Path) -> None:
    committed = notebooks.read(path)
    fresh = notebooks.run(committed)
    drawing = [cell for cell in fresh.cells if draws(cell)]
    assert drawing
    assert [cell.source for cell in drawing if not shows(cell)] == []
    assert notebooks.differences(committed, fresh) == []


def cell(text: str) -> notebooks.Notebook:
    output = nbformat.v4.new_output("stream", name="stdout", text=text)  # type: ignore[no-untyped-call]
    code = nbformat.v4.new_code_cell("print(x)", outputs=[output])  # type: ignore[no-untyped-call]
    return nbformat.v4.new_notebook(cells=[code])  # type: ignore[no-untyped-call]


def test_a_changed_number_is_found_and_a_last_digit_is_not() -> None:
    before = cell("cost 1,234.5678 EUR, planned in 12 ms\n")
    assert notebooks.differences(before, cell("cost 1,234.5681 EUR, planned in 999 ms\n")) == []
    (found,) = notebooks.differences(before, cell("cost 1,235.5678 EUR, planned in 12 ms\n"))
    assert "1234.57" in found
    assert "1235.57" in found


def test_a_missing_output_is_found() -> None:
    empty = cell("one\n")
    empty.cells[0].outputs = []
    (found,) = notebooks.differences(empty, cell("one\n"))
    assert found.endswith("--- committed\n--- now\nstdout: one\n")
