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
