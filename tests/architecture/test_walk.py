"""How many files a fit goes through: whoever follows the data has to open them all."""

import importlib
import pkgutil
import sys
from pathlib import Path

import pytest

import confide
from confide import Approx, Ledger, LogisticRegression, Schema
from support.clinic import SCHEMA, clinic
from support.commands import run

SOURCE = Path(confide.__file__).parent
ROOMS = [m.name for m in pkgutil.walk_packages(confide.__path__, "confide.")]
BUDGET = Approx(1, 1e-6)


@pytest.fixture
def visited():
    """Return a function that says which files have functions that a call enters."""
    for name in ROOMS:
        if not name.endswith("__main__"):
            importlib.import_module(name)

    def files_of(call):
        found = set()

        def note(frame, event, _):
            if event == "call":
                found.add(frame.f_code.co_filename)

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(before)
        inside = [Path(name) for name in found if name.startswith(str(SOURCE))]
        return [path for path in inside if path.name != "__init__.py"]

    return files_of


@pytest.mark.slow
def test_a_command_that_fits_goes_through_few_files(visited, tmp_path):
    """docs/decisions/0007-files.md has what was measured; coverage would disturb this."""
    names = [tmp_path / name for name in ("t.csv", "t.toml", "book.db", "model.json")]
    table, schema, book, model = map(str, names)
    clinic(4000).to_csv(table, index=False)
    names[1].write_text(SCHEMA.to_toml(), encoding="utf-8")
    Ledger.open(book).set_limit("clinic", BUDGET)
    words = ("fit", table, "--schema", schema, "--epsilon", "1", "--delta", "1e-6")
    more = ("--intervals", "auto", "--ledger", book, "--out", model)
    done = []
    found = visited(lambda: done.append(run(*words, *more)))
    assert done[0].exit_code == 0, done[0].output
    assert 20 < len(found) <= 115, sorted(map(str, found))


@pytest.mark.slow
@pytest.mark.parametrize(("source", "most"), [("schema", 75), ("arrays", 55)])
def test_a_fit_goes_through_few_files(visited, source, most):
    table = clinic(4000)
    if source == "schema":
        schema = Schema.from_mapping(SCHEMA.to_mapping())
        model, data = LogisticRegression(BUDGET, schema=schema), (table,)
    else:
        rows = table[["age", "income"]].to_numpy() / 1000
        model, data = LogisticRegression(BUDGET, row_norm=1.0), (rows, table["ill"])
    found = visited(lambda: model.fit(*data))
    assert 20 < len(found) <= most, sorted(map(str, found))
