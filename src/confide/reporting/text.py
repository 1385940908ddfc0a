"""Explanations of guarantees, intervals and spent budgets in plain words."""

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.errors import MixedBudgets
from confide.privacy import (
    Approx,
    Budget,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
    check_budget,
    zcdp_to_approx,
)
from confide.privacy.guarantee import (
    ARITHMETIC,
    EARLIER_IDEAL_NOISE,
    IDEAL_NOISE,
    ONE_ROW,
    PUBLIC_LABELS,
    ROW_BY_ROW,
    ROW_LIMIT,
)
from confide.reporting.format import (
    chance_text,
    even_odds_text,
    factor_text,
    percent_of,
    round_up,
)

USUAL_DELTA = "1e-6"
WEAK_EPSILON = 7.0
LARGE_DELTA = 1e-3
VAST_RHO = 1e6

NOT_PRIVATE = (
    "NOT PRIVATE. The noise was drawn from a seed, and anyone who knows the seed can "
    "remove it. This release is for tests and studies only. If the noise had been fresh "
    "and secret, the following would hold."
)
NO_GUARANTEE = (
    "This release has NO privacy guarantee. Treat its numbers as if they had been computed "
    "from the records without any protection."
)
PEOPLE_IN_GENERAL = (
    "This does not mean that nothing can be learned about a person. What the other rows "
    "show about people in general, or about similar people, may apply to a person whose "
    "row was never used."
)
RELATION = {
    Neighbours.ADD_REMOVE: (
        "The presence of any one row is protected, and with it the values in the row. "
        "The number of rows in the table is protected in the same way."
    ),
    Neighbours.REPLACE_ONE: (
        "The values in any one row are protected. The number of rows in the table "
        "is treated as public and is not protected."
    ),
}
GUESS = {
    Neighbours.ADD_REMOVE: "whether a given person's row is in the table or not",
    Neighbours.REPLACE_ONE: "which of two sets of values a given person's row holds",
}
TRUST = {
    Status.PROVED: "PROVED: there is a complete proof, checked by machine in small cases",
    Status.CLAIMED: "CLAIMED: neither completely proved nor disproved",
    Status.REFUTED: "REFUTED: the published claim of this mechanism has been proved false",
}
GLOSSES = {
    ARITHMETIC: "as on ordinary computers; all published digits are covered",
    ROW_LIMIT: "rounding errors of sums over more rows could exceed what the noise covers",
    **dict.fromkeys(
        (IDEAL_NOISE, EARLIER_IDEAL_NOISE),
        "the proof does not cover how a computer rounds the last digits",
    ),
    ROW_BY_ROW: "means or deviations over all rows, as in StandardScaler, violate it",
    ONE_ROW: "the more rows a person has, the less that person is protected",
    PUBLIC_LABELS: "the list of possible outcomes is not protected",
}


@dataclass(frozen=True, slots=True)
class GuaranteeText:
    """Explanation of a guarantee in parts, independent of the output format."""

    warning: str
    relation: str
    promise: tuple[str, ...]
    trust: str
    assumptions: tuple[str, ...]

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """All paragraphs between the warning and the list of assumptions."""
        return tuple(filter(None, (self.relation, *self.promise, self.trust)))


def plain_words(guarantee: Guarantee) -> str:
    """Explain a guarantee to a reader who is not a specialist.

    Parameters
    ----------
    guarantee : Guarantee
        Guarantee of a release.

    Returns
    -------
    str
        Paragraphs with an empty line between them; the assumptions are a list.

    Examples
    --------
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> from confide.reporting import plain_words
    >>> theorem = "objective-perturbation.md#objective-pure-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> "by a factor of at most 2.72" in plain_words(promise)
    True

    No single row changes the probability of any result by more than a factor of e to the
    power of ε = 1.
    """
    words = describe(guarantee)
    paragraphs = [words.warning, *words.paragraphs]
    if words.assumptions:
        paragraphs.append(
            "\n".join(["It assumes:", *(f"- {a}" for a in words.assumptions)])
        )
    return "\n\n".join(part for part in paragraphs if part)


def describe(guarantee: Guarantee) -> GuaranteeText:
    """Return the explanation of a guarantee in parts."""
    assumptions = tuple(_glossed(a) for a in guarantee.assumptions)
    trust = f"{TRUST[guarantee.status]} ({theorem_text(guarantee)})."
    budget = effective_budget(guarantee)
    if budget is None:
        return GuaranteeText(NO_GUARANTEE, "", (), trust, assumptions)
    promise = [*_promise(budget, guarantee.neighbours), PEOPLE_IN_GENERAL]
    if guarantee.status is Status.CLAIMED:
        promise.insert(0, _unproved(guarantee.reason))
    return GuaranteeText(
        "" if guarantee.private else NOT_PRIVATE,
        RELATION[guarantee.neighbours],
        tuple(promise),
        trust,
        assumptions,
    )


def _unproved(reason: str) -> str:
    """Return the sentences that introduce a guarantee without a complete proof."""
    start = "There is no complete proof of this guarantee."
    return " ".join(filter(None, (start, reason, "If it is true:")))


def effective_budget(guarantee: Guarantee) -> Budget | None:
    """Return the budget of a guarantee, or None if its claim is refuted."""
    return None if guarantee.status is Status.REFUTED else guarantee.budget


def theorem_text(guarantee: Guarantee) -> str:
    """Return the theorem of a guarantee and the page with its proof."""
    page, hash_sign, name = guarantee.theorem.partition(".md#")
    return f"theorem {name} in docs/proofs/{page}.md" if hash_sign else guarantee.theorem


def _promise(budget: Budget, neighbours: Neighbours) -> list[str]:
    if isinstance(budget, Pure):
        return _bound(float(budget.epsilon), 0.0, str(budget), neighbours)
    if isinstance(budget, Approx):
        epsilon, delta = float(budget.epsilon), float(budget.delta)
        return _bound(epsilon, delta, f"ε = {epsilon:.6g}", neighbours)
    return _concentrated(budget, neighbours)


def _concentrated(budget: Zcdp, neighbours: Neighbours) -> list[str]:
    intro = f"The guarantee is zero-concentrated differential privacy with {budget}."
    if budget.rho > VAST_RHO:
        return [f"{intro} This budget is so large that it protects nobody."]
    implied = round_up(float(zcdp_to_approx(budget, USUAL_DELTA).epsilon))
    how = f"{intro} At δ = {float(USUAL_DELTA):g} it implies ε = {implied}, which means:"
    bound = _bound(float(implied), float(USUAL_DELTA), f"ε = {implied}", neighbours)
    return [how, *bound]


def _bound(epsilon: float, delta: float, shown: str, neighbours: Neighbours) -> list[str]:
    """Return paragraphs on what an (epsilon, delta) guarantee bounds, and when it may fail.

    ``shown`` is the text for epsilon. That the bound fails with probability at most delta
    is exact in the following sense: any two output distributions that are
    (epsilon, delta)-close can be generated from a pair that is epsilon-close, except with
    probability delta, in which case everything is revealed (Kairouz, Oh and Viswanath,
    2015).
    """
    chance = (
        "Any one row changes how likely any result of this release is by a factor of at "
        f"most {factor_text(epsilon)} (e^ε with {shown}, rounded up)."
    )
    odds = (
        "So even for someone who knows all other rows and anything else besides, the "
        f"release changes the odds on {GUESS[neighbours]} by no more than that factor: "
        f"from 50% likely to at most {even_odds_text(epsilon)} likely."
    )
    parts = [f"{chance} {odds}"]
    if epsilon >= WEAK_EPSILON:
        parts.append(
            "A factor this large is a weak guarantee: on its own, it protects little."
        )
    if delta:
        parts.append(_failure(delta))
    if neighbours is Neighbours.ADD_REMOVE:
        parts.append(_two_versions(epsilon, delta))
    return parts


def _failure(delta: float) -> str:
    warning = " That is a large probability." if delta > LARGE_DELTA else ""
    return (
        f"This bound may fail with probability at most δ = {delta:.6g} "
        f"({chance_text(delta)}) for each person; if it fails, nothing is promised about "
        f"what is learned about them.{warning}"
    )


def _two_versions(epsilon: float, delta: float) -> str:
    """Return a sentence that bounds the change of the odds between two contents of a row.

    Under add-remove neighbours, one content becomes the other by a removal and an addition.
    """
    start = "The odds between two possible contents of a row"
    grown = (
        math.inf if delta and epsilon > 700 else delta * (1 + math.exp(min(epsilon, 700)))
    )
    if grown >= 0.1:
        return f"{start} are not usefully bounded."
    failing = f", except with probability at most {round_up(grown)}" if delta else ""
    return f"{start} change by a factor of at most {factor_text(2 * epsilon)}{failing}."


def _glossed(assumption: str) -> str:
    gloss = GLOSSES.get(assumption)
    return f"{assumption}: {gloss}" if gloss else assumption


ABOUT = {
    "plain": "that this model would have on the whole population without its ridge penalty",
    "penalised": "that the same penalised model would have on the whole population",
}
"""Descriptions of the coefficients that the intervals are for, as parts of a sentence."""


def about_intervals(level: float, of: str = "penalised") -> tuple[str, ...]:
    """Explain how to read intervals: what they contain, and what widens them.

    Parameters
    ----------
    level : float
        Confidence level.
    of : {"plain", "penalised"}, default="penalised"
        Whether the intervals are for the plain coefficients, without the ridge penalty, or
        for the penalised ones.

    Returns
    -------
    tuple of str
        One paragraph per topic.

    Examples
    --------
    >>> from confide.reporting import about_intervals
    >>> about_intervals(0.95, "plain")[0][:57]
    'In about 95 of 100 such studies an interval contains the '

    Reports print this below a table of intervals.
    """
    holds = (
        f"In about {100 * level:g} of 100 such studies an interval contains the "
        f"coefficient {ABOUT[of]}; sampling error and privacy noise are both allowed for."
    )
    widened = (
        '"Widened by" names the larger source of the width: "privacy" noise shrinks with a '
        'larger budget and with more rows, "sampling" error with more rows only.'
    )
    if of == "penalised":
        return holds, widened
    pull = (
        '"Ridge pull" is how far the ridge penalty moved a coefficient; the estimate is '
        "already corrected for it. Predictions use the penalised coefficients."
    )
    return holds, widened, pull


def about_unidentified() -> str:
    """Explain what it means that a coefficient is not identified."""
    return (
        '"Not identified" means that the coefficient cannot be estimated at this budget: '
        "noise hides the information in the rows, or the ridge is too strong to correct "
        "for. The estimate shown is the penalised one. More rows, a larger budget or fewer "
        "columns help, as does a smaller ridge if l2 was set by hand; intervals of the "
        "penalised coefficients always exist."
    )


def not_in_intervals(level: float, of: str = "penalised") -> tuple[tuple[str, str], ...]:
    """Return the limitations of intervals, as pairs of a short heading and a text."""
    penalty = (
        "It shrinks all coefficients towards zero, and intervals are for the shrunken "
        "ones. Without a penalty the coefficients may differ."
    )
    model = (
        "Intervals are for the model that was fitted, in which numbers are clamped to "
        "their ranges, rows whose encoded values have a large norm get less weight and, "
        "with some losses, large residuals are clipped. A model of the raw columns may "
        "have other coefficients."
    )
    together = (
        "Each interval holds separately: of 100 columns without any effect, about "
        f"{100 * (1 - level):.2g} would appear to have one."
    )
    rows = (
        "They assume rows drawn independently from one population, and enough of them for "
        "errors to be nearly normal; with few rows, intervals hold less often."
    )
    causes = (
        "An interval says neither what would happen if a column were changed nor how "
        "accurate a prediction for one person is."
    )
    return (
        ("The penalty.", penalty) if of == "penalised" else ("Another model.", model),
        ("All intervals at once.", together),
        ("Few rows, or dependent ones.", rows),
        ("Causes and persons.", causes),
    )


SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


@dataclass(frozen=True, slots=True)
class Share:
    """Parameter of the budget (epsilon, delta or rho): the amount spent, and the limit."""

    symbol: str
    spent: Fraction
    limit: Fraction

    @property
    def over(self) -> bool:
        """Whether more was spent than the limit allows."""
        return self.spent > self.limit

    @property
    def percent(self) -> float:
        """Percentage of the limit that was spent, at most 100."""
        return float(min(100 * self.spent / self.limit, Fraction(100)))

    def __str__(self) -> str:
        spent, limit = (f"{float(value):.6g}" for value in (self.spent, self.limit))
        share = percent_of(self.spent, self.limit)
        verdict = ", over the limit" if self.over else ""
        return f"{self.symbol}: {spent} of {limit} spent ({share}{verdict})"


@dataclass(frozen=True, slots=True)
class Spending:
    """Spent budget and limit: a sentence, and the amounts for every parameter."""

    sentence: str
    shares: tuple[Share, ...]


def spending(
    spent: Budget | None, limit: Budget | None, counted_for: Neighbours | None
) -> Spending | None:
    """Describe the spent budget and the limit; return None if neither is given."""
    for given in (spent, limit):
        if given is not None:
            check_budget(given)
    if spent is None:
        return None if limit is None else Spending(f"The limit is {limit}.", ())
    under = _under(counted_for)
    total = f"All releases from this dataset so far have together spent {spent}, {under}."
    if limit is None:
        return Spending(f"{total} No limit was stated.", ())
    if type(spent) is not type(limit):
        raise MixedBudgets(
            f"spent is {spent!r} and limit is {limit!r}: convert one of them explicitly "
            "first (confide.privacy)."
        )
    shares = tuple(
        Share(SYMBOLS[name], getattr(spent, name), getattr(limit, name))
        for name in spent.fields
    )
    return Spending(f"{total} The limit is {limit}.", shares)


def _under(counted_for: Neighbours | None) -> str:
    if counted_for is None:
        return "for a neighbour relation that the ledger does not record"
    return f"counted for {counted_for} neighbours"


@dataclass(frozen=True, slots=True)
class Promise:
    """Guarantee with a headline and an explanation."""

    guarantee: Guarantee
    headline: str
    text: GuaranteeText

    @classmethod
    def of(cls, guarantee: Guarantee) -> "Promise":
        """Make the headline and the explanation of a guarantee."""
        return cls(guarantee, _headline(guarantee), describe(guarantee))


def _headline(guarantee: Guarantee) -> str:
    budget = effective_budget(guarantee)
    if budget is None:
        return "No guarantee"
    start = "" if guarantee.private else "With fresh noise it would be "
    return f"{start}{budget}, {guarantee.neighbours} neighbours"
