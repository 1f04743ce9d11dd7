"""A stop signal while a large sandbox is filled."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from server import SERVER

ROOT = Path(__file__).resolve().parents[2]


def test_a_stop_signal_ends_the_filling_of_a_sandbox(tmp_path: Path) -> None:
    with subprocess.Popen(
        [SERVER, "serve", "--listen", "127.0.0.1:0", "--homes", "1000"],
        env={**os.environ, "SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/kept.db"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        # The client of the residents is there before their devices are.
        assert process.stdout.readline().startswith("client ")
        process.terminate()
        _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert '"listening"' not in log
