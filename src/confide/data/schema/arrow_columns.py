"""Columns of Arrow tables and record batches, read without a copy if possible.

Numbers become NumPy views of Arrow memory, and text becomes integer codes with a list of
distinct strings. Most other columns are converted to pandas.
"""

from collections.abc import Sequence
from typing import Any

from confide.data.schema.parse_values import CodedText
from confide.errors import InvalidData

ARROW_FAULTS = (ValueError, TypeError, LookupError, NotImplementedError, OverflowError)
"""Base classes of the errors that Arrow raises if it cannot convert a column."""
CANNOT_HAND_OVER = (
    "the table must have columns of simple types; Arrow cannot convert one of them. "
    "Convert it to a pandas DataFrame first."
)


def is_arrow(frame: Any) -> bool:
    """Whether an object is an Arrow table or record batch, without importing Arrow."""
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
    """Return the rows of a table in which the named column is not missing."""
    from pyarrow import compute

    absent = frame.column(name).is_null(nan_is_null=True)
    return frame.filter(compute.invert(absent)) if compute.any(absent).as_py() else frame


def _flat(column: Any) -> Any:
    """Combine the chunks of a column into one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _wide(column: Any) -> Any:
    """Widen the codes so that they can index the combined dictionary of all chunks."""
    from pyarrow import dictionary, int32

    return column.cast(dictionary(int32(), column.type.value_type))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _coded(column: Any) -> CodedText:
    """Convert an Arrow dictionary array to `CodedText`."""
    if column.dictionary.null_count:
        column = column.dictionary_decode().dictionary_encode()
    codes = column.indices
    if codes.null_count:
        codes = codes.cast("int64").fill_null(-1)
    return CodedText(codes.to_numpy(zero_copy_only=True), column.dictionary.to_pylist())


def coded_schema(schema: Any, names: Sequence[str]) -> Any:
    """Return an Arrow schema in which the named text columns are dictionary-encoded."""
    import pyarrow as pa

    for name in names:
        kind = pa.dictionary(pa.int32(), pa.string())
        schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
    return schema


def with_codes(fragment: Any, names: Sequence[str]) -> Any:
    """Return a Parquet fragment that reads the named text columns dictionary-encoded."""
    from pyarrow import dataset

    if not names:
        return fragment
    kind = dataset.ParquetFileFormat(dictionary_columns=set(names))
    return kind.make_fragment(
        fragment.path, fragment.filesystem, fragment.partition_expression
    )


def row_groups(fragment: Any) -> list[Any]:
    """Return the row groups of a Parquet file, or the file itself if it has none."""
    return fragment.split_by_row_group() or [fragment]
