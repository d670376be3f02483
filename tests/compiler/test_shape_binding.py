"""Sizes of symbols from the shapes of inputs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basalt.compiler.ir import Value
from basalt.compiler.shape_binding import bind_sizes, check_solvable, dim_name, shape_names
from basalt.errors import ValidationError
from basalt.ops import TensorType, bind_shape, parse_dim, symbol


def inputs_of(**shapes: tuple[Any, ...]) -> list[Value]:
    return [
        Value(TensorType("float32", tuple(parse_dim(d) if isinstance(d, str) else d for d in shape)), name)
        for name, shape in shapes.items()
    ]


def test_names_of_dimensions() -> None:
    assert shape_names((3, symbol("n"), symbol("n") * 2 + 1)) == (3, "n", "2*n + 1")
    assert dim_name(symbol("batch-size")) == "batch-size"


@pytest.mark.parametrize(
    ("inputs", "shapes", "sizes"),
    [
        ({"x": (2, 3)}, {"x": (2, 3)}, {}),
        ({"x": (2, 3)}, {}, {}),
        ({"x": ("n", 3)}, {"x": (5, 3)}, {"n": 5}),
        ({"x": ("n", 3)}, {"x": (0, 3)}, {"n": 0}),
        ({"x": ("n",), "z": ("n",)}, {"x": (5,), "z": (5,)}, {"n": 5}),
        ({"x": ("n",), "z": ("n",)}, {"z": (5,)}, {"n": 5}),
        ({"x": ("2*n + 1",)}, {"x": (7,)}, {"n": 3}),
        ({"x": ("2*n",), "z": ("n",)}, {"x": (6,), "z": (3,)}, {"n": 3}),
        ({"x": ("n*m",), "z": ("n",)}, {"x": (6,), "z": (3,)}, {"n": 3, "m": 2}),
        ({"x": ("n + m", "m + k", "k")}, {"x": (6, 5, 1)}, {"n": 2, "m": 4, "k": 1}),
        ({"x": ("n // 2", "n")}, {"x": (3, 7)}, {"n": 7}),
    ],
)
def test_sizes_that_follow(inputs: Any, shapes: Any, sizes: Any) -> None:
    values = inputs_of(**inputs)
    check_solvable(values)
    assert bind_sizes(values, shapes) == sizes


@pytest.mark.parametrize(
    ("inputs", "shapes", "message"),
    [
        ({"x": (2, 3)}, {"x": (2,)}, r"input 'x' has shape \[2\] of rank 1, expected float32\[2, 3\] of rank 2"),
        ({"x": (2, "n")}, {"x": (4, 3)}, r"input 'x' has shape \[4, 3\], expected float32\[2, n\]: axis 0 is 4, not 2"),
        (
            {"x": ("n",), "z": (3, "n")},
            {"x": (5,), "z": (3, 6)},
            "input 'z': axis 1 is 6, expected n = 5: n is 5 by axis 0 of input 'x'",
        ),
        ({"x": ("n", "n")}, {"x": (5, 6)}, "input 'x': axis 1 is 6, expected n = 5: n is 5 by axis 0 of input 'x'"),
        ({"x": ("2*n",)}, {"x": (7,)}, r"input 'x': axis 0 is 7, which 2\*n cannot be"),
        ({"x": ("n + 4",)}, {"x": (3,)}, r"input 'x': axis 0 is 3, which 4 \+ n cannot be|which n \+ 4 cannot be"),
        ({"x": ("n",), "z": ("2*n",)}, {"x": (3,), "z": (7,)}, r"axis 0 is 7, expected 2\*n = 6: n is 3 by axis 0"),
        ({"x": ("n",), "z": ("8 // n",)}, {"x": (0,), "z": (7,)}, "input 'z': axis 0 is 7, expected .* = None"),
        ({"x": ("n", "m")}, {}, r"input 'x': no shape is given that determines m, n of \[n, m\]"),
        ({"x": ("n",), "z": ("n*m",)}, {"x": (0,), "z": (0,)}, "input 'z': no shape is given that determines m"),
    ],
)
def test_sizes_that_do_not_follow(inputs: Any, shapes: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        bind_sizes(inputs_of(**inputs), shapes)


@pytest.mark.parametrize(
    "shape", [("n*m",), ("n // 2",), ("n % 4", "m"), ("n*n",), ("max(n, 3)",), ("n + m", "n - m + k"), ("8 // n",)]
)
def test_inputs_that_determine_nothing(shape: tuple[Any, ...]) -> None:
    with pytest.raises(ValidationError, match=r"input 'x': dimension .* does not determine"):
        check_solvable(inputs_of(x=shape))


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 50), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5), st.sampled_from("abcd")), min_size=1, max_size=5),
)
def test_bound_shapes_are_recovered(sizes: dict[str, int], lines: list[tuple[int, int, str]]) -> None:
    dims = tuple(a * symbol(name) + b for a, b, name in lines if name in sizes)
    if not dims:
        return
    values = [Value(TensorType("float32", dims), "x")]
    check_solvable(values)
    found = bind_sizes(values, {"x": bind_shape(dims, sizes)})
    assert found == {name: sizes[name] for name in {name for _, _, name in lines if name in sizes}}
