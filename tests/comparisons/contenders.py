"""Which snippets run which task, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SNIPPETS = Path(__file__).parent / "snippets"

LIBOL = "github.com/LIBOL/LIBOL, given by --libol, and GNU Octave"


@dataclass(frozen=True)
class Contender:
    """One program at one task.

    Parameters
    ----------
    name : str
        How the table calls it.
    snippet : str
        File or folder in `SNIPPETS`.
    arguments : tuple of str
        What the snippet gets after the file of rows.
    needs : str
        The module that it imports; empty if it is not Python.
    package : str
        What to install for it.
    rounds : int
        Measurements, of which the median counts.
    """

    name: str
    snippet: str
    arguments: tuple[str, ...] = ()
    needs: str = "olscale"
    package: str = ""
    rounds: int = 5


@dataclass(frozen=True)
class Task:
    """A data set that contenders pass through once, predicting each row before they learn it.

    The first contender is olscale: the others are compared with it.
    """

    title: str
    rows: str
    contenders: tuple[Contender, ...]


def _pa1(rounds: int = 5) -> Contender:
    return Contender("olscale `pa1`", "olscale_evaluate.py", ("pa1",), rounds=rounds)


def _logistic() -> Contender:
    return Contender("olscale `logistic`", "olscale_evaluate.py", ("logistic",))


_RIVER = Contender("River `PAClassifier`", "river_pa1.py", (), "river", "river")
_VOWPAL_WABBIT = Contender(
    "Vowpal Wabbit `--sgd`", "vw_logistic.sh", (), "vowpalwabbit", "vowpalwabbit"
)

TASKS = (
    Task(
        "PA-I, C = 1, on a9a",
        "a9a",
        (
            _pa1(),
            _RIVER,
            Contender(
                "scikit-learn `SGDClassifier`, row by row",
                "sklearn_pa1.py",
                ("1",),
                "sklearn",
                "scikit-learn",
                1,
            ),
            Contender(
                "scikit-learn, 1,000 rows at once",
                "sklearn_pa1.py",
                ("1000",),
                "sklearn",
                "scikit-learn",
            ),
            Contender(
                "CapyMOA `PassiveAggressiveClassifier`",
                "capymoa_pa1.py",
                (),
                "capymoa",
                "capymoa, Java",
                1,
            ),
            Contender("LIBOL `PA1`, in Octave", "libol_pa1.m", (), "", LIBOL, 3),
            Contender(
                "benchopt, River as solver", "benchopt_pa1", (), "benchopt", "benchopt"
            ),
        ),
    ),
    Task("PA-I on a9a, 20 times in a row", "a9a-20", (_pa1(3), _RIVER)),
    Task(
        "Logistic regression, steps of 0.1, on a9a",
        "a9a",
        (_logistic(), _VOWPAL_WABBIT),
    ),
    Task("The same, a9a 20 times in a row", "a9a-20", (_logistic(), _VOWPAL_WABBIT)),
    Task(
        "The 5 nearest of 1,000 rows, on electricity",
        "electricity",
        (
            Contender(
                "olscale `knn-window`",
                "olscale_evaluate.sh",
                ("knn-window:scaling=range",),
            ),
            Contender(
                "MOA `lazy.kNN`",
                "capymoa_moa.py",
                ("knn",),
                "capymoa",
                "capymoa, Java",
                1,
            ),
        ),
    ),
    Task(
        "Naive Bayes on electricity",
        "electricity",
        (
            Contender("olscale `naive-bayes`", "olscale_evaluate.sh", ("naive-bayes",)),
            Contender(
                "MOA `bayes.NaiveBayes`",
                "capymoa_moa.py",
                ("bayes",),
                "capymoa",
                "capymoa, Java",
                3,
            ),
        ),
    ),
)
