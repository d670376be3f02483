"""RegexFullMatch: the syntax of RE2, full matches, linear time."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basalt.compiler.onnx.host.regex_program import Program
from basalt.compiler.onnx.host.regex_syntax import PatternError
from basalt.errors import ValidationError

from .nodes import run, same, strings
from .peer import onnxruntime_run


def matches(pattern: str, text: str) -> bool:
    return Program(pattern).full_match(text)


MATCHING = [
    (r"a|bc*", "bccc"),
    (r"(?P<year>\d{4})-(?<month>\d\d)", "2024-05"),
    (r"[^a-c\d]+", "xyz\n"),
    (r"[]a-]+", "]-a"),
    (r"[\w.]+@[[:alpha:]]+", "a_1.b@c"),
    (r"[[:^digit:]]", "x"),
    (r"\Q.*\E+", ".***"),
    (r"\Q\E", ""),
    (r"(?i)straSSE", "STRASse"),
    (r"(?i:a)B", "AB"),
    (r"(?i)[a-c]+", "AbC"),
    (r"(?i)[^k]", "x"),
    (r"(?s).", "\n"),
    (r"(?m)a$\n^b", "a\nb"),
    (r"^a$", "a"),
    (r"\Aab\z", "ab"),
    (r"a\b b", "a b"),
    (r"\pL\p{Lu}\P{Lu}\p{^Nd}", "äÖßx"),
    (r"\x41\x{1F600}\101\07\n", "A😀A\a\n"),
    (r"a{2}b{1,}c{0,2}", "aabbbc"),
    (r"a{,2}", "a{,2}"),
    (r"a{", "a{"),
    (r"x*?y+?", "xxy"),
    (r"(a*)*", "aaa"),
    (r"(|a)+", "aa"),
    (r"()", ""),
    (r"(?i-s:.)", "x"),
    (r"(?U)a+", "aa"),
    (r".", "ü"),
    (r"\.\*\-", ".*-"),
]

FAILING = [
    (r"a", "ab"),
    (r"a", ""),
    (r".", "\n"),
    (r"\d", "٣"),
    (r"\w", "ü"),
    (r"\s", "\v"),
    (r"^a$", "a\n"),
    (r"a$\n", "a\n"),
    (r"(?i)[^k]", "K"),
    (r"a\Bb", "a"),
    (r"a\bb", "ab"),
    (r"[^a]", "a"),
    (r"a{2,3}", "aaaa"),
    (r"(?i:a)B", "Ab"),
    (r"\p{Lu}", "a"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHING)
def test_matching(pattern: str, text: str) -> None:
    assert matches(pattern, text)


@pytest.mark.parametrize(("pattern", "text"), FAILING)
def test_failing(pattern: str, text: str) -> None:
    assert not matches(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a)",
        "(?",
        "(?P<n",
        "(?P<>a)",
        "(?P<1>a)",
        "(?x)a",
        "(?--i)a",
        "[",
        "[a",
        "[]",
        "[b-a]",
        "[[:foo:]]",
        "\\",
        "*",
        "+a",
        "a**",
        "a+*",
        "a{3}{2}",
        "a{2,1}",
        "a{1001}",
        r"(a)\1",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?>a)",
        r"\p{Greek}",
        r"\p",
        r"\pX",
        r"\p{Lx}",
        r"\x",
        r"\xg1",
        r"\x{110000}",
        r"\C",
        r"\Z",
        r"\G",
        r"\8",
        r"\j",
        "(a{1000}){1000}",
        "((((){1000}){1000}){1000})",
        "(" * 101 + ")" * 101,
    ],
)
def test_what_is_not_re2_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Program(pattern)
    with pytest.raises(ValidationError, match="RE2"):
        run("RegexFullMatch", 20, strings("a"), pattern=pattern)


SIMPLE = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", "^", "$", r"\b", ""]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(SIMPLE, st.text("ab -", max_size=6))
def test_like_python_where_the_languages_agree(pattern: str, text: str) -> None:
    # Python's $ also matches before a newline at the end, of which these texts have none.
    assert matches(pattern, text) == (re.fullmatch(pattern, text) is not None)


@given(st.text(max_size=12))
def test_no_pattern_raises_anything_else(pattern: str) -> None:
    with contextlib.suppress(PatternError):
        Program(pattern).full_match("ab")


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"(a|a)*b", r"(a*)*b", r"(.*)(.*)(.*)(.*)b", r"(a?){500}a{500}"])
def test_patterns_that_explode_elsewhere(pattern: str) -> None:
    text = "a" * (3000 if "500" not in pattern else 499)
    assert not matches(pattern, text)
    assert matches(pattern, text + ("b" if pattern.endswith("b") else "a"))


def test_the_operator() -> None:
    x = strings("www.google.com", "a", shape=(2, 1))
    same(run("RegexFullMatch", 20, x, pattern=r"www\..+"), np.array([[True], [False]]))
    same(run("RegexFullMatch", 20, strings(shape=(0,)), pattern="a"), np.zeros(0, np.bool_))
    with pytest.raises(ValidationError, match="'pattern' is missing"):
        run("RegexFullMatch", 20, x)
    with pytest.raises(ValidationError, match="expected string"):
        run("RegexFullMatch", 20, np.zeros(1), pattern="a")


@pytest.mark.parametrize("pattern", [p for p, _ in MATCHING if "(?<" not in p])
def test_like_onnxruntime(pattern: str) -> None:
    x = strings(*(text for _, text in MATCHING + FAILING))
    expected = onnxruntime_run("RegexFullMatch", 20, x, pattern=pattern)[0]
    same(run("RegexFullMatch", 20, x, pattern=pattern), expected)
