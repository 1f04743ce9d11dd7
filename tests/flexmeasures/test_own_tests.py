"""Scheduler tests of FlexMeasures, from its package, with our scheduler in place of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import slackwater

from postgres import postgres

HERE = Path(__file__).parent
PACKAGE = Path(slackwater.__file__).parents[1]
OUTCOMES = HERE / "outcomes.csv"
MODULES = ["test_solver", "test_storage"]


def run_tests(folder: Path) -> dict[str, str]:
    """Outcome of each test that calls our solver; others must pass as they do without us."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "--rootdir", ".", "--quiet"]
    # Of Pyomo's solvers only HiGHS is installed.
    command += ["-p", "swapped_scheduler", "-k", "not cbc", f"--junitxml={report}", "--pyargs"]
    command += [f"flexmeasures.data.models.planning.tests.{name}" for name in MODULES]
    with postgres() as server:
        server.execute("CREATE DATABASE flexmeasures_test")
        address = server.url("flexmeasures_test").replace("postgres:", "postgresql:")
        settings = {
            "SQLALCHEMY_TEST_DATABASE_URI": address,
            "PYTHONPATH": f"{HERE}{os.pathsep}{PACKAGE}",
        }
        subprocess.run(command, cwd=folder, env=os.environ | settings, check=False)
    outcomes = {}
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314  pytest's own
        solved = case.find("properties/property[@name='solved']")
        failure = case.find("failure") if case.find("error") is None else case.find("error")
        outcome = "passed" if failure is None else reason(failure.get("message", ""))
        if outcome != "passed" or (solved is not None and solved.get("value") != "0"):
            outcomes[str(case.get("name"))] = outcome
    return outcomes


def reason(message: str) -> str:
    """What a test failed for, to the first field and verb."""
    kind, _, text = message.partition(": ")
    if kind != "slackwater.InputError":
        return f"failed: {message.splitlines()[0] if message else ''}"
    return f"refused: {text.split(';')[0].split(':')[0]}"


def test_scheduler_tests_of_flexmeasures_pass_or_name_a_field(tmp_path: Path) -> None:
    outcomes = run_tests(tmp_path)
    if os.environ.get("UPDATE_EXPECT"):
        with OUTCOMES.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["test", "outcome"])
            writer.writerows(outcomes.items())
    with OUTCOMES.open(encoding="utf-8", newline="") as file:
        expected = {row["test"]: row["outcome"] for row in csv.DictReader(file)}
    assert outcomes == expected
    assert not [name for name, outcome in outcomes.items() if outcome.startswith("failed")]
