"""Debian package: its files, its unit, and settings that the service takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server import SERVER

from debian import find_program

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import make_deb  # noqa: E402  they stand next to the other programs

UNIT = ROOT / "deploy/debian/slackwater-api.service"
EXPOSURE_MAX = 2.5
# Files that are made with the package.
OWN = [f"{make_deb.DOC}/{name}" for name in ("copyright", "changelog.gz", make_deb.SBOM)]


def run(*command: str | Path, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    find_program("dpkg-deb", package="dpkg")
    assert SERVER.is_file(), f"{SERVER} is missing: run `make build`"
    return make_deb.make(SERVER, tmp_path_factory.mktemp("package"), compression="none")


@pytest.fixture(scope="module")
def installed(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    run("dpkg-deb", "--extract", package, folder)
    return folder


def test_the_package_has_its_files_with_their_modes_and_owners(package: Path) -> None:
    listed = {
        line.split()[-1]: line.split()[:2]
        for line in run("dpkg-deb", "--contents", package).splitlines()
        if not line.startswith("d")
    }
    program = {f"./usr/bin/{make_deb.NAME}": ["-rwxr-xr-x", "root/root"]}
    others = [*make_deb.FILES, *OWN]
    assert listed == program | {f"./{place}": ["-rw-r--r--", "root/root"] for place in others}
    assert run("dpkg-deb", "--field", package, "Package", "Version") == (
        f"Package: {make_deb.NAME}\nVersion: {make_deb.version()}\n"
    )
    assert "conffiles" in run("dpkg-deb", "--info", package)


def test_the_package_asks_for_the_libraries_that_the_program_loads(package: Path) -> None:
    depends = run("dpkg-deb", "--field", package, "Depends")
    owners = {"libc": "libc6", "libm": "libc6", "libgcc_s": "libgcc-s1", "libstdc++": "libstdc++6"}
    loaded = re.findall(r"\(NEEDED\).*\[(.+?)\.so", run("readelf", "--dynamic", SERVER))
    libraries = {name for name in loaded if not name.startswith("ld-linux")}
    assert libraries
    for library in libraries:
        assert owners[library] in depends
    assert re.search(r"libc6 \(>= 2\.\d+\)", depends)


def test_the_unit_is_correct_and_hardened(installed: Path) -> None:
    analyze = find_program("systemd-analyze", package="systemd")
    unit = installed / f"usr/lib/systemd/system/{make_deb.NAME}.service"
    # The unit names the program where the package installs it.
    text = unit.read_text(encoding="utf-8").replace("=/usr/bin/", f"={installed}/usr/bin/")
    unit.write_text(text, encoding="utf-8")
    assert run(analyze, "verify", "--man=no", "--recursive-errors=no", unit) == ""
    report = run(analyze, "security", "--offline=true", "--no-pager", unit)
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", report)
    assert float(exposure) <= EXPOSURE_MAX


def test_the_service_takes_the_settings_of_the_package(installed: Path, tmp_path: Path) -> None:
    text = (installed / "etc/slackwater/slackwater.toml").read_text(encoding="utf-8")
    settings = re.sub(r"^#(?=[\w\[])", "", text, flags=re.MULTILINE)
    token = tmp_path / "token"
    token.write_text("a-token-of-more-than-20-characters\n")
    settings = settings.replace("/etc/slackwater/admin-token", str(token))
    chosen = tmp_path / "chosen.toml"
    chosen.write_text(settings)
    assert settings.count("\n[") == text.count("\n#[") > 5
    program = installed / "usr/bin/slackwater-api"
    for file in (installed / "etc/slackwater/slackwater.toml", chosen):
        store = f"sqlite:{tmp_path}/kept.db"
        words = (
            "client",
            "create",
            "--store",
            "--environment",
            "production",
            "--name",
            "first",
            "--config",
            file,
        )
        made = json.loads(run(program, *words, SLACKWATER_STORE__URL=store))
        assert made["name"] == "first"


def test_the_user_of_the_unit_is_made_and_owns_the_settings() -> None:
    (user,) = re.findall(r"^User=(\w+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    folder = ROOT / "deploy/debian"
    assert (folder / "sysusers.conf").read_text(encoding="utf-8").startswith(f"u {user} ")
    postinst = (folder / "postinst").read_text(encoding="utf-8")
    assert f"systemd-sysusers {make_deb.NAME}.conf" in postinst
    assert f"chown root:{user} /etc/slackwater " in postinst
