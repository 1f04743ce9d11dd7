"""Build the documentation site: pages of `docs/`, notebooks, and references made from the code.

Usage: ``python scripts/make_site.py target/doc/site``

Nothing is fetched from a network, and the pages load nothing from other sites. The build fails on
a warning of Sphinx, a dead link, and a page that would load something.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.cmd.build import main as sphinx

import site_pages
import site_service

ROOT = Path(__file__).resolve().parent.parent

# Files outside `docs/` that are pages, with their places in the site.
PLACES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "DESIGN.md": "project/design.md",
    "SECURITY.md": "project/security.md",
    "benches/CLUSTER.md": "project/cluster.md",
    "benches/RESULTS.md": "project/results.md",
    "engine/README.md": "project/engine.md",
}
# Pages that are generated, by the file of the repository that a link to them names: its reader may
# be on a page of the site, or in the repository. The Rust reference lies beside the site.
GENERATED = {
    "api/http/openapi.json": "reference/http.md",
    "api/integration/src/lib.rs": "../slackwater_integration/index.html",
    "bindings/python/slackwater/__init__.py": "reference/python/index.md",
    "bindings/python/slackwater/area.py": "reference/python/batches.md",
    "bindings/python/slackwater/cli/app.py": "reference/command-line.md",
    "control/src/lib.rs": "../slackwater_control/index.html",
    "deploy/settings.schema.json": "reference/settings.md",
    "engine/src/lib.rs": "../slackwater_engine/index.html",
    "scenarios/schema.json": "reference/scenarios.md",
    "sim/src/lib.rs": "../slackwater_sim/index.html",
}
# The text of a link may go on in the next line.
LINK = re.compile(
    r"(?P<text>!?\[[^\]\n]*(?:\n[^\]\n]+)?\])\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)

FOREIGN_STYLE = re.compile(r"url\(['\"]?(https?:[^)'\"]*)")

# Elements that load something when a page is opened, with the attribute that names it.
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class SiteError(Exception):
    """A site that should not be published."""


def places() -> dict[Path, str]:
    """Place in the site of every source file that is a page or belongs to one."""
    found = {ROOT / source: place for source, place in PLACES.items()}
    docs = ROOT / "docs"
    for path in sorted(docs.rglob("*")):
        if path.is_file() and path.name != "conf.py" and "__pycache__" not in path.parts:
            found[path] = path.relative_to(docs).as_posix()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        found[path] = f"tutorials/{path.name}"
    return found


def relocated(text: str, source: Path, known: dict[Path, str]) -> str:
    """Text of a page whose links lead to the places of files in the site.

    A link to a file that a page is generated from leads to that page; one to another file that is
    no page keeps its text only.
    """
    here = Path(known[source]).parent
    generated = {ROOT / file: place for file, place in GENERATED.items()}

    def replace(match: re.Match[str]) -> str:
        target = match["target"]
        if urlsplit(target).scheme:
            return match[0]
        file = (source.parent / target).resolve()
        place = known.get(file) or generated.get(file)
        if place is None:
            return match["text"].strip("[]")
        link = f"{os.path.relpath(place, here)}{match['anchor'] or ''}"
        if place.startswith("../"):
            # MyST looks for the targets of its own links within the site.
            return f'<a href="{link}">{match["text"].strip("[]")}</a>'
        return f"{match['text']}({link})"

    return LINK.sub(replace, text)


def pictures(notebook: Path) -> Iterator[tuple[str, bytes]]:
    """Pictures in the outputs of a notebook, named after the notebook and the cell."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            image = output.get("data", {}).get("image/png")
            if image:
                text = image if isinstance(image, str) else "".join(image)
                yield f"pictures/{notebook.stem}-{cell['id']}.png", base64.b64decode(text)


def sources() -> dict[str, bytes]:
    """All files that Sphinx reads, by their places."""
    known = places()
    found: dict[str, bytes] = {}
    for path, place in known.items():
        content = path.read_bytes()
        if path.suffix in {".md", ".ipynb"}:
            content = relocated(content.decode(), path, known).encode()
        if path.suffix == ".ipynb":
            found.update(pictures(path))
        found[place] = content
    generated = {**site_pages.pages(), **site_service.pages()}
    found |= {place: text.encode() for place, text in generated.items()}
    return found


def assemble(folder: Path) -> None:
    """Write the files that Sphinx reads; those that did not change keep their time."""
    wanted = {folder / place: content for place, content in sources().items()}
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()
    for path, content in wanted.items():
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


class Page(HTMLParser):
    """Links, anchors and loaded files of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one element links to, is called, and loads."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADS and LOADS[tag] in values:
            self.loaded.append(values[LOADS[tag]])


def read_pages(site: Path) -> dict[Path, Page]:
    """All pages of a built site."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        found[path.resolve()] = page
    return found


def flaws(site: Path) -> Iterator[str]:
    """Dead links within the site, and files that pages would load from elsewhere."""
    pages = read_pages(site)
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for target in [*page.links, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_relative_to(site.resolve()):
                continue
            anchors = pages[file].anchors if file in pages else {parts.fragment}
            if not file.exists() or (parts.fragment and unquote(parts.fragment) not in anchors):
                yield f"{name}: there is no {target}"
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{name}: loads {target}"
    for style in site.rglob("*.css"):
        for target in re.findall(
            r"url\(['\"]?(https?:[^)'\"]*)", style.read_text(encoding="utf-8")
        ):
            yield f"{style.relative_to(site)}: loads {target}"


def external_links(site: Path) -> list[str]:
    """Links to other sites, which nobody fetches here."""
    links = {link for page in read_pages(site).values() for link in page.links}
    return sorted(link for link in links if urlsplit(link).netloc)


def build(site: Path) -> None:
    """Assemble the sources beside the site, build it, and check it.

    Raises:
        SiteError: Sphinx warned, or the site has flaws.
    """
    source = site.with_name(f"{site.name}-source")
    assemble(source)
    shutil.copy(ROOT / "docs/conf.py", source / "conf.py")
    doctrees = site.with_name(f"{site.name}-doctrees")
    # `-a`: each page shows the titles of others, which Sphinx does not write anew by itself.
    arguments = ["-b", "html", "-a", "-d", doctrees, "-W", "--keep-going", "-q", source, site]
    if sphinx([str(argument) for argument in arguments]) != 0:
        raise SiteError("Sphinx did not build the site without warnings")
    found = list(flaws(site))
    if found:
        raise SiteError("\n".join(found))


def main() -> int:
    """Build the site in the folder of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    site = parser.parse_args().site
    try:
        build(site)
    except SiteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    links = external_links(site)
    print(f"{site / 'index.html'}; {len(links)} links to other sites, not fetched:")
    print(*links, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
