"""Figures, looked at through matplotlib's objects and as files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.transforms import Bbox

from olscale.analysis.curves import ConfusionMatrix, Curve, SegmentErrors
from olscale.analysis.decision_boundary import plane_of, snapshots
from olscale.analysis.summary import Summary
from olscale.analysis.sweeps import sweep
from olscale.data.generators.rotating_xor import batches
from olscale.errors import ReportError
from olscale.report.figures import (
    alarm_figure,
    boundary_figure,
    confusion_figure,
    curve_figure,
    parameter_figure,
    save,
    segment_figure,
    surface_figure,
)
from olscale.report.figures.looks import Looks, looks

PERMUTED = {"order": "permuted", "seed": 0}


def summary(
    mean: float = 0.2, metric: str = "cumulative_error", **params: float
) -> Summary:
    return Summary(
        "letter", "f", (), "pa1", "1", params, PERMUTED, metric, mean, 0.01, 3
    )


def curve(level: float) -> Curve:
    rows = np.arange(10, 101, 10)
    return Curve(summary(level), rows, np.array([level + 1 / rows, level - 1 / rows]))


def lines(panel) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_xydata() for line in panel.get_lines()}


def test_curves_are_means_in_percent_with_bands():
    figure = curve_figure(
        {"letter": {"pa1": curve(0.3), "arow": curve(0.2)}, "usps": {"pa1": curve(0.1)}}
    )

    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("letter", "usps")
    np.testing.assert_allclose(
        lines(left)["arow"],
        np.column_stack([np.arange(10, 101, 10), np.full(10, 20.0)]),
    )
    assert (len(left.collections), len(right.collections)) == (2, 1)
    assert [text.get_text() for text in figure.texts] == ["pa1", "arow"]


def test_a_learner_looks_the_same_in_every_panel():
    figure = curve_figure(
        {"a": {"pa1": curve(0.3), "arow": curve(0.2)}, "b": {"arow": curve(0.2)}}
    )

    of_arow = [
        next(line for line in panel.get_lines() if line.get_label() == "arow")
        for panel in figure.axes
    ]
    assert (
        len(
            {
                (line.get_color(), line.get_linestyle(), line.get_marker())
                for line in of_arow
            }
        )
        == 1
    )


def test_the_legend_of_one_panel_is_in_the_order_of_the_lines_ends():
    figure = curve_figure(
        {"": {"low": curve(0.1), "high": curve(0.5), "middle": curve(0.3)}}
    )

    assert [text.get_text() for text in figure.texts] == ["high", "middle", "low"]


@pytest.mark.parametrize(
    "label", ["pa1", "a-learner-with-a-long-name C=0.001, dtype=float32"]
)
def test_all_texts_of_a_single_panel_are_inside_its_figure(label, tmp_path):
    curves = curve_figure({"": {label: curve(0.3), "arow": curve(0.2)}})
    alarms = alarm_figure({label: curve(0.3)}, title="wine")

    for figure in (curves, alarms):
        save(figure, tmp_path, "figure", ["svg"])
        [panel] = figure.axes
        inside = [
            panel.get_tightbbox(),
            *(text.get_window_extent() for text in figure.texts),
        ]
        edges = Bbox.union(inside).extents
        assert (edges[:2] >= 0).all()
        assert (edges[2:] <= figure.bbox.size).all()
    legend = min(text.get_window_extent().x0 for text in curves.texts)
    assert curves.axes[0].get_tightbbox().x1 < legend


def test_each_replicate_by_itself():
    figure = curve_figure({"letter": {"pa1": curve(0.3)}}, replicates=True)

    assert len(figure.axes[0].get_lines()) == 2
    assert not figure.axes[0].collections


def test_lines_differ_without_colour():
    marks = [
        (look["linestyle"], look["marker"])
        for look in looks(map(str, range(40))).values()
    ]

    assert len(set(marks)) == 40


def named(learner: str, dataset: str = "letter", **params: float) -> Curve:
    s = Summary(
        dataset,
        "f",
        (),
        learner,
        "1",
        params,
        PERMUTED,
        "cumulative_error",
        0.2,
        0.01,
        3,
    )
    return Curve(s, np.array([10, 100]), np.array([[0.3, 0.2]]))


def look(figure, label: str) -> tuple[str, str]:
    line = next(
        line
        for panel in figure.axes
        for line in panel.get_lines()
        if line.get_label() == label
    )
    return line.get_color(), line.get_marker()


def test_a_learner_has_one_colour_and_one_mark_in_a_whole_report():
    """Whoever else is in a figure, and whatever kind of figure it is."""
    shown = [named(name) for name in ("pa", "pa1", "lol")] + [
        named("lol", "usps"),
        named("arow", "usps"),
    ]
    of_learner = Looks(curve.summary for curve in shown)
    everybody = curve_figure(
        {"": {curve.summary.learner: curve for curve in shown[:3]}},
        of_learner=of_learner,
    )
    two = curve_figure(
        {"": {curve.summary.learner: curve for curve in shown[3:]}},
        of_learner=of_learner,
    )
    swept = sweep([summary(C / 20, "test_error", C=C) for C in (1, 2, 4)], "C")
    assert swept is not None
    alone = parameter_figure({"": {"pa1": swept}}, of_learner=of_learner)
    days = SegmentErrors(shown[4].summary, ("a", "b"), np.array([[0.1, 0.2]]))
    segments = segment_figure({"arow": days}, of_learner=of_learner)

    assert look(everybody, "lol") == look(two, "lol")
    for figure, expected in (
        (segments, look(two, "arow")),
        (alone, look(everybody, "pa1")),
    ):
        [bar] = figure.axes[0].containers
        assert (bar.lines[0].get_color(), bar.lines[0].get_marker()) == expected
    assert (
        len(
            {look(everybody, name) for name in ("pa", "pa1", "lol")}
            | {look(two, "arow")}
        )
        == 4
    )


def test_more_learners_than_colours_are_told_apart():
    curves = {f"l{i:02}": named(f"l{i:02}") for i in range(40)}
    found = Looks(curve.summary for curve in curves.values()).of(curves)

    assert len({(one["color"], one["marker"]) for one in found.values()}) == 40


def test_settings_of_a_learner_share_its_colour_or_a_shade_of_it_and_its_mark():
    curves = {f"pa1 C={C}": named("pa1", C=C) for C in range(12)}
    found = list(Looks(curve.summary for curve in curves.values()).of(curves).values())

    assert len({one["marker"] for one in found}) == 1
    assert len({(one["color"], one["linestyle"]) for one in found}) == 12
    assert {one["color"] for one in found[:4]} == {"#2255ee"}


@pytest.mark.parametrize(
    ("values", "scale", "ticks"),
    [
        ((10, 20, 30, 40), "linear", ["10", "20", "30", "40"]),
        (
            (0.001, 0.1, 10.0, 1000.0),
            "log",
            ["$10^{-3}$", "$10^{-1}$", "$10^{1}$", "$10^{3}$"],
        ),
        (
            (0.0625, 0.25, 1.0, 16.0),
            "log",
            ["$2^{-4}$", "$2^{-2}$", "$2^{0}$", "$2^{4}$"],
        ),
        ((0.25, 0.5, 1.0, 2.0), "log", ["0.25", "0.5", "1", "2"]),
    ],
)
def test_a_parameters_axis_follows_its_values(values, scale, ticks):
    found = sweep(
        [summary(value / 2000, "test_error", C=value) for value in values], "C"
    )
    assert found is not None

    [panel] = parameter_figure({"letter": {"pa1": found}}).axes

    assert panel.get_xscale() == scale
    assert [label.get_text() for label in panel.get_xticklabels()] == ticks
    [container] = panel.containers
    np.testing.assert_allclose(container.lines[0].get_ydata(), np.array(values) / 20)
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("C", "test error (%)")


def test_a_surface_has_its_figures_and_a_frame_on_the_least():
    grid = [
        summary(C / 10 + alpha / 100, "test_error", C=C, alpha=alpha)
        for C in (2, 1, 4)
        for alpha in (1, 2, 3)
    ]
    found = sweep(grid, "alpha", "C")
    assert found is not None

    panel, _ = surface_figure({"letter": found}).axes

    assert [text.get_text() for text in panel.texts] == [
        *("11.0", "21.0", "41.0"),
        *("12.0", "22.0", "42.0"),
        *("13.0", "23.0", "43.0"),
    ]
    [frame] = panel.patches
    assert frame.get_xy() == (0.0, 0.0)
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("C", "alpha")


def test_a_hole_in_a_surface_has_no_figure():
    grid = [
        summary(0.1, "test_error", C=C, alpha=alpha)
        for C in (1, 2, 4)
        for alpha in (1, 2, 3)
        if C + alpha != 7
    ]
    found = sweep(grid, "alpha", "C")
    assert found is not None

    assert len(surface_figure({"letter": found}).axes[0].texts) == 8


@pytest.mark.long
def test_boundaries_stand_over_the_rows_since_the_last_snapshot():
    plane = plane_of("xor", batches(200, seed=0))
    taken = snapshots("pamo1", {"h": 4}, plane, every=100, resolution=40)

    figure = boundary_figure(
        {str(snapshot.stop): (plane, snapshot) for snapshot in taken}
    )

    for panel, start in zip(figure.axes, (0, 100), strict=True):
        drawn = [
            points.get_offsets()
            for points in panel.collections
            if len(points.get_offsets()) > 1
        ]
        expected = [
            plane.X[start : start + 100][plane.y[start : start + 100] == code]
            for code in (0, 1)
        ]
        assert [len(points) for points in drawn] == [len(points) for points in expected]
        np.testing.assert_array_equal(drawn[0], expected[0])


def test_segments_in_stream_order():
    days = SegmentErrors(
        summary(),
        ("Day0", "Day1", "Day2"),
        np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]),
    )

    figure = segment_figure({"pa1": days})

    [panel] = figure.axes
    [container] = panel.containers
    np.testing.assert_allclose(container.lines[0].get_ydata(), [20, 20, 20])
    assert [label.get_text() for label in panel.get_xticklabels()] == [
        "Day0",
        "Day1",
        "Day2",
    ]


def confusion(error: float, learner: str = "pa1") -> ConfusionMatrix:
    """Ten rows of each of three classes, of which a share of the first is taken for the last."""
    true = np.array([0, 0, 1, 2])
    predicted = np.array([0, 2, 1, 2])
    counts = np.array([[10 - 10 * error, 10 * error, 10.0, 10.0]])
    return ConfusionMatrix(
        replace(summary(error), learner=learner), true, predicted, counts
    )


def test_maps_of_confusions_are_of_the_learners_of_least_error():
    shown = {f"{share:g}": confusion(share) for share in (0.5, 0.2, 0.4, 0.1, 0.3)}
    shown["majority"] = confusion(0.0, "majority")

    figure = confusion_figure(shown, ["cat", "dog", "owl"])

    panels = [panel for panel in figure.axes if panel.get_title()]
    assert [panel.get_title() for panel in panels] == ["0.1", "0.2", "0.3", "0.4"]
    for panel, share in zip(panels, (10, 20, 30, 40), strict=True):
        values = np.ma.filled(panel.collections[0].get_array(), np.nan)
        none = np.nan
        np.testing.assert_allclose(
            values, [[none, 0, share], [0, none, 0], [0, 0, none]], equal_nan=True
        )
        assert [tick.get_text() for tick in panel.get_yticklabels()] == [
            "cat",
            "dog",
            "owl",
        ]


@pytest.mark.long
def test_the_same_figure_gives_the_same_bytes(tmp_path):
    paths = [
        save(curve_figure({"": {"pa1": curve(0.3)}}), tmp_path / name, "curves")
        for name in ("one", "two")
    ]

    assert [path.name for path in paths[0]] == [
        "curves.svg",
        "curves.pdf",
        "curves.png",
    ]
    for one, two in zip(*paths, strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_a_matplotlibrc_does_not_reach_a_figure(tmp_path):
    import matplotlib

    plain = save(curve_figure({"": {"pa1": curve(0.3)}}), tmp_path, "plain")
    with matplotlib.rc_context(
        {"font.size": 30, "axes.grid": False, "svg.hashsalt": "x"}
    ):
        other = save(curve_figure({"": {"pa1": curve(0.3)}}), tmp_path, "other")
        assert matplotlib.rcParams["font.size"] == 30

    assert [path.read_bytes() for path in plain] == [
        path.read_bytes() for path in other
    ]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(ReportError, match=r"cannot write .*file/figures"):
        save(
            curve_figure({"": {"pa1": curve(0.3)}}), tmp_path / "file" / "figures", "x"
        )


def test_alarms_are_strokes_at_their_rows():
    alarms = [([10, 40], [[1.0, 2.0], [0.0, 1.0]]), ([], np.zeros((2, 0)))]
    shown = {
        label: Curve(
            summary(metric="drift_alarms"),
            np.array(rows, dtype=np.int64),
            np.array(counts),
        )
        for label, (rows, counts) in zip(("pa", "arow"), alarms, strict=True)
    }

    [panel] = alarm_figure(shown, rows=100).axes

    strokes = [
        [segment[0][0] for segment in line.get_segments()] for line in panel.collections
    ]
    assert strokes == [[10, 40], []]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["pa", "arow"]
    assert panel.get_xlim() == (0, 100)
