"""Distributions of columns in real public tables, from which plans simulate unseen tables.

CONFIDE_DATA=... python -m bench.column_shapes    # writes src/confide/planning/shapes.json

A number is stored as quantiles, as fractions of the range that its bundled schema declares.
A category is stored as the shares of its levels, largest first. For targets, the share of
the variation that the columns explain is also stored.
"""

import json

from bench.child import ROOT
from bench.real_tables import TABLES, parts

FILE = ROOT / "src" / "confide" / "planning" / "shapes.json"
POINTS = 50
"""Number of equally likely values that represent a column."""
SAMPLE = 50_000


def main():
    found = {name: shapes(name) for name in TABLES if name != "KDD groups"}
    FILE.write_text(written(found), "utf-8")


def shapes(name):
    """Return quantiles of numbers, shares of levels and true values, and the target."""
    import numpy as np

    schema, train, _ = parts(name)
    numbers, levels, yes = {}, {}, {}
    for column in schema.columns:
        values = column.read(train[column.name])
        if column.coded:
            codes = values[values >= 0]
            counts = np.bincount(codes, minlength=len(column.features))
            levels[column.name] = _short(np.sort(counts)[::-1] / len(values))
        elif column.possible:
            yes[column.name] = _short(np.nanmean(values))
        else:
            numbers[column.name] = _quantiles(values, column.ends)
    found = {"numbers": numbers, "levels": levels, "yes": yes}
    return found | {"target": target(name, schema, train)}


def target(name, schema, train):
    """Return label shares or quantiles, and how well the columns explain the target."""
    import numpy as np
    from sklearn.linear_model import LinearRegression, LogisticRegression

    task, column = TABLES[name].task, schema.target.column
    rows = train.iloc[:SAMPLE]
    X = schema.encode(rows)
    if task == "classes":
        labels = [str(label) for label in schema.target.labels]
        y = np.array([labels.index(one) for one in rows[column].astype(str)])
        model = LogisticRegression(C=100.0, solver="newton-cholesky").fit(X, y)
        shares = np.bincount(y, minlength=len(labels)) / len(y)
        spread = float(np.std(model.decision_function(X)))
        return {"shares": _short(shares), "spread": _short(spread)}
    values = rows[column].to_numpy(float)
    lower, upper = schema.target.ends
    lower = max(lower, 0.0) if task == "count" else lower
    y = np.clip(values, lower, upper)
    if task == "count":
        from sklearn.linear_model import PoissonRegressor

        model = PoissonRegressor(alpha=0, tol=1e-8, max_iter=1000).fit(X, y)
        explained = float(np.var(model.predict(X)) / np.var(y))
    else:
        explained = float(LinearRegression().fit(X, y).score(X, y))
    points = _quantiles(values, (lower, upper))
    return {"points": points, "explained": _short(explained), "counts": task == "count"}


def _quantiles(values, ends):
    import numpy as np

    lower, upper = ends
    known = values[np.isfinite(values)]
    places = (np.arange(POINTS) + 0.5) / POINTS
    found = np.quantile(np.clip(known, lower, upper), places)
    return _short((found - lower) / (upper - lower))


def _short(value):
    import numpy as np

    if np.ndim(value):
        return [_short(one) for one in value]
    return float(f"{value:.4g}")


def written(found):
    """Return JSON with one line per column."""
    tables = []
    for name, parts_of in found.items():
        lines = ",\n".join(
            f"  {json.dumps(part)}: {_section(entries)}"
            for part, entries in parts_of.items()
        )
        tables.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(tables) + "\n}\n"


def _section(entries):
    lines = (f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())
    return "{\n" + ",\n".join(lines) + "\n  }" if entries else "{}"


if __name__ == "__main__":
    main()
