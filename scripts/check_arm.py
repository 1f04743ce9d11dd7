"""Check of what was built for ARM: the wheel and slackwater-evcc, run by QEMU on this machine.

Usage: ``python scripts/check_arm.py ROOT --wheel WHEEL --native PROGRAM --emulated arm=PROGRAM``

``ROOT`` is a Debian for arm64, as ``debootstrap --foreign`` leaves it: the packages are unpacked
here, and its Python runs the guide's first page. Each program answers the public requests of evcc's
contract, and its schedules are worth what those of the native program are. The script needs
``qemu-user-static``.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import http.client
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

from check_wheel import FIRST_PAGE, WheelError, check_contents, check_page, check_plans, check_size

CASES = Path(__file__).resolve().parent.parent / "tests/evcc"
SCHEDULE = "/optimize/charge-schedule"
# Cases whose searches a native program does not finish at once.
LONG = {"020", "021"}
# Relative difference of two objectives: other processors add up in another order.
TOLERANCE = 1e-6


class ArmError(Exception):
    """A program or package for ARM that should not be given to users."""


def unpack_packages(root: Path) -> None:
    """Unpack all packages of a Debian that was only downloaded."""
    command = shutil.which("dpkg-deb")
    packages = sorted(root.glob("var/cache/apt/archives/*.deb"))
    if command is None or not packages:
        raise ArmError(f"dpkg-deb is missing, or {root} has no packages")
    for package in packages:
        subprocess.run([command, "--extract", str(package), str(root)], check=True)


def make_interpreter(root: Path, folder: Path) -> Path:
    """Write a command that runs the Python of ``root`` by QEMU."""
    python = folder / "python"
    target = root / "usr/bin/python3.11"
    python.write_text(f'#!/bin/sh\nexec qemu-aarch64-static -L "{root}" "{target}" "$@"\n')
    python.chmod(0o755)
    return python


def check_arm_wheel(wheel: Path, root: Path) -> float:
    """Check a wheel as :mod:`check_wheel` does, with an emulated Python; returns megabytes."""
    size_mb = check_size(wheel)
    check_contents(wheel)
    packages = root / "usr/lib/python3/dist-packages"
    for earlier in packages.glob("slackwater*"):
        shutil.rmtree(earlier)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = make_interpreter(root, folder)
        check_plans(python, folder)
        check_page(python, folder)
    return size_mb


@contextlib.contextmanager
def serve(command: list[str]) -> Iterator[int]:
    """Run slackwater-evcc, and yield its port."""
    options = ["--listen", "127.0.0.1:0", "--seconds-max", "600"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        log = process.stderr
        if log is None:
            raise ArmError(f"{command}: no log")
        try:
            found = None
            while found is None:
                line = log.readline()
                if not line:
                    raise ArmError(f"{command} ended")
                found = re.search(r"listening on http://[\d.]+:(\d+)", line)
            threading.Thread(target=collections.deque, args=(log, 0), daemon=True).start()
            yield int(found[1])
        finally:
            process.terminate()


def plan_cases(command: list[str]) -> dict[str, float]:
    """Objectives of the public requests, by their numbers."""
    found = {}
    with serve(command) as port:
        for path in sorted(CASES.glob("*.json")):
            number = path.name.partition("-")[0]
            if number in LONG:
                continue
            request = json.loads(path.read_text())["request"]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            kind = {"Content-Type": "application/json"}
            connection.request("POST", SCHEDULE, json.dumps(request), kind)
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            if answer.status != http.client.OK:
                raise ArmError(f"{command}, {path.name}: {answer.status} {text.decode()}")
            found[path.stem] = json.loads(text)["objective_value"]
    return found


def check_program(native: dict[str, float], processor: str, program: Path) -> None:
    """Compare the objectives of an emulated program with those of the native one.

    Raises:
        ArmError: One differs, or a request is refused.
    """
    found = plan_cases([f"qemu-{processor}-static", str(program)])
    for name, value in native.items():
        if not math.isclose(found[name], value, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            raise ArmError(f"{processor}, {name}: {found[name]} in place of {value}")


def main() -> int:
    """Check the wheel and each program of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--native", type=Path, required=True)
    parser.add_argument("--emulated", nargs="+", required=True, metavar="PROCESSOR=PROGRAM")
    given = parser.parse_args()
    root = given.root.resolve()
    try:
        unpack_packages(root)
        size_mb = check_arm_wheel(given.wheel, root)
        print(f"{given.wheel.name}: {size_mb:.1f} MB, plans, {FIRST_PAGE.name}, contents are right")
        native = plan_cases([str(given.native)])
        for pair in given.emulated:
            processor, _, program = pair.partition("=")
            check_program(native, processor, Path(program))
            size_mb = check_size(Path(program))
            print(f"{processor}: {size_mb:.1f} MB, {len(native)} public requests of evcc as native")
    except (ArmError, OSError, WheelError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
