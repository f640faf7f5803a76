"""The status of a store as text."""

from collections.abc import Mapping

from olscale.analysis.status import Status
from olscale.printable import printable, width
from olscale.system.sizes import size_text


def status_text(status: Status) -> str:
    """Return aligned lines: runs by outcome, datasets, learners, dates, size, progress, faults."""
    total = sum(status.outcomes.values())
    finished = (
        f"{status.last_finished:%Y-%m-%d %H:%M:%S} UTC"
        if status.last_finished
        else "never"
    )
    lines = {
        "store": status.store,
        "runs": f"{total:,}" + (f" ({_counts(status.outcomes)})" if total else ""),
        "datasets": _counts(status.datasets, of="runs") or "none",
        "learners": _counts(status.learners, of="runs") or "none",
        "last finished": finished,
        "size": size_text(status.bytes),
    }
    text = [f"{name + ':':15}{value}" for name, value in lines.items()]
    if status.experiments:
        text += ["", "experiments:"]
        names = [printable(p.experiment) for p in status.experiments]
        room = max(map(width, names))
        for p, name in zip(status.experiments, names, strict=True):
            share = 100 * p.done // p.total if p.total else 100
            lost = f", {p.lost:,} lost" if p.lost else ""
            text.append(
                f"  {name}{' ' * (room - width(name))}  {p.done:,}/{p.total:,} runs done ({share} "
                f"%){lost}"
            )
    if status.failures:
        text += ["", "failed runs:"]
        for f in status.failures:
            like = "e.g. " if f.runs > 1 else ""
            reason = f.reason.removeprefix(f"{f.outcome} ")
            text.append(
                f"  {f.learner} on {f.dataset}: {f.runs:,} {f.outcome}, {like}{reason}"
            )
    return "\n".join(map(printable, text)) + "\n"


def _counts(counts: Mapping[str, int], of: str = "") -> str:
    if of:
        return ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())
