"""Settings of the container image."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/slackwater-api"


def test_the_service_takes_the_settings_of_the_image(tmp_path: Path) -> None:
    assert SERVER.is_file(), f"{SERVER} is missing: run `make build`"
    settings = ROOT / "api" / "container.toml"
    done = subprocess.run(
        [SERVER, "client", "list", "--store", "--config", settings],
        env={**os.environ, "SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/kept.db"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
