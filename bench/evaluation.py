"""Errors of private scores, and coverage of their intervals.

python -m bench.evaluation                # into docs/accuracy/evaluation.json
python -m bench.evaluation --only Adult   # one part: a table, areas, pairs or time
python -m bench.evaluation --page         # docs/evaluation-figures.md from that file

The model is fixed. Samples are drawn from a population and scored privately. The scores are
compared with the exact scores of the same rows and of the whole population.
"""

import argparse
import json
import time
import warnings

from bench.child import ROOT
from bench.evaluation_page import TABLES, page
from bench.machine import describe

RESULTS = ROOT / "docs" / "accuracy" / "evaluation.json"
PAGE = ROOT / "docs" / "evaluation-figures.md"
SEED = 22_000
AREAS = ((10_000, 1_000), (100_000, 10_000))
BUDGETS = ("(1, 1e-6)", "(0.2, 1e-6)", "pure 1", "zCDP 0.02")
SAMPLE = 5_000
AREA_RUNS, TABLE_RUNS = 300, 1000
DISTANCE = 1.5
"""Difference between the mean scores of the two labels, in standard deviations."""


def budget_of(name):
    from confide import Approx, Pure, Zcdp

    if name.startswith("pure"):
        return Pure(name.split()[1])
    if name.startswith("zCDP"):
        return Zcdp(name.split()[1])
    return Approx(*name.strip("()").split(", "))


def scored(rule, budget, relation, rows, seed):
    """Return the private score of margins and targets, without reading a table."""
    from confide.estimators._score import ScorePrice
    from confide.noise import Entropy
    from confide.privacy import Neighbours

    price = ScorePrice.of(rule, budget, Neighbours.of(relation), None, 0.95)
    return price.release(rule.tally(*rows), Entropy.seeded(seed))


# ---------------------------------------------------------------------- areas, simulated


def log_odds(rng, rows, positives):
    """Return true log-odds and labels of rows with normal scores given the label."""
    import numpy as np

    label = np.zeros(rows)
    label[:positives] = 1
    x = rng.normal(size=rows) + DISTANCE * label
    prior = np.log(positives / (rows - positives))
    return (DISTANCE * x - DISTANCE**2 / 2 + prior)[:, None], label


def delong(margins, label):
    """Return the exact ROC area, and its sampling variance by DeLong's method."""
    import numpy as np
    from scipy.stats import rankdata

    score = margins[:, 0]
    pos, neg = score[label == 1], score[label == 0]
    ranks = rankdata(np.concatenate([pos, neg]))
    m, n = len(pos), len(neg)
    first = (ranks[:m] - rankdata(pos)) / n
    second = 1 - (ranks[m:] - rankdata(neg)) / m
    return first.mean(), first.var(ddof=1) / m + second.var(ddof=1) / n


def inevitable_noise(margins, label, deviation):
    """Return the variance of the ROC area that is due to noise on cell counts.

    There are twelve cells with equal numbers of positive rows, chosen from the data without
    noise. With fewer cells, the error would mostly be due to grouping.
    """
    import numpy as np

    from confide.evaluation.estimates import slopes_of
    from confide.evaluation.two_classes import roc_area

    score = margins[:, 0]
    cuts = np.quantile(score[label == 1], np.linspace(0, 1, 13)[1:-1])
    place = np.searchsorted(cuts, score)
    cells = np.stack([np.bincount(place[label == k], minlength=12) for k in (0, 1)], 1)
    return deviation**2 * float((slopes_of(roc_area, cells.astype(float)) ** 2).sum())


def one_noise(budget, relation):
    """Return the standard deviation of noise on counts with the whole budget."""
    from confide.evaluation.noises import noises_for, table_look
    from confide.privacy import Neighbours

    look = table_look(Neighbours.of(relation), 1)
    return noises_for(budget_of(budget), [look]).each[0].deviation(1)


def area_case(rows, positives, budget, relation, runs):
    import numpy as np
    from scipy.special import ndtr

    from confide.evaluation import TwoClasses, fine_edges

    rule = TwoClasses(fine_edges(-3.0, 8.0, 12.0), "1", True)
    truth = float(ndtr(DISTANCE / np.sqrt(2)))
    lines = []
    for run in range(runs):
        rng = np.random.default_rng([SEED, run, rows])
        margins, label = log_odds(rng, rows, positives)
        found = scored(rule, budget_of(budget), relation, (margins, label), [SEED, run])
        area, variance = delong(margins, label)
        estimate = found["area under the ROC curve"]
        best = inevitable_noise(margins, label, one_noise(budget, relation))
        lines.append(
            (
                estimate.value - area,
                estimate.lower <= truth <= estimate.upper,
                estimate.upper - estimate.lower,
                2 * 1.96 * np.sqrt(variance + best),
                2 * 1.96 * np.sqrt(variance),
                len(found.curve("ROC curve").points) - 1,
            )
        )
    gap, held, width, least, sampling, cells = (
        np.array(x) for x in zip(*lines, strict=True)
    )
    return {
        "rows": rows,
        "positives": positives,
        "budget": budget,
        "neighbours": relation,
        "runs": runs,
        "mean absolute": float(np.abs(gap).mean()),
        "root mean square": float(np.sqrt((gap**2).mean())),
        "coverage": float(held.mean()),
        "width": float(np.median(width)),
        "inevitable": float(np.median(least)),
        "sampling": float(np.median(sampling)),
        "ratio": float(np.median(width / least)),
        "cells": float(np.median(cells)),
    }


# ------------------------------------------------------------------------- real tables


def fitted(name, epsilon=1):
    """Return the score rule of a fitted model, and margins and targets of other rows."""
    from bench.real_tables import parts
    from confide import Approx, estimators
    from confide.estimators._readings import SplitChunk
    from confide.estimators._score import chunk_of

    kinds = {"California": "LinearRegression", "randhie": "PoissonRegression"}
    schema, train, test = parts(name)
    if name == "randhie":
        test = train.iloc[1::2].reset_index(drop=True)
        train = train.iloc[::2].reset_index(drop=True)
    kind = getattr(estimators, kinds.get(name, "LogisticRegression"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(Approx(epsilon, 1e-6), schema=schema, random_state=1).fit(train)
    rule = model.score_rule()
    split = SplitChunk(model.schema_, None, beside=False)
    chunk = chunk_of(model, split, rule)
    features, target, _, table_rows = split(test)
    return (
        rule,
        chunk.margins_of(features, table_rows),
        chunk.read(target, features.shape[0]),
    )


def truths(rule, margins, target):
    """Return the exact scores of a population, by name."""
    import numpy as np
    from scipy.special import expit, kl_div

    kind = type(rule).__name__
    if kind == "TwoClasses":
        positive, chance = np.asarray(target) == 1, expit(margins[:, 0])
        said = margins[:, 0] > 0
        log = -np.log(np.maximum(np.where(positive, chance, 1 - chance), np.exp(-4)))
        order = np.argsort(-chance, kind="stable")
        hits = np.cumsum(positive[order])
        precision = hits / np.arange(1, len(order) + 1)
        return {
            "accuracy": (said == positive).mean(),
            "sensitivity": said[positive].mean(),
            "specificity": 1 - said[~positive].mean(),
            "precision": positive[said].mean(),
            "prevalence": positive.mean(),
            "area under the ROC curve": delong(margins, positive)[0],
            "average precision": precision[positive[order]].mean(),
            "Brier score": ((chance - positive) ** 2).mean(),
            "log loss, capped at 4": log.mean(),
        }
    if kind == "NumberErrors":
        known, _, error = rule.errors(margins, target)
        width = rule.width
        return {
            "R²": 1 - (error**2).mean() / known.var(),
            "mean squared error": (error**2).mean() * width**2,
            "mean absolute error": np.abs(error).mean() * width,
            "mean residual": error.mean() * width,
        }
    known, mean = rule.errors(margins, target)
    error = known - mean
    return {
        "mean deviance": np.minimum(2 * kl_div(known, mean), 16).mean(),
        "dispersion": np.minimum(error**2 / mean, 16).mean(),
        "mean absolute error": np.abs(error).mean(),
        "mean residual": error.mean(),
        "mean count": known.mean(),
    }


def table_case(name, budget, relation, runs, rows=SAMPLE):
    import numpy as np
    from scipy.special import expit

    rule, margins, target = fitted(name)
    truth = truths(rule, margins, target)
    held = {line: [] for line in truth}
    widths = {line: [] for line in truth}
    groups = []
    for run in range(runs):
        rng = np.random.default_rng([SEED, run])
        some = rng.integers(0, len(target), rows)
        drawn = (margins[some], target[some])
        found = scored(rule, budget_of(budget), relation, drawn, [SEED, run, 1])
        for line, value in truth.items():
            one = found[line]
            low = -np.inf if one.lower is None else one.lower
            held[line].append(low <= value <= one.upper)
            widths[line].append(one.upper - low)
        if "accuracy" in truth:
            chance, positive = expit(margins[:, 0]), np.asarray(target) == 1
            for point in found.curve("Calibration").points:
                inside = (chance > point.start) & (chance <= point.end)
                if inside.any():
                    share = positive[inside].mean()
                    groups.append(point.lower <= share <= point.upper)
    lines = {
        line: {
            "truth": float(truth[line]),
            "coverage": float(np.mean(held[line])),
            "width": float(np.median(widths[line])),
        }
        for line in truth
    }
    if groups:
        lines["calibration in ten groups"] = {
            "truth": None,
            "coverage": float(np.mean(groups)),
            "width": None,
        }
    return {
        "table": name,
        "budget": budget,
        "neighbours": relation,
        "rows": rows,
        "runs": runs,
        "lines": lines,
    }


# --------------------------------------------------------------------------------- time


def time_case(rows=1_000_000, columns=20):
    """Return the times of prediction and of scoring, best of five, by type of model."""
    import numpy as np

    from confide import Approx, LinearRegression, LogisticRegression, PoissonRegression

    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(rows, columns)) / np.sqrt(columns)
    line = X @ rng.normal(size=columns) / 5
    budget, settings = Approx(1, 1e-6), {"row_norm": 2.0}
    cases = {
        "two classes": (LogisticRegression(budget, classes=[0, 1], **settings), line > 0),
        "three classes": (
            LogisticRegression(budget, classes=[0, 1, 2], **settings),
            np.digitize(line, [-0.2, 0.2]),
        ),
        "numbers": (LinearRegression(budget, target_bound=2.0, **settings), line),
        "counts": (
            PoissonRegression(budget, target_bound=20.0, **settings),
            rng.poisson(np.exp(line)),
        ),
    }
    found = {}
    for name, (model, y) in cases.items():
        target = y.astype(int) if y.dtype == bool else y
        model.fit(X[:50_000], target[:50_000])
        guess = getattr(model, "predict_proba", model.predict)
        seconds = []
        for _ in range(5):
            start = time.process_time()
            guess(X)
            middle = time.process_time()
            model.private_score(X, budget, y=target)
            seconds.append((middle - start, time.process_time() - middle))
        best = [min(part) for part in zip(*seconds, strict=True)]
        found[name] = {"predict": best[0], "score": best[1]}
    return {"rows": rows, "columns": columns, "kinds": found}


def pair_case(name, budget, relation, runs):
    """Return the coverage of differences to a model that has a small budget."""
    import numpy as np

    from confide.evaluation import PairedLosses
    from confide.evaluation.paired import row_losses

    first, margins, target = fitted(name)
    second, others, _ = fitted(name, "0.05")
    rule = PairedLosses(first, second, 1)
    losses = [row_losses(first, part, target) for part in (margins, others)]
    truth = {
        line.name: line.unit * (a - b).mean()
        for line, a, b in zip(rule.lines, *losses, strict=True)
    }
    if rule.ranks:
        areas = [delong(m, np.asarray(target) == 1)[0] for m in (margins, others)]
        truth["area under the ROC curve"] = areas[0] - areas[1]
    both = np.hstack([margins, others])
    held = {line: [] for line in truth}
    widths = {line: [] for line in truth}
    for run in range(runs):
        some = np.random.default_rng([SEED, run, 7]).integers(0, len(target), SAMPLE)
        drawn = (both[some], target[some])
        found = scored(rule, budget_of(budget), relation, drawn, [SEED, run, 2])
        for line, value in truth.items():
            held[line].append(found[line].lower <= value <= found[line].upper)
            widths[line].append(found[line].upper - found[line].lower)
    lines = {
        line: {
            "truth": float(truth[line]),
            "coverage": float(np.mean(held[line])),
            "width": float(np.median(widths[line])),
        }
        for line in truth
    }
    return {
        "table": name,
        "budget": budget,
        "neighbours": relation,
        "runs": runs,
        "lines": lines,
    }


def areas(runs):
    return [
        area_case(*size, budget, relation, runs)
        for size in AREAS
        for budget in BUDGETS
        for relation in ("add-remove", "replace-one")
        if size[0] < 1e5 or (budget, relation) == (BUDGETS[0], "add-remove")
    ]


def table_cases(name, runs):
    settings = (
        (BUDGETS[0], "add-remove"),
        (BUDGETS[0], "replace-one"),
        (BUDGETS[1], "add-remove"),
    )
    return [table_case(name, *one, runs) for one in settings]


def pairs(runs):
    return [
        pair_case(name, BUDGETS[0], "add-remove", runs) for name in ("Adult", "California")
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    parts = {
        "areas": lambda: areas(AREA_RUNS),
        **{name: lambda name=name: table_cases(name, TABLE_RUNS) for name in TABLES},
        "pairs": lambda: pairs(TABLE_RUNS),
        "time": time_case,
    }
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if not given.page:
        for name in [given.only] if given.only else parts:
            found[name] = parts[name]()
        found["machine"] = describe()
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if parts.keys() <= found.keys():
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
