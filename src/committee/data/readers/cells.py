"""Text cells of files: missing values, plain numbers, numbers with commas and signs, and codes such as postcodes."""

from __future__ import annotations

import functools
import math
import operator
import re
import shlex
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MISSING = ("", "NA", "NaN", "nan", "null")  # text that means missing in every file
COMMON_MARKS = frozenset((  # text, in lower case, that means missing among numbers or dates
    "", "?", "-", "--", "\u2013", "\u2014", ".", "..", "...", "na", "n/a", "#n/a", "n.a.", "n.a", "k.a.", "nan", "null",
    "#null!", "none", "nil", "<na>", "missing", "unknown",
))  # fmt: skip

COMMA = "0,5"  # format of numbers with a decimal comma; points, spaces and apostrophes may separate thousands
THOUSANDS = "1,000"  # format of numbers with a decimal point; commas, spaces and apostrophes may separate thousands
PERCENT = "%"
CURRENCIES = (
    "US$", "R$", "A$", "C$", "$", "\u00a2", "\u00a3", "\u00a5", "\u20ac", "\u20a9", "\u20aa", "\u20ab", "\u20b1",
    "\u20b4", "\u20b8", "\u20b9", "\u20ba", "\u20bd", "\u0e3f", "kr", "z\u0142", "K\u010d", "Fr.",
    "AUD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR",
    "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PEN", "PHP", "PLN", "RON", "RUB", "SAR", "SEK", "SGD", "THB", "TRY",
    "TWD", "UAH", "USD", "VND", "ZAR",
)  # fmt: skip
NUMBER_FORMATS = tuple(f"{base} {sign}".strip() for base in (COMMA, THOUSANDS) for sign in ("", PERCENT, *CURRENCIES))

_SPACES = " '\u00a0\u202f\u2009\u2019"
_NUMBER = r"^[+-]?((\d+|\d{{1,3}}([{marks}]\d{{3}})+)?({point}\d+)?{point}?([eE][+-]?\d+)?|(?i:inf|infinity))$"
_INFINITE = r"^[+-]?(?i:inf|infinity)$"
_PATTERNS = {
    COMMA: _NUMBER.format(marks="." + _SPACES, point=","),
    THOUSANDS: _NUMBER.format(marks="," + _SPACES, point=r"\."),
}
_BETWEEN = {COMMA: rf"[.{_SPACES}]", THOUSANDS: rf"[,{_SPACES}]"}
_SIGN = "|".join(map(re.escape, (PERCENT, *CURRENCIES)))
# negative numbers of accountants: (1.23), also with a sign inside or outside, and 1.23- or 1.23- EUR
_PARENTHESES = r"^([^\d()+-]*)\(([^()+-]*\d[^()+-]*)\)([^\d()+-]*)$"
_TRAILING_MINUS = rf"^([^()+-]*\d[^()+-]*)-(\s*(?:{_SIGN}))?$"
_LEADING_MINUS = (
    r"^(?:[\u2212\u2013][\s\u00a0\u202f]*|-[\s\u00a0\u202f]+)([^\d()+-]{0,4}\d)"  # minus sign, dash, or blank
)
_NEGATIVES = ((_PARENTHESES, r"\1-\2\3"), (_TRAILING_MINUS, r"-\1\2"), (_LEADING_MINUS, r"-\1"))
_GROUPED = r"^[+-]?\d{1,3}(\.\d{3})+$"
_BEGINS = re.compile(rf"\s*[+-]?\s*(?P<before>{_SIGN})?\s*[+-]?[\d.,]")
_ENDS = re.compile(rf"\d[.,]?\s*(?P<behind>{_SIGN})\s*$")


def is_text(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype == pl.String


def text_columns(frame: pl.DataFrame, but: Container[str] = ()) -> list[pl.Series]:
    return [column for column in frame.get_columns() if is_text(column) and column.name not in but]


def describe_cells(column: pl.Series, mask: pl.Series, limit: int = 3) -> str:
    import polars as pl

    cells = pl.DataFrame({"cell": column, "row": pl.int_range(len(column), eager=True)}).filter(mask)
    first = cells.unique("cell", keep="first", maintain_order=True)
    shown = ", ".join(f"{cell!r} in row {row:,}" for cell, row in first.head(limit).iter_rows())
    return shown + (f" and {first.height - limit:,} more" if first.height > limit else "")


def are_missing_marks(texts: pl.Series) -> pl.Series:
    return texts.str.strip_chars().str.to_lowercase().is_in(list(COMMON_MARKS)).fill_null(False)


def mark_counts(texts: pl.Series, marked: pl.Series) -> Counter[str]:
    return Counter(dict(texts.filter(marked).value_counts(sort=True).iter_rows()))


def are_missing(column: pl.Series) -> pl.Series:
    return (column.fill_nan(None) if column.dtype.is_float() else column).is_null()


def strip_cells(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """Strip cells of text; return the frame, and a former cell of each changed column."""
    changed, found = [], {}
    for column in text_columns(frame):
        stripped = column.str.strip_chars()
        if (different := (stripped != column).fill_null(False)).any():
            changed.append(stripped.set(different & stripped.is_in(MISSING).fill_null(False), None))
            found[column.name] = column.filter(different)[0]
    return frame.with_columns(changed), found


def blanks_note(found: Mapping[str, str]) -> tuple[str, ...]:
    shown = ", ".join(f"{name!r} (such as {cell!r})" for name, cell in found.items())
    return (f"blanks around cells are left out: {shown}",) if shown else ()


def strip_to_levels(frame: pl.DataFrame, levels: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Strip blanks around cells that without them are a category or missing."""
    changed = []
    for column in text_columns(frame):
        known = levels.get(column.name)
        stripped = column.str.strip_chars()
        if known is None or not (different := (stripped != column).fill_null(False)).any():
            continue
        fits = different & ~column.is_in(list(known)) & stripped.is_in([*known, *MISSING])
        if fits.any():
            rest = column.zip_with(~fits.fill_null(False), stripped)
            changed.append(rest.set(fits & rest.is_in(MISSING) & ~rest.is_in(list(known)), None))
    return frame.with_columns(changed)


def missing_marks_note(name: str, marks: Mapping[str, int], *, learned: bool = False) -> str:
    n = sum(marks.values())
    frequent = sorted(marks.items(), key=lambda each: (-each[1], each[0]))[:5]
    shown = ", ".join(f"{mark!r} {'once' if k == 1 else f'{k:,} times'}" for mark, k in frequent)
    what = "1 cell is" if n == 1 else f"{n:,} cells are"
    why = (
        "as the column is one of numbers or dates"
        if learned
        else f"as all others are numbers or dates; --categorical {shlex.quote(name)} takes them for categories"
    )
    return f"column {name!r}: {what} read as missing ({shown}), {why}"


def reject_infinity(columns: Iterable[pl.Series], place: Callable[[int], str]) -> None:
    for column in columns:
        if column.dtype.is_float() and (infinite := column.is_infinite().fill_null(False)).any():
            raise ValueError(
                f"column {column.name!r} holds infinity in {place(int(infinite.arg_max() or 0))}; correct the cell, or"
                " read infinity as missing by --missing inf"
            )


def replace_missing_marks(frame: pl.DataFrame, marks: Sequence[str], but: Sequence[str] = ()) -> pl.DataFrame:
    if not marks:
        return frame
    columns = (column for column in frame.get_columns() if column.name not in but)
    return frame.with_columns(_without_marks(column, marks) for column in columns)


def _without_marks(column: pl.Series, marks: Sequence[str]) -> pl.Series:
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        found = column.cast(pl.String).str.strip_chars().is_in(list(marks))
    elif column.dtype.is_numeric():
        cells = column.cast(pl.Float64)
        found = cells.is_in([value for mark in marks if math.isfinite(value := _number(mark))])
        if any(math.isinf(_number(mark)) for mark in marks):
            found |= cells.is_infinite()
    else:
        return column
    if not found.any():
        return column
    return pl.select(pl.when(~found.fill_null(False)).then(column).alias(column.name)).to_series()


def _number(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return math.nan


def parse_plain_numbers(texts: pl.Series) -> pl.Series:
    import polars as pl

    return texts.str.strip_chars().cast(pl.Float64, strict=False)


def infer_plain_numbers(column: pl.Series) -> pl.Series | None:
    import polars as pl

    present = column.set(column.is_in(MISSING).fill_null(False), None)
    missing = present.null_count()
    if missing == len(present):
        return None
    for numbers in (present.cast(pl.Int64, strict=False), parse_plain_numbers(present)):
        if numbers.null_count() == missing:
            return numbers
    return None


def with_flags(frame: pl.DataFrame, but: Container[str]) -> pl.DataFrame:
    flags = {"true": True, "false": False, **dict.fromkeys(MISSING)}
    changed = []
    for column in text_columns(frame, but):
        stripped = column.str.strip_chars()
        if stripped.drop_nulls().is_in(list(flags)).all() and stripped.is_in(["true", "false"]).any():
            changed.append(stripped.replace_strict(flags))
    return frame.with_columns(changed)


def format_sign(form: str) -> str:
    return form.partition(" ")[2]


def format_base(form: str) -> str:
    return form.partition(" ")[0]


def with_sign(base: str, sign: str) -> str:
    return f"{base} {sign}".rstrip()


def unusual_negatives(texts: pl.Series) -> pl.Series:
    return _match_any(texts, (pattern for pattern, _ in _NEGATIVES))


def _match_any(texts: pl.Series, patterns: Iterable[str]) -> pl.Series:
    stripped = texts.str.strip_chars()
    masks = (stripped.str.contains(pattern).fill_null(False) for pattern in patterns)
    return functools.reduce(operator.or_, masks)


def parse_numbers(texts: pl.Series, form: str) -> pl.Series:
    """Parse numbers of a format, other text as null; 12 % is 0.12, and (1.23) is -1.23."""
    base, _, sign = form.partition(" ")
    stripped = texts.str.strip_chars()
    if stripped.str.contains(r"\)|-\D*$|^[\u2212\u2013]|^-\s").any():
        for pattern, replacement in _NEGATIVES:
            stripped = stripped.str.replace(pattern, re.sub(r"\\(\d)", r"${\1}", replacement))
    if sign:  # null for a cell without the sign, or with two
        escaped, spaces = re.escape(sign), r"[\s\u00a0\u202f]*"
        before, behind = rf"^([+-]?){spaces}{escaped}{spaces}([+-]?[\d.,])", rf"([\d.,]){spaces}{escaped}$"
        once = stripped.str.count_matches(sign, literal=True) == 1
        there = once & (stripped.str.contains(before) | stripped.str.contains(behind))
        there |= stripped.str.contains(_INFINITE)
        bare = stripped.str.replace(before, "${1}${2}").str.replace(behind, "${1}")
        stripped = bare.set(~there.fill_null(False), None)
    fits = stripped.str.contains(_PATTERNS[base])
    plain = stripped.str.replace_all(_BETWEEN[base], "").str.replace(",", ".", literal=True)
    found = parse_plain_numbers(plain)
    found = found.set(~fits.fill_null(False), None)
    return found / 100.0 if sign == PERCENT else found


def cell_sign(cell: str) -> str | None:
    """Return the currency or percent sign of a number or ``""``, None if no number begins the cell."""
    cell = cell.strip()
    for pattern, replacement in _NEGATIVES:
        cell = re.sub(pattern, replacement, cell)
    begins, ends = _BEGINS.match(cell), _ENDS.search(cell)
    if begins is None:
        return None
    return begins["before"] or (ends["behind"] if ends else "")


def common_sign(present: pl.Series) -> str | None:
    finite = present.filter(~present.str.strip_chars().str.contains(_INFINITE)).head(1)
    return None if finite.is_empty() else cell_sign(finite[0])


def matching_formats(present: pl.Series) -> list[str]:
    sign = common_sign(present)
    if sign is None or _match_any(present, (_PARENTHESES, _TRAILING_MINUS)).all():  # labels such as (1) and (2)
        return []
    forms = (with_sign(base, sign) for base in (COMMA, THOUSANDS))
    return [form for form in forms if not parse_numbers(present, form).null_count()]


def infer_number_formats(
    columns: Sequence[pl.Series], decimal: str | None, separator: str
) -> tuple[dict[str, str], list[str]]:
    sure: dict[str, str] = {}
    either: dict[str, pl.Series] = {}
    mixed: list[str] = []
    for column in columns:
        present = column.drop_nulls()
        found = matching_formats(present)
        if len(found) == 2:
            either[column.name] = present
        elif found:
            sure[column.name] = found[0]
        elif (
            not present.is_empty()
            and (parse_numbers(present, COMMA).is_not_null() | parse_plain_numbers(present).is_not_null()).all()
        ):
            mixed.append(column.name)  # decimal commas and points
    wanted = {".": THOUSANDS, ",": COMMA}.get(decimal or "")
    forms = {name: form for name, form in sure.items() if wanted in (None, format_base(form))}
    bases = {format_base(form) for form in forms.values()}
    settled = wanted or (COMMA if separator != "," or COMMA in bases else THOUSANDS)
    if wanted is None and bases == {THOUSANDS}:
        settled = THOUSANDS
    for name, present in either.items():
        sign = common_sign(present) or ""
        special = bool(sign) or bool(unusual_negatives(present).any())
        without_comma = special and wanted is None and not present.str.contains(",", literal=True).any()
        # numbers such as 2 436 are the same in both, and settle nothing about points in other columns
        without_comma |= not present.str.contains(r"[.,]").any()
        base = (COMMA if COMMA in bases else THOUSANDS) if without_comma else settled
        forms[name] = with_sign(base, sign)
    return {column.name: forms[column.name] for column in columns if column.name in forms}, mixed


def have_grouping_points(texts: pl.Series) -> bool:
    pointed = texts.drop_nulls().str.strip_chars()
    pointed = pointed.filter(pointed.str.contains(".", literal=True))
    return not pointed.is_empty() and bool(pointed.str.contains(_GROUPED).all())


class DigitCodes:
    """Detector of codes such as 01067 in a column that is added in parts."""

    def __init__(self) -> None:
        self.digits, self.example = True, ""

    def take(self, texts: pl.Series) -> None:
        present = texts.drop_nulls().str.strip_chars()
        self.digits = self.digits and bool(present.str.contains(r"^\d[\d ]*$").all())
        padded = present.filter(present.str.contains(r"^0\d"))
        self.example = self.example or (padded[0] if len(padded) else "")

    @property
    def are_codes(self) -> bool:
        return self.digits and bool(self.example)


def are_digit_codes(texts: pl.Series) -> bool:
    found = DigitCodes()
    found.take(texts)
    return found.are_codes
