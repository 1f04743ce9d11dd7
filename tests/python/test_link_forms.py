"""Forms of the link pages that others send, sessions that others began, and addresses to go to.

A session is walked as a browser does it, over a socket: what a page says is used as it is, but for
what an attacker changes.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from server import SERVER

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402  they stand next to the other programs

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BACK = "https://app.example.org/linked"


class Page(NamedTuple):
    """A page as it came."""

    status: int
    location: str
    html: str

    @property
    def hidden(self) -> dict[str, str]:
        """Hidden fields of its form."""
        return dict(re.findall(r'name="(form|step)" value="([^"]*)"', self.html))


@dataclass
class Browser:
    """A browser at the address of a session."""

    url: str
    cookie: str = ""

    def ask(self, method: str, body: str | None = None, **headers: str) -> Page:
        """The page that a request gets. Its cookie is kept."""
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            own["Cookie"] = self.cookie
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, path, body, {**FORM, **own})
        answer = connection.getresponse()
        html = answer.read().decode()
        connection.close()
        self.cookie = (answer.headers["Set-Cookie"] or self.cookie).partition(";")[0]
        return Page(answer.status, answer.headers["Location"] or "", html)

    def send(self, page: Page, entered: dict[str, str], **headers: str) -> Page:
        """The answer to the form of a page."""
        return self.ask("POST", urlencode({**page.hidden, **entered}), **headers)

    def log_in(self, user: str) -> Page:
        """The page with the devices of an account."""
        for entered in ({"vendor": "VOLTBOX"}, {"user_name": user, "password": "sandbox"}):
            sent = self.send(self.ask("GET"), entered)
            assert sent.status == 303, sent.html
        page = self.ask("GET")
        assert page.hidden["step"] == "consent"
        return page


@dataclass
class Service:
    """A sandbox with a street."""

    running: sandboxes.Running
    visitors: int = 0

    def session(self) -> tuple[str, str]:
        """A user without devices, and the address of a link session for it."""
        self.visitors += 1
        user = f"visitor-{self.visitors}"
        wish = {"scopes": ["charger:read:data"], "redirectUri": BACK}
        return user, self.ask("POST", f"/users/{user}/link", wish)["linkUrl"]

    def chargers(self, user: str) -> list[str]:
        """Chargers that a user has linked."""
        return [one["id"] for one in self.ask("GET", f"/users/{user}/chargers")["data"]]

    def ask(self, method: str, path: str, body: object = None) -> sandboxes.Json:
        asker = sandboxes.Asker(self.running.base, self.running.token)
        status, answer = asker.ask(method, path, body)
        asker.close()
        assert status == 200, answer
        return answer


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("forms")
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/forms.db"}
    with sandboxes.spawn(SERVER, sandboxes.STREET, settings) as process:
        running = sandboxes.listening(process, is_welcome=True)
        try:
            yield Service(running)
            # Requests make no error. What its loops say while it stops is not looked at here.
            assert running.errors == []
        finally:
            running.end()


def allowed(page: Page) -> dict[str, str]:
    """What is entered to link the first device that a page offers."""
    device = re.search(r'name="device" value="([^"]*)"', page.html)
    assert device, page.html
    return {"do": "allow", "device": device[1]}


def test_a_form_without_its_word_or_of_another_site_links_nothing(service: Service) -> None:
    user, url = service.session()
    browser = Browser(url)
    page = browser.log_in("ada")
    allow = {**page.hidden, **allowed(page)}
    made_up = f"link={'A' * 43}"
    site = {"Origin": "https://evil.example", "Sec_Fetch_Site": "cross-site"}
    for name, sent in {
        "no word": browser.ask("POST", urlencode({**allow, "form": ""})),
        "word of nobody": browser.ask("POST", urlencode({**allow, "form": "A" * 43})),
        "no fields": browser.ask("POST", ""),
        "JSON": browser.ask("POST", json.dumps(allow), Content_Type="application/json"),
        "text": browser.ask("POST", "\n".join(f"{k}={v}" for k, v in allow.items())),
        "fields in the address": Browser(f"{url}?{urlencode(allow)}", browser.cookie).ask("POST"),
        "another site": browser.ask("POST", urlencode(allow), **site),
        "a site beside ours": browser.ask("POST", urlencode(allow), Sec_Fetch_Site="same-site"),
        "no cookie": Browser(url).ask("POST", urlencode(allow)),
        "cookie of nobody": Browser(url, made_up).ask("POST", urlencode(allow)),
        "cookie that is none": Browser(url, "link=short").ask("POST", urlencode(allow)),
    }.items():
        assert (sent.status, sent.location) == (403, ""), name
    # To open an address changes nothing, whatever it says.
    assert Browser(f"{url}?{urlencode(allow)}", browser.cookie).ask("GET").status == 200
    assert service.chargers(user) == []
    assert browser.ask("POST", urlencode(allow)).status == 302
    assert len(service.chargers(user)) == 1


def test_a_session_that_another_browser_began_is_not_continued(service: Service) -> None:
    """Neither is the account of the first one offered to the second, nor the other way round."""
    user, url = service.session()
    first, second = Browser(url), Browser(url)
    offered = first.log_in("ada")
    begun = second.ask("GET")
    assert begun.hidden["step"] == "choose"
    assert first.cookie != second.cookie
    theirs = second.log_in("bo")
    assert allowed(theirs) != allowed(offered)
    # What the first one was offered is over: the session is where the second one took it.
    late = first.send(offered, allowed(offered))
    assert (late.status, service.chargers(user)) == (303, [])
    assert first.ask("GET").hidden["step"] == "choose"
    # A device that the account does not have is not taken, whoever names it.
    foreign = second.send(theirs, allowed(offered))
    assert (foreign.status, service.chargers(user)) == (422, [])


@pytest.mark.parametrize("end", ["allow", "leave"])
def test_a_session_that_has_ended_is_not_replayed(service: Service, end: str) -> None:
    user, url = service.session()
    browser = Browser(url)
    page = browser.log_in("ada")
    form = {**allowed(page), "do": end}
    ended = browser.send(page, form)
    assert ended.status == 302
    assert urlsplit(ended.location)._replace(query="").geturl() == BACK
    assert ("error" in parse_qs(urlsplit(ended.location).query)) == (end == "leave")
    linked = service.chargers(user)
    assert len(linked) == (end == "allow")
    for again in (
        browser.send(page, allowed(page)),
        browser.send(page, {"do": "leave"}),
        browser.ask("GET"),
        Browser(url).ask("GET"),
        Browser(url).send(page, allowed(page)),
    ):
        assert (again.status, again.location) == (410, "")
        assert "<form" not in again.html
        assert BACK not in again.html
    assert service.chargers(user) == linked


def test_pages_lead_nowhere_but_to_themselves_and_to_the_address_of_the_client(
    service: Service,
) -> None:
    _, url = service.session()
    evil = "https://evil.example/"
    wishes = urlencode({"redirectUri": evil, "redirect_uri": evil, "next": evil, "state": "x"})
    browser = Browser(f"{url}?{wishes}")
    named = {"X_Forwarded_Host": "evil.example", "Host": "evil.example", "Referer": evil}
    page = browser.ask("GET", **named)
    assert "evil.example" not in page.html
    sent = browser.send(page, {"vendor": "VOLTBOX", "redirectUri": evil}, **named)
    assert (sent.status, sent.location) == (303, urlsplit(url).path)
    browser.cookie = ""
    page = browser.log_in("ada")
    ended = browser.send(page, {**allowed(page), "redirectUri": evil, "state": "x"}, **named)
    assert ended.status == 302
    assert urlsplit(ended.location)._replace(query="").geturl() == BACK
    assert parse_qs(urlsplit(ended.location).query)["state"] != ["x"]
    netloc = urlsplit(url).netloc
    for path in ("//evil.example/link/x", "/link//evil.example", "/link/%0d%0aLocation:%20x"):
        connection = http.client.HTTPConnection(netloc, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (404, None), path
        connection.close()
