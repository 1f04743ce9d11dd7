"""Sends generated requests to a running sandbox and checks each answer.

The server runs the street on free ports with a database of its own. Checked is
that every answer is one that ``api/http/openapi.json`` describes, and that none is a
defect of the server. Half of the identifiers are live ones, the others made up;
what requests may delete is set apart, so that the last one finds the others still.

Usage: ``python scripts/fuzz_api.py target/debug/slackwater-api [--examples 20]``
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sandboxes import STREET, Asker, listening, spawn, uuid_of

ROOT = Path(__file__).parent.parent

# Cursors are opaque and users' names free text, so a request that fits the
# schema may still name nothing.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
    "use_after_free",
)


# Whose things requests may delete. All else stays, so that the last one still finds it.
LEAVERS = ["lena", "sam"]
CHANGERS, OLD_CHANGERS = ["rosa", "tess"], ["fern", "nora"]
SPENT_VENDORS = ["SOLVANG", "TESSERA"]

Ids = dict[str, list[str]]
"""Identifiers of the street, by the names of path parameters."""


def live_ids(asker: Asker, admin: Asker) -> tuple[Ids, Ids]:
    """Identifiers that stay, and those that requests may delete."""
    lists = {
        "vehicleId": "vehicles",
        "chargerId": "chargers",
        "hvacId": "hvacs",
        "inverterId": "inverters",
        "batteryId": "batteries",
        "userId": "users",
    }
    spent: Ids = {"userId": LEAVERS, "vendor": SPENT_VENDORS}
    spent |= {"changer": CHANGERS, "oldChanger": OLD_CHANGERS}
    gone = {*LEAVERS, *CHANGERS, *OLD_CHANGERS}
    ids: Ids = {}
    for parameter, name in lists.items():
        items = asker.ask("GET", f"/{name}")[1]["data"]
        owner = "id" if parameter == "userId" else "userId"
        ids[parameter] = [item["id"] for item in items if item.get(owner) not in gone]
    ids["assetId"] = ids["vehicleId"] + ids["chargerId"]
    ids["vendor"] = ["VOLTBOX", "FJORD_MOTORS"]
    ids["tariffId"] = ["night-and-day"]
    ids["zoneId"], ids["areaId"] = ["NO1"], ["oslo-east"]
    # By their names in the street.
    ids["policyId"], ids["locationId"] = [uuid_of("ada-car-flex")], [uuid_of("ada-home")]
    ids["actionId"] = actions(asker, admin, ids)
    made = schedules(asker, ids["chargerId"][:3])
    ids["scheduleId"], spent["scheduleId"] = made[1:], made[:1]
    return ids, spent


def actions(asker: Asker, admin: Asker, ids: Ids) -> list[str]:
    """Identifiers of actions of some chargers and batteries."""
    limits = (f"/chargers/{charger}/max-current" for charger in ids["chargerId"][:3])
    modes = (f"/control/devices/{battery}/command" for battery in ids["batteryId"][:3])
    made = [asker.ask("POST", path, {"maxCurrent": 10}) for path in limits]
    made += [admin.ask("POST", path, {"operation_mode": "import_focus"}) for path in modes]
    return [action["id"] for _, action in made if "id" in action]


def schedules(asker: Asker, chargers: list[str]) -> list[str]:
    """Identifiers of schedules that are made for some chargers."""
    made = []
    for charger in chargers:
        schedule = {
            "isEnabled": True,
            "defaultShouldCharge": False,
            "rules": [{"shouldCharge": True, "hourMinute": {"from": "22:00", "to": "06:00"}}],
            "targetId": charger,
            "targetType": "charger",
            "locationId": None,
        }
        owner = asker.ask("GET", f"/chargers/{charger}")[1]["userId"]
        made.append(asker.ask("POST", f"/users/{owner}/schedules", schedule)[1]["id"])
    return made


def answers(admin: str) -> Counter[tuple[str, str]]:
    """How many answers the server gave, by operation and status."""
    with urllib.request.urlopen(f"{admin}/metrics") as page:  # noqa: S310
        lines = page.read().decode().splitlines()
    counted: Counter[tuple[str, str]] = Counter()
    for line in lines:
        name, _, count = line.rpartition(" ")
        if name.startswith("slackwater_answers_total{"):
            label = dict(re.findall(r'(\w+)="([^"]*)"', name))
            counted[f"{label['method']} {label['route']}", label["status"]] += int(count)
    return counted


def summary(counted: Counter[tuple[str, str]]) -> Iterator[str]:
    """What was answered how often, and which operations never did what they are for."""
    statuses: Counter[str] = Counter()
    for (_, status), count in counted.items():
        statuses[status] += count
    told = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    yield f"Answers: {told}"
    document = json.loads((ROOT / "api/http/openapi.json").read_text())
    operations = {
        f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item
    }
    done = {operation for (operation, status), _ in counted.items() if status.startswith("2")}
    for operation in sorted(operations - done):
        yield f"Never succeeded: {operation}"


def main() -> int:
    """Runs schemathesis against a server of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", help="the binary")
    parser.add_argument("--examples", default="20", help="requests per operation and phase")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/fuzz.db"}
        running = listening(spawn(arguments.server, STREET, settings), is_welcome=True)
        base, token = running.base, running.token
        try:
            ids, spent = live_ids(Asker(base, token), Asker(running.admin))
            environment = {
                **os.environ,
                "PYTHONPATH": str(ROOT / "scripts"),
                "SCHEMATHESIS_HOOKS": "fuzz_hooks",
                "SLACKWATER_LIVE_IDS": json.dumps(ids),
                "SLACKWATER_SPENT_IDS": json.dumps(spent),
            }
            command = [
                str(Path(sys.executable).with_name("schemathesis")),
                *("run", str(ROOT / "api/http/openapi.json"), "--url", base),
                *("--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS)),
                *("--max-examples", arguments.examples, "--generation-deterministic"),
                *("--warnings", "off", "--no-color"),
            ]
            code = subprocess.run(command, env=environment, cwd=folder, check=False).returncode
            print(*summary(answers(running.admin)), sep="\n")
            return code
        finally:
            running.end()


if __name__ == "__main__":
    sys.exit(main())
