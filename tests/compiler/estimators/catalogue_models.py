"""Models of the catalogue."""

from __future__ import annotations

from typing import Any

import numpy as np


def _tree(depth: int = 3) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, random_state=0)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=300)


def classifiers() -> list[Any]:
    """Those of two classes and of more."""
    return [*_linear_classifiers(), *_kernel_classifiers(), *_tree_classifiers(), *_classifiers_of_classifiers()]


def _linear_classifiers() -> list[Any]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import (
        LogisticRegressionCV,
        PassiveAggressiveClassifier,
        Perceptron,
        RidgeClassifier,
        RidgeClassifierCV,
        SGDClassifier,
    )
    from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import LinearSVC

    return [
        _logistic(),
        LogisticRegressionCV(Cs=2, cv=2, use_legacy_attributes=False),
        RidgeClassifier(),
        RidgeClassifierCV(),
        *(SGDClassifier(loss=loss, random_state=0) for loss in ("hinge", "log_loss", "modified_huber")),
        Perceptron(),
        PassiveAggressiveClassifier(random_state=0),
        LinearSVC(random_state=0),
        LinearSVC(multi_class="crammer_singer", random_state=0),
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="eigen", n_components=1),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        DummyClassifier(),
        DummyClassifier(strategy="most_frequent"),
        GaussianNB(),
        BernoulliNB(binarize=0.5),
        MultinomialNB(),
        ComplementNB(norm=True),
        *(MLPClassifier((5, 4), a, max_iter=5, random_state=0) for a in ("identity", "logistic", "tanh", "relu")),
    ]


def _kernel_classifiers() -> list[Any]:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC, NuSVC

    kernels = ("linear", "poly", "rbf", "sigmoid")
    metrics = ("manhattan", "chebyshev", "cosine", "sqeuclidean", "canberra", "braycurtis")
    return [
        *(SVC(kernel=k, coef0=0.3, degree=2) for k in kernels),
        SVC(decision_function_shape="ovo", gamma="auto"),
        SVC(break_ties=True, class_weight="balanced"),
        NuSVC(nu=0.1),
        KNeighborsClassifier(),
        KNeighborsClassifier(3, weights="distance", p=1.5),
        KNeighborsClassifier(metric_params={"w": np.array([1.0, 2.0, 0.5, 1.0])}),
        *(KNeighborsClassifier(metric=m) for m in metrics),
    ]


def _tree_classifiers() -> list[Any]:
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.tree import ExtraTreeClassifier

    few: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
    return [
        _tree(),
        ExtraTreeClassifier(random_state=0),
        RandomForestClassifier(**few, max_depth=4, class_weight="balanced"),
        ExtraTreesClassifier(**few, max_leaf_nodes=6),
        GradientBoostingClassifier(**few, subsample=0.7),
        GradientBoostingClassifier(**few, init="zero"),
        GradientBoostingClassifier(**few, init=_logistic()),
        HistGradientBoostingClassifier(max_iter=3),
    ]


def _classifiers_of_classifiers() -> list[Any]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    two = [("a", _logistic()), ("b", _tree()), ("c", "drop")]
    svm = LinearSVC(random_state=0)
    return [
        VotingClassifier(two),
        VotingClassifier(two, voting="soft", weights=[1, 3, 2]),
        VotingClassifier(two, voting="soft", flatten_transform=False),
        StackingClassifier(two, cv=2),
        StackingClassifier(two, _tree(), cv=2, passthrough=True, stack_method="predict"),
        BaggingClassifier(_tree(), 3, max_features=0.5, random_state=0),
        BaggingClassifier(svm, 3, random_state=0),
        AdaBoostClassifier(n_estimators=4, random_state=0),
        CalibratedClassifierCV(_logistic(), cv=2),
        CalibratedClassifierCV(_tree(), method="isotonic", cv=2),
        CalibratedClassifierCV(_tree(), method="temperature", cv=2),
        CalibratedClassifierCV(svm, cv=2, ensemble=False),
        *(kind(estimator) for kind in (OneVsRestClassifier, OneVsOneClassifier) for estimator in (_logistic(), svm)),
        OneVsRestClassifier(_tree()),
        GridSearchCV(_logistic(), {"C": [0.1, 1]}, cv=2),
        RandomizedSearchCV(make_pipeline(StandardScaler(), svm), {"linearsvc__C": [1]}, n_iter=1, cv=2),
    ]


def binary_classifiers() -> list[Any]:
    """Those of two classes alone."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

    return [
        LogisticRegression(solver="liblinear", fit_intercept=False),
        GradientBoostingClassifier(n_estimators=3, loss="exponential", random_state=0),
        GradientBoostingClassifier(n_estimators=3, loss="exponential", init=_tree(), random_state=0),
        FixedThresholdClassifier(_logistic(), threshold=0.3),
        FixedThresholdClassifier(_logistic(), pos_label=0, response_method="decision_function"),
        TunedThresholdClassifierCV(_logistic(), cv=2),
    ]


def classifiers_of_several() -> list[Any]:
    """Those of two targets, each with classes of its own."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import RidgeClassifier
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
    from sklearn.neighbors import KNeighborsClassifier

    return [
        _tree(),
        RandomForestClassifier(3, random_state=0),
        ExtraTreesClassifier(3, random_state=0),
        KNeighborsClassifier(weights="distance"),
        MultiOutputClassifier(_logistic()),
        MultiOutputClassifier(RidgeClassifier()),
        ClassifierChain(RidgeClassifier(), order=[1, 0]),
    ]


def classifiers_of_labels() -> list[Any]:
    """Those of any number of labels a row."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import ClassifierChain
    from sklearn.neural_network import MLPClassifier

    chain = ClassifierChain(_logistic(), chain_method="predict_proba", order=[1, 0])
    return [
        RidgeClassifier(),
        OneVsRestClassifier(_logistic()),
        MLPClassifier((4,), max_iter=5, random_state=0),
        chain,
    ]


def regressors() -> list[Any]:
    """Those of one target."""
    return [*_linear_regressors(), *_other_regressors(), *_regressors_of_regressors()]


def _linear_regressors() -> list[Any]:
    from sklearn import linear_model as lm
    from sklearn.dummy import DummyRegressor
    from sklearn.svm import LinearSVR

    plain = ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "ElasticNet", "Lars", "LassoLars", "LassoLarsIC")
    more = ("BayesianRidge", "ARDRegression", "HuberRegressor", "QuantileRegressor", "OrthogonalMatchingPursuit")
    crossed = ("LarsCV", "LassoLarsCV", "OrthogonalMatchingPursuitCV")
    return [
        *(getattr(lm, name)() for name in plain + more),
        *(getattr(lm, name)(cv=2) for name in crossed),
        *(getattr(lm, name)(alphas=[0.01, 0.1], cv=2) for name in ("LassoCV", "ElasticNetCV")),
        *(getattr(lm, name)(random_state=0) for name in ("SGDRegressor", "PassiveAggressiveRegressor")),
        lm.TheilSenRegressor(random_state=0, max_subpopulation=50),
        lm.RANSACRegressor(random_state=0),
        lm.LinearRegression(fit_intercept=False, positive=True),
        lm.PoissonRegressor(),
        lm.GammaRegressor(),
        lm.TweedieRegressor(power=1.5),
        lm.TweedieRegressor(power=0),
        LinearSVR(random_state=0),
        DummyRegressor(strategy="median"),
    ]


def _other_regressors() -> list[Any]:
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.ensemble import (
        ExtraTreesRegressor,
        GradientBoostingRegressor,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import SVR, NuSVR
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    few: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
    losses = ("squared_error", "absolute_error", "huber", "quantile")
    linked = ("squared_error", "absolute_error", "poisson", "gamma")
    return [
        *(SVR(kernel=k, C=100, coef0=0.5, degree=2) for k in ("linear", "poly", "rbf", "sigmoid")),
        NuSVR(),
        *(KernelRidge(kernel=k) for k in ("linear", "poly", "rbf")),
        KNeighborsRegressor(),
        KNeighborsRegressor(weights="distance", metric="chebyshev"),
        DecisionTreeRegressor(max_depth=4, random_state=0),
        ExtraTreeRegressor(max_depth=4, random_state=0),
        RandomForestRegressor(**few, max_depth=4),
        ExtraTreesRegressor(**few, max_depth=4),
        *(GradientBoostingRegressor(**few, loss=loss) for loss in losses),
        GradientBoostingRegressor(**few, init=LinearRegression()),
        *(HistGradientBoostingRegressor(loss=loss, max_iter=3) for loss in linked),
        HistGradientBoostingRegressor(loss="quantile", quantile=0.7, max_iter=3, monotonic_cst=[1, 0, 0, -1]),
        MLPRegressor(hidden_layer_sizes=(5, 4), max_iter=5, random_state=0),
        MLPRegressor("poisson", (5,), "tanh", max_iter=5, random_state=0),
        PLSRegression(2),
    ]


def _regressors_of_regressors() -> list[Any]:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import AdaBoostRegressor, BaggingRegressor, StackingRegressor, VotingRegressor
    from sklearn.linear_model import LinearRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import PowerTransformer, QuantileTransformer, StandardScaler
    from sklearn.tree import DecisionTreeRegressor

    linear, two = LinearRegression(), [("a", LinearRegression()), ("b", DecisionTreeRegressor(max_depth=3))]
    quantiles = QuantileTransformer(n_quantiles=20, output_distribution="normal")
    return [
        VotingRegressor(two, weights=[1, 3]),
        StackingRegressor(two, Ridge(), cv=2, passthrough=True),
        BaggingRegressor(linear, 3, max_features=0.5, random_state=0),
        BaggingRegressor(n_estimators=2, random_state=0),
        AdaBoostRegressor(n_estimators=5, random_state=0),
        TransformedTargetRegressor(linear, func=np.log1p, inverse_func=np.expm1),
        *(TransformedTargetRegressor(linear, transformer=t) for t in (StandardScaler(), PowerTransformer(), quantiles)),
        GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, cv=2),
    ]


def regressors_of_several() -> list[Any]:
    """Those of two targets."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import (
        LinearRegression,
        MultiTaskElasticNet,
        MultiTaskElasticNetCV,
        MultiTaskLasso,
        MultiTaskLassoCV,
        Ridge,
    )
    from sklearn.multioutput import MultiOutputRegressor, RegressorChain
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    return [
        LinearRegression(),
        MultiTaskLasso(),
        MultiTaskElasticNet(),
        MultiTaskLassoCV(alphas=[0.1], cv=2),
        MultiTaskElasticNetCV(alphas=[0.1], cv=2),
        PLSRegression(2),
        DummyRegressor(),
        RandomForestRegressor(3, max_depth=4, random_state=0),
        KNeighborsRegressor(weights="distance"),
        MLPRegressor(hidden_layer_sizes=(5,), max_iter=5, random_state=0),
        MultiOutputRegressor(SVR()),
        RegressorChain(Ridge(), order=[1, 0]),
        TransformedTargetRegressor(LinearRegression(), transformer=StandardScaler()),
    ]


def unsupervised() -> list[Any]:
    """Those without targets."""
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.ensemble import IsolationForest
    from sklearn.frozen import FrozenEstimator
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import OneClassSVM

    from .catalogue import data

    return [
        KMeans(3, n_init=1, random_state=0),
        MiniBatchKMeans(3, n_init=1, random_state=0),
        *(GaussianMixture(2, covariance_type=k, random_state=0) for k in ("full", "tied", "diag", "spherical")),
        BayesianGaussianMixture(n_components=2, random_state=0),
        IsolationForest(n_estimators=5, random_state=0),
        IsolationForest(n_estimators=5, max_features=0.5, contamination=0.1, random_state=0),
        NearestNeighbors(),
        *(OneClassSVM(kernel=k) for k in ("linear", "rbf")),
        FrozenEstimator(StandardScaler().fit(data("iris"))),
    ]
