"""Check a built site: every link leads somewhere, and nothing is fetched from elsewhere."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ABROAD = re.compile(r"https?://[a-z0-9.-]+\.[a-z]{2,}(/\S*)?", re.IGNORECASE)


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: set[tuple[str, str]] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, and its name."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "link" and found.get("rel") in {"canonical", "index", "search"}:
            return
        sources = ("srcset",) if tag == "source" else ("href", "src")
        for name in sources:
            if name in found:
                self.links.add((tag, found[name]))


def faults_of(page: Page, pages: dict[Path, Page]) -> list[str]:
    """Return what is wrong with the links of a page."""
    found = []
    for tag, link in sorted(page.links):
        parts = urlsplit(link)
        if parts.scheme == "data":
            continue
        if parts.scheme or parts.netloc:
            if tag != "a":
                found.append(f"fetches {link}")
            elif parts.scheme != "mailto" and not ABROAD.fullmatch(link):
                found.append(f"links to {link}, which is no address")
            continue
        target = (
            (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        )
        if not target.is_file():
            found.append(f"links to {link}, which is not there")
            continue
        anchors = pages[target].anchors if target in pages else set()
        if parts.fragment and unquote(parts.fragment) not in anchors:
            found.append(f"links to {link}, a page without that anchor")
    return found


def check(folder: Path) -> list[str]:
    """Return the faults of all pages of a site."""
    paths = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path.resolve(): Page(path.resolve()) for path in paths}
    return [
        f"{page.path.relative_to(folder.resolve())} {fault}"
        for page in pages.values()
        for fault in faults_of(page, pages)
    ]


if __name__ == "__main__":
    faults = check(Path(sys.argv[1]))
    sys.stdout.write("\n".join(faults) or "every link leads somewhere")
    sys.stdout.write("\n")
    sys.exit(bool(faults))
