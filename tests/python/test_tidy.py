"""Sizes of our Python, as ``tests/tree/tidy.rs`` checks those of our Rust."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bindings/python", "tests/python", "scripts", "benches/peers")
FUNCTION_LINES_MAX = 70

FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def long_functions(text: str) -> list[str]:
    """Functions with too many lines. The docstring is for the reader and does not count."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)
            if lines > FUNCTION_LINES_MAX:
                found.append(f"{node.lineno}: {node.name} has {lines} lines")
    return found


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the docstring, 0 without one."""
    if ast.get_docstring(node) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_fit_on_a_screen(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert long_functions(text) == []


def test_a_long_function_is_found() -> None:
    body = "    pass\n" * (FUNCTION_LINES_MAX - 1)
    docstring = '    """One.\n\n    Two.\n    """\n'
    assert long_functions(f"def fits():\n{docstring}{body}") == []
    assert long_functions(f"\ndef long():\n{body}    pass\n") == ["2: long has 71 lines"]
