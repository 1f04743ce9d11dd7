"""Pages of the reference that are generated from the service: HTTP, settings, scenarios."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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


def operation_lines(path: str, method: str, operation: Json) -> Iterator[str]:
    """Section of one operation."""
    yield f"#### {method.upper()} `{path}`"
    yield ""
    yield operation["summary"]
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
    lines += ["## Objects", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += schema_lines(name, schema)
    return "\n".join(lines)


STRUCT = re.compile(r"^pub struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(
    r"(?P<doc>(?:^    ///[^\n]*\n)+)(?P<attributes>(?:^    #\[[^\n]*\n)*)"
    r"^    pub (?P<name>\w+): (?P<type>.+),$",
    re.MULTILINE,
)
OTHER_SETTINGS = ("control/src/policy/assumptions.rs", "api/store/src/subscription.rs")
REQUIREMENTS = re.compile(r" \((?:[A-Z]{2,4}-\d+(?: to |, )?)+\)")


def structs() -> dict[str, list[tuple[str, str, str]]]:
    """Fields (name, type, meaning) of each struct in the sources of the settings."""
    files = sorted((ROOT / "api/service/src").glob("config/*.rs"))
    files += [ROOT / "api/service/src/config.rs", *(ROOT / path for path in OTHER_SETTINGS)]
    found = {}
    for path in files:
        for name, body in STRUCT.findall(path.read_text(encoding="utf-8")):
            found[name] = [field_of(match) for match in FIELD.finditer(body)]
    return found


def field_of(match: re.Match[str]) -> tuple[str, str, str]:
    """Name in the file, type and meaning of a field."""
    renamed = re.search(r'rename = "(\w+)"', match["attributes"])
    doc = " ".join(line.strip().removeprefix("///").strip() for line in match["doc"].splitlines())
    return renamed[1] if renamed else match["name"], match["type"], REQUIREMENTS.sub("", doc)


def setting_rows(
    known: Mapping[str, list[tuple[str, str, str]]], name: str, prefix: str
) -> Iterator[tuple[str, str, str]]:
    """Rows of all settings below a struct, with their names within its section."""
    for member, kind, doc in known[name]:
        inner = next((word for word in re.findall(r"\w+", kind) if word in known), None)
        path = f"{prefix}{member}"
        if "BTreeMap" in kind:
            path += ".NAME"
        if "Vec<" in kind:
            path += "[]"
        if inner is None:
            yield f"`{path}`", kind, doc
        else:
            yield from setting_rows(known, inner, f"{path}.")


def settings_page() -> str:
    """Settings of the service, from the sources that read them, and the help of its program."""
    known = structs()
    lines = ["# Settings and program of the service", "", SETTINGS_INTRO, ""]
    for member, kind, doc in known["Config"]:
        inner = next(word for word in re.findall(r"\w+", kind) if word in known)
        section = f"{member}.NAME" if "BTreeMap" in kind else member
        lines += [f"## `[{section}]`", "", doc, ""]
        rows = [(name, plain_type(kind), doc) for name, kind, doc in setting_rows(known, inner, "")]
        lines += table(("Setting", "Type", "Meaning"), rows)
    help_text = (ROOT / "tests/golden/service/help.txt").read_text(encoding="utf-8")
    lines += ["## The program `slackwater-api`", "", "```text", help_text.rstrip(), "```", ""]
    return "\n".join(lines)


SETTINGS_INTRO = """\
Settings come from a file in TOML (`--config`), then from the environment, where
`SLACKWATER_STORE__URL` is `url` in `[store]`, then from arguments. A value that cannot be used is
refused at start, with its name and where it came from. `NAME` stands for a name of your choice,
`[]` for a list of tables. [How to run the service](../how-to/service.md) shows a whole file."""

TYPES = {
    "u8": "whole number",
    "u32": "whole number",
    "f64": "number",
    "bool": "`true` or `false`",
    "String": "text",
    "PathBuf": "path",
    "Power": "kW",
    "Energy": "kWh",
    "Percent": "percent",
    "Money": "money",
    "DateTime<Utc>": "time",
    "Tz": "IANA time zone",
    "Listen": "address and port",
    "PublicUrl": "URL",
    "StoreUrl": "URL",
    "AdminToken": "text",
    "Currency": "currency",
    "Proxies": "list of networks",
}


def plain_type(kind: str) -> str:
    """Type of a setting in words, for people who do not read Rust."""
    inner = re.sub(r"^Option<(.+)>$", r"\1", kind)
    word = TYPES.get(inner, "")
    if not word and inner.startswith(("Vec<", "BTreeSet<")):
        word = "list"
    return f"{word}, optional".removeprefix(", ") if inner != kind else word


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
