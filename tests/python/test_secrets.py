"""Known secrets are used, and then looked for wherever they must not be."""

from __future__ import annotations

import base64
import http.client
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from server import SERVER

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402  they stand next to the other programs

ADMIN_TOKEN = "operators-token-3f7c9a1e"  # noqa: S105  made up
PASSWORD = "password-of-a-user-81d2"  # noqa: S105  made up
WRONG_SECRET = "wrong-secret-of-a-client-55aa"  # noqa: S105  made up

SETTINGS = f"""
[admin]
token = "{ADMIN_TOKEN}"
"""

SCENARIO = f"""
users: [{{id: ada, password: {PASSWORD}}}]
vendors: [{{code: VOLTBOX, display_name: Voltbox, kinds: [charger]}}]
locations: [{{id: home, user: ada, time_zone: Europe/Oslo, latitude: 59.9, longitude: 10.8}}]
chargers: [{{id: box, user: ada, vendor: VOLTBOX, location: home}}]
"""


@dataclass
class Used:
    """Secrets that were used, and every place where text of the service ends up.

    Attributes:
        secrets: The secrets by their names.
        answers: Answers to requests that were refused.
        log: What the service wrote to its log.
        files: The files of its database.
    """

    secrets: dict[str, str]
    answers: list[str] = field(default_factory=list)
    log: str = ""
    files: dict[str, bytes] = field(default_factory=dict)


def ask(
    url: str, method: str, path: str, body: str | None, headers: dict[str, str]
) -> tuple[http.client.HTTPResponse, str]:
    """An answer and its text."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


def token_of(running: sandboxes.Running, client_id: str, secret: str) -> tuple[int, str]:
    """The answer of the address that issues tokens."""
    basic = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    headers = {**FORM, "Authorization": f"Basic {basic}"}
    form = "grant_type=client_credentials"
    answer, text = ask(running.auth, "POST", "/oauth2/token", form, headers)
    return answer.status, text


def log_in(url: str, used: Used) -> None:
    """Walk through the pages of a link session, and enter the password."""
    path, cookie = urlsplit(url).path, ""
    for step in range(3):
        answer, page = ask(url, "GET", path, None, {"Cookie": cookie} if cookie else {})
        assert answer.status == 200, page
        cookie = (answer.headers["Set-Cookie"] or cookie).partition(";")[0]
        hidden = dict(re.findall(r'name="(form|step)" value="([^"]*)"', page))
        entered = {"vendor": "VOLTBOX", "user_name": "ada", "password": PASSWORD}
        body = urlencode({**hidden, **entered})
        answer, page = ask(url, "POST", path, body, {**FORM, "Cookie": cookie})
        assert answer.status == 303, f"{step}: {page}"
        if hidden["step"] not in {"choose", "login"}:
            break
    used.secrets["cookie of a browser"] = cookie.partition("=")[2]


def refused(running: sandboxes.Running, used: Used) -> Iterator[str]:
    """Answers to requests with secrets in places where they are refused."""
    everything = json.dumps(used.secrets)
    token = used.secrets["access token"]
    bearer = {"Authorization": f"Bearer {token}", **JSON}
    yield token_of(running, "nobody", WRONG_SECRET)[1]
    yield ask(running.base, "GET", "/users", None, {"Authorization": f"Bearer {token}x"})[1]
    yield ask(running.base, "POST", "/users/u/link", everything, bearer)[1]
    yield ask(running.base, "PUT", "/tariffs/t", everything, bearer)[1]
    yield ask(running.admin, "GET", "/clients", None, {"Authorization": f"Bearer {WRONG_SECRET}"})[
        1
    ]
    admin = {"Authorization": f"Bearer {ADMIN_TOKEN}", **JSON}
    yield ask(running.admin, "POST", "/clients", '{"environment": 5}', admin)[1]
    yield ask(running.admin, "GET", "/clients", None, admin)[1]
    yield ask(running.admin, "GET", "/metrics", None, admin)[1]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Used:
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "slackwater.toml").write_text(SETTINGS)
    (folder / "homes.yaml").write_text(SCENARIO)
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/secrets.db", "SLACKWATER_LOG": "trace"}
    arguments: list[str | Path] = [
        "--config",
        folder / "slackwater.toml",
        "--scenario",
        folder / "homes.yaml",
    ]
    found = Used({"token of the operators": ADMIN_TOKEN, "wrong secret": WRONG_SECRET})
    with sandboxes.spawn(SERVER, arguments, settings) as process:
        running = sandboxes.listening(process)
        admin = {"Authorization": f"Bearer {ADMIN_TOKEN}", **JSON}
        wish = '{"environment": "sandbox", "name": "own"}'
        made = json.loads(ask(running.admin, "POST", "/clients", wish, admin)[1])
        found.secrets["secret of a client"] = made["client_secret"]
        status, text = token_of(running, made["client_id"], made["client_secret"])
        assert status == 200, text
        found.secrets["access token"] = json.loads(text)["access_token"]
        bearer = {"Authorization": f"Bearer {found.secrets['access token']}", **JSON}
        link = '{"scopes": ["charger:read:data"], "vendorType": "charger"}'
        answer, text = ask(running.base, "POST", "/users/ada/link", link, bearer)
        assert answer.status == 200, text
        linked = json.loads(text)
        found.secrets["link token"] = linked["linkToken"]
        log_in(linked["linkUrl"], found)
        found.secrets["password of a user"] = PASSWORD
        found.answers = list(refused(running, found))
        found.files = {path.name: path.read_bytes() for path in folder.glob("secrets.db*")}
        running.end()
    found.log = json.dumps(running.log)
    return found


def names_in(used: Used, text: bytes) -> set[str]:
    """Names of the secrets that a text holds."""
    return {name for name, secret in used.secrets.items() if secret.encode() in text}


def test_no_log_holds_a_secret(used: Used) -> None:
    assert len(used.log) > 10_000
    assert names_in(used, used.log.encode()) == set()


def test_no_answer_holds_a_secret(used: Used) -> None:
    for answer in used.answers:
        assert names_in(used, answer.encode()) == set(), answer


def test_no_file_of_the_database_holds_a_secret(used: Used) -> None:
    """Tokens and secrets of clients are hashed there, what a user entered is sealed."""
    assert {"secrets.db", "secrets.db-wal"} <= set(used.files)
    for name, content in used.files.items():
        assert names_in(used, content) == set(), name
