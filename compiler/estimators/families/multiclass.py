"""Several binary or single-target estimators as one: sklearn.multiclass and sklearn.multioutput."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.serialization import Kind

from ...ir import Value
from ..emitter import Emitter
from ..registry import Frame, Results, class_name, family, translator
from ..translate import member
from .scores import add_log, class_of, column, one_versus_rest, pair_votes, two_columns

family(Kind.COMPOSITION, "OneVsRestClassifier", "OneVsOneClassifier", "MultiOutputClassifier", "MultiOutputRegressor")
family(Kind.COMPOSITION, "ClassifierChain", "RegressorChain")


def _binary(e: Emitter, estimator: Any, found: Results) -> tuple[Value, float]:
    """The score of a binary estimator for its second class, [rows], and the threshold that it is compared with."""
    if "decision_function" in found.values:
        return found.values["decision_function"], 0.0
    if "predict_proba" in found.values:
        return e.flat(e.columns(found.values["predict_proba"], [1])), 0.5
    if found.classes is None:
        return found.values["predict"], 0.0
    raise e.unsupported(f"{class_name(estimator)} gives no scores")


def _members(e: Emitter, estimator: Any, x: Frame) -> list[Results]:
    for step in estimator.estimators_:
        if class_name(step) == "_ConstantPredictor":
            raise e.unsupported("one of its classes holds all rows or none")
    return [member(e, f"estimators_[{i}]", step, x) for i, step in enumerate(estimator.estimators_)]


@translator("OneVsRestClassifier")
def one_vs_rest(e: Emitter, estimator: Any, x: Frame) -> Results:
    found = _members(e, estimator, x)
    scored = [_binary(e, step, r) for step, r in zip(estimator.estimators_, found)]
    together = e.joined([column(e, s) for s, _ in scored])
    values: dict[str, Value] = {}
    if all("predict_proba" in r.values for r in found):
        values["predict_proba"] = _shares(e, estimator, [r.values["predict_proba"] for r in found])
    if all("decision_function" in r.values for r in found):
        values["decision_function"] = scored[0][0] if len(scored) == 1 else together
    if estimator.label_binarizer_.y_type_ == "multiclass":
        # Of equal scores scikit-learn takes the last one.
        backwards = e.emit("reverse", together, axes=(1,))
        place = e.emit("arg_max", backwards, axis=1, keep_dimensions=False, output_data_type="int64")
        values["predict"] = e.emit("sub", e.number(len(scored) - 1, place), place)
        return Results(values, classes=estimator.classes_)
    chosen = e.cast(e.emit("greater", together, scored[0][1]), "int64")
    if estimator.multilabel_:
        return Results({**values, "predict": chosen})
    return Results({**values, "predict": e.flat(chosen)}, classes=estimator.classes_)


def _shares(e: Emitter, estimator: Any, probabilities: list[Value]) -> Value:
    """The probabilities of the second classes, scaled to add up to 1 where a row has one class; rows of zeros stay."""
    parts = [e.columns(p, [1]) for p in probabilities]
    if len(parts) == 1:
        return two_columns(e, e.flat(parts[0]))
    together = e.joined(parts)
    if estimator.multilabel_:
        return together
    total = e.sum_columns(together, keep=True)
    return e.emit("div", together, e.choose(e.emit("equal", total, 0.0), 1.0, total))


@translator("OneVsOneClassifier")
def one_vs_one(e: Emitter, estimator: Any, x: Frame) -> Results:
    if estimator.pairwise_indices_ is not None:
        raise e.unsupported("estimators of a precomputed kernel cannot be translated")
    found, classes = _members(e, estimator, x), len(estimator.classes_)
    scores = [_binary(e, step, r) for step, r in zip(estimator.estimators_, found)]
    confidences = e.emit("neg", e.joined([column(e, s) for s, _ in scores]))
    first = e.joined([column(e, e.emit("equal", r.values["predict"], 0)) for r in found])
    decision = one_versus_rest(e, pair_votes(e, first, classes), confidences)
    if classes > 2:
        return Results({"predict": class_of(e, decision), "decision_function": decision}, classes=estimator.classes_)
    second = e.flat(e.columns(decision, [1]))
    chosen = e.cast(e.emit("greater", second, scores[0][1]), "int64")
    return Results({"predict": chosen, "decision_function": second}, classes=estimator.classes_)


@translator("MultiOutputRegressor")
def multi_output_regressor(e: Emitter, estimator: Any, x: Frame) -> Results:
    return Results({"predict": e.joined([column(e, r.values["predict"]) for r in _members(e, estimator, x)])})


@translator("MultiOutputClassifier")
def multi_output_classifier(e: Emitter, estimator: Any, x: Frame) -> Results:
    found = _members(e, estimator, x)
    values = {"predict": e.joined([column(e, r.values["predict"]) for r in found])}
    if not all("predict_proba" in r.values for r in found):
        return Results(values, list(estimator.classes_))
    values.update({f"predict_proba.{i}": r.values["predict_proba"] for i, r in enumerate(found)})
    return Results(values, list(estimator.classes_), pairs=("predict_proba",))


@translator("ClassifierChain", "RegressorChain")
def chain(e: Emitter, estimator: Any, x: Frame) -> Results:
    """Each estimator takes the rows and what those before it predicted; results are in the order of the targets."""
    given = getattr(estimator, "chain_method_", "predict")
    e.numeric.update(s for s in x.sources if s is not None)
    parts, columns = [x.value], dict[str, list[Value]]()
    for index, step in enumerate(estimator.estimators_):
        found = member(e, f"estimators_[{index}]", step, Frame.computed(e.joined(parts)) if index else x)
        numbers = _numbers(e, found)
        for name, value in numbers.items():
            columns.setdefault(name, []).append(value)
        wanted = {"predict_log_proba": "predict_proba"}.get(given, given)
        if wanted not in numbers:
            raise e.unsupported(f"chain_method is {given!r} for a target of more than two classes")
        parts.append(numbers[wanted])
        if given == "predict_log_proba":
            parts[-1] = e.emit("log", parts[-1])
    places = np.argsort(np.asarray(estimator.order_))
    # Of a target of more classes scikit-learn has the class alone.
    whole = {name: each for name, each in columns.items() if len(each) == len(places)}
    values = {name: e.columns(e.joined(each), places) for name, each in whole.items()}
    return Results(add_log(e, values) if "predict_proba" in values else values)


def _numbers(e: Emitter, found: Results) -> dict[str, Value]:
    """The results of one link of a chain as columns of numbers."""
    chosen = found.values["predict"]
    if found.classes is not None:
        labels = np.asarray(found.classes)
        if labels.dtype.kind not in "biuf":
            raise e.unsupported("its classes are no numbers, which the next of the chain takes")
        chosen = e.emit("gather", e.constant(labels.astype(float)), chosen, axis=0)
    numbers = {"predict": column(e, e.cast(chosen, e.dtype))}
    is_binary = found.classes is not None and len(found.classes) == 2
    if is_binary and "decision_function" in found.values:
        numbers["decision_function"] = column(e, found.values["decision_function"])
    if is_binary and "predict_proba" in found.values:
        numbers["predict_proba"] = e.columns(found.values["predict_proba"], [1])
    return numbers
