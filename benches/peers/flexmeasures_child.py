"""FlexMeasures' ``device_scheduler``, run by the Python of ``.venv-peers``.

Reads one JSON object from standard input and writes one to standard output. Only the scheduler
call is timed: neither its data frames nor the import. Uses nothing of the package around it,
which that environment does not know.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

COLUMNS = [
    "equals",
    "max",
    "min",
    "efficiency",
    "derivative equals",
    "derivative max",
    "derivative min",
    "derivative down efficiency",
    "derivative up efficiency",
    "stock delta",
]
PLANNING = "flexmeasures.data.models.planning"


def main() -> None:
    """Answers ``--check VERSION`` by the exit status, everything else by JSON."""
    if sys.argv[1:2] == ["--check"]:
        scheduler()
        sys.exit(importlib.metadata.version("flexmeasures") != sys.argv[2])
    # Whatever the scheduler prints must not end up between the lines of the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    json.dump(measure(json.load(sys.stdin)), answer)
    answer.close()


def scheduler() -> Callable[..., Any]:
    """The scheduler function, as FlexMeasures' own code imports it."""
    function: Callable[..., Any] = importlib.import_module(
        f"{PLANNING}.linear_optimization"
    ).device_scheduler
    return function


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Plans each case ``repeats`` times with the solver that FlexMeasures ships as its default."""
    device_scheduler = scheduler()
    defaults = importlib.import_module("flexmeasures.utils.config_defaults").Config
    app = importlib.import_module("flask").Flask("peers")
    app.config.from_object(defaults)
    app.config["LOGGING_LEVEL"] = "INFO"  # At this level FlexMeasures silences the solver.
    costs: list[float] = []
    energies: list[float] = []
    seconds: list[float] = []
    with app.app_context():
        device_scheduler(**model(request, request["cases"][0]))
        for _ in range(request["repeats"]):
            costs, energies = [], []
            for case in request["cases"]:
                arguments = model(request, case)
                began = time.perf_counter()
                schedule, cost, results, _model = device_scheduler(**arguments)
                seconds.append(time.perf_counter() - began)
                if results.solver.termination_condition != "optimal":
                    sys.exit(f"FlexMeasures: {results.solver.termination_condition}")
                costs.append(float(cost))
                energies.append(float(schedule[0].sum()) * request["slot_h"])
    return {
        "costs": costs,
        "energies_kwh": energies,
        "seconds": seconds,
        "solver": app.config["FLEXMEASURES_LP_SOLVER"],
        "version": importlib.metadata.version("flexmeasures"),
    }


def model(request: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """One vehicle as a device with a flow limit per slot and a stock to reach.

    The scheduler counts stock in units of flow times slot and prices flows, hence the two
    conversions by the length of a slot.
    """
    pandas = importlib.import_module("pandas")
    frame = importlib.import_module(f"{PLANNING}.utils").initialize_df
    flow_commitment = importlib.import_module(PLANNING).FlowCommitment
    slot_h = request["slot_h"]
    start = pandas.Timestamp(request["start"])
    slot = pandas.Timedelta(hours=slot_h)
    end = start + slot * len(request["prices"])
    device = frame(COLUMNS, start, end, slot)
    stock = case["energy_kwh"] / slot_h
    device["min"] = 0.0
    device["max"] = stock
    device.loc[device.index[-1], "equals"] = stock
    device["derivative min"] = 0.0
    device["derivative max"] = case["limits_kw"]
    device["stock delta"] = 0.0
    price = pandas.Series(request["prices"], index=device.index) * slot_h
    energy = flow_commitment(
        name="energy",
        quantity=0,
        upwards_deviation_price=price,
        downwards_deviation_price=price,
        index=device.index,
        device=pandas.Series(0, index=device.index),
    )
    return {
        "device_constraints": [device],
        "ems_constraints": frame(COLUMNS, start, end, slot),
        "commitments": [energy],
        "initial_stock": 0,
    }


if __name__ == "__main__":
    main()
