"""What a pass gets beside the graph: the constants, and a place for what people ask about its work."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .. import debug
from ..ir import Constants, Value

_UNIFORM_LIMIT = 1 << 16
"""Constants of more elements are not searched for one repeated number."""


@dataclass(frozen=True, slots=True)
class Debug:
    """What to do beside running the passes; ``BASALT_DEBUG`` sets it for a process."""

    verify: bool = False
    """Run the verifier after each pass."""
    passes: bool = False
    """Print what each pass changed, and which rewrites nearly applied, to stderr."""

    @classmethod
    def from_environment(cls) -> Debug:
        """What ``BASALT_DEBUG`` says (see :mod:`basalt.compiler.debug`)."""
        return cls(debug.enabled("verify"), debug.enabled("passes"))


@dataclass(slots=True)
class Context:
    """The surroundings of one run of the pipeline.

    ``limit`` stops rewriting after so many applied rewrites, to find a wrong one by halving; None for no limit.
    """

    constants: Constants
    collect_notes: bool = False
    limit: int | None = None
    notes: dict[str, None] = field(default_factory=dict)
    """Why rewrites whose pattern matched did not apply, in order, once each."""
    applied: list[str] = field(default_factory=list)
    """The rewrites that applied, in order."""
    _scalars: dict[tuple[str, str], Value] = field(default_factory=dict)
    _numbers: dict[int, float | int | None] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Keep a remark for whoever debugs the passes."""
        if self.collect_notes:
            self.notes[text] = None

    def allow(self, rewrite: str) -> bool:
        """Whether one more rewrite may apply; counts it if so."""
        if self.limit is not None and len(self.applied) >= self.limit:
            return False
        self.applied.append(rewrite)
        return True

    def scalar(self, number: float | int, dtype: np.dtype) -> Value:
        """A constant of shape ``()``, made once for each number and data type."""
        key = (dtype.name, repr(number))
        value = self._scalars.get(key)
        if value is None:
            with np.errstate(over="ignore"):
                value = self._scalars[key] = self.constants.add(np.asarray(number).astype(dtype))
        return value

    def number(self, value: Value | None) -> float | int | None:
        """The number that every element of a constant is, to the bit; None if there is none or it is too large to look.

        An array of NaNs of one bit pattern is the number NaN.
        """
        if value is None or value.constant is None:
            return None
        key = value.constant
        if key not in self._numbers:
            self._numbers[key] = _repeated(self.constants.array(value))
        return self._numbers[key]


def _repeated(array: np.ndarray) -> float | int | None:
    if not 0 < array.size <= _UNIFORM_LIMIT or array.dtype.kind == "c":
        return None
    first = array.reshape(-1)[0]
    if array.size > 1:
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
        if not (raw == raw[0]).all():
            return None
    number = first.item()
    return number if isinstance(number, (int, float)) else float(first)
