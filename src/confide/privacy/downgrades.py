"""Theorems that hold for real numbers and that the code, in doubles, falls short of.

Their mechanisms add noise to a statistic and release what follows from the sum by public
arithmetic. The noise of the theorem reaches every real number from every table; doubles
added to doubles do not. docs/proofs/finite-precision.md says what was tried against whom.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType


def _noise_on(statistic: str) -> str:
    return (
        f"Noise in double precision is added to {statistic}, with nothing random after it. "
        "Some results can then be reached from only one of two neighbouring tables, and "
        "whoever knows all other rows may tell from the last digits which table it was."
    )


_MINIMISER = _noise_on("the minimiser")
_SUMS = _noise_on("sums over the rows")
_GRADIENTS = _noise_on("gradients of the rows")
_MOMENTS = _noise_on("curvature and scatter, from which intervals are computed")

DOWNGRADED: Mapping[str, str] = MappingProxyType(
    {
        "output-perturbation.md#output-pure": _MINIMISER,
        "output-perturbation.md#output-gaussian": _MINIMISER,
        "output-perturbation.md#output-joint": _MINIMISER,
        "output-perturbation.md#output-rls": _MINIMISER,
        "sufficient-statistics.md#sums-pure": _SUMS,
        "sufficient-statistics.md#sums-gaussian": _SUMS,
        "sufficient-statistics.md#adassp": _SUMS,
        "sufficient-statistics.md#functional": _SUMS,
        "sufficient-statistics.md#histogram": _noise_on("counts of rows"),
        "gradient-mechanisms.md#noisy-gradient": _GRADIENTS,
        "gradient-mechanisms.md#sampled-gradient": _GRADIENTS,
        "gradient-mechanisms.md#mpadmm-sensitivity": _GRADIENTS,
        "gradient-mechanisms.md#dp-admm": _GRADIENTS,
        "sparse-selection.md#hard-thresholding": _GRADIENTS,
        "private-intervals.md#moments-pure": _MOMENTS,
        "private-intervals.md#moments-gaussian": _MOMENTS,
        "private-intervals.md#interval-release": _MOMENTS,
        "private-tuning.md#random-stopping": _noise_on("the winner's score"),
    }
)
"""Why a guarantee by this theorem is CLAIMED and not PROVED."""

COMPOSED = frozenset({"sparse-selection.md#select-then-fit", "private-tuning.md#chunks"})
"""Theorems that are worth as much as those of the parts that they put together."""

UNKNOWN_PARTS = _noise_on("a statistic in one of the parts")


def shortfall(theorems: Iterable[str]) -> str:
    """Return why one of these theorems is only claimed; nothing where all are proved."""
    return next((DOWNGRADED[name] for name in theorems if name in DOWNGRADED), "")
