"""Container image of the service, with nothing but the program, its libraries and certificates.

Usage: ``python scripts/make_image.py target/dist/slackwater-api dist/slackwater-image.tar.gz``

The script needs cargo, buildah, strip of binutils, and the certificates of the system. It asks no
network.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from make_deb import DOC, LICENCES, NAME, ROOT, SBOM, PackageError, output, put
from sbom import make_sbom

SIZE_MAX_MB = 30
# Packages of the libraries, whose licences go along.
PACKAGES = ("libc6", "libgcc-s1", "libstdc++6", "ca-certificates")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
TAG = "localhost/slackwater"


def libraries_of(program: Path) -> list[Path]:
    """Libraries that the program loads, and the loader."""
    found = re.findall(r"(/\S+) \(0x", output("ldd", program))
    return [Path(path) for path in found]


def versions() -> dict[str, str]:
    """Installed versions of the packages."""
    listed = output("dpkg-query", "--show", "--showformat", r"${Package} ${Version}\n", *PACKAGES)
    return dict(line.split() for line in listed.splitlines())


def assemble(program: Path, folder: Path) -> None:
    """Put all that the image has into a folder, beside its Containerfile."""
    system = folder / "system"
    installed = system / f"usr/bin/{NAME}"
    put(program, installed, 0o755)
    output("strip", "--strip-all", installed)
    for library in libraries_of(program):
        put(library.resolve(), system / library.relative_to("/"), 0o755)
    put(Path("/", CERTIFICATES), system / CERTIFICATES, 0o644)
    put(ROOT / "api/container.toml", system / "etc/slackwater/slackwater.toml", 0o644)
    for licence in LICENCES:
        put(ROOT / licence, system / DOC / licence, 0o644)
    for package in PACKAGES:
        licence = f"usr/share/doc/{package}/copyright"
        put(Path("/", licence), system / licence, 0o644)
    (system / DOC / SBOM).write_text(make_sbom(versions()), encoding="utf-8")
    for path in [system, *(path for path in system.rglob("*") if path.is_dir())]:
        path.chmod(0o755)
    (folder / "state").mkdir(mode=0o700)
    shutil.copyfile(ROOT / "deploy/Containerfile", folder / "Containerfile")


def make(program: Path, out: Path) -> float:
    """Write the image as an archive for `podman load` and `docker load`. Returns its size in MB."""
    storage = ("--storage-driver", "vfs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assemble(program, folder)
        archive = folder / "image.tar"
        output("buildah", *storage, "bud", "--isolation", "chroot", "--tag", TAG, folder)
        output("buildah", *storage, "push", TAG, f"docker-archive:{archive}:{TAG}")
        out.parent.mkdir(parents=True, exist_ok=True)
        with archive.open("rb") as packed, gzip.open(out, "wb") as written:
            shutil.copyfileobj(packed, written)
    return out.stat().st_size / 1e6


def main() -> int:
    """Write the image of the program on the command line, and check its size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    try:
        size_mb = make(given.program, given.out)
    except (PackageError, OSError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{given.out}: {size_mb:.1f} MB")
    return int(size_mb > SIZE_MAX_MB)


if __name__ == "__main__":
    sys.exit(main())
