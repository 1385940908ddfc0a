"""R-style formulas such as `dose ~ age + bs(weight, df=4) + race:smoker`.

The formulaic package expands `*`, `**`, `/`, parentheses and `-` to a list of terms.
confide evaluates the terms itself, because formulaic would compute quantities such as knots
at quantiles from private rows.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from confide.data.schema.case_weights import check_offset
from confide.errors import Described, InvalidParameter, did_you_mean

EXAMPLE = '"outcome ~ age + bs(weight, df=5) + region:smoker"'
CONSTANTS = ("0", "1")


def schema_of_formula(schema: Any, formula: str) -> tuple[Any, bool]:
    """Return a schema with the terms of a formula, and whether it has an intercept.

    The schema declares the columns; the formula defines the terms.

    Parameters
    ----------
    schema : Schema
        The schema that declares the columns and the target.
    formula : str
        A formula such as "y ~ age + bs(weight, df=5)". Its left side must be the target of
        the schema, or empty.

    Returns
    -------
    tuple of Schema and bool
        The schema with terms, and whether the formula has an intercept.

    Raises
    ------
    InvalidParameter
        The formula cannot be parsed, or contains a target or column that is not declared.

    Examples
    --------
    >>> from confide import Category, Number, Schema, Target
    >>> from confide.data import schema_of_formula
    >>> columns = (Number("age", 18, 90), Category("race", ("a", "b")))
    >>> schema = Schema(columns, Target("ill", labels=("no", "yes")))
    >>> found, intercept = schema_of_formula(schema, "ill ~ age + age:race")
    >>> found.terms, intercept
    (('age', 'age:race'), True)
    """
    target, terms = _terms(formula, [column.name for column in schema.columns])
    _check_target(schema, target)
    constant = ["1"] in terms
    texts = [":".join(term) for term in terms if term != ["1"]]
    offsets = [text for text in texts if text.startswith("offset(")]
    texts = [text for text in texts if text not in offsets]
    if len(offsets) > 1:
        raise InvalidParameter("formula", "text with at most one offset", offsets)
    if offsets:
        schema = _with_offset(schema, offsets[0])
    if not texts:
        raise InvalidParameter(
            "formula", f"text with at least one term, such as {EXAMPLE}", formula
        )
    return dataclasses.replace(schema, terms=tuple(texts)), constant


def _with_offset(schema: Any, text: str) -> Any:
    """Return the schema with one of its numeric columns converted to the offset."""
    name = text.removeprefix("offset(").removesuffix(")").strip()
    logarithm = name.startswith("log(")
    name = (name.removeprefix("log(").removesuffix(")") if logarithm else name).strip("` ")
    known: dict[str, Any] = {column.name: column for column in schema.columns}
    if name not in known:
        must = f"offset(...) or offset(log(...)) of one of {list(known)}"
        raise InvalidParameter("formula", must, text, did_you_mean(name, known))
    check_offset(known[name])
    column = dataclasses.replace(known[name], range="public")
    if logarithm:
        column = dataclasses.replace(column, transform="log")
    others = tuple(column for column in schema.columns if column.name != name)
    return dataclasses.replace(schema, columns=others, terms=(), offset=column)


def _terms(formula: Any, names: Sequence[str]) -> tuple[str | None, list[list[str]]]:
    """Return the left side of a formula, and the factors of every term on the right."""
    if not isinstance(formula, str) or not formula.strip():
        raise InvalidParameter("formula", f"text, such as {EXAMPLE}", formula)
    parser, wrong = _parser()
    try:
        context = {"__formulaic_variables_available__": list(names)}
        found = parser.get_terms(formula, context=context)
        sides = (found.lhs, found.rhs) if hasattr(found, "lhs") else ((), found)
        left, right = (list(_factors(side)) for side in sides)
    except wrong as error:
        said = str(error).splitlines() if type(error).__module__ != "builtins" else []
        reason = said[0] if said else ""
        raise InvalidParameter("formula", f"like {EXAMPLE}", formula, reason) from None
    if not left:
        return None, right
    if len(left) != 1 or len(left[0]) != 1:
        must = f"text with a single target to the left of ~, such as {EXAMPLE}"
        raise InvalidParameter("formula", must, formula)
    return left[0][0].strip("`"), right


def _factors(side: Any) -> Iterator[list[str]]:
    for term in side:
        factors = [str(factor.expr) for factor in term.factors]
        whole = [one for one in factors if one not in CONSTANTS]
        if not whole and "0" in factors:
            continue
        yield whole or ["1"]


def _parser() -> tuple[Any, tuple[type[Exception], ...]]:
    try:
        from formulaic.errors import FormulaicError
        from formulaic.parser import DefaultFormulaParser
    except ImportError:
        raise InvalidParameter(
            "formula",
            "left out unless formulaic is installed",
            Described("a formula"),
            "Install it with: pip install 'confide[formula]'; or list the terms in the "
            'schema, for example terms = ["age", "age:region"].',
        ) from None
    return DefaultFormulaParser(), (
        FormulaicError,
        *(SyntaxError, ValueError, TypeError, AttributeError),
    )


def _check_target(schema: Any, name: str | None) -> None:
    declared: Sequence[str] = [schema.target.column]
    if name is None or name in declared:
        return
    hint = did_you_mean(name, declared) or "Change the [target] of the schema instead."
    raise InvalidParameter(
        "target of the formula", f"that of the schema, {declared[0]!r}", name, hint
    )
