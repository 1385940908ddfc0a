"""Templates for schema files, with column names from a table and fields to be filled in."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from confide.data.schema.columns import COLUMNS
from confide.data.schema.schema import UNNAMED
from confide.data.schema.sections import UNKNOWN, alternatives, quoted, quoted_key
from confide.data.tables.files import column_names, name_of
from confide.errors import InvalidData, did_you_mean

_HEAD = """\
# Public description of this table, for you to fill in: replace every "{unknown}".
#
# Only the names of the columns were read, never a value. A range or a list of categories
# taken from the data would reveal something about people (the oldest, the richest, the only
# person in a category), and no guarantee would cover that. Write down what is known without
# looking at the data: from instruments, laws and questionnaires, for example.
#
{kinds}
#
# Missing numbers are replaced by the middle of their range. A missing or undeclared level
# sets all indicators of its column to 0; a row with an undeclared label is treated as not
# positive. A fit does not report such values, but the data holder can count them with:
# confide schema check THIS.toml --table DATA.csv
# missing = "refuse" rejects a table with missing values.
# Optional facts for plans, if they are publicly known: typical = [20, 60] under a number
# (four in five values lie in this range), share = {{ a = 0.5 }} under a category, and
# share = 0.2 under a boolean (the proportion of yes).
# Delete the sections of columns that the model should not use, such as names and
# identification numbers{unless_named}.

# Name of the dataset, under which a ledger records privacy charges:
name = {name}
rows_per_person = 1  # the largest number of rows of one person

[target]
column = {target}
# For a classifier, delete the # in the next line; the second label is the positive class:
# labels = ["no", "yes"]
# For a numeric target, delete the # in these lines:
# lower = 0
# upper = 150
# unit = "mg"
# To drop rows with a missing target instead of rejecting the table:
# missing = "drop"
"""


def schema_template(
    path: str | Path, target: str = UNKNOWN, columns: Sequence[str] = ()
) -> str:
    r"""Return a template for a schema file, made from the column names of a table.

    Parameters
    ----------
    path : str or Path
        A CSV file, of which only the first line is read, or a Parquet file, of which only
        the metadata are read. For a folder or a pattern, the first file is used.
    target : str, default="?"
        Column to predict, if known.
    columns : sequence of str, default=()
        Columns to predict from; by default all columns except the target.

    Returns
    -------
    str
        Text of a schema file, with a "?" for every field to be filled in.

    Raises
    ------
    InvalidData
        The first line does not contain distinct column names.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from confide.data import schema_template
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "people.csv")
    ...     _ = table.write_text("age,ill\n30,no\n")
    ...     text = schema_template(table, target="ill")
    >>> [line for line in text.splitlines() if line.startswith("[")]
    ['[target]', '[columns.age]']
    """
    names = column_names(path)
    _refuse_values(path, names)
    for wanted in (target, *columns):
        if wanted not in (UNKNOWN, *names):
            hint = did_you_mean(wanted, names)
            raise InvalidData(
                f"{path} must have a column {wanted!r}, but it has none. {hint}".rstrip()
            )
    kind = f'kind = "{UNKNOWN}"  # {alternatives(list(COLUMNS))}'
    sections = [
        f"\n[columns.{quoted_key(name)}]\n{kind}\n"
        for name in names
        if name.strip() and name != target and name in (columns or names)
    ]
    stem = name_of(path)
    name = UNKNOWN if stem in ("", UNNAMED) else stem
    head = _HEAD.format(
        unknown=UNKNOWN,
        kinds="\n".join(f"#   {kind:<10} {made.hint}" for kind, made in COLUMNS.items()),
        name=quoted(name),
        target=quoted(target),
        unless_named=", and the [columns] section of the target" * (target == UNKNOWN),
    )
    return head + "".join(sections)


def _refuse_values(path: str | Path, names: list[str]) -> None:
    """Reject a header that looks like a record, whose values must not enter a schema."""
    if any(_is_number(name) for name in names) or not any(map(str.strip, names)):
        named = any(map(str.strip, names))
        fault = "contains numbers, like a record" if named else "contains none"
        raise InvalidData(
            f"the first line of {path} must hold the column names; it {fault}. Add a line "
            "of names."
        )
    repeated = [name for name, times in Counter(names).items() if times > 1 and name]
    if repeated:
        raise InvalidData(
            f"{path} must have distinct column names; it repeats {repeated}. Rename them."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
