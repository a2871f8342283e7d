"""Raw files of all formats become rows, and rows one CSV."""

from io import BytesIO

import numpy as np
import pytest
from scipy.io import savemat

from committee.papers.public_tables.compress import decompressed
from committee.papers.public_tables.conversion import converted
from committee.papers.public_tables.public_table import PublicTable
from committee.papers.public_tables.raw_formats import RawFormat

PACKED = {
    b"": "1f9d90",
    b"ab": "1f9d9061c400",
    b"abc" * 18: "1f9d9061c48c09385020c1830613165c8890a1c2860401",
}
"""What ncompress 4.2.4.6 writes."""


def packed(content):
    """The same as a naive program packs it; the width changes one word after the table is full, and fills a group."""
    words = {bytes([code]): code for code in range(256)} | {None: 256}
    groups, codes, bits, word = [], [], 9, b""
    for k in range(len(content)):
        letter = content[k : k + 1]
        if word + letter in words:
            word += letter
            continue
        codes.append(words[word])
        if len(words) < 1 << 16:
            words[word + letter] = len(words)
        if len(words) == (1 << bits) + 1 and bits < 16:
            codes += [0] * (-len(codes) % 8)
            groups.append((codes, bits))
            codes, bits = [], bits + 1
        word = letter
    groups.append(([*codes, words[word]], bits))
    found = b""
    for codes, bits in groups:
        number = sum(code << bits * i for i, code in enumerate(codes))
        found += number.to_bytes(-(-bits * len(codes) // 8), "little")
    return b"\x1f\x9d\x90" + found


def table(columns, rows=2, **declared):
    return PublicTable("t", "T", rows, (), tuple(columns), "", **declared)


def matrices(X, y):
    file = BytesIO()
    savemat(file, {"X": np.array(X, dtype=np.uint16), "Y": np.array(y, dtype=np.int16).reshape(-1, 1)})
    return file.getvalue()


@pytest.mark.parametrize(
    ("how", "content", "rows"),
    [
        ({}, b"\xef\xbb\xbf 1, 2,a\r\n\r\n3,4, b \n", [["1", "2", "a"], ["3", "4", "b"]]),
        ({"delimiter": " "}, b" 1   2\ta \n", [["1", "2", "a"]]),
        ({"delimiter": ";", "header_lines": 1}, b'"x;y";"z"\n1;"2;3"\n', [["1", "2;3"]]),
        ({"after": "@data", "quote": "'"}, b"% c\n@ATTRIBUTE a {1}\n@DATA\n% c\n'a, b',?\n", [["a, b", "?"]]),
        ({"kind": "matlab"}, matrices([[5, 500]], [-1]), [["5", "500", "-1"]]),
        ({"compressed": True}, bytes.fromhex(PACKED[b"ab"]), [["ab"]]),
    ],
)
def test_every_format_gives_cells(how, content, rows):
    assert RawFormat(**how).rows(content) == rows


def test_a_file_without_its_mark_is_refused():
    with pytest.raises(ValueError, match="there is no line '@data' before the rows"):
        RawFormat(after="@data").rows(b"1,2\n")


def test_filefiles_are_unpacked():
    for content, file in PACKED.items():
        assert decompressed(bytes.fromhex(file)) == content
    for damaged, words in ((b"PK\3\4", "not one of UNIX compress"), (b"\x1f\x9d\x90\xff\xff\xff", "is damaged")):
        with pytest.raises(ValueError, match=words):
            decompressed(damaged)


def test_words_grow_wider():
    random = np.random.default_rng(0)
    for n, letters in ((300, 256), (6_000, 256), (6_000, 3)):
        content = bytes(random.integers(letters, size=n).astype(np.uint8))
        assert decompressed(packed(content)) == content


def test_what_is_declared_is_done():
    raw = b"7,A,00.50,?,x\n8,B,.25,Q,x\n"
    declared = {"drop": ("id", "same"), "missing": "?", "lower_case": True, "plain_numbers": True}
    found = converted(table(("id", "target", "a", "b", "same"), **declared, decode={"target": {"A": "YES"}}), [raw])
    assert found == b"a,b,target\n0.50,,yes\n0.25,q,b\n"
    assert (
        converted(table(("a", "target"), decimals=2), [b"1.005,1.005\n", b"3,2\n"]) == b"a,target\n1.01,1.005\n3.0,2\n"
    )
    with pytest.raises(ValueError, match="a row has 1 cells, not 2: '1'"):
        converted(table(("a", "target")), [b"1\n"])


def test_a_record_on_two_lines_is_joined():
    assert converted(table(("a", "b", "target"), step="broken line joined"), [b"1,2,c\n3,\n4,d\n"]).endswith(b"3,4,d\n")


def test_rows_follow_a_copy():
    """Rows of other letters go; of equal ones the first comes first; a row that is not there is refused."""
    named = table(("name", "p", "q", "target"), drop=("name",), step="first as in copy")
    raw = b"1,A,C,EI\n2,G,T,N\n3,A,C,IE\n4,A,D,N\n5,T,T,N\n"
    found = converted(named, [raw, b"1  1  1\n-1  -1  0.333333\n"])
    assert found == b"p,q,target\nT,T,N\nA,C,EI\nG,T,N\nA,C,IE\n"
    with pytest.raises(ValueError, match="a row of the copy that gives the order is not in the table"):
        converted(named, [raw, b"1  -1  -1\n"])
