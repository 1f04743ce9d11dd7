"""Every operation of ``openapi.json`` with things of another client and of another user.

What belongs to somebody else is answered as what nobody has, to the letter, and stays as it is. The
operations and all places of a request that can hold an identifier come from the document: a new one
fails here until it is known.
"""

from __future__ import annotations

import base64
import http.client
import json
import statistics
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import pytest

from server import SERVER

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import fuzz_api  # noqa: E402  they stand next to the other programs
import sandboxes  # noqa: E402

DOCUMENT = json.loads((ROOT / "api/http/openapi.json").read_text(encoding="utf-8"))
OLDEST = {"Service-Version": "2023-05-01"}

# Parameters that name something of a client, and members of bodies that do.
NAMING = {
    *("actionId", "areaId", "assetId", "batteryId", "chargerId", "hvacId", "inverterId"),
    *("policyId", "scheduleId", "tariffId", "userId", "vehicleId", "vendor", "zoneId"),
    *("after", "before", "locationId", "targetId", "chargingLocationId", "Service-User-Id"),
}
# All others: they say how much, when, or in which form.
PLAIN = {
    *("Service-Version", "endDate", "pageSize", "resolution", "type", "utcOffset"),
    *("at", "batteryReserve", "chargeRateLimit", "chargingDuration", "cost", "currency"),
    *("deadline", "defaultShouldCharge", "forceLanguage", "from", "fromTimestamp", "hourMinute"),
    *("isEnabled", "maxCurrent", "minimumChargeTarget", "name", "price", "redirectUri", "rules"),
    *("schedule", "scopes", "shouldCharge", "targetType", "to", "toTimestamp", "values"),
    *("vendorType", "weekdays"),
}
# What a client makes under a name of its own choice is its own, whoever else has that name.
MAKING = {
    "POST /users/{userId}/link": {"scopes": ["charger:read:data"]},
    "PUT /tariffs/{tariffId}": [{"name": "low", "cost": "0.5"}],
    "PUT /flex/price-signals/{zoneId}/areas/{areaId}": {
        "currency": "NOK",
        "to": "2026-01-06T00:00:00Z",
        "values": [{"at": "2026-01-05T23:00:00Z", "price": 9.0}],
    },
}
# Bodies that make sense, by the name of their schema.
BODIES: dict[str, object] = {
    "ChargerUpdate": {"chargingLocationId": None},
    "ChargeRateLimitBody": {"chargeRateLimit": 4.0},
    "ChargerPolicyUpdate": {"isEnabled": True},
    "FlexPolicyUpdate": {"batteryReserve": 15},
    "MaxCurrentBody": {"maxCurrent": 11},
    "ScheduleUpdate": {"isEnabled": False},
}


class Operation(NamedTuple):
    """An operation of the document: its method and path, and the schema of its body."""

    method: str
    path: str
    schema: str

    @property
    def name(self) -> str:
        """Method and path."""
        return f"{self.method} {self.path}"


def operations() -> Iterator[Operation]:
    """All operations of the document."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            yield Operation(method.upper(), path, schema.get("$ref", "").rpartition("/")[2])


def members(schema: Any, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names of all members that a body of a schema may have, at any depth."""
    if isinstance(schema, list):
        for each in schema:
            yield from members(each, seen)
    elif isinstance(schema, dict):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            yield from members(DOCUMENT["components"]["schemas"][name], seen | {name})
        yield from schema.get("properties", {})
        for key in ("items", "oneOf", "anyOf", "allOf", "additionalProperties"):
            yield from members(schema.get(key), seen)
        yield from members(list(schema.get("properties", {}).values()), seen)


def test_every_place_of_an_identifier_is_known() -> None:
    parameters = {
        parameter["name"]
        for item in DOCUMENT["paths"].values()
        for operation in item.values()
        for parameter in operation.get("parameters", [])
    }
    schemas = {one.schema for one in operations() if one.schema}
    in_bodies = {name for each in schemas for name in members({"$ref": each})}
    assert parameters | in_bodies == NAMING | PLAIN
    assert not NAMING & PLAIN
    assert set(MAKING) < {one.name for one in operations()}


class Answer(NamedTuple):
    """An answer without its date."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass
class Client:
    """A client of the service."""

    base: str
    token: str

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """The answer to a request."""
        connection = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=60)
        own = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        text = None if body is None else json.dumps(body)
        if text is not None:
            own["Content-Type"] = "application/json"
        connection.request(method, path, text, own)
        answer = connection.getresponse()
        content = answer.read().decode()
        connection.close()
        told = {name.lower(): value for name, value in answer.headers.items()}
        told.pop("date")
        told.pop("x-request-id")
        return Answer(answer.status, told, content)

    def read(self, path: str) -> Any:
        """The document at a path."""
        answer = self.ask("GET", path)
        assert answer.status == 200, f"{path}: {answer}"
        return json.loads(answer.body)


@dataclass
class Street:
    """A street, its client, another one, what the first one has, and the process."""

    owner: Client
    other: Client
    ids: fuzz_api.Ids
    pid: int

    def seen(self) -> list[Any]:
        """Everything that the owner can read and others might have changed."""
        names = ("vehicles", "chargers", "hvacs", "inverters", "batteries", "users")
        lists = [self.owner.read(f"/{name}?pageSize=50")["data"] for name in names]
        users = [user["id"] for user in lists[-1]]
        lists += [self.owner.read(f"/users/{user}/schedules")["data"] for user in users]
        lists += [self.owner.read(f"/flex/vehicle-policies/{self.ids['policyId'][0]}")]
        lists += [self.owner.read(f"/chargers/actions/{one}") for one in self.ids["actionId"][:1]]
        return lists


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    folder = tmp_path_factory.mktemp("tenants")
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/tenants.db"}
    arguments = [*sandboxes.STREET, "--clock", "0x"]
    with sandboxes.spawn(SERVER, arguments, settings) as process:
        running = sandboxes.listening(process, is_welcome=True)
        try:
            admin = sandboxes.Asker(running.admin)
            asker = sandboxes.Asker(running.base, running.token)
            ids, _ = fuzz_api.live_ids(asker, admin)
            other = new_client(running, admin)
            asker.close()
            admin.close()
            yield Street(Client(running.base, running.token), other, ids, process.pid)
            # Requests make no error. What its loops say while it stops is not looked at here.
            assert running.errors == []
        finally:
            running.end()


def new_client(running: sandboxes.Running, admin: sandboxes.Asker) -> Client:
    """Another client of the sandbox, with a token."""
    wish = {"environment": "sandbox", "name": "other"}
    status, made = admin.ask("POST", "/clients", wish)
    assert status == 200, made
    basic = base64.b64encode(f"{made['client_id']}:{made['client_secret']}".encode()).decode()
    connection = http.client.HTTPConnection(urlsplit(running.auth).netloc, timeout=60)
    headers = {"Authorization": f"Basic {basic}"}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    form = "grant_type=client_credentials"
    connection.request("POST", "/oauth2/token", form, headers)
    token = json.loads(connection.getresponse().read())["access_token"]
    connection.close()
    return Client(running.base, token)


def filled(path: str, ids: dict[str, str]) -> str:
    """A path with identifiers in it."""
    for name, value in ids.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    assert "{" not in path
    return path


def nobodys(ids: fuzz_api.Ids) -> dict[str, str]:
    """Identifiers of the same form that nobody has."""
    ghosts = {name: str(uuid.uuid4()) for name in ids}
    return ghosts | {"vendor": ids["vendor"][0], "zoneId": "NO1"}


def headers_of(operation: Operation, ids: dict[str, str]) -> dict[str, str]:
    """Headers that name a user, where the oldest version does it so."""
    is_old = operation.path.startswith(("/me", "/statistics"))
    return {**OLDEST, "Service-User-Id": ids["userId"]} if is_old else {}


def test_things_of_another_client_are_as_unknown_as_none(street: Street) -> None:
    theirs = {name: values[0] for name, values in street.ids.items()}
    before, checked = street.seen(), 0
    for operation in operations():
        about_user = headers_of(operation, theirs)
        if operation.name in MAKING or ("{" not in operation.path and not about_user):
            continue
        bodies = {**BODIES, "NewSchedule": schedule(theirs["chargerId"], None), "": None}
        body = bodies[operation.schema]
        answers = [
            street.other.ask(
                operation.method, filled(operation.path, ids), body, headers_of(operation, ids)
            )
            for ids in (theirs, nobodys(street.ids))
        ]
        assert answers[0] == answers[1], operation.name
        assert answers[0].status == 404, f"{operation.name}: {answers[0]}"
        checked += 1
    assert checked == len(list(operations())) - len(MAKING) - len(WITHOUT_NAMES)
    assert street.seen() == before


# The work for an answer is processor time of the server, which other work of the machine hardly
# changes as it does the time until an answer. A difference that is always there is in each round.
RATIO_MAX, ROUNDS, BLOCKS, REQUESTS = 1.25, 5, 30, 5
TIMED = {
    "/chargers/{chargerId}",
    "/vehicles/{vehicleId}",
    "/chargers/actions/{actionId}",
    "/flex/vehicle-policies/{policyId}",
    "/users/{userId}",
    "/users/{userId}/schedules",
}


def processor_ns(pid: int) -> int:
    """Processor time that the threads of a process have had, in nanoseconds."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads)


def work_ratio(pid: int, asker: sandboxes.Asker, first: str, second: str) -> float:
    """Work for one request by that for another, of medians of blocks that are sent in turns."""
    spent: dict[str, list[int]] = {first: [], second: []}
    for block in range(BLOCKS):
        for path in (first, second) if block % 2 else (second, first):
            begin = processor_ns(pid)
            for _ in range(REQUESTS):
                asker.ask("GET", path)
            spent[path].append(processor_ns(pid) - begin)
    return statistics.median(spent[first]) / statistics.median(spent[second])


@pytest.mark.parametrize("path", sorted(TIMED))
def test_a_foreign_identifier_costs_what_one_that_nobody_has_costs(
    street: Street, path: str
) -> None:
    theirs = {name: values[0] for name, values in street.ids.items()}
    foreign, unknown = filled(path, theirs), filled(path, nobodys(street.ids))
    asker = sandboxes.Asker(street.other.base, street.other.token)
    assert asker.ask("GET", foreign) == asker.ask("GET", unknown)
    ratios: list[float] = []
    while len(ratios) < ROUNDS and not (ratios and 1 / RATIO_MAX < ratios[-1] < RATIO_MAX):
        ratios.append(work_ratio(street.pid, asker, foreign, unknown))
    asker.close()
    assert 1 / RATIO_MAX < ratios[-1] < RATIO_MAX, ratios


def test_the_cost_of_an_answer_shows_more_work(street: Street) -> None:
    """What is measured above would be seen: a page of chargers costs more than none."""
    asker = sandboxes.Asker(street.owner.base, street.owner.token)
    unknown = filled("/chargers/{chargerId}", nobodys(street.ids))
    ratios = [work_ratio(street.pid, asker, "/chargers?pageSize=50", unknown) for _ in range(2)]
    asker.close()
    assert min(ratios) > RATIO_MAX, ratios


# Lists and facts of the whole client, or of the service.
WITHOUT_NAMES = [
    one.name
    for one in operations()
    if "{" not in one.path and not one.path.startswith(("/me", "/statistics"))
]


def test_lists_have_what_is_the_clients_own(street: Street) -> None:
    for name in WITHOUT_NAMES:
        method, path = name.split()
        assert method == "GET", name
        if path.startswith("/health"):
            continue
        assert street.owner.read(path)["data"], name
        assert street.other.read(path)["data"] == [], name


def test_what_a_client_names_is_its_own(street: Street) -> None:
    theirs = {name: values[0] for name, values in street.ids.items()}
    before = street.seen()
    for name, body in MAKING.items():
        method, path = name.split()
        answer = street.other.ask(method, filled(path, theirs), body)
        # Nobody has activated a zone for this client, whatever others send there.
        assert answer.status in ({400} if "zoneId" in name else {200, 204}), f"{name}: {answer}"
        assert "zoneId" not in name or "the zone is not activated" in answer.body
    assert street.seen() == before
    assert street.other.read(f"/users/{theirs['userId']}/vehicles")["data"] == []
    gone = street.other.ask("DELETE", f"/users/{theirs['userId']}")
    assert gone.status == 204
    assert street.seen() == before


def test_cursors_of_another_client_are_refused_as_made_up_ones(street: Street) -> None:
    after = street.owner.read("/chargers?pageSize=1")["pagination"]["after"]
    assert after
    for name in ("after", "before"):
        foreign = street.other.ask("GET", f"/chargers?{name}={quote(after)}")
        made_up = street.other.ask("GET", f"/chargers?{name}={quote(after[::-1])}")
        assert foreign == made_up
        assert foreign.status == 400


def test_bodies_cannot_name_things_of_others(street: Street) -> None:
    """Neither those of another client, nor those of another user of one's own."""
    chargers = street.owner.read("/chargers?pageSize=50")["data"]
    mine, bos = (next(one["id"] for one in chargers if one["userId"] == u) for u in ("ada", "bo"))
    ghost, bos_home = str(uuid.uuid4()), sandboxes.uuid_of("bo-home")
    scopes = {"scopes": ["charger:read:data"]}
    assert street.other.ask("POST", "/users/own/link", scopes).status == 200
    before = street.seen()
    of_ada, of_other = (
        (street.owner, "POST", "/users/ada/schedules"),
        (street.other, "POST", "/users/own/schedules"),
    )
    attempts: list[tuple[tuple[Client, str, str], list[dict[str, object]]]] = [
        (of_other, [schedule(target, None) for target in (mine, ghost)]),
        (of_ada, [schedule(target, None) for target in (bos, ghost)]),
        (of_ada, [schedule(mine, place) for place in (bos_home, ghost)]),
        (
            (street.owner, "PUT", f"/chargers/{mine}"),
            [{"chargingLocationId": place} for place in (bos_home, ghost)],
        ),
    ]
    for (client, method, path), bodies in attempts:
        foreign, unknown = (client.ask(method, path, body) for body in bodies)
        assert without(bodies[0], foreign) == without(bodies[1], unknown), path
        assert foreign.status in {400, 404}, f"{path}: {foreign}"
    assert street.seen() == before


def schedule(target: str, place: str | None) -> dict[str, object]:
    """A schedule of a charger at a place."""
    plain = {"isEnabled": True, "defaultShouldCharge": True, "rules": list[object]()}
    return {**plain, "targetId": target, "targetType": "charger", "locationId": place}


def without(body: dict[str, object], answer: Answer) -> Answer:
    """An answer in which the identifiers that were sent are crossed out."""
    text = answer.body
    for value in body.values():
        text = text.replace(str(value), "...") if isinstance(value, str) else text
    return answer._replace(body=text)
