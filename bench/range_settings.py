"""Settings of bought ranges, tried on every table: which grid, levels, share and rule.

    python -m bench.range_settings --runs 4      # into docs/accuracy/range-settings.json

The ranges are simulated: ordinary Gaussian noise is added to exact counts, the schema is
declared with the ranges that are read off, and the model is fitted with what is left of the
budget. Nothing here is private; it shows which choices matter.
"""

import argparse
import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from statistics import mean

from bench.accuracy import DELTA, FOLDER, class_figures
from bench.child import call
from bench.machine import describe
from bench.real_tables import TABLES, parts, unit_rows, widened

PATH = FOLDER / "range-settings.json"
STUDIED = ("Adult", "Bank", "ACS", "KDD", "California", "warfarin")
EPSILONS = {"warfarin": (1.0,)}
"""Tables of few rows cannot buy ranges at small budgets; they are not asked to."""
USUAL_EPSILONS = (0.1, 0.3, 1.0)
WIDTHS = (1, 10, 100)
TINIEST, LARGEST = -20, 60
"""Octaves from 2^-20 to 2^60."""


@dataclass(frozen=True)
class Setting:
    """How ranges are bought; ``share`` is that of μ² and 0 leaves the declared ranges.

    ``grid`` is "octaves" (powers of ``base``) or "uniform" (16 cells between the declared
    limits, the outermost cut into octaves). ``rule`` "drop" forgets cells with fewer than
    ``z`` deviations and reads quantiles off the others; "scan" stops at the first cell at
    which some run of cells holds ``z`` deviations more than a share ``level`` of all rows.
    With two ``looks`` the second cuts what the first found into ``pieces``. With ``reach``
    the range then grows over adjoining cells that hold so many deviations each.
    """

    share: float = 0.1
    grid: str = "octaves"
    base: float = 2.0
    rule: str = "scan"
    level: float = 0.02
    z: float = 2.5
    looks: int = 2
    pieces: int = 8
    reach: float | None = None


USUAL = Setting()
FIRST = Setting(grid="uniform", rule="drop", level=0.08, z=2.0, looks=1)
SETTINGS = {
    "declared ranges": Setting(share=0.0),
    "uniform, drop, 8 %, 2 deviations": FIRST,
    "uniform, drop, 2 %, 3 deviations": replace(FIRST, level=0.02, z=3.0),
    "uniform, scan": replace(FIRST, rule="scan", level=0.02, z=2.5),
    "octaves, one look": replace(USUAL, looks=1),
    "octaves, two looks": USUAL,
    "… 0.5 %": replace(USUAL, level=0.005),
    "… 1 %": replace(USUAL, level=0.01),
    "… 5 %": replace(USUAL, level=0.05),
    "… 8 %": replace(USUAL, level=0.08),
    "… 2 deviations": replace(USUAL, z=2.0),
    "… 3 deviations": replace(USUAL, z=3.0),
    "… 4 deviations": replace(USUAL, z=4.0),
    "… a twentieth": replace(USUAL, share=0.05),
    "… a fifth": replace(USUAL, share=0.2),
    "… 16 pieces": replace(USUAL, pieces=16),
    "… powers of 4, 16 pieces": replace(USUAL, base=4.0, pieces=16),
    "… 3 deviations, grown over 1": replace(USUAL, z=3.0, reach=1.0),
}


# ------------------------------------------------------------------------- buying a range


def bought(values, limits, setting, deviation, draw):
    """Return a range for some values, or the limits if the noise hides everything.

    ``deviation`` is that of every count if there is one look; two share the budget.
    """
    import numpy as np

    values = np.clip(values[~np.isnan(values)], *limits)
    edges = _edges(limits, setting)
    noise = deviation * np.sqrt(setting.looks)

    def look(at):
        counts, _ = np.histogram(values, at)
        return counts + draw.normal(0, noise, len(counts))

    counts = look(edges)
    variances = np.full(len(counts), noise**2)
    found = _ends(counts, variances, setting)
    if setting.looks == 2:
        pieces = np.ones(len(counts), int)
        if found is not None:
            first, last = found
            pieces[first : last + 1] = max(1, setting.pieces // (last - first + 1))
        edges, counts, variances = _second_look(edges, counts, pieces, look, noise)
        found = _ends(counts, variances, setting)
    if found is None:
        return limits
    return float(edges[found[0]]), float(edges[found[1] + 1])


def _second_look(edges, before, pieces, look, noise):
    """Count again in finer cells, and reconcile them with the coarse counts."""
    import numpy as np

    fine = np.concatenate(
        [
            *(
                np.linspace(edges[k], edges[k + 1], some + 1)[:-1]
                for k, some in enumerate(pieces)
            ),
            edges[-1:],
        ]
    )
    counts = look(fine)
    own = np.repeat(np.arange(len(before)), pieces)
    gap = before - np.bincount(own, counts, len(before))
    return fine, counts + (gap / (1 + pieces))[own], (noise**2 * pieces / (1 + pieces))[own]


def _edges(limits, setting):
    import numpy as np

    low, high = limits
    if setting.grid == "octaves":
        ends = (np.array([TINIEST, LARGEST]) / np.log2(setting.base)).astype(int)
        powers = setting.base ** np.arange(ends[0], ends[1] + 1)
        inner = np.concatenate([-powers[::-1], [0.0], powers])
    else:
        even = np.linspace(low, high, 17)
        steps = (even[1] - low) * 2.0 ** -np.arange(1, 11)
        inner = np.concatenate([low + steps[::-1], even[1:-1], high - steps])
    return np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])


def _ends(counts, variances, setting):
    """Return the first and the last cell of the range, or None."""
    if setting.rule == "drop":
        return _quantiles(counts, variances, setting)
    total = max(counts.sum(), 0.0)
    first = _scan(counts, variances, setting.level * total, setting.z)
    back = _scan(counts[::-1], variances[::-1], setting.level * total, setting.z)
    if first is None or back is None:
        return None
    first, last = sorted((first, len(counts) - 1 - back))
    if setting.reach is not None:
        clear = counts > setting.reach * variances**0.5
        while first > 0 and clear[first - 1]:
            first -= 1
        while last < len(counts) - 1 and clear[last + 1]:
            last += 1
    return first, last


def _scan(counts, variances, least, z):
    import numpy as np

    sums = np.concatenate([[0.0], np.cumsum(counts)])
    squares = np.concatenate([[0.0], np.cumsum(variances)])
    for j in range(1, len(sums)):
        held = sums[j] - sums[:j] - z * np.sqrt(squares[j] - squares[:j])
        if held.max() > least:
            return j - 1
    return None


def _quantiles(counts, variances, setting):
    import numpy as np

    kept = np.where(counts > setting.z * np.sqrt(variances), counts, 0.0)
    if not kept.any():
        return None
    shares = np.cumsum(kept) / kept.sum()
    first = np.searchsorted(shares, setting.level, side="right")
    last = np.searchsorted(shares, 1 - setting.level)
    return int(first), int(max(first, last))


# ----------------------------------------------------------------------- fitting with it


def measure(table, setting, runs):
    """Return for every width and budget the mean share that is lost, and the loss."""
    chosen = Setting(**setting)
    return [
        [width, epsilon, *_cell(table, chosen, width, epsilon, runs)]
        for width in WIDTHS
        for epsilon in EPSILONS.get(table, USUAL_EPSILONS)
    ]


def _cell(table, setting, width, epsilon, runs):
    schema, _, _ = parts(table)
    losses = [
        _loss(table, setting, widened(schema, width), epsilon, s) for s in range(runs)
    ]
    null, plain = _references(table)
    loss = mean(losses)
    return float(f"{(loss - plain) / (null - plain):.4g}"), float(f"{loss:.5g}")


def _loss(table, setting, schema, epsilon, seed):
    from confide import Approx, LinearRegression, LogisticRegression
    from confide.privacy import gaussian_epsilon, gaussian_mu

    _, train, test = parts(table)
    if setting.share:
        mu = gaussian_mu(epsilon, DELTA)
        schema = _with_ranges(schema, train, setting, mu, seed)
        epsilon = gaussian_epsilon(mu * (1 - setting.share) ** 0.5, DELTA)
    budget, column = Approx(epsilon, DELTA), schema.target.column
    if TABLES[table].task == "number":
        model = LinearRegression(budget, schema=schema, random_state=seed).fit(train)
        return float(((model.predict(test) - test[column]) ** 2).mean())
    model = LogisticRegression(budget, schema=schema, random_state=seed).fit(train)
    labels = list(schema.target.labels)
    truth = test[column].astype(str).to_numpy()
    return class_figures(model.predict_proba(test), truth, labels)["log loss"]


def _with_ranges(schema, train, setting, mu, seed):
    import numpy as np

    from confide.noise import generator

    numeric = schema.target.labels is None
    count = sum(column.kind == "number" for column in schema.columns) + numeric
    deviation = (count / setting.share) ** 0.5 / mu
    draw = generator([seed, 77])

    def buy(part):
        values = np.asarray(train[part.name], float)
        lower, upper = bought(values, part.ends, setting, deviation, draw)
        return replace(part, lower=lower, upper=upper)

    columns = [buy(c) if c.kind == "number" else c for c in schema.columns]
    target = buy(schema.target) if numeric else schema.target
    return replace(schema, columns=tuple(columns), target=target)


@cache
def _references(table):
    """Return the loss without any column, and without privacy on the declared ranges."""
    import numpy as np
    from sklearn.linear_model import LinearRegression, LogisticRegression

    schema, train, test = parts(table)
    column = schema.target.column
    X, Z = (unit_rows(schema, part) for part in (train, test))
    if TABLES[table].task == "number":
        truth = test[column].to_numpy(float)
        X, Z = schema.encode(train), schema.encode(test)
        predicted = LinearRegression().fit(X, train[column]).predict(Z)
        return float(truth.var()), float(((predicted - truth) ** 2).mean())
    labels = list(schema.target.labels)
    y, z = (part[column].astype(str).to_numpy() for part in (train, test))
    share = (y == labels[1]).mean()
    flat = np.tile([1 - share, share], (len(z), 1))
    model = LogisticRegression(C=100.0, solver="newton-cholesky").fit(X, y == labels[1])
    losses = (class_figures(c, z, labels) for c in (flat, model.predict_proba(Z)))
    null, plain = (one["log loss"] for one in losses)
    return null, plain


def main():
    parser = argparse.ArgumentParser(prog="python -m bench.range_settings")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--tables", default=",".join(STUDIED))
    parser.add_argument("--containing", default="", help="only settings with such a name")
    given = parser.parse_args()
    kept = json.loads(PATH.read_text("utf-8")) if PATH.exists() else {}
    found = kept.get("settings", {})
    for name, setting in SETTINGS.items():
        if given.containing not in name:
            continue
        for table in given.tables.split(","):
            print(name, table, flush=True)
            found.setdefault(name, {})[table] = call(
                "bench.range_settings:measure",
                threads=1,
                table=table,
                setting=asdict(setting),
                runs=given.runs,
            )
        content = {"machine": describe(), "runs": given.runs, "settings": found}
        PATH.parent.mkdir(exist_ok=True)
        PATH.write_text(json.dumps(content) + "\n", "utf-8")


if __name__ == "__main__":
    main()
