"""Debian package of the service: the program, its unit, example settings, and what watches it.

Usage: ``python scripts/make_deb.py target/dist/slackwater-api dist``

The script needs cargo, dpkg-deb, and strip and readelf of binutils, which come with gcc.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from email.utils import formatdate
from pathlib import Path
from textwrap import indent

from sbom import make_sbom

ROOT = Path(__file__).resolve().parent.parent
NAME = "slackwater-api"
DOC = f"usr/share/doc/{NAME}"
SBOM = "sbom.cdx.json"

# Files of the package beside the program, by their places in it.
FILES = {
    f"usr/lib/systemd/system/{NAME}.service": "deploy/debian/slackwater-api.service",
    f"usr/lib/sysusers.d/{NAME}.conf": "deploy/debian/sysusers.conf",
    "etc/slackwater/slackwater.toml": "deploy/debian/slackwater.toml",
    f"{DOC}/operate.md": "docs/how-to/operate.md",
    f"{DOC}/CHANGELOG.md": "CHANGELOG.md",
    f"{DOC}/examples/prometheus.yml": "deploy/prometheus/prometheus.yml",
    f"{DOC}/examples/slackwater.rules.yml": "deploy/prometheus/slackwater.rules.yml",
    f"{DOC}/examples/grafana.json": "deploy/grafana/slackwater.json",
}
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: {holder}
License: Expat or Apache-2.0

License: Expat
{mit}

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
"""
CHANGES = """\
{name} ({version}) stable; urgency=medium

  * The changelog of the project is CHANGELOG.md beside this file.

 -- {maintainer}  {date}
"""
# The project has no address for mail: reports come by its page (SECURITY.md).
MAINTAINER = "The slackwater developers <slackwater@localhost>"
CONTROL = """\
Package: {name}
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Depends: libc6 (>= {glibc}), libgcc-s1, libstdc++6, ca-certificates, systemd
Suggests: postgresql, prometheus
Section: net
Priority: optional
Description: device control and smart charging over HTTP
 Serves energy devices of users to clients: reads, commands, schedules, tariffs
 and plans for charging at low prices, with webhooks and pages to link devices.
"""


class PackageError(Exception):
    """A package that cannot be made."""


def output(*command: str | Path) -> str:
    """What a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackageError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def version() -> str:
    """Version of the workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def glibc_of(program: Path) -> str:
    """The oldest version of glibc that has all symbols of the program."""
    found = re.findall(r"Name: GLIBC_([\d.]+)", output("readelf", "--version-info", program))
    numbers = max([int(part) for part in text.split(".")] for text in found)
    return ".".join(map(str, numbers))


def put(source: Path, target: Path, mode: int) -> None:
    """Copy a file to its place, readable for all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def copyright_of_project() -> str:
    """The licences, in the form that Debian asks for."""
    _, holder, *terms = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").split("\n\n")
    mit = "\n .\n".join(indent(part.strip(), " ") for part in terms)
    return COPYRIGHT.format(holder=holder.removeprefix("Copyright (c) "), mit=mit)


def assemble(program: Path, folder: Path) -> str:
    """Put all files of the package into a folder; returns the name of the package."""
    stripped = folder / f"usr/bin/{NAME}"
    put(program, stripped, 0o755)
    output("strip", "--strip-all", stripped)
    for place, source in FILES.items():
        put(ROOT / source, folder / place, 0o644)
    architecture = output("dpkg", "--print-architecture").strip()
    fields = {
        "name": NAME,
        "version": version(),
        "architecture": architecture,
        "maintainer": MAINTAINER,
    }
    (folder / DOC / "copyright").write_text(copyright_of_project(), encoding="utf-8")
    # The date of the program, so that its package is the same however often it is made.
    built = program.stat().st_mtime
    changes = CHANGES.format(**fields, date=formatdate(built))
    (folder / DOC / "changelog.gz").write_bytes(gzip.compress(changes.encode(), 9, mtime=0))
    (folder / DOC / SBOM).write_text(make_sbom(), encoding="utf-8")
    control = folder / "DEBIAN/control"
    control.parent.mkdir()
    control.write_text(CONTROL.format(**fields, glibc=glibc_of(program)), encoding="utf-8")
    (folder / "DEBIAN/conffiles").write_text("/etc/slackwater/slackwater.toml\n", encoding="utf-8")
    for script in ("postinst", "prerm", "postrm"):
        put(ROOT / "deploy/debian" / script, folder / "DEBIAN" / script, 0o755)
    for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        path.chmod(0o755)
    return f"{NAME}_{version()}_{architecture}.deb"


def make(program: Path, out: Path, compression: str = "xz") -> Path:
    """Write the package of a built program into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        package = out / assemble(program, Path(folder))
        output("dpkg-deb", "--root-owner-group", f"-Z{compression}", "--build", folder, package)
    return package


def main() -> int:
    """Write the package of the program on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    try:
        print(make(given.program, given.out))
    except (PackageError, OSError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
