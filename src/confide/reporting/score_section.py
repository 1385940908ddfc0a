"""A private score as a section of a page: a table of estimates, and its plots."""

from dataclasses import dataclass

from confide.privacy import Guarantee
from confide.reporting.markup import render
from confide.reporting.released_plot import ReleasedPlot, plot_svg
from confide.reporting.text import Promise


@dataclass(frozen=True, slots=True)
class ScoreSection:
    """Private score as a section of a page.

    Parameters
    ----------
    title : str
        Heading.
    guarantee : Guarantee
        Guarantee of the released score.
    level : float
        Confidence level of the intervals.
    lines : tuple of tuple of str
        Cells of a table, as text: one line of headings, then one line per estimate.
    notes : tuple of str, default=()
        Remarks below the table.
    plots : tuple of ReleasedPlot, default=()
        Released plots.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import ScoreSection
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> lines = (("score", "estimate"), ("accuracy", "0.84"))
    >>> ScoreSection("Score of a classifier", promise, 0.95, lines).promise.headline
    'ε = 1, add-remove neighbours'

    The section shows its own guarantee, because a score costs a budget of its own.
    """

    title: str
    guarantee: Guarantee
    level: float
    lines: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    plots: tuple[ReleasedPlot, ...] = ()

    @property
    def promise(self) -> Promise:
        """The guarantee, with a headline and an explanation."""
        return Promise.of(self.guarantee)

    def pictures(self, start: int = 0) -> list[tuple[str, str]]:
        """Draw all plots.

        Parameters
        ----------
        start : int, default=0
            Number of the first plot; numbers distinguish the plots on a page.

        Returns
        -------
        list of (str, str)
            A title and an SVG drawing for every plot.
        """
        return [
            (plot.title, plot_svg(plot, number))
            for number, plot in enumerate(self.plots, start=start)
        ]

    def _repr_html_(self) -> str:
        content = {"title": self.title, "facts": self.guarantee.facts, "score": self}
        return render("notebook.html.jinja", content)


def score_page(score: ScoreSection, *, dataset: str = "", version: str = "") -> str:
    """Return an HTML page about a released score.

    Parameters
    ----------
    score : ScoreSection
        The score.
    dataset : str, default=""
        Public name of the table.
    version : str, default=""
        Version of confide that writes the report.

    Returns
    -------
    str
        HTML without scripts or links to other files, to be written as UTF-8.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import ScoreSection, score_page
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> lines = (("score", "estimate"), ("accuracy", "0.84"))
    >>> score = ScoreSection("Score of a classifier", promise, 0.95, lines)
    >>> "<script" in score_page(score, dataset="clinic")
    False

    The page is self-contained and can be opened anywhere.
    """
    return render(
        "score.html.jinja", {"score": score, "dataset": dataset, "version": version}
    )
