"""Central systems of the package `ocpp` that stand behind the proxy."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any, Self

import websockets
from ocpp.routing import on
from ocpp.v16 import ChargePoint as ChargePoint16
from ocpp.v16 import call_result as result16
from ocpp.v201 import ChargePoint as ChargePoint201
from ocpp.v201 import call_result as result201
from websockets.asyncio.server import ServerConnection

from points import listen, now

ACCEPTED = {"status": "Accepted"}


class Tape:
    """A connection that keeps the raw texts of both directions."""

    def __init__(self, socket: Any) -> None:
        """Begin without texts."""
        self.socket = socket
        self.said: list[str] = []
        self.heard: list[str] = []

    async def send(self, text: str) -> None:
        """Send a text."""
        self.said.append(text)
        await self.socket.send(text)

    async def recv(self) -> str:
        """Receive a text."""
        text: str = await self.socket.recv()
        self.heard.append(text)
        return text


def calls(texts: list[str]) -> list[str]:
    """Return the requests among texts."""
    return [text for text in texts if json.loads(text)[0] == 2]


def answers(texts: list[str]) -> list[str]:
    """Return the answers among texts."""
    return [text for text in texts if json.loads(text)[0] != 2]


class Desk16(ChargePoint16):
    """Billing system of 1.6, as one charge point meets it."""

    last_transaction = 4000

    @on("BootNotification")
    def on_boot(self, **_: Any) -> Any:
        """Accept the charge point with an interval of its own."""
        return result16.BootNotification(current_time=now(), interval=777, status="Accepted")

    @on("StatusNotification")
    def on_status(self, **_: Any) -> Any:
        """Take note."""
        return result16.StatusNotification()

    @on("Authorize")
    def on_authorize(self, id_tag: str) -> Any:
        """Accept all but one card."""
        return result16.Authorize(
            id_tag_info={"status": "Blocked" if id_tag == "eve" else "Accepted"}
        )

    @on("StartTransaction")
    def on_start(self, **_: Any) -> Any:
        """Number the transaction."""
        Desk16.last_transaction += 1
        number = Desk16.last_transaction
        return result16.StartTransaction(transaction_id=number, id_tag_info=ACCEPTED)

    @on("MeterValues")
    def on_meter_values(self, **_: Any) -> Any:
        """Take note."""
        return result16.MeterValues()

    @on("StopTransaction")
    def on_stop(self, **_: Any) -> Any:
        """Take note."""
        return result16.StopTransaction()


class Desk201(ChargePoint201):
    """Billing system of 2.0.1, as one charging station meets it."""

    @on("BootNotification")
    def on_boot(self, **_: Any) -> Any:
        """Accept the station with an interval of its own."""
        return result201.BootNotification(current_time=now(), interval=777, status="Accepted")

    @on("StatusNotification")
    def on_status(self, **_: Any) -> Any:
        """Take note."""
        return result201.StatusNotification()

    @on("Authorize")
    def on_authorize(self, id_token: dict[str, Any], **_: Any) -> Any:
        """Accept all but one card."""
        is_blocked = "eve" in id_token.values()
        return result201.Authorize(
            id_token_info={"status": "Blocked" if is_blocked else "Accepted"}
        )

    @on("TransactionEvent")
    def on_transaction(self, **fields: Any) -> Any:
        """Judge the token, if there is one."""
        if "id_token" in fields:
            return result201.TransactionEvent(id_token_info=ACCEPTED)
        return result201.TransactionEvent()


class Billing:
    """A billing system on a port of its own, which may leave and return."""

    def __init__(self, version: str, tls: ssl.SSLContext | None = None) -> None:
        """Choose the version, and TLS."""
        self.version = version
        self.tls = tls
        self.port = 0
        self.headers: list[str | None] = []
        self.paths: list[str] = []
        self.certificates: list[Any] = []
        # Texts of all connections, in order.
        self.said: list[str] = []
        self.heard: list[str] = []
        self.is_connected = asyncio.Event()
        self.desk: Any = None

    async def _take(self, socket: ServerConnection) -> None:
        request = socket.request
        assert request is not None
        self.headers.append(request.headers.get("Authorization"))
        self.paths.append(request.path)
        self.certificates.append(socket.transport.get_extra_info("peercert"))
        tape = Tape(socket)
        tape.said, tape.heard = self.said, self.heard
        self.desk = (Desk16 if self.version == "ocpp1.6" else Desk201)("desk", tape)
        self.is_connected.set()
        await listen(self.desk)
        self.is_connected.clear()

    async def open(self) -> None:
        """Listen, on the port of before if there was one."""
        self.server = await websockets.serve(
            self._take,
            "127.0.0.1",
            self.port,
            subprotocols=[websockets.Subprotocol(self.version)],
            ssl=self.tls,
        )
        self.port = next(iter(self.server.sockets)).getsockname()[1]

    async def leave(self) -> None:
        """Close all connections and the port."""
        self.server.close()
        await self.server.wait_closed()

    async def ask(self, payload: Any) -> Any:
        """Send a request to the charge point behind the proxy."""
        return await self.desk.call(payload, suppress=False)

    async def __aenter__(self) -> Self:
        """Listen."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave."""
        await self.leave()
