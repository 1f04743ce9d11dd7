"""Extension of Sphinx for the site: formulas as MathML, and signatures without private parts."""

import ast
from pathlib import Path
from types import GetSetDescriptorType
from typing import Literal

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

# Commands, columns and lines that the converter or browsers do not know.
UNSHOWN = ("\\", ">&<", 'linebreak="newline"')


def to_mathml(formula: str, display: Literal["inline", "block"]) -> str:
    """Formula of LaTeX as MathML.

    Raises:
        ValueError: The formula has a command, a column or a line that browsers would not show.
    """
    text = convert(formula, display=display)
    if any(mark in text for mark in UNSHOWN):
        raise ValueError(f"a formula has something that MathML cannot show: {formula}")
    return text


def write_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(to_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def write_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, in a box that scrolls if it is wide."""
    formula = to_mathml(node.astext(), "block")
    writer.body.append(f'<div class="math">{formula}</div>\n')
    raise nodes.SkipNode


def skip_field(
    _app: Sphinx, _kind: str, _name: str, value: object, is_skipped: object, _options: object
) -> bool | None:
    """Skip fields of named tuples, which their class documents, and methods of matplotlib."""
    is_field = type(value).__name__ == "_tuplegetter"
    is_foreign = (getattr(value, "__module__", None) or "").startswith("matplotlib")
    return True if is_field or is_foreign or is_skipped else None


def hide_constructor(
    _app: Sphinx,
    kind: str,
    _name: str,
    _value: object,
    _options: object,
    arguments: str | None,
    result: str | None,
) -> tuple[str, str] | None:
    """Hide the arguments of classes that only planners make.

    They take a native object, or all numbers of the plan of an area.
    """
    given = (arguments or "") if kind == "class" else ""
    is_private = "native" in given or "warm_start" in given
    return ("", result or "") if is_private else None


def stub_types() -> dict[str, str]:
    """Types of the properties of native classes, by their public names."""
    stub = Path(__file__).resolve().parent.parent / "bindings/python/slackwater/_engine.pyi"
    found = {}
    for outer in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(outer, ast.ClassDef):
            for inner in outer.body:
                if isinstance(inner, ast.FunctionDef) and inner.returns is not None:
                    found[f"slackwater.{outer.name}.{inner.name}"] = ast.unparse(inner.returns)
    return found


TYPES = stub_types()


def show_type(
    _app: Sphinx, kind: str, _name: str, value: object, _options: object, lines: list[str]
) -> None:
    """Add the type of a native property, which has no annotation at run time."""
    if kind == "attribute" and isinstance(value, GetSetDescriptorType):
        # The class that has it may be a base of the class that is shown.
        name = f"slackwater.{value.__objclass__.__name__}.{value.__name__}"
        lines += ["", f":Type: ``{TYPES[name]}``"] if name in TYPES else []


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer under its name in `docs/conf.py`, and the hooks of autodoc."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.connect("autodoc-skip-member", skip_field)
    app.connect("autodoc-process-signature", hide_constructor)
    app.connect("autodoc-process-docstring", show_type)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
