"""BatchNormalization in all versions, modes and types, against its equations in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.errors import BasaltError

from .one_node import allowed, close, run, sample, versions

OLD = [1, 6, 7, 9]
EPSILON = 0.125


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def operands(shape: tuple[int, ...], dtypes: tuple[str, str, str], features: tuple[int, ...]) -> list[np.ndarray]:
    x, scale, bias = sample(dtypes[0], shape), sample(dtypes[1], features, seed=1), sample(dtypes[1], features, seed=2)
    return [x, scale, bias, sample(dtypes[2], features, seed=3), sample(dtypes[2], features, 0.5, 4, seed=4)]


def normalized(x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    """By parameters [features, ...] that are broadcast to the places after them."""
    scale, bias, mean, variance = (wide(p).reshape(*p.shape, *[1] * (x.ndim - 1 - p.ndim)) for p in parameters)
    return (wide(x) - mean) / np.sqrt(variance + EPSILON) * scale + bias


def attributes_of(version: int, **given: Any) -> dict[str, Any]:
    consumed = {"consumed_inputs": [0, 0, 0, 1, 1]} if version == 1 else {}
    return {**consumed, "epsilon": EPSILON, **given}


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 2, 2), (1, 3, 2, 2, 2)])
@pytest.mark.parametrize(
    ("version", "dtype"), [(v, d) for v in versions("BatchNormalization") for d in allowed("BatchNormalization", v)]
)
def test_given_statistics(version: int, dtype: str, shape: tuple[int, ...]) -> None:
    inputs = operands(shape, (dtype, dtype, dtype), (3,))
    attributes = attributes_of(version, **({"is_test": 1} if version < 7 else {}))
    y = run("BatchNormalization", version, *inputs, compiled=version == 15 and len(shape) == 4, **attributes)
    close(y, normalized(*inputs), dtype, 8)


@pytest.mark.parametrize("version", [1, 6, 7])
@pytest.mark.parametrize("training", [False, True])
def test_every_place_is_a_feature_without_spatial(version: int, training: bool) -> None:
    inputs = operands((4, 3, 2, 2), ("float32",) * 3, (3, 2, 2))
    test = {"is_test": int(not training)} if version < 7 else {}
    found = run(
        "BatchNormalization",
        version,
        *inputs,
        outputs=5 if training else 1,
        **attributes_of(version, spatial=0, momentum=0.5, **test),
    )
    x, scale, bias, mean, variance = inputs
    if not training:
        close(found, normalized(*inputs), "float32", 8)
        return
    own = wide(x).mean(0), wide(x).var(0)
    close(found[0], normalized(x, scale, bias, *own), "float32", 8)
    for result, before, now in zip(found[1:3], (mean, variance), own):
        close(result, before * 0.5 + now * 0.5, "float32", 4)
    for result, now in zip(found[3:], own):
        close(result, now, "float32", 4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("version", versions("BatchNormalization"))
def test_own_statistics(version: int, dtype: str) -> None:
    inputs = operands((3, 4, 5), (dtype, dtype, dtype), (4,))
    outputs = 5 if version < 14 else 3
    mode = {"training_mode": 1} if version >= 14 else {}
    found = run(
        "BatchNormalization",
        version,
        *inputs,
        outputs=outputs,
        compiled=dtype == "float32" and version in (9, 15),
        **attributes_of(version, momentum=0.75, **mode),
    )
    x, scale, bias, mean, variance = inputs
    own = [wide(x).mean((0, 2)), wide(x).var((0, 2))]
    close(found[0], normalized(x, scale, bias, *own), dtype, 8)
    running = [wide(before) * 0.75 + now * 0.25 for before, now in zip((mean, variance), own)]
    for result, wanted in zip(found[1:], running if version >= 14 else running + own):
        close(result, wanted, dtype, 4)


@pytest.mark.parametrize("version", [1, 6])
def test_a_first_version_trains_unless_it_is_a_test(version: int) -> None:
    inputs = operands((3, 4, 5), ("float32",) * 3, (4,))
    y = run("BatchNormalization", version, *inputs, compiled=False, **attributes_of(version))
    x = inputs[0]
    close(y, normalized(*inputs[:3], wide(x).mean((0, 2)), wide(x).var((0, 2))), "float32", 8)


@pytest.mark.parametrize("training", [0, 1])
@pytest.mark.parametrize(
    "dtypes", [("float16", "float32", "float32"), ("bfloat16", "float16", "float32"), ("float32", "float64", "float16")]
)
def test_types_may_be_mixed(dtypes: tuple[str, str, str], training: int) -> None:
    inputs = operands((3, 4, 5), dtypes, (4,))
    found = run(
        "BatchNormalization",
        15,
        *inputs,
        outputs=3 if training else 1,
        compiled=dtypes[0] == "float16",
        epsilon=EPSILON,
        training_mode=training,
    )
    x = inputs[0]
    if training:
        close(found[0], normalized(*inputs[:3], wide(x).mean((0, 2)), wide(x).var((0, 2))), dtypes[0], 8)
        close(found[1], wide(inputs[3]) * 0.9 + wide(x).mean((0, 2)) * 0.1, dtypes[2], 4)
    else:
        close(found, normalized(*inputs), dtypes[0], 8)


@pytest.mark.parametrize("version", [9, 14, 15])
def test_a_vector_is_a_batch_of_one_feature(version: int) -> None:
    inputs = operands((7,), ("float32",) * 3, (1,))
    x, rest = inputs[0], inputs[1:]
    y = run("BatchNormalization", version, *inputs, compiled=False, epsilon=EPSILON)
    close(y, normalized(x[:, None], *rest)[:, 0], "float32", 8)


def test_what_the_standard_does_not_allow_is_refused() -> None:
    inputs = operands((3, 4, 5), ("float32",) * 3, (4,))
    with pytest.raises(BasaltError, match="training_mode"):
        run("BatchNormalization", 15, *inputs, outputs=3, compiled=False)
    with pytest.raises(BasaltError, match="mean"):
        run("BatchNormalization", 15, *inputs[:3], inputs[3][:2], inputs[4], compiled=False)
    with pytest.raises(BasaltError, match="number"):
        run("BatchNormalization", 15, np.float32(1).reshape(()), *[v[:1] for v in inputs[1:]], compiled=False)
