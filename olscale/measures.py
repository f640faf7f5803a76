"""What is measured of a run: every measure with its words, unit and direction, declared once.

Metrics count, `[protocol] measures` names, tables and figures word, tuning and marks of the best
compare what stands here. A measure has up to five forms, whose names begin as `FORMS` says:
``kappa`` of the whole stream, ``window_kappa``, ...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from olscale.errors import UnknownNameError
from olscale.task import TASKS, Task

FORMS = ("test_", "window_", "fading_", "holdout_")
"""Prefixes of measures of the test split, over a window, with fading, or of held-out rows."""

LABELS: tuple[Task, ...] = ("classification", "novelty")


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure.

    Attributes
    ----------
    name : str
        As in records; without the form it is measured in.
    words : str
        What tables and figures call it.
    better : {"lower", "higher", ""}
        Which of two values is the better one; empty where neither is.
    unit : {"", "percent", "count", "score"}
        Tables show fractions in percent, counts whole, and scores whose best is 1 with four
        decimals.
    tasks : tuple of str
        What it can be asked for by ``measures``; empty where it comes by itself or by another
        option.
    default : tuple of str
        Tasks for which every run has it at the end of the stream and on the test split.
    ranks_rows : bool
        Whether it says how the scores rank rows: of a model that only says which class it is a
        measure of classes.
    """

    name: str
    words: str
    better: Literal["lower", "higher", ""] = "higher"
    unit: Literal["", "percent", "count", "score"] = ""
    tasks: tuple[Task, ...] = ()
    default: tuple[Task, ...] = ()
    ranks_rows: bool = False


_CLASSES: tuple[Task, ...] = ("classification",)
_NUMBERS: tuple[Task, ...] = ("regression",)
_NOVELTIES: tuple[Task, ...] = ("novelty",)

MEASURES = {
    measure.name: measure
    for measure in (
        Measure("error", "error", "lower", "percent"),
        Measure("cumulative_error", "cumulative error", "lower", "percent"),
        Measure("segment_error", "segment error", "lower", "percent"),
        Measure("mistakes", "mistakes", "lower", "count"),
        Measure("drift_alarms", "drift alarms", "", "count"),
        Measure("accuracy", "accuracy", "higher", "percent", LABELS),
        Measure("train_error", "training error", "lower", "percent", LABELS),
        Measure(
            "balanced_accuracy",
            "balanced accuracy",
            "higher",
            "percent",
            LABELS,
            _CLASSES,
        ),
        Measure("macro_f1", "macro F1", "higher", "percent", LABELS, _CLASSES),
        Measure("weighted_f1", "weighted F1", "higher", "percent", LABELS),
        Measure("macro_precision", "macro precision", "higher", "percent", LABELS),
        Measure("macro_recall", "macro recall", "higher", "percent", LABELS),
        Measure("g_mean", "G-mean", "higher", "percent", LABELS),
        Measure("kappa", "kappa", unit="score", tasks=LABELS, default=_CLASSES),
        Measure("kappa_m", "kappa-M", unit="score", tasks=LABELS, default=_CLASSES),
        Measure(
            "kappa_t", "kappa-temporal", unit="score", tasks=LABELS, default=_CLASSES
        ),
        Measure("cost", "cost a row", "lower", "", LABELS),
        Measure("confusion", "confusion", "", "count", LABELS),
        Measure(
            "auc",
            "AUC",
            unit="score",
            tasks=LABELS,
            default=_NOVELTIES,
            ranks_rows=True,
        ),
        Measure("roc", "ROC", "higher", "percent", LABELS, ranks_rows=True),
        Measure("log_loss", "log loss", "lower", "", _CLASSES),
        Measure("brier", "Brier score", "lower", "", _CLASSES),
        Measure("ece", "calibration error", "lower", "percent", _CLASSES),
        Measure("precision", "precision", "higher", "percent", _CLASSES),
        Measure("recall", "recall", "higher", "percent", _CLASSES),
        Measure("f1", "F1", "higher", "percent", _CLASSES),
        Measure(
            "average_precision",
            "average precision",
            "higher",
            "score",
            _CLASSES,
            ranks_rows=True,
        ),
        Measure(
            "true_positive_rate",
            "true positive rate",
            "higher",
            "percent",
            _NOVELTIES,
            _NOVELTIES,
        ),
        Measure(
            "false_positive_rate",
            "false positive rate",
            "lower",
            "percent",
            _NOVELTIES,
            _NOVELTIES,
        ),
        Measure("mae", "MAE", "lower", "", _NUMBERS, _NUMBERS),
        Measure("rmse", "RMSE", "lower", "", _NUMBERS, _NUMBERS),
        Measure("r2", "R2", "higher", "score", _NUMBERS, _NUMBERS),
        Measure("rmae", "relative MAE", "lower", "", _NUMBERS),
        Measure("rrmse", "relative RMSE", "lower", "", _NUMBERS),
        Measure("epsilon_loss", "epsilon-insensitive loss", "lower", "", _NUMBERS),
        Measure("medae", "median absolute error", "lower", "", _NUMBERS),
        Measure("fit_seconds", "fit seconds", "lower"),
        Measure("fit_cpu_seconds", "fit processor seconds", "lower"),
        Measure("read_seconds", "read seconds", "lower"),
        Measure("machine_code_seconds", "machine code seconds", "lower"),
        Measure("model_bytes", "model bytes", "lower", "count", TASKS),
        Measure("latency", "latency", "lower", "", TASKS),
        Measure("predict_p50_seconds", "predict seconds, p50", "lower"),
        Measure("predict_p99_seconds", "predict seconds, p99", "lower"),
        Measure("learn_p50_seconds", "learn seconds, p50", "lower"),
        Measure("learn_p99_seconds", "learn seconds, p99", "lower"),
        Measure("rows_per_second", "rows per second", "higher", "count"),
        Measure("rows_per_cpu_second", "rows per processor second", "higher", "count"),
        Measure("updates", "updates", "", "count"),
    )
}
"""By name; others, of learners and of installed metrics, `measure_of` makes up."""

ALONG_THE_STREAM = ("kappa_m", "kappa_t", "rmae", "rrmse", "model_bytes", "latency")
"""Measured along the stream; on the test split, against a trivial baseline's whole stream."""

OF_CLASSES = ("precision", "recall", "f1", "average_precision")
"""Measures of one class: of the protocol's `positive`, or as ``recall:LABEL`` of any class."""

UNWEIGHTED = ("roc", "medae")
"""Measures in which all rows count equally, whatever their weights."""

RANKED_BY_CLASS = "ranked_by_class"
"""Marks runs of learners that predict only classes, for measures of how scores rank rows."""

NOT_REPRODUCIBLE = "not_reproducible"
"""Metric that a run has whose learner gives other scores each time."""

WAITED = "waited"
"""Timing that a run has whose learning took much longer on the clock than on the processor."""

BY_CLOCK = "by_clock"
"""Marks speeds by wall time, from runs of earlier versions, among speeds by processor time."""

CAUTIONS = {
    NOT_REPRODUCIBLE: "not reproducible",
    RANKED_BY_CLASS: "of classes",
    WAITED: "waited",
    BY_CLOCK: "by the clock",
}
"""How tables mark figures of runs with such a metric or timing, which is itself no figure."""

SPEEDS = ("fit_seconds", "fit_cpu_seconds", "rows_per_second", "rows_per_cpu_second")
"""Of learning: what a busy machine changes."""

OF_MODELS = (
    *(
        "train_error",
        *SPEEDS,
        "read_seconds",
        "machine_code_seconds",
        "model_bytes",
        "latency",
        "updates",
    ),
    *(
        "predict_p50_seconds",
        "predict_p99_seconds",
        "learn_p50_seconds",
        "learn_p99_seconds",
    ),
)
"""Measures of the final model or of its cost, instead of predictions along a stream."""

HEADLINES = (
    *(
        "test_error",
        "cumulative_error",
        "window_error",
        "fading_error",
        "holdout_error",
        "drift_alarms",
    ),
    *("test_rmse", "rmse", "window_rmse", "fading_rmse", "holdout_rmse", "test_auc"),
)
"""Shown when none is asked for, those of them that there are."""


def headline_of(task: Task) -> str:
    """Return the metric that shows a stream's progress while it runs."""
    if task == "regression":
        return "rmse"
    return "cumulative_error"


@cache
# Tables of thousands of runs ask for the same few names.
def measure_of(metric: str) -> Measure:
    """Return the measure that a metric's name is a form of.

    That of one target of several, as ``rmse:price``, is a form too. A name that is not known, such
    as one of a learner's own, is worded as it is written; one that ends in ``_error`` is a fraction
    that should be small.

    Examples
    --------
    >>> measure_of("test_kappa").better, measure_of("window_error").unit
    ('higher', 'percent')
    """
    base = base_name(metric)
    if base in MEASURES:
        return MEASURES[base]
    # of one target of several
    if (full_name := metric.partition(":")[0]) != metric and base_name(
        full_name
    ) in MEASURES:
        return MEASURES[base_name(full_name)]
    error = base.endswith("_error")
    return Measure(
        base,
        base.replace("_", " "),
        "lower" if error else "",
        "percent" if error else "",
    )


def ranking_measures(names: Iterable[str]) -> list[str]:
    """Return those of some measures that say how scores rank rows.

    Examples
    --------
    >>> ranking_measures(["auc", "kappa"])
    ['auc']
    """
    return [name for name in names if measure_of(name).ranks_rows]


@cache
def is_prequential(metric: str) -> bool:
    """Return whether a metric scores predictions made before their rows are learned.

    Measures of a learner's own are of its model; those of other packages count where they are
    errors.

    Examples
    --------
    >>> names = ("window_kappa", "test_kappa", "rmse:price", "norm_w", "my_error")
    >>> [is_prequential(name) for name in names]
    [True, False, True, False, True]
    """
    base = base_name(metric.partition(":")[0])
    if metric.startswith("test_") or base in OF_MODELS:
        return False
    return base in MEASURES or base.endswith("_error")


@cache
def base_name(metric: str) -> str:
    """Return the name of a metric without the form it was measured in.

    Examples
    --------
    >>> base_name("window_kappa"), base_name("test_recall:spam"), base_name("test_of_time")
    ('kappa', 'recall:spam', 'test_of_time')
    """
    form = next((form for form in FORMS if metric.startswith(form)), "")
    name = metric.removeprefix(form)
    if name in MEASURES or label_of(name):
        # Only where a measure is left: a metric of a learner's own may begin with such
        # a word.
        return name
    return metric


def metric_words(metric: str) -> str:
    """Return what people call a metric.

    Examples
    --------
    >>> metric_words("test_rmse"), metric_words("norm_w"), metric_words("rmse:price")
    ('test RMSE', 'norm w', 'RMSE of price')
    """
    full_name, _, target = metric.partition(":")
    if target and base_name(full_name) in MEASURES:
        return f"{metric_words(full_name)} of {target}"
    base = base_name(metric)
    return f"{metric.removesuffix(base)}".replace("_", " ") + measure_of(metric).words


def figure_of(metric: str, value: float) -> str:
    """Return a value as it is shown, percent without their sign.

    Examples
    --------
    >>> figure_of("test_error", 0.0312), figure_of("mistakes", 1234.0), figure_of("rmse", 2.25678)
    ('3.12', '1,234', '2.257')
    >>> figure_of("auc", 0.9), figure_of("kappa", -0.00003)
    ('0.9000', '0.0000')
    """
    unit = measure_of(metric).unit
    # `z` leaves out the sign of what rounds to zero, which would differ from 0 as shown.
    if unit == "percent":
        return f"{100 * value:z.2f}"
    if unit == "score":
        return f"{value:z.4f}"
    if unit == "count":
        if abs(value) >= 1000:
            return f"{value:,.0f}"
        return f"{value:z,.1f}".removesuffix(".0")
    # `#` keeps zeros at the end: all figures of a column have as many digits.
    return f"{value:z#.4g}".removesuffix(".")


def deviation_of(metric: str, value: float, mean: str) -> str:
    """Return a standard deviation with as many decimals as its mean is shown with.

    Examples
    --------
    >>> deviation_of("auc", 0.010957, mean=figure_of("auc", 0.9327))
    '0.0110'
    """
    # Units have decimals of their own, and a mean of many digits or few has none to
    # follow.
    if measure_of(metric).unit or "e" in mean or "." not in mean:
        return figure_of(metric, value)
    return f"{value:.{len(mean.partition('.')[2])}f}"


def distance_from_best(metric: str, value: float) -> float:
    """Return a number that is least for the best value; for unknown metrics, less is better."""
    if measure_of(metric).better == "higher":
        return -value
    return value


def askable(task: Task | None = None) -> list[str]:
    """Return the names that ``measures`` takes, all or those for a task."""
    return [
        m.name
        for m in MEASURES.values()
        if (m.tasks if task is None else task in m.tasks)
    ]


def check_measures(names: Iterable[str]) -> tuple[str, ...]:
    """Return names that ``measures`` was given, each once and in the order of `MEASURES`.

    Those of one class, as ``recall:LABEL``, follow those of the positive class, by label.

    Raises
    ------
    ValueError
        If one of them cannot be asked for: with the nearest that can.
    """
    requested = set(names)
    of_labels = {name for name in requested if label_of(name)}
    for name in sorted(requested.difference(askable(), of_labels)):
        base = base_name(name)
        if base != name and base in askable():
            raise ValueError(
                f"{name!r} is a form of {base!r}; expected {base!r}, which with window, fading, "
                "holdout_every or a test "
                "split has that form too"
            )
        raise ValueError(str(UnknownNameError("measure", name, askable())))
    # In one order, so that the same measures in another one make the same run.
    places = {name: place for place, name in enumerate(MEASURES)}
    return tuple(
        sorted(requested, key=lambda name: (places[name.partition(":")[0]], name))
    )


def label_of(measure: str) -> str:
    """Return the class that a name in ``measures`` names; nothing if it names none.

    Examples
    --------
    >>> label_of("recall:spam"), label_of("recall"), label_of("rmse:price")
    ('spam', '', '')
    """
    name, _, label = measure.partition(":")
    if name in OF_CLASSES:
        return label
    return ""


def check_task_measures(names: Iterable[str], task: Task) -> str:
    """Return what is wrong with measures for a task; nothing if it has them all."""
    for name in names:
        tasks = measure_of(name).tasks
        if task not in tasks:
            kinds = " and ".join(kind for kind in TASKS if kind in tasks)
            return (
                f"measures has {name!r}, which is for {kinds}, not {task}; there are: "
                f"{', '.join(askable(task))}"
            )
    return ""
