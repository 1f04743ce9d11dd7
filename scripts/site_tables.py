"""Tables in Markdown, for generated pages."""

from collections.abc import Sequence


def cell(text: str) -> str:
    """Text in one cell of a table in Markdown."""
    return " ".join(text.replace("|", "\\|").split())


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Table in Markdown; nothing without rows."""
    if not rows:
        return []
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows]
    return [*lines, ""]
