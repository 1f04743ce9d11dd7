"""PostgreSQL whose processes are killed while clients write: nothing acknowledged is lost."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Self

from server import SERVER
from test_backup import CHARGER, check_restored

from postgres import postgres

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import sandboxes

RESTARTS = int(os.environ.get("SLACKWATER_RESTARTS", "2"))
WRITES = 30


class Writer:
    """A client that gives commands through an outage, and remembers the answers."""

    def __init__(self, running: sandboxes.Running) -> None:
        self.acknowledged: list[str] = []
        self.refused: list[tuple[int, str]] = []
        self._asker = sandboxes.Asker(running.base, running.token)
        self._more = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join()

    def _write(self) -> None:
        count = 0
        while not self._is_over:
            count += 1
            wanted = {"maxCurrent": 10 + count % 2}
            status, body = self._asker.ask("POST", f"/chargers/{CHARGER}/max-current", wanted)
            with self._more:
                if status == 200:
                    self.acknowledged.append(body["id"])
                else:
                    self.refused.append((status, body["detail"]))
                self._more.notify_all()
        self._asker.close()

    def wait_for(self, count: int) -> None:
        """Return when so many more writes are acknowledged."""
        with self._more:
            enough = len(self.acknowledged) + count
            self._more.wait_for(lambda: len(self.acknowledged) >= enough)


def test_a_server_that_is_killed_under_load_loses_nothing_acknowledged() -> None:
    with postgres() as server:
        server.execute("create database a")
        settings = {"SLACKWATER_STORE__URL": server.url("a")}
        with sandboxes.spawn(SERVER, sandboxes.STREET, settings) as process:
            running = sandboxes.listening(process, is_welcome=True)
            try:
                with Writer(running) as writer:
                    for _ in range(RESTARTS):
                        writer.wait_for(WRITES)
                        server.restart()
                    writer.wait_for(WRITES)
            finally:
                running.end()
        # A write whose commit had no answer may be there: then the device has that current.
        assert {status for status, _ in writer.refused} <= {503, 400}, writer.refused
        check_restored(server.url("a"), running.token, writer.acknowledged)
