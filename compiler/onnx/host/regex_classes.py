"""Sets of characters in regular expressions: ranges, Unicode categories, and what RE2 calls Perl and POSIX classes."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["ANY", "NOT_NEWLINE", "PERL", "POSIX", "CharClass", "category", "single"]

Range = tuple[int, int]


@dataclass(frozen=True)
class CharClass:
    """Characters in ``ranges``, in a Unicode general category that starts with one of ``categories``, or in a ``part``.

    ``fold`` also takes what differs only in case; ``negated`` takes all others instead.
    """

    ranges: tuple[Range, ...] = ()
    categories: tuple[str, ...] = ()
    parts: tuple[CharClass, ...] = ()
    negated: bool = False
    fold: bool = False

    def contains(self, char: str) -> bool:
        found = any(self._holds(c) for c in (_variants(char) if self.fold else (char,)))
        return found != self.negated

    def _holds(self, char: str) -> bool:
        code = ord(char)
        return (
            any(low <= code <= high for low, high in self.ranges)
            or (bool(self.categories) and unicodedata.category(char).startswith(self.categories))
            or any(part.contains(char) for part in self.parts)
        )

    def negation(self) -> CharClass:
        return CharClass((), (), (self,), negated=True)


@lru_cache(maxsize=4096)
def _variants(char: str) -> tuple[str, ...]:
    """The characters that differ from ``char`` only in case (Unicode's simple case folding)."""
    near = {char, char.lower(), char.upper()}
    near |= {v for c in tuple(near) for v in (c.lower(), c.upper(), c.casefold())}
    return tuple(c for c in near if len(c) == 1)


def single(char: str, fold: bool = False) -> CharClass:
    """The set of one character."""
    return CharClass(((ord(char), ord(char)),), fold=fold)


def category(name: str) -> CharClass | None:
    """A Unicode general category such as ``L`` or ``Lu``; None for an unknown one (scripts among them)."""
    if name == "Any":
        return ANY
    return CharClass(categories=(name,)) if name in _CATEGORIES else None


_SUBCATEGORIES = {"C": "cfnos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = frozenset(_SUBCATEGORIES) | {group + kind for group, kinds in _SUBCATEGORIES.items() for kind in kinds}

ANY = CharClass(((0, 0x10FFFF),))
NOT_NEWLINE = CharClass(((10, 10),), negated=True)


def _of(*pairs: str) -> CharClass:
    """The set of the ranges that two-character strings name."""
    return CharClass(tuple((ord(p[0]), ord(p[-1])) for p in pairs))


PERL = {"d": _of("09"), "s": _of("\t\n", "\f\r", " "), "w": _of("09", "AZ", "az", "_")}
"""``\\d``, ``\\s`` and ``\\w``: ASCII only, as in RE2."""

POSIX = {
    "alnum": _of("09", "AZ", "az"),
    "alpha": _of("AZ", "az"),
    "ascii": _of("\x00\x7f"),
    "blank": _of("\t", " "),
    "cntrl": _of("\x00\x1f", "\x7f"),
    "digit": _of("09"),
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/", ":@", "[`", "{~"),
    "space": _of("\t\r", " "),
    "upper": _of("AZ"),
    "word": _of("09", "AZ", "az", "_"),
    "xdigit": _of("09", "AF", "af"),
}
