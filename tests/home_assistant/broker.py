"""Debian's mosquitto as the broker, and a watcher of its messages by `paho-mqtt`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from debian import find_program

# Longest wait for anything, in seconds.
PATIENCE = 60

USER, PASSWORD = "ada", "sesame-and-poppy"


def mosquitto(name: str) -> str:
    """Find a program of mosquitto; Debian puts the broker where only root looks."""
    return shutil.which(name, path="/usr/sbin:/usr/bin") or find_program(name, package="mosquitto")


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Broker:
    """A broker that asks for a password and keeps nothing on disk."""

    folder: Path
    port: int = field(default_factory=free_port)
    # Folder with `ca.pem`, `central.pem` and `central.key`.
    certificates: Path | None = None
    process: subprocess.Popen[bytes] | None = None
    reader: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Address for the settings."""
        return f"{'mqtts' if self.certificates else 'mqtt'}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Run the broker, without the messages of an earlier run."""
        passwords = self.folder / "passwords"
        subprocess.run(
            [mosquitto("mosquitto_passwd"), "-c", "-b", passwords, USER, PASSWORD],
            check=True,
            capture_output=True,
        )
        lines = [
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous false",
            f"password_file {passwords}",
            "persistence false",
        ]
        if self.certificates:
            certificate, key = self.certificates / "central.pem", self.certificates / "central.key"
            lines += [f"certfile {certificate}", f"keyfile {key}"]
        if os.geteuid() == 0:
            # The folder of a test is closed to other users.
            lines.append("user root")
        settings = self.folder / "mosquitto.conf"
        settings.write_text("\n".join(lines))
        self.process = subprocess.Popen(
            [mosquitto("mosquitto"), "-c", settings],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.await_door()

    def await_door(self) -> None:
        """Read the log until the broker listens."""
        assert self.process
        assert self.process.stdout
        read = b""
        for line in self.process.stdout:
            read += line
            if b"running" in line:
                # A pipe that nobody reads fills up, and then the broker waits.
                self.reader = threading.Thread(target=self.process.stdout.read)
                self.reader.start()
                return
        raise AssertionError(read.decode())

    def kill(self) -> None:
        """End the broker at once."""
        if self.process:
            with self.process:
                self.process.kill()
                if self.reader:
                    self.reader.join()


@contextmanager
def running(folder: Path, certificates: Path | None = None) -> Iterator[Broker]:
    """Run a broker until the block ends."""
    folder.mkdir()
    broker = Broker(folder, certificates=certificates)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


@dataclass(frozen=True)
class Message:
    """A message, and whether the broker had kept it."""

    topic: str
    text: str
    is_retained: bool

    @property
    def json(self) -> Any:
        """Its content."""
        return json.loads(self.text)


class Watcher:
    """A client that gets every message."""

    def __init__(self, broker: Broker) -> None:
        """Connect and subscribe to everything."""
        self.messages: list[Message] = []
        self.changed = threading.Condition()
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self.client.username_pw_set(USER, PASSWORD)
        if broker.certificates:
            context = ssl.create_default_context(cafile=broker.certificates / "ca.pem")
            self.client.tls_set_context(context)
        self.client.on_message = self.keep
        self.client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
        self.client.connect("127.0.0.1", broker.port)
        self.client.loop_start()

    def keep(self, _client: object, _data: object, message: mqtt.MQTTMessage) -> None:
        """Keep a message, and wake those who wait for it."""
        with self.changed:
            text = message.payload.decode()
            self.messages.append(Message(message.topic, text, message.retain))
            self.changed.notify_all()

    def write(self, topic: str, text: str, *, is_retained: bool = False) -> None:
        """Send a message, and wait until the broker has it."""
        self.client.publish(topic, text, qos=1, retain=is_retained).wait_for_publish(PATIENCE)

    def last(self, topic: str) -> Message | None:
        """Return the last message on a topic."""
        with self.changed:
            return next((one for one in reversed(self.messages) if one.topic == topic), None)

    def until(self, what: Callable[[], Any]) -> Any:
        """Wait until something holds after a message, and return it."""
        with self.changed:
            assert self.changed.wait_for(what, PATIENCE), [
                (one.topic, one.text[:80]) for one in self.messages[-20:]
            ]
            return what()

    def until_last(self, topic: str, holds: Callable[[Message], Any]) -> Message:
        """Wait until the last message on a topic holds, and return it."""

        def find() -> Message | None:
            found = next((one for one in reversed(self.messages) if one.topic == topic), None)
            return found if found and holds(found) else None

        found: Message = self.until(find)
        return found

    def close(self) -> None:
        """Disconnect."""
        self.client.disconnect()
        self.client.loop_stop()


@contextmanager
def watching(broker: Broker) -> Iterator[Watcher]:
    """Watch a broker until the block ends."""
    watcher = Watcher(broker)
    try:
        yield watcher
    finally:
        watcher.close()
