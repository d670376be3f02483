"""Products of matrices of bytes in int32, tile by tile: what integer matrix products and convolutions share.

The micro-kernels multiply uint8 or, where they add up pairs, int16 by int8. A signed left operand is moved up by 128
for uint8, an unsigned right one down, and the zero points with them: with ``a' = a - za`` and ``b' = b - zb`` the
product is the sum of ``a b``, less ``za`` times the sum of b's column, less ``zb`` times (the sum of a's row less
``k za``). All of that wraps around alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..codegen.choices import choose
from ..codegen.epilogue import Epilogue
from ..codegen.kernel import Call, KernelBuilder
from ..codegen.terms import SUFFIX
from ..codegen.tiling import tile_rows
from ..codegen.units import even_shares
from ..kernels.target import matrix_products, target
from ..views import View
from .elementwise import decode

GROUP = 4
"""Steps of the depth that are multiplied at once."""
WHOLE_GROUPS = 16
"""Groups in a row of a tile register."""
MOST_PANELS = 4
"""Panels whose sums are collected before the zero points and the fused operators are applied."""
HEIGHT = 64
"""Rows whose sums are collected at most."""
BLOCK = 1 << 17
"""Bytes of rows that are used again for each panel before the next ones are read."""
UNIT = 10_000.0
"""Nanoseconds of work that are worth a unit of their own."""
MOST_UNITS = 64


@dataclass(frozen=True, slots=True)
class ByteTile:
    """Rows, vectors and lanes of a micro-kernel, and its form, which is ``amx`` where whole tiles are multiplied."""

    rows: int
    vectors: int
    lanes: int
    form: str

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def whole(self) -> bool:
        return self.form == "amx"

    @property
    def name(self) -> str:
        if self.whole:
            return f"amx_bytes_{self.rows}"
        return f"bytetile_{self.rows}x{self.vectors}x{self.lanes}_{self.form}"

    def nanoseconds(self, groups: int) -> float:
        """Estimated time of one tile."""
        if self.whole:
            return 10.8 * (self.rows // 16) * groups / WHOLE_GROUPS + 25
        steps = {"vnni": 1, "pairs": 2.4, "quads": 2, "eights": 1.6, "plain": 6}[self.form]
        return (max(self.rows * self.vectors * steps / 2, 4) * groups + 30) / 3


def panel_columns() -> int:
    """Columns of a panel of the right operand."""
    return 2 * target().lanes(32)


def row_dtype(form: str) -> str:
    """What rows of the left operand are for a form of micro-kernel."""
    return "int16" if form == "pairs" else "uint8"


def group_multiple() -> int:
    """What the groups of a matrix are filled up to a multiple of, for the CPU to multiply whole tiles where it can."""
    return WHOLE_GROUPS if "int8" in matrix_products() else 1


def byte_tile(rows: int, groups: int, form: str, *, whole: bool = False) -> ByteTile:
    """The tile for a product of so many rows and groups, which ``whole`` says are filled up for whole tiles."""
    narrow, wide = {"plain": (3, 3), "quads": (5, 10), "eights": (4, 10)}.get(form, (6, 12))
    most = wide if target().registers >= 32 else narrow
    vectors = ByteTile(tile_rows(rows, most), 2, target().lanes(32), form)
    if not whole:
        return vectors
    tiles = {height: ByteTile(height, 2, target().lanes(32), "amx") for height in (32, 16)} | {0: vectors}

    def cost(height: int) -> float:
        tile = tiles[height]
        return math.inf if height == 32 and rows < 16 else -(-rows // tile.rows) * tile.nanoseconds(groups)

    return tiles[choose(tuple(tiles), cost)]


@dataclass(frozen=True, slots=True)
class ZeroPoint:
    """A zero point: ``number`` plus, where there is a ``view``, its element; ``strides`` over batches and lines."""

    number: int
    view: View | None = None
    strides: tuple[int, ...] = ()

    @property
    def is_zero(self) -> bool:
        return self.view is None and self.number == 0


@dataclass(frozen=True, slots=True)
class Excess:
    """What groups of a right operand hold beyond what the forms ``quads`` and ``eights`` multiply.

    ``groups`` are int8 [..., columns of a panel, 4], ``places`` the groups they belong to, and ``marks`` where those of
    each panel begin and the last one's end.
    """

    groups: View
    places: View
    marks: View


@dataclass(frozen=True, slots=True)
class ByteProduct:
    """``result[b, r, c] = sum over k of (left[b, r, k] - za[b, r]) * (right[b, k, c] - zb[b, c])``.

    Strides are over (batches..., rows) for ``left`` and ``row_sums``, over (batches..., panel) for ``right``
    and ``column_sums`` (whose panels hold their columns side by side), and over (batches..., rows, columns) for each of
    the epilogue's views. ``depth`` counts the steps, ``groups`` the fours that they are packed in; ``whole`` says that
    these are filled up to a multiple of :data:`WHOLE_GROUPS`. ``form`` is the micro-kernels'.
    """

    batches: tuple[int, ...]
    rows: int
    columns: int
    depth: int
    groups: int
    left: tuple[View, tuple[int, ...]]
    right: tuple[View, tuple[int, ...]]
    row_sums: tuple[View, tuple[int, ...]] | None
    column_sums: tuple[View, tuple[int, ...]]
    row_zero: ZeroPoint
    column_zero: ZeroPoint
    strides: Sequence[Sequence[int]]
    form: str
    whole: bool = False
    excess: Excess | None = None


def byte_product_call(product: ByteProduct, epilogue: Epilogue) -> Call:
    """The kernel of a product; a unit is a block of rows by a few panels of columns."""
    return _Writer(product, epilogue).write()


class _Writer:
    def __init__(self, product: ByteProduct, epilogue: Epilogue) -> None:
        self.product, self.epilogue = product, epilogue
        self.kernel = KernelBuilder("+".join([epilogue.root.op, *(n.op for n in epilogue.nodes)]))
        self.tile = byte_tile(product.rows, product.groups, product.form, whole=product.whole)
        self._plan()

    def _plan(self) -> None:
        p, tile = self.product, self.tile
        self.panels = -(-p.columns // tile.columns)
        stacks = math.prod(p.batches)
        bands = -(-p.rows // tile.rows)
        work = stacks * bands * self.panels * tile.nanoseconds(p.groups)
        wanted = max(1.0, min(MOST_UNITS, work / UNIT)) / max(1, stacks)
        most = max(1, BLOCK // (p.groups * GROUP * tile.rows * p.left[0].itemsize))
        # Rows are cut only if columns are too few for the units: each cut reads all columns once more.
        cuts = math.ceil(wanted / max(1, self.panels))
        self.block = tile.rows * max(1, min(most, -(-bands // cuts)))
        self.blocks = -(-p.rows // self.block)
        # Long rows of sums are finished faster than short ones.
        self.chunk, self.group = even_shares(self.panels, wanted / self.blocks, MOST_PANELS)
        self.chunks = -(-self.panels // self.chunk)
        self.units = stacks * self.blocks * self.chunks
        # A panel that stays in the first-level cache is multiplied by several bands of rows at once.
        self.height = tile.rows if tile.whole or target().registers >= 32 else HEIGHT // tile.rows * tile.rows

    def write(self) -> Call:
        kernel, p, tile = self.kernel, self.product, self.tile
        kernel.line(f"tile = stack_{4 * (self.height + 1) * MOST_PANELS * tile.columns}()")
        self.left = self._declare("left", *p.left)
        self.right = self._declare("right", *p.right)
        if p.excess is not None:
            for name in ("groups", "places", "marks"):
                kernel.source(f"excess_{name}", getattr(p.excess, name))
        self.column_sums = {} if p.row_zero.is_zero else self._declare("sums", *p.column_sums)
        self.row_sums = self._declare("rowsums", *p.row_sums) if p.row_sums else {}
        self.za = self._declare_zero("za", p.row_zero)
        self.zb = self._declare_zero("zb", p.column_zero)
        self.body = self.epilogue.declare_over(kernel, p.strides)
        sizes = {"rows": p.rows, "columns": p.columns, "groups": p.groups, "depth": p.depth, "panels": self.panels}
        sizes |= {"group": self.group, "pitch": self.group * tile.columns}
        sizes |= {"block": self.block, "blocks": self.blocks, "chunk": self.chunk, "chunks": self.chunks}
        for name, value in sizes.items():
            kernel.parameter(name, value)
        if tile.whole:
            kernel.line("amx_configure(min(rows, 16))")
        with kernel.block("for u in range(start, stop)"):
            batch = self._decode()
            kernel.line("bottom = min((b + 1) * block, rows)")
            kernel.line("end_panel = min((g + 1) * chunk, panels)")
            with kernel.block("for first_panel in range(g * chunk, end_panel, group)"):
                kernel.line("last_panel = min(first_panel + group, end_panel)")
                kernel.line(f"first = first_panel * {tile.columns}")
                kernel.line(f"last = min(last_panel * {tile.columns}, columns)")
                with kernel.block(f"for top in range(b * block, bottom, {self.height})"):
                    kernel.line(f"end = min(top + {self.height}, bottom)")
                    if tile.whole:
                        # Whole tiles compute no fewer rows than they have: the last ones reach back.
                        kernel.line("origin = min(top, max(rows - 16, 0))")
                    else:
                        kernel.line("origin = top")
                    with kernel.block("for panel in range(first_panel, last_panel)"):
                        if self.height == tile.rows:
                            kernel.line("low = origin")
                            self._sums(batch)
                        else:
                            with kernel.block(f"for low in range(top, end, {tile.rows})"):
                                self._sums(batch)
                    with kernel.block("for r in range(top, end)"):
                        self._finish(batch)
        if tile.whole:
            kernel.line("amx_release()")
        return kernel.call(self.units, self._cost())

    def _declare(self, name: str, view: View, strides: Sequence[int]) -> dict[int, str]:
        """Declare an operand; returns the source of its strides over the batches and one more dimension."""
        self.kernel.source(name, view)
        return {i: self.kernel.integer(f"{name}_s{i}", s) for i, s in enumerate(strides)}

    def _declare_zero(self, name: str, zero: ZeroPoint) -> dict[int, str]:
        if zero.number:
            self.kernel.typed_integer(f"{name}_n", zero.number, "i32")
        return self._declare(name, zero.view, zero.strides) if zero.view else {}

    def _decode(self) -> dict[int, str]:
        kernel, p = self.kernel, self.product
        kernel.line("q = u // chunks")
        kernel.line("g = u - q * chunks")
        if not p.batches:
            kernel.line("b = q")
            return {}
        kernel.line("s = q // blocks")
        kernel.line("b = q - s * blocks")
        return decode(kernel, "s", [kernel.parameter(f"d{i}", d) for i, d in enumerate(p.batches)])

    def _sums(self, batch: Mapping[int, str]) -> None:
        tile, last = self.tile, len(self.product.batches)
        left = _place(self.left, {**batch, last: "low"})
        right = _place(self.right, {**batch, last: "panel"})
        excess = ""
        if self.product.excess is not None:
            excess = ", excess_groups, excess_places, load_i32(excess_marks, panel), load_i32(excess_marks, panel + 1)"
        place = f"(low - origin) * pitch + (panel - first_panel) * {tile.columns}"
        height = f"min({tile.rows}, end - low)"
        self.kernel.line(
            f"{tile.name}(tile, {place}, pitch, {self.height} * pitch, {height}, "
            f"left, {left}, {self.left[last]}, right, {right}, groups{excess})"
        )

    def _finish(self, batch: Mapping[int, str]) -> None:
        kernel, p, last = self.kernel, self.product, len(self.product.batches)
        if not p.row_zero.is_zero:
            kernel.line(f"za_r = {self._zero('za', p.row_zero, self.za, {**batch, last: 'r'})}")
            kernel.line(f"sums_at = {_place(self.column_sums, {**batch, last: 'first_panel'})} - first")
        if not p.column_zero.is_zero:
            row_sum = f"load_i32(rowsums, {_place(self.row_sums, {**batch, last: 'r'})})"
            taken = "" if p.row_zero.is_zero else "mul_i32(cast_i64_i32(depth), za_r)"
            kernel.line(f"rest_r = {f'sub_i32({row_sum}, {taken})' if taken else row_sum}")
            fixed = p.column_zero.view is None or self.zb[last] == "0"
            if fixed:
                kernel.line(f"zb_rest = mul_i32({self._zero('zb', p.column_zero, self.zb, batch)}, rest_r)")
        self.body.start_row({**batch, last: "r"})
        known = self.body.hoist(last + 1)
        kernel.line("base = (r - origin) * pitch - first")
        with kernel.block("for j in range(first, last)"):
            kernel.line("root = load_i32(tile, base + j)")
            if not p.row_zero.is_zero:
                kernel.line("root = sub_i32(root, mul_i32(za_r, load_i32(sums, sums_at + j)))")
            if not p.column_zero.is_zero:
                taken = "zb_rest"
                if not fixed:
                    taken = f"mul_i32({self._zero('zb', p.column_zero, self.zb, {**batch, last: 'j'})}, rest_r)"
                kernel.line(f"root = sub_i32(root, {taken})")
            self.epilogue.finish(self.body, "root", last + 1, "j", known)

    def _zero(self, name: str, zero: ZeroPoint, strides: Mapping[int, str], at: Mapping[int, str]) -> str:
        if zero.view is None:
            return f"{name}_n"
        suffix = SUFFIX[zero.view.dtype]
        loaded = f"cast_{suffix}_i32(load_{suffix}({name}, {_place(strides, at)}))"
        return f"add_i32({loaded}, {name}_n)" if zero.number else loaded

    def _cost(self) -> float:
        p = self.product
        tiles = math.prod(p.batches) * -(-p.rows // self.tile.rows) * self.panels
        points = math.prod(p.batches) * p.rows * p.columns
        return tiles * self.tile.nanoseconds(p.groups) + points * (0.1 + self.body.cost_of_point())


def _place(strides: Mapping[int, str], indices: Mapping[int, str]) -> str:
    """The source of an element's index."""
    used = [(index, strides[axis]) for axis, index in indices.items() if strides[axis] != "0"]
    return " + ".join(index if stride == "1" else f"{index} * {stride}" for index, stride in used) or "0"
