"""Names that moved to another room are found where they were, with a warning."""

import importlib

import pytest

MOVED = {
    "accounting": ("Ledger", "Charge", "Account", "Entry", "Amount"),
    "selection": ("PrivateSearch", "ChunkedSearch", "RandomStopping", "SCORES"),
    "inference": ("Plan", "make_plan", "compare_mechanisms"),
    "mechanisms": ("Napp", "NappTarget", "RlsOut", "RlsObjective"),
}
PAIRS = [(room, name) for room, names in MOVED.items() for name in names]


@pytest.mark.parametrize(("room", "name"), PAIRS)
def test_a_name_that_moved_is_found_with_a_warning(room, name):
    old = importlib.import_module(f"confide.{room}")
    with pytest.warns(DeprecationWarning, match=rf"confide\.{room}\.{name} has") as seen:
        found = getattr(old, name)
    new = str(seen[0].message).rstrip(".").split()[-1]
    assert getattr(importlib.import_module(new), name) is found
    assert name not in old.__all__


@pytest.mark.parametrize("room", MOVED)
def test_other_names_are_missing_as_ever(room):
    old = importlib.import_module(f"confide.{room}")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = old.nothing
