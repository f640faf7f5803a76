"""What a comparison leaves out, and why: learners, data sets, and runs that some learners lack."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from olscale.analysis.matched_blocks import MatchedBlocks, Unmatched
from olscale.analysis.standing import why_incomparable
from olscale.measures import metric_words
from olscale.report.candidates import Candidates

_MOST_NAMES = 3
"""Most names that a sentence lists."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A learner, a data set, or a learner's runs on a data set, that a comparison leaves out.

    Parameters
    ----------
    learner : str
        Empty if the data set is left out for all learners.
    dataset : str
        Empty if the learner is left out of all data sets.
    transforms : tuple of str or None
        Transforms of the runs; None if all are left out.
    runs : int
        The number of left-out runs with a figure.
    reason : str
    """

    learner: str
    dataset: str
    transforms: tuple[str, ...] | None
    runs: int
    reason: str


def left_out(candidates: Candidates, matched: MatchedBlocks, metric: str) -> list[Omission]:
    """Return the candidates that are not compared by a metric."""
    entries = [
        Omission(learner, "", None, 0, _no_figure(candidates, learner, metric))
        for learner in candidates.learners
        if not candidates.figures.get(learner)
    ]
    for learner, datasets in matched.learners_left_out.items():
        runs = len(candidates.figures[learner])
        entries.append(
            Omission(learner, "", None, runs, _lacks_datasets(candidates, learner, datasets))
        )
    for dataset, learners in matched.datasets_left_out.items():
        runs = sum(
            block.way.dataset == dataset for own in candidates.figures.values() for block in own
        )
        entries.append(
            Omission(
                "",
                candidates.names[dataset],
                None,
                runs,
                _lacks_learners(candidates, dataset, learners),
            )
        )
    # Data sets without any figure appear in no match, so they are added here.
    measured = {block.way.dataset for own in candidates.figures.values() for block in own}
    for dataset, name in candidates.names.items():
        if dataset not in measured:
            entries.append(Omission("", name, None, 0, _no_metric(metric)))
    entries += [_unmatched_runs(candidates, unmatched) for unmatched in matched.unmatched]
    return entries


def _no_figure(candidates: Candidates, learner: str, metric: str) -> str:
    settings = (setting for (name, _), setting in candidates.settings.items() if name == learner)
    # The most specific reason first.
    return why_incomparable(settings) or _failures(candidates, learner) or _no_metric(metric)


def _no_metric(metric: str) -> str:
    return f"no {metric_words(metric)}"


def _failures(candidates: Candidates, learner: str, datasets: Collection[str] | None = None) -> str:
    """Describe how many runs of a learner failed and how; empty if none failed."""
    counts: Counter[str] = Counter()
    for (name, way), setting in candidates.settings.items():
        if name == learner and (datasets is None or way.dataset in datasets):
            counts.update(setting.failures)
    return ", ".join(f"{_runs_text(count)} {outcome}" for outcome, count in sorted(counts.items()))


def _lacks_datasets(candidates: Candidates, learner: str, datasets: Sequence[str]) -> str:
    if not datasets:
        return "no run in common with the others"
    failures = _failures(candidates, learner, datasets)
    reason = f"none of {few([candidates.names[dataset] for dataset in datasets])}"
    if failures:
        return f"{reason}: {failures}"
    return reason


def _lacks_learners(candidates: Candidates, dataset: str, learners: Sequence[str]) -> str:
    absent = [
        learner
        for learner in learners
        if all(block.way.dataset != dataset for block in candidates.figures.get(learner, {}))
    ]
    if not absent:
        return "no run in common"
    return f"none of {few(_with_failures(candidates, absent, dataset))}"


def _with_failures(candidates: Candidates, learners: Sequence[str], dataset: str) -> list[str]:
    """Return names of learners, with the number of failures on a data set."""
    names = []
    for learner in learners:
        failures = _failures(candidates, learner, [dataset])
        names.append(f"{learner} ({failures})" if failures else learner)
    return names


def _unmatched_runs(candidates: Candidates, unmatched: Unmatched) -> Omission:
    """Say which compared learners lack runs of another one."""
    dataset, transforms = unmatched.way
    verb = "lack"
    if len(unmatched.lacking) == 1:
        verb = "lacks"
    reason = f"{few(_with_failures(candidates, unmatched.lacking, dataset))} {verb} them"
    return Omission(
        unmatched.learner, candidates.names[dataset], transforms, unmatched.runs, reason
    )


def left_out_notes(entries: Sequence[Omission], metric: str) -> list[str]:
    """Return the omissions as sentences below a table."""
    notes = []
    unmeasured = unmeasured_datasets(entries, metric)
    lacking = [
        entry for entry in entries if entry.transforms is None and entry.dataset not in unmeasured
    ]
    if lacking:
        names = "; ".join(f"{entry.learner or entry.dataset} ({entry.reason})" for entry in lacking)
        notes.append(f"Left out for want of figures: {names}.")
    if unmeasured:
        notes.append(f"Left out, having {_no_metric(metric)}: {', '.join(unmeasured)}.")
    partly = [entry for entry in entries if entry.transforms is not None]
    if partly:
        notes.append(
            "Only runs that all learners have are compared; left out: "
            f"{'; '.join(_partly(partly))}."
        )
    return notes


def unmeasured_datasets(entries: Sequence[Omission], metric: str) -> list[str]:
    """Return the data sets without a figure to compare, such as a test error without test rows."""
    return [
        entry.dataset for entry in entries if entry.dataset and entry.reason == _no_metric(metric)
    ]


def _partly(entries: Sequence[Omission]) -> list[str]:
    """Return the runs left out, one text per kind and reason."""
    kinds: dict[tuple[tuple[str, ...] | None, str], list[Omission]] = defaultdict(list)
    for entry in entries:
        kinds[entry.transforms, entry.reason].append(entry)
    texts = []
    for (transforms, reason), of_kind in kinds.items():
        runs = sum(entry.runs for entry in of_kind)
        learners = few(list(dict.fromkeys(entry.learner for entry in of_kind)))
        datasets = few(list(dict.fromkeys(entry.dataset for entry in of_kind)))
        under = "no transforms"
        if transforms:
            under = f"transforms {', '.join(transforms)}"
        texts.append(f"{_runs_text(runs)} of {learners} on {datasets} with {under} ({reason})")
    return texts


def few(names: Sequence[str]) -> str:
    """Return the first names of a list, and the number of further ones.

    Examples
    --------
    >>> few(["wine", "iris"]), few(list("abcde"))
    ('wine, iris', 'a, b, c and 2 more')
    """
    more = len(names) - _MOST_NAMES
    first = ", ".join(names[:_MOST_NAMES])
    if more > 0:
        return f"{first} and {more} more"
    return first


def _runs_text(count: int) -> str:
    if count == 1:
        return f"{count} run"
    return f"{count} runs"
