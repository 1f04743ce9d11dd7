"""Run cases of the form ``{id, fn, input, expected}`` through the public API.

    python tests/python/cases.py FILE...

Each ``fn`` is mapped to one public call; the rules of the domain are in the
package. A case whose ``fn`` has no mapping here is named and counted as
skipped. Every failure is printed with both values, then ``N passed, N failed``.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import slackwater as sw

import cases_devices
import cases_plans
import cases_rules
import cases_statistics
from cases_rules import instant, wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Json: TypeAlias = Any
Call: TypeAlias = "Callable[[Json], Json]"

TOLERANCE = 1e-9


def deadline_next(given: Json) -> Json:
    """Call ``next_deadline``; no zone is UTC."""
    at = sw.next_deadline(
        given["deadline"],
        time_zone=given["tz"] or "UTC",
        now=instant(given["now"]),
    )
    return wire(at)


CALLS: dict[str, Call] = {
    "deadline.next": cases_rules.or_reject(deadline_next),
    **cases_plans.CALLS,
    **cases_rules.CALLS,
    **cases_devices.CALLS,
    **cases_statistics.CALLS,
}

# Where a case rests on the reading that leaves the choice of slots open, only
# these members of a vehicle's plan are firm.
OPEN_CHOICE = "AMB-26"
# Lists whose order means nothing.
SETS = ("interventionIds",)

FIRM = ("cost", "energyKwh", "levelAtDeadline", "feasible", "priceHours")

# Where it rests on this one, items without energy may be there or not.
OPEN_EMPTY = "AMB-42"


def same(expected: Json, got: Json) -> bool:
    """Compare two values; numbers with a relative tolerance."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, int | float) and isinstance(got, int | float):
        return math.isclose(expected, got, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(
            same_set(expected[k], got[k]) if k in SETS else same(expected[k], got[k])
            for k in expected
        )
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(same, expected, got))
    return bool(expected == got)


def same_set(expected: Json, got: Json) -> bool:
    """Compare two lists whose order means nothing."""
    return len(expected) == len(got) and set(expected) == set(got)


def is_empty(item: Json) -> bool:
    """Whether it is an item of a series in which no energy flowed."""
    return isinstance(item, dict) and item.get("kwhSum") == 0


def firm(case: Json, value: Json) -> Json:
    """Keep what a case promises, whatever is left open."""
    if OPEN_EMPTY in case.get("interp", ()) and isinstance(value, list):
        return [item for item in value if not is_empty(item)]
    if OPEN_CHOICE in case.get("interp", ()) and isinstance(value, dict):
        return {key: value[key] for key in FIRM if key in value}
    return value


def run(cases: Iterable[Json], report: Callable[[str], None] = print) -> Counter[str]:
    """Run cases, report each failure with both values, and count."""
    count: Counter[str] = Counter(passed=0, failed=0)
    for case in cases:
        call = CALLS.get(case["fn"])
        if call is None:
            count[f"no call for {case['fn']}"] += 1
            continue
        try:
            got = call(case["input"])
        except (ValueError, TypeError) as error:
            got = f"{type(error).__name__}: {error}"
        if same(firm(case, case["expected"]), firm(case, got)):
            count["passed"] += 1
        else:
            count["failed"] += 1
            expected = json.dumps(case["expected"])
            report(f"{case['id']} {case['fn']}\n  expected {expected}\n  got      {got!r}")
    return count


def main(paths: Sequence[str]) -> int:
    """Run all cases of the files; 1 if one fails or none is run."""
    cases = [case for path in paths for case in json.loads(Path(path).read_text(encoding="utf-8"))]
    count = run(cases)
    for name, number in sorted(count.items()):
        if name.startswith("no call"):
            print(f"{name}: {number} skipped")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return int(count["failed"] > 0 or count["passed"] == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
