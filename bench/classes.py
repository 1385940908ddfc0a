"""Multinomial against one-vs-rest: excess errors over a fit without privacy.

`python -m bench.classes 20` prints three lines for every table and budget, with 20 seeds.
"""

import sys

import numpy as np

from bench.real_tables import parts
from confide import Approx, LogisticRegression, Pure, Zcdp
from confide.data import load

BUDGETS = (Approx(1, "1e-6"), Pure(1), Approx("0.1", "1e-6"), Zcdp("0.1"))
GROUPS = (
    ("normal",),
    ("back", "land", "neptune", "pod", "smurf", "teardrop"),
    ("satan", "ipsweep", "nmap", "portsweep"),
    (
        *("guess_passwd", "ftp_write", "imap", "phf", "multihop", "warezmaster"),
        *("warezclient", "spy"),
    ),
    ("buffer_overflow", "loadmodule", "perl", "rootkit"),
)
"""Normal connections and four groups of attacks."""
CATEGORIES = ["protocol_type", "service", "flag"]
SIZES = {
    **dict.fromkeys(("duration", "src_bytes", "dst_bytes"), 1e9),
    **dict.fromkeys(("count", "srv_count"), -511.0),
    **dict.fromkeys(("dst_host_count", "dst_host_srv_count"), -255.0),
}
"""Largest values by common sense, 10,000 for other columns.

Columns with a positive size are scaled after a logarithm, those with a negative size
linearly."""
FLAGS = ("land", "logged_in", "root_shell", "is_host_login", "is_guest_login")


def connections():
    """Return the rows of KDD, scaled to norm 1, and the groups of their labels."""
    import pandas as pd

    frame = load("kddcup99")
    places = {name: k for k, group in enumerate(GROUPS) for name in group}
    columns = [
        2 * np.clip(_share(name, frame[name].to_numpy(float)), 0, 1) - 1
        for name in frame.columns
        if name not in (*CATEGORIES, "label")
    ]
    levels = pd.get_dummies(frame[CATEGORIES].astype(str)).to_numpy(float)
    rows = np.column_stack([*columns, levels])
    return rows / np.linalg.norm(rows, axis=1)[:, None], frame["label"].map(places)


def _share(name, values):
    size = SIZES.get(name, 1e4)
    if name.endswith("rate") or name in FLAGS:
        return values
    return values / -size if size < 0 else np.log1p(values) / np.log(size)


def simulated(rows=60_000, columns=10, classes=7):
    """Return simulated features and classes of a multinomial model."""
    rng = np.random.default_rng(1)
    truth = 6 * rng.normal(size=(classes, columns))
    x = rng.normal(size=(rows, columns))
    x /= np.maximum(1, np.linalg.norm(x, axis=1) / np.sqrt(columns))[:, None]
    x /= np.linalg.norm(x, axis=1).max()
    chances = np.exp(x @ truth.T)
    chances /= chances.sum(axis=1)[:, None]
    return x, (chances.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1)


def scores(model, x, y, labels):
    """Return the error rate and the log loss."""
    chances = np.clip(model.predict_proba(x), 1e-12, 1)
    place = {label: list(model.classes_).index(label) for label in labels}
    truth = np.array([place[label] for label in y])
    own = chances[np.arange(len(y)), truth]
    return np.array([np.mean(chances.argmax(axis=1) != truth), -np.mean(np.log(own))])


def compare(name, pairs, floor, labels, *, seeds, budgets):
    """Print the scores of both methods, and the ratio of their excess errors.

    ``pairs`` has a schema (None for arrays), the arguments of ``fit``, and the test rows
    with their targets. ``floor`` has the scores that are subtracted.
    """
    schema, train, (x, y) = pairs
    for budget in budgets:
        found = {}
        for way in ("one-vs-rest", "multinomial"):
            facts = {"schema": schema}
            if schema is None:
                facts = {"classes": labels, "row_norm": 1.0}
            fits = (
                LogisticRegression(budget, multi_class=way, random_state=seed, **facts).fit(
                    *train
                )
                for seed in range(seeds)
            )
            each = np.array([scores(fit, x, y, labels) for fit in fits])
            found[way] = each.mean(axis=0)
            spread = each.std(axis=0, ddof=1) / np.sqrt(seeds)
            print(
                name, budget, way, "error, log loss:", found[way], "+-", spread, flush=True
            )
        apart, together = (found[way] - floor for way in found)
        print(name, budget, "multinomial over one-vs-rest:", together / apart, flush=True)


def floor_of(x, y, z, w, labels):
    """Return the scores of a fit without privacy."""
    from sklearn.linear_model import LogisticRegression as WithoutPrivacy

    model = WithoutPrivacy(C=10, max_iter=200).fit(x[:100_000], y[:100_000])
    return scores(model, z, w, labels)


def of_arrays(x, y, train):
    """Return training and test arrays, scores without privacy, and labels."""
    y = np.asarray(y)
    order = np.random.default_rng(0).permutation(len(y))
    seen, kept = order[:train], order[-len(y) // 5 :]
    labels = list(range(int(y.max()) + 1))
    floor = floor_of(x[seen], y[seen], x[kept], y[kept], labels)
    return (None, (x[seen], y[seen]), (x[kept], y[kept])), floor, labels


def of_table():
    """Return the KDD groups with their schema: 100,000 training and 100,000 test rows.

    Fits with privately estimated ranges are better than a fit without privacy with the
    declared ranges. Nothing is therefore subtracted from the errors. A ratio of excess
    errors would be smaller.
    """
    schema, train, test = parts("KDD groups")
    column, labels = schema.target.column, list(schema.target.labels)
    truth = test[column].astype(str).to_numpy()
    return (schema, (train,), (test, truth)), np.zeros(2), labels


def of_simulation():
    """Return the simulation with a schema whose ranges are twice as wide as needed."""
    import pandas as pd

    from confide.data import Number, Schema, Target

    (_, (x, y), (z, w)), floor, labels = of_arrays(*simulated(), train=40_000)
    names = [f"x{j}" for j in range(x.shape[1])]
    columns = tuple(Number(name, -1.0, 1.0) for name in names)
    texts = [str(label) for label in labels]
    schema = Schema(columns=columns, target=Target("y", labels=tuple(texts)))
    train, test = (
        pd.DataFrame(rows, columns=names).assign(y=own.astype(str))
        for rows, own in ((x, y), (z, w))
    )
    return (schema, (train,), (test, w.astype(str))), floor, texts


def main():
    """Run all cases, or those whose names begin with one of the arguments."""
    cases = {
        "simulation": lambda: of_arrays(*simulated(), train=40_000),
        "simulation, schema": of_simulation,
        "kdd, schema": of_table,
        "kdd": lambda: of_arrays(*connections(), train=395_216),
    }
    wanted = tuple(sys.argv[2:]) or ("",)
    for name, case in cases.items():
        if name.startswith(wanted):
            budgets = BUDGETS if name.startswith("sim") else BUDGETS[:2]
            compare(name, *case(), seeds=int(sys.argv[1]), budgets=budgets)


if __name__ == "__main__":
    main()
