"""Results of Wald tests of several coefficients."""

from dataclasses import dataclass
from typing import Any

from confide.reporting.coefficients import NOT_IDENTIFIED, p_text

REASON = (
    "the noise is too large at this budget, or other columns carry the same information"
)


@dataclass(frozen=True, slots=True)
class WaldTest:
    """Result of a Wald test of the hypothesis that several coefficients or contrasts are 0.

    Parameters
    ----------
    names : tuple of str
        Columns or contrasts that were tested.
    statistic : float or None
        Wald statistic, approximately chi-square distributed under the hypothesis; None if
        nothing is identified.
    degrees : int
        Degrees of freedom.
    p_value : float or None
        Probability, under the hypothesis, of a statistic at least this large.
    rank : int
        Degrees of freedom that the test would have if everything were identified.
    of : {"plain", "penalised"}, default="plain"
        Whether plain coefficients, without the ridge penalty, or penalised ones are tested.

    Examples
    --------
    >>> from confide.reporting import WaldTest
    >>> print(WaldTest(("region",), statistic=9.2, degrees=2, p_value=0.01, rank=2))
    region: chi-square 9.2 on 2 df, p = 0.010

    The regions differ by more than sampling error and privacy noise explain.
    """

    names: tuple[str, ...]
    statistic: float | None
    degrees: int
    p_value: float | None
    rank: int
    of: str = "plain"

    @property
    def name(self) -> str:
        """Names of the tested columns or contrasts, separated by commas."""
        return ", ".join(self.names)

    @property
    def identified(self) -> bool:
        """Whether there is a test statistic."""
        return self.statistic is not None

    @property
    def p_text(self) -> str:
        """The p-value as text, or "not identified"."""
        return NOT_IDENTIFIED if self.p_value is None else p_text(self.p_value)

    @property
    def remark(self) -> str:
        """Remark on directions left out as not identified; empty if there are none."""
        left = self.rank - self.degrees
        if not left:
            return ""
        if not self.degrees:
            return REASON
        return (
            f"{left} of {self.rank} directions are not identified and were left out of the "
            "test"
        )

    def record(self) -> dict[str, Any]:
        """Return the test as plain values for JSON.

        Returns
        -------
        dict
            Plain values by name.
        """
        return {
            "names": list(self.names),
            "statistic": self.statistic,
            "degrees": self.degrees,
            "p_value": self.p_value,
            "rank": self.rank,
            "identified": self.identified,
            "of": self.of,
        }

    def __str__(self) -> str:
        if self.statistic is None:
            return f"{self.name}: {NOT_IDENTIFIED}, {REASON}"
        found = f"{self.name}: chi-square {self.statistic:.4g} on {self.degrees} df"
        sign = "" if self.p_text.startswith("<") else "= "
        text = f"{found}, p {sign}{self.p_text}"
        return f"{text} ({self.remark})" if self.remark else text
