"""A schema template: names from the header, everything else to be filled in."""

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
# that is read off the data would reveal something about people (the oldest, the richest,
# the only one of a kind), and no guarantee would cover that. Write down what is known
# without looking: units and limits of the instrument, the law, the questionnaire.
#
{kinds}
#
# Missing numbers are replaced by the middle of their range. Missing or undeclared levels
# are encoded as no level; a row with an undeclared label is treated as not positive. A fit
# does not report them; the data holder can: confide schema check THIS.toml --table DATA.csv
# missing = "refuse" rejects a table with missing values.
# For plans only, and only if publicly known: typical = [20, 60] under a number (four in
# five values lie there), share = {{ a = 0.5 }} under a category, share = 0.2 under a
# boolean (of yes).
# Delete the sections of columns that the model must not use, such as names and
# identification numbers, and that of the target.

# Name of the dataset, under which a ledger records what is spent on it:
name = {name}
rows_per_person = 1  # the largest number of rows of one person

[target]
column = {target}
# For a classifier delete the # in the next line; the second label is the positive one:
# labels = ["no", "yes"]
# For a number delete the # in these lines:
# lower = 0
# upper = 150
# unit = "mg"
# To drop rows with an unknown target, instead of rejecting the table:
# missing = "drop"
"""


def schema_template(
    path: str | Path, target: str = UNKNOWN, columns: Sequence[str] = ()
) -> str:
    r"""Return a schema file to be filled in, from the column names of a table alone.

    Parameters
    ----------
    path : str or Path
        A CSV file, of which only the first line is read, or a Parquet file, of which only
        its own schema is read. For a folder or a pattern the first file is used.
    target : str, default="?"
        Column to predict, if it is known.
    columns : sequence of str, default=()
        Columns to predict it from; by default all others.

    Returns
    -------
    str
        Text of a schema file, with a "?" wherever something must be filled in.

    Raises
    ------
    InvalidData
        The first line does not contain different column names.

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
                f"{path} must hold {wanted!r}; it has no such column. {hint}".rstrip()
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
    )
    return head + "".join(sections)


def _refuse_values(path: str | Path, names: list[str]) -> None:
    """Reject a first line that is a record: its values must not enter a schema."""
    if any(_is_number(name) for name in names) or not any(map(str.strip, names)):
        raise InvalidData(
            f"the first line of {path} must hold the column names; it contains numbers, "
            "like a record. Add a line of names."
        )
    repeated = [name for name, times in Counter(names).items() if times > 1 and name]
    if repeated:
        raise InvalidData(
            f"{path} must have different column names; it repeats {repeated}. Rename them."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
