"""What a translator sees of the node that it translates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from basalt.errors import UnsupportedError, ValidationError
from basalt.ops import Dim, SymDim

from .errors import NeedValueError, OnHostError, UnresolvedError
from .schemas import Schema
from .tensor import Item, ListItem, Tensor, dims_of, known_tensor, onnx_dtype

if TYPE_CHECKING:
    from .region import Region

__all__ = ["NodeContext"]

_MISSING = object()


class NodeContext:
    """An ONNX node with its inputs at translation time, and what makes core nodes of it.

    Attributes:
        op, domain: the operator.
        version: the since-version that applies; ``opset`` the version that the model imports.
        label: the node's name for messages.
        inputs: the inputs by position, None for those left out (also at the end).
        num_outputs: how many outputs the node names; ``output_names`` their names, "" for those left out.
    """

    def __init__(
        self,
        op: str,
        domain: str,
        version: int,
        opset: int,
        label: str,
        inputs: Sequence[Item],
        attributes: Mapping[str, Any],
        output_names: Sequence[str],
        schema: Schema | None,
        region: Region,
        tracer: Any = None,
    ) -> None:
        self.op, self.domain, self.version, self.opset, self.label = op, domain, version, opset, label
        self.inputs = tuple(inputs)
        self.attributes = attributes
        self.output_names = tuple(output_names)
        self.schema = schema
        self.region = region
        self.tracer = tracer

    @property
    def num_outputs(self) -> int:
        return len(self.output_names)

    def wants(self, place: int) -> bool:
        """Whether the model reads the output at a place."""
        return place < len(self.output_names) and bool(self.output_names[place])

    # Attributes

    def has(self, name: str) -> bool:
        """Whether the model states the attribute."""
        return name in self.attributes

    def attr(self, name: str, default: Any = _MISSING) -> Any:
        """An attribute: int, float, str, a tuple of those, or an array; else ``default``, else the schema's default."""
        if name in self.attributes:
            return self.attributes[name]
        if default is not _MISSING:
            return default
        declared = self.schema.attributes.get(name) if self.schema else None
        if declared is not None and declared.required:
            raise self.error(f"attribute {name} is missing")
        value = declared.default if declared else None
        return tuple(value) if isinstance(value, list) else value

    def with_defaults(self) -> dict[str, Any]:
        """The attributes that the model states, and the schema's defaults of the others."""
        declared = self.schema.attributes if self.schema else {}
        defaults = {name: a.default for name, a in declared.items() if a.default is not None}
        return {**{k: tuple(v) if isinstance(v, list) else v for k, v in defaults.items()}, **self.attributes}

    # Inputs

    def item(self, place: int) -> Item:
        """The input at a place, None if it is left out."""
        return self.inputs[place] if place < len(self.inputs) else None

    def given(self, place: int) -> bool:
        """Whether the input at a place is there."""
        return self.item(place) is not None

    def tensor(self, place: int) -> Tensor:
        """The tensor at a place.

        Raises:
            ValidationError: if it is left out.
            OnHostError: if it is no tensor, or one of strings or complex numbers.
        """
        item = self.item(place)
        if item is None:
            raise self.error(f"input {self.input_name(place)} is missing")
        if not isinstance(item, Tensor) or item.dtype in ("string", "complex64", "complex128"):
            raise OnHostError
        return item

    def optional(self, place: int) -> Tensor | None:
        """The tensor at a place, None if it is left out."""
        return None if self.item(place) is None else self.tensor(place)

    def tensors(self, start: int = 0) -> list[Tensor]:
        """The tensors from a place on."""
        return [self.tensor(i) for i in range(start, len(self.inputs))]

    def list_item(self, place: int) -> ListItem:
        """The sequence at a place, whose length is known."""
        item = self.item(place)
        if not isinstance(item, ListItem):
            raise OnHostError
        return item

    def input_name(self, place: int) -> str:
        """What the standard calls the input at a place."""
        formal = self.schema.input(place) if self.schema else None
        return formal.name if formal else str(place)

    def known(self, place: int) -> np.ndarray | None:
        """The elements of the tensor at a place if they are known now, else None (also if it is left out)."""
        item = self.item(place)
        return item.array if isinstance(item, Tensor) else None

    def array(self, place: int) -> np.ndarray:
        """The elements of the tensor at a place; a translation that lacks them goes on when they are computed."""
        tensor = self.tensor(place)
        return self.need(tensor) if tensor.array is None else tensor.array

    def dims(self, place: int) -> tuple[Dim, ...]:
        """The elements of the integer tensor at a place, each a number or an expression of sizes."""
        tensor = self.tensor(place)
        found = dims_of(tensor)
        return tuple(int(d) for d in self.need(tensor).reshape(-1)) if found is None else found

    def ints(self, place: int) -> tuple[int, ...]:
        """The elements of the integer tensor at a place."""
        return tuple(int(v) for v in self.array(place).reshape(-1))

    def need(self, tensor: Tensor) -> np.ndarray:
        """The elements of a tensor that are not known yet; usually gives up until they are."""
        if tensor.sized:
            raise UnresolvedError(f"{self.describe()}: needs the elements of {tensor}, which depend on sizes")
        found: np.ndarray = self.tracer.elements(tensor)
        return found

    def decide(self, key: tuple[Any, ...], make: Callable[[], Tensor]) -> np.ndarray:
        """The elements of a small tensor that this node computes to decide how it is translated.

        Where only a run can tell, the translation that goes on holds for these elements: it stands for all inputs that
        lead to the same decision, and nodes with the same key share it.

        Args:
            key: what the decision depends on: tensors, sizes, numbers, texts.
            make: emits the tensor.
        """
        key = (self.domain, self.op, *key)
        found: np.ndarray | None = self.tracer.frames[-1].decisions.get(key)
        if found is not None:
            return found
        tensor = make()
        if tensor.array is not None:
            return tensor.array
        if tensor.sized:
            raise UnresolvedError(f"{self.describe()}: depends on sizes")
        raise NeedValueError(tensor, key)

    def static(self, *dims: Dim) -> tuple[int, ...]:
        """Sizes that the translation must know as numbers."""
        for dim in dims:
            if isinstance(dim, SymDim):
                raise UnresolvedError(f"{self.describe()}: needs the size {dim}")
        return dims  # type: ignore[return-value]

    def axis(self, axis: int, rank: int, name: str = "axis") -> int:
        """An axis counted from the front; refused if there is none of that number."""
        if not -rank <= axis < max(rank, 0):
            raise self.error(f"{name} is {axis}, expected one of a tensor of rank {rank}")
        return int(axis) % rank

    # Results

    def emit(self, op: str, *inputs: Tensor | None, dtype: str = "", **attrs: Any) -> Tensor:
        """The only output of a core operator (see :meth:`.region.Region.emit`)."""
        (output,) = self.region.emit(op, inputs, attrs, self.label, dtype)
        return output

    def emit_all(self, op: str, *inputs: Tensor | None, dtype: str = "", **attrs: Any) -> tuple[Tensor, ...]:
        """All outputs of a core operator."""
        return self.region.emit(op, inputs, attrs, self.label, dtype)

    def constant(self, array: Any, dtype: str = "") -> Tensor:
        """A constant tensor of an array (or number, or list), of an ONNX data type if one is stated."""
        held = np.asarray(array) if not dtype else np.asarray(array).astype(onnx_dtype(dtype))
        return known_tensor(held)

    def scalar(self, number: float | int, like: Tensor | str) -> Tensor:
        """A constant of shape () in a tensor's data type."""
        return self.constant(number, like if isinstance(like, str) else like.dtype)

    def reshape(self, x: Tensor, shape: Sequence[Dim]) -> Tensor:
        """The tensor in another shape of as many elements; itself if it has that shape."""
        return x if x.shape == tuple(shape) else self.emit("reshape", x, new_shape=tuple(shape))

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """The tensor with its axes in another order; itself if that is theirs."""
        return x if tuple(order) == tuple(range(x.rank)) else self.emit("transpose", x, permutation=tuple(order))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """The tensor in another ONNX data type, as the Cast operator converts; itself if it has that type."""
        if x.dtype == dtype:
            return x
        return self.call("Cast", x, to=dtype)

    def expand(self, x: Tensor, shape: Sequence[Dim]) -> Tensor:
        """The tensor stretched to a shape; itself if it has that shape."""
        return x if x.shape == tuple(shape) else self.emit("expand", x, new_shape=tuple(shape))

    def slice(self, x: Tensor, axis: int, start: Dim, size: Dim, step: int = 1) -> Tensor:
        """``size`` places of an axis from ``start`` on, of which every ``step``-th."""
        starts = tuple(start if i == axis else 0 for i in range(x.rank))
        sizes = tuple(size if i == axis else d for i, d in enumerate(x.shape))
        steps = tuple(step if i == axis else 1 for i in range(x.rank))
        return self.emit("slice", x, starts=starts, sizes=sizes, strides=steps)

    def call(self, op: str, *inputs: Item, version: int = 0, domain: str = "", outputs: int = 1, **attrs: Any) -> Any:
        """The output (a tuple for several) of another ONNX operator, translated in this node's place.

        Args:
            op: the operator.
            inputs: its inputs.
            version: the opset whose meaning it has; 0 for the newest.
            domain: its domain.
            outputs: how many outputs to ask for.
            attrs: its attributes, as ``attr`` gives them (``to`` of Cast is a data type's name).
        """
        return self.tracer.call(self, op, inputs, attrs, version, domain, outputs)

    # Messages

    def describe(self) -> str:
        """The node for messages: operator, version, label and inputs."""
        domain = f"{self.domain}." if self.domain else ""
        shown = ", ".join(f"{self.input_name(i)}: {item}" for i, item in enumerate(self.inputs[:8]) if item is not None)
        return f"{domain}{self.op}-{self.version} {self.label!r} ({shown})"

    def error(self, message: str) -> ValidationError:
        """What to raise where the standard does not allow what is given."""
        return ValidationError(f"{self.describe()}: {message}")

    def unsupported(self, message: str) -> UnsupportedError:
        """What to raise where Basalt lacks something."""
        return UnsupportedError(f"{self.describe()}: {message}")
