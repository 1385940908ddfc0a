"""Columns of Arrow tables and batches, as far as possible without a copy.

Numbers become views of Arrow's own memory, and text codes of its distinct values.
Everything else is read as in a table converted to pandas.
"""

from collections.abc import Sequence
from typing import Any

from confide.data.schema.parse_values import CodedText
from confide.errors import InvalidData

ARROW_FAULTS = (ValueError, TypeError, LookupError, NotImplementedError, OverflowError)
"""What Arrow raises where it cannot convert a column; its errors are kinds of these."""
CANNOT_HAND_OVER = (
    "the table must have columns of plain types; Arrow cannot convert one of them. "
    "Convert it to a pandas DataFrame first."
)


def is_arrow(frame: Any) -> bool:
    """Recognise a table or batch of Arrow without importing it."""
    return hasattr(frame, "column_names") and hasattr(frame, "column")


def arrow_column(column: Any) -> Any:
    """Return the values of a column as an array, as coded text, or as a pandas Series."""
    from pyarrow import ChunkedArray, types

    kind, chunked = column.type, isinstance(column, ChunkedArray)
    try:
        if types.is_integer(kind) or types.is_floating(kind):
            flat = _flat(column) if chunked else column
            return flat.to_numpy(zero_copy_only=not flat.null_count)
        if types.is_date(kind) or (types.is_boolean(kind) and not column.null_count):
            return column.to_numpy(zero_copy_only=False)
        if _is_text(kind):
            encoded = column.dictionary_encode()
            return _coded(_flat(encoded) if chunked else encoded)
        if types.is_dictionary(kind) and _is_text(kind.value_type):
            return _coded(_flat(_wide(column)) if chunked else column)
        return column.to_pandas()
    except ARROW_FAULTS:
        raise InvalidData(CANNOT_HAND_OVER) from None


def without_missing(frame: Any, name: str) -> Any:
    """Return the rows where a column is known."""
    from pyarrow import compute

    absent = frame.column(name).is_null(nan_is_null=True)
    return frame.filter(compute.invert(absent)) if compute.any(absent).as_py() else frame


def _flat(column: Any) -> Any:
    """Return one array for a column in chunks."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _wide(column: Any) -> Any:
    """Give the codes of chunks room for the values of all their dictionaries."""
    from pyarrow import dictionary, int32

    return column.cast(dictionary(int32(), column.type.value_type))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _coded(column: Any) -> CodedText:
    """Take over the codes of a dictionary."""
    if column.dictionary.null_count:
        column = column.dictionary_decode().dictionary_encode()
    codes = column.indices
    if codes.null_count:
        codes = codes.cast("int64").fill_null(-1)
    return CodedText(codes.to_numpy(zero_copy_only=True), column.dictionary.to_pylist())


def coded_schema(schema: Any, names: Sequence[str]) -> Any:
    """Return a schema that has columns of text as codes and a dictionary."""
    import pyarrow as pa

    for name in names:
        kind = pa.dictionary(pa.int32(), pa.string())
        schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
    return schema


def with_codes(fragment: Any, names: Sequence[str]) -> Any:
    """Return a Parquet file whose columns of text are read as codes and a dictionary."""
    from pyarrow import dataset

    if not names:
        return fragment
    kind = dataset.ParquetFileFormat(dictionary_columns=set(names))
    return kind.make_fragment(
        fragment.path, fragment.filesystem, fragment.partition_expression
    )


def row_groups(fragment: Any) -> list[Any]:
    """Return the row groups of a Parquet file, or the file itself where it has none."""
    return fragment.split_by_row_group() or [fragment]
