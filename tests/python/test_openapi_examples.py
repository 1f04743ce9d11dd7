"""Examples of the OpenAPI document: they have the form that it promises, and can be sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from server import SERVER

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import openapi_examples  # noqa: E402  they stand next to the other programs
import sandboxes  # noqa: E402

DOCUMENT = json.loads((ROOT / "api/http/openapi.json").read_text(encoding="utf-8"))
CALLS = json.loads((ROOT / "api/http/examples.json").read_text(encoding="utf-8"))["calls"]
Json = Any


class Command(NamedTuple):
    """Command of an operation in the document."""

    method: str
    path: str
    text: str


def contents(operation: Json) -> Iterator[Json]:
    """Contents of the request and the answers of an operation."""
    for body in (operation.get("requestBody", {}), *operation["responses"].values()):
        yield from body.get("content", {}).values()


def operations() -> Iterator[tuple[str, str, Json]]:
    """Method, path and description of each operation."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_every_example_has_the_form_of_its_schema() -> None:
    checked = 0
    for method, path, operation in operations():
        for content in contents(operation):
            if "example" not in content:
                continue
            schema = {**content["schema"], "components": DOCUMENT["components"]}
            form = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
            faults = form.iter_errors(content["example"])
            told = [f"{fault.instance_path}: {fault.message}" for fault in faults]
            assert told == [], (method, path)
            checked += 1
    assert checked > len(CALLS) / 2, "most calls have a body"


def test_examples_are_the_golden_answers_of_the_service() -> None:
    written = (ROOT / "api/http/examples.json").read_text(encoding="utf-8")
    assert openapi_examples.examples(DOCUMENT["paths"]) == written


def test_an_example_of_another_form_is_found() -> None:
    schema = {"$ref": "#/components/schemas/Charger", "components": DOCUMENT["components"]}
    form = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    example = DOCUMENT["paths"]["/chargers/{chargerId}"]["get"]["responses"]["200"]["content"][
        "application/json"
    ]["example"]
    assert form.is_valid(example)
    assert not form.is_valid({**example, "id": 7})
    assert not form.is_valid({**example, "lastSeen": "yesterday"})


def commands() -> list[Command]:
    """Commands whose answers do not depend on the time of day or on an earlier one."""
    shown = [
        Command(method, path, operation["description"].removeprefix("```sh\n").removesuffix("```"))
        for method, path, operation in operations()
        if "description" in operation
    ]
    made = ("{actionId}", "{scheduleId}")
    lasting = [one for one in shown if not any(part in one.path for part in made)]
    return [one for one in lasting if one.method in {"GET", "PUT"} or one.path.endswith("/link")]


def test_commands_are_answered_by_a_sandbox(tmp_path: Path) -> None:
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/examples.db"}
    tried = commands()
    assert len(tried) > 20
    with sandboxes.spawn(SERVER, sandboxes.STREET, settings) as process:
        running = sandboxes.listening(process, is_welcome=True)
        variables = {**os.environ, "BASE": running.base, "TOKEN": running.token}
        try:
            for one in tried:
                text = one.text.replace("curl ", "curl --silent --fail-with-body ", 1)
                shell = ["sh", "-c", text]
                done = subprocess.run(
                    shell, env=variables, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{one.text}\n{done.stdout}{done.stderr}"
        finally:
            running.end()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call["operation"])
def test_the_document_shows_the_recorded_call(call: Json) -> None:
    method, _, path = call["operation"].partition(" ")
    operation = DOCUMENT["paths"][path][method.lower()]
    assert f'"$BASE{call["path"]}"' in operation["description"]
    for name, value in call.get("headers", {}).items():
        assert f'--header "{name}: {value}"' in operation["description"]
    shown = [content["example"] for content in contents(operation) if "example" in content]
    assert shown == [call[part] for part in ("body", "answer") if part in call]
