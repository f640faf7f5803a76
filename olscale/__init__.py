"""olscale: evaluate single-pass (one-pass, streaming) learners at scale.

>>> import olscale
>>> olscale.__version__
'0.3.0'

Names below are imported when they are first used, so that importing olscale costs nothing.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from olscale.version import __version__
from olscale.views import register_view

if TYPE_CHECKING:
    from olscale.data.dataset import Dataset, open_dataset
    from olscale.data.generators import generate
    from olscale.data.ingest.ingest import ingest
    from olscale.evaluation.experiment import Experiment, load_experiment
    from olscale.execution.evaluate import evaluate
    from olscale.execution.evaluation import Evaluation
    from olscale.learners.registry import make_learner
    from olscale.models.file import load_model
    from olscale.report.leaderboard import leaderboard
    from olscale.report.learner_comparison import compare
    from olscale.report.notebook import Results
    from olscale.report.watch import LiveView, watch
    from olscale.report.write import make_report
    from olscale.results.opening import open_store
    from olscale.results.store import Store

__all__ = [
    "Dataset",
    "Evaluation",
    "Experiment",
    "LiveView",
    "Results",
    "Store",
    "__version__",
    "compare",
    "evaluate",
    "generate",
    "ingest",
    "leaderboard",
    "load_experiment",
    "load_model",
    "make_learner",
    "make_report",
    "open_dataset",
    "open_store",
    "watch",
]

_HOMES = {
    "Dataset": "olscale.data.dataset",
    "Evaluation": "olscale.execution.evaluation",
    "Experiment": "olscale.evaluation.experiment",
    "Results": "olscale.report.notebook",
    "Store": "olscale.results.store",
    "compare": "olscale.report.learner_comparison",
    "evaluate": "olscale.execution.evaluate",
    "generate": "olscale.data.generators",
    "ingest": "olscale.data.ingest.ingest",
    "leaderboard": "olscale.report.leaderboard",
    "load_experiment": "olscale.evaluation.experiment",
    "load_model": "olscale.models.file",
    "make_learner": "olscale.learners.registry",
    "make_report": "olscale.report.write",
    "open_dataset": "olscale.data.dataset",
    "open_store": "olscale.results.opening",
    "LiveView": "olscale.report.watch",
    "watch": "olscale.report.watch",
}

# Names of modules, not the functions: importing reports here would make `import olscale` slow.
_VIEWS = {
    "evaluation": "olscale.report.watch:show",
    "ingest": "olscale.report.ingest_view:ingest_view",
    "results": "olscale.report.notebook:Results",
}


def _make_view(place: str, *arguments: Any) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)(*arguments)


for _subject, _place in _VIEWS.items():
    register_view(_subject, partial(_make_view, _place))


# Python calls this for names that a module does not have (PEP 562).
def __getattr__(name: str) -> Any:
    if name in _HOMES:
        # Not kept in the module: the import is in Python's own cache after the first
        # time.
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'olscale' has no attribute {name!r}")


def __dir__() -> list[str]:
    # Tab completion offers what is promised, and imports none of it.
    return sorted(__all__)
