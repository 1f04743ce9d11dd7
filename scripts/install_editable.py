"""Install the Python package in place, around the extension that cargo has built.

``maturin develop`` would do the same, but it points PyO3 at a configuration of its own, and
PyO3 with all that uses it would be compiled again, there and at the next ``cargo build``.

So the built library is copied next to the Python sources, and pip receives a
small editable wheel: a ``.pth`` line that names the source folder, with the
metadata that maturin writes from ``pyproject.toml`` without compiling anything.
"""

from __future__ import annotations

import argparse
import base64
import filecmp
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bindings" / "python"
EXTENSION = SOURCE / "slackwater" / "_engine.abi3.so"


def place_extension(built: Path) -> bool:
    """Copy the library next to the sources, unless the same bytes are there already.

    The new file replaces the old one by renaming: a running interpreter keeps
    the pages it has mapped.
    """
    if EXTENSION.exists() and filecmp.cmp(built, EXTENSION, shallow=False):
        return False
    EXTENSION.parent.mkdir(parents=True, exist_ok=True)
    fresh = EXTENSION.with_suffix(".new")
    shutil.copyfile(built, fresh)
    fresh.chmod(0o755)
    fresh.replace(EXTENSION)
    return True


def write_metadata(folder: Path) -> Path:
    """Let maturin write the ``.dist-info`` folder of this project."""
    command = ["maturin", "pep517", "write-dist-info", "--metadata-directory", str(folder)]
    command += ["--interpreter", sys.executable]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (info,) = folder.glob("*.dist-info")
    return info


def record_line(name: str, content: bytes) -> str:
    """Return the line of a wheel's RECORD for one file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def build_wheel(folder: Path) -> Path:
    """Write the editable wheel and return its path."""
    info = write_metadata(folder)
    tag = next(
        line.removeprefix("Tag: ")
        for line in (info / "WHEEL").read_text(encoding="utf-8").splitlines()
        if line.startswith("Tag: ")
    )
    files = {"slackwater-editable.pth": f"{SOURCE}\n".encode()}
    for path in sorted(info.rglob("*")):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    record = f"{info.name}/RECORD"
    files.pop(record, None)
    lines = [record_line(name, content) for name, content in files.items()]
    files[record] = ("\n".join([*lines, f"{record},,"]) + "\n").encode()

    wheel = folder / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def install_package() -> None:
    """Give pip the editable wheel. Dependencies come from the pinned files, not from here."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        command += ["--force-reinstall", str(wheel)]
        quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        subprocess.run(command, check=True, env=quiet)


def main() -> None:
    """Place the extension; with ``--package``, install the package around it as well."""
    parser = argparse.ArgumentParser(description="Install slackwater in place.")
    parser.add_argument("built", type=Path, help="the library cargo built, lib_engine.so")
    parser.add_argument("--package", action="store_true", help="(re)install the package, too")
    arguments = parser.parse_args()

    changed = place_extension(arguments.built)
    if arguments.package:
        install_package()
    print(f"slackwater: extension {'updated' if changed else 'up to date'}")


if __name__ == "__main__":
    main()
