"""The model card: a public description of a release, its guarantee and its limits."""

from collections.abc import Iterable
from dataclasses import dataclass

from confide.privacy import Budget, Guarantee, Neighbours, Status
from confide.privacy.guarantee import EARLIER_IDEAL_NOISE, IDEAL_NOISE
from confide.reporting.format import markdown
from confide.reporting.summary import Summary
from confide.reporting.text import (
    Spending,
    describe,
    effective_budget,
    not_in_intervals,
    spending,
    theorem_text,
)


@dataclass(frozen=True, slots=True)
class Item:
    """Item of a list; ``lead`` is an optional first phrase in bold."""

    text: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Section of the card: a heading, an optional warning, paragraphs and a list."""

    heading: str
    warning: str = ""
    paragraphs: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()


AGAINST = (
    Item(
        "Against anyone who sees the released numbers, whatever they already know, "
        "whatever other data they hold and however much they compute, now or later."
    ),
    Item("Not against those who hold the table or the machine on which it was processed."),
)
IF_TRUE = Item(
    "All of this holds only if the guarantee does, which is CLAIMED and not PROVED."
)
AGAINST_NOBODY = (Item("Against nobody: see the warning above."),)
NOT_PROTECTED = (
    Item(
        "Patterns that hold for many people, such as how an outcome varies with age, are "
        "what the model is for. They apply to a person whether or not their row was "
        "used.",
        "Groups and populations.",
    ),
    Item(
        "A person, household or other group with more rows than the assumptions above "
        "allow: protection weakens with every further row.",
        "Several rows of one person.",
    ),
    Item(
        "Test scores, tables, plots and other releases from the same data. Each needs a "
        "guarantee and a budget of its own, and budgets add up.",
        "Anything computed elsewhere.",
    ),
    Item(
        "Columns, ranges, categories, settings or budgets chosen after looking at the "
        "rows.",
        "Choices made by looking at the data.",
    ),
    Item(
        "Column names, declared limits, categories, labels and bounds are taken to be "
        "public.",
        "The schema itself.",
    ),
    Item(
        "Running time, memory use, error messages, access to the machine.", "Side channels."
    ),
)
LAST_DIGITS = Item(
    "The proof is about real numbers; the last digits of double-precision noise are not "
    "covered.",
    "Floating point.",
)
INTENDED = (
    Item(
        "Describing how the outcome depends on the columns in the population, and "
        "predicting the outcome of similar rows."
    ),
    Item(
        "The noise added for privacy is part of every estimate. An estimate without an "
        "interval does not say how uncertain it is."
    ),
    Item(
        "Not for learning about one particular person, nor as the sole basis of a "
        "decision about one."
    ),
)
BOUGHT = (" were released ", " were bought ")
"""Phrases by which the assumptions about separately charged releases are recognised.

Models saved by earlier versions contain the second one.
"""
NOT_INTENDED = (Item("Tests and studies only. Not for publication as a private release."),)


def model_card(
    summary: Summary,
    *,
    dataset: str = "",
    spent: Budget | None = None,
    limit: Budget | None = None,
    counted_for: Neighbours | None = None,
    version: str = "",
) -> str:
    """Return a model card in Markdown, to be published with the coefficients.

    Parameters
    ----------
    summary : Summary
        The released model.
    dataset : str, default=""
        Public name of the table.
    spent : Budget, optional
        Total budget spent by all releases from this dataset.
    limit : Budget, optional
        Limit on the total budget, of the same kind as ``spent``.
    counted_for : Neighbours, optional
        Neighbour relation of ``spent`` and ``limit``; None if it is not recorded.
    version : str, default=""
        Version of confide that writes the report.

    Returns
    -------
    str
        Markdown, in which text from the user is escaped.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import Coefficient, Summary, model_card
    >>> theorem = "objective-perturbation.md#objective-pure-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> summary = Summary("Linear regression", promise, (Coefficient("age", 0.5),), ())
    >>> [line for line in model_card(summary).splitlines() if line.startswith("#")][:3]
    ['# Model card: Linear regression', '## Model', '## Guarantee']

    Further sections state against whom the guarantee protects, and what it does not cover.
    """
    budget = spending(spent, limit, counted_for)
    sections = card_sections(summary, dataset, budget, version)
    title = f"# Model card: {markdown(summary.title)}"
    return "\n\n".join([title, *map(_markdown, sections)]) + "\n"


def card_sections(
    summary: Summary, dataset: str, budget: Spending | None, version: str
) -> tuple[Section, ...]:
    """Return the sections of the card, independent of the output format."""
    guarantee = summary.guarantee
    words = describe(guarantee)
    holds = guarantee.private and effective_budget(guarantee) is not None
    proved = guarantee.status is Status.PROVED
    against = (*AGAINST, *(() if proved else (IF_TRUE,))) if holds else AGAINST_NOBODY
    assumed = ("It assumes:",) if words.assumptions else ()
    idealised = {IDEAL_NOISE, EARLIER_IDEAL_NOISE} & {*guarantee.assumptions}
    ideal = (LAST_DIGITS,) if idealised else ()
    sections = [
        Section("Model", items=tuple(map(Item, _model_lines(summary, dataset, version)))),
        Section(
            "Guarantee",
            words.warning,
            (*words.paragraphs, *assumed),
            tuple(map(Item, words.assumptions)),
        ),
        *_intervals(summary),
        Section("Against whom", items=against),
        Section("What is not protected", items=(*NOT_PROTECTED, *ideal)),
        Section("Intended use", items=INTENDED if holds else NOT_INTENDED),
        Section("How to cite the guarantee", paragraphs=(citation(guarantee, version),)),
    ]
    if budget is not None:
        shares = tuple(Item(str(share)) for share in budget.shares)
        sections.append(
            Section("Budget spent so far", paragraphs=(budget.sentence,), items=shares)
        )
    return tuple(sections)


def _intervals(summary: Summary) -> tuple[Section, ...]:
    """Return a section about the intervals, or nothing if there are no intervals."""
    if summary.level is None:
        return ()
    bounds = not_in_intervals(summary.level, summary.of)
    return (
        Section(
            "Intervals",
            caution_text(summary.caution),
            (*summary.table.explanations, "Intervals do not cover:"),
            tuple(Item(text, lead) for lead, text in bounds),
        ),
    )


def caution_text(caution: str) -> str:
    """Return a warning about the intervals as a sentence; empty if there is none."""
    return f"{caution[0].upper()}{caution[1:]}." if caution else ""


def citation(guarantee: Guarantee, version: str) -> str:
    """Return a sentence about the guarantee, to be quoted in a paper."""
    where = f"{theorem_text(guarantee)}, {_software(version)}"
    budget = effective_budget(guarantee)
    if budget is None:
        return f"“The coefficients carry no privacy guarantee ({where}).”"
    if not guarantee.private:
        return f"“The noise was seeded: the coefficients are not private ({where}).”"
    relation = f"record-level differential privacy, {guarantee.neighbours} neighbours"
    before = [
        line for line in guarantee.assumptions if any(words in line for words in BOUGHT)
    ]
    apart = f" In addition, {'; '.join(before)}." if before else ""
    return (
        f"“The coefficients were released with {budget} ({relation}; status "
        f"{guarantee.status}; {where}).{apart}”"
    )


def _software(version: str) -> str:
    return f"confide {version}".rstrip()


def _model_lines(summary: Summary, dataset: str, version: str) -> Iterable[str]:
    yield f"Kind: {summary.title}"
    if dataset:
        yield f"Dataset: {dataset}"
    yield from (f"{name}: {value}" for name, value in summary.about)
    yield f"Coefficients shown: {len(summary.rows)}"
    yield from (f"{name}: {value}" for name, value in summary.facts)
    yield f"Software: {_software(version)}"


def _markdown(section: Section) -> str:
    parts = [f"## {section.heading}"]
    if section.warning:
        parts.append(f"**{markdown(section.warning)}**")
    parts += map(markdown, section.paragraphs)
    if section.items:
        parts.append("\n".join(map(_bullet, section.items)))
    return "\n\n".join(parts)


def _bullet(item: Item) -> str:
    lead = f"**{markdown(item.lead)}** " if item.lead else ""
    return f"- {lead}{markdown(item.text)}"
