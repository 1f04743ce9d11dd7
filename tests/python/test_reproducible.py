"""The comparison of two builds."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import reproducible


def wheel(path: Path, **members: str) -> Path:
    """A wheel with these members."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return path


def source(path: Path, **members: str) -> Path:
    """A source distribution with these members."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_what_differs_is_named(tmp_path: Path) -> None:
    for make in (wheel, source):
        first = make(tmp_path / "first", same="a", other="b")
        assert reproducible.differences(first, first) == []
        second = make(tmp_path / "second", same="a", other="c", more="d")
        assert reproducible.differences(first, second) == ["more", "other"]


def test_equal_members_in_another_order_are_no_equal_file(tmp_path: Path) -> None:
    first, second = wheel(tmp_path / "1", a="x", b="y"), wheel(tmp_path / "2", b="y", a="x")
    assert reproducible.differences(first, second) == ["order, dates or compression of members"]


def test_a_program_is_compared_as_a_whole(tmp_path: Path) -> None:
    for folder, content in (("1", b"\x7fELF 1"), ("2", b"\x7fELF 2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "program").write_bytes(content)
    first, second = tmp_path / "1/program", tmp_path / "2/program"
    assert reproducible.differences(first, second) == ["program"]
    assert reproducible.differences(first, first) == []
