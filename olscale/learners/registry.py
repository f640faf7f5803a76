"""Names of learners and how to get the class behind a name.

A learner is named by its registry name (``pa1``) or, for one that lives elsewhere, by
``module:Class``: a class that keeps the learner contract is used as it is, any scikit-learn or
River estimator is wrapped. Packages add names of their own with the entry point group
``olscale.learners``.
"""

from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

from olscale.errors import OlscaleError, ParameterError
from olscale.learners.contract.foreign.learner import ForeignLearner
from olscale.learners.contract.foreign.recipe import check_arguments
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.lookup import look_up
from olscale.learners.contract.parameters import Choice
from olscale.learners.contract.version import learner_version
from olscale.registry import Registry
from olscale.system.interrupts import let_interrupt_out, text_of
from olscale.task import Task

T = TypeVar("T")

LEARNERS: Registry[Any] = Registry(
    "learner",
    {
        "perceptron": "olscale.learners.perceptron:Perceptron",
        "pa": "olscale.learners.passive_aggressive:PA",
        "pa1": "olscale.learners.passive_aggressive:PA1",
        "pa2": "olscale.learners.passive_aggressive:PA2",
        "ogd": "olscale.learners.gradient_descent:OGD",
        "pegasos": "olscale.learners.pegasos:Pegasos",
        "cw": "olscale.learners.confidence_weighted:CW",
        "arow": "olscale.learners.arow:AROW",
        "scw1": "olscale.learners.soft_confidence_weighted:SCW1",
        "scw2": "olscale.learners.soft_confidence_weighted:SCW2",
        "lol": "olscale.learners.lol:LOL",
        "ilol": "olscale.learners.lol:ILOL",
        "soft-lol": "olscale.learners.soft_lol:SoftLOL",
        "ollc": "olscale.learners.ollc:OLLC",
        "pamo1": "olscale.learners.pamo:PAMO1",
        "pamo2": "olscale.learners.pamo:PAMO2",
        "amm": "olscale.learners.amm:AMM",
        "kernel-perceptron": "olscale.learners.kernel_perceptron:KernelPerceptron",
        "ogd-kernel": "olscale.learners.kernel_perceptron:OGDKernel",
        "olk": "olscale.learners.olk:OLK",
        "norma": "olscale.learners.norma:NORMA",
        "forgetron": "olscale.learners.forgetron:Forgetron",
        "rbp": "olscale.learners.rbp:RBP",
        "bogd": "olscale.learners.bogd:BOGD",
        "bpas": "olscale.learners.bpas:BPAS",
        "bsgd": "olscale.learners.bsgd:BSGD",
        "projectron": "olscale.learners.projectron:Projectron",
        "projectron++": "olscale.learners.projectron:ProjectronPlusPlus",
        "fogd": "olscale.learners.fogd:FOGD",
        "nogd": "olscale.learners.nogd:NOGD",
        "oselm": "olscale.learners.oselm:OSELM",
        "svd-oselm": "olscale.learners.svd_oselm:SVDOSELM",
        "rff-rls": "olscale.learners.rff_rls:RFFRLS",
        "kernel-perceptron-r": "olscale.learners.kernel_perceptron_r:KernelPerceptronR",
        "norma-r": "olscale.learners.norma_r:NORMAR",
        "olk-r": "olscale.learners.olk_r:OLKR",
        "krls": "olscale.learners.krls:KRLS",
        "olk-n": "olscale.learners.olk_n:OLKN",
        "norma-n": "olscale.learners.norma_n:NORMAN",
        "ipca-lda": "olscale.learners.ipca_lda:IPCALDA",
        "ospvm": "olscale.learners.ospvm:OSPVM",
        "pvm": "olscale.learners.pvm:PVM",
        "svm": "olscale.learners.svm:SVM",
        "majority": "olscale.learners.baselines:Majority",
        "no-change": "olscale.learners.baselines:NoChange",
        "pa-r": "olscale.learners.linear_regression:PAR",
        "pa1-r": "olscale.learners.linear_regression:PA1R",
        "pa2-r": "olscale.learners.linear_regression:PA2R",
        "sgd-r": "olscale.learners.linear_regression:SGDR",
        "rls": "olscale.learners.rls:RLS",
        "ridge": "olscale.learners.ridge:Ridge",
        "oselm-r": "olscale.learners.oselm:OSELMR",
        "rff-rls-r": "olscale.learners.rff_rls:RFFRLSR",
        "mean": "olscale.learners.baselines:Mean",
        "last-value": "olscale.learners.baselines:LastValue",
        "svr": "olscale.learners.svr:SVR",
        "ls-svm": "olscale.learners.ls_svm:LSSVM",
        "one-class-svm": "olscale.learners.one_class_svm:OneClassSVM",
    },
)


def learner_names(task: Task | None = None) -> list[str]:
    """Return the registered names, families together; all, or those of a task."""
    return [name for name in LEARNERS if task is None or learner_class(name).task == task]


def learner_class(name: str) -> Any:
    """Return the class behind `name`; ``module:name`` may also be a function that returns a model, or a model.

    Raises
    ------
    UnknownNameError
        If the name is not registered.
    ParameterError
        If ``module:name`` cannot be imported.

    Examples
    --------
    >>> learner_class("pa1").__name__
    'PA1'
    """
    return look_up(learner_path(name))


def learner_path(name: str) -> str:
    """Return the ``module:name`` behind a learner's name.

    Raises
    ------
    UnknownNameError
        If it has no colon and is not registered.
    """
    if ":" in name:
        return name
    if "." in name and name not in LEARNERS:
        guess = ":".join(name.rsplit(".", 1))
        raise ParameterError(
            f"unknown learner {name!r}; one of your own is named module:Class, perhaps {guess}"
        )
    return LEARNERS.target(name)


def is_ours(name: str) -> bool:
    """Return whether a learner is one of olscale's own."""
    return name in LEARNERS.ours


def ask(name: str, what: str, call: Callable[[], T]) -> T:
    """Call learner `name` for `what` while an evaluation is planned, and return its answer.

    Raises
    ------
    OlscaleError
        If the learner raises one.
    ParameterError
        If it raises anything else.
    """
    try:
        return call()
    except OlscaleError:
        raise
    except BaseException as error:
        let_interrupt_out(error)
        raise ParameterError(
            f"learner {name}: {what} raised {text_of(error)}; mend it or leave it out"
        ) from None


def is_restorable(name: str) -> bool:
    """Return whether a run of the learner can be continued from a checkpoint."""
    target = learner_class(name)
    return is_learner(target) and target.restorable


def is_learner(target: Any) -> TypeGuard[type[Learner]]:
    """Tell whether what `learner_class` returns is a class that keeps the learner contract."""
    return isinstance(target, type) and issubclass(target, Learner)


def make_learner(name: str, params: dict[str, Any] | None = None) -> Learner:
    """Return an untrained learner with its parameters checked.

    Raises
    ------
    ParameterError
        If a parameter does not exist or is outside its domain.

    Examples
    --------
    >>> make_learner("pa1", {"C": 0.5}).resolved_params()
    {'C': 0.5, 'dtype': 'float64', 'multiclass': 'max-score'}
    """
    return ask(name, "making it", lambda: _make(name, params or {}))


def _make(name: str, params: dict[str, Any]) -> Learner:
    target = learner_class(name)
    version = learner_version(learner_path(name), target)
    if not is_learner(target):
        return ForeignLearner(name, target, params, str(version))
    check_arguments(name, target, params)
    domains = getattr(target, "domains", {})
    words = {
        key: domain.word_of(params[key])
        for key, domain in domains.items()
        if isinstance(domain, Choice) and key in params
    }
    learner = target(**params | words)
    learner.resolved_params()
    learner.version = version  # type: ignore[misc,assignment]
    return learner
