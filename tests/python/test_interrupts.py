"""Ctrl-C in long calls: KeyboardInterrupt, and at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

CALLS = {
    "plan_switching": """
prices = sw.Prices.from_values(
    six, [0.2 + 0.001 * (37 * i % 101) for i in range(1440)],
    currency="EUR", slot=timedelta(minutes=1),
)
def call():
    sw.plan_switching(
        prices, now=six, power_max_kw=11, power_min_kw=4.1, targets=[(None, 33.3)],
        on_min=timedelta(minutes=15), off_min=timedelta(minutes=15), time_max=None,
    )
""",
    "plan_batch": """
import pyarrow as pa
count = 400_000
prices = sw.Prices.from_values(
    six, [0.2 + 0.001 * (37 * i % 101) for i in range(96)],
    currency="EUR", slot=timedelta(minutes=15),
)
vehicles = pa.table({
    "id": pa.array(range(count)),
    "arrival": pa.array([six] * count, pa.timestamp("us", "UTC")),
    "departure": pa.array([six + timedelta(hours=14)] * count, pa.timestamp("us", "UTC")),
    "energy_kwh": pa.array([1.0 + i % 37 for i in range(count)]),
    "power_max_kw": pa.array([11.0] * count),
})
def call():
    while True:
        sw.plan_batch(vehicles, prices)
""",
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(name: str) -> None:
    """The child says when it calls; it is still in the call when the signal comes."""
    script = (
        # A shell that starts the tests in the background has its children ignore the signal.
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import slackwater as sw\nfrom datetime import UTC, datetime, timedelta\n"
        "six = datetime(2026, 1, 5, 18, tzinfo=UTC)\n"
        + CALLS[name]
        + "try:\n    print('calls', flush=True)\n    call()\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "calls\n"
        started = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - started < 5
        child.kill()
