"""No control character of a text reaches a terminal; everything else does."""

import ast
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from committee.data.names import printable


@given(st.text(st.characters(exclude_categories=[])))
def test_nothing_is_left_that_a_terminal_obeys_and_nothing_is_lost(text):
    shown = printable(text)
    assert not {unicodedata.category(c) for c in shown if c not in "\n\u200c\u200d"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    if "\\" not in text:
        quoted = shown.replace("\n", "\\n").replace("'", "\\'")
        assert ast.literal_eval(f"'{quoted}'") == text


def test_words_of_all_languages_stay():
    for text in ("plain", "größer", "日本語", "नमस्\u200dते", "a\u00a0b", "🙂"):
        assert printable(text) == text
    assert printable("\x1b]0;title\x07\x9b1m\u202e\r") == r"\x1b]0;title\x07\x9b1m\u202e\r"
