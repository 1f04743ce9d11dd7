"""The central system as a process, and charge points of the package `ocpp` that connect to it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import websockets
from websockets.asyncio.client import ClientConnection

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/examples/central"

# Longest wait for anything, in seconds.
PATIENCE = 30


class Central:
    """The example `central` of `api/ocpp`, which takes an order a line and prints one answer."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        """Start the program on a free port."""
        values = {"listen": "127.0.0.1:0", "state_folder": str(folder), "security_profile": 1}
        command = [str(PROGRAM), json.dumps(values | settings)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.address: str = self.read()["listening"]

    def read(self) -> Any:
        """Return the next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the program has ended"
        return json.loads(line)

    def order(self, line: str) -> Any:
        """Give an order and return the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()

    async def ask(self, line: str) -> Any:
        """Give an order while charge points of this process answer requests."""
        return await asyncio.to_thread(self.order, line)

    async def settle(self) -> None:
        """Let the time pass in which it asks nothing of a charge point that has just started."""
        await self.ask("wait 11")

    async def until(self, line: str, holds: Any) -> Any:
        """Repeat an order until its answer holds."""
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await self.ask(line)
                if holds(answer):
                    return answer
                await asyncio.sleep(0.05)

    def stop(self) -> None:
        """End the program as a failure would, without a last word."""
        with self.process:
            self.process.kill()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the program."""
        self.stop()


def basic(identity: str, password: str) -> dict[str, str]:
    """Return the header of Basic authentication."""
    pair = base64.b64encode(f"{identity}:{password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


@asynccontextmanager
async def connected(
    address: str, identity: str, password: str | None, version: str, **options: Any
) -> AsyncIterator[ClientConnection]:
    """Connect as a charge point."""
    headers = basic(identity, password) if password else {}
    scheme = "wss" if "ssl" in options else "ws"
    async with websockets.connect(
        f"{scheme}://{address}/ocpp/{identity}",
        subprotocols=[websockets.Subprotocol(version)],
        additional_headers=headers,
        **options,
    ) as socket:
        yield socket
