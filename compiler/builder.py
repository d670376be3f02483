"""The graph builder (the standard's section "MLGraphBuilder interface")."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from basalt.errors import InvalidStateError, ValidationError
from basalt.ops import Operator, all_operators, dtype_name, extension_operators
from basalt.ops.convert import MAX_TENSORS, listed
from basalt.ops.schema import RuleError
from basalt.runtime.context import BaseContext
from basalt.runtime.tensor import MLTensor

from . import builder_inputs
from .ir import Constants, Graph, Node, Value
from .method_factory import method_of, returns_many
from .operand import MLOperand
from .operator_methods import OperatorMethods

if TYPE_CHECKING:
    from .graph import MLGraph

__all__ = ["MLGraphBuilder", "MLOperand"]


class MLGraphBuilder(OperatorMethods):
    """Describes one graph, call by call, and builds it.

    Every operator is a method that takes and returns operands; each call is checked at once. It builds one graph.

    Args:
        context: the context that the graph will belong to.
        extended: whether inputs and constants may have data types that the standard lacks (float64, bfloat16, bool,
            ...), operators take them where similar ones are allowed, and the extension operators are methods too.
            int4 and uint4 are always allowed, for quantize_linear and dequantize_linear.

    Raises:
        InvalidStateError: for a destroyed context.
        ValidationError: if ``context`` is no context.
    """

    def __init__(self, context: BaseContext, *, extended: bool = False) -> None:
        if not isinstance(context, BaseContext):
            raise ValidationError(f"MLGraphBuilder: context is {context!r}, expected an MLContext")
        context.check_usable("MLGraphBuilder")
        self._context = context
        self._extended = bool(extended)
        self._built = False
        self._inputs: dict[str, Value] = {}
        self._nodes: list[Node] = []
        self._constants = Constants()

    @property
    def context(self) -> BaseContext:
        """The context that the graph will belong to."""
        return self._context

    def input(self, name: str, data_type: Any, shape: Any = None) -> MLOperand:
        """An input of the graph.

        Args:
            name: what the input is called when the graph runs; unique and not empty.
            data_type: the data type, or a descriptor ``{"dataType": ..., "shape": ...}``.
            shape: the dimensions, each a size (1 to 2**31 - 1), or the name of a size that each run decides, the same
                for every dimension of that name.

        Raises:
            InvalidStateError: after build, and once the context is destroyed.
            ValidationError: for a name that is empty or taken, a data type that is unknown or, unless the builder is
                extended, not one of the standard's, or sizes out of range.
        """
        self._check_usable("input")
        builder_inputs.check_name(name, "input")
        what = f"input {name!r}"
        if name in self._inputs:
            raise ValidationError(f"{what}: the graph has an input of this name already")
        type_ = builder_inputs.tensor_type(data_type, shape, what)
        if not self._extended:
            builder_inputs.check_standard(type_.dtype, what)
        value = self._inputs[name] = Value(type_, name)
        return MLOperand(self, value)

    def constant(self, data_type: Any, value: Any = None) -> MLOperand:
        """A constant: ``constant(array)``, ``constant("float32", 0.5)``, ``constant(descriptor, buffer)`` or
        ``constant(tensor)``.

        Args:
            data_type: an array, whose data type and shape the constant takes; or the data type of a scalar; or a
                descriptor ``{"dataType": ..., "shape": ...}``; or a constant tensor of the context.
            value: the number of a scalar, cast to the data type (rounded to nearest even, integers clamped); or, after
                a descriptor, an array of the data type or exactly as many bytes as the elements take.

        The elements are copied, so that the array may change afterwards.

        Raises:
            InvalidStateError: after build, and once the context is destroyed.
            ValidationError: for arguments of other types, for a data type that the standard lacks unless the builder
                is extended, and for a tensor of another context, destroyed or not constant.
        """
        if isinstance(data_type, MLTensor):
            array = builder_inputs.tensor_elements(data_type, value, self._context)
            self._check_usable("constant")
        else:
            self._check_usable("constant")
            array = builder_inputs.constant_elements(data_type, value)
        if not self._extended:
            builder_inputs.check_standard(dtype_name(array.dtype), "constant")
        return MLOperand(self, self._constants.add(array))

    def build(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        """The graph that computes the given outputs; the builder can't be used afterwards.

        Inputs that no output depends on are not inputs of the graph. Machine code is made when the graph first runs,
        or by its ``compile``.

        Args:
            outputs: the results by name.

        Raises:
            InvalidStateError: after build, and once the context is destroyed.
            ValidationError: for no outputs, an empty name, an operand of another builder, an input or a constant
                (``identity`` makes an output of one), and for sizes that the inputs' shapes don't determine.
        """
        from .graph import MLGraph

        self._check_usable("build")
        named = self._outputs(outputs)
        nodes, used = self._reachable([value for _, value in named])
        inputs = tuple(v for v in self._inputs.values() if v in used)
        graph = MLGraph(self._context, Graph(inputs, named, nodes), self._constants)
        self._built = True
        self._inputs, self._nodes = {}, []
        return graph

    def _outputs(self, outputs: Mapping[str, MLOperand]) -> tuple[tuple[str, Value], ...]:
        if not isinstance(outputs, Mapping):
            raise ValidationError(f"build: outputs is {outputs!r}, expected a dictionary of operands by name")
        if not outputs:
            raise ValidationError("build: no outputs are given, expected at least one")
        named = []
        for name, operand in outputs.items():
            builder_inputs.check_name(name, "build: output")
            value = self._value_of(operand, f"build: output {name!r}")
            if value.is_constant or value.name:
                kind = "a constant" if value.is_constant else f"the input {value.name!r}"
                raise ValidationError(f"build: output {name!r} is {kind}, expected a result; identity() makes one")
            named.append((name, value))
        return tuple(named)

    def _reachable(self, outputs: Sequence[Value]) -> tuple[tuple[Node, ...], set[Value]]:
        """The nodes that outputs depend on, in the order of the calls, and the values that they read."""
        used = set(outputs)
        kept = []
        for node in reversed(self._nodes):
            if not used.isdisjoint(node.outputs):
                used.update(node.present)
                kept.append(node)
        return tuple(reversed(kept)), used

    def _apply(
        self,
        operator: Operator,
        operands: tuple[Any, ...],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        label: Any,
    ) -> MLOperand | tuple[MLOperand, ...]:
        """Add a node; every operator's method ends here."""
        self._check_usable(operator.name)
        label = builder_inputs.clean_label(label, operator.name)
        inputs = self._operand_values(operator, operands, label)
        attrs = operator.attributes(arguments, options, label)
        given = [None if v is None else v.type for v in inputs]
        types, attrs = operator.check(given, attrs, label, extended=self._extended)
        outputs = tuple([Value(t) for t in types])
        self._nodes.append(Node(operator.name, inputs, outputs, attrs, label))
        if returns_many(operator):
            return tuple([MLOperand(self, v) for v in outputs])
        return MLOperand(self, outputs[0])

    def _refuse_options(self, operator: Operator, unknown: Mapping[str, Any], label: Any) -> NoReturn:
        self._check_usable(operator.name)
        label = builder_inputs.clean_label(label, operator.name)
        name = next(iter(unknown))
        options = [o.name for o in operator.operands if o.optional] + [o.name for o in operator.options] + ["label"]
        close = difflib.get_close_matches(name, options, n=1)
        hint = f"did you mean {close[0]}?" if close else f"its options are {', '.join(options)}"
        raise ValidationError(f"{operator.describe((), label)} has no option {name}; {hint}")

    def _operand_values(self, operator: Operator, operands: tuple[Any, ...], label: str) -> tuple[Value | None, ...]:
        if operator.variadic:
            return self._sequence_values(operator, operands[0], label)
        values: list[Value | None] = []
        for declared, operand in zip(operator.operands, operands):
            if type(operand) is MLOperand and operand._builder is self:
                values.append(operand._value)
            elif operand is None and declared.optional:
                values.append(None)
            else:
                self._value_of(operand, f"{operator.describe((), label)}: operand {declared.name}")
        return tuple(values)

    def _sequence_values(self, operator: Operator, operands: Any, label: str) -> tuple[Value, ...]:
        what = f"{operator.describe((), label)}: {operator.operands[0].name}"
        try:
            given = listed(operands)
        except RuleError:
            raise ValidationError(
                f"{what} is {_shown(operands)}, expected a sequence of at most {MAX_TENSORS} operands"
            ) from None
        values = tuple([self._value_of(operand, f"{what}[{i}]") for i, operand in enumerate(given)])
        if not values:
            raise ValidationError(f"{what} is empty, expected at least one operand")
        return values

    def _value_of(self, operand: Any, what: str) -> Value:
        if not isinstance(operand, MLOperand):
            hint = "; constant() makes one of it" if isinstance(operand, (int, float, np.ndarray, np.generic)) else ""
            raise ValidationError(f"{what} is {_shown(operand)}, expected an MLOperand{hint}")
        if operand._builder is not self:
            raise ValidationError(f"{what} is {operand!r} of another builder")
        return operand._value

    def _check_usable(self, what: str) -> None:
        if self._built:
            raise InvalidStateError(f"{what}: this builder has built its graph; use a new one for another graph")
        if self._context.destroyed:
            self._context.check_usable(what)

    # Type checkers shall not take every name for a method.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if self.__dict__.get("_extended") and (extension := extension_operators().get(name)):
                method = method_of(extension).__get__(self, type(self))
                self.__dict__[name] = method
                return method
            for operator in all_operators().values():
                if name == operator.webnn:
                    raise AttributeError(f"the standard's {name} is called {operator.name} here", name=name, obj=self)
            raise AttributeError(f"MLGraphBuilder has no operator or method {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        state = "built" if self._built else f"{len(self._nodes)} operators"
        return f"<MLGraphBuilder: {state}>"


def _shown(operand: Any) -> str:
    """What was given in place of an operand, in short."""
    if isinstance(operand, np.ndarray):
        return f"an array {operand.dtype.name}{list(operand.shape)}"
    if isinstance(operand, MLOperand):
        return f"one operand, {operand!r}"
    text = repr(operand)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(operand).__name__})"
