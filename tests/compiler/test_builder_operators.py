"""The builder's methods: derived from the operators, checked at each call."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

import basalt
from basalt import ops
from basalt.compiler import stubs
from basalt.compiler.method_factory import returns_many
from basalt.compiler.option_types import annotation
from basalt.errors import ValidationError
from basalt.runtime import descriptors

OPERATORS = ops.all_operators()
BUILDER = basalt.MLGraphBuilder


@pytest.fixture
def builder() -> basalt.MLGraphBuilder:
    return BUILDER(basalt.MLContext())


@pytest.fixture
def x(builder: basalt.MLGraphBuilder) -> basalt.MLOperand:
    return builder.input("x", "float32", (1, 3, 8, 8))


def test_every_operator_is_a_method() -> None:
    own = {name for name in vars(BUILDER) if not name.startswith("_")}
    assert own.isdisjoint(OPERATORS)
    for name in OPERATORS:
        assert inspect.isfunction(getattr(BUILDER, name)), name


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_signatures_say_what_operators_declare(operator: ops.Operator) -> None:
    method = getattr(BUILDER, operator.name)
    parameters = dict(inspect.signature(method).parameters)
    assert parameters.pop("self").kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters.pop("label").default == ""
    keyword = {name: p.default for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    positional = [name for name in parameters if name not in keyword]
    assert positional == [o.name for o in operator.operands if not o.optional] + [a.name for a in operator.arguments]
    assert keyword == dict.fromkeys(o.name for o in operator.operands if o.optional) | {
        o.name: o.default for o in operator.options
    }
    assert method.__qualname__ == f"MLGraphBuilder.{operator.name}"
    result = "tuple[MLOperand, ...]" if returns_many(operator) else "MLOperand"
    assert inspect.signature(method).return_annotation == result


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_docstrings_tell_everything(operator: ops.Operator) -> None:
    text = getattr(BUILDER, operator.name).__doc__
    assert text.startswith((inspect.getdoc(operator) or "?").split("\n")[0])
    for named in (*operator.operands, *operator.arguments, *operator.options):
        assert f"    {named.name}: " in text
    for part in ("Args:", "Returns:", "Raises:", "ValidationError", "InvalidStateError"):
        assert part in text
    if operator.webnn:
        assert f"https://www.w3.org/TR/webnn/#{operator.section}" in text
    assert max(map(len, text.split("Args:")[1].split("Source:")[0].splitlines())) <= 100


@pytest.mark.parametrize(
    ("operator", "option"),
    [pytest.param(o, p, id=f"{o.name}-{p.name}") for o in OPERATORS.values() for p in o.arguments + o.options],
)
def test_options_have_a_known_type(operator: ops.Operator, option: Any) -> None:
    assert annotation(option) != "Any"


@pytest.mark.parametrize(
    ("operator", "option", "expected"),
    [
        ("conv2d", "strides", "Sequence[int]"),
        ("conv2d", "groups", "int"),
        ("conv2d", "input_layout", "str"),
        ("reshape", "new_shape", "Sequence[Dim]"),
        ("clamp", "min_value", "float | None"),
        ("gemm", "a_transpose", "bool"),
        ("split", "splits", "int | Sequence[Dim]"),
        ("resample2d", "scales", "Sequence[float]"),
        ("lstm", "activations", "Sequence[str] | None"),
        ("transpose", "permutation", "Sequence[int] | None"),
        ("cast", "data_type", "str"),
    ],
)
def test_types_of_options(operator: str, option: str, expected: str) -> None:
    declared = {o.name: o for o in OPERATORS[operator].arguments + OPERATORS[operator].options}
    assert annotation(declared[option]) == expected


def test_the_stub_file_is_up_to_date() -> None:
    assert stubs.STUB.read_text(encoding="utf-8") == stubs.stub_text(), "run python -m basalt.compiler.stubs"


def test_limits_of_the_runtime_are_those_of_the_operators() -> None:
    assert descriptors.MAX_RANK == ops.schema.MAX_RANK
    assert descriptors.MAX_DIMENSION == ops.dims.MAX_DIMENSION == ops.dims.MAX_ELEMENTS
    assert descriptors.STANDARD_TYPES == ops.types.WEBNN_TYPES


def test_a_call_adds_a_node(builder: basalt.MLGraphBuilder, x: basalt.MLOperand) -> None:
    w = builder.constant(np.ones((4, 3, 3, 3), np.float32))
    y = builder.conv2d(x, w, strides=[2, np.int64(2)], label="stem")
    (node,) = builder.build({"y": y}).graph.nodes
    assert (node.op, node.label, node.attrs["strides"]) == ("conv2d", "stem", (2, 2))
    assert len(node.inputs) == 3 and node.inputs[2] is None
    assert y.shape == (1, 4, 3, 3)


def test_operands_may_be_given_by_name(builder: basalt.MLGraphBuilder, x: basalt.MLOperand) -> None:
    assert builder.add(b=x, a=x).shape == x.shape
    assert builder.softmax(input=x, axis=1).shape == x.shape


def test_operators_of_several_outputs_return_tuples(builder: basalt.MLGraphBuilder, x: basalt.MLOperand) -> None:
    a, b = builder.split(x, 2, axis=2)
    assert a.shape == b.shape == (1, 3, 4, 8)
    (only,) = builder.split(x, 1)
    assert only.shape == x.shape


def test_sequences_of_operands(builder: basalt.MLGraphBuilder, x: basalt.MLOperand) -> None:
    assert builder.concat([x, x], 1).shape == (1, 6, 8, 8)
    assert builder.concat((o for o in (x, x, x)), axis=0).shape == (3, 3, 8, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda b, x: b.relu(3),
            r"relu: operand input is 3 \(int\), expected an MLOperand; constant\(\) makes one of it",
        ),
        (lambda b, x: b.relu(None), r"relu: operand input is None \(NoneType\), expected an MLOperand$"),
        (lambda b, x: b.relu("x"), r"relu: operand input is 'x' \(str\), expected an MLOperand$"),
        (lambda b, x: b.relu([0] * 99), r"relu: operand input is \[0, .*\.\.\. \(list\), expected an MLOperand"),
        (
            lambda b, x: b.add(x, np.ones(3)),
            r"add: operand b is an array float64\[3\], expected an MLOperand; constant",
        ),
        (lambda b, x: b.conv2d(x, x, bias=1.0, label="s"), r'conv2d "s": operand bias is 1.0 \(float\)'),
        (lambda b, x: b.concat(x, 0), r"concat: inputs is one operand, <MLOperand 'x' .*>, expected a sequence"),
        (lambda b, x: b.concat(3, 0), r"concat: inputs is 3 \(int\), expected a sequence of at most 8192 operands"),
        (
            lambda b, x: b.concat("xx", 0),
            r"concat: inputs is 'xx' \(str\), expected a sequence of at most 8192 operands",
        ),
        (lambda b, x: b.concat({x: 1}, 0), r"concat: inputs is \{<MLOperand .*, expected a sequence of at most 8192"),
        (
            lambda b, x: b.concat(itertools.repeat(x), 0),
            r"concat: inputs is repeat.*, expected a sequence of at most 8192",
        ),
        (lambda b, x: b.concat([], 0), r"concat: inputs is empty, expected at least one operand"),
        (lambda b, x: b.concat([x, 1], 0, label="j"), r'concat "j": inputs\[1\] is 1 \(int\), expected an MLOperand'),
        (lambda b, x: b.conv2d(x, x, stride=(1, 1)), r"conv2d has no option stride; did you mean strides\?"),
        (
            lambda b, x: b.conv2d(x, x, inputLayout="nhwc"),
            r"conv2d has no option inputLayout; did you mean input_layout\?",
        ),
        (lambda b, x: b.conv2d(x, x, bais=x, label="s"), r'conv2d "s" has no option bais; did you mean bias\?'),
        (lambda b, x: b.relu(x, q=1), r"relu has no option q; its options are label"),
        (lambda b, x: b.softmax(x, -1), r"softmax: axis: expected an integer from 0 to 4294967295, got -1"),
        (lambda b, x: b.conv2d(x, x, strides=2), r"conv2d: strides: expected a sequence, got 2"),
        (lambda b, x: b.conv2d(x, x, strides=(1,), label="s"), r'conv2d "s": strides: expected 2 values, got 1'),
        (
            lambda b, x: b.softmax(x, 4, label="s"),
            r'softmax "s" \(input: float32\[1, 3, 8, 8\]\): axis is 4, expected 0 to 3',
        ),
        (lambda b, x: b.relu(x, label=3), r"relu: label is 3, expected a string"),
        (
            lambda b, x: b.logical_not(x),
            r"logical_not \(a: float32\[1, 3, 8, 8\]\): a is float32, expected one of uint8",
        ),
    ],
)
def test_calls_that_are_refused(builder: basalt.MLGraphBuilder, x: basalt.MLOperand, call: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        call(builder, x)
    assert not builder.build({"y": builder.relu(x)}).graph.nodes[1:]


def test_missing_operands_are_named(builder: basalt.MLGraphBuilder, x: basalt.MLOperand) -> None:
    with pytest.raises(TypeError, match=r"conv2d\(\) missing 1 required positional argument: 'filter'"):
        builder.conv2d(x)  # type: ignore[call-arg]


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_operands_of_another_builder_are_refused(builder: basalt.MLGraphBuilder, operator: ops.Operator) -> None:
    other = BUILDER(builder.context).input("x", "float32", (2, 2))
    given = [[other] if o.variadic else other for o in operator.operands if not o.optional]
    with pytest.raises(ValidationError, match=rf"^{operator.name}: .*of another builder"):
        getattr(builder, operator.name)(*given, *(1 for _ in operator.arguments))


@pytest.mark.parametrize("operator", [o for o in OPERATORS.values() if o.webnn != o.name], ids=lambda o: o.name)
def test_the_standards_names_are_explained(builder: basalt.MLGraphBuilder, operator: ops.Operator) -> None:
    if operator.webnn is None:
        pytest.skip("the standard lacks this operator")
    with pytest.raises(AttributeError, match=f"the standard's {operator.webnn} is called {operator.name} here"):
        getattr(builder, operator.webnn)


def test_unknown_methods_are_attribute_errors(builder: basalt.MLGraphBuilder) -> None:
    assert not hasattr(builder, "conv5d")
    with pytest.raises(AttributeError, match="MLGraphBuilder has no operator or method 'conv5d'"):
        builder.conv5d  # noqa: B018


def test_labels_are_made_harmless(builder: basalt.MLGraphBuilder, x: basalt.MLOperand) -> None:
    y = builder.relu(x, label="a\u202eb\n\x1b[31m")
    (node,) = builder.build({"y": y}).graph.nodes
    assert node.label == r"a\u202eb\n\x1b[31m"


def test_other_formats_types_need_an_extended_builder() -> None:
    plain, extended = BUILDER(basalt.MLContext()), BUILDER(basalt.MLContext(), extended=True)
    with pytest.raises(ValidationError, match=r"input 'x': the data type is float64, expected one of float32,.* exten"):
        plain.input("x", "float64", (2,))
    tensor = plain.context.create_constant_tensor(np.ones(3))
    for arguments in (
        (np.ones(3, np.int16),),
        ("bool", 1),
        ({"dataType": "float64", "shape": [1]}, b"12345678"),
        (tensor,),
    ):
        with pytest.raises(
            ValidationError, match=r"constant: the data type is .*, expected one of float32, .*extended=True"
        ):
            plain.constant(*arguments)
    assert extended.sigmoid(extended.input("x", "float64", (2,))).data_type == "float64"
