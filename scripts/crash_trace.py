"""Records and disturbs the system calls of a running server, by strace."""

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DISK = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink")
ANSWER = ("write", "writev", "sendto")

# `time call(fd<path>, arguments) = result <duration>`; texts are in hexadecimal digits.
LINE = re.compile(r"^(\d+\.\d+) (\w+)\((?:\d+<([^>]*)>)?(.*)\) += (-?\d+).*<([\d.]+)>$")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
SUCCESS = b"HTTP/1.1 2"
DETACH_SECONDS = 5


class NoStraceError(RuntimeError):
    """strace is missing, or may not look at other processes."""


@dataclass(frozen=True)
class Call:
    """A system call that succeeded.

    Attributes:
        name: Its name.
        path: The file, or the socket.
        data: The text that was written, without anything else.
        numbers: The numbers after that text.
        began: When it began, in seconds.
        ended: When it ended.
    """

    name: str
    path: str
    data: bytes
    numbers: tuple[int, ...]
    began: float
    ended: float

    @property
    def is_success(self) -> bool:
        """Whether an answer of a success begins in it."""
        return self.name in ANSWER and SUCCESS in self.data


@contextmanager
def attached(pid: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Has strace look at all threads of a process until the block ends.

    Raises:
        NoStraceError: It cannot.
    """
    strace = shutil.which("strace")
    if strace is None:
        raise NoStraceError("there is no strace on PATH; on Debian: apt-get install strace")
    command = [strace, "-f", "-p", str(pid), *words]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        out = process.stderr
        first = out.readline() if out else ""
        if out is None or "attached" not in first:
            raise NoStraceError(first.strip() or "strace said nothing")
        # A pipe that nobody reads fills up.
        threading.Thread(target=out.read, daemon=True).start()
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(DETACH_SECONDS)
            except subprocess.TimeoutExpired:
                # It waits for a process that is gone.
                process.kill()


def failing(call: str, error: str) -> list[str]:
    """Words for strace that make each call of a name fail."""
    return ["-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={error}"]


def killing(call: str, when: int) -> list[str]:
    """Words for strace that kill the process as it begins its n-th call of a name."""
    return [
        "-o",
        "/dev/null",
        "-e",
        f"trace={call}",
        "-e",
        f"inject={call}:signal=KILL:when={when}",
    ]


def recording(file: Path) -> list[str]:
    """Words for strace that record calls in files beside `file`, one for each thread."""
    calls = ",".join([*DISK, *ANSWER])
    form = ["-ff", "-ttt", "-T", "-y", "-xx", "-s", "100000"]
    return [*form, "-e", f"trace={calls}", "-o", str(file)]


def recorded(file: Path) -> list[Call]:
    """All calls of a record, in the order in which they began."""
    calls: list[Call] = []
    for part in file.parent.glob(f"{file.name}.*"):
        with part.open() as lines:
            calls += filter(None, map(call_of, lines))
    return sorted(calls, key=lambda call: call.began)


def call_of(line: str) -> Call | None:
    """The call of a line; `None` if it failed, or is about something else."""
    found = LINE.match(line)
    if found is None or found[5].startswith("-"):
        return None
    began, name, path, rest, _, duration = found.groups()
    texts = [unescaped(text) for text in TEXT.findall(rest)]
    if path is None:
        path, texts = texts[0], []
    else:
        path = unescaped(path)
    numbers = tuple(map(int, re.findall(r", (\d+)", TEXT.sub("", rest))))
    data = b"".join(text.encode("latin-1") for text in texts)
    return Call(name, path, data, numbers, float(began), float(began) + float(duration))


def unescaped(text: str) -> str:
    r"""A text from its form ``\x61\x62``; a letter for each byte."""
    return bytes.fromhex(text.replace("\\x", "")).decode("latin-1")
