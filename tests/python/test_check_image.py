"""Container images: their settings, and the files of the one without a system."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from server import SERVER, create_client_in_store

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import make_image  # noqa: E402

import make_deb  # noqa: E402  they stand next to the other programs


def test_the_service_takes_the_settings_of_the_image(tmp_path: Path) -> None:
    assert SERVER.is_file(), f"{SERVER} is missing: run `make build`"
    settings = ROOT / "api" / "container.toml"
    create_client_in_store(settings, {"SLACKWATER_STORE__URL": f"sqlite:{tmp_path}/kept.db"})


def test_the_image_without_a_system_has_all_that_the_program_loads(tmp_path: Path) -> None:
    make_image.assemble(SERVER, tmp_path)
    system = tmp_path / "system"
    program = system / "usr/bin/slackwater-api"
    (loader,) = system.glob("lib*/ld-linux*")
    folders = {str(path.parent) for path in system.rglob("*.so.*")}
    command: list[str | Path] = [loader, "--inhibit-cache", "--library-path", ":".join(folders)]
    listed = subprocess.run(
        [*command, "--list", program], capture_output=True, text=True, check=True
    ).stdout
    loaded = re.findall(r"=> (\S+)", listed)
    assert len(loaded) > 3
    # The loader names itself by the path that the program was linked with.
    elsewhere = [path for path in loaded if not path.startswith(str(system))]
    assert [path for path in elsewhere if "ld-linux" not in path] == []
    settings = system / "etc/slackwater/slackwater.toml"
    done = subprocess.run(
        [*command, program, "config", "check", "--config", settings],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    contents = json.loads((system / make_deb.DOC / make_deb.SBOM).read_text(encoding="utf-8"))
    named = {one["name"] for one in contents["components"]}
    assert set(make_image.PACKAGES) < named


def test_both_images_serve_the_same_in_the_same_place() -> None:
    words = ("USER", "WORKDIR /var", "VOLUME", "ENV", "EXPOSE", "CMD")
    files = ("Dockerfile", "deploy/Containerfile")
    found = [
        [line for line in (ROOT / file).read_text().splitlines() if line.startswith(words)]
        for file in files
    ]
    assert len(found[0]) == len(words)
    assert found[0] == found[1]
