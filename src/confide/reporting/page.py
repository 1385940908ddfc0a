"""The report: one HTML page that needs nothing but itself.

It holds no script and fetches nothing; a content policy in its head forbids both.
"""

from confide.privacy import Budget, Neighbours
from confide.reporting.card import Item, card_sections, caution_text
from confide.reporting.coefficient_svg import picture
from confide.reporting.coefficients import MOST_SHOWN
from confide.reporting.markup import render
from confide.reporting.released_plot import ReleasedPlot, plot_svg
from confide.reporting.score_section import ScoreSection
from confide.reporting.summary import Summary
from confide.reporting.text import Promise, not_in_intervals, spending


def report_page(
    summary: Summary,
    *,
    title: str = "",
    dataset: str = "",
    spent: Budget | None = None,
    limit: Budget | None = None,
    counted_for: Neighbours | None = None,
    card: bool = True,
    version: str = "",
    paid_plots: tuple[ReleasedPlot, ...] = (),
    scores: tuple[ScoreSection, ...] = (),
) -> str:
    """Return a self-contained HTML page about a released model.

    Parameters
    ----------
    summary : Summary
        The released model; the page holds nothing about the data beyond it.
    title : str
        The heading; by default the summary's own.
    dataset : str
        The public name of the table.
    spent, limit : Budget, optional
        What all releases from this dataset have spent together, and what they may; of
        one kind.
    counted_for : Neighbours, optional
        The relation for which these are; None if it is not recorded.
    card : bool
        Whether to fold the model card in at the end.
    version : str
        The version of confide that made the release.
    paid_plots : tuple of ReleasedPlot
        Plots that need the data, such as a ROC curve or residuals. Each must come from a
        private release of its own and is printed with that release's guarantee.
    scores : tuple of ScoreSection
        How good the model is on rows that it was not fitted on, released as well.

    Returns
    -------
    str
        HTML text, to be written as UTF-8.
    """
    level, budget = summary.level, spending(spent, limit, counted_for)
    limits = () if level is None else not_in_intervals(level, summary.of)
    return render(
        "report.html.jinja",
        {
            "summary": summary,
            "heading": title or summary.title,
            "dataset": dataset,
            "promise": Promise.of(summary.guarantee),
            "caution": caution_text(summary.caution),
            "picture": picture(summary.rows, summary.scale),
            "most_shown": MOST_SHOWN,
            "meaning": summary.table.explanations,
            "limits": [Item(text, lead) for lead, text in limits],
            "paid_plots": [
                (plot.title, plot_svg(plot, number), Promise.of(plot.guarantee))
                for number, plot in enumerate(paid_plots)
            ],
            "scores": scores,
            "budget": budget,
            "card": card_sections(summary, dataset, budget, version) if card else (),
            "version": version,
        },
    )
