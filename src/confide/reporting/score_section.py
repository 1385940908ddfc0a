"""A private score as a section of a page: a table of estimates, and its plots."""

from dataclasses import dataclass

from confide.privacy import Guarantee
from confide.reporting.markup import render
from confide.reporting.released_plot import ReleasedPlot, plot_svg
from confide.reporting.text import Promise


@dataclass(frozen=True, slots=True)
class ScoreSection:
    """What a page shows of a score; ``lines`` are headings first, then estimates."""

    title: str
    guarantee: Guarantee
    level: float
    lines: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    plots: tuple[ReleasedPlot, ...] = ()

    @property
    def promise(self) -> Promise:
        """The guarantee, in a line and in words."""
        return Promise.of(self.guarantee)

    def pictures(self, start: int = 0) -> list[tuple[str, str]]:
        """Return a title and a drawing for every plot, numbered from ``start``."""
        return [
            (plot.title, plot_svg(plot, number))
            for number, plot in enumerate(self.plots, start=start)
        ]


def score_page(score: ScoreSection, *, dataset: str = "", version: str = "") -> str:
    """Return a self-contained HTML page about a released score."""
    return render(
        "score.html.jinja", {"score": score, "dataset": dataset, "version": version}
    )
