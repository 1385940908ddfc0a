"""Connections of KDD Cup 1999 with the groups of attacks that the task names."""

from typing import Final

import numpy as np
import pandas as pd

from confide.data.datasets.catalogue import load

NORMAL = "normal"
# fmt: off
_GROUPS: Final = {
    "dos": ["back", "land", "neptune", "pod", "smurf", "teardrop"],
    "probe": ["ipsweep", "nmap", "portsweep", "satan"],
    "r2l": [
        "ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient",
        "warezmaster",
    ],
    "u2r": ["buffer_overflow", "loadmodule", "perl", "rootkit"],
}
# fmt: on


def load_kddcup99() -> pd.DataFrame:
    """Read 494,021 connections with two more columns: outcome and group.

    The outcome is normal or attack, for ``Schema.bundled("kddcup99")``; the group is normal
    or one of four kinds of attack, for ``Schema.bundled("kddcup99_groups")``.
    """
    return with_groups(load("kddcup99"))


def with_groups(raw: pd.DataFrame) -> pd.DataFrame:
    """Add outcome and group to the table as it was published."""
    groups = {name: group for group, names in _GROUPS.items() for name in names}
    label = raw["label"]
    return raw.assign(
        outcome=np.where(label == NORMAL, NORMAL, "attack"),
        group=label.map({NORMAL: NORMAL, **groups}),
    )
