"""Contexts: what owns tensors and graphs, and runs graphs on tensors (the standard's section "MLContext interface")."""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, overload

import numpy as np

from basalt.errors import InvalidStateError, ValidationError

from .descriptors import check_shape, elements_of, parse_descriptor, writable_view
from .tensor import MLTensor

__all__ = ["BaseContext", "Dispatchable", "LostInfo"]

POWER_PREFERENCES = ("default", "high-performance", "low-power")


class Described(Protocol):
    """An input or output of a graph; a dimension of unknown size is a string."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[Any, ...]: ...


class Dispatchable(Protocol):
    """What a context asks of a graph."""

    @property
    def context(self) -> BaseContext: ...
    @property
    def destroyed(self) -> bool: ...
    @property
    def inputs(self) -> Sequence[Described]: ...
    @property
    def outputs(self) -> Sequence[Described]: ...
    def output_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
        """The outputs' shapes for these shapes of the inputs; ValidationError if they don't fit the graph."""
        ...

    def run(self, feeds: Mapping[str, Any], out: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]: ...
    def destroy(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LostInfo:
    """Why a context can no longer be used."""

    message: str


class BaseContext:
    """A context without what only the operators know; :class:`basalt.MLContext` is the one to use."""

    def __init__(
        self,
        threads: int | None = None,
        power_preference: str = "default",
        eager_first_run: bool | None = None,
    ) -> None:
        if power_preference not in POWER_PREFERENCES:
            raise ValidationError(
                f"power_preference is {power_preference!r}, expected one of {', '.join(POWER_PREFERENCES)}"
            )
        if eager_first_run not in (None, True, False):
            raise ValidationError(f"eager_first_run is {eager_first_run!r}, expected True, False or None")
        self._threads = _thread_count(threads)
        self._power_preference = power_preference
        self._eager_first_run = eager_first_run
        self._lost: LostInfo | None = None
        self._timeline = threading.Lock()
        self._owned: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def threads(self) -> int | None:
        """How many threads the context's graphs run on; None for the process's setting (``set_num_threads``)."""
        if self._threads is None and self._power_preference == "low-power":
            return 1
        return self._threads

    @property
    def power_preference(self) -> str:
        """``"default"``, ``"high-performance"`` or ``"low-power"``: one thread unless ``threads`` says otherwise."""
        return self._power_preference

    @property
    def eager_first_run(self) -> bool | None:
        """Whether graphs run through NumPy while they are compiled; None leaves it to BASALT_EAGER."""
        return self._eager_first_run

    @property
    def accelerated(self) -> bool:
        """False: graphs run on the CPU."""
        return False

    @property
    def lost(self) -> LostInfo | None:
        """Why the context can't be used any more, None while it can."""
        return self._lost

    @property
    def destroyed(self) -> bool:
        """Whether the context can't be used any more."""
        return self._lost is not None

    def check_usable(self, what: str) -> None:
        """Raise InvalidStateError, starting with ``what``, if the context is lost."""
        if self._lost is not None:
            raise InvalidStateError(f"{what}: {self._lost.message}")

    def adopt(self, owned: Any) -> None:
        """Destroy ``owned`` (a graph or a tensor) with the context; the context does not keep it alive."""
        self._owned.add(owned)

    def destroy(self) -> None:
        """Destroy every graph and tensor of the context and refuse further use. Idempotent."""
        if self._lost is not None:
            return
        self._lost = LostInfo("the context was destroyed")
        for owned in list(self._owned):
            owned.destroy()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()

    def create_tensor(
        self,
        data_type: Any,
        shape: Any = None,
        *,
        readable: bool | None = None,
        writable: bool | None = None,
    ) -> MLTensor:
        """A tensor of zeros.

        Args:
            data_type: the data type, or a descriptor: a dictionary of dataType, shape, readable and writable.
            shape: the sizes of the dimensions, 1 to 2**31 - 1 each; left out with a descriptor.
            readable: whether ``read_tensor`` may read it (as the standard says: not by default).
            writable: whether ``write_tensor`` may write it (as the standard says: not by default).

        Raises:
            InvalidStateError: after ``destroy``.
            ValidationError: for an unknown data type and for sizes out of range.
        """
        self.check_usable("create_tensor")
        dtype, given, members = parse_descriptor(data_type, shape, "create_tensor")
        return self._new_tensor(
            dtype,
            check_shape(given, "create_tensor"),
            readable=_flag("readable", readable, members),
            writable=_flag("writable", writable, members),
        )

    def create_constant_tensor(self, data_type: Any, *data: Any) -> MLTensor:
        """A tensor that never changes, for a builder's ``constant``: ``(descriptor, buffer)``, ``(data_type, shape,
        buffer)`` or ``(array)``.

        The elements are copied. A buffer is an array of the data type, or exactly as many bytes as the elements take.

        Raises:
            InvalidStateError: after ``destroy``.
            ValidationError: for an unknown data type, sizes out of range, and a buffer that does not fit.
        """
        what = "create_constant_tensor"
        self.check_usable(what)
        if not data:
            array = data_type
            if not isinstance(array, (np.ndarray, np.generic)):
                raise ValidationError(f"{what}: got {type(array).__name__} alone, expected an array or a type and data")
            data_type, data = array.dtype.newbyteorder("="), (array.shape, array)
        if len(data) > 2:
            raise ValidationError(f"{what}: got {1 + len(data)} arguments, expected a type, a shape and a buffer")
        dtype, given, _ = parse_descriptor(data_type, data[0] if len(data) == 2 else None, what)
        shape = check_shape(given, what)
        return self._new_tensor(dtype, shape, elements=elements_of(data[-1], dtype, shape, what))

    def _new_tensor(self, dtype: str, shape: tuple[int, ...], **options: Any) -> MLTensor:
        tensor = MLTensor(self, dtype, shape, **options)
        self.adopt(tensor)
        return tensor

    @overload
    def read_tensor(self, tensor: MLTensor, out: None = None) -> np.ndarray: ...
    @overload
    def read_tensor(self, tensor: MLTensor, out: Any) -> None: ...
    def read_tensor(self, tensor: MLTensor, out: Any = None) -> np.ndarray | None:
        """A copy of a tensor's elements, or None after copying them to ``out``.

        Args:
            tensor: a readable tensor of this context.
            out: a writable array of the tensor's data type and shape, or a buffer of as many bytes.

        Raises:
            InvalidStateError: after ``destroy``.
            ValidationError: for a tensor of another context, destroyed or not readable, and for an ``out`` that
                does not fit.
        """
        self.check_usable("read_tensor")
        data = self._data_of(tensor, "read_tensor")
        if not tensor.readable:
            raise ValidationError(f"read_tensor: {tensor!r} is not readable; create it with readable=True")
        target = None if out is None else writable_view(out, tensor.data_type, tensor.shape, "read_tensor")
        with self._timeline:
            if target is None:
                return data.copy()
            np.copyto(target, data)
        return None

    def write_tensor(self, tensor: MLTensor, data: Any) -> None:
        """Copy elements into a tensor.

        Args:
            tensor: a writable tensor of this context.
            data: an array of the tensor's data type and shape, or a buffer of as many bytes.

        Raises:
            InvalidStateError: after ``destroy``.
            ValidationError: for a tensor of another context, destroyed or not writable, and for data that do not fit.
        """
        self.check_usable("write_tensor")
        target = self._data_of(tensor, "write_tensor")
        if not tensor.writable:
            raise ValidationError(f"write_tensor: {tensor!r} is not writable; create it with writable=True")
        source = elements_of(data, tensor.data_type, tensor.shape, "write_tensor")
        with self._timeline:
            np.copyto(target, source)

    def dispatch(self, graph: Dispatchable, inputs: Mapping[str, MLTensor], outputs: Mapping[str, MLTensor]) -> None:
        """Run a graph on tensors; returns when the outputs are written.

        Args:
            graph: a graph that a builder of this context built.
            inputs: a tensor for each input of the graph, with its data type and shape.
            outputs: a tensor for each output; no tensor may be given twice, as input or output.

        Raises:
            InvalidStateError: for a destroyed graph.
            ValidationError: for a graph or tensor of another context, a tensor that is destroyed, constant, given
                twice or does not fit, and for names that the graph does not have.
        """
        if getattr(graph, "context", None) is not self:
            raise ValidationError(f"dispatch: {graph!r} is no graph of this context")
        if graph.destroyed:
            raise InvalidStateError(f"dispatch: {graph!r} was destroyed")
        feeds, results = self._arrays(inputs, outputs)
        _check_tensors("input", inputs, graph.inputs, None)
        shapes = graph.output_shapes({name: tensor.shape for name, tensor in inputs.items()})
        _check_tensors("output", outputs, graph.outputs, shapes)
        with self._timeline:
            graph.run(feeds, results)

    def _arrays(
        self, inputs: Mapping[str, MLTensor], outputs: Mapping[str, MLTensor]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The tensors' elements, each tensor being this context's, alive and given once."""
        for kind, tensors in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(tensors, Mapping):
                raise ValidationError(f"dispatch: {kind} is {tensors!r}, expected a dictionary of tensors by name")
        owners: dict[int, str] = {}
        named = [("input", *item) for item in inputs.items()] + [("output", *item) for item in outputs.items()]
        for kind, name, tensor in named:
            other = owners.setdefault(id(tensor), f"{kind} {name!r}")
            if other != f"{kind} {name!r}":
                raise ValidationError(f"dispatch: {tensor!r} is given twice, as {other} and as {kind} {name!r}")
        arrays = [self._data_of(tensor, f"dispatch: {kind} {name!r}") for kind, name, tensor in named]
        return dict(zip(inputs, arrays)), dict(zip(outputs, arrays[len(inputs) :]))

    def _data_of(self, tensor: MLTensor, what: str) -> np.ndarray:
        if not isinstance(tensor, MLTensor):
            raise ValidationError(f"{what}: got {type(tensor).__name__}, expected an MLTensor")
        if tensor.context is not self:
            raise ValidationError(f"{what}: {tensor!r} belongs to another context")
        return tensor.data(what)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{' destroyed' if self.destroyed else ''}>"


def _check_tensors(
    kind: str,
    tensors: Mapping[str, MLTensor],
    described: Sequence[Described],
    shapes: Mapping[str, tuple[int, ...]] | None,
) -> None:
    """The standard's "validate tensors with descriptors"; ``shapes`` has the sizes where descriptors lack them."""
    by_name = {spec.name: spec for spec in described}
    if missing := [name for name in by_name if name not in tensors]:
        raise ValidationError(f"dispatch: no tensor is given for {kind} {missing[0]!r}")
    for name, tensor in tensors.items():
        what = f"dispatch: {kind} {name!r}"
        if tensor.constant:
            raise ValidationError(f"{what}: {tensor!r} is a constant tensor")
        if name not in by_name:
            raise ValidationError(f"{what}: the graph's {kind}s are {', '.join(map(repr, by_name)) or 'none'}")
        spec = by_name[name]
        expected = spec.shape if shapes is None else shapes[name]
        if tensor.data_type != spec.dtype or not _fits(tensor.shape, expected):
            raise ValidationError(f"{what}: got {tensor!r}, expected {spec.dtype}[{', '.join(map(str, expected))}]")


def _fits(shape: tuple[int, ...], expected: tuple[Any, ...]) -> bool:
    return len(shape) == len(expected) and all(e == s or isinstance(e, str) for s, e in zip(shape, expected))


def _flag(name: str, given: bool | None, members: Mapping[str, Any]) -> bool:
    value = members.get(name, False) if given is None else given
    if not isinstance(value, (bool, np.bool_)):
        raise ValidationError(f"create_tensor: {name} is {value!r}, expected True or False")
    return bool(value)


def _thread_count(threads: Any) -> int | None:
    if threads is None:
        return None
    try:
        count = operator.index(threads)
    except TypeError:
        count = 0
    if isinstance(threads, bool) or count < 1:
        raise ValidationError(f"threads is {threads!r}, expected a positive integer, or None for the process's setting")
    return count
