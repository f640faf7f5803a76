"""Damaged nights of a history: set aside, and made anew from what their folders have."""

from __future__ import annotations

from typing import Any

from olscale.errors import OlscaleError
from olscale.jobs.history import damage_of, history_nights
from olscale.jobs.home import JobHome, read_json
from olscale.jobs.job_file import JobFile
from olscale.jobs.night_end import end_night
from olscale.jobs.results import result_rows
from olscale.jobs.steps import store_of
from olscale.results.arrow_arrays import times_of
from olscale.results.store import open_store


def mend_history(job: JobFile, home: JobHome) -> list[str]:
    """Move damaged nights to ``damaged/history/``, rebuild those with stores; return a line each.

    A rebuilt night has the results, figures and ingests in its folder; of several passes only the
    first. So its speeds and its duration may differ, and failed steps are no longer known.
    """
    aside = home.path / "damaged" / "history"
    there = history_nights(home)
    # Of a process that was killed after it had set a night aside.
    left = [file.stem for file in sorted(aside.glob("*.parquet")) if file.stem not in there]
    damaged = {night: reason for night in there if (reason := damage_of(home, night))}
    for night in damaged:
        aside.mkdir(parents=True, exist_ok=True)
        (home.history / f"{night}.parquet").replace(aside / f"{night}.parquet")
    lines = []
    damaged |= {night: "before" for night in left if (home.night(night) / "begun.json").exists()}
    for night, reason in damaged.items():
        try:
            remade = _remake(job, home, night)
        except OlscaleError as fault:
            remade = f"its store cannot be read ({fault}), and the history is without it"
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
        rows += [read_json(file)["row"]] if "row" in read_json(file) else []
    for file in sorted(folder.glob("bench-*.json")):
        rows += read_json(file).get("figures", [])
    seconds = 0.0
    if (store / "store.json").exists():
        opened = open_store(store)
        rows += result_rows(opened)[0]
        finished = [
            end
            for end in times_of(opened.timings(columns=["id", "finished_at"])["finished_at"])
            if end
        ]
        seconds = max([0.0, *(end.timestamp() - begun["at"] for end in finished)])
    if not rows:
        return "its folder has no results, and the history is without it"
    runs_lost = sum(
        count for row in rows for outcome, count in row.get("outcomes") or () if outcome == "lost"
    )
    failures = [f"{runs_lost} runs were lost with their workers"] if runs_lost else []
    told = read_json(home.path / "told.json")
    if told.get("night") == night and told.get("state") == "failed" and not failures:
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
