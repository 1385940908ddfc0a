"""Three classes or more: one loss, one noise, one line of coefficients for every class."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from confide import (
    Approx,
    LinearSVC,
    LogisticRegression,
    Number,
    Pure,
    Schema,
    Target,
    Zcdp,
    load_model,
)
from confide.errors import InvalidParameter
from confide.ledger import Ledger
from confide.mechanisms import MECHANISMS, Intervals, ObjectivePerturbation
from confide.objectives import L1, Logistic, Objective
from confide.privacy import Neighbours, Status
from support.commands import run

RICH = Zcdp(10**9)
K = 4
every_budget = pytest.mark.parametrize(
    "budget", [Pure(1), Approx(1, 1e-6), Zcdp("0.1")], ids=str
)


def table(rows=3000, columns=3, seed=5):
    rng = np.random.default_rng(seed)
    truth = 4 * rng.normal(size=(K, columns))
    x = rng.normal(size=(rows, columns))
    x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    chances = softmax(x @ truth.T, axis=1)
    y = (chances.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1)
    return x, y


X, Y = table()


def fitted(budget=RICH, x=X, y=Y, **settings):
    classes = settings.pop("classes", list(range(K)))
    model = LogisticRegression(
        budget, classes=classes, random_state=1, row_norm=1.0, **settings
    )
    return model.fit(x, y)


def test_with_a_rich_budget_it_is_the_minimiser_of_the_multinomial_loss():
    model = fitted(l2=2.0)
    points = np.column_stack([X, np.full(len(X), 0.3)])
    value = model.release_.value
    gaps = softmax(points @ value.T, axis=1) - np.eye(K)[Y]
    np.testing.assert_allclose(gaps.T @ points + 2.0 * value, 0, atol=0.02)
    np.testing.assert_allclose(value.sum(axis=0), 0, atol=1e-12)
    assert model.coef_.shape == (K, 3)
    assert model.intercept_.shape == (K,)


def test_chances_are_a_softmax_of_the_scores():
    model = fitted()
    scores = model.decision_function(X[:50])
    np.testing.assert_allclose(scores, X[:50] @ model.coef_.T + model.intercept_)
    chances = model.predict_proba(X[:50])
    np.testing.assert_allclose(chances, softmax(scores, axis=1))
    assert (model.predict(X[:50]) == chances.argmax(axis=1)).all()
    np.testing.assert_allclose(model.predict_log_proba(X[:50]), np.log(chances))


@every_budget
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_one_noise_serves_all_classes(budget, mechanism):
    together = fitted(budget, mechanism=MECHANISMS[mechanism](noise="gaussian"), l2=1e4)
    together = together.release_
    normal = MECHANISMS[mechanism](noise="gaussian")
    alone = LogisticRegression(
        budget, mechanism=normal, l2=1e4, random_state=1, row_norm=1.0
    )
    binary = alone.fit(X, (Y > 1).astype(int)).release_
    most = 1.1 if isinstance(budget, Approx) and mechanism == "objective" else 1.001
    assert 1.41 < together.noise_scale / binary.noise_scale < 1.415 * most
    assert together.guarantee.status is Status.PROVED
    assert together.guarantee.budget == budget


@every_budget
def test_it_is_the_default_and_one_vs_rest_an_option(budget):
    assert fitted(budget).release_.guarantee.theorem.startswith("multinomial.md")
    apart = fitted(budget, multi_class="one-vs-rest").release_
    joint = Objective(Logistic(), 4, np.hypot(1, 0.3), height=0.3)
    plan = ObjectivePerturbation().calibrate(joint, budget, Neighbours.ADD_REMOVE, copies=K)
    assert apart.noise_scale == plan.noise.scale
    svm = LinearSVC(budget, classes=list(range(K)), random_state=1, row_norm=1.0).fit(X, Y)
    assert svm.release_.guarantee.theorem.startswith("objective-perturbation.md")


@pytest.mark.parametrize(
    "settings",
    [
        {"l1": 3.0},
        {"penalty": L1(3.0)},
        {"coef_norm": 5.0},
        {"slope_bound": 0.5},
        {"mechanism": "momentum"},
        {"mechanism": "adaptive", "l1": 3.0},
    ],
    ids=str,
)
def test_what_a_multinomial_fit_has_not_is_one_vs_rest_unless_it_is_asked_for(settings):
    model = fitted(Approx(4, 1e-6), **settings)
    assert model.coef_.shape == (K, 3)
    assert not model.release_.guarantee.theorem.startswith("multinomial.md")
    chances = model.predict_proba(X[:9])
    assert not np.allclose(chances, softmax(model.decision_function(X[:9]), axis=1))
    with pytest.raises(InvalidParameter, match="one-vs-rest"):
        fitted(Approx(4, 1e-6), multi_class="multinomial", **settings)


@pytest.mark.parametrize("wrong", ["ovr", None, 3])
def test_other_names_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="multi_class"):
        fitted(multi_class=wrong)


def test_two_classes_are_one_binary_fit_whatever_is_asked_for():
    first, second = (
        LogisticRegression(RICH, random_state=1, multi_class=way, row_norm=1.0).fit(
            X, Y > 1
        )
        for way in ("multinomial", "one-vs-rest")
    )
    assert (first.coef_ == second.coef_).all()
    assert first.coef_.shape == (1, 3)


def test_more_classes_than_one_loss_takes_are_one_vs_rest():
    model = fitted(Pure(10), classes=list(range(101)))
    assert len(model.coef_) == 101
    assert model.release_.guarantee.theorem.startswith("objective-perturbation.md")
    assert model.predict_proba(X[:3]).sum() == pytest.approx(3)


def test_a_row_with_an_unknown_label_counts_for_nothing():
    longer = np.vstack([X, X[:400]])
    labels = np.append(Y, np.full(400, 99))
    with_them, without = fitted(x=longer, y=labels), fitted()
    np.testing.assert_allclose(with_them.coef_, without.coef_, atol=1e-7)


def test_labels_that_nobody_declared_are_an_assumption():
    model = LogisticRegression(RICH, random_state=1, row_norm=1.0).fit(X, Y)
    assert (model.classes_ == np.arange(K)).all()
    assert any("labels" in one for one in model.release_.guarantee.assumptions)


def test_the_ledger_is_charged_once(tmp_path):
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("people", Approx(3, 1e-5))
    model = LogisticRegression(
        Approx(1, 1e-6),
        classes=list(range(K)),
        ledger=book.for_dataset("people"),
        row_norm=1.0,
    )
    model.fit(X, Y)
    account = book.account("people")
    assert (account.charges, str(account.spent)) == (1, str(Approx(1, 1e-6)))


@every_budget
@pytest.mark.parametrize("intervals", [None, True, {"variant": "model-based"}], ids=str)
def test_a_file_brings_the_same_model_back(tmp_path, budget, intervals):
    model = fitted(budget, intervals=intervals)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.get_params()["multi_class"] == "auto"
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert str(again.summary()) == str(model.summary())
    assert "one multinomial loss" in str(model.summary())


def test_a_file_that_does_not_say_holds_one_vs_rest(tmp_path):
    model = fitted(Pure(1), multi_class="one-vs-rest")
    path = tmp_path / "model.json"
    model.save(path)
    record = json.loads(path.read_text("utf-8"))
    del record["settings"]["multi_class"]
    path.write_text(json.dumps(record), "utf-8")
    again = load_model(path)
    assert again.multi_class == "one-vs-rest"
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_a_damaged_law_is_refused(tmp_path):
    path = tmp_path / "model.json"
    fitted(Pure(1), intervals=True).save(path)
    record = json.loads(path.read_text("utf-8"))
    record["release"]["extras"]["intervals"]["laws"][0]["dimension"] = 1
    path.write_text(json.dumps(record), "utf-8")
    with pytest.raises(InvalidParameter, match="model file"):
        load_model(path)


def test_intervals_have_a_line_for_every_class_and_column():
    model = fitted(Zcdp(10**6), intervals=True)
    assert len(model.intervals_) == K * 4
    for line in model.summary().rows:
        assert line.lower < line.estimate < line.upper


@pytest.mark.slow
@pytest.mark.parametrize("of", ["plain", "penalised"])
@pytest.mark.parametrize("variant", ["tight", "model-based"])
@pytest.mark.parametrize("budget", [Zcdp(10**6), Zcdp(2), Approx(4, 1e-6)], ids=str)
def test_intervals_cover_what_they_should(budget, variant, of):
    """Of 40 tables and 12 slopes; dependent ones count as a third: once in 10⁵."""
    ridge = 2.0 if of == "penalised" else 1e-3
    reference = LogisticRegression(
        RICH,
        classes=list(range(K)),
        random_state=0,
        l2=ridge * 400_000 / 6000,
        row_norm=1.0,
    ).fit(*table(400_000, seed=5))
    hits = []
    rng = np.random.default_rng(7)
    truth = 4 * np.random.default_rng(5).normal(size=(K, 3))
    for seed in range(40):
        x = rng.normal(size=(6000, 3))
        x /= np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
        chances = softmax(x @ truth.T, axis=1)
        y = (chances.cumsum(axis=1) < rng.random(6000)[:, None]).sum(axis=1)
        model = LogisticRegression(
            budget,
            classes=list(range(K)),
            random_state=seed,
            l2=2.0,
            intervals=Intervals(variant=variant, of=of),
            row_norm=1.0,
        )
        model.fit(x, y)
        lines = [one for one in model.summary().rows if "intercept" not in one.name]
        centre = reference.coef_.ravel()
        hits += [
            one.lower <= value <= one.upper
            for one, value in zip(lines, centre, strict=True)
            if one.identified
        ]
    assert len(hits) > 200
    blur = 4.3 * np.sqrt(0.95 * 0.05 / (len(hits) / 3))
    assert np.mean(hits) >= 0.95 - blur


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Zcdp(10**6), Approx(4, 1e-6)], ids=str)
def test_intervals_of_weighed_records_cover_the_truth(budget):
    """Rows of very different lengths: 40 tables, 12 slopes, false alarms as above."""
    rng, hits, names = np.random.default_rng(11), [], list("abc")
    truth = 4 * np.random.default_rng(5).normal(size=(K, 3))
    labels = tuple("pqrs")
    columns = tuple(Number(name, -1, 1, range="public") for name in names)
    schema = Schema(columns, Target("y", labels=labels))
    for seed in range(40):
        x = rng.uniform(-1, 1, size=(6000, 3)) * rng.choice([0.1, 1.0], size=(6000, 1))
        chances = softmax(x @ truth.T, axis=1)
        y = (chances.cumsum(axis=1) < rng.random(6000)[:, None]).sum(axis=1)
        frame = pd.DataFrame(x, columns=names).assign(y=np.array(labels)[y])
        model = LogisticRegression(budget, schema=schema, random_state=seed, intervals=True)
        assert model.fit(frame).release_.record_norm is not None, "records are weighed"
        lines = [one for one in model.summary().rows if "intercept" not in one.name]
        centre = (truth - truth.mean(axis=0)).ravel()
        hits += [
            one.lower <= value <= one.upper
            for one, value in zip(lines, centre, strict=True)
            if one.identified
        ]
    assert len(hits) > 200
    assert np.mean(hits) >= 0.95 - 4.3 * np.sqrt(0.95 * 0.05 / (len(hits) / 3))


def test_published_intervals_are_about_one_score():
    with pytest.raises(InvalidParameter, match="one-vs-rest"):
        fitted(intervals={"variant": "published"})
    apart = {"variant": "published"}
    assert fitted(intervals=apart, multi_class="one-vs-rest").intervals_


@pytest.mark.slow
def test_a_schema_with_three_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = Schema(
        tuple(Number(name, -1, 1) for name in "abc"),
        Target("kind", labels=("red", "green", "blue", "grey")),
        "colours",
    )
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        kind=np.array(["red", "green", "blue", "grey"])[Y]
    )
    model = LogisticRegression(Approx(2, 1e-6), schema=schema, random_state=2).fit(frame)
    assert model.coef_.shape == (K, 3)
    assert np.mean(model.predict(frame) == frame["kind"]) > 0.6
    frame.to_csv("t.csv", index=False)
    (tmp_path / "s.toml").write_text(schema.to_toml(), encoding="utf-8")
    words = ("fit", "t.csv", "--schema", "s.toml", "--epsilon", "2", "--delta", "1e-6")
    done = run(*words, "--out", "m.json", "--seed", "2")
    assert done.exit_code == 0, done.output
    assert "is ignored" in " ".join(done.output.split())
    again = load_model("m.json")
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-9)
    streamed = run(*words, "--stream", "--out", "n.json", "--seed", "2")
    assert streamed.exit_code == 0, streamed.output
    np.testing.assert_allclose(load_model("n.json").coef_, model.coef_, rtol=1e-6)
    apart = run(*words, "--multi-class", "one-vs-rest", "--out", "o.json")
    assert apart.exit_code == 0, apart.output
    assert "treated as negative" in " ".join(apart.output.split())
    svm = run(*words, "--model", "svm", "--multi-class", "multinomial")
    assert svm.exit_code != 0
    assert run("report", "m.json").exit_code == 0
    guessed = run("predict", "m.json", "t.csv", "--out", "g.csv")
    assert guessed.exit_code == 0, guessed.output
    assert "probability of blue" in pd.read_csv("g.csv").columns
