"""The night in production: chargers by OCPP in place of simulated manufacturers.

Every car of the town is charged by a charge point of the package `ocpp`, in front of a simulated
charger; the service knows it by its messages alone. The program `simulated_production` serves
production by the clock that is stepped, and simulates the homes.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from night_drive import Night
from night_points import VERSIONS, Charger, Fleet
from night_profiles import Outlet
from night_service import AnswerError, Receiver, Service, instant
from night_town import (
    EARLY,
    ENDS,
    OUTAGE_OF,
    SCHEDULED_MODELS,
    STARTS,
    Town,
    cars_of,
)
from sandboxes import Json, Running, listening, uuid_of

VENDOR = "OCPP"
OTHER = "NIGHT"
SHARE_WITH_OUTAGE = 5
"""The network of one charger in so many is down in the outage."""

SHARE_UNPLANNED = 8
"""Of one charger in so many nobody wants anything."""

LIMIT_SECONDS = 900
"""Lifetime of a limit. Looks at the time are a minute apart."""

SETTINGS = """
[serve]
drain_seconds = 0

[admin]
listen = "127.0.0.1:0"

[zones.NO1]
currency = "NOK"

[zones.GB]
currency = "GBP"

[environments.production]
base = {{ listen = "127.0.0.1:0" }}
auth = {{ listen = "127.0.0.1:0" }}
link = {{ listen = "127.0.0.1:0" }}

[environments.production.integrations.chargers]
type = "ocpp"
listen = "{address}"
security_profile = 1
state_folder = "{folder}/chargers"
limit_seconds = {limit_seconds}
meter_interval_seconds = 300

[environments.production.integrations.chargers.chargers]
"""

CHARGER = "{name} = {{ phases = {phases}, current_max_amps = {amps}, safe_current_amps = 0 }}\n"

IDLE = {"least": 0, "most": 0}
"""Chargers obey their charge points at once."""

DEVICES = ("chargers", "vehicles", "hvacs", "inverters", "batteries", "meters")
POLICIES = ("flex_policies", "vehicle_policies", "charger_policies")


def with_charge_points(town: Town, seed: int) -> Town:
    """Reduce a town to homes with a charger and its car, which only the charger knows."""
    chance = random.Random(f"charge points {seed}")
    made = town.scenario
    chargers = {charger["id"]: dict(charger) for charger in made["chargers"]}
    vehicles = {car["charger"]: dict(car) for car in made["vehicles"] if car.get("charger")}
    scenario = {**made, **{name: [] for name in (*DEVICES, *POLICIES)}}
    scenario.pop("samples", None)
    scenario["vendors"] = [
        {"code": code, "display_name": code.title(), "kinds": ["charger"], "command_seconds": IDLE}
        for code in (OTHER, OUTAGE_OF)
    ]
    scheduled = set()
    for number, name in enumerate(sorted(chargers.keys() & vehicles.keys())):
        charger, car = chargers[name], vehicles[name]
        for gone in ("incapable", "interventions"):
            charger.pop(gone, None)
        charger["vendor"] = OTHER if number % SHARE_WITH_OUTAGE else OUTAGE_OF
        car.pop("vendor", None)
        scenario["chargers"].append(charger)
        scenario["vehicles"].append(car)
        if car["id"].startswith(SCHEDULED_MODELS):
            scheduled.add(car["id"])
        elif number % SHARE_UNPLANNED:
            policy = {
                "charger": name,
                "deadline": f"{chance.choice((5, 6))}:{chance.choice((0, 30)):02}".zfill(5),
                "charging_duration": f"01:{chance.choice((0, 15, 30, 45)):02}",
            }
            scenario["charger_policies"].append(policy)
    places = {charger["location"] for charger in scenario["chargers"]}
    homes = {name: home for name, home in town.homes.items() if name in places}
    owners = {home.user for home in homes.values()}
    scenario["locations"] = [one for one in made["locations"] if one["id"] in places]
    scenario["users"] = [one for one in made["users"] if one["id"] in owners]
    cars = cars_of(scenario, homes, scheduled)
    by_charger = {car["id"]: chargers[car["charger"]] for car in scenario["vehicles"]}
    cars = {
        name: replace(car, device=by_charger[name]["id"], vendor=by_charger[name]["vendor"])
        for name, car in cars.items()
    }
    return Town(scenario, homes, cars, town.rates)


def settings_of(town: Town, folder: Path, address: str) -> str:
    """Return the settings of the service for the chargers of a town."""
    (folder / "chargers").mkdir()
    text = SETTINGS.format(folder=folder, address=address, limit_seconds=LIMIT_SECONDS)
    for charger in town.scenario["chargers"]:
        outlet = charger["outlet"]
        text += CHARGER.format(
            name=json.dumps(charger["id"]), phases=outlet["phases"], amps=outlet["amps"]
        )
    return text


class Homes:
    """The simulated homes: orders to the program, one at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._turn = threading.Lock()
        self.secrets: dict[str, Json] = self._read()

    def _read(self) -> Json:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            message = "the program has ended"
            raise AnswerError(message)
        return json.loads(line)

    def order(self, line: str) -> Json:
        """Give an order, and return its answer."""
        with self._turn:
            print(line, file=self._process.stdin, flush=True)
            answer = self._read()
        if isinstance(answer, dict) and "error" in answer:
            message = f"{line}: {answer['error']}"
            raise AnswerError(message)
        return answer

    def limit(self, name: str, amps: float) -> Json:
        """Limit a charger, and return its reading."""
        return self.order(f"limit {amps!r} {name}")


class ChargePointService(Service):
    """Production by a stepped clock, with charge points."""

    environment = "production"

    def __init__(
        self, server: Path, program: Path, folder: Path, town: Town, receiver: Receiver, limit: str
    ) -> None:
        self._program = program
        self._scenario = folder / "town.json"
        address = f"127.0.0.1:{free_port()}"
        super().__init__(server, folder, settings_of(town, folder, address) + limit, receiver)
        # Hours of the night pass between two requests, and connections that rest are closed.
        for caller in (self.client, self.operator, self._auth):
            caller.headers["Connection"] = "close"
        self.fleet = Fleet(address, STARTS, self.homes.limit)
        for number, charger in enumerate(town.scenario["chargers"]):
            name, spec = charger["id"], charger["outlet"]
            outlet = Outlet(spec["phases"], spec.get("volts", 230.0), spec["amps"])
            version = VERSIONS[number % len(VERSIONS)]
            self.fleet.chargers[name] = Charger(self.fleet, name, version, outlet)

    def _start(self, binary: Path, config: Path, variables: Mapping[str, str]) -> Running:
        del binary
        process = subprocess.Popen(
            [self._program, config, self._scenario],
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running = listening(process, reads_output=False)
        self.homes = Homes(process)
        return running

    def connect(self, names: list[str]) -> None:
        """Connect charge points."""
        passwords = {name: secrets["password"] for name, secrets in self.homes.secrets.items()}
        self.fleet.wait(self.fleet.connect(names, passwords))

    def step(self, seconds: float) -> datetime:
        """Put the clock forward, and wait until service and charge points have done all."""
        # The clocks of the chargers go with the clock of the service.
        self.fleet.now += timedelta(seconds=seconds)
        now = instant(self.homes.order(f"step {seconds}")["now"])
        self.refresh_token(now)
        self.fleet.wait(self.fleet.live(now, self.homes.order("truth")))
        self.homes.order("settle")
        while self.fleet.wait(self.fleet.rest()):
            self.homes.order("settle")
        return now

    def link(self, user: str, charger: str) -> Json:
        """Link a charger as its owner does in a browser, and return it."""
        scopes = ["charger:read:data", "charger:control:charging"]
        body = {"vendor": VENDOR, "scopes": scopes, "redirectUri": "https://app.example.org/"}
        url = self.client.post(f"/users/{quote(user)}/link", body)["linkUrl"]
        cookie, html = "", ""
        for entered in (
            {},
            {"user_name": charger, "password": self.homes.secrets[charger]["code"]},
            {"device": f"{charger}/1", "do": "allow"},
        ):
            hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', html))
            form = urlencode({**hidden, **entered}) if entered else None
            status, cookie, html = browse(url, cookie, form)
            if status == 303:
                _, cookie, html = browse(url, cookie)
        (found,) = self.client.get(f"/users/{quote(user)}/chargers")["data"]
        return found


class ChargePointNight(Night):
    """Goes through a night in production."""

    service: ChargePointService

    def _find_devices(self) -> None:
        """Make homes and tariffs, have owners link their chargers, and connect these."""
        service, town = self.service, self.town
        owner = f"client={service.client_id}"
        for name, rates in town.rates.items():
            body = [{"name": rate, "cost": str(cost)} for rate, cost in rates.items()]
            service.client.put(f"/tariffs/{quote(name)}", body)
        for place in town.scenario["locations"]:
            order = {
                "client": service.client_id,
                "user": place["user"],
                "id": uuid_of(place["id"]),
                "time_zone": place["time_zone"],
                "zone": place["zone"],
                "area": place["area"],
            }
            service.operator.post("/locations", order)
            if place.get("tariff"):
                path = f"/tariffs/schedule?{owner}&location={order['id']}"
                given = place["tariff"]
                schedule = {"tariff_id": given["tariff"], "intervals": given["intervals"]}
                service.operator.put(path, schedule)
        for charger in town.scenario["chargers"]:
            found = service.link(charger["user"], charger["id"])
            self.record.ids[charger["id"]] = found["id"]
            path = f"/chargers/{found['id']}"
            service.client.put(path, {"chargingLocationId": uuid_of(charger["location"])})
        for policy in town.scenario["charger_policies"]:
            self._wish(policy["charger"], policy["deadline"], policy["charging_duration"])
        # A session belongs to the place that its charger had when it began.
        service.connect(list(service.fleet.chargers))
        service.step(0)
        self.record.seen_by = {car.name: car.device for car in town.cars.values()}

    def _wish(self, charger: str, deadline: str, duration: str) -> None:
        body = {"isEnabled": True, "deadline": deadline, "chargingDuration": duration}
        path = f"/chargers/{self.record.ids[charger]}/smart-charging-policy"
        self.service.client.put(path, body)

    def _change_minds(self) -> None:
        policies = self.town.scenario["charger_policies"]
        names = {car.device: car.name for car in self.town.cars.values()}
        for policy in self._chance.sample(policies, max(1, len(policies) // 20)):
            self._wish(policy["charger"], EARLY, policy["charging_duration"])
            self.record.early.append(names[policy["charger"]])

    def _vendor(self, conduct: str) -> None:
        made = self.town.scenario["chargers"]
        names = [charger["id"] for charger in made if charger["vendor"] == OUTAGE_OF]
        if conduct == "outage":
            self.service.fleet.wait(self.service.fleet.cut(names))
        else:
            self.service.connect(names)

    def _truth_of_cars(self) -> dict[str, Json]:
        truth = self.service.homes.order("truth")
        return {name: truth[name] for name in self.town.cars}

    def _truth_of(self, name: str) -> Json:
        return self.service.homes.order("truth")[name]

    def _wake_cars(self) -> None:
        """Nothing to wake: chargers are asked."""

    def _kinds(self) -> dict[str, str]:
        return dict.fromkeys(self.record.ids, "charger")

    def _read_homes(self) -> None:
        quarters = (ENDS - STARTS) // timedelta(minutes=15)
        metered = self.service.homes.order("metered")
        self.record.metered = {name: taken[:quarters] for name, taken in metered.items()}
        self.record.commands = [one.as_json() for one in self.service.fleet.received]


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def browse(url: str, cookie: str, form: str | None = None) -> tuple[int, str, str]:
    """Ask for a page, or send its form: its status, the cookie from then on, and its text."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc)
    headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    connection.request("POST" if form else "GET", path, form, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status not in (200, 302, 303):
        message = f"{url}: {answer.status} {text}"
        raise AnswerError(message)
    given = answer.getheader("set-cookie", "").partition(";")[0]
    return answer.status, given or cookie, text
