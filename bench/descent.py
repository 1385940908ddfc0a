"""Full-batch gradient descent with Gaussian noise, its settings chosen on the test rows.

This competitor has an unfair advantage. From a grid of numbers of steps, rates and clips it
uses the combination with the smallest log loss *on the test rows*, which no private fit can
know. The noise is calibrated exactly, by Gaussian differential privacy. Rows have norm 1.
The figures of the schema are those of `bench.accuracy` in docs/accuracy/after.json.
"""

from itertools import product
from statistics import mean

from bench.accuracy import DELTA, class_figures, saved, summed_up
from bench.accuracy_page import DIGITS, cell, shown
from bench.child import call, data_folder
from bench.real_tables import TWO_CLASSES, parts, unit_rows
from bench.section import Section
from bench.table import SKIPPED, prose, table

EPSILONS = (0.1, 0.3, 1.0)
STEPS = (8, 16, 32, 64, 128, 256, 512)
RATES = (2.0, 4.0, 8.0, 16.0, 32.0)
CLIPS = (0.5, 1.0)
CHOOSING_RUNS = 2
"""Number of runs for the choice of the settings; the chosen settings then get all runs."""
HEIGHT = 0.3
"""Value of the intercept column, as in confide."""


def compare(name, epsilon, runs):
    """Return the figures of gradient descent with the best settings, and these settings."""
    import numpy as np

    from confide.privacy import gaussian_mu

    schema, train, test = parts(name)
    labels, column = list(schema.target.labels), schema.target.column
    truth = test[column].astype(str).to_numpy()
    X, Z = (_rows(unit_rows(schema, part)) for part in (train, test))
    y = (train[column].astype(str) == labels[1]).to_numpy(np.float32)
    mu = gaussian_mu(epsilon, DELTA)

    def figures(steps, settings, count):
        """Yield the figures of all runs, setting by setting."""
        for thetas in descend((X, y), mu, steps, settings, count):
            yield [class_figures(_chances(Z, theta), truth, labels) for theta in thetas]

    every, losses = list(product(RATES, CLIPS)), {}
    for steps in STEPS:
        found = figures(steps, every, CHOOSING_RUNS)
        for setting, some in zip(every, found, strict=True):
            losses[steps, *setting] = mean(one["log loss"] for one in some)
    chosen = min(losses, key=losses.__getitem__)
    (theirs,) = figures(chosen[0], [chosen[1:]], runs)
    return {"descent": summed_up(theirs), "settings": chosen, "runs": runs}


def descend(rows, mu, steps, settings, runs):
    """Return the coefficients for every setting and run, computed together.

    Every step releases the sum of clipped gradients with noise. The steps together are
    μ-GDP if the noise has standard deviation clip·√steps/μ.
    """
    import numpy as np

    from confide.noise import generator

    X, y = rows
    count, width = X.shape
    rate, clip = (
        np.repeat(np.float32(values), runs) for values in zip(*settings, strict=True)
    )
    scale = clip * np.sqrt(steps) / mu
    draws = [generator(run) for run in range(runs)]
    theta = np.zeros((width, len(rate)), np.float32)
    for _ in range(steps):
        slopes = X @ theta
        np.negative(slopes, out=slopes)
        np.exp(slopes, out=slopes)
        slopes += 1
        np.reciprocal(slopes, out=slopes)
        slopes -= y[:, None]
        np.clip(slopes, -clip, clip, out=slopes)
        noise = np.column_stack([draw.standard_normal(width) for draw in draws])
        gradient = X.T @ slopes + scale * np.tile(noise, len(settings))
        theta -= (rate / count * gradient).astype(np.float32)
    return theta.T.reshape(len(settings), runs, width)


def _rows(X):
    """Append the intercept column, and scale all rows to norm at most 1."""
    import numpy as np

    whole = np.column_stack([X, np.full(len(X), HEIGHT)])
    return (whole / np.hypot(1.0, HEIGHT)).astype(np.float32)


def _chances(Z, theta):
    import numpy as np
    from scipy.special import expit

    margins = (Z @ theta).astype(float)
    return np.column_stack([expit(-margins), expit(margins)])


def jobs(quick):
    if data_folder() is None:
        return {}
    runs = 3 if quick else 20
    return {
        f"{name}, {epsilon:g}": lambda name=name, epsilon=epsilon: call(
            "bench.descent:compare", threads=1, name=name, epsilon=epsilon, runs=runs
        )
        for name in TWO_CLASSES
        for epsilon in EPSILONS
    }


TEXT = """
    The table shows the log loss on the test rows at (eps, 1e-6). Fits with the bundled
    schema and default settings, averaged over {ours} seeds ([all figures](defaults.md)),
    are compared with full-batch gradient descent on the same columns, passed as an array,
    averaged over {theirs} seeds, with rows of norm 1 and noise calibrated by Gaussian
    differential privacy. Gradient descent uses the best of {tried} combinations of number
    of steps, learning rate and clipping norm, *chosen on the test rows*. Fits with the
    schema have the lower log loss in {ahead} of {all} cases.
"""


def page(results):
    if not results:
        return SKIPPED
    rows, ahead, measured = [], 0, saved()["after"]
    for job, found in results.items():
        name, epsilon = job.rsplit(", ", 1)
        ours = cell(measured[name], "schema", 1, f"({epsilon}, 1e-6)")
        theirs = found["descent"]
        wins = ours["log loss"][0] < theirs["log loss"][0]
        ahead += wins
        steps, rate, clip = found["settings"]
        rows.append(
            (
                name,
                epsilon,
                *(
                    shown(one, figure, DIGITS[figure])
                    for figure in ("log loss", "error")
                    for one in (ours, theirs)
                ),
                f"{steps} steps, rate {rate:g}, clip {clip:g}",
                "ahead" if wins else "**behind**",
            )
        )
    text = TEXT.format(
        ours=measured[name]["runs"],
        theirs=found["runs"],
        tried=len(STEPS) * len(RATES) * len(CLIPS),
        ahead=ahead,
        all=len(rows),
    )
    head = ["table", "eps", "log loss", "descent", "error %", "descent", "chosen", "schema"]
    return f"{prose(text)}\n\n{table(head, rows)}"


SECTION = Section("descent", "Against gradient descent tuned on the test", jobs, page)
