"""The program of the service, as tests start it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent.parent
SERVER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/slackwater-api"


def create_client_in_store(settings: Path, environment: Mapping[str, str]) -> None:
    """Create a client without a running service, which reads the whole of the settings.

    Args:
        settings: File of settings.
        environment: Settings that are given as environment variables.
    """
    arguments = ("--store", "--environment", "production", "--name", "first")
    done = subprocess.run(
        [SERVER, "client", "create", *arguments, "--config", settings],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "first"), done.stderr
