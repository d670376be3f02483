"""Compiled ensembles of trees, against their NumPy semantics."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from basalt.compiler.ir import Value
from basalt.compiler.lower import compile_spec
from basalt.errors import UnsupportedError, ValidationError

from ...ops.extension.forests import Forest
from ...ops.extension.test_tree_ensemble import ARGUMENTS, KINDS
from ..compiled.forms import EXACT, Bench


def call(bench: Bench, x: Value, operands: dict[str, np.ndarray], targets: int, **options: object) -> Value:
    values = {name: bench.maker.constant(v, v.dtype.name) for name, v in operands.items()}
    optional = {name: v for name, v in values.items() if name not in ARGUMENTS}
    return bench.maker.call(  # type: ignore[no-any-return]
        "tree_ensemble", x, *(values[name] for name in ARGUMENTS), targets, **optional, **options
    )


@pytest.mark.parametrize("rows", [1, 3, 16, 45])
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_every_comparison(rows: int, kind: int) -> None:
    modes, many = KINDS[kind]
    aggregate = ("sum", "average", "min", "max", "sum")[kind]
    forest = Forest(rows, trees=20, depth=6, features=5, targets=1 if kind == 0 else 3, modes=modes, many=many)
    bench = Bench(Random(kind))
    x = bench.operand(forest.rows(rows), "float32", ("plain", "transposed"))
    result = call(bench, x, forest.operands(), forest.targets, aggregate=aggregate)
    bench.check(bench.result(result), EXACT)


@pytest.mark.parametrize(
    ("dtype", "rows", "wide"), [("float64", 20, False), ("float64", 2, False), ("float32", 20, True)]
)
def test_float64(dtype: str, rows: int, wide: bool) -> None:
    forest = Forest(7, trees=17, depth=5, features=3, targets=2, modes=(0, 1, 4), dtype=dtype)
    bench = Bench(Random(0))
    x = bench.input(forest.rows(rows), dtype)
    bench.check([call(bench, x, forest.operands(), 2, accumulate_float64=wide)], EXACT)


def test_leaves_alone_without_features() -> None:
    forest = Forest(0, trees=3, depth=0, features=1, targets=2, modes=(0,), many=False)
    bench = Bench(Random(0))
    x = bench.input(np.zeros((20, 0)), "float32")
    bench.check([call(bench, x, forest.operands(), 2)], EXACT)


def test_arrays_that_are_no_trees_or_no_constants_are_refused() -> None:
    forest = Forest(0, trees=3, depth=4, features=4, targets=1, modes=(0,), many=False)
    bench, operands = Bench(Random(0)), forest.operands()
    operands["true_child"][0] = 0
    result = call(bench, bench.input(forest.rows(2), "float32"), operands, 1)
    with pytest.raises(ValidationError, match="cycle"):
        compile_spec(bench.maker.graph(y=result), bench.maker.constants)
    bench = Bench(Random(0))
    names = [bench.input(v, v.dtype.name) for k, v in forest.operands().items() if k in ARGUMENTS]
    result = bench.maker.call("tree_ensemble", bench.input(forest.rows(2), "float32"), *names, 1)
    with pytest.raises(UnsupportedError, match="feature is computed at run time"):
        compile_spec(bench.maker.graph(y=result), bench.maker.constants)
