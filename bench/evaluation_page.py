"""The page docs/evaluation-figures.md, written from the results of `bench.evaluation`."""

from bench.table import prose, table

TABLES = ("Adult", "Bank", "ACS", "California", "randhie")
ABOUT_AREAS = """\
The rows are simulated, and the scores are the true log-odds. Given the label they are
normally distributed, and the means for the two labels are 1.5 standard deviations apart.
The gap is the difference between the private area and the exact area for the same rows.
*Coverage* is the share of {runs} runs in which the 95 % interval contains the area in the
population. *Inevitable* is the width that would remain if the whole budget were spent on
the counts of rows in twelve cells, and these cells could be chosen without spending any
budget. It includes sampling error (DeLong's variance for the same rows) and the noise on
those counts. *Ratio* is the median ratio of the width to the inevitable width, and *cells*
is the median number of cells in the private curve."""
ABOUT_TABLES = """\
A model was fitted at (1, 1e-6) to one part of a table. The other part is the population:
{runs} times, 5,000 of its rows are drawn with replacement and scored. *Coverage* is the
share of these samples in which the 95 % interval contains the score on all rows of this
part. Its standard error is {error:.3f}. For R² and errors, the score on all rows is
computed without clipping.
{outside}"""
ABOUT_PAIRS = """\
The first model is that of the previous section, and the second was fitted at (0.05, 1e-6)
to the same rows. *Coverage* is the share of {runs} samples in which the 95 % interval
contains the difference between their scores on all rows (first minus second). {outside}"""
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
    """Return a text with the number of runs and the list of unsatisfactory coverages."""
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
        outside = (
            f"The following coverages are not between {WANTED[0]} and {WANTED[1]}: "
            f"{'; '.join(beyond)}."
        )
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
        ("model", "prediction, s", "score, s", "ratio"),
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
                f"""These figures were measured by `python -m bench.evaluation` on this
                machine: {found["machine"]}. [evaluation.md](evaluation.md) explains the
                scores."""
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
                f"""The table shows the processor time for {spent["rows"]:,} rows with
                {spent["columns"]} columns in arrays in memory, the smallest of five
                measurements. Classifiers predict probabilities. The last column is the time
                of the score, divided by that of the prediction."""
            ),
            times,
            "",
        )
    )
