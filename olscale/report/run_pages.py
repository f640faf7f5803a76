"""The pages of a report for single runs: one of each setting that its leaderboard shows."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from olscale.addresses import redacted_name
from olscale.analysis.aggregate import groups_of
from olscale.errors import StoreError
from olscale.measures import figure_of
from olscale.report.comparison import Compared
from olscale.report.html import macros
from olscale.report.labels import metric_text
from olscale.report.run_page import names_of, run_html
from olscale.results import Record, Store
from olscale.results.arrow_arrays import arrow_array
from olscale.results.settings import KEY_COLUMNS, SettingKey
from olscale.results.store import OnDamage

FOLDER = "runs"
_MOST_LEARNERS = 12
_MOST_DATASETS = 8


def run_pages(
    store: Store, one: Compared, folder: Path, on_damage: OnDamage
) -> tuple[str, list[Path]]:
    """Write ``runs/<id>.html`` for the first run of each setting; return links, as HTML, and files.

    Of many learners and data sets those that come first have pages: each is read from the store.
    """
    shown = [name for name in one.outcome.learners if name in one.shown][
        :_MOST_LEARNERS
    ]
    datasets = list(one.outcome.datasets)[:_MOST_DATASETS]
    settings = {
        (name, dataset): one.settings(name, dataset)[0].key
        for name in shown
        for dataset in datasets
    }
    first = _first_runs(store, set(settings.values()), on_damage)
    names = names_of(store)
    records = _records(store, first.values(), on_damage)
    # A report goes to others, who have the store elsewhere.
    place = redacted_name(store.path) or store.path
    (folder / FOLDER).mkdir(exist_ok=True)
    files: dict[str, Path] = {}
    rows = []
    for name in shown:
        cells = []
        for dataset in datasets:
            id = first.get(settings[name, dataset], "")
            record = records.get(id)
            if record is None:
                cells.append({"text": "-", "href": ""})
                continue
            file = folder / FOLDER / f"{id}.html"
            if id not in files:
                back = "../index.html#facts"
                file.write_text(run_html(record, names, place, back), encoding="utf-8")
                files[id] = file
            text = record.outcome
            if one.metric in record.metrics:
                text = figure_of(one.metric, record.metrics[one.metric])
            cells.append({"text": text, "href": f"{FOLDER}/{id}.html"})
        rows.append({"name": name, "cells": cells})
    heading = metric_text(one.metric)
    html = str(macros("runs.html").links(f"One run each, by {heading}", datasets, rows))
    return html, list(files.values())


def _first_runs(
    store: Store, settings: set[SettingKey], on_damage: OnDamage
) -> dict[SettingKey, str]:
    """Return the first run of each setting, by the text of its protocol."""
    runs = store.read([*KEY_COLUMNS, "id"], on_damage, dictionaries=True)
    # A key is made once for each group: a row each takes seconds in a store of many runs.
    group, keys = groups_of(runs)
    is_shown = np.array([key in settings for key in keys], dtype=np.bool_)
    [places] = (
        np.nonzero(is_shown[group]) if len(keys) else [np.zeros(0, dtype=np.int64)]
    )
    # As an Arrow array: pyarrow imports pandas to look at any other.
    chosen = runs.select(["protocol", "id"]).take(arrow_array(places, pa.int64()))
    rows = chosen.to_pylist()
    first: dict[SettingKey, tuple[str, str]] = {}
    for number, row in zip(group[places].tolist(), rows, strict=True):
        place = (row["protocol"], row["id"])
        first[keys[number]] = min(first.get(keys[number], place), place)
    return {key: id for key, (_, id) in first.items()}


def _records(
    store: Store, ids: Collection[str], on_damage: OnDamage
) -> dict[str, Record]:
    """Return the records of runs, under "skip" without those that are damaged."""
    try:
        return store.get_many(ids)
    except StoreError:
        if on_damage == "raise":
            raise
    records = {}
    for id in ids:
        with suppress(StoreError):
            records[id] = store.get(id)
    return records
