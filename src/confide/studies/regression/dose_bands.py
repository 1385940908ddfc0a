"""What errors of a dose mean at the bedside, in bands around the right dose.

A dose within 20 % of the right one counts as right in the literature on warfarin. Studies
that go further, from dose to coagulation (INR) to strokes and haemorrhages, rest on a
pharmacological model whose parameters the paper on private regression cites from
elsewhere and does not print; bands need none of them.
"""

from dataclasses import dataclass

import numpy as np

from confide._types import Array
from confide.errors import InvalidParameter

BAND = 0.2


@dataclass(frozen=True, slots=True)
class DoseBands:
    """Shares of patients whose dose would be right, too low and too high."""

    within: float
    below: float
    above: float

    @property
    def outside(self) -> float:
        """The share of patients with a dose that is not near the right one."""
        return self.below + self.above


def dose_bands(predicted: Array, right: Array, band: float = BAND) -> DoseBands:
    """Sort predicted doses by how far they are from the right ones, relative to them."""
    said, true = np.asarray(predicted, np.float64), np.asarray(right, np.float64)
    if said.shape != true.shape or said.ndim != 1 or not said.size:
        raise InvalidParameter(
            "doses", "two columns of one length", (said.shape, true.shape)
        )
    if not (true > 0).all() or not np.isfinite(said).all():
        raise InvalidParameter("doses", "finite, and the right ones positive", "others")
    if not 0 < band < 1:
        raise InvalidParameter("band", "between 0 and 1", band)
    ratio = said / true
    below, above = ratio < 1 - band, ratio > 1 + band
    return DoseBands(
        float((~below & ~above).mean()), float(below.mean()), float(above.mean())
    )
