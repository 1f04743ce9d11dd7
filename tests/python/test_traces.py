"""Traces from a request to a device, at a collector that decodes them by `opentelemetry-proto`."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.request import urlopen

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from server import SERVER

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import sandboxes  # noqa: E402  they stand next to the other programs

PATIENCE_SECONDS = 60
WORD = "collector-7391"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
TRACEPARENT = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
CHARGER = sandboxes.uuid_of("hana-charger")
ORDER = f"/chargers/{CHARGER}/max-current"
ROUTE = "/chargers/{chargerId}/max-current"

# Attributes that the documentation names, of each kind of span.
ATTRIBUTES = {
    "request": {
        "http.request.method",
        "http.route",
        "http.response.status_code",
        "request.id",
    },
    "store transaction": {"outcome"},
    "pursue action": {"action.id", "device.id", "attempts"},
    "call device": {"operation", "vendor", "device.id", "outcome"},
    "deliver event": {"event.id", "event.name", "attempt", "outcome"},
}


class Collector(ThreadingHTTPServer):
    """A collector of OTLP by HTTP, and a receiver of events."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.changed = threading.Condition()
        self.spans: list[Span] = []
        self.services: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.events: list[dict[str, str]] = []
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        """Decode a batch of spans."""
        batch = ExportTraceServiceRequest.FromString(body)
        with self.changed:
            self.bodies.append(body)
            self.headers.append(headers)
            for resource in batch.resource_spans:
                self.services.append(values(resource.resource.attributes))
                for scope in resource.scope_spans:
                    self.spans += scope.spans
            self.changed.notify_all()

    def wait_for(self, is_there: Callable[[], bool]) -> None:
        """Wait until something was received."""
        with self.changed:
            assert self.changed.wait_for(is_there, PATIENCE_SECONDS), sorted(
                span.name for span in self.spans
            )

    def of_trace(self, trace: str) -> list[Span]:
        """Spans of a trace so far."""
        return [span for span in self.spans if span.trace_id.hex() == trace]


class Exchange(BaseHTTPRequestHandler):
    """One request to the collector, or to the receiver."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take spans or an event."""
        collector = cast("Collector", self.server)
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.path == "/v1/traces":
            assert headers["content-type"] == "application/x-protobuf"
            collector.take(body, headers)
        else:
            with collector.changed:
                collector.events.append(headers)
                collector.changed.notify_all()
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name of the base class
        """Say nothing."""


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as a dictionary."""
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value")
        for one in attributes
    }


def is_connected(spans: list[Span], roots: set[str]) -> bool:
    """Whether the parent of each span is another one, or one of `roots`."""
    known = {span.span_id.hex() for span in spans} | roots
    return all(span.parent_span_id.hex() in known for span in spans)


def depth(span: Span, by_id: dict[bytes, Span]) -> int:
    """Number of spans above one."""
    return 1 + depth(by_id[span.parent_span_id], by_id) if span.parent_span_id in by_id else 0


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def served(
    folder: Path, arguments: tuple[str, ...], **variables: str
) -> Iterator[sandboxes.Running]:
    settings = {"SLACKWATER_STORE__URL": f"sqlite:{folder}/traced.db", **variables}
    with sandboxes.spawn(SERVER, (*arguments, "--welcome"), settings) as process:
        running = sandboxes.listening(process, is_welcome=True)
        try:
            yield running
        finally:
            running.end()


def written(folder: Path, collector: Collector, more: str = "") -> str:
    """File of settings that sends traces to a collector."""
    headers = folder / "headers"
    headers.write_text(f"Authorization: Bearer {WORD}\nX-Scope: tests\n")
    headers.chmod(0o600)
    file = folder / "traced.toml"
    file.write_text(
        f"""{more}
        [telemetry.traces]
        endpoint = "{collector.url}/v1/traces"
        headers_file = "{headers}"
        attributes = {{ "deployment.environment.name" = "tests" }}
        """
    )
    return str(file)


def test_a_request_to_a_device_gives_one_connected_tree_of_spans(
    tmp_path: Path, collector: Collector
) -> None:
    more = '[auth]\ntrusted_proxies = ["127.0.0.1"]\n[serve]\naccess_log = "all"\n'
    settings = written(tmp_path, collector, more)
    arguments = ("--config", settings, "--scenario", "street", "--clock", "60x")
    with (
        served(tmp_path, arguments) as running,
        closing(sandboxes.Asker(running.admin)) as operator,
        closing(sandboxes.Asker(running.base, running.token)) as client,
    ):
        _, clients = operator.ask("GET", "/clients")
        subscription = {
            "name": "receiver",
            "client": clients[0]["client_id"],
            "url": f"{collector.url}/events",
            "events": ["user:vendor-action:updated"],
            "template": '{"type": "{name}", "data": "{data}"}',
        }
        status, answer = operator.ask("POST", "/events/subscriptions", subscription)
        assert status in {200, 201}, answer
        status, answer = client.ask("POST", ORDER, {"maxCurrent": 11}, TRACEPARENT)
        assert status == 200, answer

        def is_whole() -> bool:
            spans = collector.of_trace(TRACE)
            calls = {values(span.attributes).get("operation") for span in spans}
            names = {span.name for span in spans}
            wanted = ATTRIBUTES.keys() - {"request"}
            is_all = wanted <= names and {"poll", "send"} <= calls
            return is_all and is_connected(spans, {CALLER}) and bool(answered_lines(running))

        collector.wait_for(is_whole)
        collector.wait_for(
            lambda: any(TRACE in one.get("traceparent", "") for one in collector.events)
        )
        (line,) = answered_lines(running)
        token = running.token
    spans = collector.of_trace(TRACE)
    (request,) = [span for span in spans if span.name == f"POST {ROUTE}"]
    check_request(request, line)
    # The request waits for its transaction, and nobody waits for the device.
    changes = [span for span in spans if span.parent_span_id == request.span_id]
    assert {span.name for span in changes} >= {"store transaction", "pursue action"}
    written_by = [span for span in changes if span.name == "store transaction"]
    assert [values(span.attributes)["outcome"] for span in written_by] == ["committed"]
    turn = next(span for span in changes if span.name == "pursue action")
    assert values(turn.attributes)["device.id"] == CHARGER
    assert values(turn.attributes)["attempts"] in {0, 1}
    check_calls(spans)
    delivered = [span for span in spans if span.name == "deliver event"]
    sent = {one["traceparent"] for one in collector.events if TRACE in one.get("traceparent", "")}
    assert sent <= {f"00-{TRACE}-{span.span_id.hex()}-01" for span in delivered}
    assert sent
    for span in spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    check_what_is_told(collector, (token, WORD, clients[0]["client_id"], "hana", "maxCurrent"))


def answered_lines(running: sandboxes.Running) -> list[sandboxes.Json]:
    """Lines of the access log about orders to the charger."""
    lines = [event for event in running.log if event.get("message") == "answered"]
    return [line for line in lines if line["route"] == ROUTE and line["method"] == "POST"]


def check_request(request: Span, line: sandboxes.Json) -> None:
    """The span of a request continues the trace of its caller, and has the id of its log line."""
    assert request.parent_span_id.hex() == CALLER
    assert request.kind == Span.SPAN_KIND_SERVER
    of_request = values(request.attributes)
    assert of_request["http.request.method"] == "POST"
    assert of_request["http.route"] == ROUTE
    assert of_request["http.response.status_code"] == 200
    assert of_request["request.id"] == line["request"]


def check_calls(spans: list[Span]) -> None:
    """Calls of the device belong to a turn of its action, and say how they ended."""
    by_id = {span.span_id: span for span in spans}
    calls = [span for span in spans if span.name == "call device"]
    for call in calls:
        attributes = values(call.attributes)
        assert attributes["device.id"] == CHARGER
        assert attributes["vendor"]
        assert by_id[call.parent_span_id].name == "pursue action"
        assert depth(call, by_id) == 2
        assert (attributes["outcome"] == "answered") != (
            call.status.code == Status.STATUS_CODE_ERROR
        )


def check_what_is_told(collector: Collector, secrets: tuple[str, ...]) -> None:
    """The collector knows who sends, and is told no secret and nothing of users."""
    assert all(one["authorization"] == f"Bearer {WORD}" for one in collector.headers)
    assert all(one["x-scope"] == "tests" for one in collector.headers)
    (service,) = {tuple(sorted(one.items())) for one in collector.services}
    names = {"deployment.environment.name", "service.name", "service.version"}
    assert dict(service).keys() == names
    everything = b"".join(collector.bodies)
    for text in (*secrets, "latitude", "longitude", "59.9195", "10.7999"):
        assert text.encode() not in everything, text
    # Neither is there an attribute that nobody has described, nor a number that could be a place.
    for span in collector.spans:
        kind = span.name if span.name in ATTRIBUTES else "request"
        assert values(span.attributes).keys() <= ATTRIBUTES[kind], span
        kinds = {one.value.WhichOneof("value") for one in span.attributes}
        assert kinds <= {"string_value", "int_value"}, span
        assert not span.events, span


def test_strangers_do_not_choose_the_trace_of_their_requests(
    tmp_path: Path, collector: Collector
) -> None:
    settings = written(tmp_path, collector)
    with (
        served(tmp_path, ("--config", settings, "--homes", "1")) as running,
        closing(sandboxes.Asker(running.base, running.token)) as client,
    ):
        assert client.ask("GET", "/users", headers=TRACEPARENT)[0] == 200
        collector.wait_for(lambda: any(span.name == "GET /users" for span in collector.spans))
    (request,) = [span for span in collector.spans if span.name == "GET /users"]
    assert request.trace_id.hex() != TRACE
    assert request.parent_span_id == b""


def test_a_collector_that_is_gone_costs_a_counter_and_one_line(
    tmp_path: Path, collector: Collector
) -> None:
    endpoint = f"{collector.url}/v1/traces"
    collector.shutdown()
    collector.server_close()
    variables = {
        "SLACKWATER_TELEMETRY__TRACES__ENDPOINT": endpoint,
        "SLACKWATER_TELEMETRY__TRACES__TIMEOUT_SECONDS": "1",
    }
    lost = 'slackwater_trace_spans_total{outcome="failed"}'
    with (
        served(tmp_path, ("--homes", "1"), **variables) as running,
        closing(sandboxes.Asker(running.base, running.token)) as client,
    ):
        counts: set[str] = set()
        # Batches are sent once a second: two of them at the least.
        for _ in range(100_000):
            assert client.ask("GET", "/users")[0] == 200
            counts |= {line for line in metrics_of(running).splitlines() if line.startswith(lost)}
            if len(counts) > 1:
                break
        assert len(counts) > 1
    lines = [event for event in running.log if event.get("message") == "traces were not sent"]
    assert [line["level"] for line in lines] == ["WARN"]
    assert lines[0]["spans"] > 0
    assert "error" not in json.dumps(running.errors)


def metrics_of(running: sandboxes.Running) -> str:
    """Metrics of a service, as text."""
    with urlopen(f"{running.admin}/metrics", timeout=PATIENCE_SECONDS) as answer:  # noqa: S310  http
        text: str = answer.read().decode()
    return text
