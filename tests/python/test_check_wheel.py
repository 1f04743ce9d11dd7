"""Check of wheels: their size, and plans in an environment that holds nothing else."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import slackwater

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_wheel  # noqa: E402  it stands next to the other programs

CRATES: list[dict[str, Any]] = [
    {"name": "slackwater-engine"},
    {"name": "highs-sys", "hashes": [{}]},
    {"name": "pyo3", "hashes": [{}]},
]


def wheel_of(folder: Path, source: str, crates: list[dict[str, Any]] | None = CRATES) -> Path:
    """A wheel whose package is one line of Python, with these crates in its list of contents."""
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
        if crates is not None:
            contents = json.dumps({"components": crates})
            archive.writestr(f"{info}/sboms/slackwater-bindings.cyclonedx.json", contents)
    return wheel


def test_a_wheel_that_is_too_large_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(bytes(2000))
    assert check_wheel.check_size(wheel) == pytest.approx(0.002)
    with pytest.raises(check_wheel.WheelError, match=r"a\.whl has 0\.0 MB; at most 0\.001"):
        check_wheel.check_size(wheel, size_max_mb=0.001)


def test_a_wheel_has_a_list_of_its_contents(tmp_path: Path) -> None:
    assert check_wheel.check_contents(wheel_of(tmp_path, "")) == 3
    for crates, told in [
        (None, "has 0 lists of its contents"),
        (CRATES[:2], r"lacks \['pyo3'\]"),
        ([*CRATES, {"name": "ahash"}], "ahash has no checksum"),
    ]:
        with pytest.raises(check_wheel.WheelError, match=told):
            check_wheel.check_contents(wheel_of(tmp_path, "", crates))


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


def test_the_first_page_runs_in_an_empty_environment(tmp_path: Path) -> None:
    # The package of the tests in place of an installed wheel: linked, not built.
    python = check_wheel.make_environment(tmp_path / "environment")
    site = next((tmp_path / "environment").rglob("site-packages"))
    (site / "slackwater.pth").write_text(str(Path(slackwater.__file__).parents[1]))
    check_wheel.check_page(python, tmp_path)
    check_wheel.check_plans(python, tmp_path)


def test_a_page_that_shows_something_else_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n# 3\n```\n")
    with pytest.raises(check_wheel.WheelError, match=r"page\.md:2 shows \['3'\]"):
        check_wheel.check_page(Path(sys.executable), tmp_path, page)


def test_a_page_without_examples_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python needs=plot\nprint(1 + 1)\n# 3\n```\n")
    with pytest.raises(check_wheel.WheelError, match="0 examples"):
        check_wheel.check_page(Path(sys.executable), tmp_path, page)


def source_of(folder: Path) -> Path:
    """A source distribution whose build backend writes the wheel of `wheel_of`."""
    wheel = wheel_of(folder, "raise ImportError('built from source')")
    backend = (
        "import shutil\n"
        "def build_wheel(folder, config_settings=None, metadata_directory=None):\n"
        f"    shutil.copy({str(wheel)!r}, folder)\n"
        f"    return {wheel.name!r}\n"
    )
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    source = folder / "slackwater-0.1.0.tar.gz"
    with tarfile.open(source, "w:gz") as archive:
        for name, text in {
            "PKG-INFO": "Metadata-Version: 2.4\nName: slackwater\nVersion: 0.1.0\n",
            "backend.py": backend,
            "pyproject.toml": project,
        }.items():
            member = tarfile.TarInfo(f"slackwater-0.1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return source


def test_a_source_distribution_is_checked_by_its_wheel(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    with pytest.raises(check_wheel.WheelError, match="built from source"):
        check_wheel.check(source)
