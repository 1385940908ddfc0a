"""Parser for terms such as `age`, `bs(weight, df=5)` and `sex:bs(weight, df=5)`.

Names that are not valid Python identifiers are written in backticks, such as
`` `hours-per-week` ``.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from confide.data.schema.columns import Column
from confide.data.schema.terms.kinds import (
    Interaction,
    PolynomialTerm,
    SplineTerm,
    columns_of,
    text_of,
)
from confide.errors import Described, InvalidParameter, did_you_mean

FUNCTIONS = {"bs": ("df", "degree", "knots"), "poly": ("degree",)}
"""Functions that terms may call, with the arguments that may follow the column."""
HINTS = {
    "C": "Write only the name, such as region instead of C(region): the schema declares "
    "which columns are categories.",
    "I": "Write powers as poly(x, 2), and products as x:z.",
}
"""Hints for functions that exist in R formulas but not here."""
_FACTORS = re.compile(r"(?:`[^`]*`|\([^()]*\)|[^:`()])+")
_QUOTED = re.compile(r"`([^`]*)`")


def read_terms(texts: Sequence[str], columns: Sequence[Column]) -> tuple[Any, ...]:
    """Parse a list of terms; return a column or a term object for each."""
    known = {column.name: column for column in columns}
    return tuple(read_term(text, known) for text in texts)


def checked_terms(
    texts: Sequence[str], columns: Sequence[Any]
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Check terms; return their canonical text, and the columns.

    The range of a column with given knots is set to "public".
    """
    effects = read_terms(texts, columns)
    used = [column for effect in effects for column in columns_of(effect)]
    single = [one.name for one in used if one.coded and len(one.features) < 2]
    if single:
        must = (
            "declared with at least two levels, because a single level would duplicate "
            "the intercept"
        )
        raise InvalidParameter(
            f"category {single[0]!r} in a term", must, Described("one level")
        )
    written = tuple(map(text_of, effects))
    if len({*written}) != len(written):
        raise InvalidParameter("terms", "listed without duplicates", list(texts))
    placed = {
        part.column.name
        for effect in effects
        for part in getattr(effect, "parts", (effect,))
        if isinstance(part, SplineTerm) and part.knots is not None
    }
    bought = [c.name for c in columns if c.name in placed and c.range == "private"]
    if bought:
        raise InvalidParameter(
            f"range of column {bought[0]!r}",
            "'public' if knots are given: an estimated range may not contain them",
            "private",
            'Write range = "public", or give df instead of knots.',
        )
    kept = (replace(c, range="public") if c.name in placed else c for c in columns)
    return written, tuple(kept)


def read_term(text: Any, columns: Mapping[str, Column]) -> Any:
    """Parse a term; return a column or a term object."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter("term", 'text, such as "age" or "age:region"', text)
    plain = text.strip()
    if plain in columns:
        return columns[plain]
    pieces = _FACTORS.findall(plain)
    if ":".join(pieces) != plain:
        raise _no_term(text)
    parts = [_read_factor(piece.strip(), text, columns) for piece in pieces]
    return parts[0] if len(parts) == 1 else Interaction(tuple(parts))


def _read_factor(piece: str, text: str, columns: Mapping[str, Column]) -> Any:
    if piece in columns:
        return columns[piece]
    names: list[str] = []

    def stand_in(found: re.Match[str]) -> str:
        names.append(found[1])
        return f"_name{len(names) - 1}_"

    try:
        tree = ast.parse(_QUOTED.sub(stand_in, piece), mode="eval").body
    except (SyntaxError, ValueError):
        raise _no_term(text) from None
    if isinstance(tree, ast.Name):
        return _column(_name(tree.id, names), columns)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise _no_term(text)
    return _called(tree, tree.func.id, names, columns, text)


def _called(
    call: ast.Call,
    function: str,
    names: list[str],
    columns: Mapping[str, Column],
    text: str,
) -> Any:
    if function not in FUNCTIONS:
        raise InvalidParameter(
            f"function {function!r} of term {text!r}",
            f"one of {list(FUNCTIONS)}",
            function,
            did_you_mean(function, FUNCTIONS)
            or HINTS.get(function)
            or "Declare a logarithm or a square root as the transform of a column.",
        )
    if not call.args or not isinstance(call.args[0], ast.Name):
        raise _no_term(text)
    column = _column(_name(call.args[0].id, names), columns)
    settings = _settings(call, FUNCTIONS[function], text)
    if function == "poly":
        return PolynomialTerm(column, settings.get("degree", 2))
    if ("df" in settings) == ("knots" in settings):
        must = "given either df or knots"
        raise InvalidParameter(
            f"term {text!r}", must, sorted(settings), "For example, write bs(x, df=5)."
        )
    knots = settings.get("knots")
    if knots is not None and not isinstance(knots, list | tuple):
        raise InvalidParameter(f"knots of term {text!r}", "a list of numbers", knots)
    degree = settings.get("degree", 3)
    df = settings.get("df", degree)
    return SplineTerm(column, df, degree, None if knots is None else tuple(knots))


def _settings(call: ast.Call, known: tuple[str, ...], text: str) -> dict[str, Any]:
    given = list(zip(known, call.args[1:], strict=False))
    given += [(word.arg or "", word.value) for word in call.keywords]
    names = [name for name, _ in given]
    if len(call.args) - 1 > len(known) or len({*names}) != len(names):
        raise _no_term(text)
    strange = [name for name in names if name not in known]
    if strange:
        hint = did_you_mean(strange[0], known)
        raise InvalidParameter(
            f"settings of term {text!r}", f"among {list(known)}", strange, hint
        )
    try:
        return {name: ast.literal_eval(value) for name, value in given}
    except ValueError:
        raise _no_term(text) from None


def _name(word: str, names: list[str]) -> str:
    found = re.fullmatch(r"_name(\d+)_", word)
    return word if found is None else names[int(found[1])]


def _column(name: str, columns: Mapping[str, Column]) -> Column:
    if name in columns:
        return columns[name]
    raise InvalidParameter(
        "column of a term",
        f"one of the declared columns {list(columns)}",
        name,
        did_you_mean(name, columns),
    )


def _no_term(text: str) -> InvalidParameter:
    return InvalidParameter(
        "term",
        "a column, bs(column, df=5), poly(column, 2), or several of these joined by colons",
        text,
        "Put names with spaces or hyphens in backticks.",
    )
