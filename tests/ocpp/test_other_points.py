"""Charge points of other makers of software: the package `ocpp-rpc` for Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from central import ROOT, Central
from test_points import DEVICE, IDENTITY, charging

PROGRAM = ROOT / "tests/ocpp/rpc/point.mjs"


def reads(process: subprocess.Popen[str], field: str) -> Any:
    """Return the next value of a field that the charge point prints."""
    assert process.stdout is not None
    for line in process.stdout:
        document = json.loads(line)
        if field in document:
            return document[field]
    message = f"the charge point ended before it said {field}"
    raise AssertionError(message)


@pytest.mark.parametrize("version", ["ocpp1.6", "ocpp2.0.1"])
def test_a_charge_point_of_ocpp_rpc_charges_and_obeys(tmp_path: Path, version: str) -> None:
    node = shutil.which("node")
    assert node, "run `make setup`"
    assert (PROGRAM.parent / "node_modules/ocpp-rpc").is_dir(), "run `make ocpp`"
    with Central(tmp_path) as central:
        added = central.order(f"add {IDENTITY}")
        central.order(f"link {IDENTITY} {added['code']}")
        address = f"ws://{central.address}/ocpp"
        command = [node, str(PROGRAM), address, IDENTITY, added["password"], version]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            try:
                assert process.stdin is not None
                assert reads(process, "booted") == "Accepted"
                assert reads(process, "charging") is True
                state = charging(central.order(f"poll {DEVICE}"))
                assert (state["is_charging"], state["charge_rate_kw"]) == (True, 11.04)
                central.order("wait 11")
                assert central.order(f'send {DEVICE} {{"max_current_amps": 10}}') == "sent"
                while reads(process, "limitAmps") != 10:
                    pass
                state = charging(central.order(f"poll {DEVICE}"))
                assert state["charge_rate_kw"] == pytest.approx(6.9)
                process.stdin.close()
                assert reads(process, "ended") is True
                assert process.wait(30) == 0
                reading = central.order(f"poll {DEVICE}")
                assert charging(reading)["is_charging"] is False
                information = reading["facts"]["charger"]["information"]
                assert (information["brand"], information["model"]) == ("Other", "Rpc")
            finally:
                process.kill()
