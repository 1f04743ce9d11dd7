"""Check of packages: size, list of contents, and the guide's first page in an empty environment.

Usage: ``python scripts/check_wheel.py dist/slackwater-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl``

For a wheel the script needs Python 3.11 with pip and no other package: it also runs in bare images
of Python. A source distribution (``.tar.gz``) is built into a wheel first, which needs Rust and the
packages of ``requirements-build.txt``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST_PAGE = ROOT / "docs/start.md"

# Largest wheel. A package index takes larger files, but a wheel that grows past this size
# holds something by mistake, such as debug information.
SIZE_MAX_MB = 10.0

# Crates that the list of contents names in any case, and the start of names of our own crates.
CONTENTS = {"slackwater-engine", "highs-sys", "pyo3"}
OURS = "slackwater-"

# Program that runs in the environment. The charge needs no solver, the site needs HiGHS.
PROGRAM = """\
from datetime import UTC, datetime, timedelta

import slackwater as sw

six = datetime(2026, 1, 5, 18, tzinfo=UTC)
prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20, 0.25], currency="EUR")
ten = six + timedelta(hours=4)
print(sw.plan_charge(prices, now=six, power_max_kw=7, targets=[sw.Target(ten, 10)]))

prices = sw.Prices.from_values(six, [0.10, 0.30], currency="EUR")
eight = six + timedelta(hours=2)
vans = [sw.Vehicle(name, power_max_kw=11, targets=[sw.Target(eight, 10)]) for name in "ab"]
print(sw.plan_site(prices, now=six, devices=vans, import_limit_kw=11))
"""

# Output of the program, line by line.
EXPECTED = [
    "Plan(10 kWh for 1.3000 EUR in 1 interval, saves 1.1000, proved optimal)",
    "SitePlan(2 devices for 3.8000 EUR, saves -1.8000, proved optimal)",
]


class WheelError(Exception):
    """A wheel that should not be given to users."""


def check_size(wheel: Path, size_max_mb: float = SIZE_MAX_MB) -> float:
    """Return the size of a file in megabytes; refuse one that is too large."""
    size_mb = wheel.stat().st_size / 1e6
    if size_mb > size_max_mb:
        raise WheelError(f"{wheel.name} has {size_mb:.1f} MB; at most {size_max_mb:g} are allowed")
    return size_mb


def check_contents(wheel: Path) -> int:
    """Return the number of crates in a wheel's list of contents (SBOM, CycloneDX).

    Raises:
        WheelError: There is no such list, it lacks crates, or a foreign crate has no checksum.
    """
    with zipfile.ZipFile(wheel) as archive:
        lists = [name for name in archive.namelist() if name.endswith(".cyclonedx.json")]
        if len(lists) != 1 or ".dist-info/sboms/" not in lists[0]:
            raise WheelError(f"{wheel.name} has {len(lists)} lists of its contents")
        crates = json.loads(archive.read(lists[0]))["components"]
    missing = CONTENTS - {crate["name"] for crate in crates}
    if missing:
        raise WheelError(f"the list of contents of {wheel.name} lacks {sorted(missing)}")
    for crate in crates:
        if not crate["name"].startswith(OURS) and not crate.get("hashes"):
            raise WheelError(f"{crate['name']} has no checksum in the list of {wheel.name}")
    return len(crates)


def make_environment(folder: Path) -> Path:
    """Make an environment without packages, and return its interpreter."""
    venv.create(folder, symlinks=os.name != "nt")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(python: Path, wheel: Path) -> None:
    """Install a wheel alone: it has to work without any other package."""
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)


def build_wheel(source: Path, folder: Path) -> Path:
    """Build a wheel from a source distribution, with the build tools of this environment.

    Raises:
        WheelError: Not one wheel came out.
    """
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--no-index", "--wheel-dir", str(folder), str(source)], check=True)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise WheelError(f"{source.name} gives {len(wheels)} wheels")
    return wheels[0]


def check_page(python: Path, folder: Path, page: Path = FIRST_PAGE) -> None:
    """Run the examples of a page that need nothing beside the package.

    Raises:
        WheelError: One fails, or prints something else than the page shows.
    """
    program = ROOT / "scripts/page_examples.py"
    done = subprocess.run(
        [str(python), "-I", str(program), str(page)],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        raise WheelError(f"{page.name}: {done.stderr}{done.stdout}")


def check_plans(python: Path, folder: Path) -> None:
    """Plan with the package of an environment, and compare what is printed."""
    done = subprocess.run(
        [str(python), "-I", "-c", PROGRAM],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout.splitlines()
    if printed != EXPECTED:
        raise WheelError(f"planned {printed} in place of {EXPECTED}\n{done.stderr}")


def check(package: Path, size_max_mb: float = SIZE_MAX_MB) -> float:
    """Check a wheel, or a source distribution by the wheel that it gives; returns megabytes."""
    size_mb = check_size(package, size_max_mb)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        is_source = package.name.endswith(".tar.gz")
        wheel = build_wheel(package, folder / "built") if is_source else package
        check_size(wheel, size_max_mb)
        check_contents(wheel)
        python = make_environment(folder / "environment")
        install(python, wheel)
        check_plans(python, folder)
        check_page(python, folder)
    return size_mb


def main() -> int:
    """Check each package of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+", type=Path)
    parser.add_argument("--size-max-mb", type=float, default=SIZE_MAX_MB)
    given = parser.parse_args()
    for package in given.packages:
        try:
            size_mb = check(package, given.size_max_mb)
        except (OSError, WheelError, subprocess.CalledProcessError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        print(f"{package.name}: {size_mb:.1f} MB, plans, {FIRST_PAGE.name}, contents are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
