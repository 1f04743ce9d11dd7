"""A home of the sandbox at a broker, as Home Assistant sees it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from broker import PASSWORD, PATIENCE, USER, Broker, Watcher, running, watching

from certificates import make_authority

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/slackwater-api"
HOME = Path(__file__).parent / "home.yaml"

SETTINGS = """
[store]
url = "sqlite:{folder}/kept.db"

[serve]
drain_seconds = 0

[sandbox]
scenario = "{home}"
clock = "{clock}"

[environments.sandbox]
base = {{ listen = "127.0.0.1:0" }}
auth = {{ listen = "127.0.0.1:0" }}
link = {{ listen = "127.0.0.1:0" }}

[admin]
listen = "127.0.0.1:0"

[home_assistant]
broker = "{broker}"
user_name = "{user}"
password_file = "{folder}/password"
user = "ada"
"""

ENTITIES = {
    "sensor": ["plan", "reason", "next_start", "next_end", "planned_energy", "planned_cost"],
    "switch": ["charge_now"],
}


@dataclass
class Service:
    """A running service, and its log."""

    process: subprocess.Popen[str]
    admin: str = ""
    log: list[Any] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def read_log(self) -> None:
        """Keep each line of the log until the process ends."""
        assert self.process.stderr
        for line in self.process.stderr:
            with self.changed:
                self.log.append(json.loads(line))
                self.changed.notify_all()

    def until_told(self, message: str, count: int = 1) -> Any:
        """Wait until the log has a message so many times, and return the last one."""

        def find() -> Any:
            found = [event for event in self.log if event["message"] == message]
            return found[-1] if len(found) >= count else None

        with self.changed:
            assert self.changed.wait_for(find, PATIENCE), self.log[-20:]
            return find()

    def ask(self, path: str) -> tuple[int, Any]:
        """Ask the operators' address."""
        connection = http.client.HTTPConnection(urlsplit(self.admin).netloc)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        is_json = answer.getheader("content-type", "").startswith("application/json")
        return answer.status, json.loads(text) if is_json else text

    def charges(self, device_id: str) -> Any:
        """Tell whether a vehicle charges, by its last reading."""
        _, device = self.ask(f"/devices/{device_id}")
        return device["reading"]["facts"]["vehicle"]["charging"]["is_charging"]

    def until_charging(self, device_id: str, *, is_charging: bool) -> None:
        """Ask until a vehicle charges, or does not."""
        end = time.monotonic() + PATIENCE
        while self.charges(device_id) is not is_charging:
            assert time.monotonic() < end, self.log[-20:]


@contextmanager
def serving(
    folder: Path, broker: Broker, *, clock: str = "60x", more: str = "", typed: str = PASSWORD
) -> Iterator[Service]:
    """Serve the home, with the broker in the settings."""
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: run `make home-assistant`"
    folder.mkdir()
    secret = folder / "password"
    secret.write_text(typed + "\n")
    secret.chmod(0o600)
    settings = folder / "settings.toml"
    words = {"folder": folder, "home": HOME, "clock": clock, "broker": broker.url, "user": USER}
    settings.write_text(SETTINGS.format(**words) + more)
    command = [str(PROGRAM), "serve", "--config", str(settings)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        service = Service(process)
        reader = threading.Thread(target=service.read_log)
        reader.start()
        try:
            service.admin = service.until_told("listening")["admin"]
            yield service
        finally:
            process.terminate()
            reader.join()


def find_device(watcher: Watcher) -> str:
    """Wait for the switch of the car, and return the identifier of the device."""

    def find() -> str | None:
        for one in watcher.messages:
            levels = one.topic.split("/")
            if levels[:2] == ["homeassistant", "switch"] and one.text:
                return levels[3].removesuffix("_charge_now")
        return None

    found: str = watcher.until(find)
    return found


def discovery_topics(device: str) -> list[str]:
    return [
        f"homeassistant/{component}/slackwater/{device}_{entity}/config"
        for component, entities in ENTITIES.items()
        for entity in entities
    ]


def state_of(watcher: Watcher, device: str, **members: str) -> Any:
    """Wait until the state of a device has these members, and return it."""
    topic = f"slackwater/{device}/state"
    has = members.items()
    return watcher.until_last(
        topic, lambda one: one.text and all(one.json[name] == value for name, value in has)
    ).json


@dataclass
class Scene:
    """A broker, a service and a watcher that met."""

    broker: Broker
    service: Service
    watcher: Watcher
    device: str


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with (
        running(tmp_path / "broker") as broker,
        watching(broker) as watcher,
        serving(tmp_path / "service", broker) as service,
    ):
        yield Scene(broker, service, watcher, find_device(watcher))


def test_a_car_is_discovered_and_charges_when_home_assistant_says_so(scene: Scene) -> None:
    watcher, device = scene.watcher, scene.device
    state = state_of(watcher, device, plan="waiting", charge_now="OFF")
    # The night tariff begins at 22:00 in Oslo.
    assert state["next_start"] == "2026-01-14T21:00:00Z"
    assert state["attributes"]["currency"] == "NOK"
    assert state["energy_kwh"] > 20
    assert state["cost"] > 10
    assert state["reason"].startswith("Wed 22:00 to Wed 23:57: charges ")
    # Whoever subscribes later gets all of it from the broker.
    with watching(scene.broker) as later:
        for topic in discovery_topics(device):
            message = later.until_last(topic, lambda one: one.text)
            assert message.is_retained
            entity = message.json
            assert entity["unique_id"] == f"slackwater_{device}_{topic.split('/')[3][37:]}"
            assert entity["state_topic"] == f"slackwater/{device}/state"
            assert entity["device"]["name"] == "Fjord Skagen"
        online = later.until_last("slackwater/availability", lambda one: one.text == "online")
        assert online.is_retained
        assert later.until_last(f"slackwater/{device}/state", lambda one: one.text).is_retained
    # The charger has no policy, and is not shown.
    shown = {one.topic.split("/")[1] for one in watcher.messages if one.topic.endswith("/state")}
    assert shown == {device}
    assert scene.service.charges(device) is False
    watcher.write(f"slackwater/{device}/charge_now/set", "ON")
    state = state_of(watcher, device, plan="override", charge_now="ON")
    assert state["reason"].startswith("Charges now")
    # The command went to the vendor: the next readings say that the car charges.
    scene.service.until_charging(device, is_charging=True)
    watcher.write(f"slackwater/{device}/charge_now/set", "OFF")
    state_of(watcher, device, plan="waiting", charge_now="OFF")
    scene.service.until_charging(device, is_charging=False)


def test_a_killed_service_is_marked_as_unavailable(scene: Scene) -> None:
    scene.watcher.until_last("slackwater/availability", lambda one: one.text == "online")
    scene.service.process.send_signal(signal.SIGKILL)
    scene.watcher.until_last("slackwater/availability", lambda one: one.text == "offline")
    with watching(scene.broker) as later:
        offline = later.until_last("slackwater/availability", lambda one: one.text)
        assert (offline.text, offline.is_retained) == ("offline", True)


def test_what_is_no_command_is_a_line_in_the_log_and_nothing_else(scene: Scene) -> None:
    watcher, device = scene.watcher, scene.device
    watcher.until_last("slackwater/availability", lambda one: one.text == "online")
    topic = f"slackwater/{device}/charge_now/set"
    watcher.write(topic, "charge, please " + "!" * 100)
    told = scene.service.until_told("a command that is neither ON nor OFF")
    assert (told["device_id"], len(told["given"]), told["level"]) == (device, 40, "WARN")
    for other in ("my-car", "5b0f6a54-7f0c-4b5e-9d3c-51ac8a7e0001"):
        watcher.write(f"slackwater/{other}/charge_now/set", "ON")
    scene.service.until_told("a command for a device that is not shown", count=2)
    # A later command is obeyed, and its state is the first one that is an override.
    watcher.write(topic, "ON")
    state_of(watcher, device, charge_now="ON")
    assert not [one for one in scene.service.log if one["level"] == "ERROR"]


def test_home_assistant_that_starts_gets_everything_again(scene: Scene) -> None:
    watcher, device = scene.watcher, scene.device
    watcher.until_last("slackwater/availability", lambda one: one.text == "online")
    topics = [*discovery_topics(device), f"slackwater/{device}/state", "slackwater/availability"]

    def count() -> dict[str, int]:
        return {topic: sum(one.topic == topic for one in watcher.messages) for topic in topics}

    before = count()
    watcher.write("homeassistant/status", "offline")
    watcher.write("homeassistant/status", "online")
    watcher.until(lambda: all(count()[topic] > before[topic] for topic in topics))
    assert count()[topics[0]] == before[topics[0]] + 1


def test_a_broker_that_comes_back_gets_everything_again(tmp_path: Path) -> None:
    with (
        running(tmp_path / "broker") as broker,
        watching(broker) as watcher,
        serving(tmp_path / "service", broker) as service,
    ):
        device = find_device(watcher)
        broker.kill()
        service.until_told("no connection to the broker of Home Assistant")
        assert service.ask("/health/ready")[0] == 200
        assert "slackwater_home_assistant_connected 0" in service.ask("/metrics")[1]
        # It has kept nothing.
        broker.start()
        with watching(broker) as later:
            for topic in discovery_topics(device):
                later.until_last(topic, lambda one: one.text)
            later.until_last("slackwater/availability", lambda one: one.text == "online")
            later.write(f"slackwater/{device}/charge_now/set", "ON")
            state_of(later, device, charge_now="ON")
        assert "slackwater_home_assistant_connected 1" in service.ask("/metrics")[1]
        assert PASSWORD not in json.dumps(service.log)


def test_what_an_earlier_run_left_is_taken_back_or_ignored(tmp_path: Path) -> None:
    gone = "5b0f6a54-7f0c-4b5e-9d3c-51ac8a7e0001"
    old = [
        f"homeassistant/sensor/slackwater/{gone}_plan/config",
        f"slackwater/{gone}/state",
    ]
    other = "homeassistant/sensor/another/device/config"
    with running(tmp_path / "broker") as broker, watching(broker) as watcher:
        for topic in [*old, other]:
            watcher.write(topic, "{}", is_retained=True)
        with serving(tmp_path / "service", broker, clock="0x") as service:
            device = find_device(watcher)
            command = f"slackwater/{device}/charge_now/set"
            for topic in old:
                watcher.until_last(topic, lambda one: not one.text)
            watcher.write(command, "ON", is_retained=True)
            state_of(watcher, device, charge_now="ON")
            watcher.write(command, "OFF")
            state_of(watcher, device, charge_now="OFF")
            service.process.terminate()
            service.process.wait()
            watcher.until_last("slackwater/availability", lambda one: one.text == "offline")
        # The broker gives the next run the command that it has kept.
        with serving(tmp_path / "next", broker, clock="0x") as service:
            service.until_told("a retained command was ignored")
            state_of(watcher, device, charge_now="OFF")
        last = watcher.last(other)
        assert last
        assert last.text == "{}"


def test_a_wrong_password_is_told_and_the_service_is_healthy(tmp_path: Path) -> None:
    with (
        running(tmp_path / "broker") as broker,
        serving(tmp_path / "service", broker, typed="wrong-and-long") as service,
    ):
        told = service.until_told("no connection to the broker of Home Assistant")
        assert told["broker"] == broker.url
        assert "NotAuthorized" in told["error"]
        assert service.ask("/health/ready")[0] == 200
        assert "wrong-and-long" not in json.dumps(service.log)


def test_a_broker_by_tls_has_to_have_a_certificate_of_the_authority(tmp_path: Path) -> None:
    authority, stranger = tmp_path / "authority", tmp_path / "stranger"
    for folder in (authority, stranger):
        folder.mkdir()
        make_authority(folder)
    with running(tmp_path / "broker", certificates=authority) as broker:
        trusted = f'ca_file = "{authority / "ca.pem"}"'
        with (
            watching(broker) as watcher,
            serving(tmp_path / "service", broker, more=trusted),
        ):
            find_device(watcher)
        other = f'ca_file = "{stranger / "ca.pem"}"'
        with serving(tmp_path / "refused", broker, more=other) as service:
            told = service.until_told("no connection to the broker of Home Assistant")
            assert "certificate" in told["error"].lower()
