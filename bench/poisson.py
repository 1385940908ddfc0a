"""Deviance explained by a private Poisson model, for the RAND experiment."""

from statistics import mean

from bench.child import call, data_folder
from bench.section import Section
from bench.table import SKIPPED, prose, table, verdict

TARGET = 0.70
BOUNDS = {"80": None, "20": 20.0}


def kept(target_bound, runs):
    """Return the deviance reduction of each run, as a share of that without privacy."""
    import numpy as np
    from sklearn.linear_model import PoissonRegressor
    from sklearn.metrics import mean_poisson_deviance

    from confide import Approx, PoissonRegression, Schema
    from confide.data import load

    schema, frame = Schema.bundled("randhie"), load("randhie")
    y = frame[schema.target.column].to_numpy(float)
    X = schema.encode(frame)
    public = PoissonRegressor(alpha=0, tol=1e-8, max_iter=1000).fit(X, y)
    null = mean_poisson_deviance(y, np.full_like(y, y.mean()))
    whole = null - mean_poisson_deviance(y, public.predict(X))
    shares = []
    for run in range(runs):
        model = PoissonRegression(
            Approx(1, 1e-6),
            schema=schema,
            slope_bound=10,
            target_bound=target_bound,
            random_state=run,
        ).fit(frame)
        left = mean_poisson_deviance(y, model.predict(frame))
        shares.append(float((null - left) / whole))
    return shares


def jobs(quick):
    if data_folder() is None:
        return {}
    runs = 3 if quick else 20
    return {
        name: lambda bound=bound: call("bench.poisson:kept", target_bound=bound, runs=runs)
        for name, bound in BOUNDS.items()
    }


TEXT = """
    `PoissonRegression(Approx(1, 1e-6), schema=Schema.bundled("randhie"), slope_bound=10)`
    is fitted to the number of visits. The figures are the in-sample deviance reduction as a
    share of that of a fit without privacy, over {runs} runs. In the first row the target is
    clamped at 80, as the schema declares, and in the second row at 20.
"""


def page(results):
    if not results:
        return SKIPPED
    rows = [
        (
            name,
            f"{mean(shares):.3f}",
            f"{min(shares):.3f}",
            f"≥ {TARGET:.2f}",
            verdict(mean(shares), TARGET, at_least=True),
        )
        for name, shares in results.items()
    ]
    text = prose(TEXT.format(runs=len(next(iter(results.values())))))
    return (
        f"{text}\n\n{table(['`target_bound`', 'mean', 'lowest', 'target', 'result'], rows)}"
    )


SECTION = Section("poisson", "Poisson: deviance explained", jobs, page)
