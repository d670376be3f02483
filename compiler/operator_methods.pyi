# Written by `python -m basalt.compiler.stubs` from the operators' declarations; not to be edited.

from collections.abc import Sequence

from basalt.ops import Dim

from .operand import MLOperand

class OperatorMethods:
    def clamp(
        self, input: MLOperand, *, min_value: float | None = None, max_value: float | None = None, label: str = ""
    ) -> MLOperand:
        """Each element limited to the range ``min_value`` to ``max_value``; NaN stays NaN."""
    def elu(self, input: MLOperand, *, alpha: float = 1.0, label: str = "") -> MLOperand:
        """The exponential linear unit: ``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    def gelu(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The Gaussian error linear unit ``0.5 * x * (1 + erf(x / sqrt(2)))``."""
    def hard_sigmoid(self, input: MLOperand, *, alpha: float = 0.2, beta: float = 0.5, label: str = "") -> MLOperand:
        """``max(0, min(1, alpha * x + beta))``."""
    def hard_swish(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """``x * max(0, min(6, x + 3)) / 6``: 0 up to -3, ``x`` from 3 on, infinities included."""
    def leaky_relu(self, input: MLOperand, *, alpha: float = 0.01, label: str = "") -> MLOperand:
        """``x``, but ``alpha * x`` where it is negative."""
    def linear(self, input: MLOperand, *, alpha: float = 1.0, beta: float = 0.0, label: str = "") -> MLOperand:
        """``alpha * x + beta``."""
    def prelu(self, input: MLOperand, slope: MLOperand, *, label: str = "") -> MLOperand:
        """``x``, but ``slope * x`` where it is negative; integers wrap around."""
    def relu(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """``max(0, x)``; NaN stays NaN."""
    def sigmoid(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The logistic function ``1 / (1 + exp(-x))``."""
    def softplus(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """``log(1 + exp(x))``, without overflow for large ``x``."""
    def softsign(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """``x / (1 + abs(x))``; NaN for infinities, as the formula gives."""
    def tanh(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The hyperbolic tangent of each element."""
    def arg_min(
        self,
        input: MLOperand,
        axis: int,
        *,
        keep_dimensions: bool = False,
        output_data_type: str = "int32",
        label: str = "",
    ) -> MLOperand:
        """The position of the smallest element along an axis: the first of equals, and the first NaN if there is..."""
    def arg_max(
        self,
        input: MLOperand,
        axis: int,
        *,
        keep_dimensions: bool = False,
        output_data_type: str = "int32",
        label: str = "",
    ) -> MLOperand:
        """The position of the largest element along an axis: the first of equals, and the first NaN if there is one."""
    def add(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """The sum of ``a`` and ``b``, element by element; integers wrap around."""
    def sub(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """The difference ``a - b``, element by element; integers wrap around."""
    def mul(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """The product of ``a`` and ``b``, element by element; integers wrap around."""
    def div(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """The quotient ``a / b``, element by element."""
    def max(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """The greater of ``a`` and ``b``, element by element; NaN if either is NaN."""
    def min(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """The lesser of ``a`` and ``b``, element by element; NaN if either is NaN."""
    def pow(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """``a`` to the power of ``b``, element by element."""
    def cast(self, input: MLOperand, data_type: str, *, label: str = "") -> MLOperand:
        """Each element converted to another data type."""
    def conv2d(
        self,
        input: MLOperand,
        filter: MLOperand,
        *,
        bias: MLOperand | None = None,
        padding: Sequence[int] = (0, 0, 0, 0),
        strides: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        groups: int = 1,
        input_layout: str = "nchw",
        filter_layout: str = "oihw",
        label: str = "",
    ) -> MLOperand:
        """A 2-D convolution, grouped where ``groups`` exceeds 1 (depthwise where it equals the input channels)."""
    def conv_transpose2d(
        self,
        input: MLOperand,
        filter: MLOperand,
        *,
        bias: MLOperand | None = None,
        padding: Sequence[int] = (0, 0, 0, 0),
        strides: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        output_padding: Sequence[int] = (0, 0),
        output_sizes: Sequence[Dim] | None = None,
        groups: int = 1,
        input_layout: str = "nchw",
        filter_layout: str = "iohw",
        label: str = "",
    ) -> MLOperand:
        """A 2-D transposed convolution: the gradient of a convolution with respect to its input."""
    def gather(self, input: MLOperand, indices: MLOperand, *, axis: int = 0, label: str = "") -> MLOperand:
        """Slices of the input along an axis: the axis is replaced by the dimensions of ``indices``."""
    def gather_elements(self, input: MLOperand, indices: MLOperand, *, axis: int = 0, label: str = "") -> MLOperand:
        """One element of the input for each index: the index replaces the element's own position along the axis."""
    def gather_nd(self, input: MLOperand, indices: MLOperand, *, label: str = "") -> MLOperand:
        """Slices of the input by coordinates: the last dimension of ``indices`` holds the leading coordinates of..."""
    def scatter_elements(
        self, input: MLOperand, indices: MLOperand, updates: MLOperand, *, axis: int = 0, label: str = ""
    ) -> MLOperand:
        """A copy of the input with one element replaced for each index: the inverse of ``gather_elements``."""
    def scatter_nd(self, input: MLOperand, indices: MLOperand, updates: MLOperand, *, label: str = "") -> MLOperand:
        """A copy of the input with one slice replaced for each coordinate: the inverse of ``gather_nd``."""
    def reshape(self, input: MLOperand, new_shape: Sequence[Dim], *, label: str = "") -> MLOperand:
        """The same elements, in row-major order, in another shape."""
    def transpose(self, input: MLOperand, *, permutation: Sequence[int] | None = None, label: str = "") -> MLOperand:
        """The dimensions in another order: dimension ``i`` of the output is dimension ``permutation[i]`` of the i..."""
    def expand(self, input: MLOperand, new_shape: Sequence[Dim], *, label: str = "") -> MLOperand:
        """The input repeated along its dimensions of size 1, and along new leading ones, to fill a shape."""
    def reverse(self, input: MLOperand, *, axes: Sequence[int] | None = None, label: str = "") -> MLOperand:
        """The elements in opposite order along the given axes."""
    def concat(self, inputs: Sequence[MLOperand], axis: int, *, label: str = "") -> MLOperand:
        """The inputs one after another along an axis; their other dimensions must agree."""
    def pad(
        self,
        input: MLOperand,
        beginning_padding: Sequence[Dim],
        ending_padding: Sequence[Dim],
        *,
        mode: str = "constant",
        value: float = 0,
        label: str = "",
    ) -> MLOperand:
        """The input with elements added before and after it in each dimension."""
    def tile(self, input: MLOperand, repetitions: Sequence[Dim], *, label: str = "") -> MLOperand:
        """The input repeated as a whole, a number of times in each dimension."""
    def gemm(
        self,
        a: MLOperand,
        b: MLOperand,
        *,
        c: MLOperand | None = None,
        alpha: float = 1.0,
        beta: float = 1.0,
        a_transpose: bool = False,
        b_transpose: bool = False,
        label: str = "",
    ) -> MLOperand:
        """The general matrix product ``alpha * a * b + beta * c`` of BLAS."""
    def matmul(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """The matrix product of the last two dimensions: [..., m, k] times [..., k, n] is [..., m, n]."""
    def equal(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Whether ``a`` equals ``b``, element by element; NaN equals nothing."""
    def not_equal(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Whether ``a`` differs from ``b``, element by element; NaN differs from everything."""
    def greater(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Whether ``a`` is greater than ``b``, element by element; false where either is NaN."""
    def greater_or_equal(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Whether ``a`` is at least ``b``, element by element; false where either is NaN."""
    def lesser(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Whether ``a`` is less than ``b``, element by element; false where either is NaN."""
    def lesser_or_equal(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Whether ``a`` is at most ``b``, element by element; false where either is NaN."""
    def logical_not(self, a: MLOperand, *, label: str = "") -> MLOperand:
        """1 where ``a`` is 0, else 0."""
    def logical_and(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """1 where both ``a`` and ``b`` are true, else 0."""
    def logical_or(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """1 where ``a`` or ``b`` is true, else 0."""
    def logical_xor(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """1 where exactly one of ``a`` and ``b`` is true, else 0."""
    def is_nan(self, a: MLOperand, *, label: str = "") -> MLOperand:
        """1 where ``a`` is NaN, else 0."""
    def is_infinite(self, a: MLOperand, *, label: str = "") -> MLOperand:
        """1 where ``a`` is an infinity of either sign, else 0."""
    def batch_normalization(
        self,
        input: MLOperand,
        mean: MLOperand,
        variance: MLOperand,
        *,
        scale: MLOperand | None = None,
        bias: MLOperand | None = None,
        axis: int = 1,
        epsilon: float = 1e-05,
        label: str = "",
    ) -> MLOperand:
        """Each feature normalized by a given mean and variance."""
    def instance_normalization(
        self,
        input: MLOperand,
        *,
        scale: MLOperand | None = None,
        bias: MLOperand | None = None,
        epsilon: float = 1e-05,
        layout: str = "nchw",
        label: str = "",
    ) -> MLOperand:
        """Each channel of each sample normalized by its own mean and variance over height and width."""
    def layer_normalization(
        self,
        input: MLOperand,
        *,
        scale: MLOperand | None = None,
        bias: MLOperand | None = None,
        axes: Sequence[int] | None = None,
        epsilon: float = 1e-05,
        label: str = "",
    ) -> MLOperand:
        """The input normalized by its own mean and variance over ``axes``."""
    def average_pool2d(
        self,
        input: MLOperand,
        *,
        window_dimensions: Sequence[Dim] | None = None,
        padding: Sequence[int] = (0, 0, 0, 0),
        strides: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        layout: str = "nchw",
        output_shape_rounding: str = "floor",
        output_sizes: Sequence[Dim] | None = None,
        label: str = "",
    ) -> MLOperand:
        """The mean of each window's elements; padding is no element, and does not count in the divisor."""
    def l2_pool2d(
        self,
        input: MLOperand,
        *,
        window_dimensions: Sequence[Dim] | None = None,
        padding: Sequence[int] = (0, 0, 0, 0),
        strides: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        layout: str = "nchw",
        output_shape_rounding: str = "floor",
        output_sizes: Sequence[Dim] | None = None,
        label: str = "",
    ) -> MLOperand:
        """The L2 norm of each window: the square root of the sum of its elements' squares."""
    def max_pool2d(
        self,
        input: MLOperand,
        *,
        window_dimensions: Sequence[Dim] | None = None,
        padding: Sequence[int] = (0, 0, 0, 0),
        strides: Sequence[int] = (1, 1),
        dilations: Sequence[int] = (1, 1),
        layout: str = "nchw",
        output_shape_rounding: str = "floor",
        output_sizes: Sequence[Dim] | None = None,
        label: str = "",
    ) -> MLOperand:
        """The largest element of each window; NaN if one is NaN. Padding never takes part."""
    def dequantize_linear(
        self, input: MLOperand, scale: MLOperand, zero_point: MLOperand, *, label: str = ""
    ) -> MLOperand:
        """``(input - zero_point) * scale``."""
    def quantize_linear(
        self, input: MLOperand, scale: MLOperand, zero_point: MLOperand, *, label: str = ""
    ) -> MLOperand:
        """``clamp(round_even(input / scale) + zero_point)``, clamped to the range of the zero point's data type."""
    def gru(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        steps: Dim,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        initial_hidden_state: MLOperand | None = None,
        reset_after: bool = True,
        return_sequence: bool = False,
        direction: str = "forward",
        layout: str = "zrn",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> tuple[MLOperand, ...]:
        """A gated recurrent unit run along a sequence."""
    def gru_cell(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        hidden_state: MLOperand,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        reset_after: bool = True,
        layout: str = "zrn",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> MLOperand:
        """One step of a gated recurrent unit: the next hidden state [batch, hidden_size]."""
    def lstm(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        steps: Dim,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        peephole_weight: MLOperand | None = None,
        initial_hidden_state: MLOperand | None = None,
        initial_cell_state: MLOperand | None = None,
        return_sequence: bool = False,
        direction: str = "forward",
        layout: str = "iofg",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> tuple[MLOperand, ...]:
        """Long short-term memory run along a sequence."""
    def lstm_cell(
        self,
        input: MLOperand,
        weight: MLOperand,
        recurrent_weight: MLOperand,
        hidden_state: MLOperand,
        cell_state: MLOperand,
        hidden_size: int,
        *,
        bias: MLOperand | None = None,
        recurrent_bias: MLOperand | None = None,
        peephole_weight: MLOperand | None = None,
        layout: str = "iofg",
        activations: Sequence[str] | None = None,
        label: str = "",
    ) -> tuple[MLOperand, ...]:
        """One step of long short-term memory: the next hidden state and the next cell state, both [batch, hidden_..."""
    def reduce_l1(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The L1 norm over axes: the sum of the absolute values."""
    def reduce_l2(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The L2 norm over axes: the square root of the sum of the squares."""
    def reduce_log_sum(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The logarithm of the sum over axes."""
    def reduce_log_sum_exp(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The logarithm of the sum of the exponentials over axes, computed without overflow."""
    def reduce_max(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The largest element over axes; NaN if one is NaN."""
    def reduce_mean(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The mean over axes."""
    def reduce_min(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The smallest element over axes; NaN if one is NaN."""
    def reduce_product(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The product over axes."""
    def reduce_sum(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The sum over axes."""
    def reduce_sum_square(
        self, input: MLOperand, *, axes: Sequence[int] | None = None, keep_dimensions: bool = False, label: str = ""
    ) -> MLOperand:
        """The sum of the squares over axes."""
    def resample2d(
        self,
        input: MLOperand,
        *,
        mode: str = "nearest-neighbor",
        scales: Sequence[float] = (1.0, 1.0),
        sizes: Sequence[Dim] | None = None,
        axes: Sequence[int] = (2, 3),
        label: str = "",
    ) -> MLOperand:
        """The input resampled along two axes to other sizes, by the nearest element or by linear interpolation."""
    def cumulative_sum(
        self, input: MLOperand, axis: int, *, exclusive: bool = False, reversed: bool = False, label: str = ""
    ) -> MLOperand:
        """The running sum along an axis; integers wrap around."""
    def where(
        self, condition: MLOperand, true_value: MLOperand, false_value: MLOperand, *, label: str = ""
    ) -> MLOperand:
        """``true_value`` where ``condition`` is not 0, else ``false_value``; all three are broadcast to each other."""
    def slice(
        self,
        input: MLOperand,
        starts: Sequence[Dim],
        sizes: Sequence[Dim],
        *,
        strides: Sequence[int] | None = None,
        label: str = "",
    ) -> MLOperand:
        """A part of the input: in each dimension ``sizes`` elements from ``starts`` on, of which every ``strides`..."""
    def split(
        self, input: MLOperand, splits: int | Sequence[Dim], *, axis: int = 0, label: str = ""
    ) -> tuple[MLOperand, ...]:
        """The input cut into parts along an axis: a list of tensors."""
    def triangular(self, input: MLOperand, *, upper: bool = True, diagonal: int = 0, label: str = "") -> MLOperand:
        """The upper or lower triangle of each matrix in the last two dimensions; the other elements are 0."""
    def softmax(self, input: MLOperand, axis: int, *, label: str = "") -> MLOperand:
        """The exponentials along an axis divided by their sum, computed without overflow."""
    def abs(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The absolute value of each element; the most negative integer keeps its sign (two's complement)."""
    def ceil(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """Each element rounded up to an integer."""
    def cos(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The cosine of each element, in radians; NaN for infinities."""
    def erf(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The error function of each element."""
    def exp(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The exponential of each element."""
    def floor(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """Each element rounded down to an integer."""
    def identity(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """A copy of the input: makes an input or a constant a graph's output."""
    def log(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The natural logarithm of each element: -infinity for 0, NaN for negative numbers."""
    def neg(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """Each element negated; the most negative integer stays as it is (two's complement)."""
    def reciprocal(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """One divided by each element: an infinity for a zero, of its sign."""
    def round_even(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """Each element rounded to the nearest integer, halves to the even one."""
    def sin(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The sine of each element, in radians; NaN for infinities."""
    def sign(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """1 for each positive element, -1 for each negative one, 0 for others: zeros and, as the standard says, NaN."""
    def sqrt(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The square root of each element; NaN for negative numbers."""
    def tan(self, input: MLOperand, *, label: str = "") -> MLOperand:
        """The tangent of each element, in radians; NaN for infinities."""
