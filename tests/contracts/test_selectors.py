"""Every selector keeps the contract of selectors, and the contract notices faults."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from confide.noise import Entropy
from confide.privacy import Neighbours, Pure
from confide.selection import (
    SELECTORS,
    ExponentialSelector,
    SampleAggregateSelector,
    ScreeningSelector,
)
from confide.testing import check_selector

PLAIN = {
    "screening": ScreeningSelector(2),
    "sample-aggregate": SampleAggregateSelector(2, 8),
    "exponential": ExponentialSelector(1),
}
VARIANTS = {
    "screening without a centre": ScreeningSelector(3, 0),
    "screening of many": ScreeningSelector(10),
    "votes with Laplace noise": SampleAggregateSelector(1, 8, "laplace"),
    "exponential, two columns": ExponentialSelector(2),
}


def test_the_registry_did_not_shrink_and_every_entry_is_tried():
    assert set(PLAIN) == set(SELECTORS)
    assert all(type(PLAIN[name]) is SELECTORS[name] for name in SELECTORS)


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_every_selector_keeps_its_contract(name):
    check_selector(PLAIN[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_configuration_keeps_its_contract(name):
    check_selector(VARIANTS[name])


def changed(**fields):
    """Return a calibrate method whose result differs in some fields."""

    def calibrate(self, objective, budget, neighbours, *, copies=1):
        found = ScreeningSelector.calibrate(
            self, objective, budget, neighbours, copies=copies
        )
        return replace(found, **{name: make(found) for name, make in fields.items()})

    return calibrate


def quieter(self, calibration, rows, entropy):
    """Select with a tenth of the noise that was calibrated."""
    noise = replace(calibration.noise, scale=calibration.noise.scale / 10)
    return ScreeningSelector.select(self, replace(calibration, noise=noise), rows, entropy)


def deaf_to_copies(self, objective, budget, neighbours, *, copies=1):
    found = ScreeningSelector.calibrate(self, objective, budget, neighbours)
    return replace(found, copies=copies)


def cheaper_for_replacing(self, objective, budget, neighbours, *, copies=1):
    found = ScreeningSelector.calibrate(self, objective, budget, neighbours, copies=copies)
    factor = 0.4 if neighbours is Neighbours.REPLACE_ONE else 1.0
    return replace(found, noise=replace(found.noise, scale=factor * found.noise.scale))


def permutation(self, calibration, rows, entropy):
    return ScreeningSelector.select(self, calibration, rows, entropy)[::-1]


def one_fewer(self, calibration, rows, entropy):
    return ScreeningSelector.select(self, calibration, rows, entropy)[1:]


def blind(self, calibration, rows, entropy):
    return np.sort(np.argsort(entropy.uniform(2 * self.size))[: self.size])


def from_elsewhere(self, calibration, rows, entropy):
    return ScreeningSelector.select(self, calibration, rows, Entropy.system())


def without_noise(self, calibration, rows, entropy):
    return list(range(self.size))


FAULTS = {
    "no noise": ({"select": without_noise}, "depend on the noise"),
    "columns out of order": ({"select": permutation}, "in ascending order"),
    "too few columns": ({"select": one_fewer}, "different columns"),
    "blind to the rows": ({"select": blind}, "must be selected"),
    "randomness from elsewhere": ({"select": from_elsewhere}, "reproduce a selection"),
    "copies for nothing": ({"calibrate": deaf_to_copies}, "must need more noise"),
    "constant noise": (
        {"calibrate": changed(noise=lambda c: replace(c.noise, scale=1.0))},
        "clearly less noise",
    ),
    "less noise for replace-one": (
        {"calibrate": cheaper_for_replacing},
        "must not need less noise",
    ),
    "theorem without a page": ({"theorems": ("somewhere",)}, "page.md#slug"),
    "theorem of somebody else": (
        {"calibrate": changed(theorem=lambda _: "other.md#lemma")},
        "must be one of the theorems",
    ),
    "budget spent twice": (
        {"calibrate": changed(events=lambda c: c.events * 2)},
        "must add up",
    ),
    "another budget promised": (
        {"calibrate": changed(budget=lambda _: Pure("0.1"))},
        "must state the requested budget|same calibration",
    ),
}


@pytest.mark.parametrize(("changes", "complaint"), FAULTS.values(), ids=FAULTS)
def test_the_contract_notices_every_fault(changes, complaint):
    faulty = type("Faulty", (ScreeningSelector,), {"__slots__": (), **changes})(3)
    with pytest.raises(AssertionError, match=complaint):
        check_selector(faulty)


def test_too_little_noise_is_seen_in_the_odds_of_two_neighbours():
    quiet = type("Quiet", (ScreeningSelector,), {"__slots__": (), "select": quieter})
    with pytest.raises(AssertionError, match="must not change the odds"):
        check_selector(quiet(1))


def test_a_selector_that_can_be_changed_is_noticed():
    @dataclass(unsafe_hash=True)
    class Open:
        size: int = 1
        name: ClassVar[str] = "open"
        theorems: ClassVar[tuple[str, ...]] = ()

    with pytest.raises(AssertionError, match="must be frozen, but size"):
        check_selector(Open())
