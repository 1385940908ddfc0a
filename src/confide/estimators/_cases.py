"""Checks on case weights and offsets."""

from typing import Any

from confide.data import Column, Schema
from confide.data.schema.case_weights import check_cap
from confide.errors import Described, InvalidParameter, MissingPublicBound
from confide.estimators._target import TargetRule


def check_offset_of(rule: TargetRule, offset: Column) -> None:
    """Raise an error if the model does not support an offset."""
    if not rule.takes_offset:
        raise InvalidParameter(
            "[offset]",
            "left out except for counts and for logistic regression with two labels",
            offset.name,
            "If the target is a number, subtract the offset from it instead.",
        )


def read_weight_cap(model: Any, schema: Schema | None) -> float:
    """Check and return the public cap on ``sample_weight``."""
    if schema is not None:
        raise InvalidParameter(
            "sample_weight",
            "left out with a schema, which names the column of weights",
            Described("weights"),
            "Declare [case_weights] with column and cap.",
        )
    cap = model.weight_cap
    if cap is None:
        raise MissingPublicBound(
            "sample_weight needs a public cap, because the noise grows with the largest "
            "possible weight: set weight_cap. Larger weights are clamped to it."
        )
    return check_cap("weight_cap", cap)
