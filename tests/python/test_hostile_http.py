"""Requests that are no HTTP, or two at once: refused or cut, and the service answers the next."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from server import SERVER

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402  they stand next to the other programs

POST = b"POST /users/u/link HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
GET = b"GET /users HTTP/1.1\r\nHost: a\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

# Each has two readings, of which a proxy may take the other one.
TWO_READINGS = {
    "length and chunks": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 36\r\n\r\n",
    "a list of lengths": POST + b"Content-Length: 0, 36\r\n\r\n",
    "a length with a sign": POST + b"Content-Length: +0\r\n\r\n",
    "a length in other digits": POST + b"Content-Length: 0x0\r\n\r\n",
    "chunks by another name": POST + b"Transfer-Encoding: xchunked\r\n\r\n",
    "chunks that are not last": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n",
    "a space before the colon": POST + b"Content-Length : 36\r\n\r\n",
    "a folded line": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n",
    "a bare line feed in a value": POST + b"X: a\nTransfer-Encoding: chunked\r\n\r\n",
    "a size of a chunk that overflows": POST
    + b"Transfer-Encoding: chunked\r\n\r\n1ffffffffffffffff\r\n",
    "a size of a chunk with a sign": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
    "a length beyond all measure": POST + b"Content-Length: 99999999999999999999\r\n\r\n",
}
NO_REQUESTS = {
    "a greeting of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "a preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "zeros": bytes(4096),
    "no version": b"GET /users\r\n\r\n",
    "a NUL in a header": GET + b"X: a\x00b\r\n\r\n",
    "ten thousand headers": GET + b"X: a\r\n" * 10_000 + b"\r\n",
    "a header of a megabyte": GET + b"X: " + b"a" * 2**20 + b"\r\n\r\n",
    "an address of a megabyte": b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "two hosts": GET + b"Host: b\r\n\r\n",
    "no host": b"GET /users HTTP/1.1\r\n\r\n",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Running]:
    folder = tmp_path_factory.mktemp("hostile")
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/hostile.db"}
    arguments = ["--homes", "1", "--welcome"]
    with sandboxes.spawn(SERVER, arguments, settings) as process:
        found = sandboxes.listening(process, is_welcome=True)
        try:
            yield found
        finally:
            found.end()
    assert found.errors == []


def answers(address: str, sent: bytes, *, is_all: bool = True) -> bytes:
    """All that a server says to these bytes, after which nothing comes, until it ends."""
    netloc = urlsplit(address)
    with socket.create_connection((netloc.hostname or "", netloc.port or 0), timeout=60) as peer:
        said = b""
        # It may be cut while more is sent.
        with suppress(ConnectionError):
            peer.sendall(sent)
            if is_all:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_WR)
            while part := peer.recv(65536):
                said += part
        return said


def check_alive(running: sandboxes.Running) -> None:
    asker = sandboxes.Asker(running.base, running.token)
    assert asker.ask("GET", "/users")[0] == 200
    asker.close()


def statuses(said: bytes) -> list[bytes]:
    """All of them: an answer may begin in the line in which a body ends."""
    return re.findall(rb"HTTP/1\.1 (\d{3}) ", said)


@pytest.mark.parametrize("name", TWO_READINGS)
def test_a_request_with_two_readings_is_refused_and_hides_no_other(
    running: sandboxes.Running, name: str
) -> None:
    """One answer at most, and the connection ends, so that nothing behind it is a request."""
    owned = f"Authorization: Bearer {running.token}\r\n".encode()
    for address in (running.base, running.auth, running.admin):
        for head in (POST, POST + owned):
            said = answers(address, TWO_READINGS[name].replace(POST, head) + SMUGGLED, is_all=False)
            assert b"smuggled" not in said
            assert len(statuses(said)) <= 1, said
            assert all(status.startswith((b"4", b"5")) for status in statuses(said)), said
    check_alive(running)


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_what_is_no_request_is_refused_or_cut(running: sandboxes.Running, name: str) -> None:
    for address in (running.base, running.auth, running.admin):
        said = answers(address, NO_REQUESTS[name])
        assert set(statuses(said)) <= {b"400", b"414", b"431", b"505"}, said[:200]
    check_alive(running)


def test_requests_in_one_piece_are_answered_in_order(running: sandboxes.Running) -> None:
    body = b'{"scopes": []}'
    post = POST + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    owned = f"Authorization: Bearer {running.token}\r\n".encode()
    last = b"GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + owned + b"\r\n"
    said = answers(running.base, post + GET + owned + b"\r\n" + last, is_all=False)
    assert statuses(said) == [b"401", b"200", b"404"], said


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000, '"' + "\\ud800" * 1000 + '"'])
def test_deep_and_broken_json_is_a_problem(running: sandboxes.Running, body: str) -> None:
    asker = sandboxes.Asker(running.base, running.token)
    for method, path in [("PUT", "/tariffs/t"), ("POST", "/users/u/link")]:
        status, problem = asker.ask(method, path, body)
        assert (status, problem["title"]) == (400, "Bad request")
    asker.close()
