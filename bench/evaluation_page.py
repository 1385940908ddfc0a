"""The page of measured scores, docs/evaluation-figures.md, from what was found."""

from bench.table import prose, table

TABLES = ("Adult", "Bank", "ACS", "California", "randhie")
ABOUT_AREAS = """\
Scores are true log-odds, normal given the label, 1.5 deviations apart. The gap is to
the exact area of the same rows; coverage is that of 95 % intervals for the area of the
population, in {runs} runs. *Inevitable* is the width that sampling (DeLong's variance
for the same rows) and noise of the whole budget in twelve cells, chosen in the clear,
would give."""
ABOUT_TABLES = """\
A model was fitted at (1, 1e-6) on one part of a table. The other part serves as the
population: 5,000 of its rows are drawn with replacement and scored, {runs} times.
Coverage is that of 95 % intervals for the score on all rows of that part; its own
standard error is {error:.3f}. R² and errors are compared with those without clipping.
{outside}"""
ABOUT_PAIRS = """\
The model above minus one that was fitted at (0.05, 1e-6) on the same rows: coverage of
the difference on all rows, by 95 % intervals, in {runs} samples. {outside}"""
WANTED = (0.93, 0.98)


def line_table(cases):
    return table(
        ("table", "budget", "neighbours", "score", "of all rows", "coverage", "width"),
        [
            (
                case["table"],
                case["budget"],
                case["neighbours"],
                name,
                "" if one["truth"] is None else f"{one['truth']:.4g}",
                f"{one['coverage']:.3f}",
                "" if one["width"] is None else f"{one['width']:.3g}",
            )
            for case in cases
            for name, one in case["lines"].items()
        ],
    )


def about(text, cases):
    """Return a text with the number of runs, and which coverages are as wanted."""
    (runs,) = {case["runs"] for case in cases}
    beyond = [
        f"{name} of {case['table']} at {case['budget']}, {case['neighbours']} "
        f"({one['coverage']:.3f})"
        for case in cases
        for name, one in case["lines"].items()
        if not WANTED[0] <= one["coverage"] <= WANTED[1]
    ]
    outside = "All coverages are between {} and {}.".format(*WANTED)
    if beyond:
        outside = f"Not between {WANTED[0]} and {WANTED[1]}: {'; '.join(beyond)}."
    error = (0.95 * 0.05 / runs) ** 0.5
    return prose(text.format(runs=f"{runs:,}", error=error, outside=outside))


def page(found):
    real = [case for name in TABLES for case in found[name]]
    (area_runs,) = {one["runs"] for one in found["areas"]}
    of_areas = table(
        (
            *("rows", "positives", "budget", "neighbours", "mean absolute gap"),
            *("root mean square", "coverage", "median width", "inevitable", "ratio"),
            "cells",
        ),
        [
            (
                f"{one['rows']:,}",
                f"{one['positives']:,}",
                one["budget"],
                one["neighbours"],
                f"{one['mean absolute']:.4f}",
                f"{one['root mean square']:.4f}",
                f"{one['coverage']:.3f}",
                f"{one['width']:.4f}",
                f"{one['inevitable']:.4f}",
                f"{one['ratio']:.2f}",
                f"{one['cells']:.0f}",
            )
            for one in found["areas"]
        ],
    )
    spent = found["time"]
    times = table(
        ("model", "prediction, s", "score, s", "predictions"),
        [
            (
                name,
                f"{one['predict']:.3f}",
                f"{one['score']:.3f}",
                f"{one['score'] / one['predict']:.2f}",
            )
            for name, one in spent["kinds"].items()
        ],
    )
    return "\n\n".join(
        (
            "# Measured scores",
            prose(
                f"""Written by `python -m bench.evaluation`; {found["machine"]}. What the
                scores mean: [evaluation.md](evaluation.md)."""
            ),
            "## Area under the ROC",
            prose(ABOUT_AREAS.format(runs=area_runs)),
            of_areas,
            "## Real tables",
            about(ABOUT_TABLES, real),
            line_table(real),
            "## Two models",
            about(ABOUT_PAIRS, found["pairs"]),
            line_table(found["pairs"]),
            "## Time",
            prose(
                f"""{spent["rows"]:,} rows of {spent["columns"]} columns, arrays in memory,
                processor time, best of five. Predictions of classifiers are
                probabilities."""
            ),
            times,
            "",
        )
    )
