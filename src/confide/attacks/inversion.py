"""Model inversion: guess a hidden attribute of a person from a model and the outcome.

This is the attack of Fredrikson et al. (2014). The attacker knows a fitted model, the
outcome of a person, and all attributes of this person but one. The guess for the hidden
attribute is the level with the largest posterior probability: its share in the population
times the likelihood of the outcome under the model. `evaluate_inversion` measures the
accuracy of the attack on a table in which the attribute is known. It adds no noise, so its
results are not private and are meant for the holder of the table only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from confide._types import AnyArray, Array
from confide.data import Schema, read_table
from confide.errors import InvalidData, InvalidParameter, did_you_mean

BANDS = 10
"""Number of quantile groups of a numerical outcome, for guesses without a model."""
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class ModelInversion:
    """An attacker who knows a model and the frequencies of the levels of an attribute.

    Parameters
    ----------
    model : fitted estimator with a schema
        The released model that is attacked.
    attribute : str
        The hidden column: a category or Boolean column of the model's schema.
    prior : sequence of float
        Share of every level in the population, in the order of `levels`.
    scale : float, optional
        For a regressor, the typical size of a residual; for a classifier that does not
        predict probabilities, its error rate. Other classifiers do not need a scale.

    Raises
    ------
    InvalidParameter
        If the model has no schema, or a parameter is not valid.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from confide import Boolean, LogisticRegression, Pure, Schema, Target
    >>> from confide.attacks import ModelInversion
    >>> rng = np.random.default_rng(0)
    >>> smoker = rng.uniform(size=2000) < 0.3
    >>> ill = np.where(rng.uniform(size=2000) < 0.2 + 0.5 * smoker, "yes", "no")
    >>> schema = Schema((Boolean("smoker"),), Target("ill", labels=("no", "yes")))
    >>> model = LogisticRegression(Pure(1), schema=schema, random_state=0)
    >>> model.fit(pd.DataFrame({"smoker": smoker, "ill": ill}))
    LogisticRegression(...)
    >>> ModelInversion(model, "smoker", prior=(0.7, 0.3)).levels
    (False, True)
    """

    model: Any
    attribute: str
    prior: Sequence[float]
    scale: float | None = None

    def __post_init__(self) -> None:
        shares = np.asarray(self.prior, dtype=np.float64)
        fits = shares.shape == (len(self.levels),) and np.isfinite(shares).all()
        if not fits or shares.min() < 0 or not shares.sum() > 0:
            must = (
                f"{len(self.levels)} shares, one for every level of {self.attribute!r}, "
                "not negative and not all 0"
            )
            raise InvalidParameter("prior", must, list(self.prior))
        object.__setattr__(self, "prior", tuple((shares / shares.sum()).tolist()))
        if not hasattr(self.model, "predict_proba"):
            most = 1.0 if is_classifier(self.model) else np.inf
            if self.scale is None or not 0 < self.scale < most:
                must = (
                    "the probability of an error, above 0 and below 1"
                    if most == 1
                    else "the typical residual, above 0"
                )
                raise InvalidParameter("scale", must, self.scale)

    @property
    def levels(self) -> tuple[Any, ...]:
        """The possible values of the attribute."""
        return levels_of(self.model, self.attribute)

    def posterior(self, known: Any, outcome: Any) -> Array:
        """Return the posterior probability of every level for every person.

        Parameters
        ----------
        known : DataFrame
            The other attributes of each person. A column with the hidden attribute is
            overwritten.
        outcome : array
            The outcome of every person.

        Returns
        -------
        ndarray of shape (n_persons, n_levels)
            Posterior probabilities.
        """
        actual = np.asarray(outcome)
        logs = np.column_stack(
            [
                np.log(max(share, TINY)) + self._log_likelihood(known, level, actual)
                for share, level in zip(self.prior, self.levels, strict=True)
            ]
        )
        logs -= logs.max(axis=1, keepdims=True)
        chances = np.exp(logs)
        return chances / chances.sum(axis=1, keepdims=True)

    def guess(self, known: Any, outcome: Any) -> AnyArray:
        """Return the most likely level for every person.

        Parameters
        ----------
        known : DataFrame
            The other attributes of each person.
        outcome : array
            The outcome of every person.

        Returns
        -------
        ndarray of int
            Indices into `levels`.
        """
        return self.posterior(known, outcome).argmax(axis=1)

    def _log_likelihood(self, known: Any, level: Any, actual: AnyArray) -> Array:
        frame = known.assign(**{self.attribute: level})
        if hasattr(self.model, "predict_proba"):
            same = actual[:, None] == self.model.classes_[None, :]
            chance = np.where(same, self.model.predict_proba(frame), 0.0).sum(axis=1)
            return np.log(np.maximum(chance, TINY))
        assert self.scale is not None  # noqa: S101
        said = self.model.predict(frame)
        if is_classifier(self.model):
            others = len(self.model.classes_) - 1
            return np.log(np.where(said == actual, 1 - self.scale, self.scale / others))
        residual = (actual.astype(np.float64) - said) / self.scale
        return np.asarray(-0.5 * residual**2)


@dataclass(frozen=True, slots=True)
class Inversion:
    """Accuracy of a model inversion attack, computed without noise and thus not private.

    Parameters
    ----------
    attribute : str
        The hidden column.
    rows : int
        Number of rows that were attacked.
    attack : float
        Accuracy of the attack.
    constant : float
        Accuracy of always guessing the most common level.
    without_model : float
        Accuracy of guessing the most likely level given the outcome alone.
    scale : float or None
        The typical residual or error rate that the attacker assumed.

    Examples
    --------
    >>> from confide.attacks import Inversion
    >>> found = Inversion("smoker", 1000, 0.78, 0.75, 0.76, None)
    >>> round(found.advantage, 2)
    0.02
    """

    attribute: str
    rows: int
    attack: float
    constant: float
    without_model: float
    scale: float | None

    @property
    def advantage(self) -> float:
        """Accuracy of the attack minus that of the better guess without a model."""
        return self.attack - max(self.constant, self.without_model)

    @property
    def standard_error(self) -> float:
        """Standard error of the accuracy of the attack."""
        return float(np.sqrt(max(self.attack * (1 - self.attack), 0.0) / self.rows))


def evaluate_inversion(
    model: Any,
    table: Any,
    attribute: str,
    *,
    prior: Sequence[float] | None = None,
    scale: float | None = None,
) -> Inversion:
    """Attack every row of a table and measure the accuracy; the result is not private.

    Parameters
    ----------
    model : fitted estimator with a schema
        The released model that is attacked.
    table : DataFrame
        A table with the outcome, the hidden column and all other columns.
    attribute : str
        The hidden column.
    prior : sequence of float, optional
        Share of every level; by default the shares in the table, because an attacker
        could not know more than these about the population.
    scale : float, optional
        Typical residual or error rate, as in `ModelInversion`; by default that of the model
        on the table.

    Returns
    -------
    Inversion
        The accuracy of the attack, and of guesses without the model.

    Raises
    ------
    InvalidData
        If no row has a known value in the hidden column.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from confide import Boolean, LogisticRegression, Pure, Schema, Target
    >>> from confide.attacks import evaluate_inversion
    >>> rng = np.random.default_rng(0)
    >>> smoker = rng.uniform(size=2000) < 0.3
    >>> ill = np.where(rng.uniform(size=2000) < 0.2 + 0.5 * smoker, "yes", "no")
    >>> table = pd.DataFrame({"smoker": smoker, "ill": ill})
    >>> schema = Schema((Boolean("smoker"),), Target("ill", labels=("no", "yes")))
    >>> model = LogisticRegression(Pure(1), schema=schema, random_state=0).fit(table)
    >>> evaluate_inversion(model, table, "smoker").rows
    2000
    """
    levels_of(model, attribute)
    frame = read_table(table, model.schema)
    truth = _codes(model.schema, attribute, frame)
    kept = (truth >= 0) & model.schema.target_column(frame).notna().to_numpy()
    if not kept.any():
        raise InvalidData(f"the table must have a row in which {attribute!r} is known.")
    frame, truth = frame[kept], truth[kept]
    outcome = np.asarray(model.schema.target_column(frame))
    counts = np.bincount(truth, minlength=len(levels_of(model, attribute)))
    if scale is None and not hasattr(model, "predict_proba"):
        scale = _typical_error(model, frame, outcome)
    attacker = ModelInversion(
        model, attribute, tuple(counts / counts.sum()) if prior is None else prior, scale
    )
    hits = attacker.guess(frame, outcome) == truth
    return Inversion(
        attribute,
        len(truth),
        float(hits.mean()),
        float(counts.max() / counts.sum()),
        _by_outcome_alone(truth, outcome, len(counts)),
        None if scale is None else float(scale),
    )


def levels_of(model: Any, attribute: str) -> tuple[Any, ...]:
    """Return the levels of an attribute in a model's schema; raise if there are none."""
    schema = getattr(model, "schema", None)
    if schema is None:
        raise InvalidParameter(
            "model", "fitted with a schema, which names its attributes", model
        )
    possible = {column.name: column.possible for column in schema.columns}
    if possible.get(attribute):
        return possible[attribute]
    known = [name for name, values in possible.items() if values]
    raise InvalidParameter(
        "attribute", f"one of {known}", attribute, did_you_mean(attribute, known)
    )


def _codes(schema: Schema, attribute: str, frame: pd.DataFrame) -> AnyArray:
    """Return the level index of every value of an attribute; −1 if it is not a level."""
    column = next(column for column in schema.columns if column.name == attribute)
    known, held = (
        pd.Index(column.read(values), dtype=np.float64)
        for values in (list(column.possible), frame[attribute])
    )
    return np.asarray(known.get_indexer(held), dtype=np.intp)


def _typical_error(model: Any, frame: pd.DataFrame, outcome: AnyArray) -> float:
    said = model.predict(frame)
    if is_classifier(model):
        return float(np.clip((said != outcome).mean(), 1e-3, 1 - 1e-3))
    residuals = outcome.astype(np.float64) - said
    return float(max(np.sqrt((residuals**2).mean()), TINY))


def _by_outcome_alone(truth: AnyArray, outcome: AnyArray, levels: int) -> float:
    """Return the accuracy of guessing the attribute from the outcome alone.

    The guess is the most common level among the other rows with the same outcome or, if
    the outcome is numerical, in the same quantile group of outcomes.
    """
    ranks = pd.Series(outcome)
    groups = ranks.nunique()
    if groups > BANDS and np.issubdtype(np.asarray(outcome).dtype, np.number):
        bands = pd.qcut(ranks, BANDS, labels=False, duplicates="drop").to_numpy()
    else:
        bands = pd.factorize(ranks)[0]
    counts = np.zeros((int(bands.max()) + 1, levels))
    np.add.at(counts, (bands, truth), 1)
    others = counts[bands]
    others[np.arange(len(truth)), truth] -= 1
    return float((others.argmax(axis=1) == truth).mean())
