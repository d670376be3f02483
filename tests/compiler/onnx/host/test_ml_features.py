"""Encoders, maps and feature operators of ai.onnx.ml, by hand and against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from basalt.compiler.onnx.host.registry import ML, HostNode
from basalt.errors import ValidationError

from .nodes import close, run, run_node, same, strings
from .peer import onnxruntime_run


def ml(op_type: str, *inputs: Any, version: int = 1, **attributes: Any) -> Any:
    return run(op_type, version, *inputs, domain=ML, **attributes)


def like_onnxruntime(op_type: str, *inputs: Any, version: int = 1, **attributes: Any) -> None:
    expected = onnxruntime_run(op_type, version, *inputs, domain=ML, **attributes)[0]
    close(ml(op_type, *inputs, version=version, **attributes), expected, rtol=1e-6)


def test_label_encoder_1() -> None:
    words = strings("b", "x", "a", shape=(3, 1))
    same(ml("LabelEncoder", words, classes_strings=("a", "b")), np.array([[1], [-1], [0]]))
    same(ml("LabelEncoder", np.array([1, 7]), classes_strings=("a", "b"), default_string="?"), strings("b", "?"))
    with pytest.raises(ValidationError, match="string or int64"):
        ml("LabelEncoder", np.zeros(1), classes_strings=("a",))


@pytest.mark.parametrize("version", [2, 4])
def test_label_encoder_lists(version: int) -> None:
    x = strings("a", "q")
    same(ml("LabelEncoder", x, version=version, keys_strings=("a",), values_int64s=(7,)), np.array([7, -1]))
    same(ml("LabelEncoder", x, version=version, keys_strings=("a",), values_floats=(7.5,)), np.float32([7.5, -0.0]))
    same(ml("LabelEncoder", x, version=version, keys_strings=("a",), values_strings=("z",)), strings("z", "_Unused"))
    x = np.array([[1, 2]])
    same(
        ml("LabelEncoder", x, version=version, keys_int64s=(2,), values_int64s=(5,), default_int64=9),
        np.array([[9, 5]]),
    )
    x = np.float32([np.nan, 0.1])
    same(
        ml(
            "LabelEncoder", x, version=version, keys_floats=(float("nan"), float(np.float32(0.1))), values_int64s=(1, 2)
        ),
        np.array([1, 2]),
    )
    with pytest.raises(ValidationError, match="expected that of the keys"):
        ml("LabelEncoder", x, version=version, keys_int64s=(1,), values_int64s=(1,))
    with pytest.raises(ValidationError, match="expected as many"):
        ml("LabelEncoder", x, version=version, keys_floats=(1.0,), values_int64s=(1, 2))
    with pytest.raises(ValidationError, match="expected one"):
        ml("LabelEncoder", x, version=version, keys_floats=(1.0,), keys_int64s=(1,), values_int64s=(1,))


def test_label_encoder_keys_that_are_equal() -> None:
    x = np.float32([0.0, -0.0, 1.0])
    keys = {"keys_floats": (0.0, 1.0, 1.0), "values_int64s": (1, 2, 3)}
    same(ml("LabelEncoder", x, version=2, **keys), np.array([1, -1, 2]))
    same(ml("LabelEncoder", x, version=4, **keys), np.array([1, 1, 3]))
    odd = np.array([0x7FC00001], np.uint32).view(np.float32)
    same(ml("LabelEncoder", odd, version=4, keys_floats=(float("nan"),), values_int64s=(1,)), np.array([1]))


def test_label_encoder_tensors() -> None:
    keys, values = np.array([1, 2], np.int16), np.array([0.5, 1.5])
    x = np.array([2, 3], np.int16)
    same(ml("LabelEncoder", x, version=4, keys_tensor=keys, values_tensor=values), np.array([1.5, -0.0]))
    same(
        ml("LabelEncoder", x, version=4, keys_tensor=keys, values_tensor=values, default_tensor=np.array([9.0])),
        np.array([1.5, 9]),
    )
    same(ml("LabelEncoder", x, version=4, keys_tensor=keys, values_tensor=strings("a", "b")), strings("b", "_Unused"))


def test_category_mapper() -> None:
    maps = {"cats_strings": ("a", "b"), "cats_int64s": (4, 9)}
    same(ml("CategoryMapper", strings("b", "x"), **maps), np.array([9, -1]))
    same(ml("CategoryMapper", np.array([4, 5]), **maps), strings("a", "_Unused"))
    with pytest.raises(ValidationError, match="as many"):
        ml("CategoryMapper", strings("a"), cats_strings=("a",), cats_int64s=())


def test_one_hot_encoder() -> None:
    same(ml("OneHotEncoder", np.float32([[1.7, -2]]), cats_int64s=(1, -2, 3)), np.float32([[[1, 0, 0], [0, 1, 0]]]))
    same(ml("OneHotEncoder", strings("b", "q"), cats_strings=("a", "b")), np.float32([[0, 1], [0, 0]]))
    with pytest.raises(ValidationError, match="'q'"):
        ml("OneHotEncoder", strings("b", "q"), cats_strings=("a", "b"), zeros=0)
    with pytest.raises(ValidationError, match="missing"):
        ml("OneHotEncoder", strings("b"), cats_int64s=(1,))
    like_onnxruntime("OneHotEncoder", np.float32([1.7, 2.2, 9, -1.5]), cats_int64s=[1, 2, 3, -1])


def test_dict_vectorizer() -> None:
    same(ml("DictVectorizer", {"a": 4.0, "c": 8.0}, string_vocabulary=("a", "b", "c")), np.float32([[4, 0, 8]]))
    same(ml("DictVectorizer", {2: "x"}, int64_vocabulary=(1, 2)), strings("", "x", shape=(1, 2)))
    same(ml("DictVectorizer", {"a": 4}, string_vocabulary=("a",)), np.array([[4]]))
    same(ml("DictVectorizer", {"a": np.float64(4)}, string_vocabulary=("a",)), np.array([[4.0]]))
    node = HostNode("DictVectorizer", 1, ML, attributes={"string_vocabulary": ("a",)}, output_dtypes=("float64",))
    same(run_node(node, {"a": 4.0}), np.array([[4.0]]))
    like_onnxruntime("DictVectorizer", {"a": 4.0, "c": 8.0}, string_vocabulary=["a", "b", "c"])
    for value, attributes in (
        ({"z": 1.0}, {"string_vocabulary": ("a",)}),
        ({"a": 1.0}, {}),
        ({1: 1.0, 2: "a"}, {}),
        (np.zeros(1), {"string_vocabulary": ("a",)}),
    ):
        with pytest.raises(ValidationError):
            ml("DictVectorizer", value, **attributes)


def test_cast_map() -> None:
    numbers = {3: -1.5, 0: 8.0}
    for cast_to in ("TO_FLOAT", "TO_INT64", "TO_STRING"):
        like_onnxruntime("CastMap", numbers, cast_to=cast_to)
    for cast_to in ("TO_FLOAT", "TO_INT64"):
        like_onnxruntime("CastMap", numbers, cast_to=cast_to, map_form="SPARSE", max_map=5)
    same(ml("CastMap", {1: "4.5", 0: "8"}), np.float32([[8, 4.5]]))
    same(ml("CastMap", {1: "4.5"}, cast_to="TO_STRING", map_form="SPARSE", max_map=2), strings("", "4.5", shape=(1, 2)))
    same(ml("CastMap", {1: "7"}, cast_to="TO_INT64", map_form="SPARSE", max_map=2), np.array([[0, 7]]))
    same(ml("CastMap", {}, map_form="SPARSE", max_map=2), np.zeros((1, 2), np.float32))
    for value, attributes in (
        ({5: 1.0}, {"map_form": "SPARSE", "max_map": 5}),
        ({-1: 1.0}, {"map_form": "SPARSE"}),
        ({1: "a"}, {}),
        ({"a": 1.0}, {}),
        ({1: 1.0, 2: "a"}, {}),
        ({1: 1.0}, {"cast_to": "X"}),
    ):
        with pytest.raises(ValidationError):
            ml("CastMap", value, **attributes)


def test_zip_map() -> None:
    x = np.float32([[1, 2], [3, 0.5]])
    assert ml("ZipMap", x, classlabels_strings=("a", "b")) == [{"a": 1, "b": 2}, {"a": 3, "b": 0.5}]
    assert ml("ZipMap", x[0], classlabels_int64s=(7, 5)) == [{7: 1, 5: 2}]
    assert ml("ZipMap", x[:0], classlabels_int64s=(7, 5)) == []
    like_onnxruntime("ZipMap", x, classlabels_int64s=[7, 5])
    for attributes in (
        {},
        {"classlabels_int64s": (1,)},
        {"classlabels_int64s": (1, 2), "classlabels_strings": ("a", "b")},
    ):
        with pytest.raises(ValidationError):
            ml("ZipMap", x, **attributes)


X = np.float32([[1, -4, 2], [0, 0, 0], [-1, -2, -3]])


def test_array_feature_extractor() -> None:
    for indices in (np.array([0, 2]), np.array([[2, 0]]), np.array([[0], [2]]), np.array([1])):
        like_onnxruntime("ArrayFeatureExtractor", X, indices)
    like_onnxruntime("ArrayFeatureExtractor", X[0], np.array([0, 2]))
    same(ml("ArrayFeatureExtractor", strings("a", "b"), np.array([1])), strings("b", shape=(1, 1)))
    for wrong in (np.array([3]), np.array([-1]), np.zeros(0, np.int64)):
        with pytest.raises(ValidationError):
            ml("ArrayFeatureExtractor", X, wrong)


def test_binarizer_and_scaler() -> None:
    like_onnxruntime("Binarizer", X, threshold=0.5)
    same(ml("Binarizer", np.array([1, 2, 3]), threshold=1.5), np.array([0, 1, 1]))
    like_onnxruntime("Scaler", X, offset=[1.0, 2.0, 3.0], scale=[2.0, 0.5, 3.0])
    like_onnxruntime("Scaler", X.astype(np.int64), offset=[1.0], scale=[2.0])
    with pytest.raises(ValidationError, match="'scale' has 2"):
        ml("Scaler", X, offset=(1.0,), scale=(2.0, 1.0))


def test_feature_vectorizer() -> None:
    like_onnxruntime("FeatureVectorizer", X, X[:, :2], inputdimensions=[2, 3])
    like_onnxruntime("FeatureVectorizer", X[0], X[1], inputdimensions=[3, 3])
    same(ml("FeatureVectorizer", X, X.astype(np.float64)), np.concatenate([X, X], axis=1))
    for inputs, attributes in (
        ((X, X[:2]), {}),
        ((X,), {"inputdimensions": (1, 2)}),
        ((X,), {"inputdimensions": (-1,)}),
        ((), {}),
    ):
        with pytest.raises(ValidationError):
            ml("FeatureVectorizer", *inputs, **attributes)


def test_imputer() -> None:
    holes = np.float32([[np.nan, 1], [2, np.nan]])
    like_onnxruntime("Imputer", holes, imputed_value_floats=[5.0, 6.0], replaced_value_float=float("nan"))
    like_onnxruntime("Imputer", np.array([[1, 2, 0]] * 2), imputed_value_int64s=[9, 8, 7], replaced_value_int64=2)
    same(ml("Imputer", np.array([1, 2, 0], np.int32), imputed_value_int64s=(9,)), np.array([1, 2, 9], np.int32))
    same(ml("Imputer", np.array([0.0, 2]), imputed_value_floats=(9.0,)), np.array([9.0, 2]))
    for attributes in ({"imputed_value_int64s": (1,)}, {"imputed_value_floats": (1.0, 2.0, 3.0)}):
        with pytest.raises(ValidationError):
            ml("Imputer", holes, **attributes)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm: str) -> None:
    for x in (X, X[0], X.astype(np.int64), X.astype(np.float64)):
        like_onnxruntime("Normalizer", x, norm=norm)
    assert ml("Normalizer", X[:, :0], norm=norm).shape == (3, 0)
    with pytest.raises(ValidationError, match="norm"):
        ml("Normalizer", X, norm="L3")
