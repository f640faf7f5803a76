"""Pipelines of River's as its users write them; named by tests as ``tests.learners.river_models:name``."""

from typing import Any

from river import (
    compose,
    ensemble,
    forest,
    imblearn,
    linear_model,
    naive_bayes,
    neighbors,
    preprocessing,
    stats,
    tree,
)

NOMINAL = ["colour", "shape"]


def numbers_only() -> Any:
    return (
        compose.SelectType(float)
        | preprocessing.StandardScaler()
        | linear_model.LogisticRegression()
    )


def without_a_column() -> Any:
    return (
        compose.Discard("x1", *NOMINAL)
        | preprocessing.StandardScaler()
        | linear_model.LogisticRegression()
    )


def two_columns() -> Any:
    return (
        compose.Select("x2", "x1")
        | preprocessing.MinMaxScaler()
        | linear_model.PAClassifier()
    )


def one_hot() -> Any:
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    return (words + numbers) | linear_model.LogisticRegression()


def hoeffding_tree() -> Any:
    return tree.HoeffdingTreeClassifier(nominal_attributes=NOMINAL, grace_period=30)


def adaptive_random_forest() -> Any:
    return forest.ARFClassifier(
        n_models=3, seed=7, nominal_attributes=NOMINAL, grace_period=30
    )


def random_patches() -> Any:
    inner = tree.HoeffdingTreeClassifier(nominal_attributes=NOMINAL, grace_period=30)
    return ensemble.SRPClassifier(model=inner, n_models=3, seed=5)


def boosted() -> Any:
    inner = tree.HoeffdingTreeClassifier(nominal_attributes=NOMINAL, grace_period=30)
    return ensemble.AdaBoostClassifier(model=inner, n_models=3, seed=1)


def naive() -> Any:
    return compose.Select("x1", "x2") | naive_bayes.GaussianNB()


def nearest() -> Any:
    engine = neighbors.LazySearch(window_size=50)
    return compose.Discard(*NOMINAL) | neighbors.KNNClassifier(
        n_neighbors=3, engine=engine
    )


def under_sampled() -> Any:
    inner = linear_model.LogisticRegression()
    sampler = imblearn.RandomUnderSampler(
        inner, desired_dist={False: 0.5, True: 0.5}, seed=1
    )
    return compose.Discard(*NOMINAL) | sampler


def imputed() -> Any:
    return (
        compose.Select("x1", "x2")
        | preprocessing.StatImputer(("x1", stats.Mean()))
        | linear_model.LogisticRegression()
    )


MODELS = (
    numbers_only,
    without_a_column,
    two_columns,
    one_hot,
    hoeffding_tree,
    adaptive_random_forest,
    random_patches,
    boosted,
    naive,
    nearest,
    under_sampled,
)
