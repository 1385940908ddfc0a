"""What an interval means and what it does not, in plain words."""


def about_intervals(level: float) -> tuple[str, str]:
    """Say how to read intervals in two sentences: what they hold, what widens them."""
    holds = (
        f"In about {100 * level:g} of 100 such studies an interval holds the coefficient "
        "that the same penalised model would have on the whole population; sampling and "
        "privacy noise are both in it."
    )
    widened = (
        '"Widened by" names the larger part of its width: "privacy" shrinks with a larger '
        'budget and with more rows, "sampling" with more rows only.'
    )
    return holds, widened


def not_in_intervals(level: float) -> tuple[tuple[str, str], ...]:
    """Say what intervals do not promise: a lead and a sentence each."""
    penalty = (
        "It draws all coefficients towards zero, and intervals are about the penalised "
        "ones. Without a penalty they may lie elsewhere."
    )
    together = (
        "Each interval stands by itself: of 100 columns that tell nothing, about "
        f"{100 * (1 - level):.2g} would seem to tell something."
    )
    rows = (
        "They suppose rows drawn independently from one population and so many of them "
        "that errors are nearly normal; where they are few, intervals hold less often."
    )
    causes = (
        "An interval says neither what would happen if a column were changed nor how far "
        "a prediction for one person may be off."
    )
    return (
        ("The penalty.", penalty),
        ("All at once.", together),
        ("Few rows, or dependent ones.", rows),
        ("Causes and persons.", causes),
    )
