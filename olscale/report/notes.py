"""Notes below a table: cautions about its figures, one sentence per note."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from olscale.analysis.status import ExperimentProgress
from olscale.analysis.summary import Summary
from olscale.measures import metric_words
from olscale.report.labels import parts_text


def partial_notes(
    rows: list[str], columns: list[str], grid: list[list[Summary | None]]
) -> list[str]:
    """Say which figures leave failed runs out, one line per learner."""
    notes = []
    for row, line in zip(rows, grid, strict=True):
        failed = [
            f"{count} of {s.n + sum(s.failures.values())} {outcome} on {column}"
            for column, s in zip(columns, line, strict=True)
            if s is not None and s.n
            for outcome, count in s.failures.items()
        ]
        if failed:
            notes.append(f"! {row}: failed runs left out: {', '.join(failed)}.")
    return notes


def own_setting_notes(
    own: Mapping[str, list[str]], grid: list[list[Summary | None]]
) -> list[str]:
    """Say which learners change settings between datasets, if no note on tuning does."""
    tuned: dict[str, set[str]] = defaultdict(set)
    for s in (s for line in grid for s in line if s is not None and s.tuned):
        tuned[s.label] |= set((s.tuned or {})["grid"])
    other_params = {
        label: [name for name in names if name not in tuned[label]]
        for label, names in own.items()
    }
    which = ", ".join(
        f"{label} ({', '.join(names)})"
        for label, names in other_params.items()
        if names
    )
    if which:
        return [f"Each dataset has its own setting of {which}."]
    return []


def version_notes(shown: Iterable[Summary]) -> list[str]:
    """Say which version of a learner was computed last if a table has several.

    A user's own learner has a new version for each edit.
    """
    versions: dict[str, set[str]] = defaultdict(set)
    last = {}
    for summary in shown:
        version = summary.learner_names[0].version or summary.version
        versions[summary.learner].add(version)
        last[summary.learner] = summary.last_version
    # Without a time of its last run, no version can be called the newest.
    learners = [
        learner
        for learner in sorted(versions)
        if len(versions[learner]) > 1 and last[learner]
    ]
    return [
        f"{name}: {len(versions[name])} versions of it; v{last[name]} was computed last."
        for name in learners
    ]


_SEARCHES = {"random": "by random search among", "halving": "by successive halving of"}


def tuned_notes(grid: list[list[Summary | None]]) -> list[str]:
    """Say on what data parameters were chosen, one line per procedure."""
    by_sentence: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for summary in (summary for line in grid for summary in line):
        if summary is not None and summary.tuned:
            how = summary.tuned
            parts = parts_text(how["folds"], how["split"])
            by = metric_words(how["metric"])
            search = ""
            if "search" in how:
                search = f"{_SEARCHES[how['search']]} {how['budget']} candidates "
            by_sentence[f"{search}on {parts} of the training split, by {by}"][
                summary.label
            ] |= set(how["grid"])
    notes = []
    for sentence, learners in sorted(by_sentence.items()):
        which = ", ".join(
            f"{learner} ({', '.join(sorted(names))})"
            for learner, names in learners.items()
        )
        notes.append(f"Tuned {sentence}: {which}.")
    return notes


def count_notes(counts: set[int]) -> list[str]:
    """Say how many runs the figures average."""
    if not counts or max(counts) == 1:
        return []
    runs = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return [f"Mean and sample standard deviation over {runs} runs."]


def damage_notes(files: Collection[str]) -> list[str]:
    """Say which damaged files are left out, in a sentence."""
    if not files:
        return []
    first = sorted(files)[0]
    names = first
    if len(files) != 1:
        names = f"{first} and {len(files) - 1:,} more"
    return [
        f"Left out as damaged: {names}. olscale compact sets damaged files aside, olscale "
        "evaluate runs them again."
    ]


def unfinished_notes(experiments: Iterable[ExperimentProgress]) -> list[str]:
    """Say which experiments have unfinished runs, one sentence per experiment."""
    notes = []
    for experiment in experiments:
        lost = ""
        if experiment.lost:
            lost = f", {experiment.lost:,} lost"
        notes.append(
            f"Experiment {experiment.experiment} is unfinished: "
            f"{experiment.done:,} of {experiment.total:,} runs are done{lost}."
        )
    return notes
