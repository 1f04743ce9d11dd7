"""A server of its own for the night: its process, its clients, a receiver of its events."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import quote

from sandboxes import Asker, Json, Running, listening, spawn

In = TypeVar("In")
Out = TypeVar("Out")

THREADS = 8
PATIENCE_SECONDS = 300
TOKEN_GOOD_FOR = timedelta(minutes=50)
"""Tokens last an hour of the sandbox's time."""

SETTLES_WITHIN_SECONDS = 600
REFUSED_AT = frozenset(4**power for power in range(12))
"""The receiver refuses these of all events once, to be sent them again some seconds later."""

CREATE = ("client", "create", "--store")

TEMPLATE = {
    "id": "{id}",
    "seq": "{seq}",
    "name": "{name}",
    "at": "{at}",
    "user": "{user}",
    "target": "{target}",
    "data": "{data}",
}


class AnswerError(RuntimeError):
    """An answer that the night cannot go on with."""


class Caller(Asker):
    """Asks for what must be answered well."""

    def get(self, path: str) -> Json:
        """Ask for something that must be there."""
        return self._good("GET", path, None)

    def post(self, path: str, body: object = None) -> Json:
        """Post something that must be taken."""
        return self._good("POST", path, body)

    def put(self, path: str, body: object) -> Json:
        """Put something that must be taken."""
        return self._good("PUT", path, body)

    def patch(self, path: str, body: object) -> Json:
        """Change something that must be there."""
        return self._good("PATCH", path, body)

    def _good(self, method: str, path: str, body: object) -> Json:
        status, answer = self.ask(method, path, body)
        if status >= 300:
            raise AnswerError(f"{method} {path}: {status} {answer}")
        return answer


class Receiver:
    """Takes events by HTTP, and refuses some of them once."""

    def __init__(self) -> None:
        self.accepted: list[Json] = []
        self.deliveries: Counter[str] = Counter()
        self.refused = 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(json.loads(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where events are posted."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/events"

    def take(self, event: Json) -> int:
        """Take an event, or not."""
        name = event["id"]
        self.deliveries[name] += 1
        if len(self.deliveries) in REFUSED_AT and self.deliveries[name] == 1:
            self.refused += 1
            return 503
        self.accepted.append(event)
        return 204

    def close(self) -> None:
        """Take no more."""
        self._server.shutdown()


class Service:
    """A running server: `client` is the public interface, `operator` the other address."""

    environment = "sandbox"

    def __init__(self, binary: Path, folder: Path, settings: str, receiver: Receiver) -> None:
        settings_of = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/night.db"}
        made = subprocess.run(
            # Its identifier belongs into the settings that the server starts with.
            [binary, *CREATE, "--environment", self.environment, "--name", "night"],
            env={**os.environ, **settings_of},
            capture_output=True,
            text=True,
            check=True,
        )
        client = json.loads(made.stdout)
        self.client_id, self._secret = client["client_id"], client["client_secret"]
        config = folder / "night.toml"
        config.write_text(
            settings.replace("CLIENT", self.client_id)
            + "\n[[events.subscriptions]]\n"
            + f'name = "night"\nclient = "{self.client_id}"\nurl = "{receiver.url}"\n'
            + f"template = '{json.dumps(TEMPLATE)}'\n"
        )
        self._running = self._start(binary, config, settings_of)
        self.log = self._running.log
        self.client = Caller(self._running.base, patience_seconds=PATIENCE_SECONDS)
        self.operator = Caller(self._running.admin, patience_seconds=PATIENCE_SECONDS)
        self._auth = Caller(self._running.auth)
        self._issued_at = datetime.min.replace(tzinfo=UTC)
        self.pool = ThreadPoolExecutor(THREADS)

    def _start(self, binary: Path, config: Path, variables: Mapping[str, str]) -> Running:
        """Start the server with its settings."""
        return listening(spawn(binary, ["--config", config], variables))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)
        self._running.end()

    def refresh_token(self, now: datetime) -> None:
        """Get a token if the one there is will not last."""
        if now - self._issued_at < TOKEN_GOOD_FOR:
            return
        credentials = b64encode(f"{self.client_id}:{self._secret}".encode()).decode()
        headers = {
            "Authorization": f"Basic {credentials}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        status, token = self._auth.ask(
            "POST", "/oauth2/token", "grant_type=client_credentials", headers
        )
        if status != 200:
            raise AnswerError(f"no token: {status} {token}")
        self.client.headers["Authorization"] = f"Bearer {token['access_token']}"
        self._issued_at = now

    def step(self, seconds: float) -> datetime:
        """Put the clock forward, and wait until all that was due is done."""
        order: dict[str, float] = {"step_seconds": seconds}
        for _ in range(SETTLES_WITHIN_SECONDS // 5):
            state = self.operator.post("/sandbox/clock", order)
            if state["is_settled"]:
                now = instant(state["now"])
                self.refresh_token(now)
                return now
            order = {}
        raise AnswerError(f"nothing came to rest within {SETTLES_WITHIN_SECONDS} s")

    def events(self) -> list[Json]:
        """All events, as operators see them."""
        found: list[Json] = []
        after = 0
        while page := self.operator.get(f"/events?after={after}&limit=10000")["events"]:
            found += page
            after = page[-1]["seq"]
        return found

    def wait_for_deliveries(self) -> None:
        """Wait until the receiver was told of every event that there is."""
        last = max((event["seq"] for event in self.events()), default=0)
        for _ in range(SETTLES_WITHIN_SECONDS * 2):
            (subscription,) = self.operator.get("/events/subscriptions")
            if subscription["posted_seq"] >= last:
                return
            time.sleep(0.5)
        raise AnswerError("the receiver was not told of all events")

    def each(self, work: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """Do something for many at once; results in order."""
        return list(self.pool.map(work, items))


def instant(text: str) -> datetime:
    """A time as the service writes it."""
    return datetime.fromisoformat(text)


def written(at: datetime) -> str:
    """A time for a query or a body."""
    return quote(at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), safe=":")
