"""Backups as the run book takes them: while clients write, restored elsewhere, nothing missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from server import SERVER

from debian import find_program
from postgres import postgres, program

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402  they stand next to the other programs

PAGE = ROOT / "docs/how-to/operate.md"
CHARGER = sandboxes.uuid_of("hana-charger")
WRITES_MIN = 30


def command_of_page(name: str, **paths: str | Path) -> str:
    """The one command of the run book that begins with a name, with paths of the test in it."""
    found: list[str] = re.findall(rf"^{name} .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    (command,) = found
    for shown, real in paths.items():
        assert f"${shown}" in command
        command = command.replace(f"${shown}", str(real))
    return command


def run(command: str, *folders: str) -> None:
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    subprocess.run(["bash", "-c", command], env=environment, check=True, capture_output=True)  # noqa: S607


@contextmanager
def serving(url: str) -> Iterator[sandboxes.Running]:
    settings = {"SLACKWATER_STORE__URL": url}
    with sandboxes.spawn(SERVER, sandboxes.STREET, settings) as process:
        running = sandboxes.listening(process, is_welcome=True)
        try:
            yield running
        finally:
            running.end()
    assert running.errors == []


class Writer:
    """A client that gives commands until it is told to stop, and remembers acknowledged ones."""

    def __init__(self, running: sandboxes.Running) -> None:
        self.acknowledged: list[str] = []
        self._asker = sandboxes.Asker(running.base, running.token)
        self._more = threading.Condition()
        self._is_over = False
        self._failure = ""
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join()

    def _write(self) -> None:
        while not self._is_over and not self._failure:
            wanted = {"maxCurrent": 10 + len(self.acknowledged) % 2}
            status, action = self._asker.ask("POST", f"/chargers/{CHARGER}/max-current", wanted)
            with self._more:
                if status == 200:
                    self.acknowledged.append(action["id"])
                else:
                    self._failure = f"{status} {action}"
                self._more.notify_all()
        self._asker.close()

    def wait_for(self, count: int) -> list[str]:
        """All acknowledged writes, when there are so many more than now."""
        with self._more:
            enough = len(self.acknowledged) + count
            self._more.wait_for(lambda: self._failure or len(self.acknowledged) >= enough)
            assert not self._failure
            return list(self.acknowledged)


def check_restored(url: str, token: str, actions: list[str]) -> None:
    """Start a service on the copy: it knows the actions, to a client with its old token."""
    with serving(url) as running:
        asker = sandboxes.Asker(running.base, token)
        for action in actions:
            status, body = asker.ask("GET", f"/chargers/actions/{action}")
            assert (status, body.get("id")) == (200, action)
        asker.close()


def test_a_file_is_backed_up_while_clients_write(tmp_path: Path) -> None:
    find_program("sqlite3", package="sqlite3")
    source, copy, restored = (tmp_path / name for name in ("a.db", "copy.db", "b.db"))
    with serving(f"sqlite:{source}") as running, Writer(running) as writer:
        before = writer.wait_for(WRITES_MIN)
        run(command_of_page("sqlite3", DATABASE=source, COPY=copy))
        writer.wait_for(1)
    shutil.copy(copy, restored)
    check_restored(f"sqlite:{restored}", running.token, before)


def test_the_file_of_a_stopped_service_is_a_backup(tmp_path: Path) -> None:
    source, restored = tmp_path / "a.db", tmp_path / "b.db"
    with serving(f"sqlite:{source}") as running, Writer(running) as writer:
        writer.wait_for(WRITES_MIN)
    shutil.copy(source, restored)
    check_restored(f"sqlite:{restored}", running.token, writer.acknowledged)


def test_a_server_is_backed_up_while_clients_write(tmp_path: Path) -> None:
    copy = tmp_path / "copy.dump"
    programs = str(Path(program("pg_dump")).parent)
    with postgres() as server:
        server.execute("create database a")
        server.execute("create database b")
        with serving(server.url("a")) as running, Writer(running) as writer:
            before = writer.wait_for(WRITES_MIN)
            run(command_of_page("pg_dump", DATABASE=server.url("a"), COPY=copy), programs)
            writer.wait_for(1)
        run(command_of_page("pg_restore", DATABASE=server.url("b"), COPY=copy), programs)
        check_restored(server.url("b"), running.token, before)
