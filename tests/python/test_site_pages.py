"""Documentation site: its checks find dead links and foreign files; its references are complete."""

from __future__ import annotations

import json
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
    document = json.loads(openapi())
    for part, level in (("paths", "####"), ("webhooks", "###")):
        for path, methods in document[part].items():
            for method in methods:
                assert f"\n{level} {method.upper()} `{path}`\n" in http
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


def test_a_link_to_a_generated_page_leads_to_its_source_in_the_repository() -> None:
    written = {*site_pages.pages(), *site_service.pages()}
    for file, place in make_site.GENERATED.items():
        assert (ROOT / file).is_file()
        crate = re.fullmatch(r"\.\./slackwater_\w+/index\.html", place)
        assert place in written or crate, place


def test_links_of_pages_lead_to_files_and_headings() -> None:
    read = {path: path.read_text(encoding="utf-8") for path in markdown_files()}
    assert len(read) > 40
    dead = [
        f"{path.relative_to(ROOT)}: {target}{anchor}"
        for path, text in read.items()
        for target, anchor in links_of(text)
        if not leads_somewhere(path, target, anchor)
    ]
    assert dead == []


def test_a_dead_link_of_a_page_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` c\n\n[gone](gone.md) [x](#a-b-c) [y](page.md#d)\n```\n[z](z.md)\n```\n"
    )
    found = [leads_somewhere(page, *link) for link in links_of(page.read_text())]
    assert found == [False, True, False]


def markdown_files() -> list[Path]:
    """Pages and notebooks of the repository, without folders of tools."""
    found = [path for suffix in ("md", "ipynb") for path in ROOT.rglob(f"*.{suffix}")]
    is_ours = r"(?!\.(?!github)|target/|.*/(\.|node_modules/|target/))"
    return [path for path in found if re.match(is_ours, path.relative_to(ROOT).as_posix())]


def prose(text: str) -> str:
    """Text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def links_of(text: str) -> list[tuple[str, str]]:
    """Targets and anchors of the links of a page to files."""
    found = re.findall(r"\[[^\]\n]*(?:\n[^\]\n]+)?\]\(([^)#\s\\]*)(#[^)\s]*)?\)", prose(text))
    return [(target, anchor) for target, anchor in found if not re.match(r"[a-z]+:", target)]


def leads_somewhere(page: Path, target: str, anchor: str) -> bool:
    """Whether there is the file of a link, and the heading of one to a page, as GitHub names it."""
    file = (page.parent / target).resolve() if target else page
    if not file.exists() or not anchor or file.suffix != ".md":
        return file.exists()
    text = prose(file.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    names = {re.sub(r"[^\w\- ]", "", heading.strip()).replace(" ", "-") for heading in shown}
    return anchor[1:] in names


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
    settings, crate = "../../deploy/settings.schema.json", "../../engine/src/lib.rs"
    links = f"[e]({settings}), [f]({crate})"
    page = make_site.GENERATED["deploy/settings.schema.json"]
    assert page == "reference/settings.md"
    expected = f'[e](../{page}), <a href="../../slackwater_engine/index.html">f</a>'
    assert make_site.relocated(links, source, known) == expected
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
