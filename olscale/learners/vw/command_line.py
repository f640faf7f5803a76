"""Command lines of Vowpal Wabbit: which ones name a learner, and what it learns."""

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from olscale.errors import ParameterError
from olscale.system.memory import memory_bytes
from olscale.system.sizes import size_text
from olscale.task import Task

_OWN = ("--quiet", "--no_stdin", "--per_model_save_load")
_LETTERS = {
    "d": "data",
    "c": "cache",
    "k": "kill_cache",
    "i": "initial_regressor",
    "f": "final_regressor",
    "p": "predictions",
    "r": "raw_predictions",
    "a": "audit",
    "t": "testonly",
    "h": "help",
    "P": "progress",
    "b": "bit_precision",
}
_READS_ROWS = (
    "data cache cache_file kill_cache json dsjson flatbuffer csv compressed chain_hash "
    "named_labels examples daemon foreground port num_children pid_file port_file "
    "no_daemon sendto span_server span_server_port unique_id total node active"
)
_FILES = (
    "initial_regressor final_regressor readable_model invert_hash save_per_pass "
    "dump_json_weights_experimental output_feature_regularizer_binary "
    "output_feature_regularizer_text input_feature_regularizer feature_mask "
    "predictions raw_predictions audit audit_regressor extra_metrics dictionary "
    "dictionary_path log_output driver_output print epsilon_decay_audit"
)
_NOT_ONE_PASS = (
    "passes holdout_period holdout_after early_terminate initial_pass_length testonly "
    "bfgs conjugate_gradient noop help version dry_run progress"
)
_NAMES = "ngram skips affix spelling ignore keep redefine"
_REASONS = {
    _READS_ROWS: "olscale gives it the rows; name the data with --dataset",
    _FILES: "it reads or writes files; olscale keeps predictions, records and models itself",
    _NOT_ONE_PASS: "the learner is to learn every row once",
    "active": "it waits on a port for a program that labels rows",
    _NAMES: "it works on names of features, and rows have numbers in one namespace without a name",
}
_REFUSED = {
    option: reason for options, reason in _REASONS.items() for option in options.split()
}
_COUNTS_CLASSES = ("oaa", "ect", "csoaa", "log_multi", "recall_tree")
_TWO_CLASSES = ("logistic", "hinge")
CLASSES = "{classes}"
"""Stands for the number of classes of the stream in a command line."""

# Vowpal Wabbit's own: 2^18 weights, of four floats each with its usual updates.
_BITS = 18
_BYTES_A_WEIGHT = 16


def vowpalwabbit_version() -> str:
    """Return the version of the installed vowpalwabbit.

    Raises
    ------
    ParameterError
        If it is not installed.
    """
    try:
        return version("vowpalwabbit")
    except PackageNotFoundError:
        raise ParameterError(
            "learners of Vowpal Wabbit need the package vowpalwabbit, which is not installed; "
            "pip install vowpalwabbit"
        ) from None


@dataclass(frozen=True)
class Command:
    """What a command line of Vowpal Wabbit says about the learner.

    Attributes
    ----------
    text : str
        The command line.
    words : tuple of str
        Its words.
    task : {"classification", "regression"}
        What it learns.
    classes : int
        Classes that it counts, as by ``--oaa``; 0 if its labels are -1 and 1, or targets.
    first_class : int
        Number of the first class.
    link : str
        Its ``--link``.
    table_bytes : int
        Bytes of the table of weights: 4 for each number that updates keep of each weight.
    """

    text: str
    words: tuple[str, ...]
    task: Task
    classes: int
    first_class: int
    link: str
    table_bytes: int

    @property
    def takes_costs(self) -> bool:
        """Whether the label of a row is a cost for each class."""
        return "csoaa" in _options(self.words)

    @property
    def says_class(self) -> bool:
        """Whether predictions are a class, without scores or probabilities."""
        options = _options(self.words)
        if self.classes:
            return not {"scores", "probabilities"} & options.keys()
        return "binary" in options

    @property
    def has_probabilities(self) -> bool:
        """Whether predictions are probabilities of classes."""
        if self.classes:
            return "probabilities" in _options(self.words)
        return self.task == "classification" and self.link == "logistic"

    def start(self, more: Sequence[str] = ()) -> Any:
        """Return a new workspace of Vowpal Wabbit, with `more` options.

        Raises
        ------
        RuntimeError
            If it does not accept them.
        """
        return start([*self.words, *more])


def start(words: Sequence[str]) -> Any:
    """Return a new workspace of Vowpal Wabbit with the options in `words`.

    Raises
    ------
    RuntimeError
        If it does not accept them.
    """
    import pylibvw

    # Its own options come first: an option that lacks its value takes the word behind it.
    return pylibvw.vw([*_OWN, *words])


def read_command(text: str) -> Command:
    """Return what the command line `text` says.

    Raises
    ------
    ParameterError
        If it names no learner that olscale can run, or Vowpal Wabbit is not installed.
    """
    vowpalwabbit_version()
    name = f"learner 'vw:{text}'"
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ParameterError(
            f"{name} is no command line ({error}); close what is quoted"
        ) from None
    options = _options(words)
    _check_options(name, options)
    # Before Vowpal Wabbit takes the memory.
    _check_table(name, options)
    try:
        workspace = start(words)
    except RuntimeError as error:
        raise ParameterError(
            f"{name} is not accepted by Vowpal Wabbit: {_why_refused(str(error))}"
        ) from None
    try:
        # Once more, as Vowpal Wabbit has understood the words.
        options = _options(workspace.get_arguments().split())
        _check_options(name, options)
        _check_kinds(name, workspace)
        counts = workspace._get_label_type() != workspace.lSimple
        table_bytes = 4 * workspace.get_stride() * workspace.num_weights()
    finally:
        workspace.finish()
    classes = _counted_classes(name, options, counts)
    learns_classes = (
        classes > 0
        or "binary" in options
        or options.get("loss_function") in _TWO_CLASSES
    )
    return Command(
        text,
        words,
        "classification" if learns_classes else "regression",
        classes,
        0 if options.get("indexing") == "0" else 1,
        options.get("link", "identity"),
        table_bytes,
    )


def _options(words: Sequence[str]) -> dict[str, str]:
    """Return the options in `words` by their long names, with the words behind them."""
    options: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options[name] = value
        elif word.startswith("-") and word[1:2].isalpha():
            name = _LETTERS.get(word[1], word[1])
            options[name] = word[2:].removeprefix("=")
        # Of several words behind an option the first is its value.
        elif not options.get(name):
            options[name] = word
    return options


def _check_options(name: str, options: dict[str, str]) -> None:
    for option in options:
        if option in _REFUSED:
            raise ParameterError(
                f"{name}: --{option} makes no sense here ({_REFUSED[option]}); leave it out"
            )
    if "" in options:
        raise ParameterError(
            f"{name}: {options['']!r} is no option, expected a command line of Vowpal Wabbit "
            "after the colon, as in 'vw:--oaa 10 --nn 5'"
        )


def _table_bytes(options: dict[str, str]) -> int:
    bits = options.get("bit_precision", "")
    return _BYTES_A_WEIGHT << (int(bits) if bits.isdecimal() else _BITS)


def _check_table(name: str, options: dict[str, str]) -> None:
    needed = _table_bytes(options)
    memory = memory_bytes()
    if needed > memory:
        raise ParameterError(
            f"{name}: a table of {options['bit_precision']} bits needs {size_text(needed)}, "
            f"this machine has {size_text(memory)}; give -b a smaller number"
        )


def _why_refused(message: str) -> str:
    """Return why Vowpal Wabbit refuses a command line, in one line."""
    line = " ".join(message.split())
    if line.startswith("unrecognised option"):
        near = difflib.get_close_matches(
            line.split("'")[1].lstrip("-"), _known_options(), n=1
        )
        if near:
            return f"{line}; did you mean --{near[0]}?"
    return line


@cache
def _known_options() -> list[str]:
    """Return the long names of the options of Vowpal Wabbit."""
    from vowpalwabbit import Workspace

    workspace = Workspace(arg_list=list(_OWN))
    groups = workspace.get_config(False).values()
    names = {
        option.name for group in groups for _, options in group for option in options
    }
    workspace.finish()
    # None is proposed that would be refused next.
    return sorted(names - _REFUSED.keys())


def _check_kinds(name: str, workspace: Any) -> None:
    """Refuse what takes other labels than classes and targets, or several rows at once."""
    if not _learns_rows(workspace):
        raise ParameterError(
            f"{name} does not learn a class or a target of each row, as contextual bandits, "
            "searches and labels in sets do not; expected options such as --oaa, "
            "--loss_function or --nn"
        )


def _learns_rows(workspace: Any) -> bool:
    labels = (workspace.lSimple, workspace.lMulticlass, workspace.lCostSensitive)
    predictions = (
        workspace.pSCALAR,
        workspace.pSCALARS,
        workspace.pMULTICLASS,
        workspace.pMULTICLASSPROBS,
    )
    try:
        return (
            not workspace._is_multiline()
            and workspace._get_label_type() in labels
            and workspace._get_prediction_type() in predictions
        )
    except RuntimeError:
        # The package has no name for labels such as those of --lda.
        return False


def _counted_classes(name: str, options: dict[str, str], counts: bool) -> int:
    """Return the classes of an option such as ``--oaa``, which VW must have if it `counts` them."""
    for option in _COUNTS_CLASSES:
        if option in options:
            classes = int(options[option])
            if classes < 2:
                raise ParameterError(
                    f"{name}: --{option} counts {classes} classes, expected 2 or more"
                )
            return classes
    if counts:
        names = ", ".join(f"--{option}" for option in _COUNTS_CLASSES)
        raise ParameterError(
            f"{name} does not say how many classes there are, expected one of {names}"
        )
    return 0
