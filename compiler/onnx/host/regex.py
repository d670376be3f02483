"""RegexFullMatch, in RE2's syntax and in linear time."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from basalt.compiler.onnx.host.checks import tensor
from basalt.compiler.onnx.host.element_types import is_string, type_name
from basalt.compiler.onnx.host.regex_program import Program
from basalt.compiler.onnx.host.regex_syntax import PatternError
from basalt.compiler.onnx.host.registry import HostNode, host_op


@lru_cache(maxsize=64)
def _program(pattern: str) -> Program:
    return Program(pattern)


@host_op("RegexFullMatch", 20)
def regex_full_match(n: HostNode, x: np.ndarray) -> np.ndarray:
    """Whether ``pattern`` matches the whole of each string."""
    x = tensor(n, "X", x)
    if not is_string(x.dtype):
        raise n.error(f"input 'X' is of type {type_name(x.dtype)}, expected string")
    pattern = n.required("pattern")
    try:
        program = _program(pattern)
    except PatternError as error:
        raise n.error(f"attribute 'pattern' is {pattern!r}, expected RE2 syntax: {error}") from None
    return np.array([program.full_match(str(text)) for text in x.flat], dtype=np.bool_).reshape(x.shape)
