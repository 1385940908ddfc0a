"""Theorems by number: `page.md#name` in a docstring becomes a link to the proof."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

DOCS = Path(__file__).parents[1]
NAME = re.compile(r"(docs/)?(proofs/)?\b([a-z-]+)\.md(?:#([a-z0-9-]+))?")
HEADING = re.compile(r"^## (([a-z0-9-]+) — .*)$", re.MULTILINE)


@cache
def headings(page: str) -> dict[str, str]:
    """Return the headings of the theorems on a page of proofs, by their names."""
    path = DOCS / "proofs" / f"{page}.md"
    text = path.read_text("utf-8") if path.is_file() else ""
    return {name: heading for heading, name in HEADING.findall(text)}


class TheoremLinks(SphinxPostTransform):
    """Link the theorems and pages that the docstrings of the API reference name."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        """Look for names of theorems in one page."""
        here = self.env.current_document.docname
        if not here.startswith("reference/"):
            return
        for text in list(self.document.findall(nodes.Text)):
            if ".md" in text and not isinstance(
                text.parent, nodes.reference | nodes.literal_block
            ):
                text.parent.replace(text, self.parts(str(text), here))

    def parts(self, text: str, here: str) -> list[nodes.Node]:
        """Cut a text into words and links."""
        found: list[nodes.Node] = []
        end = 0
        for match in NAME.finditer(text):
            link = self.link(match, here)
            if link is not None:
                found += [nodes.Text(text[end : match.start()]), link]
                end = match.end()
        return [*found, nodes.Text(text[end:])]

    def link(self, match: re.Match[str], here: str) -> nodes.reference | None:
        """Return the link to a theorem, a page of proofs or another page."""
        _, proofs, page, name = match.groups()
        place = f"proofs/{page}" if proofs or headings(page) else page
        if place not in self.env.all_docs:
            return None
        heading = headings(page).get(name or "")
        if heading is None:
            return self.reference(str(self.env.titles[place].astext()), here, place, "")
        anchor = f"#{nodes.make_id(heading)}"
        number = self.env.toc_secnumbers.get(place, {}).get(anchor, ())
        called = f"Theorem {'.'.join(map(str, number))} ({name})"
        return self.reference(called, here, place, f"#{name}")

    def reference(self, text: str, here: str, place: str, anchor: str) -> nodes.reference:
        """Return a link within the site."""
        address = self.app.builder.get_relative_uri(here, place) + anchor
        return nodes.reference("", text, internal=True, refuri=address)


def setup(app: Sphinx) -> dict[str, Any]:
    """Link theorems once all pages are read."""
    app.add_post_transform(TheoremLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
