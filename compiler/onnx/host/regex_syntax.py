"""A parser of RE2's syntax (https://github.com/google/re2/wiki/Syntax), as far as full matches without groups need it.

Not supported: scripts in ``\\p{...}`` (general categories are) and ``\\C``. As in RE2 there are no back-references and
no lookaround: a pattern that has them is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from basalt.compiler.onnx.host.regex_classes import ANY, NOT_NEWLINE, PERL, POSIX, CharClass, category, single

__all__ = ["Alternate", "Assert", "Chars", "Concat", "PatternError", "Repeat", "Term", "parse"]

MAX_REPEAT = 1000
"""RE2's limit of a counted repetition."""
MAX_NESTING = 100


class PatternError(ValueError):
    """A pattern that is not RE2's syntax, or beyond a limit."""


@dataclass(frozen=True)
class Chars:
    """One character of a set."""

    chars: CharClass


@dataclass(frozen=True)
class Assert:
    """A place: ``begin`` or ``end`` of the text, of a line (``line_begin``, ``line_end``), ``word``, ``not_word``."""

    kind: str


@dataclass(frozen=True)
class Concat:
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Alternate:
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Repeat:
    """``term`` at least ``low`` times and at most ``high`` (None: without end)."""

    term: Term
    low: int
    high: int | None


Term = Chars | Assert | Concat | Alternate | Repeat

_ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_ASSERTS = {"A": "begin", "z": "end", "b": "word", "B": "not_word"}


def parse(pattern: str) -> Term:
    """The pattern's tree; :class:`PatternError` with the place of the fault."""
    parser = _Parser(pattern)
    tree = parser.alternation(0)
    if parser.rest():
        raise parser.fault("')' without '('")
    return tree


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()

    def rest(self) -> str:
        return self.pattern[self.at :]

    def fault(self, what: str) -> PatternError:
        return PatternError(f"{what} at offset {self.at}")

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def next(self, missing: str) -> str:
        if self.at >= len(self.pattern):
            raise self.fault(missing)
        self.at += 1
        return self.pattern[self.at - 1]

    def until(self, end: str, missing: str) -> str:
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            raise self.fault(missing)
        text = self.pattern[self.at : stop]
        self.at = stop + len(end)
        return text

    def alternation(self, depth: int) -> Term:
        if depth > MAX_NESTING:
            raise self.fault(f"groups nested more than {MAX_NESTING} deep")
        branches = [self.concatenation(depth)]
        while self.take("|"):
            branches.append(self.concatenation(depth))
        return branches[0] if len(branches) == 1 else Alternate(tuple(branches))

    def concatenation(self, depth: int) -> Term:
        terms: list[Term] = []
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            term = self.quoted() if self.take("\\Q") else self.atom(depth)
            if term is not None:
                terms.append(self.repeated(term))
        return terms[0] if len(terms) == 1 else Concat(tuple(terms))

    def quoted(self) -> Term | None:
        """The literal text up to ``\\E`` or the end."""
        stop = self.pattern.find("\\E", self.at)
        text = self.pattern[self.at : stop if stop >= 0 else None]
        self.at = len(self.pattern) if stop < 0 else stop + 2
        terms = [Chars(single(c, "i" in self.flags)) for c in text]
        if len(terms) > 1 and self.at < len(self.pattern) and self.pattern[self.at] in "*+?{":
            # A repetition behind the quotation belongs to its last character.
            return Concat((*terms[:-1], self.repeated(terms[-1])))
        return terms[0] if len(terms) == 1 else Concat(tuple(terms)) if terms else None

    def repeated(self, term: Term) -> Term:
        bounds = self.quantifier()
        if bounds is None:
            return term
        self.take("?")
        if self.quantifier() is not None:
            raise self.fault("a repetition of a repetition")
        return Repeat(term, *bounds)

    def quantifier(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return bounds
        stop = self.pattern.find("}", self.at) if self.peek("{") else -1
        low, comma, high = self.pattern[self.at + 1 : max(stop, self.at + 1)].partition(",")
        if stop < 0 or not _digits(low) or not (high == "" or _digits(high)):
            return None
        least = int(low)
        most = int(high) if high else (None if comma else least)
        if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
            raise self.fault(f"the repetition {{{low}{comma}{high}}} is not within 0 to {MAX_REPEAT}")
        self.at = stop + 1
        return least, most

    def atom(self, depth: int) -> Term | None:
        char = self.next("the pattern ends")
        fold = "i" in self.flags
        if char == "(":
            return self.group(depth)
        if char == "[":
            return Chars(self.bracket())
        if char == ".":
            return Chars(ANY if "s" in self.flags else NOT_NEWLINE)
        if char == "^":
            return Assert("line_begin" if "m" in self.flags else "begin")
        if char == "$":
            return Assert("line_end" if "m" in self.flags else "end")
        if char in "*+?":
            raise self.fault(f"nothing before {char!r} to repeat")
        if char == "\\":
            return self.escape()
        return Chars(single(char, fold))

    def escape(self) -> Term:
        if self.at < len(self.pattern) and self.pattern[self.at] in _ASSERTS:
            return Assert(_ASSERTS[self.next("")])
        return Chars(self.escaped_class() or single(self.escaped_char(), "i" in self.flags))

    def group(self, depth: int) -> Term | None:
        """What follows "(": a group, with or without a name, or flags for what follows."""
        outer = self.flags
        if self.take("?P<") or self.take("?<"):
            name = self.until(">", "a group's name without '>'")
            if not name or not name.isidentifier():
                raise self.fault(f"the group's name {name!r} is no name")
        elif self.take("?"):
            self.flags = self.changed_flags()
            if self.take(")"):
                return None
            if not self.take(":"):
                raise self.fault("'(?' without flags, ':', 'P<' or '<'")
        inner = self.alternation(depth + 1)
        if not self.take(")"):
            raise self.fault("'(' without ')'")
        self.flags = outer
        return inner

    def changed_flags(self) -> frozenset[str]:
        flags, off = set(self.flags), False
        while self.at < len(self.pattern) and self.pattern[self.at] in "imsU-":
            char = self.next("")
            if char == "-":
                if off:
                    raise self.fault("'-' twice among flags")
                off = True
            elif off:
                flags.discard(char)
            else:
                flags.add(char)
        return frozenset(flags)

    def escaped_class(self) -> CharClass | None:
        """The class behind a backslash: ``d``, ``s``, ``w``, ``p`` and their negations; None for something else."""
        char = self.pattern[self.at : self.at + 1]
        if char.lower() in PERL and char:
            self.at += 1
            return PERL[char] if char.islower() else PERL[char.lower()].negation()
        if char not in ("p", "P"):
            return None
        self.at += 1
        name = self.until("}", "'\\p{' without '}'") if self.take("{") else self.next("'\\p' without a name")
        negated = (char == "P") != name.startswith("^")
        found = category(name.removeprefix("^"))
        if found is None:
            raise self.fault(f"the Unicode class {name!r} is none of the general categories, which alone are supported")
        return found.negation() if negated else found

    def escaped_char(self) -> str:
        char = self.next("the pattern ends with '\\'")
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            digits = (
                self.until("}", "'\\x{' without '}'") if self.take("{") else self.next("'\\x'") + self.next("'\\x'")
            )
            return self.code(digits, 16)
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self.at < len(self.pattern) and self.pattern[self.at] in "01234567":
                digits += self.next("")
            if char == "0" or len(digits) == 3:
                return self.code(digits, 8)
            raise self.fault("a back-reference, which RE2 does not have,")
        if char.isascii() and not char.isalnum():
            return char
        raise self.fault(f"the escape '\\{char}' does not exist")

    def code(self, digits: str, base: int) -> str:
        try:
            return chr(int(digits, base))
        except (ValueError, OverflowError):
            raise self.fault(f"{digits!r} is no character's number") from None

    def bracket(self) -> CharClass:
        """What follows "[", up to the "]" that ends it."""
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        parts: list[CharClass] = []
        first = True
        while first or not self.peek("]"):
            first = False
            part = self.bracket_class()
            if part is not None:
                parts.append(part)
                continue
            low = high = self.bracket_char()
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                high = self.bracket_char()
                if high < low:
                    raise self.fault(f"the range {low}-{high} is in falling order")
            ranges.append((ord(low), ord(high)))
        self.at += 1
        return CharClass(tuple(ranges), (), tuple(parts), negated, "i" in self.flags)

    def bracket_class(self) -> CharClass | None:
        if self.take("[:"):
            name = self.until(":]", "'[:' without ':]'")
            found = POSIX.get(name.removeprefix("^"))
            if found is None:
                raise self.fault(f"the class [:{name}:] does not exist")
            return found.negation() if name.startswith("^") else found
        if self.peek("\\"):
            self.at += 1
            found = self.escaped_class()
            if found is None:
                self.at -= 1
            return found
        return None

    def bracket_char(self) -> str:
        char = self.next("'[' without ']'")
        return self.escaped_char() if char == "\\" else char


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 6
