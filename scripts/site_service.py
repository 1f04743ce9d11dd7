"""Pages of the reference that are generated from the service: HTTP, settings, scenarios."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from site_tables import table

ROOT = Path(__file__).resolve().parent.parent
Json = Any


def parameter_row(parameter: Json) -> tuple[str, ...]:
    """Row of a parameter: name, place, type, meaning."""
    schema = parameter["schema"]
    values = ", ".join(f"`{value}`" for value in schema.get("enum", []))
    return (
        f"`{parameter['name']}`",
        parameter["in"],
        values or type_of(schema),
        parameter.get("description", ""),
    )


def type_of(schema: Json) -> str:
    """Type of a JSON schema in a few words; objects of a name are links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(type_of(one) for one in schema[word]))
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    kinds = schema.get("type", "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    texts = [
        f"list of {type_of(schema['items'])}" if kind == "array" and "items" in schema else kind
        for kind in kinds
    ]
    return " or ".join(texts)


def operation_lines(path: str, method: str, operation: Json, level: str = "####") -> Iterator[str]:
    """Section of one operation."""
    yield f"{level} {method.upper()} `{path}`"
    yield ""
    yield operation["summary"]
    yield ""
    if "description" in operation:
        yield operation["description"]
        yield ""
    shared = {"Service-Version"}
    parameters = [item for item in operation.get("parameters", []) if item["name"] not in shared]
    yield from table(
        ("Parameter", "In", "Type", "Meaning"), [parameter_row(item) for item in parameters]
    )
    body = operation.get("requestBody")
    if body is not None:
        yield f"Body: {content_type(body)}."
        yield ""
    answers = operation["responses"].items()
    rows = [
        (f"`{status}`", content_type(answer), answer["description"]) for status, answer in answers
    ]
    yield from table(("Status", "Body", "Meaning"), rows)
    for answer in operation["responses"].values():
        yield from example_lines(answer)


def example_lines(body: Json) -> Iterator[str]:
    """Example of the content of a request or response, if it has one."""
    for content in body.get("content", {}).values():
        if "example" in content:
            yield from ("```json", json.dumps(content["example"], indent=2), "```", "")


def content_type(body: Json) -> str:
    """Type of the content of a request or response; a dash if there is none."""
    kinds = [
        type_of(kind["schema"]) for kind in body.get("content", {}).values() if "schema" in kind
    ]
    return " or ".join(dict.fromkeys(kinds)) or "—"


def schema_lines(name: str, schema: Json, level: str = "###") -> Iterator[str]:
    """Section of one named schema, with a row for each member."""
    yield f"{level} {name}"
    yield ""
    yield schema.get("description", "")
    yield ""
    required = schema.get("required", [])
    rows = [
        (f"`{member}`", type_of(inner), "yes" if member in required else "", described(inner))
        for member, inner in schema.get("properties", {}).items()
    ]
    yield from table(("Member", "Type", "Required", "Meaning"), rows)
    if not rows:
        yield f"Type: {type_of(schema)}."
        yield ""


def described(schema: Json) -> str:
    """Description of a schema, with its default and its range."""
    notes = [schema.get("description", "")]
    if schema.get("default") not in (None, [], {}):
        notes.append(f"Default: `{json.dumps(schema['default'])}`.")
    ends = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"))
        if key in schema
    ]
    if ends:
        notes.append(" ".join(ends).capitalize() + ".")
    return " ".join(notes)


HTTP_INTRO = """\
Every request may have the header `Service-Version`; without it the version of the client holds.
`slackwater-api openapi` prints the document from which this page is made.
"""


def http_page() -> str:
    """Operations and objects of the HTTP interface, from its OpenAPI document."""
    document = json.loads((ROOT / "api/http/openapi.json").read_text(encoding="utf-8"))
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            section = by_tag.setdefault(operation["tags"][0], [])
            section += operation_lines(path, method, operation)
    lines = ["# HTTP", "", document["info"]["description"], "", HTTP_INTRO, "## Operations", ""]
    for tag, section in by_tag.items():
        lines += [f"### {tag}", "", *section]
    lines += ["## Events", ""]
    for name, methods in document["webhooks"].items():
        for method, operation in methods.items():
            lines += operation_lines(name, method, operation, "###")
            lines += example_lines(operation["requestBody"])
    lines += ["## Objects", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += schema_lines(name, schema)
    return "\n".join(lines)


def setting_rows(schema: Json, table_schema: Json, prefix: str = "") -> Iterator[tuple[str, ...]]:
    """Rows of all settings below a table: name, type, default, meaning, example."""
    for name, given in table_schema.get("properties", {}).items():
        path, member, described_by = f"{prefix}{name}", given, given
        while (inner := inner_of(member)) is not None:
            path += inner[0]
            member = inner[1]
            if "$ref" in member:
                member = schema["$defs"][member["$ref"].rpartition("/")[2]]
        if member.get("properties"):
            yield from setting_rows(schema, member, f"{path}.")
            continue
        default = described_by.get("default")
        yield (
            f"`{path}`",
            setting_type(member),
            "" if default in (None, [], {}) else f"`{toml(default)}`",
            described_by.get("description", ""),
            ", ".join(f"`{toml(example)}`" for example in described_by.get("examples", [])),
        )


def inner_of(schema: Json) -> tuple[str, Json] | None:
    """What is in a table by names of choice or in a list of tables, with the mark for it."""
    if "$ref" in schema:
        return "", schema
    for choice in schema.get("anyOf", []):
        if choice.get("type") != "null":
            return "", choice
    if isinstance(schema.get("additionalProperties"), dict):
        return ".NAME", schema["additionalProperties"]
    if "items" in schema and not isinstance(schema["items"].get("type"), str):
        return "[]", schema["items"]
    return None


def setting_type(schema: Json) -> str:
    """Type of a setting in words, for people who do not read JSON Schema."""
    if "enum" in schema or "oneOf" in schema:
        words = schema.get("enum") or [choice["const"] for choice in schema["oneOf"]]
        return " or ".join(f"`{word}`" for word in words)
    kinds = schema.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    word = " or ".join(TYPES[kind] for kind in kinds if kind != "null")
    if schema.get("format") == "date-time":
        word = "time"
    ends = [
        f"{mark} {schema[key]:g}"
        for key, mark in (
            ("minimum", "from"),
            ("exclusiveMinimum", "above"),
            ("maximum", "to"),
        )
        if schema.get(key) and schema[key] < WIDEST
    ]
    return " ".join([word, *ends])


def toml(value: Json) -> str:
    """Value as it is written in TOML, as far as settings need it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def settings_page() -> str:
    """Settings of the service, from their JSON Schema, and the help of its program."""
    schema = json.loads((ROOT / "deploy/settings.schema.json").read_text(encoding="utf-8"))
    lines = ["# Settings and program of the service", "", SETTINGS_INTRO, ""]
    head = ("Setting", "Type", "Default", "Meaning", "Example")
    for section, given in schema["properties"].items():
        inner, member = given, given
        heading = section
        while (found := inner_of(member)) is not None:
            heading, member = heading + found[0], found[1]
            if "$ref" in member:
                member = schema["$defs"][member["$ref"].rpartition("/")[2]]
        lines += [f"## `[{heading}]`", "", inner.get("description", ""), ""]
        lines += table(head, list(setting_rows(schema, member)))
    help_text = (ROOT / "tests/golden/service/help.txt").read_text(encoding="utf-8")
    lines += ["## The program `slackwater-api`", "", "```text", help_text.rstrip(), "```", ""]
    return "\n".join(lines)


SETTINGS_INTRO = """\
Settings come from a file in TOML (`--config`), then from the environment, where
`SLACKWATER_STORE__URL` is `url` in `[store]`, then from arguments. `NAME` stands for a name of your
choice, `[]` for a list of tables. [How to run the service](../how-to/service.md) shows a file.

`slackwater-api config check` checks a file without a start, and tells each wrong setting with its
name, its value and what would be right. `config print` shows what is in force, without secrets.
`config schema` prints the JSON Schema from which this page is made; editors complete and check a
file that begins with `#:schema ./settings.schema.json`."""

TYPES = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "`true` or `false`",
    "array": "list",
    "object": "table",
}
WIDEST = 255  # ends of whole numbers that only say how they are stored


def scenario_page() -> str:
    """Fields of a scenario, from its JSON schema, and the street as an example."""
    schema = json.loads((ROOT / "scenarios/schema.json").read_text(encoding="utf-8"))
    lines = ["# Scenarios", "", schema["description"], "", SCENARIO_INTRO, ""]
    lines += schema_lines("The file", schema, "##")
    for name, inner in schema["$defs"].items():
        lines += schema_lines(name, inner, "##")
    street = (ROOT / "scenarios/street.yaml").read_text(encoding="utf-8")
    lines += ["## Example: the street", "", "```yaml", street.rstrip(), "```", ""]
    return "\n".join(lines)


SCENARIO_INTRO = """\
A scenario is a file in YAML: `slackwater-api serve --scenario FILE`. All errors of a file are
reported together, each with its line and field. `slackwater-api sandbox generate --homes 5000
--seed 7` writes one, and `slackwater-api sandbox schema` prints the JSON schema, which editors read
for completion."""


def pages() -> dict[str, str]:
    """All pages of this file by their paths in the site."""
    return {
        "reference/http.md": http_page(),
        "reference/settings.md": settings_page(),
        "reference/scenarios.md": scenario_page(),
    }
