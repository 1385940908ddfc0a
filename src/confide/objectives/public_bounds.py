"""The public facts from which every constant of a theorem is derived."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublicBounds:
    """Bounds that hold for every record anybody could have.

    ``row_norm`` is X, the longest row with its intercept column; ``coef_norm`` is R, the
    radius of the constraint set (infinite without one); ``target_bound`` is B.
    """

    row_norm: float
    coef_norm: float = math.inf
    target_bound: float | None = None

    @property
    def margin_bound(self) -> float:
        """The largest |⟨x, θ⟩|."""
        return self.row_norm * self.coef_norm
