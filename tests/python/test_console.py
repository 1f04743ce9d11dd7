"""The operators' console in a browser, on the evening that `make serve` starts with."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import axe_core_python
import pytest

from server import SERVER
from slackwater import cli

from devtools import Window

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402  it stands next to the other programs

AXE = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}

WIDTHS = (360, 1440, 3840)
CUT_OFF = (
    "[...document.querySelectorAll('.scroll, pre')]"
    ".filter(part => part.scrollWidth > part.clientWidth).map(part => part.innerText)"
)
WIDEST = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Served:
    """The server of the evening, and the pages that a visitor comes to."""

    admin: str
    pages: dict[str, str]

    def command(self, *words: str) -> str:
        environment = {**os.environ, "SLACKWATER_ADMIN_URL": self.admin}
        done = subprocess.run(
            [str(SERVER), *words], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("console")
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/kept.db"}
    arguments = ("--config", "scenarios/evening.toml", "--clock", "0x", "--welcome")
    with contextlib.chdir(ROOT):
        process = sandboxes.spawn(SERVER, arguments, settings)
    with process:
        running = sandboxes.listening(process, is_welcome=True)
        made = Served(running.admin, {})
        try:
            made.pages = pages_of(made)
            yield made
        finally:
            running.end()


def pages_of(served: Served) -> dict[str, str]:
    """Pages to look at, once devices are read, planned for, and read again."""
    for _ in range(3):
        served.command("sandbox", "clock", "--step", "300")
    devices = json.loads(served.command("sandbox", "devices"))
    ids = {device["name"]: device["linked_as"][0] for device in devices if device["linked_as"]}
    client = json.loads(served.command("client", "list"))[0]["client_id"]
    return {
        "overview": "/console",
        "homes": "/console/homes",
        "home": f"/console/home?client={client}&user=rosa",
        "vehicle": f"/console/devices/{ids['rosa-car']}",
        "charger": f"/console/devices/{ids['lena-charger']}",
        "shared": f"/console/devices/{ids['hana-car']}",
        "meter": f"/console/devices/{ids['fern-meter']}",
        "areas": "/console/areas",
        "area": "/console/area?zone=NO1&area=oslo-east",
        "vendors": "/console/vendors",
        "receivers": "/console/receivers",
        "events": "/console/events",
        "refusal": "/console/find?q=nobody",
    }


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    with Window(tmp_path, width=1440, height=900) as window:
        yield window


def text(window: Window) -> str:
    shown: str = window.evaluate("document.querySelector('main').innerText")
    return shown


def violations(window: Window) -> list[str]:
    """What axe-core finds against WCAG 2.1 AA, contrasts among it."""
    window.evaluate(AXE)
    script = f"axe.run(document, {json.dumps(RULES)}).then(done => JSON.stringify(done.violations))"
    done = window.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
    found = json.loads(done["result"]["value"])
    return [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]]


def test_every_page_is_readable_in_both_colours(served: Served, window: Window) -> None:
    # Set to a folder to look at the pages.
    pictures = os.environ.get("CONSOLE_PICTURES")
    backgrounds = set()
    for scheme in ("light", "dark"):
        window.colours(scheme)
        for name, page in served.pages.items():
            # The largest screen differs from the others in its sizes alone.
            for width in WIDTHS if scheme == "light" else WIDTHS[:2]:
                window.resize(width, 900)
                window.open(served.admin + page)
                assert window.evaluate(WIDEST) <= 0, (name, width)
                assert window.evaluate(CUT_OFF) == [], (name, width)
                if pictures and width < 3840:
                    window.picture(Path(pictures) / f"{name}-{scheme}-{width}.png")
            window.resize(1440, 900)
            assert violations(window) == [], (name, scheme)
            backgrounds.add(window.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == 2


def test_pages_load_nothing_and_need_no_script(served: Served, window: Window) -> None:
    window.scripts(on=False)
    for name, page in served.pages.items():
        window.open(served.admin + page)
        assert window.evaluate("document.querySelectorAll('h1').length") == 1, name
    sent = [event for event in window.events if event.get("method") == "Network.requestWillBeSent"]
    urls = [urlsplit(event["params"]["request"]["url"]) for event in sent]
    asked = {url.netloc for url in urls if url.scheme in {"http", "https"}}
    assert asked == {urlsplit(served.admin).netloc}
    # Each page is one request.
    assert len([url for url in urls if url.scheme == "http"]) == len(served.pages)


def test_a_plan_is_drawn_with_its_reasons_and_its_proof(
    served: Served, window: Window, tmp_path: Path
) -> None:
    window.open(served.admin + served.pages["vehicle"])
    shown = text(window)
    assert "proved cheapest" in shown
    assert "in the cheapest hours before" in shown
    assert "GBP" in shown
    drawn = window.evaluate(
        "[...document.querySelectorAll('.chart.wide path')]"
        ".map(path => path.getAttribute('d').length)"
    )
    assert len(drawn) == 2
    assert min(drawn) > 20
    plan = json.loads(served.command("plan", "show", "rosa-car"))
    assert len(plan["reasons"]) == window.evaluate(
        "document.querySelectorAll('.reasons li').length"
    )
    assert len(plan["sentences"]) == len(plan["reasons"])
    assert "in the cheapest hours before" in plan["sentences"][0]
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(plan["saved"]))
    assert cli.main(["replay", str(saved)]) == 0


def test_an_area_is_drawn_against_its_limit(served: Served, window: Window) -> None:
    window.open(served.admin + served.pages["area"])
    shown = text(window)
    assert "40 kW" in shown
    assert "kept" in shown
    assert window.evaluate("document.querySelectorAll('path.limit').length") == 2


def test_a_visitor_finds_a_device_by_keyboard(served: Served, window: Window) -> None:
    window.open(served.admin + "/console")
    window.press("Tab")
    assert window.evaluate("document.activeElement.textContent") == "Skip to content"
    window.evaluate("document.querySelector('input[name=q]').focus()")
    window.type("ro")
    window.press("Enter", shows=True)
    assert text(window).startswith("Homes of ")
    window.click("tbody a")
    assert window.evaluate("document.querySelector('h1').textContent") == "rosa"
    device = served.pages["vehicle"].rpartition("/")[2]
    window.evaluate("document.querySelector('input[name=q]').focus()")
    window.type(device)
    window.press("Enter", shows=True)
    assert window.evaluate("location.pathname") == served.pages["vehicle"]


def test_a_search_without_a_result_says_what_was_looked_for(served: Served, window: Window) -> None:
    window.open(served.admin + "/console/find?q=%3Cb%3Enobody")
    assert window.evaluate("document.querySelector('h1').textContent") == "Nothing found"
    assert "No device has the ID or the vendor's ID <b>nobody," in text(window)


def test_new_events_appear_by_themselves(served: Served, window: Window) -> None:
    window.open(served.admin + "/console/events")
    window.evaluate(
        "window.first = new Promise(done => new MutationObserver(() => done("
        "document.querySelector('tbody tr').innerText)).observe("
        "document.querySelector('tbody'), {childList: true}))"
    )
    served.command("command", "override", "lena-charger")
    served.command("sandbox", "clock", "--step", "60")
    done = window.call(
        "Runtime.evaluate", expression="window.first", awaitPromise=True, returnByValue=True
    )
    assert "lena" in done["result"]["value"]


def test_the_documentation_loads_nothing_from_elsewhere(served: Served, window: Window) -> None:
    window.open(served.admin + "/docs/")
    shown: Any = window.call(
        "Runtime.evaluate",
        expression="new Promise(done => { const look = () => document.querySelector('.opblock')"
        " ? done(document.body.innerText) : requestAnimationFrame(look); look(); })",
        awaitPromise=True,
        returnByValue=True,
    )
    # Paths have places where a line may break.
    words = shown["result"]["value"].replace("\u200b", "")
    for width in WIDTHS:
        window.resize(width, 900)
        assert window.evaluate(WIDEST) <= 0, width
    assert "/chargers/{chargerId}/smart-charging-policy" in words
    pictures = os.environ.get("CONSOLE_PICTURES")
    if pictures:
        window.picture(Path(pictures) / "docs.png")
    sent = [event for event in window.events if event.get("method") == "Network.requestWillBeSent"]
    urls = [urlsplit(event["params"]["request"]["url"]) for event in sent]
    asked = {url.netloc for url in urls if url.scheme in {"http", "https"}}
    assert asked == {urlsplit(served.admin).netloc}
