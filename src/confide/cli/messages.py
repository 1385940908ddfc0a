"""Errors of the library in the words of the command line: options, not parameters."""

import re

from confide.errors import InvalidParameter

OPTIONS = {
    **{name: f"--{name}" for name in ("epsilon", "delta", "rho", "l1", "l2", "seed")},
    **{name: f"--{name}" for name in ("model", "mechanism", "neighbours", "earlier")},
    **{name: f"--{name}" for name in ("rows", "columns", "width", "runs", "dimension")},
    **{name: f"--{name}" for name in ("intervals", "level", "attribute", "scale")},
    "slope_bound": "--slope-bound",
    "target_bound": "--target-bound",
    "random_state": "--seed",
    "workers": "--workers",
    "address": "--cluster",
    "place": "the ledger",
}
"""What the command line calls the parameters that it sets."""
_PHRASES = (
    (r"Leave it at 'auto', or try", "Leave it out, or try"),
    (r"\b(mechanism|model|neighbours|earlier)='([\w-]+)'", r"--\1 \2"),
    (r"\bwithout intervals is PROVED", "without --intervals is PROVED"),
    (r" or coef_norm\b|, coef_norm\b|, or set classes\b", ""),
    (r"set target_bound \([^)]*\), or declare", "declare"),
    (r"\b(slope|target)_bound\b", r"--\1-bound"),
    (r"\bRaise l2\b", "Raise --l2"),
    (r"\bread the table whole\b", "read the table whole (--no-stream)"),
    (r", or in Python [^)]*\)\)", ""),
)


def in_options(error: Exception) -> str:
    """Return the message of an error as it is said to somebody who typed a command."""
    text = str(error)
    if isinstance(error, InvalidParameter) and error.name in OPTIONS:
        text = OPTIONS[error.name] + text.removeprefix(error.name)
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return text
