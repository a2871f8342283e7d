"""Public tables: raw formats, conversion to CSV, download and checks."""

from __future__ import annotations

import hashlib
import json
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request

import numpy as np
import pytest
from scipy.io import savemat
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers import PAPERS
from committee.papers.margins.results import source_data
from committee.papers.matryoshka.cells import NAMES
from committee.papers.public_tables import public_table
from committee.papers.public_tables.fetch import fetch
from committee.papers.public_tables.public_table import (
    STEPS,
    PublicTable,
    RawFile,
    RawFormat,
    converted,
    decompressed,
    open_https,
    public_tables,
)
from committee.papers.quadboost.methods import published
from committee.papers.shared.tables import SOURCE_TABLES, SourceTable, load_source_table

PACKED = {b"": "1f9d90", b"ab": "1f9d9061c400", b"abc" * 18: "1f9d9061c48c09385020c1830613165c8890a1c2860401"}
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


RAW = {"a": b"1,0,x\n2,1,y\n", "b": b"3,0,x\n4,?,y\n5,1,x\n"}
CSV = {"a": b"size,code,target\n1,0,x\n2,1,y\n", "b": b"size,code,target\n3,0,x\n4,,y\n5,1,x\n"}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def known(monkeypatch):
    """A map of two tables."""
    tables = {
        name: PublicTable(
            name,
            name.upper(),
            raw.count(b"\n"),
            (RawFile("owner/of", "c0ffee", f"{name}.csv", len(raw), sha256(raw)),),
            ("size", "code", "target"),
            sha256(CSV[name]),
            missing="?",
            categorical=("code",),
        )
        for name, raw in RAW.items()
    }
    monkeypatch.setattr(public_table, "public_tables", lambda: tables)
    return tables


class Server:
    """Opens the made-up files; remembers what it was asked for."""

    def __init__(self, **instead):
        self.asked = []
        self.instead = instead

    def __call__(self, address):
        name = address.rpartition("/")[2].removesuffix(".csv")
        self.asked.append(name)
        answer = self.instead.get(name, RAW[name])
        if isinstance(answer, Exception):
            raise answer
        return BytesIO(answer)


def test_tables_are_fetched_once_and_read_as_data(known, tmp_path):
    server, steps = Server(), []
    (grid,) = fetch(out=tmp_path / "new", opener=server, progress=lambda *step: steps.append(step))
    assert [row[3] for row in grid.rows] == ["fetched", "fetched"] and steps == [(1, 2, "a"), (2, 2, "b")]
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"a.csv", "b.csv", "catalogue.json"}
    found = load_source_table(SourceTable("b", 3), tmp_path / "new")
    assert found.frame.rows() == [(3, "0"), (4, None), (5, "1")] and found.labels.classes.tolist() == ["x", "y"]
    (tmp_path / "new" / "a.csv").write_bytes(b"changed")
    (grid,) = fetch(out=tmp_path / "new", opener=server)
    assert [row[3] for row in grid.rows] == ["fetched", "present"] and server.asked == ["a", "b", "a"]
    entry = json.loads((tmp_path / "new" / "catalogue.json").read_text("utf-8"))[0]
    assert entry["numeric"] == ["size"] and entry["categorical"] == ["code"]
    assert entry["sources"] == ["https://raw.githubusercontent.com/owner/of/c0ffee/a.csv"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (HTTPError("u", 404, "Not Found", None, None), "returned 404 Not Found; try again later"),
        (RAW["a"][:-2], "differs from the expected file: 10 bytes read, with sha256"),
        (b"9" * 10_000_000, "differs from the expected file: 13 bytes"),
        (OSError("cut"), "broke off"),
    ],
)
def test_one_wrong_file_leaves_the_others(known, tmp_path, answer, words):
    with pytest.raises(ValueError, match=words) as told:
        fetch(out=tmp_path, opener=Server(a=answer))
    assert str(told.value).startswith(
        "1 of 2 tables could not be fetched; table 'a': https://raw.githubusercontent.com"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"b.csv", "catalogue.json"}


def test_a_trickle_is_not_waited_for(known, tmp_path, monkeypatch):
    monkeypatch.setattr(public_table, "LONGEST", -1.0)
    with pytest.raises(ValueError, match="takes longer than -1 seconds; run the same command again"):
        fetch(out=tmp_path, tables=["a"], opener=Server())


def test_without_a_network_it_ends_at_once(known, tmp_path):
    server = Server(a=URLError("no route"))
    with pytest.raises(ValueError, match=r"table 'a': .* cannot be reached \(no route\); check the network"):
        fetch(out=tmp_path, opener=server)
    assert server.asked == ["a"] and list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        fetch(out=tmp_path, opener=server.__class__(a=RAW["a"]), progress=_interrupted)
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "catalogue.json"}, "what is there can be used"


def _interrupted(*_):
    raise KeyboardInterrupt


def test_what_is_not_its_own_is_refused(known, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="tables names 'c', which is not there"):
        fetch(out=tmp_path, tables=["c"], opener=Server())
    for text, words in (
        ('[{"name": "a", "file": "a.csv.gz"}]', "unknown to this command; give another folder"),
        ("{}]", "is no"),
    ):
        (tmp_path / "catalogue.json").write_text(text, "utf-8")
        with pytest.raises(ValueError, match=words):
            fetch(out=tmp_path, opener=Server())
    monkeypatch.setitem(known, "a", PublicTable(**{**vars(known["a"]), "csv_sha256": "0"}))
    with pytest.raises(ValueError, match="its files are correct, but their conversion is not"):
        fetch(out=tmp_path / "new", opener=Server())


def test_only_https():
    with pytest.raises(ValueError, match="is not an https address"):
        open_https("http://127.0.0.1/a")
    down = public_table._NoWayDown()
    with pytest.raises(URLError, match="redirects to http://b, which is not https"):
        down.redirect_request(Request("https://a"), BytesIO(), 302, "", {}, "http://b")
    assert down.redirect_request(Request("https://a"), BytesIO(), 302, "", {}, "https://b").full_url == "https://b"


def test_the_map_has_the_tables_of_all_papers():
    tables = public_tables()
    used = {*SOURCE_TABLES, *NAMES, *(row.name for row in published()), *(data.name for data in source_data())}
    assert used <= set(tables) and len(tables) == 51 and set(PAPERS) >= {"margins", "quadboost", "matryoshka"}
    for table in tables.values():
        assert table.step in STEPS and table.columns.count("target") == 1 and table.compared
        assert len(set(table.columns)) == len(table.columns)
        assert {*table.drop, *table.categorical, *table.decode} <= set(table.columns)
        assert not {*table.drop} & {*table.categorical}
        for file in table.files:
            assert len(file.commit) == 40 and len(file.sha256) == len(table.csv_sha256) == 64 and file.size > 0
    for name in SOURCE_TABLES:
        assert tables[name].rows == SOURCE_TABLES[name].rows


def test_the_command(known, tmp_path, monkeypatch):
    monkeypatch.setattr(public_table, "open_https", Server())
    arguments = ["papers", "fetch", "--tables", "b", "--out", str(tmp_path / "out"), "--progress"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0 and "fetched" in result.stdout, result.output
    assert "1/1 tables done" in result.stderr and "written to" in result.stderr
    monkeypatch.setattr(public_table, "open_https", Server(a=URLError("no route")))
    result = CliRunner().invoke(app, ["papers", "fetch", "--out", str(tmp_path / "out")])
    assert result.exit_code == 2 and "error: table 'a': https://raw" in result.stderr


def test_the_page_says_how_many_tables_were_compared():
    page = (Path(__file__).parents[3] / "docs" / "papers" / "index.md").read_text("utf-8")
    assert sum(table.compared == "byte for byte" for table in public_tables().values()) == 50
    verified = "50 of the 51 tables, converted from a copy of each repository at its commit, are byte for byte those"
    assert verified in " ".join(page.split())
