"""Prometheus rules and Grafana dashboard: they work, and name only metrics that the service has."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from debian import find_program

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy/prometheus"
RULES = PROMETHEUS / "slackwater.rules.yml"
TESTS = PROMETHEUS / "slackwater.tests.yml"
DASHBOARD = ROOT / "deploy/grafana/slackwater.json"
PAGE = ROOT / "docs/how-to/operate.md"
GOLDEN = ROOT / "tests/golden/service"

METRIC = re.compile(r"\bslackwater_\w+")
SERIES_OF_HISTOGRAM = ("_bucket", "_sum", "_count")


def promtool(*words: str | Path) -> str:
    program = find_program("promtool", package="prometheus")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def known_series() -> set[str]:
    """Names of all series of the service, from the golden list of its metrics."""
    golden = (GOLDEN / "telemetry.txt").read_text(encoding="utf-8")
    found = set()
    for kind, name in re.findall(r'^(counter|gauge|histogram)!\( ?"(\w+)"', golden, re.MULTILINE):
        endings = SERIES_OF_HISTOGRAM if kind == "histogram" else ("",)
        found |= {f"{name}{ending}" for ending in endings}
    assert len(found) > 10
    return found


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return document


def queries() -> list[str]:
    """Expressions of the dashboard, with a length in the place of Grafana's variable."""
    shown = [query["expr"] for panel in dashboard()["panels"] for query in panel.get("targets", [])]
    shown += [note["expr"] for note in dashboard()["annotations"]["list"]]
    return [query.replace("$__rate_interval", "5m") for query in shown]


def test_rules_are_valid_and_pass_their_unit_tests() -> None:
    assert f"{len(rules())} rules found" in promtool("check", "rules", RULES)
    assert "SUCCESS" in promtool("test", "rules", TESTS)
    promtool("check", "config", "--syntax-only", PROMETHEUS / "prometheus.yml")


def test_every_alert_fires_in_a_unit_test_and_has_its_place_in_the_run_book() -> None:
    tests = TESTS.read_text(encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    alerts = [rule for rule in rules() if "alert" in rule]
    assert len(alerts) > 5
    for alert in alerts:
        name = alert["alert"]
        fires = f'alertname="{name}", alertstate="firing"' in tests
        assert fires or re.search(rf"- alertname: {name}\n", tests), name
        assert f"\n### {name}\n" in page
        assert alert["annotations"]["runbook"] == f"docs/how-to/operate.md#{name.lower()}"


@pytest.mark.parametrize("path", [RULES, TESTS, DASHBOARD], ids=lambda path: path.name)
def test_metrics_of_rules_and_dashboard_exist(path: Path) -> None:
    named = set(METRIC.findall(path.read_text(encoding="utf-8")))
    assert len(named) > 8
    assert named - known_series() == set()


def known_labels() -> set[str]:
    """Labels of all metrics of the service, and those that Prometheus adds."""
    golden = (GOLDEN / "telemetry.txt").read_text(encoding="utf-8")
    source = (ROOT / "api/http/src/telemetry.rs").read_text(encoding="utf-8")
    of_answers = re.findall(
        r'\("(\w+)", ', source.partition("let labels = [")[2].partition("];")[0]
    )
    assert len(of_answers) > 2
    added = {"job", "exported_job", "instance", "le", "alertname", "alertstate"}
    return added | set(of_answers) | set(re.findall(r'"(\w+)" =>', golden))


def test_labels_of_rules_and_dashboard_exist() -> None:
    used: set[str] = set()
    for query in [rule["expr"] for rule in rules()] + queries():
        used |= set(re.findall(r'(\w+)=~?"', query))
        for names in re.findall(r"\b(?:by|on) \(([^)]*)\)", query):
            used |= set(names.split(", "))
    assert {"status", "outcome", "environment"} <= used
    assert used - known_labels() == set()


def test_queries_of_the_dashboard_are_valid_and_use_recorded_series_that_exist(
    tmp_path: Path,
) -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    used = {name for query in queries() for name in re.findall(r"\bslackwater:[\w:]+", query)}
    assert used
    assert used - recorded == set()
    checked = [{"record": f"query:{i}", "expr": expr} for i, expr in enumerate(queries())]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": checked}]}))
    assert f"{len(checked)} rules found" in promtool("check", "rules", file)


def test_panels_of_the_dashboard_have_their_own_places() -> None:
    taken: set[tuple[int, int]] = set()
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, place["y"] + y) for x in columns for y in range(place["h"])}
        assert max(columns) < 24
        assert not cells & taken, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or (panel["description"] and panel["targets"])
