"""A private fit from start to finish, on real data that ships with scikit-learn."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression

from confide.data import Schema
from confide.errors import LooseBudget
from confide.estimators import LogisticRegression
from confide.inference import Summary
from confide.privacy import Approx, Pure

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = "1e-5"
FITS_PER_BUDGET = 20
INTERVAL_COLUMNS = ("mean texture", "mean smoothness")
"""Columns of the model with confidence intervals.

Only a few columns are used, because the table is small. Columns that almost separate the
classes are left out, because even without privacy their coefficients are poorly determined.
"""
NO_NOISE, NO_RIDGE = Pure(10**9), 1e-6


@dataclass(frozen=True, slots=True)
class Demo:
    """Results of the demonstration.

    ``noise_free`` holds the coefficients of the model in ``summary``, fitted without noise
    and with almost no ridge. Each element of ``by_epsilon`` holds an epsilon, and the mean
    and the standard deviation of the test accuracy of models fitted on all columns of half
    of the patients. ``without_privacy`` is the test accuracy of an ordinary model.
    """

    summary: Summary
    rows: int
    noise_free: tuple[float, ...]
    columns: int
    by_epsilon: tuple[tuple[float, float, float], ...]
    without_privacy: float


def breast_cancer() -> tuple[Schema, pd.DataFrame]:
    """Return the public schema and the table of the breast cancer data."""
    bunch = load_breast_cancer(as_frame=True)
    table = bunch.frame.drop(columns="target")
    table["diagnosis"] = np.where(bunch.target == 0, "malignant", "benign")
    return Schema.bundled("breast_cancer"), table


def run_demo(epsilon: float = 4.0, seed: int | None = None) -> Demo:
    """Fit a model with intervals at ``epsilon``, and models without them at `EPSILONS`."""
    schema, table = breast_cancer()
    few = replace(
        schema, columns=tuple(c for c in schema.columns if c.name in INTERVAL_COLUMNS)
    )
    model = LogisticRegression(
        Approx(epsilon, DELTA), schema=few, intervals=True, random_state=seed
    ).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LooseBudget)
        bare = LogisticRegression(
            NO_NOISE, schema=model.schema_, l2=NO_RIDGE, ranges="public"
        ).fit(table)
    scores, plain = _accuracies(schema, table, seed)
    return Demo(
        model.summary(),
        len(table),
        tuple(row.estimate for row in bare.summary().rows),
        len(schema.columns),
        scores,
        plain,
    )


def _accuracies(
    schema: Schema, table: pd.DataFrame, seed: int | None
) -> tuple[tuple[tuple[float, float, float], ...], float]:
    """Return the test accuracies at all epsilons, and the accuracy without privacy.

    Each element of the first result holds an epsilon, and the mean and standard deviation
    of the accuracy over several fits.
    """
    train, test = table.iloc[::2], table.iloc[1::2]
    truth = test["diagnosis"].to_numpy()

    def accuracy(spent: float, random_state: int | None) -> float:
        model = LogisticRegression(
            Approx(spent, DELTA), schema=schema, random_state=random_state
        )
        return float(np.mean(model.fit(train).predict(test) == truth))

    lines = []
    for spent in EPSILONS:
        seeds = [None if seed is None else seed + i for i in range(FITS_PER_BUDGET)]
        scores = [accuracy(spent, one) for one in seeds]
        lines.append((spent, float(np.mean(scores)), float(np.std(scores))))
    plain = PlainLogisticRegression(C=1e3).fit(schema.design(train), train["diagnosis"])
    return tuple(lines), float(np.mean(plain.predict(schema.design(test)) == truth))
