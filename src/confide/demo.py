"""A private fit end to end, on real data that ships with scikit-learn."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression

from confide.data import Schema
from confide.estimators import LogisticRegression
from confide.inference import Summary
from confide.privacy import Pure

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
REPEATS = 20


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demonstration shows."""

    summary: Summary
    rows: int
    accuracy: float
    by_epsilon: tuple[tuple[float, float, float], ...]
    without_privacy: float


def breast_cancer() -> tuple[Schema, pd.DataFrame, pd.DataFrame]:
    """Return the public schema, a training and a test table."""
    bunch = load_breast_cancer(as_frame=True)
    table = bunch.frame.drop(columns="target")
    table["diagnosis"] = np.where(bunch.target == 0, "malignant", "benign")
    return Schema.bundled("breast_cancer"), table.iloc[::2], table.iloc[1::2]


def run_demo(epsilon: float = 2.0, seed: int | None = None) -> Demo:
    """Fit one model at epsilon, and several at other budgets for comparison."""
    schema, train, test = breast_cancer()
    truth = test["diagnosis"].to_numpy()

    def fit(spent: float, random_state: int | None) -> LogisticRegression:
        model = LogisticRegression(Pure(spent), schema=schema, random_state=random_state)
        return model.fit(train)

    def accuracy(model: LogisticRegression) -> float:
        return float(np.mean(model.predict(test) == truth))

    model = fit(epsilon, seed)
    table = []
    for spent in EPSILONS:
        seeds = [None if seed is None else seed + i for i in range(REPEATS)]
        scores = [accuracy(fit(spent, one)) for one in seeds]
        table.append((spent, float(np.mean(scores)), float(np.std(scores))))
    plain = PlainLogisticRegression(C=1e3).fit(schema.design(train), train["diagnosis"])
    return Demo(
        model.summary(),
        len(train),
        accuracy(model),
        tuple(table),
        float(np.mean(plain.predict(schema.design(test)) == truth)),
    )
