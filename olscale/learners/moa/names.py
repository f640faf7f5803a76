"""The classes behind the names ``moa:COMMAND LINE`` and ``capymoa:Class``."""

import re
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature, signature
from types import ModuleType
from typing import Any, ClassVar

from olscale.errors import ParameterError, UnknownNameError
from olscale.learners.moa.java import (
    capymoa_version,
    close_class,
    java_errors,
    start_java,
)
from olscale.learners.moa.learner import JavaLearner
from olscale.task import Task

_OPTION = re.compile(r"^(-\w \w+)", re.MULTILINE)
_MODULES: dict[str, Task] = {
    "capymoa.classifier": "classification",
    "capymoa.regressor": "regression",
    "capymoa.anomaly": "novelty",
}


class CommandLine(JavaLearner):
    """A learner that is named by a command line of MOA."""

    command: ClassVar[str]

    def make_model(self, header: Any, seed: int) -> Any:
        model = _parsed(self.command)
        if model.isRandomizable():
            model.setRandomSeed(seed)
        model.setModelContext(header)
        model.prepareForUse()
        model.resetLearning()
        return model


def _parsed(command: str) -> Any:
    """Return the object of Java that a command line names."""
    java = start_java()
    option = java.JClass("com.github.javacliparser.ClassOption")
    classifier = java.JClass("moa.classifiers.Classifier")
    with java_errors():
        return option.cliStringToObject(command, classifier.class_, None)


@cache
def moa_learner(command: str) -> type[JavaLearner]:
    """Return the class of learners that a command line of MOA names.

    Raises
    ------
    ParameterError
        If MOA does not accept it, or MOA or Java is not installed.
    """
    if not command.strip():
        raise ParameterError(
            "learner 'moa:' names nothing; expected a command line of MOA after the colon, "
            "as in 'moa:trees.HoeffdingTree -g 200'"
        )
    version = capymoa_version()
    java = start_java()
    try:
        model = _parsed(command)
    except (RuntimeError, TypeError) as error:
        reason = _why_refused(command, str(error))
        raise ParameterError(
            f"learner 'moa:{command}' is not accepted by MOA: {reason}"
        ) from None
    learns_classes = isinstance(
        model, java.JClass("moa.classifiers.MultiClassClassifier")
    )
    learns_numbers = isinstance(model, java.JClass("moa.classifiers.Regressor"))
    if not learns_classes and not learns_numbers:
        raise ParameterError(
            f"learner 'moa:{command}' is no classifier, regressor or detector of MOA"
        )
    task: Task = "classification" if learns_classes else "regression"
    # Detectors are classifiers to MOA, too.
    if isinstance(model, java.JClass("moa.classifiers.OneClassClassifier")):
        task = "novelty"
    return _subclass(
        CommandLine,
        f"moa:{command}",
        version,
        task,
        {"command": command, "__signature__": Signature()},
    )


def _why_refused(command: str, message: str) -> str:
    """Return in one line why MOA refuses a command line; its `message` may list all options."""
    options = _OPTION.findall(message.removeprefix("java.lang.Exception: "))
    if options:
        return f"one of its options or their values is wrong, expected {', '.join(options)}"
    name = command.partition(" ")[0]
    near = close_class(name)
    hint = f"; did you mean moa:{near}?" if near and near != name else ""
    return message.removeprefix("java.lang.Exception: ") + hint


class CapyMOAClass(JavaLearner):
    """A learner that is named by a class of CapyMOA, around one of MOA."""

    kind: ClassVar[Any]

    def make_model(self, header: Any, seed: int) -> Any:
        from capymoa.stream import Schema

        seeds = {}
        if "random_seed" in signature(self.kind).parameters:
            seeds = {"random_seed": seed}
        try:
            learner = self.kind(schema=Schema(header), **seeds | self.params)
        except (TypeError, ValueError, AttributeError) as error:
            raise ParameterError(
                f"learner {self.name} cannot be made: {error}"
            ) from None
        model = getattr(learner, "moa_learner", None)
        if model is None:
            raise ParameterError(
                f"learner {self.name} is written in Python, expected one around a learner of MOA"
            )
        return model


@cache
def capymoa_learner(name: str) -> type[JavaLearner]:
    """Return the class of learners around a class of CapyMOA.

    Raises
    ------
    ParameterError
        If there is none, or CapyMOA or Java is not installed.
    """
    version = capymoa_version()
    start_java()
    modules = {module: import_module(module) for module in _MODULES}
    for module, task in _MODULES.items():
        kind = _class_of(modules[module], name)
        if isinstance(kind, type):
            own = {"kind": kind, "__signature__": _parameters_of(kind)}
            return _subclass(CapyMOAClass, f"capymoa:{name}", version, task, own)
    known = [kind for module in modules.values() for kind in module.__all__]
    raise UnknownNameError("learner of CapyMOA", name, known)


def _class_of(module: ModuleType, name: str) -> Any:
    """Return a class of CapyMOA, None if the module has none of that name."""
    try:
        return getattr(module, name, None)
    except ImportError as error:  # the class needs a package of its own
        raise ParameterError(f"learner 'capymoa:{name}': {error}") from None


def _parameters_of(kind: type) -> Signature:
    """Return the signature of a class of CapyMOA without the schema, which olscale gives it."""
    parameters = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in signature(kind).parameters.values()
        if parameter.name != "schema" and parameter.kind is not Parameter.VAR_KEYWORD
    ]
    return Signature(parameters)


def _subclass(
    base: type[JavaLearner],
    name: str,
    version: str,
    task: Task,
    attributes: dict[str, Any],
) -> type[JavaLearner]:
    own = {
        "__doc__": base.__doc__,
        "__module__": base.__module__,
        "name": name,
        "version": version,
        "task": task,
        # Those of MOA ignore them.
        "takes_weights": task != "novelty",
    }
    return type(base.__name__, (base,), own | attributes)
