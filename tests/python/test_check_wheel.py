"""Check of wheels: their size, and plans in an environment that holds nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_wheel  # noqa: E402  it stands next to the other programs


def wheel_of(folder: Path, source: str) -> Path:
    """A wheel whose package is one line of Python."""
    info = "slackwater-0.1.0.dist-info"
    wheel = folder / "slackwater-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("slackwater/__init__.py", source)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.4\nName: slackwater\nVersion: 0.1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def test_a_wheel_that_is_too_large_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(bytes(2000))
    assert check_wheel.check_size(wheel) == pytest.approx(0.002)
    with pytest.raises(check_wheel.WheelError, match=r"a\.whl has 0\.0 MB; at most 0\.001"):
        check_wheel.check_size(wheel, size_max_mb=0.001)


def test_the_program_of_the_check_plans_what_it_expects(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(compile(check_wheel.PROGRAM, "check_wheel.py", "exec"), {})  # noqa: S102  our own
    assert capsys.readouterr().out.splitlines() == check_wheel.EXPECTED


def test_a_wheel_without_planners_is_refused(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, "raise ImportError('no extension')")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check_wheel.py", wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no extension" in done.stderr
