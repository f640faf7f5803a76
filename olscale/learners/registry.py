"""Names of learners and how to get the class behind a name.

A learner is named by its registry name (``pa1``) or, if it is external, by ``module:Class``: a
class that keeps the learner contract is used directly, any scikit-learn or River estimator is
wrapped. Packages add names with the entry point group ``olscale.learners``.
"""

import difflib
import importlib
import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any, TypeGuard, TypeVar

from olscale.errors import OlscaleError, ParameterError
from olscale.learners.contract.foreign.learner import ForeignLearner
from olscale.learners.contract.foreign.recipe import check_arguments
from olscale.learners.contract.learner import Learner
from olscale.learners.contract.parameters import Choice
from olscale.learners.contract.version import learner_version
from olscale.registry import Registry
from olscale.system.arguments import checked_arguments
from olscale.system.interrupts import let_interrupt_out, text_of
from olscale.task import Task


def look_up(target: str) -> Any:
    """Return the object that ``module:name`` names; `name` may have dots, as a nested class.

    Raises
    ------
    ParameterError
        If there is none, in one line that says what to do.
    """
    module_name, _, path = target.partition(":")
    if module_name in LIBRARIES:
        home, _, function = LIBRARIES[module_name].partition(":")
        return getattr(importlib.import_module(home), function)(path)
    value: Any = _module(target, module_name)
    for name in path.split("."):
        if not hasattr(value, name):
            raise ParameterError(_no_name(target, value, name))
        value = getattr(value, name)
    if (
        isinstance(value, type | FunctionType)
        or hasattr(value, "learn_one")
        or hasattr(value, "partial_fit")
    ):
        return value
    if callable(getattr(value, "func", None)) or hasattr(value, "fit"):
        return value  # functools.partial; refused later, with a reason
    raise ParameterError(
        f"learner {target!r} is no class, nor a function that returns a model, nor a model; "
        f"it is a {type(value).__name__}"
    )


def _module(target: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    # A module may raise anything when it is imported, and end the process with sys.exit.
    except BaseException as error:
        let_interrupt_out(error)
        raise ParameterError(
            f"learner {target!r} cannot be imported {_why(name, error)}"
        ) from None


def _why(module: str, error: BaseException) -> str:
    if (
        isinstance(error, ModuleNotFoundError)
        and error.name
        and f"{module}.".startswith(f"{error.name}.")
    ):
        if module in LEARNERS:
            return (
                f"({error}); {module} is a learner of olscale: name it alone, and give parameters "
                "as params, or to evaluate as --learner NAME:PARAMETER=VALUE"
            )
        # The commonest slip: the name of a file for that of a module.
        if module.endswith(".py"):
            return f"({error}); a module is named without .py: write {module.removesuffix('.py')}"
        return (
            f"({error}); expected module:Class of a module that Python finds: one that is "
            "installed, in the working "
            "directory or in a directory of PYTHONPATH"
        )
    if isinstance(error, ValueError) and not module:
        return f"({error}); expected module:Class"
    if isinstance(error, SyntaxError):  # it includes its position
        return f"({text_of(error)}); mend the module"
    # The reader wants the line of the module's own code, not ours or importlib's.
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__
    ]
    frames = [frame for frame in frames if "importlib" not in frame.filename]
    if frames:
        where = f", raised in line {frames[-1].lineno} of {frames[-1].filename}"
    else:
        where = ""
    return f"({text_of(error)}); that is what importing module {module} ended in{where}"


def _no_name(target: str, holder: Any, name: str) -> str:
    if isinstance(holder, ModuleType):
        kind = f"module {holder.__name__}"
    else:
        kind = f"class {holder.__qualname__}"
    values = {
        key: value
        for key, value in vars(holder).items()
        if not key.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
    }
    # What a module imports is offered only where all is imported, as in a package.
    own = [key for key, value in values.items() if value.__module__ == holder.__name__]
    names = sorted(own or values)
    # A class named in lower case should still be proposed.
    by_folded_name = {key.casefold(): key for key in names}
    near = difflib.get_close_matches(name.casefold(), by_folded_name, n=1, cutoff=0.5)
    if near:
        hint = f"; did you mean {by_folded_name[near[0]]!r}?"
    else:
        hint = ""
    if 0 < len(names) <= 12:
        few = f"{' ' if hint else '; '}there are: {', '.join(names)}"
    else:
        few = ""
    if isinstance(holder, ModuleType) and getattr(holder, "__file__", None):
        file = f" ({holder.__file__})"
    else:
        file = ""
    lacking = f"{kind}{file} has no attribute {name!r}"
    return f"learner {target!r} cannot be imported ({lacking}){hint}{few}"


T = TypeVar("T")

LIBRARIES = {
    "moa": "olscale.learners.moa.names:moa_learner",
    "capymoa": "olscale.learners.moa.names:capymoa_learner",
    "vw": "olscale.learners.vw.learner:vw_learner",
}
"""Words before the colon of a name that are no module, each with what returns the class."""

LEARNERS: Registry[Any] = Registry(
    "learner",
    {
        "perceptron": "olscale.learners.linear.perceptron:Perceptron",
        "pa": "olscale.learners.linear.passive_aggressive:PA",
        "pa1": "olscale.learners.linear.passive_aggressive:PA1",
        "pa2": "olscale.learners.linear.passive_aggressive:PA2",
        "ogd": "olscale.learners.linear.gradient_descent:OGD",
        "pegasos": "olscale.learners.linear.pegasos:Pegasos",
        "logistic": "olscale.learners.linear.logistic:Logistic",
        "adagrad": "olscale.learners.linear.adagrad:AdaGrad",
        "ftrl": "olscale.learners.linear.ftrl:FTRL",
        "cw": "olscale.learners.linear.confidence_weighted:CW",
        "arow": "olscale.learners.linear.arow:AROW",
        "scw1": "olscale.learners.linear.confidence_weighted:SCW1",
        "scw2": "olscale.learners.linear.confidence_weighted:SCW2",
        "lol": "olscale.learners.local.lol:LOL",
        "ilol": "olscale.learners.local.lol:ILOL",
        "soft-lol": "olscale.learners.local.soft_lol:SoftLOL",
        "ollc": "olscale.learners.local.ollc:OLLC",
        "pamo1": "olscale.learners.local.pamo:PAMO1",
        "pamo2": "olscale.learners.local.pamo:PAMO2",
        "amm": "olscale.learners.local.amm:AMM",
        "naive-bayes": "olscale.learners.bayes.naive_bayes:NaiveBayes",
        "multinomial-naive-bayes": (
            "olscale.learners.bayes.multinomial_naive_bayes:MultinomialNaiveBayes"
        ),
        "knn-window": "olscale.learners.neighbour.knn_window:KNNWindow",
        "hoeffding-tree": "olscale.learners.tree.hoeffding_tree:HoeffdingTree",
        "hoeffding-adaptive-tree": (
            "olscale.learners.tree.hoeffding_adaptive_tree:HoeffdingAdaptiveTree"
        ),
        "arf": "olscale.learners.tree.adaptive_forest:AdaptiveRandomForest",
        "pair-tiles": "olscale.learners.tiles.pair_tiles:PairTiles",
        "drift-ensemble": "olscale.learners.ensemble.drift_ensemble:DriftEnsemble",
        "kernel-perceptron": "olscale.learners.kernel.kernel_perceptron:KernelPerceptron",
        "ogd-kernel": "olscale.learners.kernel.kernel_perceptron:OGDKernel",
        "olk": "olscale.learners.kernel.olk:OLK",
        "norma": "olscale.learners.kernel.norma:NORMA",
        "forgetron": "olscale.learners.kernel.forgetron:Forgetron",
        "rbp": "olscale.learners.kernel.rbp:RBP",
        "bogd": "olscale.learners.kernel.bogd:BOGD",
        "bpas": "olscale.learners.kernel.bpas:BPAS",
        "bsgd": "olscale.learners.kernel.bsgd:BSGD",
        "replay-svm": "olscale.learners.kernel.replay_svm:ReplaySVM",
        "projectron": "olscale.learners.kernel.projectron:Projectron",
        "projectron++": "olscale.learners.kernel.projectron:ProjectronPlusPlus",
        "fogd": "olscale.learners.kernel.fogd:FOGD",
        "nogd": "olscale.learners.kernel.nogd:NOGD",
        "oselm": "olscale.learners.network.oselm:OSELM",
        "svd-oselm": "olscale.learners.network.oselm:SVDOSELM",
        "rff-rls": "olscale.learners.network.rff_rls:RFFRLS",
        "kernel-perceptron-r": "olscale.learners.kernel.kernel_perceptron:KernelPerceptronR",
        "norma-r": "olscale.learners.kernel.norma:NORMAR",
        "olk-r": "olscale.learners.kernel.olk:OLKR",
        "krls": "olscale.learners.kernel.krls:KRLS",
        "olk-n": "olscale.learners.kernel.olk:OLKN",
        "norma-n": "olscale.learners.kernel.norma:NORMAN",
        "ipca-lda": "olscale.learners.network.ipca_lda:IPCALDA",
        "ospvm": "olscale.learners.network.pvm:OSPVM",
        "pvm": "olscale.learners.network.pvm:PVM",
        "svm": "olscale.learners.reference.svm:SVM",
        "batch-svm": "olscale.learners.reference.batch_svm:BatchSVM",
        "batch-boosting": "olscale.learners.reference.batch_boosting:BatchBoosting",
        "batch-logistic": "olscale.learners.reference.batch_logistic:BatchLogistic",
        "majority": "olscale.learners.reference.baselines:Majority",
        "no-change": "olscale.learners.reference.baselines:NoChange",
        "pa-r": "olscale.learners.linear.regression:PAR",
        "pa1-r": "olscale.learners.linear.regression:PA1R",
        "pa2-r": "olscale.learners.linear.regression:PA2R",
        "sgd-r": "olscale.learners.linear.regression:SGDR",
        "rls": "olscale.learners.linear.rls:RLS",
        "ridge": "olscale.learners.linear.ridge:Ridge",
        "oselm-r": "olscale.learners.network.oselm:OSELMR",
        "rff-rls-r": "olscale.learners.network.rff_rls:RFFRLSR",
        "fimt-dd": "olscale.learners.tree.fimt_dd:FIMTDD",
        "arf-r": "olscale.learners.tree.adaptive_forest_r:AdaptiveRandomForestR",
        "mean": "olscale.learners.reference.baselines:Mean",
        "last-value": "olscale.learners.reference.baselines:LastValue",
        "svr": "olscale.learners.reference.svm:SVR",
        "ls-svm": "olscale.learners.reference.svm:LSSVM",
        "one-class-svm": "olscale.learners.reference.svm:OneClassSVM",
    },
)


OTHER_NAMES = {"hoeffding-tree-r": "fimt-dd"}
"""Names that are accepted in the place of a registered one, which runs and tables have."""


def registered_name(name: str) -> str:
    """Return the name that runs and tables have in the place of one of `OTHER_NAMES`.

    Examples
    --------
    >>> registered_name("hoeffding-tree-r"), registered_name("pa1")
    ('fimt-dd', 'pa1')
    """
    return OTHER_NAMES.get(name, name)


def learner_names(task: Task | None = None) -> list[str]:
    """Return the registered names, grouped by family; all, or those of a task."""
    return [
        name for name in LEARNERS if task is None or learner_class(name).task == task
    ]


def learner_class(name: str) -> Any:
    """Return the class behind `name`; ``module:name`` may also be a function or a model.

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
    name = registered_name(name)
    if "." in name and name not in LEARNERS:
        guess = ":".join(name.rsplit(".", 1))
        raise ParameterError(
            f"unknown learner {name!r}; one of your own is named module:Class, perhaps {guess}"
        )
    return LEARNERS.target(name)


def is_ours(name: str) -> bool:
    """Return whether a learner is one of olscale's own."""
    return registered_name(name) in LEARNERS.ours


def ask(name: str, what: str, call: Callable[[], T]) -> T:
    """Call learner `name` for `what` while an evaluation is planned, and return the result.

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


def is_learner(target: Any) -> TypeGuard[type[Learner]]:
    """Return whether a result of `learner_class` is a class that keeps the learner contract."""
    return isinstance(target, type) and issubclass(target, Learner)


@checked_arguments()
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
    return ask(name, "making it", lambda: NamedLearner.of(name).make(params or {}))


@dataclass(frozen=True)
class NamedLearner:
    """What is behind a learner's name, looked up once.

    Attributes
    ----------
    name : str
        Registry name or ``module:name``.
    target : class, function or model
        As `learner_class` returns it.

    Examples
    --------
    >>> NamedLearner.of("pa1").make({"C": 0.5}).resolved_params()["C"]
    0.5
    """

    name: str
    target: Any

    @classmethod
    def of(cls, name: str) -> "NamedLearner":
        """Look up a name; see `learner_class` for the errors."""
        return cls(name, learner_class(name))

    @cached_property
    def version(self) -> int | str:
        """Version of the learner's numerical results; of a user's learner, of its source."""
        return learner_version(learner_path(self.name), self.target)

    def make(self, params: dict[str, Any]) -> Learner:
        """Return an untrained learner with its parameters checked, as `make_learner`."""
        return ask(self.name, "making it", lambda: self._made(params))

    def _made(self, params: dict[str, Any]) -> Learner:
        if not is_learner(self.target):
            return ForeignLearner(self.name, self.target, params, str(self.version))
        check_arguments(self.name, self.target, params)
        domains = getattr(self.target, "domains", {})
        words = {
            key: domain.word_of(params[key])
            for key, domain in domains.items()
            if isinstance(domain, Choice) and key in params
        }
        learner = self.target(**params | words)
        learner.resolved_params()
        learner.version = self.version  # type: ignore[misc,assignment]
        return learner


class LearnersByName(dict[str, NamedLearner]):
    """Learners by name, each looked up when it is first asked for."""

    def __missing__(self, name: str) -> NamedLearner:
        self[name] = NamedLearner.of(name)
        return self[name]
