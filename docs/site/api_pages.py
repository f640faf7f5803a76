"""Pages of the public names of Python, which mkdocstrings fills from the docstrings."""

from __future__ import annotations

from collections.abc import Iterator

API = {
    "data": (
        "Data",
        (
            "olscale.data.ingest.ingest.ingest",
            "olscale.data.dataset.open_dataset",
            "olscale.data.dataset.Dataset",
            "olscale.data.chunk.Chunk",
            "olscale.data.generators.generate",
        ),
    ),
    "evaluation": (
        "Evaluation",
        (
            "olscale.execution.evaluate.evaluate",
            "olscale.execution.evaluation.Evaluation",
            "olscale.evaluation.experiment.Experiment",
            "olscale.evaluation.experiment.load_experiment",
            "olscale.evaluation.experiment_sections.DatasetSpec",
            "olscale.evaluation.experiment_sections.LearnerSpec",
            "olscale.evaluation.budget.Budget",
            "olscale.execution.settings.ExecutionSettings",
            "olscale.execution.progress.Progress",
            "olscale.execution.shutdown.Stop",
            "olscale.report.watch.watch",
            "olscale.report.watch.LiveView",
        ),
    ),
    "results": (
        "Results",
        (
            "olscale.results.opening.open_store",
            "olscale.results.store.Store",
            "olscale.report.notebook.Results",
            "olscale.report.leaderboard.leaderboard",
            "olscale.report.leaderboard.Leaderboard",
            "olscale.report.learner_comparison.compare",
            "olscale.report.learner_comparison.LearnerComparison",
            "olscale.report.write.make_report",
            "olscale.report.write.Report",
        ),
    ),
    "models": (
        "Models and learners",
        (
            "olscale.models.file.load_model",
            "olscale.models.final_model.FinalModel",
            "olscale.learners.registry.make_learner",
        ),
    ),
    "extending": (
        "Extending",
        (
            "olscale.learners.contract.learner.Learner",
            "olscale.data.transforms.base.Transform",
            "olscale.data.formats.base.Format",
            "olscale.evaluation.metrics.base.Metric",
            "olscale.testing",
        ),
    ),
    "errors": ("Errors", ("olscale.errors",)),
}


def api_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages."""
    for name, (title, paths) in API.items():
        directives = "\n\n".join(f"::: {path}" for path in paths)
        yield f"api/{name}.md", f"# {title}\n\n{directives}\n"
