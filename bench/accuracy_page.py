"""Tables of the section on accuracy."""

from bench.accuracy import REFUSED, WIDE_EPSILONS, WIDTHS
from bench.real_tables import TABLES, TWO_CLASSES
from bench.table import SKIPPED, prose, table

INTRO = """
    Every table is used with its bundled schema, one fixed split into training and test rows
    (for randhie, errors are computed on the training rows), and otherwise default settings.
    The tables show means over {runs} seeds ± standard errors. The main columns are for
    `fit(frame)` with the schema. The "arrays" columns are for fits to plain arrays: the
    same variables are scaled to [−1, 1] or coded as indicators, and rows with a norm above
    1 are rescaled to norm 1. The neighbour relation is add-remove, except under zCDP. The
    "before" columns show results of an earlier version, which did not estimate ranges
    privately, for fits with the schema over five seeds.
"""
ALIKE = """
    In the last column, "behind" lists the figures in which fits with the schema are worse
    than fits to arrays by more than the standard error of the difference.
"""
WIDE = """
    The next table shows fits for which the range of every numeric column is declared ten or
    a hundred times too wide, with the same midpoint. However, the lower limit of columns
    that cannot be negative stays at least 0.
"""
NUMBERS = """
    For numeric targets, the table shows R² and the excess: the amount by which the mean
    squared error exceeds that of non-private least squares on the declared ranges, in
    squared units of the target.
"""
COUNTS = """
    For counts (randhie), the table shows the deviance reduction as a share of that of the
    fit without privacy.
"""
GROUPS = """
    For several classes, the table shows results on KDD with normal connections and four
    groups of attacks.
"""
BEFORE = "before"


def page(results, earlier):
    """Return the section: the results next to those of earlier measurements."""
    if not results:
        return SKIPPED
    before = earlier.get(BEFORE, {})
    known = [name for name in TABLES if name in results]
    runs = results[known[0]]["runs"]
    blocks = [prose(INTRO.format(runs=runs))]
    two = [name for name in known if name in TWO_CLASSES]
    if two:
        blocks += [prose(ALIKE), _two_classes(results, before, two)]
    if "KDD groups" in known:
        blocks += [prose(GROUPS), _groups(results["KDD groups"], before.get("KDD groups"))]
    numbers = [name for name in known if TABLES[name].task == "number"]
    if numbers:
        blocks += [prose(NUMBERS), _numbers(results, before, numbers)]
    if "randhie" in known:
        blocks += [prose(COUNTS), _counts(results["randhie"], before.get("randhie"))]
    wide = two + numbers
    if wide:
        blocks += [prose(WIDE), _widths(results, before, wide)]
    return "\n\n".join(blocks)


def cell(result, path, width, budget):
    """Return the figures of one cell, or None if it was not measured."""
    for one in (result or {}).get("cells", ()):
        if (one["path"], one["width"], one["budget"]) == (path, width, budget):
            return one["figures"]
    return None


def shown(figures, name, digits):
    """Return a mean with its standard error, to the given number of digits."""
    if figures is None:
        return "–"
    if figures == REFUSED:
        return REFUSED
    value, error = figures[name]
    return f"{value:.{digits}f} ± {error:.{digits}f}"


DIGITS = {"error": 2, "log loss": 4, "AUC": 4, "excess": 3, "R2": 3, "share": 3}


def _budgets(result, path="schema", width=1):
    return [
        one["budget"]
        for one in result["cells"]
        if (one["path"], one["width"]) == (path, width)
    ]


def _two_classes(results, before, names):
    rows = []
    for name in names:
        for budget in _budgets(results[name]):
            ours, theirs = (
                cell(results[name], path, 1, budget) for path in ("schema", "arrays")
            )
            old = cell(before.get(name), "schema", 1, budget)
            rows.append(
                (
                    name,
                    budget,
                    shown(old, "error", 2),
                    *(
                        shown(one, figure, DIGITS[figure])
                        for figure in ("error", "log loss", "AUC")
                        for one in (ours, theirs)
                    ),
                    _behind(ours, theirs),
                )
            )
        plain = results[name]["open"]
        rows.append(
            (
                name,
                "none",
                "–",
                *("–", f"{plain['error']:.2f}"),
                *("–", f"{plain['log loss']:.4f}"),
                *("–", f"{plain['AUC']:.4f}"),
                "",
            )
        )
    head = ["table", "budget", "error %, before", "error %", "arrays", "log loss", "arrays"]
    return table([*head, "AUC", "arrays", "schema"], rows)


def _behind(ours, theirs):
    """Return the figures in which the schema is behind arrays, as text."""
    worse = []
    for figure, sign in (("error", 1), ("log loss", 1), ("AUC", -1)):
        (a, s), (b, t) = ours[figure], theirs[figure]
        if sign * (a - b) > (s * s + t * t) ** 0.5:
            worse.append(figure)
    return f"behind: {', '.join(worse)}" if worse else "not behind"


def _groups(result, old):
    rows = [
        (
            budget,
            shown(cell(old, "schema", 1, budget), "error", 2),
            *(shown(cell(result, "schema", 1, budget), f, DIGITS[f]) for f in FIGURES),
        )
        for budget in _budgets(result)
    ]
    rows.append(
        ("none", "–", f"{result['open']['error']:.2f}", f"{result['open']['log loss']:.4f}")
    )
    return table(["budget", "error %, before", "error %", "log loss"], rows)


FIGURES = ("error", "log loss")


def _numbers(results, before, names):
    rows = []
    for name in names:
        for budget in _budgets(results[name]):
            ours, theirs = (
                cell(results[name], path, 1, budget) for path in ("schema", "arrays")
            )
            old = cell(before.get(name), "schema", 1, budget)
            three = (old, ours, theirs)
            rows.append(
                (
                    name,
                    budget,
                    *(shown(one, f, 3) for f in ("excess", "R2") for one in three),
                )
            )
        plain = results[name]["open"]
        rows.append((name, "none", "–", "0", "–", "–", f"{plain['R2']:.3f}", "–"))
    head = ["table", "budget", "excess, before", "excess", "arrays"]
    return table([*head, "R², before", "R²", "arrays"], rows)


def _counts(result, old):
    paths = list(dict.fromkeys(one["path"] for one in result["cells"]))
    keys = list(dict.fromkeys((one["width"], one["budget"]) for one in result["cells"]))
    rows = [
        (
            f"× {width}",
            budget,
            *(
                shown(cell(source, path, width, budget), "share", 3)
                for source in (old, result)
                for path in paths
            ),
        )
        for width, budget in keys
    ]
    head = ["ranges", "budget", *(f"{path}, before" for path in paths), *paths]
    return table(head, rows)


def _widths(results, before, names):
    rows = []
    for name in names:
        figure = "error" if name in TWO_CLASSES else "excess"
        for epsilon in WIDE_EPSILONS:
            budget = f"({epsilon:g}, 1e-6)"
            rows.append(
                (
                    name,
                    budget,
                    "error %" if figure == "error" else figure,
                    *(
                        shown(cell(source, "schema", width, budget), figure, DIGITS[figure])
                        for source in (before.get(name), results[name])
                        for width in (1, *WIDTHS)
                    ),
                )
            )
    head = ["table", "budget", "figure", "before, × 1", "× 10", "× 100"]
    return table([*head, "× 1", "× 10", "× 100"], rows)
