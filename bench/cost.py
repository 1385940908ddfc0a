"""Time of a fit of ordinary size in milliseconds, and of calibrations alone."""

from bench.adult import TARGETS, budget_of, encoded
from bench.child import call, data_folder
from bench.clock import seconds
from bench.section import Section
from bench.table import prose, table

REPEATS = 9


def fits(peer):
    """Return seconds per Adult fit, with the first fit of the process separately."""
    import time

    from sklearn.linear_model import LogisticRegression as Open

    from confide import LogisticRegression

    schema, (train, _), (X, y, _, _) = encoded()
    found = {}
    for kind in TARGETS:
        model = LogisticRegression(budget_of(kind, 1.0), row_norm=1.0)
        start = time.perf_counter()
        model.fit(X, y)
        found.setdefault("first fit of a process", time.perf_counter() - start)
        found[f"{kind}, arrays"] = seconds(lambda model=model: model.fit(X, y), REPEATS)
    model = LogisticRegression(budget_of("pure", 1.0), schema=schema)
    found["pure, `schema=`"] = seconds(lambda: model.fit(train), REPEATS)
    if peer:
        model = Open(max_iter=5000)
        found["scikit-learn lbfgs, not private"] = seconds(lambda: model.fit(X, y), 3)
    return found


def calibrations():
    """Return the seconds of first and later calibrations for 105 columns and intercept."""
    import time

    from confide import Approx, Neighbours, Pure, Zcdp
    from confide.mechanisms import ObjectivePerturbation, OutputPerturbation
    from confide.objectives import Clipped, HuberizedHinge, Logistic, Objective, Poisson

    add, replace = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
    approx, mechanism = Approx(1, 1e-6), ObjectivePerturbation()
    logistic, huber = (
        Objective(Logistic(), 106, 1.05),
        Objective(HuberizedHinge(), 106, 1.05),
    )
    poisson = Objective(Clipped(Poisson(), 10.0), 106, 1.05, target_bound=80.0)
    cases = {
        "logistic, pure": (mechanism, logistic, Pure(1), add, 1),
        "logistic, (1, 1e-6)": (mechanism, logistic, approx, add, 1),
        "logistic, (1, 1e-6), l2 given": (mechanism, logistic.with_l2(1.0), approx, add, 1),
        "logistic, (1, 1e-6), replace-one": (mechanism, logistic, approx, replace, 1),
        "logistic, (1, 1e-6), ten classes": (mechanism, logistic, approx, add, 10),
        "logistic, zCDP 0.05": (mechanism, logistic, Zcdp(0.05), add, 1),
        "huberised hinge, (1, 1e-6)": (mechanism, huber, approx, add, 1),
        "huberised hinge, (1, 1e-6), replace-one": (mechanism, huber, approx, replace, 1),
        "huberised hinge, (1, 1e-6), ten classes": (mechanism, huber, approx, add, 10),
        "huberised hinge, zCDP 0.05": (mechanism, huber, Zcdp(0.05), add, 1),
        "Poisson clipped at 10, (1, 1e-6)": (mechanism, poisson, approx, add, 1),
        "output, logistic, (1, 1e-6)": (OutputPerturbation(), logistic, approx, add, 1),
    }
    found = {}
    for name, (which, objective, budget, neighbours, copies) in cases.items():

        def calibrate(which=which, given=(objective, budget, neighbours), copies=copies):
            which.calibrate(*given, copies=copies)

        start = time.perf_counter()
        calibrate()
        found[name] = (time.perf_counter() - start, seconds(calibrate, 3))
    return found


def jobs(quick):  # noqa: ARG001
    found = {"calibrations": lambda: call("bench.cost:calibrations", threads=1)}
    if data_folder() is not None:
        found["one thread"] = lambda: call("bench.cost:fits", threads=1, peer=True)
        found["all threads"] = lambda: call("bench.cost:fits", peer=False)
    return found


FIT_TEXT = """
    The table shows the wall-clock time in milliseconds of one fit to Adult (32,561 rows,
    105 columns) at epsilon 1. scikit-learn uses its default settings. There are no targets
    for these times.
"""
CALIBRATION_TEXT = """
    The next table shows the time of the calibration alone, which uses no data. There are
    106 coefficients, and the ridge is automatic unless l2 is given.
"""


def page(results):
    parts = []
    if "one thread" in results:
        one, every = results["one thread"], results["all threads"]
        rows = [(name, _ms(one[name]), _ms(every.get(name))) for name in one]
        head = ["fit", "one thread", "all threads"]
        parts += [prose(FIT_TEXT), table(head, rows)]
    rows = [
        (name, *(f"{1e3 * value:.1f}" for value in pair))
        for name, pair in results["calibrations"].items()
    ]
    head = ["calibration", "first ms", "later ms"]
    parts += [prose(CALIBRATION_TEXT), table(head, rows)]
    return "\n\n".join(parts)


def _ms(taken):
    return "–" if taken is None else f"{1e3 * taken:.0f}"


SECTION = Section("cost", "Cost of an ordinary fit", jobs, page)
