"""Learners compared on each data set by itself, by the replicates that all of them have."""

from olscale.analysis.matched_blocks import Way
from olscale.analysis.replicates import ReplicateFigures, Within, compare_within
from olscale.measures import measure_of
from olscale.report.comparison import Compared
from olscale.results import Store
from olscale.results.store import OnDamage


def within_each(
    one: Compared, store: Store, on_damage: OnDamage = "raise"
) -> list[Within]:
    """Compare the learners on each data set and transform, by the replicates that all have."""
    by_setting = ReplicateFigures(store, on_damage).of(one.metric)
    higher = measure_of(one.metric).better == "higher"
    comparisons = []
    for dataset in one.outcome.datasets:
        for way, blocks in one.ways(dataset).items():
            values = [
                one.by_replicate(by_setting, learner, blocks)
                for learner in one.outcome.learners
            ]
            within = compare_within(
                dataset_text(one, dataset, way),
                one.outcome.learners,
                values,
                one.protocol,
                one.metric,
                higher,
                one.outcome.baseline,
                way.transforms,
            )
            comparisons += [within] if within else []
    return comparisons


def dataset_text(one: Compared, dataset: str, way: Way) -> str:
    """Return the name of a data set, with its transforms if it occurs with several."""
    if len(one.ways(dataset)) == 1:
        return dataset
    return f"{dataset} [{','.join(way.transforms) or 'raw'}]"
