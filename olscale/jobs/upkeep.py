"""Upkeep of a home: damaged history is made anew, folders that need not be kept are removed."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from olscale.errors import OlscaleError
from olscale.jobs.home import JobHome, damage_of, history_nights, night_rows, read_json
from olscale.jobs.job_file import JobFile, KeepRule
from olscale.jobs.night_end import end_night
from olscale.jobs.results import result_rows
from olscale.jobs.series import judge, read_series
from olscale.jobs.steps import store_of
from olscale.results.arrow_arrays import times_of
from olscale.results.opening import open_store


def mend_history(job: JobFile, home: JobHome) -> list[str]:
    """Move damaged nights to ``damaged/history/``, rebuild those with stores; return a line each.

    A rebuilt night has the results, figures and ingests in its folder; of several passes only the
    first. So its speeds and its duration may differ, and failed steps are no longer known.
    """
    aside = home.path / "damaged" / "history"
    nights = history_nights(home)
    # A process was killed after it had set these aside and before it had made them anew.
    interrupted = [
        file.stem for file in sorted(aside.glob("*.parquet")) if file.stem not in nights
    ]
    damaged = {night: reason for night in nights if (reason := damage_of(home, night))}
    for night in damaged:
        aside.mkdir(parents=True, exist_ok=True)
        (home.history / f"{night}.parquet").replace(aside / f"{night}.parquet")
    lines = []
    damaged |= {
        night: "before"
        for night in interrupted
        if (home.night(night) / "begun.json").exists()
    }
    for night, reason in damaged.items():
        try:
            remade = _remake(job, home, night)
        except OlscaleError as fault:
            remade = (
                f"its store cannot be read ({fault}), and the history is without it"
            )
        lines.append(
            f"the history of night {night} was damaged ({reason}) and is set aside in {aside}: "
            f"{remade}"
        )
    return lines


def _remake(job: JobFile, home: JobHome, night: str) -> str:
    """Write the history of a night from its folder, and return what came of that in words."""
    folder = home.night(night)
    begun = read_json(folder / "begun.json")
    store = store_of(folder, 0)
    if not begun or "job" not in begun:
        return "its folder is no longer kept, and the history is without it"
    rows: list[dict[str, Any]] = []
    for file in sorted(folder.glob("ingest-*.json")):
        if "row" in (content := read_json(file)):
            rows.append(content["row"])
    for file in sorted(folder.glob("bench-*.json")):
        rows += read_json(file).get("figures", [])
    seconds = 0.0
    if (store / "store.json").exists():
        opened = open_store(store)
        rows += result_rows(opened)[0]
        finished = [
            end
            for end in times_of(
                opened.timings(columns=["id", "finished_at"])["finished_at"]
            )
            if end
        ]
        if finished:
            seconds = max(0.0, max(finished).timestamp() - begun["at"])
    if not rows:
        return "its folder has no results, and the history is without it"
    runs_lost = sum(
        count
        for row in rows
        for outcome, count in row.get("outcomes") or ()
        if outcome == "lost"
    )
    failures = []
    if runs_lost:
        failures = [f"{runs_lost} runs were lost with their workers"]
    # A night that had failed must not count as good once it is made anew.
    last_message = read_json(home.path / "told.json")
    if (
        last_message.get("night") == night
        and last_message.get("state") == "failed"
        and not failures
    ):
        failures = ["it had failed, and what failed is no longer known"]
    end_night(
        job,
        home,
        night,
        begun,
        rows,
        failures,
        seconds,
        ["its history was damaged and is made from its store"],
    )
    return "it is made anew from its store"


def nights_to_prune(
    folders: Sequence[str],
    states: Mapping[str, str],
    keep: KeepRule,
    marked: Collection[str] = (),
    unfinished: Collection[str] = (),
) -> list[str]:
    """Return the nights whose folders may go.

    The last nights and the first stay, those next to a change, those with other bytes or with a
    tag, and any with checkpoints or without an entry in the history.

    Parameters
    ----------
    folders : sequence of str
        Nights that have a folder.
    states : mapping of str to str
        Night -> how it ended, of the whole history.
    keep : KeepRule
    marked : collection of str
        Nights next to a change, with other bytes or with a tag.
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
    # Results are compared with the first night's: without its store no difference can be named.
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
    unfinished = [
        night for night in folders if any(home.night(night).glob("*/checkpoints/*"))
    ]
    gone = nights_to_prune(
        folders,
        {row["night"]: row["state"] for row in rows},
        job.keep,
        marked,
        unfinished,
    )
    with home.written():
        for night in gone:
            if not dry_run:
                shutil.rmtree(home.night(night))
    return gone
