"""Devices by SunSpec that nobody here wrote: models of `pysunspec2`, served by `pymodbus`."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice
from sunspec2 import device

# Longest wait for the server.
PATIENCE = 60

BASE = 40_000


def encode(model: int, **points: float | str) -> list[int]:
    """Registers of a model. Points that are not given have their value for 'not implemented'."""
    made = device.Model(model_id=model)
    # Scale factors first: the other points are in units.
    for name in sorted(points, key=lambda name: not name.endswith("_SF")):
        setattr(getattr(made, name), "value" if name.endswith("_SF") else "cvalue", points[name])
    data = made.get_mb()
    return list(struct.unpack(f">{len(data) // 2}H", data))


def chain(*models: list[int]) -> list[int]:
    """Registers of a device."""
    return [
        *struct.unpack(">2H", b"SunS"),
        *(word for model in models for word in model),
        0xFFFF,
        0,
    ]


HYBRID = chain(
    encode(1, Mn="Fjord", Md="Hybrid 8", SN="F-77"),
    encode(103, W=5230, W_SF=1, WH=1_234_500, WH_SF=2),
    encode(120, DERTyp=82, WHRtg=10_240, WHRtg_SF=1),
    encode(
        124,
        WChaMax=5000,
        WChaMax_SF=0,
        StorCtl_Mod=0,
        ChaState=64,
        ChaState_SF=-2,
        OutWRte=100,
        InWRte=100,
        InOutWRte_SF=-2,
        InOutWRte_RvrtTms=0,
    ),
)

BATTERY = chain(
    encode(1, Mn="Fjord", Md="Cell 13", SN="C-1"),
    encode(701, W=-1200, W_SF=0, TotWhInj=90_000, TotWhAbs=101_000, TotWh_SF=1),
    encode(713, WHRtg=13_500, WH_SF=1, SoC=80.5, Pct_SF=-1),
)

FLOATS = chain(
    encode(1, Mn="Fjord", Md="Float 3", SN="L-1"),
    encode(111, W=2500.5, WH=1500),
)


@dataclass
class Devices:
    """Devices behind one address, by unit identifier, and what was written to them."""

    units: dict[int, list[int]]
    port: int
    writes: list[tuple[int, int, list[int]]] = field(default_factory=list)
    written: threading.Condition = field(default_factory=threading.Condition)

    async def record(
        self,
        unit: int,
        code: int,
        _start: int,
        address: int,
        _count: int,
        _registers: list[int],
        values: list[int] | list[bool] | None,
    ) -> ExcCodes | None:
        """Record what is written."""
        if code == 16 and values:
            with self.written:
                self.writes.append((unit, address - BASE, [int(value) for value in values]))
                self.written.notify_all()
        return None

    def until_written(self, count: int) -> list[tuple[int, int, list[int]]]:
        """Wait for so many writes."""
        with self.written:
            assert self.written.wait_for(lambda: len(self.writes) >= count, PATIENCE), self.writes
            return list(self.writes)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve the registers, as they were at first, in a thread."""
        began = threading.Event()
        ending: list[Any] = []

        async def serve() -> None:
            end = asyncio.Event()
            ending.extend([asyncio.get_running_loop(), end])
            served = [
                SimDevice(
                    id=unit,
                    simdata=SimData(BASE, values=list(registers), datatype=DataType.REGISTERS),
                    action=partial(self.record, unit),
                )
                for unit, registers in self.units.items()
            ]
            server = ModbusTcpServer(served, address=("127.0.0.1", self.port))
            await server.serve_forever(background=True)
            began.set()
            await end.wait()
            await server.shutdown()

        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        assert began.wait(PATIENCE), "the server did not begin"
        try:
            yield
        finally:
            loop, end = ending
            loop.call_soon_threadsafe(end.set)
            thread.join()
            # Connections that the server was about to accept are left to the collector.
            gc.collect()


def make_devices() -> Devices:
    """Three devices at a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return Devices({1: HYBRID, 2: BATTERY, 3: FLOATS}, port)
