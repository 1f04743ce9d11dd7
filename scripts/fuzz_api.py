"""Sends generated requests to a running sandbox and checks each answer.

The server runs the street on free ports with a database of its own. Checked is
that every answer is one that ``api/openapi.json`` describes, and that none is a
defect of the server. Half of the identifiers are live ones, the others made up.

Usage: ``python scripts/fuzz_api.py target/release/slackwater-api [--examples 20]``
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sandboxes import STREET, listening, spawn, uuid_of

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


def live_ids(base: str, token: str) -> dict[str, list[str]]:
    """Identifiers of the street, by the names of path parameters."""
    lists = {
        "vehicleId": "vehicles",
        "chargerId": "chargers",
        "hvacId": "hvacs",
        "inverterId": "inverters",
        "batteryId": "batteries",
        "userId": "users",
    }
    ids: dict[str, list[str]] = {}
    connection = http.client.HTTPConnection(base.removeprefix("http://"))
    for parameter, name in lists.items():
        connection.request("GET", f"/{name}", headers={"Authorization": f"Bearer {token}"})
        ids[parameter] = [item["id"] for item in json.load(connection.getresponse())["data"]]
    ids["assetId"] = ids["vehicleId"] + ids["chargerId"]
    ids["vendor"] = ["VOLTBOX", "FJORD_MOTORS"]
    ids["actionId"], ids["scheduleId"] = made(connection, token, ids["chargerId"])
    # The flex policy of ada-car, by its name in the street.
    ids["policyId"] = [uuid_of("ada-car-flex")]
    return ids


def made(
    connection: http.client.HTTPConnection, token: str, chargers: list[str]
) -> tuple[list[str], list[str]]:
    """Identifiers of actions and schedules that are made for some chargers."""

    def ask(method: str, path: str, body: object = None) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer: dict[str, str] = json.load(connection.getresponse())
        return answer

    actions, schedules = [], []
    for charger in chargers[:3]:
        limited = ask("POST", f"/chargers/{charger}/max-current", {"maxCurrent": 10})
        actions += [limited["id"]] if "id" in limited else []
        schedule = {
            "isEnabled": True,
            "defaultShouldCharge": False,
            "rules": [{"shouldCharge": True, "hourMinute": {"from": "22:00", "to": "06:00"}}],
            "targetId": charger,
            "targetType": "charger",
            "locationId": None,
        }
        owner = ask("GET", f"/chargers/{charger}")["userId"]
        schedules.append(ask("POST", f"/users/{owner}/schedules", schedule)["id"])
    return actions, schedules


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
            environment = {
                **os.environ,
                "PYTHONPATH": str(ROOT / "scripts"),
                "SCHEMATHESIS_HOOKS": "fuzz_hooks",
                "SLACKWATER_LIVE_IDS": json.dumps(live_ids(base, token)),
            }
            command = [
                str(Path(sys.executable).with_name("schemathesis")),
                *("run", str(ROOT / "api/openapi.json"), "--url", base),
                *("--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS)),
                *("--max-examples", arguments.examples, "--generation-deterministic"),
                *("--warnings", "off", "--no-color"),
            ]
            return subprocess.run(command, env=environment, cwd=folder, check=False).returncode
        finally:
            running.end()


if __name__ == "__main__":
    sys.exit(main())
