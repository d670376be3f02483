"""Full matches of regular expressions in time linear in the text, as RE2 matches.

The tree becomes a nondeterministic automaton, all of whose states are followed at once (Thompson, "Regular Expression
Search Algorithm", 1968), so no pattern makes a match explode: it takes at most the text's length times the automaton's
size, which is limited. Steps taken are remembered: a deterministic automaton, built as needed.
"""

from __future__ import annotations

from basalt.compiler.onnx.host.regex_classes import PERL, CharClass
from basalt.compiler.onnx.host.regex_syntax import (
    Alternate,
    Assert,
    Chars,
    Concat,
    PatternError,
    Repeat,
    Term,
    parse,
)

__all__ = ["Program"]

MAX_INSTRUCTIONS = 10_000
_MAX_REMEMBERED = 10_000
_MAX_LINKS = 10 * MAX_INSTRUCTIONS
"""Repetitions of what is empty make no states, but take time."""
_MATCH = 0

Place = frozenset[str]


class Program:
    """A compiled pattern; :class:`PatternError` if it is no pattern or too large."""

    def __init__(self, pattern: str) -> None:
        self._chars: list[CharClass | None] = [None]
        self._kinds: list[str] = ["match"]
        self._next: list[tuple[int, ...]] = [()]
        self._steps: dict[tuple[frozenset[int], Place, str], frozenset[int]] = {}
        self._links = 0
        self._start = self._link(parse(pattern), _MATCH)
        self._looks = any(kind not in ("match", "chars", "split") for kind in self._kinds)

    def _emit(self, kind: str, chars: CharClass | None, *following: int) -> int:
        if len(self._kinds) >= MAX_INSTRUCTIONS:
            raise PatternError(f"the pattern needs more than {MAX_INSTRUCTIONS} states")
        self._kinds.append(kind)
        self._chars.append(chars)
        self._next.append(following)
        return len(self._kinds) - 1

    def _link(self, term: Term, after: int) -> int:
        """The entry of ``term``, which goes on at ``after``."""
        self._links += 1
        if self._links > _MAX_LINKS:
            raise PatternError("the pattern's nested repetitions are too many")
        if isinstance(term, Chars):
            return self._emit("chars", term.chars, after)
        if isinstance(term, Assert):
            return self._emit(term.kind, None, after)
        if isinstance(term, Alternate):
            return self._emit("split", None, *(self._link(t, after) for t in term.terms))
        if isinstance(term, Concat):
            for part in reversed(term.terms):
                after = self._link(part, after)
            return after
        return self._link_repeat(term, after)

    def _link_repeat(self, term: Repeat, after: int) -> int:
        entry = after
        if term.high is None:
            entry = self._emit("split", None)
            self._next[entry] = (self._link(term.term, entry), after)
        else:
            for _ in range(term.high - term.low):
                entry = self._emit("split", None, self._link(term.term, entry), after)
        for _ in range(term.low):
            entry = self._link(term.term, entry)
        return entry

    def full_match(self, text: str) -> bool:
        """Whether the pattern matches the whole of ``text``."""
        states = frozenset((self._start,))
        previous = ""
        for char in text:
            place = _place(previous, char) if self._looks else frozenset()
            key = (states, place, char)
            following = self._steps.get(key)
            if following is None:
                following = self._step(states, place, char)
                if len(self._steps) >= _MAX_REMEMBERED:
                    self._steps.clear()
                self._steps[key] = following
            if not following:
                return False
            states, previous = following, char
        return _MATCH in self._closure(states, _place(previous, ""))

    def _step(self, states: frozenset[int], place: Place, char: str) -> frozenset[int]:
        followed = set()
        for state in self._closure(states, place):
            chars = self._chars[state]
            if chars is not None and chars.contains(char):
                followed.add(self._next[state][0])
        return frozenset(followed)

    def _closure(self, states: frozenset[int], place: Place) -> set[int]:
        """``states`` and all that are reached from them without a character at ``place``."""
        seen = set(states)
        pending = list(states)
        while pending:
            state = pending.pop()
            kind = self._kinds[state]
            if kind == "split" or kind in place:
                new = [s for s in self._next[state] if s not in seen]
                seen.update(new)
                pending.extend(new)
        return seen


def _place(previous: str, following: str) -> Place:
    """What holds between two characters, either of them empty at an end of the text."""
    kinds = set()
    if not previous:
        kinds.add("begin")
    if not following:
        kinds.add("end")
    if previous in ("", "\n"):
        kinds.add("line_begin")
    if following in ("", "\n"):
        kinds.add("line_end")
    before, behind = (bool(c) and PERL["w"].contains(c) for c in (previous, following))
    kinds.add("word" if before != behind else "not_word")
    return frozenset(kinds)
