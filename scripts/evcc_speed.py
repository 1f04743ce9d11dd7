"""Times of answers of slackwater-evcc on one core: four batteries, 443 quarter-hours.

Each request has another seed, which decides on prices, load, sun and levels. Vehicles with a least
power make a search of whole numbers, so both kinds are timed.

Usage: ``python scripts/evcc_speed.py target/dist/slackwater-evcc [--requests 100]``
"""

import argparse
import collections
import http.client
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

STEPS = 443
SECONDS = 900
PATH = "/optimize/charge-schedule"


def request(seed: int, *, least_power: bool) -> dict[str, Any]:
    """Days of a house with two home batteries and two vehicles, in the units of the contract."""
    noise = random.Random(seed)
    hours = [step * SECONDS / 3600 for step in range(STEPS)]
    daily = [noise.uniform(0.6, 1.4) for _ in range(-(-STEPS // 96))]
    sun = [max(0.0, math.sin((hour % 24 - 6) / 12 * math.pi)) for hour in hours]
    wave = [math.sin((hour % 24 - 9) / 24 * math.tau) for hour in hours]
    series = {
        "dt": [SECONDS] * STEPS,
        "gt": [noise.uniform(60, 250) for _ in hours],
        "ft": [1_500 * part * daily[step // 96] for step, part in enumerate(sun)],
        "p_N": [2.5e-4 + 8e-5 * part + noise.uniform(-2e-5, 2e-5) for part in wave],
        "p_E": [8e-5] * STEPS,
    }
    shared = {"charge_from_grid": True, "p_a": 1.5e-4, "s_min": 0.0}
    homes = [
        {**shared, "s_initial": noise.uniform(0, size), "s_max": size, "c_min": 0.0, "c_max": power}
        | {"d_max": power}
        for size, power in ((10_000.0, 5_000.0), (6_000.0, 3_000.0))
    ]
    cars = [
        {**shared, "s_initial": noise.uniform(0, 0.7 * size), "s_max": 0.8 * size}
        | {"c_min": 1_380.0 if least_power else 0.0, "c_max": 11_000.0, "d_max": 0.0}
        for size in (60_000.0, 40_000.0)
    ]
    strategy = {"charging_strategy": "none", "discharging_strategy": "none"}
    batteries = [*homes, *cars]
    return {"strategy": strategy, "batteries": batteries, "time_series": series}


def timed(port: int, *, requests: int, least_power: bool) -> str:
    """Ask one after the other, and tell median, 99th percentile and maximum."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    seconds, found = [], collections.Counter[str]()
    for seed in range(requests):
        body = json.dumps(request(seed, least_power=least_power))
        began = perf_counter()
        connection.request("POST", PATH, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        seconds.append(perf_counter() - began)
        if answer.status != http.client.OK:
            sys.exit(f"error: seed {seed}: status {answer.status}: {text.decode()}")
        found[json.loads(text)["status"]] += 1
    seconds.sort()
    p99 = seconds[math.ceil(0.99 * len(seconds)) - 1]
    times = [1_000 * one for one in (statistics.median(seconds), p99, seconds[-1])]
    kind = "vehicles with a least power" if least_power else "without least powers"
    median, high, longest = (f"{one:.1f} ms" for one in times)
    return f"{kind}: median {median}, p99 {high}, longest {longest}; {dict(found)}"


def main() -> None:
    """Starts the program on the first core, and prints a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--requests", type=int, default=100)
    arguments = parser.parse_args()
    command = [str(arguments.program), "--listen", "127.0.0.1:0"]
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # of the program, which inherits it
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        os.sched_setaffinity(0, cores - {min(cores)} or cores)
        log = process.stderr or sys.exit("error: no log")
        address = None
        while address is None:
            address = re.search(r"listening on http://[\d.]+:(\d+)", log.readline())
        # The reasons of each step fill the log.
        threading.Thread(target=collections.deque, args=(log, 0), daemon=True).start()
        try:
            for least_power in (False, True):
                line = timed(int(address[1]), requests=arguments.requests, least_power=least_power)
                print(line, flush=True)
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
