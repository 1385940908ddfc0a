"""Multinomial against one-vs-rest: what each adds to the error of a fit without privacy.

`python -m bench.classes` prints one line for every table and budget.
"""

import sys

import numpy as np

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
"""Largest values by common sense; those above 0 are for logarithms, 10,000 elsewhere."""
FLAGS = ("land", "logged_in", "root_shell", "is_host_login", "is_guest_login")


def connections():
    """Return the rows of KDD, scaled to length 1, and their groups."""
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
    """Return made-up rows of a multinomial model."""
    rng = np.random.default_rng(1)
    truth = 6 * rng.normal(size=(classes, columns))
    x = rng.normal(size=(rows, columns))
    x /= np.maximum(1, np.linalg.norm(x, axis=1) / np.sqrt(columns))[:, None]
    x /= np.linalg.norm(x, axis=1).max()
    chances = np.exp(x @ truth.T)
    chances /= chances.sum(axis=1)[:, None]
    return x, (chances.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1)


def scores(model, x, y):
    """Return error and log loss."""
    chances = np.clip(model.predict_proba(x), 1e-12, 1)
    own = chances[np.arange(len(y)), y]
    return np.array([np.mean(model.predict(x) != y), -np.mean(np.log(own))])


def compare(name, x, y, train, seeds):
    """Print the excess of both ways, and their ratio."""
    from sklearn.linear_model import LogisticRegression as WithoutPrivacy

    y = np.asarray(y)
    order = np.random.default_rng(0).permutation(len(y))
    seen, kept = order[:train], order[-len(y) // 5 :]
    some = seen[:100_000]
    least = WithoutPrivacy(C=10, max_iter=200).fit(x[some], y[some])
    floor = scores(least, x[kept], y[kept])
    labels = list(range(int(y.max()) + 1))
    for budget in BUDGETS:
        found = {}
        for way in ("one-vs-rest", "multinomial"):
            fits = [
                LogisticRegression(
                    budget, classes=labels, multi_class=way, random_state=seed
                ).fit(x[seen], y[seen])
                for seed in range(seeds)
            ]
            found[way] = np.mean([scores(fit, x[kept], y[kept]) for fit in fits], axis=0)
        apart, together = (found[way] - floor for way in found)
        print(name, budget, "error and log loss:", *found.values(), together / apart)


def main():
    """Measure both tables, or the simulation alone."""
    compare("seven classes", *simulated(), train=40_000, seeds=8)
    if "--quick" not in sys.argv:
        x, y = connections()
        compare("kdd", x, y, train=int(0.8 * len(y)), seeds=3)


if __name__ == "__main__":
    main()
