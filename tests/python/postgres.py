"""A PostgreSQL server of a test's own, on a free port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from debian import find_program

NOBODY = 65534
"""The server refuses to run as root."""


def program(name: str) -> str:
    """A program of PostgreSQL, which Debian does not put on PATH."""
    own = os.environ.get("POSTGRES_BIN")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    for folder in [own, *reversed(installed)]:
        if folder and (found := shutil.which(name, path=folder)):
            return found
    return find_program(name, package="postgresql")


@dataclass(frozen=True)
class Server:
    """A running server, which trusts whoever is on this machine.

    Attributes:
        port: Its port on 127.0.0.1.
        restart: Kill all of its processes, and start it again.
    """

    port: int
    restart: Callable[[], None]

    def url(self, database: str) -> str:
        """Address of a database."""
        return f"postgres://slackwater@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> str:
        """Rows of a statement, one on a line."""
        words = ["--quiet", "--tuples-only", "--no-align", "--dbname", self.url(database)]
        done = subprocess.run(
            [program("psql"), *words, "--command", statement],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


@contextmanager
def postgres() -> Iterator[Server]:
    """Run a server until the block ends."""
    # Not in a folder of pytest, which is closed to other users.
    with tempfile.TemporaryDirectory(prefix="slackwater-postgres-") as folder:
        as_user: list[str] = []
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            as_user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]

        def run(name: str, *words: str) -> None:
            command = [*as_user, program(name), f"--pgdata={folder}/data", *words]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)

        run("initdb", "--auth=trust", "--no-sync", "--username=slackwater")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = f"-F -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="

        def start() -> None:
            run("pg_ctl", "start", "--wait", f"--log={folder}/log", f"--options={options}")

        def restart() -> None:
            run("pg_ctl", "stop", "--mode=immediate")
            start()

        start()
        try:
            yield Server(port, restart)
        finally:
            run("pg_ctl", "stop", "--mode=fast")
