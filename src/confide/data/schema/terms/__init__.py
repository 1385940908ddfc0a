"""Terms of a model: columns, splines, polynomials and interactions."""

from confide.data.schema.terms.kinds import (
    Interaction,
    PolynomialTerm,
    SplineTerm,
    columns_of,
    text_of,
)
from confide.data.schema.terms.term import Effect, Units
from confide.data.schema.terms.text import checked_terms, read_term, read_terms

__all__ = [
    "Effect",
    "Interaction",
    "PolynomialTerm",
    "SplineTerm",
    "Units",
    "checked_terms",
    "columns_of",
    "read_term",
    "read_terms",
    "text_of",
]
