"""Links between pages as a code host reads them, made to work in the site as well."""

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = {
    "changelog": ROOT / "CHANGELOG.md",
    "contributing": ROOT / "CONTRIBUTING.md",
    "security": ROOT / "SECURITY.md",
}
"""Pages that show a file of the repository's root."""
PAGES = {path: DOCS / f"{name}.md" for name, path in SHOWN.items()}
PAGES[ROOT / "README.md"] = DOCS / "index.md"
LINK = re.compile(r"(?<=\]\()([^)\s:#]+)(?=[)#])")
NAMELESS = re.compile(r"\[[\w./-]+\.md\](?=\([^)]+\.md)")
"""A link that is called by its file: the site calls it by its title."""
ANCHOR = re.compile(r'<a id="([^"]+)">')


def contents(folder: Path) -> str:
    """Return the list of pages that a folder's README gets where it has none itself."""
    pages = sorted({*folder.glob("*.md"), *folder.glob("*/README.md")})
    names = [p.relative_to(folder).with_suffix("").as_posix() for p in pages]
    names.remove("README")
    return "\n".join(["", "```{toctree}", ":hidden:", "", *names, "```", ""])


def page_of(path: str, source: Path, shown: Path) -> str:
    """Return a link as the site needs it: root files by their pages, folders by README."""
    target = Path(os.path.normpath(source.parent / path))
    if target.is_dir() and (target / "README.md").is_file():
        target /= "README.md"
    return os.path.relpath(PAGES.get(target, target), shown.parent)


def adapt_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Rewrite the links of a Markdown page, and list the pages of a folder."""
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    origin = SHOWN.get(name, page)
    if origin != page:
        app.env.note_dependency(str(origin))
        source[0] = origin.read_text("utf-8")
    if page.name == "README.md" and "{toctree}" not in source[0]:
        source[0] += contents(page.parent)
    source[0] = NAMELESS.sub("[]", source[0])
    source[0] = LINK.sub(lambda found: page_of(found[1], origin, page), source[0])


class NamedAnchors(SphinxTransform):
    """Let `[text](page.md#name)` find `<a id="name"></a>`."""

    default_priority = 800

    def apply(self, **_: Any) -> None:
        """Note the anchors of a page where MyST looks for headings."""
        slugs = getattr(self.document, "myst_slugs", None)
        if slugs is None:
            return
        for node in self.document.findall(nodes.raw):
            for name in ANCHOR.findall(node.astext()):
                slugs[name] = (node.line or 0, name, name)
        self.env.metadata[self.env.current_document.docname]["myst_slugs"] = slugs


def setup(app: Sphinx) -> dict[str, Any]:
    """Adapt pages before they are read, and note their anchors afterwards."""
    app.connect("source-read", adapt_page)
    app.add_transform(NamedAnchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
