"""What is public about a fitted model besides its release: target, columns, date."""

from typing import Any

from confide.data import Schema, Target

MOST_LABELS = 6


def about(model: Any) -> tuple[tuple[str, str], ...]:
    """Return names and values for the head of a summary, a card or a page."""
    lines = _columns(model) if model.schema is None else _of_schema(model.schema)
    fitted = getattr(model, "fitted_on_", None)
    return lines if fitted is None else (*lines, ("Fitted", fitted))


def _columns(model: Any) -> tuple[tuple[str, str], ...]:
    return (("Columns", str(model.n_features_in_)),)


def _of_schema(schema: Schema) -> tuple[tuple[str, str], ...]:
    count, features = len(schema.columns), len(schema.features)
    columns = f"{count}" if features == count else f"{count}, as {features} features"
    lines = (("Target", _target(schema.target)), ("Columns", columns))
    if any(column.coded for column in schema.columns):
        against = "each level against the average of the levels of its column"
        return (*lines, ("Categories", against))
    return lines


def _target(target: Target) -> str:
    """Say what is predicted: its name, its unit and range, or its labels."""
    if target.labels is not None:
        shown = [str(label) for label in target.labels[:MOST_LABELS]]
        more = len(target.labels) - len(shown)
        listed = ", ".join(shown) + (f" and {more} more" if more else "")
        positive = f"; positive: {shown[1]}" if len(target.labels) == 2 else ""
        return f"{target.column}: {listed}{positive}"
    lower, upper = target.ends or (0.0, 0.0)
    unit = f" {target.unit}" if target.unit else ""
    return f"{target.column}, from {lower:g} to {upper:g}{unit}"
