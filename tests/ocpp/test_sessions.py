"""A stay at a charger by OCPP under a plan, as clients see it in the statistics."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from production import Client, ask, run_program
from test_first_charger import Clock, limit_at, serving, settings_of
from test_service import link

import points
from central import connected
from points import Post16, listen

# Price of a kWh by day, and from 22:00 on.
DAY, NIGHT = 0.34, 0.22

# Energy that the vehicle takes in a minute in which it may charge, in Wh.
MINUTE_WH = 180


class Owner:
    """A client with a charger at a place with two rates, by the commands of an operator, too."""

    def __init__(self, clock: Clock, settings: Path, code: str) -> None:
        """Create the client, and link the charger."""
        self.admin = clock.running.admin
        arguments = ("--environment", "production", "--config", str(settings))
        made = self.operate("client", "create", *arguments)
        self.id = made["client_id"]
        self.client = Client(clock.running.base, clock.running.auth, made)
        self.path = f"/chargers/{link(self.client, code)['id']}"

    def operate(self, *words: str) -> Any:
        """Run a command of an operator."""
        return json.loads(run_program(*words, SLACKWATER_ADMIN_URL=self.admin))

    def plan_by_rates(self) -> None:
        """Give the charger its place, its rates and a policy."""
        whose = ("--client", self.id)
        where = ("--time-zone", "Europe/Berlin", "--zone", "DE_LU")
        location = self.operate("location", "create", *whose, "--user", "ada", *where)["id"]
        rates = [{"name": "day", "cost": str(DAY)}, {"name": "night", "cost": str(NIGHT)}]
        url = f"{self.client.base}/tariffs/two-rates"
        answer, text = ask("PUT", url, json.dumps(rates), self.client.headers)
        assert answer.status == 204, text
        weekly = [
            {"name": "day", "start": "06:00", "end": "22:00"},
            {"name": "night", "start": "22:00", "end": "06:00"},
        ]
        at = ("--location", location, "--tariff", "two-rates", "--intervals", json.dumps(weekly))
        self.operate("tariff", "assign", *whose, *at)
        self.client.send("PUT", self.path, {"chargingLocationId": location})
        policy = {"isEnabled": True, "deadline": "07:00", "chargingDuration": "03:00"}
        self.client.send("PUT", f"{self.path}/smart-charging-policy", policy)

    def sessions(self) -> Any:
        """Sessions of the user at chargers."""
        return self.client.send("GET", "/users/ada/statistics/charging/sessions?type=charger")


async def stay(clock: Clock, settings: Path, password: str, code: str) -> tuple[float, Any]:
    """Plug in at 21:46, leave at 22:31, and return the energy in kWh and the sessions."""
    (door,) = [one["address"] for one in clock.running.start if "for charge" in one["message"]]
    async with connected(door, "garage", password, "ocpp1.6") as socket:
        point = Post16("garage", socket)
        listening = asyncio.create_task(listen(point))
        await point.boot()
        owner = await asyncio.to_thread(Owner, clock, settings, code)
        await asyncio.to_thread(owner.plan_by_rates)
        await clock.pass_minutes(1)
        await point.show("Preparing")
        await point.begin()
        before = point.register_wh
        for _ in range(45):
            charges = bool(point.profiles) and limit_at(point, clock.now) > 0
            await clock.pass_minutes(1)
            taken = MINUTE_WH if charges else 0
            await point.measure(60 * taken, taken)
        await point.finish()
        await point.show("Available")
        # Its meter goes on to report, so that the last quarter of an hour is known.
        for _ in range(30):
            await clock.pass_minutes(1)
            await point.measure(0, 0)
        sessions = await asyncio.to_thread(owner.sessions)
        listening.cancel()
        await asyncio.wait([listening])
    return (point.register_wh - before) / 1000, sessions


def test_a_stay_under_a_plan_is_a_session_with_its_savings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(settings_of(tmp_path))
    (tmp_path / "chargers").mkdir()
    added = run_program("charger", "add", "garage", "--config", settings)
    secrets = dict(line.split(" ") for line in added.splitlines())
    with serving(tmp_path) as clock:
        monkeypatch.setattr(points, "now", clock.write)
        energy_kwh, sessions = asyncio.run(stay(clock, settings, **secrets))
    (session,) = sessions
    assert energy_kwh > 5
    assert session["kwhSum"] == pytest.approx(energy_kwh)
    # It waited for the night; without a plan it would have begun at once.
    assert session["costSum"] == pytest.approx(energy_kwh * NIGHT)
    assert session["nonSmartPrice"]["max"] == pytest.approx(DAY)
    unplanned = energy_kwh * session["nonSmartPrice"]["mean"]
    assert session["estimatedSavings"] == pytest.approx(unplanned - session["costSum"])
    assert session["estimatedSavings"] > 0
