"""Quotes of delimited text against a parser that reads one byte at a time."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.tables import delimited as quotes
from confide.data.tables.delimited import check_quotes
from confide.errors import InvalidData

TEXTS = st.text(alphabet='"",,a \n\r', max_size=16).map(str.encode)


def is_well_formed(text):
    """Read byte by byte: outside of a field, in a plain one, in a quoted one, after it."""
    state = "outside"
    for byte in text.decode() + "\n":
        end = byte in ",\r\n"
        match state:
            case "outside":
                if byte == '"':
                    state = "quoted"
                elif not end and byte != " ":
                    state = "plain"
            case "plain":
                if byte == '"':
                    return False
                state = "outside" if end else state
            case "quoted":
                state = "after" if byte == '"' else state
            case "after":
                if byte != '"' and not end:
                    return False
                state = "quoted" if byte == '"' else "outside"
    return state == "outside"


@pytest.mark.parametrize("piece", [1, 2, 3, 2**20])
@given(text=TEXTS)
def test_what_is_not_well_formed_is_refused_wherever_pieces_end(piece, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quotes, "CHUNK_BYTES", piece)
        if not is_well_formed(text):
            with pytest.raises(InvalidData, match="quote"):
                check_quotes(io.BytesIO(text), ",")
            return
        padded = any(end + b" " in b"\n" + text for end in (b",", b"\r", b"\n"))
        assert check_quotes(io.BytesIO(text), ",") is padded


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'a,b\n1,2\n3,"4\n5,6\n', 3),
        (b'\xef\xbb\xbf"a",b\n1,2\n3,4"\n5,6\n', 3),
        (b'a,b\n1,"x"y\n', 2),
        (b'a,b\n1,"x\n2,"y"\n3,4\n', 2),
    ],
)
@pytest.mark.parametrize("piece", [3, 2**20])
def test_the_line_is_named_in_which_a_quote_opens(monkeypatch, piece, text, line):
    monkeypatch.setattr(quotes, "CHUNK_BYTES", piece)
    with pytest.raises(InvalidData, match=f"line {line} "):
        check_quotes(io.BytesIO(text), ",")


@pytest.mark.parametrize("piece", [1, 3, 2**20])
@pytest.mark.parametrize(
    ("text", "line"),
    [(b"a,b\n\t1,2\n", 2), (b"a,b\n1,2\r\n  \t3,4\n", 3), (b"\ta,b\n", 1)],
)
def test_a_line_that_begins_with_a_tab_is_refused(monkeypatch, piece, text, line):
    monkeypatch.setattr(quotes, "CHUNK_BYTES", piece)
    with pytest.raises(InvalidData, match=f"tab .* line {line} "):
        check_quotes(io.BytesIO(text), ",")
    check_quotes(io.BytesIO(text), "\t")
    check_quotes(io.BytesIO(b'a,b\n1,"two\n\tlines"\n3,\t4\n'), ",")


@given(before=TEXTS, record=TEXTS, after=TEXTS)
def test_lines_that_are_put_in_leave_the_others_as_they_were(before, record, after):
    """Two files that are well formed differ by a record with an even number of quotes."""
    rest = before + b"\n" + after
    longer = before + b"\n" + record + b"\n" + after
    if is_well_formed(before) and is_well_formed(rest) and is_well_formed(longer):
        assert record.count(b'"') % 2 == 0
