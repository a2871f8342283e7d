"""Text files as programs and people export them: titles, remarks, aligned columns, missing names, damaged cells."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from committee.data.readers.cells import strip_cells, strip_to_levels
from committee.data.readers.file_format import FileFormat
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import read_table_with_notes, reject_infinite_cells, split_target
from tests.crafted_sheets import xlsx
from tests.data.readers.test_tables import written

ROWS = [(1, 2.5, "yes"), (3, 4.5, "no"), (5, 6.5, "yes")]
BODY = "1,2.5,yes\n3,4.5,no\n5,6.5,yes\n"
TABLE = "a,b,y\n" + BODY


@pytest.mark.parametrize(
    "above",
    [
        "# exported 2024-05-01\n",
        "# exported, by me\n# again\n",
        "Report of May\n\n",
        "\n",
        "\r\n\r\n",
        "Report,,\n,,\n",
        '"A title, quoted"\n',
        "Title\n# remark\n\n",
        "Title\n",
    ],
)
def test_lines_above_the_column_names_are_left_out(tmp_path: Path, above: str) -> None:
    path = written(tmp_path, above + TABLE)
    read = read_table_with_notes(path)
    assert read.frame.columns == ["a", "b", "y"] and read.frame.rows() == ROWS
    n = above.count("\n")
    assert any(f"{n} line{'s' * (n > 1)} before the column names" in note for note in read.notes)
    assert read_table(path, skip_lines=n).equals(read.frame)
    assert read_table(written(tmp_path, above.replace(",", ";") + TABLE.replace(",", ";"), "b.csv")).rows() == ROWS


@pytest.mark.parametrize(
    "content", [TABLE, "#a,b,y\n" + BODY, "#\n1\n2\n", "name\nx y\nz\n", ",y\n1,2\n", "7,8\n1,2\n", "# n\n1\n2\n"]
)
def test_first_lines_that_are_column_names_stay(tmp_path: Path, content: str) -> None:
    read = read_table_with_notes(written(tmp_path, content))
    assert read.frame.columns == content.splitlines()[0].split(",")
    assert not any("before the column names" in note for note in read.notes)


def test_column_names_that_cannot_be_found_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "Sales, of May\n" + TABLE)
    with pytest.raises(ValueError, match=r"has 3 cells in line 2, but 2 column names; .* with skip_lines"):
        read_table(path)
    assert read_table(path, skip_lines=1).rows() == ROWS
    for names in ("name\nSmith, John\nDoe, Jane\n", "x\n1,2\n3,4\n"):  # rows of too many cells are not column names
        with pytest.raises(ValueError, match="has 2 cells in line 2, but 1 column names"):
            read_table(written(tmp_path, names))
    with pytest.raises(ValueError, match="has 2 cells in line 6, but 3 column names"):
        read_table(written(tmp_path, "# remark\n" + TABLE + "1,2\n"))


def test_comments_are_left_out(tmp_path: Path) -> None:
    lines = (TABLE + "7,8.5,no\n").splitlines(keepends=True)
    path = written(tmp_path, "// first\n" + "// remark, of all\n".join(lines))
    assert read_table(path, comment="//").rows() == [*ROWS, (7, 8.5, "no")]
    with pytest.raises(ValueError, match="has 2 cells in line 4, but 3 column names"):
        read_table(written(tmp_path, "a,b,y\n# x\n1,2,3\n1,2\n"), comment="#")
    for wrong in ("", "#\n", "#" * 6):
        with pytest.raises(ValueError, match="is not the start of lines"):
            read_table(path, comment=wrong)
    with pytest.raises(ValueError, match="is a negative number of lines"):
        read_table(path, skip_lines=-1)


def test_blanks_around_column_names_are_stripped(tmp_path: Path) -> None:
    read = read_table_with_notes(written(tmp_path, "a, b ,\ty\n" + BODY), categorical=["b"])
    assert read.frame.columns == ["a", "b", "y"] and read.frame["b"].to_list() == ["2.5", "4.5", "6.5"]
    assert "blanks around column names are left out: ' b ', '\\ty'" in read.notes
    assert read_table(written(tmp_path, "a, a,y\n" + BODY, "two.csv")).columns == ["a", " a", "y"]
    book = tmp_path / "book.xlsx"
    book.write_bytes(xlsx([["a ", " y"], [1, "no"], [2, "yes"]]))
    assert read_table(book).columns == ["a", "y"]


def test_columns_aligned_by_blanks(tmp_path: Path) -> None:
    lines = [f"{a!s:>7} {b!s:>8}    {y!s:<4}" for a, b, y in [("a", "b", "y"), *ROWS]]
    for text in ("\n".join(lines), "a b y\n" + BODY.replace(",", " "), "a  b\ty\n" + BODY.replace(",", " \t ")):
        read = read_table_with_notes(written(tmp_path, text))
        assert read.frame.columns == ["a", "b", "y"] and read.frame.rows() == ROWS
        assert any("are taken to be separated by blanks" in note for note in read.notes)
    # as many commas in every line as columns of decimal commas
    decimals = written(tmp_path, "1,5 yes 2,25\n10,5 no  3,0\n2,5 yes 4,0\n")
    rows = [(1.5, "yes", 2.25), (10.5, "no", 3.0), (2.5, "yes", 4.0)]
    assert read_table(decimals, header=False, decimal=",").rows() == rows
    assert read_table(written(tmp_path, 'a,b\n"1,5",2\n"2,5",3\n'), decimal=",").rows() == [(1.5, 2), (2.5, 3)]
    thousands = written(tmp_path, "1,500 yes 2.5\n10,000 no  3.0\n2,000 yes 4.0\n")
    rows = [(1500, "yes", 2.5), (10_000, "no", 3.0), (2000, "yes", 4.0)]
    assert read_table(thousands, header=False, decimal=".").rows() == rows
    # words are not columns
    assert read_table(written(tmp_path, "full name\nAda Byron\nAlan Turing\n")).columns == ["full name"]


def test_files_without_column_names(tmp_path: Path) -> None:
    path = written(tmp_path, BODY + BODY)
    note = "look like a row of data ('1', '2.5', 'yes'); --no-header names the columns column_1, column_2, ..."
    assert any(note in each for each in read_table_with_notes(path).notes)
    frame = read_table(path, header=False, categorical=["column_1"])
    assert frame.columns == ["column_1", "column_2", "column_3"] and frame.height == 6
    assert frame["column_1"].to_list() == ["1", "3", "5"] * 2
    with pytest.raises(ValueError, match="column '1' more than once; if the first line is a row of data, header=False"):
        read_table(written(tmp_path, "1,1\n1,2\n"))
    for names in ("0,1,2", "2019,2020,2021", "country,2019,2021"):
        rows = "".join(f"{'xyz'[k] if names[0] == 'c' else k},{k},{k}\n" for k in range(3))
        notes = read_table_with_notes(written(tmp_path, f"{names}\n{rows}")).notes
        assert not any("row of data" in each for each in notes)


def test_negative_numbers_of_accountants(tmp_path: Path) -> None:
    cells = {
        "a": ["(1.23)", "1.234", "0.5", "(1.234)"],
        "b": ["1.25-", "2", "3", "4.5-"],
        "c": ['"($1,234.50)"', "$2", "$(3)", '"$1,000"'],
        "d": ["(12%)", "3%", "(4)%", "5 %"],
        "e": ["(1)", "(2)", "(3)", "(1)"],
        "f": ["1-", "2+", "3-", "4+"],
        "g": ["(1.5)", "?", "2.5", ""],
    }
    rows = "".join(",".join(row) + "\n" for row in zip(*cells.values(), strict=True))
    read = read_table_with_notes(written(tmp_path, ",".join(cells) + "\n" + rows))
    assert read.frame.to_dict(as_series=False) == {
        "a": [-1.23, 1.234, 0.5, -1.234],
        "b": [-1.25, 2.0, 3.0, -4.5],
        "c": [-1234.5, 2.0, -3.0, 1000.0],
        "d": [-0.12, 0.03, -0.04, 0.05],
        "e": cells["e"],  # labels: no cell is without parentheses
        "f": cells["f"],
        "g": [-1.5, None, 2.5, None],
    }
    assert read.forms == {"a": "1,000", "b": "1,000", "c": "1,000 $", "d": "1,000 %", "g": "1,000"}
    assert any("read as negative numbers: 'a' (such as '(1.23)'), 'b'" in note for note in read.notes)
    comma = read_table(written(tmp_path, "a;y\n(1,5);x\n2,25;y\n1.000,5-;z\n", "comma.csv"))
    assert comma["a"].to_list() == [-1.5, 2.25, -1000.5]


def test_nul_bytes_are_refused_with_their_line(tmp_path: Path) -> None:
    for row in ("1,2\0.5,yes\n", "1,2.5,y\0es\n"):
        with pytest.raises(ValueError, match=r"has a NUL byte in line 7 \(column '[by]'\)"):
            read_table(written(tmp_path, "# remark\n\n" + TABLE + row))


def test_infinity_is_named_by_line_and_column_or_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "# remark\n" + TABLE + '\n7,8.5,"two\nlines"\n9,-inf,no\ninf,1e999,no\n')
    frame = read_table_with_notes(path).frame
    with pytest.raises(ValueError, match=r"column 'a' holds infinity in line 10 of .*missing=\['inf'\]"):
        read_table(path)
    with pytest.raises(ValueError, match=r"column 'b' holds infinity in line 9 of"):
        reject_infinite_cells(path, frame, FileFormat(), ["b"])
    found = read_table(path, missing=["inf"])
    assert found["b"].to_list() == [2.5, 4.5, 6.5, 8.5, None, None] and found["a"].null_count() == 1
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="holds infinity in row 5 of"):
        reject_infinite_cells(tmp_path / "a.parquet", frame, FileFormat())
    assert read_table(tmp_path / "a.parquet", missing=["inf"])["b"].null_count() == 2
    assert frame.schema["b"] == pl.Float64


def test_negative_numbers_with_dashes_blanks_and_signs_behind(tmp_path: Path) -> None:
    cells = {
        "a": ["\u22121.234", "5.678", "- 2.5", "\u20133"],
        "b": ["56.6- kr", "1.5 kr", "2 kr", "3- kr"],
        "c": ["- $1.5", "$2", "$3", "\u2212$4"],
        "d": ["5-%", "10 %", "(20%)", "-30%"],
        "e": ["- a", "-b 5", "c", "d-"],
    }
    rows = "".join("\t".join(row) + "\n" for row in zip(*cells.values(), strict=True))
    read = read_table_with_notes(written(tmp_path, "\t".join(cells) + "\n" + rows, "table.tsv"))
    assert read.frame.to_dict(as_series=False) == {
        "a": [-1.234, 5.678, -2.5, -3.0],
        "b": [-56.6, 1.5, 2.0, -3.0],
        "c": [-1.5, 2.0, 3.0, -4.0],
        "d": [-0.05, 0.1, -0.2, -0.3],
        "e": cells["e"],
    }
    alone = read_table(written(tmp_path, "a\ty\n\u22121.234\tx\n\u22125.678\tz\n", "alone.tsv"))
    assert alone["a"].to_list() == [-1.234, -5.678]  # a point, as for (1.234)


@pytest.mark.parametrize("cells", [["1,5", "2,25", "inf"], ["inf", "$1.5", "$2"], ["(1.5)", "-Infinity", "2"]])
def test_infinity_among_numbers_with_a_format_is_refused(tmp_path: Path, cells: list[str]) -> None:
    path = written(tmp_path, "a;y\n" + "".join(f"{cell};x\n" for cell in cells))
    line = 2 + [cell.lower().strip("-")[:3] for cell in cells].index("inf")
    with pytest.raises(ValueError, match=rf"column 'a' holds infinity in line {line} of .*missing=\['inf'\]"):
        read_table(path)


def test_flags_and_missing_cells_with_blanks(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, "a,b,c\n true,false,true\nfalse , NA ,x\n NA,true,\n"))
    assert frame.rows() == [(True, False, "true"), (False, None, "x"), (None, True, None)]
    stripped, _ = strip_cells(pl.DataFrame({"a": ["x", " NA ", "NA", " y"]}))
    assert stripped["a"].to_list() == ["x", None, "NA", "y"]
    stripped = strip_to_levels(pl.DataFrame({"a": [" x", " NA", "  ", "z "]}), {"a": ("x", "y")})
    assert stripped["a"].to_list() == ["x", None, None, "z "]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('a;"b, c";d\n1,5;2,5;x\n3,5;4,5;y;more\n5,5;6,5;z\n', 3),
        ('a;"b, c";d\n1,5;2,5;x\n3,5;4,5\n5,5;6,5;z\n', 3),
        ("size  weight  y\n1,5   2,5     x\n3,5   4,5     y\n5,5   6,5\n7,5   8,5     z\n9,5   1,5     x\n", 4),
    ],
)
def test_a_broken_line_does_not_hide_the_separator(tmp_path: Path, rows: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"cells in line {line}, but 3 column names"):
        read_table(written(tmp_path, rows))


def test_lines_of_another_length_and_nul_bytes_without_column_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has 4 cells in line 2, but 3 column names"):
        read_table(written(tmp_path, "1,2,x\n3,4,y,more\n5,6,z\n"), header=False)
    with pytest.raises(ValueError, match=r"NUL byte in line 1 \(column 'column_3'\)"):
        read_table(written(tmp_path, "1,2,x\0x\n3,4,y\n"), header=False)
    with pytest.raises(ValueError, match=r"NUL byte in line 2 \(column 'column_1'\)"):
        read_table(written(tmp_path, "# remark\nfirst\0,b,y\n1,2,x\n"))


def test_a_title_above_text_and_dates(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, "Report\nsince;kind;y\n13.01.2024;a;yes\n14.01.2024;b;no\n"))
    assert frame.columns == ["since", "kind", "y"]
    title = pl.DataFrame({"Report": ["since;y", "2024;yes"]})
    with pytest.raises(ValueError, match=r"target 'y' is not a column; .*name --sep or --skip-lines"):
        split_target(title, "y")


def test_decimal_commas_without_column_names_are_no_separators(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, "1,5;2,5;x\n3,5;4,5;y\n"), header=False)
    assert frame.rows() == [(1.5, 2.5, "x"), (3.5, 4.5, "y")]
    with pytest.raises(ValueError, match="has 1 cells in line 2, but 2 column names"):
        read_table(written(tmp_path, "x|-8,8\ny\nz|9,9\n"), header=False)
    assert read_table(written(tmp_path, "1,2\n3,4\n"), header=False).rows() == [(1, 2), (3, 4)]
    rows = "u, v;1;2,5;3\nu;5;2,5;3,5\nu, v;7;2,5;9;more\nu, v;1;2,5;3\nu;1,5;2;3\n"  # four lines fit either mark
    with pytest.raises(ValueError, match="has 5 cells in line 3, but 4 column names"):
        read_table(written(tmp_path, rows), header=False)


def test_blanks_between_thousands_do_not_make_points_thousands(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, "a;b;y\n2 436;-0.996;x\n2 832;-10.237;z\n"))
    assert frame["a"].to_list() == [2436.0, 2832.0] and frame["b"].to_list() == [-0.996, -10.237]
    comma = read_table(written(tmp_path, "a;b;c\n2 436;1.234;0,5\n2 832;10.237;1,25\n"))
    assert comma["b"].to_list() == [1234.0, 10237.0] and comma["c"].to_list() == [0.5, 1.25]


@pytest.mark.parametrize("numbers", [["(116)", "1840"], ["NA", "-412"], ["1,5-", "2,25"]])
def test_aligned_columns_of_unusual_numbers(tmp_path: Path, numbers: list[str]) -> None:
    rows = "".join(f"{kind}   {number:8}yes\n" for kind, number in zip("ab", numbers, strict=True))
    assert read_table(written(tmp_path, "kind  size  y\n" + rows)).columns == ["kind", "size", "y"]
