"""The parts of docs/extending.md, a package outside confide, serve like confide's own."""

import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from confide import Approx, Ledger, LinearRegression, Pure, Schema, Zcdp, load_model
from confide.accounting import EVENTS, PureEvent, as_pure, as_zcdp, compose
from confide.cli import app
from confide.data import COLUMNS, compare_table, open_table, read_table, schema_template
from confide.estimators import ESTIMATORS
from confide.mechanisms import MECHANISMS
from confide.noise import NOISES
from confide.objectives import LOSSES
from confide.planning import plan_fit
from confide.reporting import model_card, report_page

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
REGISTRIES = (LOSSES, COLUMNS, NOISES, EVENTS, MECHANISMS, ESTIMATORS)
SCHEMA = """
name = "forest"

[target]
column = "height"
lower = 0
upper = 40
unit = "m"

[columns.cover]
kind = "percentage"

[columns.age]
kind = "number"
lower = 0
upper = 200
"""


@pytest.fixture(scope="module")
def outside():
    """Run the page as a module of its own; its registrations are undone afterwards."""
    kept = [dict(registry) for registry in REGISTRIES]
    module = ModuleType("outside")
    sys.modules["outside"] = module
    try:
        for example in re.findall(
            r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
        ):
            exec(compile(example, str(PAGE), "exec"), vars(module))  # noqa: S102
        yield module
    finally:
        del sys.modules["outside"]
        for registry, entries in zip(REGISTRIES, kept, strict=True):
            registry._entered = entries


@pytest.fixture
def folder(outside, tmp_path):
    """A table and its schema."""
    rng = np.random.default_rng(0)
    cover, age = rng.integers(0, 101, 800), rng.uniform(0, 200, 800)
    height = 5 + 0.1 * cover + 0.1 * age + rng.normal(0, 2, 800)
    table = pd.DataFrame(
        {"cover": [f"{c} %" for c in cover], "age": age.round(1), "height": height.round(2)}
    )
    table.to_csv(tmp_path / "forest.csv", index=False)
    (tmp_path / "forest.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def schema(folder):
    return Schema.from_toml(folder / "forest.toml")


@pytest.fixture
def model(outside, folder, schema):
    """A model of outside parts alone, paid for by a ledger."""
    book = Ledger.open(folder / "book.db")
    book.set_limit("forest", Approx(100, "1e-6"))
    fitted = outside.LogCoshRegression(
        Pure(20), schema=schema, mechanism="cube-output", ledger=book, ranges="public"
    )
    return fitted.fit(str(folder / "forest.csv"))


def charge_of(book):
    """Return the only charge on the table."""
    (charge,) = (entry for entry in book.entries("forest") if entry.kind == "charge")
    return charge


def test_the_page_registers_a_part_of_every_kind(outside):
    for registry, name in zip(
        REGISTRIES,
        ("log-cosh", "percentage", "cube", "cube", "cube-output", "LogCoshRegression"),
        strict=True,
    ):
        assert name in registry


def test_a_column_kind_is_read_from_files_and_shown(outside, folder, schema):
    assert schema.columns[0] == outside.Percentage("cover")
    assert Schema.from_mapping(schema.to_mapping()) == schema
    frame = read_table(folder / "forest.csv", schema)
    encoded = schema.encode(frame)[:, 0]
    shares = pd.read_csv(folder / "forest.csv")["cover"].str.rstrip(" %").astype(float)
    np.testing.assert_allclose(encoded, shares / 50 - 1, atol=1e-12)
    told = plan_fit(LinearRegression(Pure(1), schema=schema), 800, draws=3)
    assert [column.per for column in told.columns] == ["percentage point", "1"]
    text = schema_template(folder / "forest.csv")
    assert '#   percentage nothing else: 35, or "35 %"' in text
    assert "# number, category, boolean, date or percentage" in text


def test_a_table_is_checked_against_a_column_kind(folder, schema):
    pd.DataFrame(
        {"cover": ["5 %", "120 %", "full"], "age": [1, 2, 3], "height": [1, 2, 3]}
    ).to_csv(folder / "odd.csv", index=False)
    finding = compare_table(schema, folder / "odd.csv").findings[0]
    assert (finding.kind, finding.outside, finding.unreadable) == ("percentage", 1, 1)


def test_a_table_of_parquet_files_is_streamed(outside, folder, schema):
    path = folder / "forest.parquet"
    pd.read_csv(folder / "forest.csv").to_parquet(path)
    kind, settings = outside.LogCoshRegression, {"schema": schema, "random_state": 0}
    streamed = kind(Pure(20), mechanism="cube-output", **settings).fit(open_table(path))
    whole = kind(Pure(20), mechanism="cube-output", **settings).fit(pd.read_parquet(path))
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-6)


def test_a_model_of_outside_parts_predicts(outside, folder, schema):
    fitted = outside.LogCoshRegression(
        Pure(1000), schema=schema, mechanism="cube-output", l2=5.0, random_state=0
    ).fit(str(folder / "forest.csv"))
    truth = pd.read_csv(folder / "forest.csv")["height"]
    residuals = truth - fitted.predict(str(folder / "forest.csv"))
    assert residuals.std() < 0.6 * truth.std()
    assert fitted.release_.noise[0].kind == "cube"


@pytest.mark.parametrize("mechanism", ["objective", "output", "momentum"])
def test_mechanisms_take_an_outside_loss(outside, folder, schema, mechanism):
    fitted = outside.LogCoshRegression(
        Approx(20, "1e-6"), schema=schema, mechanism=mechanism, random_state=0
    ).fit(str(folder / "forest.csv"))
    assert np.isfinite(fitted.coef_).all()


def test_a_model_of_outside_parts_is_saved_and_loaded(model, folder):
    model.save(folder / "model.json")
    loaded = load_model(folder / "model.json")
    assert type(loaded) is type(model)
    assert loaded.release_.events == model.release_.events
    assert loaded.schema == model.schema
    assert str(loaded.summary()) == str(model.summary())
    table = str(folder / "forest.csv")
    assert np.array_equal(loaded.predict(table), model.predict(table))


def test_a_model_of_outside_parts_is_reported(model, folder):
    summary = model.summary()
    assert "cover" in report_page(summary, title="Heights", dataset="forest")
    assert "cube" in model_card(summary, dataset="forest")
    model.save(folder / "model.json")
    words = ["report", str(folder / "model.json"), "--out", str(folder / "report.html")]
    result = CliRunner().invoke(
        app, [*words, "--ledger", str(folder / "book.db"), "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)
    assert "Log-cosh regression of height" in (folder / "report.html").read_text("utf-8")


def test_a_ledger_keeps_an_outside_event(outside, model, folder):
    Ledger.open(folder / "book.db").close()
    book = Ledger.open(folder / "book.db")
    assert charge_of(book).events == (outside.CubeEvent(Fraction(20)),)
    assert book.verify() == 3
    assert book.account("forest").spent.epsilon == 20


def test_an_outside_event_costs_what_it_says(outside, tmp_path):
    event, known = outside.CubeEvent(Fraction(1, 2)), PureEvent(Fraction(1, 2))
    assert as_pure([event, known]) == Pure(1)
    assert as_zcdp([event]) == as_zcdp([known])
    assert compose([event, event], 1e-6) == compose([known, known], 1e-6)
    book = Ledger.open(tmp_path / "book.db")
    book.set_limit("trees", Zcdp(1))
    charge_entry = book.charge("trees", Approx("1/2", "1e-6"), [event])
    assert charge_entry.counted.rho == as_zcdp([known]).rho
    assert book.entries("trees")[-1].events == (event,)


def test_a_person_with_several_rows_costs_more(outside, folder, schema):
    several = Schema(schema.columns, schema.target, schema.name, rows_per_person=4)
    book = Ledger.open(folder / "book.db")
    book.set_limit("forest", Pure(100))
    outside.LogCoshRegression(
        Pure(20), schema=several, mechanism="cube-output", ledger=book, ranges="public"
    ).fit(str(folder / "forest.csv"))
    assert charge_of(book).events == (outside.CubeEvent(Fraction(20)),)
