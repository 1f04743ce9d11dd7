"""Services of the compose file: what they mount is there, and the settings are taken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from server import create_client_in_store

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy"


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    return document


def mounts() -> dict[str, str]:
    """Places in containers of all files and folders of the project, and of named volumes."""
    found = {}
    for service in compose()["services"].values():
        for mount in service["volumes"]:
            source, place, *_ = mount.split(":")
            found[place] = source
    return found


def test_files_that_are_mounted_exist_and_volumes_are_declared() -> None:
    for source in mounts().values():
        if source.startswith("."):
            assert (FOLDER / source).exists(), source
        else:
            assert source in compose()["volumes"]


def test_ports_are_open_on_this_machine_only() -> None:
    for name, service in compose()["services"].items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name


def test_images_have_versions_and_secrets_no_default() -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    for name, service in compose()["services"].items():
        assert "build" in service or re.search(r":v?\d", service["image"]), name
    variables = re.findall(r"\$\{(.+?)\}", text)
    assert len(variables) == 3
    for variable in variables:
        name, _, message = variable.partition(":?")
        assert message
        assert f"{name}=%s" in text, "the commands at the top set each variable"


def test_grafana_finds_prometheus_and_prometheus_the_service() -> None:
    provisioning = FOLDER / "grafana/provisioning"
    sources = yaml.safe_load((provisioning / "datasources/prometheus.yaml").read_text())
    assert sources["datasources"][0]["url"] == "http://prometheus:9090"
    dashboards = yaml.safe_load((provisioning / "dashboards/slackwater.yaml").read_text())
    folder = dashboards["providers"][0]["options"]["path"]
    assert mounts()[f"{folder}/slackwater.json"] == "./grafana/slackwater.json"
    (job,) = yaml.safe_load((FOLDER / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    settings = (FOLDER / "slackwater.toml").read_text(encoding="utf-8")
    ((target,),) = [config["targets"] for config in job["static_configs"]]
    host, _, port = target.partition(":")
    assert host in compose()["services"]
    assert f'listen = "0.0.0.0:{port}"' in settings
    assert f'token_file = "{job["authorization"]["credentials_file"]}"' in settings


def test_the_service_takes_the_settings(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token-of-more-than-20-characters\n")
    create_client_in_store(
        FOLDER / "slackwater.toml",
        {
            "SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/kept.db",
            "SLACKWATER_ADMIN__TOKEN_FILE": str(token),
        },
    )
