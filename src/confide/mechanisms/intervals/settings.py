"""Settings of confidence intervals: estimand, share of the budget, and method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from confide.errors import Described, InvalidParameter
from confide.mechanisms.intervals.budget import (
    IntervalTarget,
    Variant,
)
from confide.privacy.budgets import exact


@dataclass(frozen=True, slots=True)
class Intervals:
    """Settings of confidence intervals: estimand, share of the budget, and method.

    Parameters
    ----------
    share : float, str or Fraction, optional
        Share of the budget for the moments (curvature and scatter) from which errors are
        estimated. A larger share means more noise in the coefficients and a more precise
        estimate of their errors. By default chosen from public information.
    split : sequence of three numbers, optional
        Shares of the budget for coefficients, curvature and scatter, which add up to 1. An
        alternative to ``share``.
    level : float, default=0.95
        Confidence level, at least 0.5 and below 1.
    variant : {"tight", "model-based", "published"}, default="tight"
        "tight" uses the sandwich covariance. "model-based" assumes that the model is
        correct and does not need the scatter. "published" is the method of Wang, Kifer and
        Lee (2018).
    samples : int, default=10_000
        Number of simulated errors in the published variant.
    of : {"plain", "penalised"}, optional
        Estimand of the intervals: the coefficients of the model without or with its ridge.
        By default "plain", and "penalised" for the published variant.

    Raises
    ------
    InvalidParameter
        A setting is outside its range, or both share and split were given.

    Examples
    --------
    >>> from confide import Intervals, LinearRegression, Pure
    >>> settings = Intervals(share="1/5", level=0.9)
    >>> settings.level, settings.of
    (0.9, 'plain')

    A fit with these settings spends a fifth of its budget on 90 % intervals:

    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1, intervals=settings)
    """

    share: Any = None
    split: Any = None
    level: float = 0.95
    variant: Variant = "tight"
    samples: int = 10_000
    of: IntervalTarget | None = None

    def __post_init__(self) -> None:
        self._settle_target()
        if not (isinstance(self.level, float) and 0.5 <= self.level < 1):
            raise InvalidParameter(
                "level", "at least 0.5 and below 1, such as 0.95", self.level
            )
        if type(self.samples) is not int or not 100 <= self.samples <= 10**7:
            raise InvalidParameter("samples", "between 100 and ten million", self.samples)
        if self.share is not None and self.split is not None:
            must = "a share or a split, not both"
            raise InvalidParameter("intervals", must, Described("both"))
        if self.share is not None:
            part = exact(self.share, "intervals")
            if not 0 < part < 1:
                raise InvalidParameter(
                    "intervals",
                    "a share of the budget between 0 and 1",
                    self.share,
                    "Try intervals=0.2, or intervals=True for an automatic share.",
                )
            object.__setattr__(self, "share", part)
        if self.split is not None:
            object.__setattr__(self, "split", _three_parts(self.split))

    def _settle_target(self) -> None:
        """Check the variant and set the estimand: penalised for the published variant."""
        if self.variant not in get_args(Variant):
            raise InvalidParameter(
                "variant", f"one of {list(get_args(Variant))}", self.variant
            )
        if self.of not in (None, *get_args(IntervalTarget)):
            raise InvalidParameter(
                "of", f"one of {list(get_args(IntervalTarget))}", self.of
            )
        published = self.variant == "published"
        if published and self.of == "plain":
            raise InvalidParameter(
                "of", "'penalised' for variant='published'", self.of, "Leave it out."
            )
        usual: IntervalTarget = "penalised" if published else "plain"
        object.__setattr__(self, "of", self.of or usual)

    @classmethod
    def read(cls, value: Any) -> "Intervals | None":
        """Read the ``intervals`` argument of an estimator.

        Parameters
        ----------
        value : None, bool, float, "auto", sequence, mapping or Intervals
            Whether intervals are requested, or their share, split or settings.

        Returns
        -------
        Intervals or None
            The settings, or None if no intervals are requested.
        """
        if value is None or value is False:
            return None
        if isinstance(value, Intervals):
            return value
        if isinstance(value, Mapping):
            return cls(**value)
        if value is True or (isinstance(value, str) and value == "auto"):
            return cls()
        if isinstance(value, Sequence) and not isinstance(value, str):
            return cls(split=tuple(value))
        return cls(share=value)


def _three_parts(split: Any) -> tuple[Fraction, ...]:
    must = (
        "three positive shares that add up to 1: for the coefficients, their curvature, "
        "and the covariance of the gradients"
    )
    if not isinstance(split, Sequence) or len(split) != 3:
        raise InvalidParameter("intervals", must, split)
    parts = tuple(exact(part, "intervals") for part in split)
    if min(parts) <= 0 or sum(parts) != 1:
        raise InvalidParameter("intervals", must, split, "Try 0.5, 0.25, 0.25.")
    return parts
