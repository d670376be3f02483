"""Random tensors: types, ranges, seeds, distributions; Dropout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from basalt.compiler.onnx.host.registry import HostNode
from basalt.errors import ValidationError

from .nodes import run, run_node, same, strings

BF16 = np.dtype(ml_dtypes.bfloat16)


def test_a_seed_gives_the_reference_stream_at_every_run() -> None:
    expected = np.random.RandomState(7).uniform(-1, 2, (3, 4)).astype(np.float32)
    for _ in range(2):
        same(run("RandomUniform", 22, shape=(3, 4), low=-1.0, high=2.0, seed=7.0), expected)
    expected = np.random.RandomState(7).normal(1, 3, (5,))
    same(run("RandomNormal", 1, shape=(5,), mean=1.0, scale=3.0, seed=7.0, dtype=11), expected)
    half, third = (run("RandomUniform", 1, shape=(4,), seed=s) for s in (0.5, 0.25))
    assert (half != third).all()
    run("RandomUniform", 1, shape=(4,), seed=-3.0)
    run("RandomUniform", 1, shape=(4,), seed=1e30)


def test_without_a_seed_the_nodes_generator_is_used() -> None:
    draw = [
        run_node(HostNode("RandomNormal", 22, attributes={"shape": (4,)}, rng=np.random.default_rng(s)))
        for s in (1, 1, 2)
    ]
    same(draw[0], draw[1])
    assert (draw[0] != draw[2]).all()
    assert (run("RandomNormal", 22, shape=(9,)) != run("RandomNormal", 22, shape=(9,))).any()


@pytest.mark.parametrize(("code", "dtype"), [(1, np.float32), (10, np.float16), (11, np.float64), (16, BF16)])
def test_uniform_leaves_out_the_upper_end(code: int, dtype: np.dtype) -> None:
    x = run("RandomUniform", 22, shape=(50_000,), low=2.0, high=3.0, seed=1.0, dtype=code)
    assert x.dtype == dtype
    wide = x.astype(np.float64)
    assert wide.min() >= 2
    assert wide.max() < 3
    assert abs(wide.mean() - 2.5) < 0.01
    assert abs(wide.std() - 12**-0.5) < 0.01


def test_normal_has_mean_and_deviation() -> None:
    x = run("RandomNormalLike", 22, np.zeros((100, 100), np.float16), mean=3.0, scale=2.0, seed=2.0)
    assert x.dtype == np.float16
    assert abs(x.astype(np.float64).mean() - 3) < 0.1
    assert abs(x.astype(np.float64).std() - 2) < 0.1


def test_like_takes_shape_and_type() -> None:
    assert run("RandomUniformLike", 1, strings("a", "b"), dtype=1).dtype == np.float32
    assert run("RandomUniformLike", 1, np.zeros((2, 0, 3))).shape == (2, 0, 3)
    with pytest.raises(ValidationError, match="string"):
        run("RandomUniformLike", 1, strings("a"))
    with pytest.raises(ValidationError, match="int32"):
        run("RandomNormal", 1, shape=(2,), dtype=6)


def test_wrong_attributes() -> None:
    with pytest.raises(ValidationError, match="scale"):
        run("RandomNormal", 1, shape=(2,), scale=-1.0)
    with pytest.raises(ValidationError, match="low"):
        run("RandomUniform", 1, shape=(2,), low=1.0, high=0.0)
    with pytest.raises(ValidationError, match="elements"):
        run("RandomUniform", 1, shape=(2**30, 2**30))
    with pytest.raises(ValidationError):
        run("RandomUniform", 1, shape=(-1,))
    same(run("RandomUniform", 1, shape=(2,), low=1.0, high=1.0), np.ones(2, np.float32))


def test_bernoulli() -> None:
    p = np.repeat([0.0, 0.25, 1.0], 20_000).reshape(3, -1)
    x = run("Bernoulli", 15, p, seed=3.0)
    assert x.dtype == np.float64
    assert set(np.unique(x)) == {0, 1}
    assert (x[0].sum(), x[2].sum()) == (0, 20_000)
    assert abs(x[1].mean() - 0.25) < 0.02
    assert run("Bernoulli", 22, p.astype(np.float32), dtype=9).dtype == np.bool_
    for wrong in (np.array([1.5]), np.array([np.nan])):
        with pytest.raises(ValidationError, match="expected 0 to 1"):
            run("Bernoulli", 15, wrong)


def test_multinomial() -> None:
    logits = np.array([[-np.inf, 0, np.log(3), -np.inf], [5, -np.inf, -np.inf, -np.inf]], np.float32)
    x = run("Multinomial", 7, logits, sample_size=20_000, seed=4.0)
    assert (x.dtype, x.shape) == (np.int32, (2, 20_000))
    assert set(np.unique(x[0])) == {1, 2}
    assert abs((x[0] == 2).mean() - 0.75) < 0.02
    assert not x[1].any()
    assert run("Multinomial", 22, logits.astype(BF16), dtype=7).shape == (2, 1)
    assert run("Multinomial", 22, np.zeros((0, 3)), dtype=7).shape == (0, 1)
    for wrong in (np.full((1, 2), -np.inf), np.array([[np.nan, 0.0]]), np.zeros((1, 0))):
        with pytest.raises(ValidationError, match="finite"):
            run("Multinomial", 7, wrong)


def test_dropout_in_training() -> None:
    x = np.ones(20_000, np.float32)
    ratio, training = np.float32(0.25), np.array(True)
    y, mask = run("Dropout", 13, x, ratio, training, seed=5)
    assert (y.dtype, mask.dtype) == (np.float32, np.bool_)
    assert abs(mask.mean() - 0.75) < 0.02
    same(y, np.where(mask, np.float32(4 / 3), np.float32(0)))
    same(mask, np.random.RandomState(5).uniform(size=x.shape) >= 0.25)
    same(
        run("Dropout", 13, np.array([np.inf, -np.inf] * 50, np.float32), ratio, training, seed=5)[0][~mask[:100]],
        np.zeros(int((~mask[:100]).sum()), np.float32),
    )
    quarter = x[:64].astype(ml_dtypes.float8_e4m3fn)
    assert set(run("Dropout", 22, quarter, np.float32(0.5), training)[0].astype(np.float32).tolist()) <= {0, 2}


def test_dropout_does_nothing_else() -> None:
    x = np.arange(3, dtype=np.float32)
    ones = np.ones(3, np.bool_)
    for inputs in ((x,), (x, np.float32(0.5)), (x, None, np.array(False)), (x, np.float32(0), np.array(True))):
        same(run("Dropout", 12, *inputs), (x, ones))
    same(run("Dropout", 10, x), (x, ones))
    same(run("Dropout", 7, x), (x, ones.astype(np.float32)))
    same(run("Dropout", 1, x, is_test=1), (x, ones.astype(np.float32)))
    y, mask = run("Dropout", 6, np.ones(1000, np.float32), ratio=0.5)
    same(y, mask * np.float32(2))
    assert 0 < mask.mean() < 1
    with pytest.raises(ValidationError, match="ratio"):
        run("Dropout", 12, x, np.float32(1), np.array(True))
