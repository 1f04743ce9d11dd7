"""Run book of the service: settings, log lines and commands that it shows are real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server import SERVER, create_client_in_store

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import page_examples as pages  # noqa: E402  they stand next to the other programs

PAGE = ROOT / "docs/how-to/operate.md"
GOLDEN = ROOT / "tests/golden/service"


def blocks_of(language: str) -> list[str]:
    found = pages.blocks(PAGE.read_text(encoding="utf-8"))
    return [block.code for block in found if block.language == language]


@pytest.mark.parametrize("block", blocks_of("toml"))
def test_the_service_takes_the_settings_of_the_run_book(block: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    key = tmp_path / "key"
    settings.write_text(block.replace("/run/secrets/entsoe-token", str(key)), encoding="utf-8")
    key.write_bytes(
        subprocess.run([SERVER, "store", "key"], capture_output=True, check=True).stdout
    )
    here = {
        "SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/kept.db",
        "SLACKWATER_STORE__KEY_FILE": str(key),
    }
    create_client_in_store(settings, here)


def test_the_proxy_has_the_hosts_and_ports_of_the_settings() -> None:
    settings = "".join(blocks_of("toml"))
    places = re.findall(r'"127\.0\.0\.1:(\d+)", url = "https://(.+?)"', settings)
    assert len(places) == 3
    (nginx,) = blocks_of("nginx")
    caddy = PAGE.read_text(encoding="utf-8")
    for port, host in places:
        (upstream,) = re.findall(rf"^ +{re.escape(host)} +(\w+);$", nginx, re.MULTILINE)
        assert f"upstream {upstream} {{ server 127.0.0.1:{port};" in nginx
        assert f"{host} {{\n\treverse_proxy 127.0.0.1:{port}\n}}" in caddy


def test_log_lines_and_commands_of_the_run_book_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.partition("## Lines of the log")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    lines = {line for cell in cells for line in re.findall("`(.+?)`", cell)}
    lines |= set(re.findall(r"`((?:a|an|the|plans) [a-z ,]+)`", page))
    assert len(lines) > 10
    golden = (GOLDEN / "telemetry.txt").read_text(encoding="utf-8")
    assert {line for line in lines if f'"{line}"' not in golden} == set()
    commands = set(re.findall(r"`slackwater-api ([a-z]+(?: [a-z-]+)?)", page))
    help_text = (GOLDEN / "help.txt").read_text(encoding="utf-8")
    assert len(commands) > 4
    unknown = {words for words in commands if f"$ slackwater-api {words} --help" not in help_text}
    assert unknown == set()


def test_the_prices_of_a_reply_are_imported(tmp_path: Path) -> None:
    (program,) = blocks_of("python")
    (tmp_path / "list_prices.py").write_text(program, encoding="utf-8")
    reply = ROOT / "bindings/python/slackwater/samples/entsoe-day.xml"
    listed = subprocess.run(
        [sys.executable, "list_prices.py", reply],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    header, first, *_ = listed.stdout.splitlines()
    assert header == "start,end,price_eur_per_kwh"
    assert float(first.rpartition(",")[2]) < 1
    here = {**os.environ, "SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/kept.db"}
    server = subprocess.Popen(
        [SERVER, "serve", "--listen", "127.0.0.1:0", "--homes", "1"],
        env=here,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stderr is not None
        lines = (json.loads(line) for line in server.stderr)
        admin = next(line["admin"] for line in lines if line.get("message") == "listening")
        words = ("prices", "import", "--zone", "DE_LU", "--currency", "EUR", "--admin", admin, "-")
        done = subprocess.run(
            [SERVER, *words],
            input=listed.stdout,
            env=here,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        server.kill()
        server.communicate()
    assert done.returncode == 0, done.stderr
    kept = json.loads(done.stdout)
    assert (kept["currency"], kept["slots"]) == ("EUR", len(listed.stdout.splitlines()) - 1)
