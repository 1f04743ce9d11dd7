"""Import of the package: cheap, without other packages, and with its modules in place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import slackwater as sw

# The import has 95 modules of the standard library with Python 3.11, those of the interpreter
# included. More of them would make each command and each worker slower to start; a time would
# depend on the machine.
MODULES_MAX = 105

PROGRAM = """
import sys
import slackwater
print(*(name for name in sys.modules if not name.startswith("slackwater")))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter that finds the package."""
    home = Path(sw.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        env={"PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_import_loads_the_standard_library_only() -> None:
    done = run("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    foreign = {name.partition(".")[0] for name in loaded} - {*sys.stdlib_module_names, "__main__"}
    assert {
        name for name in foreign if not name.startswith(("__main__", "_sysconfigdata"))
    } == set()
    assert len(loaded) <= MODULES_MAX
    assert {"asyncio", "csv", "json", "random", "subprocess", "xml"}.isdisjoint(loaded)


@pytest.mark.parametrize("module", ["asyncio", "http.client", "unittest"])
def test_a_heavy_module_more_would_be_noticed(module: str) -> None:
    done = run("-c", PROGRAM.replace("import slackwater", f"import slackwater, {module}"))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > MODULES_MAX


ON_DEMAND = sorted(sw._ON_DEMAND)


def test_modules_on_demand_are_not_loaded() -> None:
    done = run("-c", "import slackwater, sys; print(*sys.modules)")
    loaded = set(done.stdout.split())
    assert len(ON_DEMAND) == 14
    assert {f"slackwater.{name}" for name in ON_DEMAND}.isdisjoint(loaded), done.stderr
    # Pictures are drawn later, too.
    assert {"slackwater._timeline", "slackwater.html", "slackwater.plot"}.isdisjoint(loaded)


def test_a_module_on_demand_is_guarded_however_it_is_imported() -> None:
    program = "from slackwater.paging import {}\n{}({}=1)"
    names = ["Page"]
    del program, names
    program = "from slackwater.schedule import should_charge as f; f([], at=None, time_zone='UTC')"
    done = run("-c", program)
    assert "at is None; expected a datetime with a time zone" in done.stderr


@pytest.mark.parametrize("name", ["saved", *ON_DEMAND])
def test_a_module_is_there_without_an_import_of_its_own(name: str) -> None:
    done = run("-c", f"import slackwater as sw; print(sw.{name}.__name__, {name!r} in dir(sw))")
    assert done.stdout.split() == [f"slackwater.{name}", "True"], done.stderr


def test_a_module_that_does_not_exist_is_missing() -> None:
    with pytest.raises(AttributeError, match=r"module 'slackwater' has no attribute 'oi'"):
        getattr(sw, "oi")  # noqa: B009  type checkers know that it does not exist


def test_a_star_import_hides_no_standard_module() -> None:
    done = run("-c", "import io; before = io; from slackwater import *; print(io is before)")
    assert done.stdout.strip() == "True", done.stderr


def test_the_package_runs_as_a_program() -> None:
    home = Path(sw.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "slackwater", "--version"],
        env={"PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, sw.__version__ in done.stdout) == (0, True), done.stderr
