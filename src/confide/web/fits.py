"""The settings of a fit (its budget and its options), which are entered in a form."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import confide
from confide.errors import InvalidParameter
from confide.estimators.catalogue import ESTIMATORS, model_names
from confide.privacy import Budget
from confide.web.forms import read_epsilon, read_rows, read_share

USUAL = {
    "rows": "",
    "epsilon": "1",
    "delta": "1e-6",
    "model": "",
    "intervals": "yes",
    "level": "0.95",
    "holdout": "0.2",
}
"""Initial entries of the form."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings of a fit, as text for the command line."""

    rows: int
    epsilon: str
    delta: str
    model: str
    intervals: bool
    level: str
    holdout: str

    @classmethod
    def of_form(cls, fields: Mapping[str, str], schema: confide.Schema) -> "FitSettings":
        """Read the settings from the plan form, and check them."""
        budget = read_epsilon(fields)
        rows = read_rows(fields)
        known = model_names(labelled=schema.target.labels is not None)
        model = fields.get("model") or known[0]
        if model not in known:
            raise InvalidParameter("model", f"one of {list(known)}", model)
        with_intervals = fields.get("intervals") == "yes"
        level = f"{read_share(fields, 'level', 'level of the intervals'):g}"
        share = fields.get("holdout", "")
        holdout = f"{read_share(fields, 'holdout', 'held-out share'):g}" if share else ""
        delta = fields.get("delta", "")
        found = cls(rows, fields["epsilon"], delta, model, with_intervals, level, holdout)
        assert found.budget == budget  # noqa: S101
        return found

    @property
    def budget(self) -> Budget:
        """The budget of the fit."""
        return read_epsilon({"epsilon": self.epsilon, "delta": self.delta})

    @property
    def fitted_rows(self) -> int:
        """Approximate number of rows that are fitted; the other rows are held out."""
        return max(1, round(self.rows * (1 - float(self.holdout or 0))))

    def rows_with(self, fitted: int) -> int:
        """Return the number of rows of which ``fitted`` remain after the holdout."""
        return math.ceil(fitted / (1 - float(self.holdout or 0)))

    def options(self) -> list[str]:
        """Return the settings as command-line options."""
        words = ["--epsilon", self.epsilon]
        words += ["--delta", self.delta] if self.delta else []
        words += ["--model", self.model]
        words += ["--intervals", "auto", "--level", self.level] if self.intervals else []
        return words + (["--holdout", self.holdout] if self.holdout else [])

    def estimator(
        self, schema: confide.Schema, neighbours: str | None, budget: Budget | None = None
    ) -> Any:
        """Return the estimator that ``confide fit`` would fit, but without a ledger."""
        kind = next(e.kind for e in ESTIMATORS.values() if e.model == self.model)
        bars = confide.Intervals(level=float(self.level)) if self.intervals else None
        return kind(
            self.budget if budget is None else budget,
            schema=schema,
            neighbours=neighbours,
            intervals=bars,
        )
