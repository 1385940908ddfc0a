"""Tables, schemas, models, options and ledgers with something wrong in them."""

import json
import os
from pathlib import Path

import pytest

from support.fuzz_cases import Fuzz


def fuzzed(folder, count, seed):
    fuzz = Fuzz(folder, seed)
    for _ in range(count):
        fuzz.case()
    return fuzz.seen


@pytest.mark.slow
def test_a_few_odd_commands_end_in_a_word(tmp_path):
    assert sum(fuzzed(tmp_path, 20, 1).values()) == 20


@pytest.mark.slow
def test_two_thousand_odd_commands_end_in_a_word(tmp_path):
    seen = fuzzed(tmp_path, 2000, 2)
    assert seen["valid"] > 500
    assert seen["refused"] > 500


@pytest.mark.campaign
def test_a_hundred_thousand_odd_commands_end_in_a_word(tmp_path):
    count = int(os.environ.get("CONFIDE_FUZZ", "100000"))
    seen = dict.fromkeys(("valid", "released", "refused"), 0)
    for turn in range(0, count, 1000):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for name, number in fuzzed(folder, min(1000, count - turn), 100 + turn).items():
            seen[name] += number
    results = Path(__file__).parents[2] / "docs" / "campaigns" / "fuzz.json"
    results.write_text(json.dumps({"cases": count, **seen}) + "\n")
