"""How well runs are forecast: ``python -m docs.forecasts EXPERIMENT.toml`` runs them here, one at a time.

Of each run: what is forecast without and with a pilot, what processor time it took, and how many
times that a forecast is.
"""

import sys
from statistics import median
from time import process_time

import olscale.evaluation.forecast as pilots
from olscale.data.stream import open_streams
from olscale.evaluation.experiment import load_experiment
from olscale.evaluation.forecast import NUMBERS_A_SECOND
from olscale.evaluation.group_pass import GroupPass
from olscale.evaluation.plan import PlannedExperiment
from olscale.evaluation.resolve import resolve
from olscale.evaluation.run_group import RunGroup


def main(*experiments: str) -> None:
    """Run experiments and print what was forecast and what they took."""
    pilots.PILOT_SECONDS = 0.0
    off: list[tuple[float, float]] = []
    for file in experiments:
        plan = PlannedExperiment(resolve(load_experiment(file), print)).chosen([])
        costs = plan.costs, pilots.with_pilots(plan, plan.runs).costs
        print(
            f"{'dataset':20} {'learner':22} {'rows':>8} {'assumed':>9} {'pilot':>9} {'took':>9}   "
            "times"
        )
        for run in plan.runs:
            source = plan.sources[run.stream.fingerprint]
            assumed, piloted = (cost[run.id] / NUMBERS_A_SECOND for cost in costs)
            took = _seconds(RunGroup(source.path, source.length(run.stream), (run,)))
            off.append((assumed / took, piloted / took))
            print(
                f"{run.stream.dataset:20} {run.learner:22} {source.length(run.stream):8,} "
                f"{assumed:9.3f} {piloted:9.3f} "
                f"{took:9.3f}   {assumed / took:5.2f} {piloted / took:5.2f}",
                flush=True,
            )
    for name, times in zip(("assumed", "pilot"), zip(*off, strict=True), strict=True):
        within = [
            sum(bool(1 / factor <= one <= factor) for one in times) for factor in (1.5, 2.0, 4.0)
        ]
        print(
            f"{name}: {median(times):.2f} times in the median; of {len(times)} within 1.5, 2 and "
            f"4 times: {within}"
        )


def _seconds(group: RunGroup) -> float:
    """Return the processor time of a run, without reading it and compiling: the least of three."""
    times: list[float] = []
    for _ in range(3):
        going = GroupPass(group)
        start = process_time()
        while not going.ended:
            going.advance()
        going.finish()
        times.append(process_time() - start - _reading(group))
    return max(1e-4, min(times))


def _reading(group: RunGroup) -> float:
    """Return the processor time of reading the stream of a run."""
    key = group.runs[0].stream
    streams = open_streams(group.path, key.transforms, key.shuffle, key.part, key.projection or 0)
    start = process_time()
    for stream in (streams.train, streams.test):
        for _ in () if stream is None else stream.chunks():
            pass
    return process_time() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
