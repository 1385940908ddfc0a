"""Linear regression by all mechanisms, for warfarin doses and house values."""

from statistics import mean, stdev

from bench.child import call, data_folder
from bench.section import Section
from bench.table import SKIPPED, prose, table, verdict

BUDGETS = (0.1, 0.2, 0.5, 1.0)
DELTA = 1e-6
PURE = ("objective", "output", "ssp", "functional", "histogram")
APPROX = ("objective", "output", "ssp", "adassp", "adassp, published")
RLS = "rls-out, published"
RLS_HERE = "rls-out, published, columns as below"
FUNCTIONAL = "functional, published"
OURS = "objective"


def warfarin(runs):
    """Return squared errors in (10 mg/week)² on random test sets of a fifth of the rows."""
    from confide import Pure, Schema
    from confide.data import load_warfarin
    from confide.data.datasets.loaders import paper_features
    from confide.mechanisms import FunctionalMechanism
    from confide.mechanisms.published import RlsOut

    schema, frame = Schema.bundled("warfarin"), load_warfarin()
    features = paper_features(frame, schema)
    target = frame["dose"].to_numpy()
    found = {}
    for run in range(runs):
        train, test = _split(len(frame), run)
        _note(found, "none", 0, _plain(features, target, (train, test, run, 10), 100.0))
        for epsilon in BUDGETS:
            papers = {
                RLS: RlsOut(len(train), constants="published"),
                FUNCTIONAL: FunctionalMechanism("published"),
            }
            for name, mechanism in papers.items():
                model = _paper_model(Pure(epsilon), mechanism, run)
                model.fit(features[train], target[train])
                gap = features[test] @ model.coef_ - target[test]
                _note(found, name, epsilon, float(((gap / 10) ** 2).mean()))
        alike = {RLS_HERE: RlsOut(len(train), constants="published")}
        part = (train, test, run, 10)
        _ours(found, frame, schema, part, neighbours="replace-one", more=alike)
    return found


def california(runs):
    """Return squared errors in (100,000 dollars)² on random test sets of a fifth."""
    from confide import Schema
    from confide.data import load

    schema, frame = Schema.bundled("california_housing"), load("california_housing")
    features, target = schema.encode(frame), frame["MedHouseVal"].to_numpy()
    found = {}
    for run in range(runs):
        train, test = _split(len(frame), run)
        part = (train, test, run, 1)
        _note(found, "none", 0, _plain(features, target, part, 5.0))
        _ours(found, frame, schema, part, neighbours="add-remove", more={})
    return found


def _ours(found, frame, schema, part, *, neighbours, more):
    """Fit with all mechanisms and default settings, and record the test errors."""
    from confide import Approx, LinearRegression, Pure
    from confide.data import INTERCEPT_HEIGHT
    from confide.mechanisms import AdaSsp, ProjectedHistogram

    train, test, run, unit = part
    special = {
        **more,
        "histogram": ProjectedHistogram.of_schema(schema, INTERCEPT_HEIGHT),
        "adassp, published": AdaSsp("published"),
    }
    there = frame.iloc[test]
    truth = there[schema.target.column].to_numpy()
    for epsilon in BUDGETS:
        for kind, names in (("pure", (*more, *PURE)), ("approx", APPROX)):
            budget = Pure(epsilon) if kind == "pure" else Approx(epsilon, DELTA)
            for name in names:
                if name == "adassp, published" and neighbours == "replace-one":
                    continue
                model = LinearRegression(
                    budget,
                    schema=schema,
                    mechanism=special.get(name, name),
                    neighbours=neighbours,
                    random_state=run,
                ).fit(frame.iloc[train])
                gap = (model.predict(there) - truth) / unit
                _note(found, f"{kind}: {name}", epsilon, float((gap**2).mean()))


def _paper_model(budget, mechanism, run):
    from confide import LinearRegression

    return LinearRegression(
        budget,
        mechanism=mechanism,
        neighbours="replace-one",
        row_norm=1.0,
        fit_intercept=False,
        target_bound=100.0,
        random_state=run,
    )


def _split(count, run):
    from confide.noise import generator

    order = generator(1000 + run).permutation(count)
    return order[: 4 * count // 5], order[4 * count // 5 :]


def _plain(features, target, part, most):
    from sklearn.linear_model import LinearRegression

    train, test, _, unit = part
    model = LinearRegression().fit(features[train], target[train])
    gap = model.predict(features[test]).clip(0, most) - target[test]
    return float(((gap / unit) ** 2).mean())


def _note(found, name, epsilon, error):
    found.setdefault(name, {}).setdefault(str(epsilon), []).append(error)


def jobs(quick):
    if data_folder() is None:
        return {}
    runs = 3 if quick else 40
    return {
        name: lambda name=name: call(f"bench.regression:{name}", runs=runs)
        for name in ("warfarin", "california")
    }


WARFARIN = """
    The table shows the mean squared error of the predicted weekly dose in (10 mg)², over
    {runs} random splits into 80 % training and 20 % test rows, with replace-one neighbours.
    Each figure is a mean error ± the standard error of its difference from that of least
    squares without privacy, which is {plain:.2f}. Predictions are clipped to the declared
    range, except in the first two rows. The first two mechanisms use the 14 columns of
    their paper, with rows scaled to the unit ball, no intercept, doses divided by 100 mg, R
    = 1 and λ = √(d/(nε)). These values do not depend on the data. All other mechanisms use
    the bundled schema and, except for rls-out, their default settings, with δ = 1e-6. The
    target is met if the error of a fit exceeds the error without privacy by at most half as
    much as the error of rls-out does here.
"""
CAUTION = """
    Two limitations should be noted. First, at ε = 0.2 the paper prints 22.57 for the
    functional mechanism, which agrees with the second row within its large standard error.
    For rls-out it prints 1.82 with the parameters that are best in hindsight, and values
    within 0.1 of this with parameters that do not depend on the data. This does not agree
    with the first row, and no mechanism here reaches such an error at this budget. At ε =
    0.2, the noise that the paper prescribes is about three times as large as the bound on
    the norm of the coefficients. Without any noise, its ridge alone leads to an error of
    4.4, and the best of 48 pairs (R, λ) in hindsight to about 8.5. So the target is met in
    comparison with the measured error of rls-out, not with the printed value. Second, two
    defaults of `LinearRegression`, the slope clipping and the strength of the automatic
    ridge, were chosen by trying 12 combinations on five tables, including the two used
    here. The automatic ridges of output and ssp were chosen among 8 and 5 values on the
    same tables. The figures therefore do not come from an untouched test set. With the
    earlier defaults, the errors of the objective mechanism on the same splits were 4.38,
    3.10, 2.17 and 1.87, which also meets the target.
"""
CALIFORNIA = """
    The next table shows the mean squared error of predicted house values in California in
    (100,000 dollars)², with add-remove neighbours, the bundled schema and default settings.
    The error of least squares without privacy is {plain:.3f}.
"""


def page(results):
    if not results:
        return SKIPPED
    parts = []
    for name, text in (("warfarin", WARFARIN), ("california", CALIFORNIA)):
        found = results[name]
        plain = found["none"]["0"]
        words = text.format(runs=len(plain), plain=mean(plain))
        parts += [prose(words), _table(found, plain, target=name == "warfarin")]
        if name == "warfarin":
            parts.append(prose(CAUTION))
    return "\n\n".join(parts)


def _table(found, plain, *, target):
    head = ["mechanism", *(f"eps {epsilon:g}" for epsilon in BUDGETS)]
    rows = [
        (name, *(_cell(by_budget[str(epsilon)], plain) for epsilon in BUDGETS))
        for name, by_budget in found.items()
        if name != "none"
    ]
    if target:
        rows.append(("pure: objective, target", *(_goal(found, e) for e in BUDGETS)))
    return table(head, rows)


def _goal(found, epsilon):
    plain = mean(found["none"]["0"])
    excess = mean(found[f"pure: {OURS}"][str(epsilon)]) - plain
    most = (mean(found[RLS][str(epsilon)]) - plain) / 2
    return f"≤ {plain + most:.2f} {verdict(excess, most)}"


def _cell(errors, plain):
    gaps = [a - b for a, b in zip(errors, plain, strict=True)]
    return f"{mean(errors):.3f} ± {stdev(gaps) / len(gaps) ** 0.5:.3f}"


SECTION = Section("regression", "Linear regression: test error", jobs, page)
