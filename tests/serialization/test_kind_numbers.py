"""Numbers of kinds are fixed for good, and the documentation has them all."""

from __future__ import annotations

import re
from pathlib import Path

from basalt.serialization import ESTIMATOR_KINDS, MODULE_KINDS, EstimatorData, GraphData, Kind, ModuleData
from basalt.serialization.kinds import codec_of, known_kinds
from basalt.serialization.program.data import ProgramParts

FORMAT = Path(__file__).parents[2] / "docs" / "bsl-format.md"
NUMBERS = {
    "GRAPH": 1,
    "PROGRAM": 2,
    "ESTIMATOR": 3,
    "MODULE": 4,
    "SCALER": 16,
    "FEATURE_EXPANSION": 17,
    "ENCODER": 18,
    "IMPUTER": 20,
    "SELECTOR": 21,
    "DECOMPOSITION": 22,
    "LINEAR_REGRESSOR": 23,
    "LINEAR_CLASSIFIER": 24,
    "KERNEL_MACHINE": 25,
    "DECISION_TREE": 26,
    "FOREST": 27,
    "GRADIENT_BOOSTING": 28,
    "CLUSTERS": 29,
    "NEIGHBOURS": 30,
    "NAIVE_BAYES": 31,
    "NEURAL_NETWORK": 32,
    "COMPOSITION": 33,
    "DISCRIMINANT_ANALYSIS": 34,
    "MIXTURE": 36,
    "BASELINE": 37,
    "SEQUENTIAL": 64,
    "LINEAR": 65,
    "CONVOLUTION": 66,
    "RECURRENT": 67,
    "ATTENTION": 69,
    "TRANSFORMER": 70,
    "NORMALISATION": 71,
    "EMBEDDING": 72,
    "ACTIVATION": 73,
    "POOLING": 74,
}
"""Never change a line here; only add."""


def test_numbers_do_not_change() -> None:
    assert {kind.name: int(kind) for kind in Kind} == NUMBERS


def test_the_documentation_has_them() -> None:
    table = FORMAT.read_text().split("### Kinds")[1].split("## Elements")[0]
    documented = {name: int(number) for number, name in re.findall(r"^\| +(\d+) \| (\w+) ", table, re.MULTILINE)}
    assert documented == NUMBERS


def test_every_kind_has_a_codec_of_its_data() -> None:
    assert set(known_kinds()) >= set(NUMBERS.values())
    assert codec_of(Kind.GRAPH).data_type is GraphData
    assert codec_of(Kind.PROGRAM).data_type is ProgramParts
    assert {codec_of(kind).data_type for kind in ESTIMATOR_KINDS} == {EstimatorData}
    assert {codec_of(kind).data_type for kind in MODULE_KINDS} == {ModuleData}
    assert len(ESTIMATOR_KINDS) + len(MODULE_KINDS) + 2 == len(Kind)


def test_no_family_is_one_bit_from_the_kind_of_none() -> None:
    for older, kinds in ((Kind.ESTIMATOR, ESTIMATOR_KINDS), (Kind.MODULE, MODULE_KINDS)):
        assert not {older ^ 1 << bit for bit in range(31)} & set(kinds)
