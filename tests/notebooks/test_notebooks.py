"""Every notebook runs from top to bottom, and shows the pictures that it draws."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TIMEOUT_SECONDS = 300
PICTURE = "image/png"


def draws(cell: nbformat.NotebookNode) -> bool:
    """Tell whether a cell is there for its picture."""
    return cell.cell_type == "code" and (".plot(" in cell.source or ".plot_" in cell.source)


def shows(cell: nbformat.NotebookNode) -> bool:
    """Tell whether a cell that ran has a picture among its outputs."""
    return any(PICTURE in output.get("data", {}) for output in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_shows_its_pictures(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(
        notebook, timeout=TIMEOUT_SECONDS, resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    drawing = [cell for cell in notebook.cells if draws(cell)]
    assert drawing
    assert [cell.source for cell in drawing if not shows(cell)] == []
