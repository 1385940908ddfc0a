"""The version has one source, and what must repeat it agrees."""

import re
from pathlib import Path

from confide import __version__

ROOT = Path(__file__).parents[2]


def test_citation_and_changelog_name_the_version():
    cited = re.search(
        r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE
    )
    newest = re.search(
        r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert (cited[1], newest[1]) == (__version__, __version__)
