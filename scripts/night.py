"""A night in the sandbox: the service from end to end, and whether it was right.

A server of its own runs a town of made-up homes from noon to noon on a clock
that is stepped. Cars come home, policies and schedules are active, prices change
three times, a manufacturer is down, an area shares a limit, owners cannot wait.
Then the night is judged from the simulated meters and the events alone.

With ``--charge-points PROGRAM`` the chargers speak OCPP with production instead, see
``night_charge_points.py``.

Usage: ``python scripts/night.py target/debug/slackwater-api [--homes 1000]``
"""

from __future__ import annotations

import argparse
import json
import pickle
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from night_charge_points import ChargePointNight, ChargePointService, with_charge_points
from night_check import (
    Verdict,
    check_bills,
    check_deadlines,
    check_events,
    check_gaps,
    check_one_active,
)
from night_control import check_limit, check_overrides, check_schedules
from night_drive import Night, Record
from night_picture import draw
from night_regret import regret
from night_service import Receiver, Service
from night_town import ENDS, OUTAGE_OF, STARTS, Prices, Town

SETTINGS = """
[sandbox]
scenario = {scenario}
client = "CLIENT"
clock = "0x"

[plans.assume]
efficiency = 0.9
"""

LIMIT = """
[[plans.limits]]
zone = "NO1"
area = "oslo-east"
power_max_kw = {limit_kw}
"""

WIDTH = 100

MEMORY = Path("/dev/shm")  # noqa: S108
"""A night is kept for minutes only: it need not wait for a disk."""


def main() -> int:
    """Run the night, judge it, draw it."""
    arguments = parsed()
    # Whoever ends the night early ends its server, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    began = perf_counter()
    town = Town.generate(arguments.server, arguments.homes, arguments.seed)
    if arguments.charge_points:
        town = with_charge_points(town, arguments.seed)
    limit_kw = round(arguments.kw_per_home * town.limited, 1) or None
    receiver = Receiver()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        scenario = Path(folder) / "town.json"
        scenario.write_text(json.dumps(town.scenario))
        limit = LIMIT.format(limit_kw=limit_kw) if limit_kw else ""
        with opened(arguments, town, Path(folder), limit, receiver) as night:
            service = night.service
            service.refresh_token(STARTS)
            record = night.run()
            log = [line for line in service.log if line.get("level") in ("WARN", "ERROR")]
    record.delivered = receiver.accepted
    receiver.close()
    took = perf_counter() - began
    if arguments.keep:
        kept = (town, night.prices, record, receiver.refused, limit_kw)
        arguments.keep.write_bytes(pickle.dumps(kept))
    verdicts = judged(town, night.prices, record, receiver.refused, limit_kw)
    for line in summary(town, night.prices, record, took, verdicts):
        print(line)
    errors = [line for line in log if line["level"] == "ERROR"]
    for line in errors[:5]:
        print(f"       the server said: {json.dumps(line)}")
    if arguments.picture:
        title = "A night in the sandbox"
        draw(town, night.prices, record, limit_kw, arguments.picture, title)
        print(f"The picture is {arguments.picture}.")
    return 0 if all(verdict.is_good for verdict in verdicts) and not errors else 1


@contextmanager
def opened(
    arguments: argparse.Namespace, town: Town, folder: Path, limit: str, receiver: Receiver
) -> Iterator[Night]:
    """A night with its service, before it begins."""
    server, seed = arguments.server, arguments.seed
    if arguments.charge_points:
        program = arguments.charge_points
        with ChargePointService(server, program, folder, town, receiver, limit) as service:
            yield ChargePointNight(town, service, seed)
    else:
        settings = SETTINGS.format(scenario=json.dumps(str(folder / "town.json"))) + limit
        with Service(server, folder, settings, receiver) as service:
            yield Night(town, service, seed)


def parsed() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("server", type=Path, help="the binary")
    parser.add_argument("--homes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--kw-per-home",
        type=float,
        default=1.6,
        help="the limit of the area, by home; 0 is none, for a server without `lp`",
    )
    parser.add_argument(
        "--charge-points", type=Path, help="the example simulated_production, for chargers by OCPP"
    )
    parser.add_argument("--picture", type=Path, help="a PNG or SVG to write")
    parser.add_argument("--keep", type=Path, help="a file for all that was seen, to look into")
    return parser.parse_args()


def judged(
    town: Town, prices: Prices, record: Record, refused: int, limit_kw: float | None
) -> list[Verdict]:
    """All that is checked."""
    limits = [] if limit_kw is None else [check_limit(town, record, limit_kw)]
    return [
        check_deadlines(town, record),
        check_one_active(record),
        check_events(record, refused),
        check_bills(town, prices, record),
        check_gaps(town, prices, record),
        check_schedules(town, record),
        check_overrides(town, record),
        *limits,
    ]


def summary(
    town: Town,
    prices: Prices,
    record: Record,
    took: float,
    verdicts: list[Verdict],
) -> Iterator[str]:
    """One page about the night."""
    planned = sum(car.is_planned for car in town.cars.values())
    hours = (ENDS - STARTS).total_seconds() / 3600
    yield "A night in the sandbox"
    yield "=" * WIDTH
    yield (
        f"{len(town.homes)} homes, {len(town.cars)} cars, {planned} of them under plans, "
        f"{len(record.ids)} devices; {hours:.0f} hours in {took:.0f} s, {hours * 3600 / took:.0f}x"
    )
    yield (
        f"prices changed 3 times, {OUTAGE_OF} was down, {len(record.overrides)} owners could not "
        f"wait, {len(record.early)} want to leave earlier"
    )
    yield "-" * WIDTH
    for verdict in verdicts:
        yield from verdict.lines()
    yield "-" * WIDTH
    heads = ("stays", "kWh", "paid", "hindsight", "regret", "unmanaged")
    yield "{:10}{:>7}{:>9}{:>10}{:>11}{:>9}{:>11}".format("", *heads)
    costs = regret(town, prices, record, OUTAGE_OF)
    for currency, own in sorted(costs.items()):
        yield (
            f"{currency:10}{own.stays:7}{own.energy_kwh:9.0f}{own.paid:10.2f}{own.hindsight:11.2f}"
            f"{own.regret:9.2f}{own.unmanaged:11.2f}"
        )
        yield (
            f"{'':10}{own.saved:.1%} of what could be saved was saved; of the regret "
            f"{own.impatient:.2f} are the impatient, {own.outage:.2f} the outage's cars"
        )
    yield "=" * WIDTH


if __name__ == "__main__":
    sys.exit(main())
