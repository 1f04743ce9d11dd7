"""Writes examples of the OpenAPI document from the golden answers of the service.

The answers are in ``tests/golden/service``; tests of the service compare them with those of a
sandbox. Of each operation the first call that succeeded is an example. Identifiers that were drawn
at random have others in their place, and so have tokens and cursors.

Usage: ``python scripts/openapi_examples.py``
"""

import itertools
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden/service"
WRITTEN = ROOT / "api/http/examples.json"
TRANSCRIPTS = ("examples.txt", "reads.txt", "changes.txt")
EVENT = "user:vendor-action:updated"
LATEST = "2024-10-01"
WORDS = {
    "linkToken": "LINK_TOKEN",
    "linkUrl": "http://127.0.0.1:8082/link/LINK_TOKEN",
    "after": "CURSOR",
    "before": "CURSOR",
}
# Parameters and members of bodies that the interface ignores are in no example.
IGNORED = ("startDate=", "fields[]=")
IGNORED_MEMBERS = {"colorScheme", "forceLanguage"}
Json = Any


def identifier(name: str) -> str:
    """Identifier in the place of one that was drawn at random."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://example.org/{name}"))


def unmasked(text: str, transcript: str) -> Json:
    """JSON of a transcript, with identifiers in the place of their numbers."""
    return json.loads(with_identifiers(text, transcript), object_hook=with_words)


def with_identifiers(text: str, transcript: str) -> str:
    """A text of a transcript, with identifiers in the place of their numbers."""
    return re.sub(r"#(\d+)", lambda number: identifier(f"{transcript}/{number[1]}"), text)


def with_words(members: dict[str, Json]) -> dict[str, Json]:
    """An object with words in the place of what is made with a random key."""
    return {name: WORDS[name] if value == "(random)" else value for name, value in members.items()}


def calls(transcript: str) -> Iterator[dict[str, Json]]:
    """Calls of a transcript that succeeded, without their operation.

    Those in an older version have the headers that name it and the user.
    """
    lines = (GOLDEN / transcript).read_text(encoding="utf-8").partition("\nevents\n")[0]
    for asked, status, answer in re.findall(r"^(\S.*)\n    (\d+) (.*)$", lines, re.MULTILINE):
        method, path, *rest = asked.split(" ", 2)
        if status not in {"200", "204"} or any(word in path for word in IGNORED):
            continue
        call: dict[str, Json] = {"method": method, "path": with_identifiers(path, transcript)}
        if rest and rest[0].startswith("("):
            version = rest[0].partition(")")[0].removeprefix("(")
            call["headers"] = {"Service-User-Id": "ada", "Service-Version": version}
        elif rest:
            body = unmasked(rest[0], transcript)
            call["body"] = without_ignored(body) if isinstance(body, dict) else body
        if status == "200":
            call["answer"] = unmasked(answer, transcript)
        yield call


def without_ignored(body: dict[str, Json]) -> dict[str, Json]:
    """A body with the members that the interface reads."""
    return {name: value for name, value in body.items() if name not in IGNORED_MEMBERS}


def event() -> dict[str, Json]:
    """Body of the first event of a limited current, by the template of the guide."""
    told = (GOLDEN / "changes.txt").read_text(encoding="utf-8").partition("\nevents\n")[2]
    limited = (line for line in told.splitlines() if '"maxCurrent"' in line)
    line = next(line for line in limited if '"PENDING"' in line)
    _, name, user, data = line.split(" ", 3)
    guide = (ROOT / "docs/how-to/webhooks.md").read_text(encoding="utf-8")
    template = json.loads(guide.partition("echo '")[2].partition("'")[0])
    parts = {
        "{name}": name,
        "{id}": identifier("event"),
        "{version}": LATEST,
        "{user}": user,
        "{data}": unmasked(data, "changes.txt"),
    }
    return {member: parts[part] for member, part in template.items()}


def is_of_oldest_only(operations: dict[str, Json]) -> bool:
    """Whether the operations of a path exist in the oldest version alone."""
    shared = next(iter(operations.values()))
    return any(one["name"] == "Service-User-Id" for one in shared["parameters"])


def examples(paths: dict[str, Json]) -> str:
    """The file of examples, for operations with these paths."""
    # A word of a path comes before a parameter: `/chargers/actions/{actionId}`.
    known = sorted(paths, key=lambda path: (path.count("/{"), path))
    old = {path for path in known if is_of_oldest_only(paths[path])}
    patterns = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in known}
    found: dict[str, dict[str, Json]] = {}
    for call in itertools.chain.from_iterable(map(calls, TRANSCRIPTS)):
        plain = call["path"].partition("?")[0]
        path = next((path for path in known if patterns[path].fullmatch(plain)), None)
        if path is not None and ("headers" in call) == (path in old):
            operation = f"{call.pop('method')} {path}"
            found.setdefault(operation, {"operation": operation, **call})
    written = {"calls": list(found.values()), "event": event()}
    return json.dumps(written, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Writes the file."""
    document = json.loads((ROOT / "api/http/openapi.json").read_text(encoding="utf-8"))
    WRITTEN.write_text(examples(document["paths"]), encoding="utf-8")


if __name__ == "__main__":
    main()
