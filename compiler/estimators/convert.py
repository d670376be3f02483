"""``basalt.from_sklearn``: a fitted estimator becomes one graph with an output for each of its methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from basalt.errors import ValidationError

from ..ir import Graph, Value
from . import families
from .emitter import INPUT, INVERSE_INPUT, Emitter
from .estimator import Estimator
from .facts import CHECK_OUTPUTS, Facts
from .pruning import pruned
from .registry import Frame, Results, class_name, inverse_of
from .requirement import require_sklearn
from .translate import COMPOSITIONS, translate

__all__ = ["from_sklearn"]

assert families
DTYPES = ("float64", "float32")


def from_sklearn(estimator: Any, n_features: int | None = None, *, dtype: str | None = None) -> Estimator:
    """A fitted scikit-learn estimator as compiled code with the same methods.

    Args:
        estimator: a fitted estimator or Pipeline of the classes that docs/sklearn.md lists.
        n_features: columns of the input; by default what the estimator was fitted with.
        dtype: what to compute in. ``"float64"``, the default, gives scikit-learn's numbers within its own rounding
            whatever the data type of the rows; ``"float32"`` halves memory and doubles the vector width, with a
            relative error of about 1e-6 times the condition of what is computed (decision trees compare in float32 in
            both, as scikit-learn's do).

    Returns:
        An Estimator; nothing of scikit-learn is needed to use, save or load it.

    Raises:
        ValidationError: for an object that is no fitted estimator, another number of features than it was fitted with,
            and another data type.
        UnsupportedError: for a class or a parameter that cannot be translated, with the path of the step. Also for what
            is no estimator where scikit-learn is not installed; says how to install it.
    """
    work = "float64" if dtype is None else dtype
    if work not in DTYPES:
        raise ValidationError(f"from_sklearn: dtype is {dtype!r}, expected one of {', '.join(DTYPES)}")
    width = _width(estimator, n_features)
    e = Emitter(work)
    entry = e.input(INPUT, width)
    with e.within(class_name(estimator), _label(estimator)):
        results = translate(e, estimator, Frame(entry, tuple(range(width))))
        _check_categories(e, results)
        inverted = _inverted(e, estimator, results)
    return _assembled(e, estimator, entry, results, inverted)


def _label(estimator: Any) -> str:
    """What the nodes of an estimator that is no composition are labelled with."""
    if class_name(estimator) in COMPOSITIONS:
        return ""
    return "est0" if hasattr(estimator, "predict") else "tr0"


def _width(estimator: Any, n_features: int | None) -> int:
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        require_sklearn("from_sklearn")
        what = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise ValidationError(f"from_sklearn: got {what}, expected a fitted scikit-learn estimator")
    fitted = getattr(estimator, "n_features_in_", None)
    if n_features is not None:
        if isinstance(n_features, bool) or not isinstance(n_features, (int, np.integer)) or n_features < 1:
            raise ValidationError(f"from_sklearn: n_features is {n_features!r}, expected an integer of 1 or more")
        if fitted is not None and n_features != fitted:
            raise ValidationError(f"from_sklearn: n_features is {n_features}, but the estimator takes {fitted}")
        return int(n_features)
    if fitted is None:
        raise ValidationError(f"from_sklearn: {class_name(estimator)} is not fitted, or does not say its n_features")
    return int(fitted)


def _check_categories(e: Emitter, results: Results) -> None:
    """Categories that are no numbers live in the graph as codes, which nothing but an encoder may see."""
    for source in sorted(_taken(e, results)):
        if source in e.vocabularies:
            raise e.unsupported(
                f"column {source} of the input holds categories that are no numbers, which one step encodes but "
                f"another takes, or returns, as they are"
            )
    if not results.values:
        raise e.unsupported("it gives categories that are no numbers; an encoder must follow")


def _taken(e: Emitter, results: Results) -> set[int]:
    """Columns that a step takes for numbers, or that are returned."""
    returned = results.frame.sources if results.frame is not None and "transform" in results.values else ()
    return e.numeric.union(s for s in returned if s is not None)


def _ignored(e: Emitter, results: Results, width: int) -> frozenset[int]:
    """Columns that no step takes, as those are that a ColumnTransformer drops: they may hold anything."""
    taken = _taken(e, results).union(e.vocabularies.columns())
    return frozenset(range(width)) - taken


def _inverted(e: Emitter, estimator: Any, results: Results) -> tuple[Value, Value] | None:
    """The input and result of inverse_transform, if the estimator has one that is translated."""
    function = inverse_of(estimator)
    if function is None or "transform" not in results.values or not hasattr(estimator, "inverse_transform"):
        return None
    (_, width) = results.values["transform"].shape
    entry = e.input(INVERSE_INPUT, int(width))
    made = function(e, estimator, entry)
    return None if made is None else (entry, made)


def _assembled(
    e: Emitter, estimator: Any, entry: Value, results: Results, inverted: tuple[Value, Value] | None
) -> Estimator:
    values = dict(results.values)
    several = isinstance(results.classes, list)
    classes = None if results.classes is None or several else np.asarray(results.classes)
    if classes is not None and classes.dtype in (np.int64, np.int32) and "predict" in values:
        values["predict"] = e.emit("gather", e.constant(classes), values["predict"], axis=0)
    if inverted is not None:
        values["inverse_transform"] = inverted[1]
    flags = {"refused": e.refusals, "unknown": e.unknowns, "strays": e.strays}
    for kind, found in flags.items():
        if found:
            together = found[0] if len(found) == 1 else e.any(e.emit("concat", *found, axis=0))
            values[CHECK_OUTPUTS[kind]] = together
    inputs = (entry, *(() if inverted is None else (inverted[0],)))
    named = tuple((name, _result(e, value)) for name, value in values.items())
    whole = Graph(inputs, named, tuple(e.nodes), class_name(estimator))
    graph = pruned(whole, [name for name, _ in named])
    names = getattr(estimator, "feature_names_in_", None)
    facts = Facts(
        class_name=class_name(estimator),
        dtype=e.dtype,
        n_features=int(entry.shape[1]),
        methods=_methods(estimator, values, results),
        finishes={name: finish for name, (_, finish) in results.finishes.items()},
        classes=classes,
        class_lists=tuple(np.asarray(c) for c in results.classes) if several else (),
        feature_names=None if names is None else tuple(str(n) for n in names),
        vocabularies=e.vocabularies,
        names_out=_names_out(estimator),
        ignored=_ignored(e, results, int(entry.shape[1])),
    )
    return Estimator(graph, e.constants, facts)


def _result(e: Emitter, value: Value) -> Value:
    """A value that may leave the graph."""
    return e.emit("identity", value) if value.is_constant or value.name else value


def _methods(estimator: Any, values: dict[str, Value], results: Results) -> dict[str, tuple[str, ...]]:
    """The outputs of each method that the estimator has: its last step may have more."""
    several = {n: tuple(v for v in values if v.startswith(f"{n}.")) for n in results.pairs}
    parts = {o for outputs in several.values() for o in outputs} | {o for o, _ in results.finishes.values()}
    single = [n for n in values if n not in CHECK_OUTPUTS.values() and n not in parts]
    found: dict[str, tuple[str, ...]] = {n: (n,) for n in single}
    found.update(several)
    found.update({n: (output,) for n, (output, _) in results.finishes.items()})
    return {name: outputs for name, outputs in found.items() if hasattr(estimator, name)}


def _names_out(estimator: Any) -> tuple[str, ...] | None:
    """The names of the features that it gives; None where it has no such method, or refuses to say."""
    try:
        return tuple(str(name) for name in estimator.get_feature_names_out())
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None
