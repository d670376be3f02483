"""Rules of recurrent networks: for each a call that keeps it and one that breaks it."""

from __future__ import annotations

import pytest

from .harness import Call, Rules, check_rule, each_rule

CELLS: dict[str, Call] = {
    "gru_cell": {
        "input": "f32[2, 3]",
        "weight": "f32[12, 3]",
        "recurrent_weight": "f32[12, 4]",
        "hidden_state": "f32[2, 4]",
        "hidden_size": 4,
    },
    "lstm_cell": {
        "input": "f32[2, 3]",
        "weight": "f32[16, 3]",
        "recurrent_weight": "f32[16, 4]",
        "hidden_state": "f32[2, 4]",
        "cell_state": "f32[2, 4]",
        "hidden_size": 4,
    },
}
SEQUENCES: dict[str, Call] = {
    name: {
        "input": "f32[5, 2, 3]",
        "weight": f"f32[1, {gates * 4}, 3]",
        "recurrent_weight": f"f32[1, {gates * 4}, 4]",
        "steps": 5,
        "hidden_size": 4,
    }
    for name, gates in (("gru", 3), ("lstm", 4))
}
GATES = {"gru": 12, "gru_cell": 12, "lstm": 16, "lstm_cell": 16}
DEFAULTS = {"gru": ("sigmoid", "tanh"), "lstm": ("sigmoid", "tanh", "tanh")}


def shared_rules(name: str, call: Call) -> Rules:
    """What all four check, of operands that begin with ``lead``."""
    cell = name.endswith("_cell")
    gates, lead, rank = GATES[name], "" if cell else "1, ", 2 if cell else 3
    functions = DEFAULTS[name.removesuffix("_cell")]
    largest = (2**31 - 1) // (2 * gates // 4)
    cases: list[tuple[Call, Call, str]] = [
        ({}, {"input": "i32[2, 3]" if cell else "i32[5, 2, 3]"}, "input is int32, expected one of float16, float32"),
        ({}, {"input": "f32[2, 3, 1, 1]"}, f"input has rank 4, expected {rank}"),
        ({}, {"weight": f"f16[{lead}{gates}, 3]"}, "weight is float16, but must have the data type of input, float32"),
        ({}, {"weight": f"f32[{gates}]"}, f"weight has rank 1, expected {rank}"),
        ({}, {"weight": f"f32[{lead}{gates}, 4]"}, f"weight has shape [{lead}{gates}, 4], expected [{lead}{gates}, 3]"),
        ({}, {"weight": f"f32[{lead}10, 3]"}, f"weight has shape [{lead}10, 3], expected [{lead}{gates}, 3]"),
        ({}, {"recurrent_weight": f"f16[{lead}{gates}, 4]"}, "recurrent_weight is float16, but must"),
        ({}, {"recurrent_weight": f"f32[{lead}{gates}, 3]"}, f"3], expected [{lead}{gates}, 4]"),
        ({}, {"recurrent_weight": f"f32[{gates}]"}, f"recurrent_weight has rank 1, expected {rank}"),
        ({}, {"hidden_size": 0}, f"hidden_size is 0, expected 1 to {largest}"),
        ({}, {"hidden_size": 2**29}, f"hidden_size is 536870912, expected 1 to {largest}"),
        ({}, {"hidden_size": 5}, f"weight has shape [{lead}{gates}, 3], expected [{lead}{gates // 4 * 5}, 3]"),
        ({}, {"hidden_size": 4.5}, "hidden_size: expected an integer from 0"),
        (
            {"activations": functions[::-1]},
            {"activations": functions[:1]},
            f"activations: expected {len(functions)} values",
        ),
        (
            {"activations": ("relu",) * len(functions)},
            {"activations": ["elu"] * len(functions)},
            "expected one of relu",
        ),
        ({"layout": "rzn" if gates == 12 else "ifgo"}, {"layout": "zzz"}, "layout: expected one of "),
    ]
    for bias in ("bias", "recurrent_bias"):
        kept = {bias: f"f32[{lead}{gates}]"}
        cases.append((kept, {bias: f"f32[{lead}8]"}, f"{bias} has shape [{lead}8], expected [{lead}{gates}]"))
        cases.append((kept, {bias: f"f16[{lead}{gates}]"}, f"{bias} is float16, but must"))
        cases.append((kept, {bias: "f32[]"}, f"{bias} has rank 0, expected {rank - 1}"))
    if gates == 16:
        kept = {"peephole_weight": f"f32[{lead}12]"}
        cases.append((kept, {"peephole_weight": f"f32[{lead}16]"}, f"has shape [{lead}16], expected [{lead}12]"))
        cases.append((kept, {"peephole_weight": f"f16[{lead}12]"}, "peephole_weight is float16, but must"))
    for state in ("hidden_state", "cell_state")[: 1 if gates == 12 else 2]:
        state = state if cell else f"initial_{state}"
        kept = {state: f"f32[{lead}2, 4]"}
        cases.append((kept, {state: f"f32[{lead}3, 4]"}, f"{state} has shape [{lead}3, 4], expected [{lead}2, 4]"))
        cases.append((kept, {state: f"f16[{lead}2, 4]"}, f"{state} is float16, but must"))
        cases.append((kept, {state: "f32[4]"}, f"{state} has rank 1, expected {rank}"))
    return name, call, cases


def sequence_rules(name: str, call: Call) -> Rules:
    """What only whole sequences check."""
    gates = GATES[name]
    both = {"weight": f"f32[2, {gates}, 3]", "recurrent_weight": f"f32[2, {gates}, 4]", "direction": "both"}
    return (
        name,
        call,
        [
            ({}, {"steps": 4}, "steps is 4, expected the input's first dimension, 5"),
            ({}, {"steps": 0}, "steps: expected an integer from 1"),
            (
                {"direction": "backward"},
                {"direction": "both"},
                f"weight has shape [1, {gates}, 3], expected [2, {gates}, 3]",
            ),
            (both, {**both, "bias": f"f32[1, {gates}]"}, f"bias has shape [1, {gates}], expected [2, {gates}]"),
            ({"direction": "forward"}, {"direction": "up"}, "direction: expected one of forward, backward, both"),
            ({"return_sequence": True}, {"return_sequence": "yes"}, "return_sequence: expected True or False"),
        ],
    )


RULES: list[Rules] = [
    *(shared_rules(name, call) for name, call in {**CELLS, **SEQUENCES}.items()),
    *(sequence_rules(name, call) for name, call in SEQUENCES.items()),
    (
        "gru_cell",
        CELLS["gru_cell"],
        [({"reset_after": False}, {"reset_after": 0}, "reset_after: expected True or False")],
    ),
    ("gru_cell", CELLS["gru_cell"], [({}, {"hidden_state": None}, "operand hidden_state is missing")]),
    ("lstm_cell", CELLS["lstm_cell"], [({}, {"cell_state": None}, "operand cell_state is missing")]),
]


@pytest.mark.parametrize(("name", "kept", "broken", "message"), each_rule(RULES))
def test_rule(name: str, kept: Call, broken: Call, message: str) -> None:
    check_rule(name, kept, broken, message)
