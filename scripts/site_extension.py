"""Extension of Sphinx for the site: formulas as MathML, and signatures without private parts."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def write_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def write_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, in a box that scrolls if it is wide."""
    formula = convert(node.astext(), display="block")
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
    """Hide the arguments of classes that only planners make: they take a native object."""
    is_private = kind == "class" and arguments is not None and "native" in arguments
    return ("", result or "") if is_private else None


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer under its name in `docs/conf.py`, and the hooks of autodoc."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.connect("autodoc-skip-member", skip_field)
    app.connect("autodoc-process-signature", hide_constructor)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
