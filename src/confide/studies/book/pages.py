"""Pages of the reproduction book, made from templates and committed results.

A template calls `section` for every table, figure, theorem and claim of a paper. The
verdicts, studies and tests passed to `section` are collected for the front page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from confide.errors import InvalidParameter
from confide.studies.book import printed
from confide.studies.book.markdown import (
    Line,
    best_and_ours,
    comparison_table,
    cost_table,
    coverage_table,
    differences,
    frame_table,
    length_ratios,
    shown,
)
from confide.studies.book.results import CommittedTable, committed_table
from confide.studies.book.systems import SYSTEMS, System
from confide.studies.engine.committed import BOOK
from confide.studies.engine.publish import ABSENT
from confide.studies.engine.study import STUDIES

PAPERS: Final = {
    "confidence-intervals": "Wang, Kifer and Lee: private intervals",
    "napp-erm": "Li and Liu: NAPP-ERM",
    "renyi-admm": "Rényi ADMM for non-smooth penalties",
    "kifer-smith-thakurta": "Kifer, Smith and Thakurta: objective perturbation, sparsity",
    "private-regression": "Wu et al.: private regression revisited",
}
"""Titles of the pages on the papers, in the order of the front page."""
BEYOND: Final = "beyond"
FRONT: Final = "README"
VERDICTS: Final = ("reproduced", "reproduced in shape", "not reproduced", "refuted", "ours")
QUICK: Final = (
    "**Full run not committed yet.** The following is from a quick run of {cells} of "
    "{total} cells; numbers are rough."
)
EARLIER: Final = " The verdict is from an earlier full run, whose results were not kept."
NOTHING: Final = "**Neither a full run nor a quick run is committed yet.**"


@dataclass(frozen=True, slots=True)
class BookSection:
    """A section on a table, figure, theorem or claim: its verdict, studies and tests."""

    page: str
    anchor: str
    title: str
    verdict: str
    studies: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    @property
    def link(self) -> str:
        """The address of the section within the book."""
        return f"{self.page}.md#{self.anchor}"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the book, with the functions that its template may call."""

    name: str
    book: Path
    sections: list[BookSection] = field(default_factory=list)

    def section(
        self,
        anchor: str,
        title: str,
        verdict: str,
        because: str = "",
        *,
        studies: Sequence[str] = (),
        tests: Sequence[str] = (),
        new: bool = False,
    ) -> str:
        """Return the opening of a section: heading, verdict, tests, origin of the results.

        As long as no full run is committed, a note states that the verdict is from an
        earlier full run, unless ``new`` is true.
        """
        if verdict not in VERDICTS:
            raise InvalidParameter("verdict", f"one of {', '.join(VERDICTS)}", verdict)
        one = BookSection(self.name, anchor, title, verdict, tuple(studies), tuple(tests))
        self.sections.append(one)
        reason = f" because {because}" if verdict == "not reproduced" else ""
        more = f": {because}" if because and not reason else ""
        lines = [f'<a id="{anchor}"></a>', f"## {title}", ""]
        if verdict != "ours":
            done = all(self.results(study).whole for study in studies)
            doubt = "" if done or new else EARLIER
            lines += [f"**Verdict: {verdict}**{reason}{more}.{doubt}", ""]
        if tests:
            links = ", ".join(
                f"[`{_test_name(test)}`]({_test_link(test)})" for test in tests
            )
            lines += [f"Shown by the test{'s' if len(tests) > 1 else ''} {links}.", ""]
        for study in studies:
            lines += [self._provenance(self.results(study)), ""]
        return "\n".join(lines)

    def _provenance(self, found: CommittedTable) -> str:
        name = found.study.name
        command = f"`confide reproduce {name}`"
        if not found.cells:
            return f"{NOTHING} ({command})"
        link = f"[CSV](results/{found.study.grid_name}.csv)"
        made = f"confide {', '.join(found.library)}, study version {found.study.version}"
        if not found.whole:
            words = QUICK.format(cells=found.cells, total=found.total)
            return f"{words} ({command}, {made}; {link})"
        minutes = found.seconds / 60
        return (
            f"{command}: {found.total} cells, {shown(minutes, 2)} minutes of processor "
            f"time, {made}; {link}."
        )

    def results(self, study: str) -> CommittedTable:
        """Return the committed table of a study."""
        return _committed(study, self.book)

    def table(
        self,
        study: str,
        where: Mapping[str, Any] | None = None,
        columns: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> str:
        """Format a study's table, or selected rows and columns of it."""
        found = self.results(study).table
        return "" if found.empty else frame_table(found, where, columns, names)

    def coverage(self, study: str, varied: str) -> str:
        """Tabulate our coverages and the paper's, after a summary of the differences."""
        found = self.results(study).table
        if found.empty:
            return ""
        return differences(found) + "\n" + coverage_table(found, varied)

    def value(
        self, study: str, where: Mapping[str, Any], column: str, scale: float = 1.0
    ) -> float | None:
        """Return ``scale`` times a number from a study's table; None if it is missing."""
        found = self.results(study).value(where, column)
        return None if found is None else scale * found

    def number(
        self,
        study: str,
        where: Mapping[str, Any],
        column: str,
        scale: float = 1.0,
        digits: int = 3,
    ) -> str:
        """Format a number from a study's table, multiplied by ``scale``."""
        return shown(self.value(study, where, column, scale), digits)

    def compare(self, lines: Sequence[Line], digits: int = 3) -> str:
        """Format a table of the paper's numbers next to ours."""
        return comparison_table(lines, digits)

    def gap(
        self, study: str, where: Mapping[str, Any], larger: str, smaller: str
    ) -> float | None:
        """Return column ``larger`` minus ``smaller`` in one row of a study's table."""
        found = self.results(study)
        one, other = found.value(where, larger), found.value(where, smaller)
        return None if one is None or other is None else one - other

    def least(self, study: str, column: str, *, words: bool = True) -> str:
        """Format the smallest number of a column; ``words`` adds the labels of the row."""
        found = self.results(study).table
        if found.empty:
            return ABSENT
        line = found.iloc[int(found[column].to_numpy().argmin())]
        place = "; ".join(
            f"{key}: {one}" for key, one in line.items() if isinstance(one, str)
        )
        return shown(float(line[column])) + (f" ({place})" if words else "")

    def ratios(self, study: str, by: str) -> str:
        """Format the ratios of interval length to the variability of estimates."""
        found = self.results(study).table
        return "" if found.empty else length_ratios(found, by)

    def false_positives(self, study: str, methods: Sequence[str]) -> str:
        """Format false positive rates by Λ for linear regression (smallest n and ε)."""
        found = self.results(study).table
        if found.empty:
            return ""
        here = found[found["regression"].eq("linear") & found["measure"].str.contains("L$")]
        here = here[here["rows"].eq(here["rows"].min())]
        here = here[here["epsilon"].eq(here["epsilon"].min())]
        names = {"rows": "n", "epsilon": "ε", "measure": ""}
        return frame_table(here, None, ["measure", "rows", "epsilon", *methods], names)

    def ours_accuracy(self, study: str) -> str:
        """Format the best accuracy of the published methods, and the accuracies of ours."""
        found = self.results(study).table
        return "" if found.empty else best_and_ours(found)

    def costs(self) -> str:
        """Format the processor time of every study with committed results."""
        done = [self.results(name) for name in sorted(STUDIES)]
        return cost_table([one for one in done if one.cells])

    def committed(self, section: BookSection) -> str:
        """Describe the committed runs of a section: full run, quick run, or none yet."""
        done = [self.results(name) for name in section.studies]
        if not done:
            return ""
        if all(one.whole for one in done):
            return "full run"
        return "quick run" if all(one.cells for one in done) else "not yet"

    def figure(self, study: str) -> str:
        """Return Markdown that shows a study's figure, or a note if there is none yet."""
        path = Path("figures") / f"{study}.svg"
        if not (self.book / path).exists():
            return "*The figure is drawn when the full run is committed.*"
        return f"![{STUDIES.find(study).title}]({path.as_posix()})"


TOOLS: Final = (
    *("section", "table", "coverage", "ratios", "false_positives", "figure"),
    *("value", "number", "gap", "least", "compare"),
    *("ours_accuracy", "costs", "committed"),
)
"""Methods of `Page` that templates may call."""


@cache
def _committed(study: str, book: Path) -> CommittedTable:
    return committed_table(STUDIES.find(study), book)


def _test_name(test: str) -> str:
    return test.partition("::")[2] or Path(test).name


def _test_link(test: str) -> str:
    return f"../../{test.partition('::')[0]}"


def make_pages(book: Path = BOOK) -> tuple[dict[str, str], list[BookSection]]:
    """Return the text of each page by name, and a list of all sections."""
    _committed.cache_clear()
    environment = Environment(
        loader=PackageLoader("confide.studies.book"),
        autoescape=False,  # noqa: S701 - pages are Markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made, sections = {}, []
    for name in (*PAPERS, BEYOND):
        page = Page(name, book)
        made[name] = _rendered(environment, page, {})
        sections += page.sections
    content = {"papers": PAPERS, "sections": sections, "systems": _listed(sections)}
    made[FRONT] = _rendered(environment, Page(FRONT, book), content)
    return made, sections


def _rendered(environment: Environment, page: Page, content: Mapping[str, Any]) -> str:
    template = environment.get_template(f"{page.name}.md.jinja")
    tools = {name: getattr(page, name) for name in TOOLS}
    text = template.render(**tools, printed=printed, shown=shown, **content)
    lines = (line.rstrip() for line in text.splitlines())
    return _without_gaps("\n".join(lines)).strip() + "\n"


def _without_gaps(text: str) -> str:
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text


def _listed(sections: Sequence[BookSection]) -> list[tuple[System, list[BookSection]]]:
    """Return pairs of a `System` and its sections, in the order of `SYSTEMS`."""
    known = {f"{one.page}#{one.anchor}": one for one in sections}
    return [(system, [known[name] for name in system.sections]) for system in SYSTEMS]


def write_book(book: Path = BOOK) -> list[Path]:
    """Write all pages of the reproduction book.

    Parameters
    ----------
    book : Path, optional
        Folder with the committed results, into which the pages are written.

    Returns
    -------
    list of Path
        Paths of the pages.

    Examples
    --------
    >>> from confide.studies import write_book
    >>> pages = write_book()  # doctest: +SKIP
    """
    pages, _ = make_pages(book)
    written = []
    for name, text in pages.items():
        written.append(book / f"{name}.md")
        written[-1].write_text(text, encoding="utf-8")
    return written
