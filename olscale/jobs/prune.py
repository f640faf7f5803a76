"""Which nights lose their folders; their history stays."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence

from olscale.jobs.history import night_rows
from olscale.jobs.home import JobHome
from olscale.jobs.job_file import JobFile, KeepRule
from olscale.jobs.series import judge, read_series


def nights_to_prune(
    folders: Sequence[str],
    states: Mapping[str, str],
    keep: KeepRule,
    marked: Collection[str] = (),
    unfinished: Collection[str] = (),
) -> list[str]:
    """Return the nights whose folders may go.

    The last nights stay, so do the first, those beside a change, those with other bytes or with a
    tag, and any with checkpoints or without an entry in the history.

    Parameters
    ----------
    folders : sequence of str
        Nights that have a folder.
    states : mapping of str to str
        Night -> how it ended, of the whole history.
    keep : KeepRule
    marked : collection of str
        Nights beside a change, with other bytes or with a tag.
    unfinished : collection of str
        Nights with checkpoints.

    Examples
    --------
    >>> nights = {"1": "good", "2": "good", "3": "good", "4": "good"}
    >>> nights_to_prune(list(nights), nights, KeepRule(stores=1), marked=["3"])
    ['2']
    """
    ended = [night for night in sorted(states) if states[night] != "failed"]
    failed = [night for night in sorted(states) if states[night] == "failed"]
    stay = {
        *ended[-keep.stores :],
        *ended[:1],
        *failed[len(failed) - min(keep.failed, len(failed)) :],
        *marked,
        *unfinished,
    }
    return [night for night in sorted(folders) if night in states and night not in stay]


def prune(job: JobFile, home: JobHome, dry_run: bool = False) -> list[str]:
    """Remove the folders of nights that need not be kept, and return which."""
    folders = home.nights()
    if len(folders) <= min(job.keep.stores, job.keep.failed):
        return []
    rows = night_rows(home)
    order = [row["night"] for row in rows]
    marked = {
        row["night"]
        for row in rows
        if row["alarms"] and any("other bytes" in line for line in row["alarms"])
    }
    for series in read_series(home, job.alarm.speed):
        for begin in judge(series, job.alarm).begins:
            marked |= {begin, order[max(0, order.index(begin) - 1)]}
    marked |= {night for night in folders if (home.night(night) / "tag").exists()}
    unfinished = [night for night in folders if any(home.night(night).glob("*/checkpoints/*"))]
    gone = nights_to_prune(
        folders, {row["night"]: row["state"] for row in rows}, job.keep, marked, unfinished
    )
    with home.written():
        for night in [] if dry_run else gone:
            shutil.rmtree(home.night(night))
    return gone
