"""Every kind of model and column on the way from a form to a prediction."""

import numpy as np
import pytest

from confide.web.orders import State
from support.pages import PLANNED, Visitor, words

pytestmark = pytest.mark.slow
DECLARED = {
    "rows_per_person": "1",
    "rows": "2000",
    "kind-0": "boolean",
    "kind-1": "date",
    "first-1": "2010-01-01",
    "last-1": "2020-01-01",
    "kind-2": "number",
}
NUMBER = {"target": "4", "target-kind": "number"}
DOSE = {**NUMBER, "target-lower": "0", "target-upper": "80", "target-unit": "mg"}
CASES = {
    "linear": (DOSE, {"model": "linear"}, "dose: "),
    "bought": (NUMBER, {"model": "linear"}, "dose: "),
    "bare": (DOSE, {"model": "linear", "intervals": "", "holdout": ""}, "dose: "),
    "pure": (DOSE, {"model": "linear", "delta": "", "intervals": ""}, "dose: "),
    "poisson": (
        {**NUMBER, "target": "3", "target-lower": "0", "target-upper": "20"},
        {"model": "poisson"},
        "visits: ",
    ),
    "svm": (
        {"target": "5", "target-kind": "labels", "target-labels": "a, b"},
        {"model": "svm"},
        "kind: ",
    ),
    "classes": (
        {"target": "5", "target-kind": "labels", "target-labels": "a, b, c"},
        {"model": "logistic"},
        "probability of c: ",
    ),
}


def write_visits(path, rows=2000):
    rng = np.random.default_rng(7)
    smoker, age = rng.random(rows) < 0.3, rng.uniform(20, 80, rows)
    lines = [
        f"{'yes' if s else 'no'},{y}-05-0{d},{a:.1f},{v},{a / 2 + 5 * s + e:.2f},{k}"
        for s, y, d, a, v, e, k in zip(
            smoker,
            rng.integers(2010, 2020, rows),
            rng.integers(1, 10, rows),
            age,
            rng.integers(0, 10, rows),
            rng.normal(0, 4, rows),
            rng.choice(["a", "b", "c"], rows),
            strict=True,
        )
    ]
    path.write_text("smoker,joined,age,visits,dose,kind\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_fitted_shown_and_used(tmp_path, name):
    declared, planned, said = CASES[name]
    write_visits(tmp_path / "v.csv")
    visitor = Visitor(tmp_path)
    project = visitor.project("v.csv")
    visitor.to(visitor.post(f"{project}/schema", {**DECLARED, **declared, "name": name}))
    visitor.post("/ledger/limit", {"dataset": name, "epsilon": "9", "delta": "1e-5"})
    order = visitor.draft(project, **{**PLANNED, "epsilon": "2", **planned})
    visitor.to(visitor.pay(order))
    standing = visitor.wait(order)
    assert standing.state is State.RELEASED, standing.words
    assert "(intercept)" in words(visitor.get(order))
    row = {"value-0": "yes", "value-1": "2015-05-01", "value-2": "44"}
    answer = words(visitor.post(f"{order}/predict", row))
    assert said in answer
    for file in ("model.json", "report.html", "coefficients.csv", "command.sh"):
        assert visitor.get(f"{order}/files/{file}").status_code == 200
    compile(visitor.get(f"{order}/files/script.py").text, "script.py", "exec")
    assert visitor.get(f"{order}/files/lock").status_code == 422
