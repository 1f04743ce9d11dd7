"""Ctrl-C in long calls: KeyboardInterrupt, while the work is not done.

Each call goes on far beyond the signal. A test ends because Ctrl-C ended its call.
"""

from __future__ import annotations

import signal
import subprocess
import sys

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
    "plan_storage_batch": """
import pyarrow as pa
count = 1_000_000
prices = sw.Prices.from_values(
    six, [0.2 + 0.001 * (37 * i % 101) for i in range(4 * 24 * 365)],
    currency="EUR", slot=timedelta(minutes=15),
)
batteries = pa.table({
    "id": pa.array(range(count)),
    "arrival": pa.repeat(pa.scalar(six, pa.timestamp("us", "UTC")), count),
    "departure": pa.repeat(pa.scalar(six + timedelta(days=365), pa.timestamp("us", "UTC")), count),
    "capacity_kwh": pa.repeat(40.0, count),
    "soc_percent": pa.repeat(50.0, count),
    "power_max_kw": pa.repeat(11.0, count),
    "discharge_max_kw": pa.repeat(11.0, count),
})
def call():
    sw.plan_storage_batch(batteries, prices, prices)
""",
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(name: str) -> None:
    """The child says when it calls, and the signal comes while it is in the call."""
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
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        child.kill()
