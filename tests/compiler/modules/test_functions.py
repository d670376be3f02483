"""Functions of tensors: arithmetic, reductions, shapes, indices, data types."""

from __future__ import annotations

from typing import Any

from .compare import check, numbers, torch

F = torch.nn.functional
BATCH = torch.export.Dim("batch", min=3)


def test_unary_functions() -> None:
    names = "exp log sqrt rsqrt sin cos tan atan sinh cosh asinh erf erfc floor ceil round trunc sign reciprocal"
    names += " expm1 log1p log2 log10 exp2 square frac neg abs"
    check(lambda x: [getattr(torch, name)(x) for name in names.split()], numbers(3, 4).abs() + 0.1)


def test_arithmetic_of_floats() -> None:
    def function(x: Any, y: Any) -> Any:
        results = (x + y, x - 2 * y, x * y, x / y, x // y, x % y, torch.fmod(x, y), x**2, x.abs() ** y, 2**x, 1 / x)
        results += (5 - x, torch.maximum(x, y), torch.minimum(x, y), torch.atan2(x, y), torch.add(x, y, alpha=2))
        results += (torch.addcmul(x, x, y, value=0.5), torch.addcdiv(x, x, y), torch.lerp(x, y, 0.3))
        return results + (torch.div(x, y, rounding_mode="trunc"), torch.where(x > 0, x, -1.0), x.masked_fill(x < 0, 0))

    check(function, numbers(3, 4), numbers(4, seed=1))


def test_arithmetic_of_integers() -> None:
    def function(x: Any, y: Any) -> Any:
        results = (x + y, x - y, x * y, x / y, x // y, x % y, x**2, x & y, x | y, x ^ y, ~x, x << 1, x >> 1, x + 1.5)
        results += (torch.div(x, y, rounding_mode="trunc"), x.float().mean(), x.sum(), x.clamp(1, 5), x.abs(), x.max())
        return results + (x.int() * 2, x.to(torch.int16) + x.to(torch.int16), x.to(torch.uint8), x.bool() | y.bool())

    check(function, torch.tensor([[-7, 8, 9], [5, -4, 3]]), torch.tensor([2, -3, 4]))


def test_comparisons() -> None:
    def function(x: Any, y: Any) -> Any:
        results = (x > y, x <= 1, x == y, x != 0, (x > 0) & (y > 0), (x > 0) | (y > 0), ~(x > 0), (x > 0) ^ (y > 0))
        return results + (torch.isnan(x), torch.isinf(x), torch.isfinite(x), torch.logical_not(x))

    x = numbers(3, 4)
    x[0, 0], x[1, 1], x[2, 2] = float("nan"), float("inf"), 0
    check(function, x, numbers(4, seed=1))


def test_reductions() -> None:
    def function(x: Any) -> Any:
        results = (x.sum(), x.mean(1), x.sum((0, 2), keepdim=True), x.max(), x.min(1), x.max(2, keepdim=True))
        results += (x.amax((0, 1)), x.prod(1), x.var(), x.std(1), x.var(1, unbiased=False), x.logsumexp(1), x.norm())
        results += (x.norm(dim=1), x.norm(p=1, dim=1), x.argmax(), x.argmin(1), (x > 0).any(1), (x > 0).all())
        return results + ((x > 0).sum(1), F.normalize(x, dim=1), F.cosine_similarity(x, x.flip(1)))

    check(function, numbers(3, 4, 5))


def test_order_and_running_sums() -> None:
    def function(x: Any) -> Any:
        return (
            x.topk(2),
            x.topk(2, 0, largest=False),
            x.sort(1, descending=True),
            x.argsort(0),
            x.cumsum(1),
            x.cumprod(0),
        )

    check(function, numbers(4, 5))


def test_products() -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        results = (torch.bmm(x, y), torch.baddbmm(z, x, y, alpha=0.5, beta=2), x @ y, x[0] @ y[0], x[0] @ y[0, :, 0])
        results += (torch.addmm(z[0], x[0], y[0]), torch.addmm(z[0], x[0], y[0], beta=0.5, alpha=2))
        return results + (torch.einsum("bij,bjk->bik", x, y), torch.einsum("bij->ji", x), torch.outer(x[0, 0], y[0, 0]))

    check(function, numbers(2, 3, 4), numbers(2, 4, 5), numbers(2, 3, 5))


def test_shapes() -> None:
    def function(x: Any) -> Any:
        results = (x.view(2, -1), x.flatten(1), x.permute(2, 0, 1), x.transpose(0, 2), x[None].squeeze(0), x.mT)
        results += (x.expand(2, 2, 3, 4), x.repeat(2, 1, 3), x.flip(1), x.roll(1, 1), x.unflatten(2, (2, 2)), x.tile(2))
        results += (
            x.movedim(0, 2),
            x.repeat_interleave(2, 1),
            x.narrow(1, 1, 2),
            x.diagonal(0, 1, 2),
            x.tril(),
            x.triu(1),
        )
        return results + (x.unfold(2, 2, 1), x.split(2, 1), x.chunk(3, 2), x.unbind(0), x[:, 1:-1:2], x[..., None, -1])

    check(function, numbers(2, 3, 4))


def test_joining_promotes() -> None:
    def function(x: Any, y: Any) -> Any:
        return (
            torch.cat([x, y.double()], 1),
            torch.stack([x, y], -1),
            torch.hstack([x, y]),
            torch.cat([x, x.new_empty(0)]),
        )

    check(function, numbers(2, 3), numbers(2, 3, seed=1))


def test_indices() -> None:
    def function(x: Any, i: Any) -> Any:
        results = (x[i], x[:, i], x[i, :, i], x[i[:, None], i], x[:, i, i], x[:, :, i % 2], x.index_select(1, i % 4))
        wide = i[:, None].expand(3, 4) % 4
        results += (
            x[..., 0].gather(0, wide),
            x[..., 0].scatter(1, wide, 2.5),
            x[..., 0].scatter_add(1, wide, x[:3, :, 1]),
        )
        results += (x[..., 0].scatter(0, wide, x[:3, :, 1]), torch.take_along_dim(x[:3, :, 0], wide, 1))
        results += (x[..., 0].scatter_reduce(1, wide, x[:3, :, 1], "amax"), F.one_hot(i % 4, 7))
        results += (x.index_put((i,), torch.tensor(3.0)), x.index_put((i, i), x[i, 0], accumulate=True))
        return results

    check(function, numbers(4, 4, 5), torch.tensor([0, 2, -1]))


def test_assignments_become_values() -> None:
    def function(x: Any) -> Any:
        x = x.clone()
        x[1] = 0
        x[:, 2:4] = 5
        x[x > 1] = 7.0
        x[:, [0, 4]] = x[:, [4, 0]]
        return x

    check(function, numbers(4, 5))


def test_created_tensors() -> None:
    def function(x: Any) -> Any:
        results = (x + torch.arange(4), torch.zeros(2, 3) + x.sum(), torch.full_like(x, 2), x.new_ones(2), torch.eye(3))
        results += (torch.linspace(0, 1, 5) * x[0, 0], torch.ones_like(x, dtype=torch.int64), torch.arange(0, 1, 0.3))
        return results + (torch.tensor([1, 2]) + x[:2, 0].long(), torch.ones(4, 4).tril().bool())

    check(function, numbers(3, 4))


def test_sizes_of_the_batch() -> None:
    def function(x: Any) -> Any:
        size = x.shape[0]
        results = (
            torch.arange(size)[:, None] + x,
            torch.zeros(size, 2),
            x.new_full((size * 2,), 3.0),
            size,
            x[1:],
            x[:-1],
        )
        results += (x[:, -2:], x.mean(0), x.var(0), torch.var_mean(x, dim=1), torch.cat([x, x[1:]], 0) * 2)
        return results + (x.reshape(-1), x.reshape(-1, 2, 2).sum(1), x / size, F.pad(x, (0, 0, 1, 2)), x.T @ x)

    check(function, numbers(3, 4), dynamic=(({0: BATCH},),), again=[[numbers(6, 4)]])


def test_casts() -> None:
    types = (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8, torch.bool)
    check(lambda x: [x.to(dtype) for dtype in (*types, torch.int8, torch.int16)], numbers(4, 4).abs() * 5)


def test_data_types() -> None:
    nn = torch.nn
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float16, 1e-2), (torch.bfloat16, 3e-2)):
        module = nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.LayerNorm(3)).to(dtype)
        check(module, numbers(2, 4).to(dtype), rtol=tolerance, atol=tolerance, compiled=dtype == torch.float64)


def test_norms_distances_and_searches() -> None:
    def function(x: Any, y: Any) -> Any:
        results = (torch.linalg.vector_norm(x, float("inf"), 1), torch.linalg.matrix_norm(x), torch.hypot(x, x + 1))
        results += (torch.cdist(x, y), torch.cdist(x, y, 1), x.median(1), y.median(0, keepdim=True))
        bounds = torch.tensor([-1.0, 0.0, 0.5])
        return results + (torch.bucketize(x, bounds), torch.searchsorted(bounds, bounds, right=True))

    check(function, numbers(3, 4), numbers(5, 4, seed=1))


def test_sampling_at_places() -> None:
    def function(x: Any, grid: Any) -> Any:
        modes = (("bilinear", "zeros", False), ("nearest", "border", True), ("bicubic", "reflection", False))
        return [F.grid_sample(x, grid, mode, padding, align) for mode, padding, align in modes]

    check(function, numbers(1, 2, 5, 6), numbers(1, 3, 4, 2).clamp(-1.2, 1.2))


def test_losses_and_products_of_several_axes() -> None:
    def function(x: Any, y: Any) -> Any:
        results = (F.mse_loss(x, y), F.l1_loss(x, y), F.cross_entropy(x, y.argmax(1)), F.huber_loss(x, y))
        return results + (
            torch.kron(x[0], y[0]),
            torch.tensordot(x, y.T, 1),
            torch.diag_embed(x),
            x.index_add(0, y[:2, 0].long() % 2, x[:2]),
        )

    check(function, numbers(3, 5), numbers(3, 5, seed=1))


def test_running_extremes_and_medians() -> None:
    def function(x: Any) -> Any:
        return x.cummax(0), x.cummin(-1), x.median(), x.int().cummax(1)

    check(function, numbers(4, 5).round())
    check(lambda x: x.cummax(0), numbers(4, 5), dynamic=(({0: BATCH},),), again=[[numbers(7, 5)]])


def test_functions_that_pass_over_nan_and_signs() -> None:
    x, y = numbers(4, 5), numbers(4, 5, seed=1)
    x[0, 1], y[1, 1], y[0, 0], y[2, 2] = float("nan"), float("nan"), -0.0, 0.0

    def function(x: Any, y: Any) -> Any:
        steps = (y * 3).nan_to_num().int()
        return torch.fmax(x, y), torch.fmin(x, y), torch.copysign(x, y), torch.ldexp(x, steps), x.round(decimals=1)

    check(function, x, y)


def test_moments_of_normalisation() -> None:
    def function(x: Any) -> Any:
        rows = torch.native_group_norm(x[None], None, None, 1, 4, 5, 2, 1e-5)
        return torch.native_layer_norm(x, [5], None, None, 1e-5), rows, x.var(0, False), F.threshold(x, 0.1, 3.0)

    check(function, numbers(4, 5))


def test_norms_and_distances_of_any_order() -> None:
    def function(x: Any, y: Any) -> Any:
        results = [torch.linalg.vector_norm(x, order, 1) for order in (0, 0.5, 3, -1)]
        return results, torch.cdist(x, y, 3.0), torch.pdist(x), torch.dist(x, x + 1)

    check(function, numbers(4, 5), numbers(3, 5, seed=1))
