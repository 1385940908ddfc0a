"""What a user reads before paying for a guarantee that is not proved."""

import warnings

from confide.errors import ClaimedGuarantee
from confide.privacy.guarantee import Guarantee, Status

INSTEAD = (
    "Objective perturbation (mechanism='objective') without intervals is PROVED, where it "
    "applies, for noise of real numbers, and no such attack on it is known."
)


def warn_if_claimed(guarantee: Guarantee, callers: int) -> None:
    """Warn of a CLAIMED guarantee at the line so many callers above this one."""
    if guarantee.status is Status.CLAIMED:
        text = f"The guarantee will be CLAIMED, not PROVED. {guarantee.reason} {INSTEAD}"
        warnings.warn(text, ClaimedGuarantee, stacklevel=callers + 1)
