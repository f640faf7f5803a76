"""Import what ``module:name`` stands for, or say what to do when it does not exist."""

import difflib
import importlib
import inspect
import traceback
from types import FunctionType, ModuleType
from typing import Any

from olscale.errors import ParameterError
from olscale.system.interrupts import let_interrupt_out, text_of


def look_up(target: str) -> Any:
    """Return the object that ``module:name`` names; `name` may have dots, as a nested class.

    Raises
    ------
    ParameterError
        If there is none, in one line that says what to do.
    """
    module_name, _, path = target.partition(":")
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
        raise ParameterError(f"learner {target!r} cannot be imported {_why(name, error)}") from None


def _why(module: str, error: BaseException) -> str:
    if (
        isinstance(error, ModuleNotFoundError)
        and error.name
        and f"{module}.".startswith(f"{error.name}.")
    ):
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
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename != __file__]
    frames = [one for one in frames if "importlib" not in one.filename]
    where = f", raised in line {frames[-1].lineno} of {frames[-1].filename}" if frames else ""
    return f"({text_of(error)}); that is what importing module {module} ended in{where}"


def _no_name(target: str, holder: Any, name: str) -> str:
    kind = (
        f"module {holder.__name__}"
        if isinstance(holder, ModuleType)
        else f"class {holder.__qualname__}"
    )
    names = sorted(
        key
        for key, value in vars(holder).items()
        if not key.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value))
    )
    by_folded_name = {key.casefold(): key for key in names}
    near = difflib.get_close_matches(name.casefold(), by_folded_name, n=1, cutoff=0.5)
    hint = f"; did you mean {by_folded_name[near[0]]!r}?" if near else ""
    few = f"; there are: {', '.join(names)}" if 0 < len(names) <= 12 else ""
    file = (
        f" ({holder.__file__})"
        if isinstance(holder, ModuleType) and getattr(holder, "__file__", None)
        else ""
    )
    return (
        f"learner {target!r} cannot be imported ({kind}{file} has no attribute {name!r}){hint}{few}"
    )
