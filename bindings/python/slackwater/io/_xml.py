"""XML as a tree whose elements know their line. Entities and DTDs are refused."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Never
from xml.parsers import expat

from slackwater._engine import InputError


@dataclass
class Element:
    """An element with its line in the file. Names have no namespace."""

    name: str
    line: int
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, name: str) -> Iterator["Element"]:
        """The children of one name."""
        return (child for child in self.children if child.name == name)

    def find(self, *path: str) -> "Element | None":
        """The first child of the first child of ..., by name."""
        element: Element | None = self
        for name in path:
            element = next(element.all(name), None) if element else None
        return element

    def value(self, *path: str) -> str | None:
        """The text at a path, if it is there."""
        element = self.find(*path)
        return element.text.strip() if element else None


def parse_xml(path: str, text: str) -> Element:
    """The root of a document. `path` is for messages.

    Raises:
        InputError: The text is no XML, or declares a document type.
    """
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
    stack = [Element("", 0)]

    def start(name: str, _attributes: dict[str, str]) -> None:
        element = Element(name.rpartition(" ")[2], parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def end(_name: str) -> None:
        stack.pop()

    def characters(data: str) -> None:
        stack[-1].text += data

    def refuse(*_arguments: object) -> Never:
        # A price list needs none, and one can expand to any size.
        raise InputError(f"{path}: the document declares a document type; remove it")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        raise InputError(f"{path}, line {error.lineno}: {what}") from error
    return stack[0].children[0]
