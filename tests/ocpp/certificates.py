"""Certificates for a test, made by the program `openssl`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

# Identity of the charge point.
IDENTITY = "CP:1"

# Keys as `openssl req -newkey` makes them.
ELLIPTIC = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
RSA = ("rsa:2048",)


def openssl(*arguments: str) -> None:
    """Run the program `openssl`."""
    program = shutil.which("openssl")
    assert program, "install openssl"
    subprocess.run([program, *arguments], check=True, capture_output=True)


def certify(
    folder: Path, name: str, subject: str, *extensions: str, kind: tuple[str, ...] = ELLIPTIC
) -> None:
    """Make a key and a certificate that the authority signs."""
    request, key = str(folder / f"{name}.csr"), str(folder / f"{name}.key")
    openssl(
        *("req", "-newkey", *kind, "-nodes"),
        *("-keyout", key, "-out", request, "-subj", f"/CN={subject}"),
    )
    more = folder / f"{name}.ext"
    more.write_text("\n".join(extensions))
    openssl(
        *("x509", "-req", "-in", request, "-CA", str(folder / "ca.pem"), "-days", "2"),
        *("-CAkey", str(folder / "ca.key"), "-CAcreateserial", "-extfile", str(more)),
        *("-out", str(folder / f"{name}.pem")),
    )


def make_authority(folder: Path) -> Path:
    """Fill a folder with certificates of an authority, a central system and a charge point."""
    openssl(
        *("req", "-x509", "-newkey", *ELLIPTIC, "-nodes"),
        *("-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.pem")),
        *("-subj", "/CN=Authority", "-days", "2"),
    )
    certify(folder, "central", "central", "subjectAltName=IP:127.0.0.1")
    certify(folder, "point", IDENTITY, "extendedKeyUsage=clientAuth")
    return folder


def write_with_crlf(folder: Path) -> None:
    """End the lines of all certificates and keys as Windows does."""
    for path in [*folder.glob("*.pem"), *folder.glob("*.key")]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
