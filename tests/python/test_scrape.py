"""Debian's Prometheus scrapes a running service by the repository's configuration and rules."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from server import SERVER

from debian import find_program

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402  they stand next to the other programs

PROMETHEUS = ROOT / "deploy/prometheus"
DASHBOARD = ROOT / "deploy/grafana/slackwater.json"

ADMIN_TOKEN = "0123456789abcdefghij"  # noqa: S105  of this test
CHARGER = sandboxes.uuid_of("hana-charger")
AREA = "/flex/price-signals/NO1/areas/oslo-east"
METRIC = re.compile(r"\bslackwater_\w+")

# Of what does not happen to one healthy process on a file, without a grid operator.
ABSENT = {
    "slackwater_panics_total",
    "slackwater_replica_keys_total",
    "slackwater_evidence_failures_total",
    "slackwater_grid_file_faults_total",
}

# Requests after which everything was counted and scraped, at the latest.
ASKED_MAX = 20_000


def named_metrics() -> set[str]:
    """Metrics that the dashboard and the rules name."""
    files = (DASHBOARD, PROMETHEUS / "slackwater.rules.yml")
    return {name for file in files for name in METRIC.findall(file.read_text(encoding="utf-8"))}


def free_port() -> int:
    """A port of this machine that nothing uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@contextmanager
def scraping(folder: Path, target: str) -> Iterator[str]:
    """Run Prometheus with the files of `deploy`, which scrapes `target` each second."""
    token = folder / "admin-token"
    token.write_text(ADMIN_TOKEN)
    text = (PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8")
    for of_compose, here in (
        ("slackwater:8083", target),
        ("/run/secrets/admin-token", str(token)),
        ("- slackwater.rules.yml", f"- {PROMETHEUS}/slackwater.rules.yml"),
        ("interval: 15s", "interval: 1s"),
    ):
        assert of_compose in text, of_compose
        text = text.replace(of_compose, here)
    file = folder / "prometheus.yml"
    file.write_text(text)
    address = f"127.0.0.1:{free_port()}"
    command = [
        find_program("prometheus", package="prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder}/series",
        f"--web.listen-address={address}",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for line in process.stderr:
            if "Server is ready to receive web requests" in line:
                break
        else:
            raise AssertionError("Prometheus ended")
        try:
            yield f"http://{address}/api/v1"
        finally:
            process.terminate()
            process.communicate()


def ask(api: str, path: str, **query: str) -> Any:
    """Answer of Prometheus."""
    with urlopen(f"{api}/{path}?{urlencode(query)}", timeout=60) as answer:  # noqa: S310  http
        return json.load(answer)["data"]


def provoke(operator: sandboxes.Asker, client: sandboxes.Asker, stranger: sandboxes.Asker) -> None:
    """Let everything happen that the service counts."""
    _, clients = operator.ask("GET", "/clients")
    subscription = {
        "name": "nobody",
        "client": clients[0]["client_id"],
        "url": f"http://127.0.0.1:{free_port()}/events",
        "template": '{"type": "{name}"}',
    }
    assert operator.ask("POST", "/events/subscriptions", subscription)[0] == 200
    assert stranger.ask("GET", "/clients")[0] == 401
    for most in (10, 11):
        order = {"maxCurrent": most}
        assert client.ask("POST", f"/chargers/{CHARGER}/max-current", order)[0] == 200
    rates = [{"name": "all", "cost": "0.2"}]
    status, answer = client.ask("PUT", "/tariffs/flat", rates)
    assert status in {200, 204}, answer
    # Prices of an area that change let it be planned anew.
    values = [{"at": f"2026-01-15T{hour:02}:00:00Z", "price": hour % 5} for hour in range(24)]
    signal = {"currency": "NOK", "to": "2026-01-16T00:00:00Z", "values": values}
    assert client.ask("PUT", AREA, signal)[0] == 204


def test_prometheus_scrapes_all_that_dashboard_and_rules_name(tmp_path: Path) -> None:
    settings = {
        "SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/scraped.db",
        "SLACKWATER_ADMIN__TOKEN": ADMIN_TOKEN,
    }
    arguments = ("--config", "scenarios/evening.toml", "--clock", "60x", "--welcome")
    wanted = named_metrics() - ABSENT
    assert len(wanted) > 15
    with chdir(ROOT), sandboxes.spawn(SERVER, arguments, settings) as process:
        running = sandboxes.listening(process, is_welcome=True)
        try:
            with (
                closing(sandboxes.Asker(running.admin, ADMIN_TOKEN)) as operator,
                closing(sandboxes.Asker(running.admin, "wrong")) as stranger,
                closing(sandboxes.Asker(running.base, running.token)) as client,
                scraping(tmp_path, urlsplit(running.admin).netloc) as api,
            ):
                provoke(operator, client, stranger)
                check_what_was_scraped(api, client, wanted)
        finally:
            running.end()


def check_what_was_scraped(api: str, client: sandboxes.Asker, wanted: set[str]) -> None:
    """Prometheus has all metrics that are wanted, and evaluates the rules."""
    missing = wanted
    for _ in range(ASKED_MAX):
        client.ask("GET", "/vehicles?pageSize=50")
        missing = wanted - set(ask(api, "label/__name__/values"))
        if not missing:
            break
    assert missing == set()
    up = ask(api, "query", query='up{job="slackwater"}')["result"]
    assert [one["value"][1] for one in up] == ["1"]
    rules = [rule for group in ask(api, "rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    assert len(rules) > 10
    panics = ask(api, "query", query="slackwater_panics_total")["result"]
    assert panics == []
