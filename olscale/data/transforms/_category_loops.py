"""Loops over the categories of rows, one row after another."""

from typing import Any

import numpy as np

from olscale.compiled.decorator import compiled


@compiled
def encode_frequencies(
    ends: Any,
    slots: Any,
    columns: Any,
    trains: Any,
    rows: Any,
    counts: Any,
    out: Any,
) -> None:
    """Write the share of the rows so far that have the category of each column."""
    for i in range(out.shape[0]):
        if trains[i]:
            rows[0] += 1
            # The row counts itself: its own category has been seen, and its label is
            # not involved.
            for k in range(ends[i], ends[i + 1]):
                if slots[k] >= 0:
                    counts[slots[k]] += 1
        begin = ends[i]
        while begin < ends[i + 1]:
            end = begin
            total = 0.0
            while end < ends[i + 1] and columns[end] == columns[begin]:
                if slots[end] >= 0 and rows[0] > 0:
                    total += counts[slots[end]] / rows[0]
                end += 1
            out[i, columns[begin]] = total / (end - begin)
            begin = end


@compiled
def encode_targets(
    ends: Any,
    slots: Any,
    columns: Any,
    arrivals: Any,
    order: Any,
    event_starts: Any,
    event_ends: Any,
    event_slots: Any,
    labels: Any,
    rows: Any,
    totals: Any,
    start: Any,
    counts: Any,
    sums: Any,
    smoothing: Any,
    out: Any,
) -> None:
    """Write the mean label of each category, by the labels that have arrived before each row.

    `order` has the events whose labels arrive, each after the prediction of row `arrivals`.
    """
    width = totals.shape[0]
    prior = np.empty(width)
    following = 0
    for i in range(out.shape[0] + 1):
        # Labels that arrive after row i - 1 was predicted, and before row i is: none is
        # that of row i itself.
        while following < order.shape[0] and arrivals[order[following]] < i:
            event = order[following]
            following += 1
            rows[0] += 1
            for o in range(width):
                totals[o] += labels[event, o]
            for k in range(event_starts[event], event_ends[event]):
                slot = event_slots[k]
                counts[slot] += 1
                for o in range(width):
                    sums[slot, o] += labels[event, o]
        if i == out.shape[0]:
            # One turn more than rows, for labels that arrive behind the last one.
            break
        for o in range(width):
            prior[o] = totals[o] / rows[0] if rows[0] > 0 else start[o]
        begin = ends[i]
        while begin < ends[i + 1]:
            end = begin
            first = columns[begin] * width
            while end < ends[i + 1] and columns[end] == columns[begin]:
                slot = slots[end]
                for o in range(width):
                    if slot < 0:
                        out[i, first + o] += prior[o]
                    else:
                        # The mean of the category, drawn to that of all rows by as many
                        # rows as `smoothing` says.
                        out[i, first + o] += (sums[slot, o] + smoothing * prior[o]) / (
                            counts[slot] + smoothing
                        )
                end += 1
            for o in range(width):
                out[i, first + o] /= end - begin
            begin = end
