"""Summaries and guarantees as plain values, for JSON."""

from collections.abc import Callable
from typing import Any

from confide.privacy import Budget, Guarantee
from confide.reporting.summary import Summary


def guarantee_record(
    guarantee: Guarantee, write_budget: Callable[[Budget], Any] = str
) -> dict[str, Any]:
    """Return a guarantee as plain values; ``write_budget`` makes one of its budget."""
    budget = guarantee.budget
    return {
        "budget": None if budget is None else write_budget(budget),
        "neighbours": str(guarantee.neighbours),
        "status": str(guarantee.status),
        "theorem": guarantee.theorem,
        "assumptions": list(guarantee.assumptions),
        "private": guarantee.private,
        "reason": guarantee.reason,
    }


def summary_record(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain values."""
    return {
        "model": summary.title,
        "guarantee": guarantee_record(summary.guarantee),
        "coefficients": summary.records(),
        **{name.lower(): value for name, value in (*summary.about, *summary.facts)},
    }
