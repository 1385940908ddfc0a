"""The report: one self-contained HTML page.

The page has no scripts and loads no other files; a content security policy in its head
forbids both.
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
    """Return an HTML page about a released model.

    Parameters
    ----------
    summary : Summary
        Summary of the released model. Apart from ``paid_plots`` and ``scores``, the page
        contains no other facts about the data.
    title : str, default=""
        Heading; by default the title of the summary.
    dataset : str, default=""
        Public name of the table.
    spent : Budget, optional
        Total budget spent by all releases from this dataset.
    limit : Budget, optional
        Limit on the total budget, of the same kind as ``spent``.
    counted_for : Neighbours, optional
        Neighbour relation of ``spent`` and ``limit``; None if it is not recorded.
    card : bool, default=True
        Whether to add the model card in a folded section at the end.
    version : str, default=""
        Version of confide that writes the report.
    paid_plots : tuple of ReleasedPlot, default=()
        Plots to add. Each must come from a private release of its own, and its guarantee
        is printed with it.
    scores : tuple of ScoreSection, default=()
        Released scores of the model.

    Returns
    -------
    str
        HTML without scripts or links to other files, to be written as UTF-8.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import Coefficient, Summary, report_page
    >>> theorem = "objective-perturbation.md#objective-pure-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> summary = Summary("Linear regression", promise, (Coefficient("age", 0.5),), ())
    >>> page = report_page(summary, title="Blood pressure by age")
    >>> "Blood pressure by age" in page, "<script" in page
    (True, False)

    The page is self-contained: it can be sent by mail and opened anywhere.
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
