"""The passes of a fast Fourier transform, and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from basalt.ops import numpy_dtype

from ..codegen.tiling import lanes_of

__all__ = ["Pass", "Plan", "chirp_of", "convolved", "half_factors", "lanes_up_to", "plan_of", "radices", "roots"]

ODD = (13, 11, 7, 5, 3)
"""Odd radices that there are passes of; the largest first, for that leaves fewest numbers side by side unused."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass (:mod:`basalt.compiler.kernels.fourier`): the micro-kernel's form, and where its tables begin."""

    radix: int
    form: str
    lanes: int
    s: int
    m: int
    factors: int
    places: int


@dataclass(frozen=True, eq=False)
class Plan:
    """The passes of a transform of some length, and the tables of all of them."""

    passes: tuple[Pass, ...]
    factors: np.ndarray
    places: np.ndarray


def radices(length: int) -> list[int] | None:
    """The passes' radices: powers of two first, so that numbers come side by side; None where there are none."""
    found, twos = [], 0
    while length % 2 == 0:
        length //= 2
        twos += 1
    for radix in ODD:
        while length % radix == 0:
            found.append(radix)
            length //= radix
    if length > 1:
        return None
    eights, rest = divmod(twos, 3)
    if rest == 1 and eights:
        return [8] * (eights - 1) + [4, 4] + found
    return [2 * rest] * (rest > 0) + [8] * eights + found


def plan_of(length: int, dtype: str) -> Plan:
    """The passes of a transform of a length that :func:`radices` can do."""
    return _plan(length, dtype, lanes_of(dtype))


@lru_cache(maxsize=64)
def _plan(length: int, dtype: str, wide: int) -> Plan:
    """The plan for a target whose registers have ``wide`` lanes, which :func:`_form` asks for again."""
    passes: list[Pass] = []
    tables: list[np.ndarray] = [np.zeros(0)]
    places: list[np.ndarray] = [np.zeros(0, np.int32)]
    s = 1
    for radix in radices(length) or ():
        m = length // (radix * s)
        form, lanes = _form(s, m, dtype)
        starts = sum(t.size for t in tables), sum(p.size for p in places)
        passes.append(Pass(radix, form, lanes, s, m, *starts))
        tables.append(_factors(passes[-1]))
        if form == "place":
            places.append(_places(passes[-1]))
        s *= radix
    return Plan(tuple(passes), np.concatenate(tables).astype(numpy_dtype(dtype)), np.concatenate(places))


def _form(s: int, m: int, dtype: str) -> tuple[str, int]:
    """The micro-kernel's form and its lanes, of 256 bits at most where they are shuffled."""
    top = lanes_up_to(s * m, dtype)
    if s < top and m > 1:
        return (f"along{s}" if s in (1, 2, 4) else "place"), top
    wide = lanes_of(dtype)
    return ("last" if m == 1 else "wide"), wide if s % wide == 0 else lanes_up_to(s, dtype)


def lanes_up_to(count: int, dtype: str) -> int:
    """The lanes of a vector that is no longer than ``count`` numbers nor than 256 bits."""
    top = min(lanes_of(dtype), 32 // numpy_dtype(dtype).itemsize)
    return min(top, 1 << (max(count, 1).bit_length() - 1))


def _factors(step: Pass) -> np.ndarray:
    """The factors of a pass, in the order in which its micro-kernel reads them."""
    if step.form == "last":
        return np.zeros(0)
    size = step.radix * step.m
    if step.form == "wide":
        p = np.arange(step.m)[:, None]
        return _pairs(roots(p * np.arange(1, step.radix), size)).ravel()
    p = _blocks(step) // step.s
    found = roots(p[:, None] * np.arange(1, step.radix)[:, None], size)
    return np.stack([found.real, found.imag], 2).ravel()


def _blocks(step: Pass) -> np.ndarray:
    """Which numbers each block computes, [blocks, lanes]."""
    count = step.s * step.m
    starts = np.minimum(np.arange(0, count, step.lanes), count - step.lanes)
    return starts[:, None] + np.arange(step.lanes)


def _places(step: Pass) -> np.ndarray:
    """Where the first result of each number goes."""
    q = _blocks(step)
    return (q + q // step.s * step.s * (step.radix - 1)).astype(np.int32).ravel()


def _pairs(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1)


def roots(turns: np.ndarray, size: int) -> np.ndarray:
    """``exp(-2i pi turns / size)``, each part to a rounding: angles are brought below an eighth of a turn first."""
    turns = np.asarray(turns, np.int64) % size
    quarters = (8 * turns + size) // (2 * size)
    angles = np.pi / 2 * ((4 * turns - quarters * size) / size)
    near = np.cos(angles) - 1j * np.sin(angles)
    return near * np.array([1, -1j, -1, 1j])[quarters % 4]


def half_factors(length: int, inverse: bool) -> np.ndarray:
    """What joins the halves of a real signal's transform (:mod:`basalt.compiler.kernels.fourier_halves`), [2, h]."""
    found = roots(np.arange(length // 2), length)
    found = 1j * found.conj() / length if inverse else -0.5j * found
    return np.stack([found.real, found.imag])


def convolved(length: int) -> int:
    """A length that a transform of another one can be done by (Bluestein), with passes of few radices."""
    least = 2 * length - 1
    powers = [factor << max(0, (-(-least // factor) - 1).bit_length()) for factor in (1, 3, 5)]
    return min(powers)


def chirp_of(length: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Bluestein's chirp, [2, length], and the transform of what it is convolved with, [2, size], over the size.

    Source: Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970.
    """
    chirp = roots(np.arange(length, dtype=np.int64) ** 2 % (2 * length), 2 * length)
    kernel = np.zeros(size, np.complex128)
    kernel[:length] = chirp.conj()
    kernel[size - length + 1 :] = chirp[1:].conj()[::-1]
    spectrum = np.fft.fft(kernel) / size
    return np.stack([chirp.real, chirp.imag]), np.stack([spectrum.real, spectrum.imag])
