"""Examples of the guide that need a running service, in the order in which a reader meets them."""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from server import SERVER

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402

import page_examples as pages  # noqa: E402  they stand next to the other programs

DOCS = ROOT / "docs"


@pytest.fixture
def addresses(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """Addresses that the guide names, and those of a server that runs here."""
    settings = {
        "SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/kept.db",
        "SLACKWATER_GRID__DSO__ZONE": "NO1",
        "SLACKWATER_GRID__DSO__AREA": "north",
        "SLACKWATER_GRID__DSO__FAIL_SAFE_KW": "50",
    }
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with sandboxes.spawn(SERVER, ["--scenario", "street"], settings) as process:
        running = sandboxes.listening(process)
        yield {
            "http://127.0.0.1:8080": running.base,
            "http://127.0.0.1:8081": running.auth,
            "http://127.0.0.1:8083": running.admin,
            "http://127.0.0.1:9000": f"http://127.0.0.1:{port}",
            '("127.0.0.1", 9000)': f'("127.0.0.1", {port})',
        }
        running.end()


def test_service_interface_and_webhooks(
    addresses: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Examples in Python read the files that those of the shell write.
    monkeypatch.chdir(tmp_path)
    environment = {
        **os.environ,
        "PATH": f"{SERVER.parent}{os.pathsep}{os.environ['PATH']}",
        "SLACKWATER_ADMIN_URL": addresses["http://127.0.0.1:8083"],
    }
    for name in ("service.md", "interface.md", "webhooks.md", "grid-orders.md"):
        text = (DOCS / "how-to" / name).read_text(encoding="utf-8")
        for shown, real in addresses.items():
            text = text.replace(shown, real)
        page = tmp_path / name
        page.write_text(text, encoding="utf-8")
        assert pages.run_page(page, tmp_path, environment) >= 2
    assert {"town.yaml", "truth.json", "receivers.json"} <= {
        path.name for path in tmp_path.iterdir()
    }


def versioned_names(part: Any) -> Iterator[str]:
    """Members of the OpenAPI document whose description names a version."""
    if isinstance(part, list):
        for one in part:
            yield from versioned_names(one)
    elif isinstance(part, dict):
        for name, value in part.get("properties", {}).items():
            if re.search(r"version(s before)? 20\d\d", value.get("description", "")):
                yield name
        for value in part.values():
            yield from versioned_names(value)


def test_what_differs_between_versions_is_in_the_guide() -> None:
    page = (DOCS / "how-to/interface.md").read_text(encoding="utf-8")
    guide = page.partition("\n## Versions\n")[2].partition("\n## ")[0]
    source = (ROOT / "api/wire/src/version/dated.rs").read_text(encoding="utf-8")
    versions = re.findall(r'rename = "([\d-]+)"', source)
    steps = [f"From {old} to {new}" for old, new in itertools.pairwise(versions)]
    assert re.findall(r"^### (.*)$", guide, re.MULTILINE) == steps
    document = json.loads((ROOT / "api/http/openapi.json").read_text(encoding="utf-8"))
    names = set(versioned_names(document["components"]["schemas"]))
    paths = {
        path
        for path, operations in document["paths"].items()
        for operation in operations.values()
        if "In version 20" in operation["summary"]
    }
    assert len(names) > 5
    assert len(paths) > 3
    assert {name for name in names | paths if f"`{name}`" not in guide} == set()


def problem_rows(text: str) -> list[str]:
    """Rows of a table of problems: status, title and meaning."""
    return re.findall(r"^\| \d{3} \| [^|]+ \| [^|]+ \|$", text, re.MULTILINE)


def test_every_kind_of_problem_is_explained() -> None:
    source = (ROOT / "api/http/src/problem.rs").read_text(encoding="utf-8")
    kinds = re.findall(r'Kind\s*=\s*\(\s*StatusCode::\w+,\s*[^,]+,\s*"([^"]+)"', source)
    page = (DOCS / "how-to/interface.md").read_text(encoding="utf-8")
    rows = problem_rows(page)
    assert sorted(row.split(" | ")[1] for row in rows) == sorted(kinds)
    document = json.loads((ROOT / "api/http/openapi.json").read_text(encoding="utf-8"))
    assert sorted(problem_rows(document["info"]["description"])) == sorted(rows)
    assert sorted(document["components"]["schemas"]["Problem"]["properties"]["title"]["enum"]) == (
        sorted(kinds)
    )


def test_every_refusal_of_a_token_is_explained() -> None:
    source = (ROOT / "api/http/src/problem.rs").read_text(encoding="utf-8")
    own = source.partition("impl OauthError {")[2].partition("impl IntoResponse for OauthError")[0]
    words = set(re.findall(r'"([a-z]+(?:_[a-z]+)+)"', own))
    assert len(words) > 4
    page = (DOCS / "how-to/interface.md").read_text(encoding="utf-8")
    section = page.partition("\n## Authentication\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \| \d", section, re.MULTILINE)) == words


def test_each_problem_of_an_operation_is_named() -> None:
    document = json.loads((ROOT / "api/http/openapi.json").read_text(encoding="utf-8"))
    titles = set(document["components"]["schemas"]["Problem"]["properties"]["title"]["enum"])
    named: set[str] = set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                own = set(re.findall(r"(?:^|\. )([A-Z][\w ]*): ", answer["description"])) & titles
                assert bool(own) == (not status.startswith("2")), (method, path, status)
                named |= own
    # Paths that are no operation, and log-ins on the pages of link sessions.
    assert titles - named == {"Not Found", "Method Not Allowed", "Failed Auth Challenge"}
