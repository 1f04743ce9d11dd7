"""Documentation site: its checks find dead links and foreign files; its references are complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import slackwater

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import make_site  # noqa: E402  they stand next to the other programs
import site_extension  # noqa: E402

import site_pages  # noqa: E402
import site_service  # noqa: E402


def test_every_public_name_has_its_place_in_the_reference() -> None:
    shown = "".join(text for path, text in site_pages.pages().items() if "/python/" in path)
    for name in slackwater.__all__:
        kind = "automodule" if site_pages.is_module(name) else r"auto(?:class|function|data)"
        assert re.search(rf"{kind}:: slackwater\.{name}$", shown, re.MULTILINE), name
    assert ".. automodule:: slackwater.io\n" in shown


def test_a_name_of_no_topic_is_shown_by_its_prefix_or_last() -> None:
    assert site_pages.topic_of("SiteNovelty") == "site"
    assert site_pages.topic_of("Novelty") == "more"


def test_every_command_and_its_options_are_shown() -> None:
    page = site_pages.command_line_page()
    help_text = (ROOT / "tests/golden/python/help.txt").read_text(encoding="utf-8")
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", help_text)) - {"--help", "--version"}
    assert len(options) > 30
    assert {option for option in options if option not in page} == set()


def test_a_command_to_type_is_a_block_that_can_be_copied() -> None:
    page = site_pages.command_line_page()
    assert "```sh\nslackwater plan --prices day.csv --time-zone Europe/Oslo --now 2026" in page
    assert list(site_pages.help_blocks("Plan.\n\nslackwater plan\n--by 7")) == [
        "Plan.\n",
        "```sh\nslackwater plan --by 7\n```\n",
    ]


def test_every_operation_and_setting_is_shown() -> None:
    pages = site_service.pages()
    http = pages["reference/http.md"]
    assert http.count("\n#### ") == len(re.findall(r'"operationId"', openapi()))
    settings = pages["reference/settings.md"]
    for name in ("drain_seconds", "sandbox.base.listen", "limits[].power_max_kw", "secret"):
        assert f"| `{name}` |" in settings or f"| `subscriptions[].{name}` |" in settings, name
    assert "`SLACKWATER_STORE__URL`" in settings
    assert "| `drain_seconds` | whole number | `5` |" in settings
    assert '`"127.0.0.1:8080"` |\n' in settings, "examples are in the last column"
    rows = re.findall(r"^\| `[^`]+` \| (.*?) \| .*? \| (.*?) \|", settings, re.MULTILINE)
    assert len(rows) > 80
    assert all(kind and meaning for kind, meaning in rows)


def openapi() -> str:
    return (ROOT / "api/http/openapi.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "formula", [r"a & b", r"\nonsense{x}", r"\begin{aligned}a\\b\end{aligned}"]
)
def test_a_formula_that_cannot_be_shown_is_refused(formula: str) -> None:
    with pytest.raises(ValueError, match="MathML cannot show"):
        site_extension.to_mathml(formula, "block")
    assert "<msub>" in site_extension.to_mathml("p_t", "inline")


def test_links_follow_the_places_of_files() -> None:
    source = ROOT / "docs/how-to/prices.md"
    known = {
        source: "how-to/prices.md",
        ROOT / "DESIGN.md": "project/design.md",
        ROOT / "notebooks/01-first-plan.ipynb": "tutorials/01-first-plan.ipynb",
    }
    links = "[a](../../DESIGN.md#words), [b](../../notebooks/01-first-plan.ipynb)"
    expected = "[a](../project/design.md#words), [b](../tutorials/01-first-plan.ipynb)"
    assert make_site.relocated(links, source, known) == expected
    assert make_site.relocated("[c](../../Makefile)", source, known) == "c"
    assert make_site.relocated("[d](https://example.org)", source, known).endswith("example.org)")


def site_with(folder: Path, body: str) -> list[str]:
    (folder / "index.html").write_text(f"<html><body><h1 id='top'>A</h1>{body}</body></html>")
    return list(make_site.flaws(folder))


def test_dead_links_and_foreign_files_are_found(tmp_path: Path) -> None:
    assert site_with(tmp_path, "<a href='#top'>x</a><a href='https://example.org'>y</a>") == []
    assert site_with(tmp_path, "<a href='gone.html'>x</a>") == ["index.html: there is no gone.html"]
    assert site_with(tmp_path, "<a href='#gone'>x</a>") == ["index.html: there is no #gone"]
    (found,) = site_with(tmp_path, "<script src='https://example.org/a.js'></script>")
    assert found == "index.html: loads https://example.org/a.js"
    (tmp_path / "a.css").write_text("@font-face { src: url('https://example.org/a.woff') }")
    assert site_with(tmp_path, "") == ["a.css: loads https://example.org/a.woff"]
