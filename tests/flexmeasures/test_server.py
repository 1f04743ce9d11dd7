"""FlexMeasures as a server on PostgreSQL: two batteries by its HTTP interface, one of them ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask_migrate import upgrade
from flexmeasures.app import create as create_app
from flexmeasures.data import db
from flexmeasures.data.models.generic_assets import GenericAssetType
from flexmeasures.data.models.time_series import Sensor
from flexmeasures.data.services.users import create_user
from flexmeasures.utils.job_utils import work_on_rq
from sqlalchemy import select

from postgres import postgres

PASSWORD = "of this test alone"  # noqa: S105
START = "2026-01-05T00:00:00+01:00"
PRICES = [60 + 40 * ((7 * hour) % 24 - 12) / 12 for hour in range(24)]
FLEX_MODEL = {
    "soc-at-start": "2500 kWh",
    "soc-min": "500 kWh",
    "soc-max": "4500 kWh",
    "soc-minima": [{"value": "4 MWh", "datetime": "2026-01-05T08:00:00+01:00"}],
    "power-capacity": "2 MW",
    "consumption-capacity": "1500 kW",
    "production-capacity": "2 MW",
    "roundtrip-efficiency": "90%",
    "soc-unit": "MWh",
}


@dataclass
class Platform:
    """A running FlexMeasures, and who talks to it."""

    app: Any
    client: Any
    token: str

    def call(self, method: str, path: str, **body: Any) -> Any:
        """Answer of the HTTP interface."""
        headers = {"Authorization": self.token}
        answer = self.client.open(f"/api/v3_0/{path}", method=method, json=body, headers=headers)
        if answer.status_code >= 300:
            raise RuntimeError(f"{path}: {answer.text}")
        return answer.json

    def sensor(self, asset: int, name: str, unit: str, **attributes: str) -> int:
        """Identifier of a new sensor with quarter hours."""
        resolution = "PT1H" if "/" in unit else "PT15M"
        made = self.call(
            "POST",
            "sensors",
            name=name,
            event_resolution=resolution,
            unit=unit,
            timezone="Europe/Amsterdam",
            generic_asset_id=asset,
            attributes=attributes,
        )
        return int(made["id"])

    def schedule(self, sensor: int, price: int, **flex_model: Any) -> list[float]:
        """Powers of a schedule of a day, in MW, after a worker has computed it."""
        triggered = self.call(
            "POST",
            f"sensors/{sensor}/schedules/trigger",
            start=START,
            duration="PT24H",
            **{
                "flex-model": FLEX_MODEL | flex_model,
                "flex-context": {"consumption-price": {"sensor": price}},
            },
        )
        with self.app.app_context():
            work_on_rq(self.app.queues["scheduling"])
        path = f"sensors/{sensor}/schedules/{triggered['schedule']}?duration=PT24H"
        found = self.call("GET", path)
        assert found["unit"] == "MW"
        return [float(value) for value in found["values"]]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A FlexMeasures with the tables of its migrations, its plug-in and an administrator."""
    with postgres() as server, pytest.MonkeyPatch.context() as patch:
        server.execute("CREATE DATABASE flexmeasures")
        # It writes its log where it is.
        patch.chdir(tmp_path_factory.mktemp("platform"))
        address = server.url("flexmeasures").replace("postgres:", "postgresql:")
        patch.setitem(os.environ, "SQLALCHEMY_TEST_DATABASE_URI", address)
        app = create_app(env="testing", plugins=["slackwater.flexmeasures"])
        assert "SlackwaterScheduler" in app.data_generators["scheduler"]
        with app.app_context():
            upgrade()
            app.test_cli_runner().invoke(args=["add", "initial-structure"], catch_exceptions=False)
            create_user(
                email="operator@example.org",
                password=PASSWORD,
                account_name="Harbour",
                user_roles={"name": "admin", "description": "Administrator"},
            )
            db.session.commit()
        # Each request has a context of its own: the one before would lend it its user.
        client = app.test_client()
        credentials = {"email": "operator@example.org", "password": PASSWORD}
        token = client.post("/api/requestAuthToken", json=credentials).json["auth_token"]
        yield Platform(app, client, token)
        with app.app_context():
            db.session.remove()
            db.engine.dispose()


@pytest.fixture(scope="module")
def sensors(platform: Platform) -> dict[str, int]:
    """Sensors of two equal batteries and of the price, which has values."""
    with platform.app.app_context():
        kind = db.session.scalar(select(GenericAssetType.id).filter_by(name="battery"))
    names = ["ours", "theirs"]
    body = {"generic_asset_type_id": kind, "account_id": 1}
    assets = [platform.call("POST", "assets", name=name, **body)["id"] for name in names]
    found = {
        "ours": platform.sensor(
            assets[0], "power", "MW", **{"custom-scheduler": "SlackwaterScheduler"}
        ),
        "theirs": platform.sensor(assets[1], "power", "MW"),
        "price": platform.sensor(assets[1], "price", "EUR/MWh"),
    }
    platform.call(
        "POST",
        f"sensors/{found['price']}/data",
        start=START,
        duration="PT24H",
        values=PRICES,
        unit="EUR/MWh",
    )
    return found


def cost(powers: list[float]) -> float:
    """What a schedule of quarter hours costs; positive powers charge."""
    return sum(power / 4 * PRICES[at // 4] for at, power in enumerate(powers))


def levels(powers: list[float]) -> list[float]:
    """Stored energy in MWh at the ends of quarter hours."""
    level, found = 2.5, []
    for power in powers:
        level += power / 4 * (0.9**0.5 if power > 0 else 0.9**-0.5)
        found.append(level)
    return found


def test_a_schedule_costs_no_more_than_that_of_flexmeasures(
    platform: Platform, sensors: dict[str, int]
) -> None:
    ours = platform.schedule(sensors["ours"], sensors["price"])
    theirs = platform.schedule(sensors["theirs"], sensors["price"])
    print(f"cost: {cost(ours):.6f} EUR, of FlexMeasures: {cost(theirs):.6f} EUR")
    assert len(ours) == len(theirs) == 96
    # Both are rounded to watts.
    assert cost(ours) <= cost(theirs) + 96 * 1e-6 * 100 / 4
    assert min(levels(ours)) > 0.5 - 1e-4
    assert max(levels(ours)) < 4.5 + 1e-4
    assert levels(ours)[31] > 4 - 1e-4
    assert max(ours) <= 1.5
    assert min(ours) >= -2


def test_the_schedule_has_our_name(platform: Platform, sensors: dict[str, int]) -> None:
    platform.schedule(sensors["ours"], sensors["price"])
    with platform.app.app_context():
        sources = db.session.get(Sensor, sensors["ours"]).data_sources
        names = [(source.name, source.model) for source in sources]
    assert names == [("slackwater", "SlackwaterScheduler")]


def test_a_refused_field_is_in_the_answer_of_the_server(
    platform: Platform, sensors: dict[str, int]
) -> None:
    with pytest.raises(RuntimeError, match="storage-efficiency is below 100 %"):
        platform.schedule(sensors["ours"], sensors["price"], **{"storage-efficiency": "99%"})
