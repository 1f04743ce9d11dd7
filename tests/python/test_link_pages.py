from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from server import SERVER

from devtools import Window

ROOT = Path(__file__).parents[2]

# Sizes of a small phone, a phone, and a desk.
WIDTHS = (320, 390, 1280)

WIDEST = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Served:
    """A server with the street, and a token for it."""

    base: str
    link: str
    admin: str
    token: str
    store: str

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.base).netloc)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        content = json.load(answer)
        connection.close()
        assert answer.status == 200, content
        made: dict[str, Any] = content
        return made

    def get(self, path: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.base).netloc)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        got: dict[str, Any] = json.load(connection.getresponse())
        connection.close()
        return got

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What the server's command line says to words."""
        environment = {
            **os.environ,
            "SLACKWATER_STORE__URL": self.store,
            "SLACKWATER_ADMIN_URL": self.admin,
        }
        command = [str(SERVER), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def session(self, **more: Any) -> dict[str, Any]:
        """A session that ends at a path of the server itself: tests ask no one else."""
        body = {
            "scopes": ["vehicle:read:data", "vehicle:control:charging", "charger:read:data"],
            "redirectUri": f"{self.base}/linked",
            **more,
        }
        return self.post("/users/visitor/link", body)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert SERVER.is_file(), f"{SERVER} is missing: run `make build`"
    folder = tmp_path_factory.mktemp("link")
    store = f"sqlite:{folder}/kept.db"
    # What the specification does not name, the operator does.
    names = {
        "SLACKWATER_EVENTS__USER_CHANGED": "account news",
        "SLACKWATER_SERVE__DRAIN_SECONDS": "0",
    }
    environment = {**os.environ, **names, "SLACKWATER_STORE__URL": store}
    command = [str(SERVER), "serve", "--listen", "127.0.0.1:0", "--scenario", "street", "--welcome"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        token = ""
        for line in process.stdout:
            token = token or line.partition("Bearer ")[2].partition("'")[0]
            if line.startswith("Documentation"):
                break
        events = (json.loads(line) for line in process.stderr)
        addresses = next(event for event in events if event.get("message") == "listening")
        yield Served(
            base=addresses["base"],
            link=addresses["link"],
            admin=addresses["admin"],
            token=token,
            store=store,
        )
        process.terminate()


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    with Window(tmp_path) as window:
        # The pages have none; with them off, nothing can hide that one is needed.
        window.scripts(on=False)
        yield window


def heading(window: Window) -> str:
    text: str = window.evaluate("document.querySelector('h1').textContent")
    return text


def looks_right(window: Window) -> None:
    """What holds for every page, on every screen."""
    for width in WIDTHS:
        window.resize(width, 844)
        assert window.evaluate(WIDEST) <= 0, (heading(window), width)
        small = window.evaluate(
            "[...document.querySelectorAll('button, a, input:not([type=hidden])')]"
            ".filter(e => Math.min((e.closest('label') ?? e).getBoundingClientRect().height,"
            " (e.closest('label') ?? e).getBoundingClientRect().width) < 44)"
            ".map(e => e.outerHTML)"
        )
        assert not small, "what is touched is at least 44 pixels wide and high"
    window.resize(390, 844)
    unnamed = window.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden])')]"
        ".filter(e => !e.labels.length).length"
    )
    assert unnamed == 0
    for landmark in ("main", "h1", "title", "html[lang]"):
        found = window.evaluate(f"document.querySelectorAll('{landmark}').length")
        assert found == 1, landmark


def hosts(window: Window) -> set[str]:
    sent = [event for event in window.events if event.get("method") == "Network.requestWillBeSent"]
    urls = [urlsplit(event["params"]["request"]["url"]) for event in sent]
    return {url.netloc for url in urls if url.scheme in {"http", "https"}}


def logged(window: Window) -> list[dict[str, Any]]:
    entries = [event for event in window.events if event.get("method") == "Log.entryAdded"]
    return [event["params"]["entry"] for event in entries]


def complaints(window: Window) -> list[str]:
    """What the browser wrote to its log, beside the statuses of pages."""
    return [entry["text"] for entry in logged(window) if entry["source"] != "network"]


def test_a_password_is_shown_without_scripts_and_the_enter_key_logs_in(
    served: Served, window: Window
) -> None:
    window.open(served.session()["linkUrl"])
    window.click("button[value=VOLTBOX]")
    window.click("#user_name", shows=False)
    window.type("ada")
    window.click("button[value=show]")
    assert heading(window) == "Log in to Voltbox Home"
    looks_right(window)
    assert window.evaluate("document.querySelector('#password').type") == "text"
    assert window.evaluate("document.querySelector('#user_name').value") == "ada"
    assert window.evaluate("document.activeElement.id") == "password"
    window.click("button[value=hide]")
    assert window.evaluate("document.querySelector('#password').type") == "password"
    window.click("button[value=show]")
    window.type("sandbox")
    assert window.evaluate("document.querySelector('#password').value") == "sandbox"
    window.press("Enter", shows=True)
    assert heading(window) == "Choose your devices"


def test_a_person_links_a_car_on_a_phone_without_scripts(served: Served, window: Window) -> None:
    session = served.session()
    window.open(session["linkUrl"])
    assert heading(window) == "Which brand is your device?"
    looks_right(window)

    window.click("button[value=BOREAL]")
    assert heading(window) == "Log in to Boreal"
    looks_right(window)
    window.click("#user_name", shows=False)
    window.type("bo")
    window.click("#password", shows=False)
    window.type("wrong")
    window.click("button.main")
    assert "does not know this name" in window.evaluate("document.body.textContent")
    assert window.evaluate("document.activeElement.id") == "password"
    assert window.evaluate("document.querySelector('#user_name').value") == "bo"
    assert window.evaluate("document.title").startswith("Error: ")
    looks_right(window)
    window.type("sandbox")
    window.press("Enter", shows=True)

    assert heading(window) == "Enter your code"
    looks_right(window)
    window.click("#code", shows=False)
    window.type("000000")
    window.press("Enter", shows=True)
    assert window.evaluate("document.querySelector('#code').ariaInvalid") == "true"
    wrong = window.evaluate("document.querySelector('#code-wrong').textContent")
    assert wrong.startswith("This is not the code that was sent.")
    window.type("246 810")
    window.press("Enter", shows=True)

    assert heading(window) == "Choose your devices"
    looks_right(window)
    assert window.evaluate("document.querySelectorAll('.grants li').length") == 2
    window.click("button[value=allow]")
    end = urlsplit(window.evaluate("location.href"))
    assert end.path == "/linked"
    assert parse_qs(end.query) == {"state": [session["linkToken"]]}
    vehicles = served.get("/users/visitor/vehicles")["data"]
    assert [vehicle["vendor"] for vehicle in vehicles] == ["BOREAL"]

    window.open(session["linkUrl"])
    assert heading(window) == "This link has been used"
    looks_right(window)
    assert hosts(window) == {urlsplit(served.link).netloc, urlsplit(served.base).netloc}
    assert not complaints(window)


def test_a_person_says_no_with_the_keyboard_alone(served: Served, window: Window) -> None:
    session = served.session(vendor="VOLTBOX", scopes=["charger:read:data"])
    window.open(session["linkUrl"])
    assert heading(window) == "Log in to Voltbox Home"
    window.press("Tab")
    assert window.evaluate("document.activeElement.id") == "user_name"
    window.type("ada")
    window.press("Tab")
    window.type("sandbox")
    window.press("Enter", shows=True)
    window.press("Tab")
    assert window.evaluate("document.activeElement.type") == "checkbox"
    # Where the focus is can be seen.
    ring = window.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"
    window.press("Tab")
    assert window.evaluate("document.activeElement.value") == "allow"
    window.press("Tab")
    window.press("Enter", shows=True)
    query = parse_qs(urlsplit(window.evaluate("location.href")).query)
    assert query["error"] == ["access_denied"]
    assert query["state"] == [session["linkToken"]]
    assert "error_description" in query
    assert not complaints(window)


def test_languages_and_colours(served: Served, window: Window) -> None:
    colours = set()
    for language, words in (("de", "Von welcher Marke"), ("nb", "Hvilket merke"), ("en", "Which")):
        session = served.session(forceLanguage=language)
        for scheme in ("light", "dark"):
            window.colours(scheme)
            window.open(session["linkUrl"])
            assert heading(window).startswith(words)
            looks_right(window)
            colours.add(window.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


def test_no_other_page_may_show_ours(served: Served, window: Window, tmp_path: Path) -> None:
    session = served.session()
    page = tmp_path / "other.html"
    page.write_text(f"<iframe src='{session['linkUrl']}'></iframe>")
    window.open(page.as_uri())
    refused = [entry["text"] for entry in logged(window)]
    assert any("frame" in text.lower() for text in refused), refused


def test_the_command_line_answers_a_session_and_shows_events(
    served: Served,
) -> None:
    session = served.session()
    words = ("link", "accept", session["linkUrl"], "--vendor", "BOREAL", "--user", "fern")
    wrong = served.command(*words, "--code", "000000")
    assert wrong.returncode == 1
    assert "Failed Auth Challenge" in wrong.stderr
    right = served.command(*words, "--code", "246810")
    assert right.returncode == 0, right.stderr
    done = json.loads(right.stdout)
    assert parse_qs(urlsplit(done["redirect"]).query) == {"state": [session["linkToken"]]}
    linked = {vehicle["id"] for vehicle in served.get("/users/visitor/vehicles")["data"]}
    assert {device["id"] for device in done["devices"]} <= linked
    assert served.command("link", "deny", session["linkUrl"]).returncode == 1

    tail = served.command("events", "tail", "--once")
    events = [json.loads(line) for line in tail.stdout.splitlines()]
    places = [event["seq"] for event in events]
    assert places == sorted(set(places))
    of_visitor = [event for event in events if event["user"] == "visitor"]
    assert {"vendor": "BOREAL", "credentials_valid": True} in [e["data"] for e in of_visitor]
    rest = served.command("events", "tail", "--once", "--after", str(places[-2]))
    assert json.loads(rest.stdout.splitlines()[0])["seq"] == places[-1]


class Receiver(BaseHTTPRequestHandler):
    """Puts what it gets into a queue, after refusing the first of it."""

    got: ClassVar[Queue[tuple[dict[str, str], Any]]] = Queue()
    answers: ClassVar[list[int]] = [500]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.got.put((headers, body))
        self.send_response(self.answers.pop() if self.answers else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_the_command_line_subscribes_a_receiver(served: Served, tmp_path: Path) -> None:
    client = json.loads(served.command("client", "list").stdout)[0]["client_id"]
    template, secret = tmp_path / "template.json", tmp_path / "secret"
    template.write_text('{"event": "{name}", "id": "{id}", "valid": "{data.credentials_valid}"}')
    secret.write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        words = ("events", "subscribe", "mine", "--client", client, "--url", url)
        files = ("--template", str(template), "--secret-file", str(secret))
        assert served.command(*words, *files).returncode == 0
        again = served.command(*words)
        assert again.returncode == 1
        assert "subscription `mine` is there already" in again.stderr

        link = ("link", "accept", served.session()["linkUrl"], "--vendor", "FJORD_MOTORS")
        assert served.command(*link, "--user", "ada").returncode == 0
        # The first attempt is refused, and the second comes seconds later.
        sent = [Receiver.got.get(timeout=60) for _ in range(2)]
        server.shutdown()
    (first, body), (second, body_again) = sent
    assert body == body_again
    assert (body["event"], body["valid"]) == ("account news", True)
    assert first["webhook-id"] == second["webhook-id"] == body["id"]
    assert int(second["webhook-timestamp"]) > int(first["webhook-timestamp"])
    assert second["webhook-signature"].startswith("v1,")

    listed = served.command("events", "list").stdout
    (row,) = json.loads(listed)
    assert (row["name"], row["has_template"], row["is_signed"]) == ("mine", True, True)
    assert "MfKQ" not in listed
    assert served.command("events", "remove", "mine").returncode == 0
    gone = served.command("events", "remove", "mine")
    assert (gone.returncode, "made by hand not found" in gone.stderr) == (1, True)
