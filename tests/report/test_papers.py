"""Figures of the papers, from stores that have the runs and from stores that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olscale.analysis import summarise
from olscale.errors import UnknownNameError
from olscale.evaluation.experiment import load_experiment
from olscale.report.papers import PAPERS, FigureSource, MissingRunsError, paper_figures
from olscale.results import open_store
from olscale.results.record import Series

PIPELINES = Path(__file__).parents[2] / "pipelines"
LOL = {"k": 60, "lam": 1.0, "prototypes": "sequential"}


@pytest.fixture
def source(tmp_path, make_record):
    """Return a maker of sources with two permutations of each setting given, on two data sets."""

    def make(*settings):
        store = open_store(tmp_path / "store", create=True)
        for dataset in ("svmguide1", "letter"):
            for learner, params in settings:
                for i in range(2):
                    error = 0.1 + 0.01 * i + len(str(params)) / 1000
                    record = make_record(
                        dataset=dataset,
                        learner=learner,
                        params=params,
                        permutation=i,
                        metrics={
                            "test_error": error,
                            "cumulative_error": error,
                            "holdout_error": error,
                        },
                        series=(
                            Series(
                                "holdout_error",
                                np.array([15, 30]),
                                np.array([2 * error, error]),
                            ),
                        ),
                        curve_rows=np.array([10, 20, 30]),
                        curve_mistakes=np.array([3, 4, 5]),
                    )
                    store.write(record)
        return FigureSource(store, summarise(store))

    return make


def draw(name, source):
    paper, _, _ = name.rpartition("-")
    return next(figure for figure in paper_figures(paper) if figure.name == name).draw(
        source
    )


def titles(figure):
    return [panel.get_title() for panel in figure.axes]


@pytest.mark.parametrize(
    ("name", "param"), [("lol-2016-fig5", "k"), ("lol-2016-fig6", "lam")]
)
def test_lol_against_a_parameter(source, name, param):
    values = [1, 60, 100]
    runs = source(
        *[("lol", LOL | {param: value}) for value in values],
        ("lol", LOL | {"prototypes": "offline"}),
    )

    figure = draw(name, runs)

    assert titles(figure) == ["letter", "svmguide1"]
    for panel in figure.axes:
        assert panel.get_xlabel() == param
        assert panel.containers[0].lines[0].get_xdata().tolist() == values


def test_cumulative_errors_show_lol_as_the_paper_sets_it_and_the_best_of_others(source):
    figure = draw(
        "lol-2016-fig4",
        source(
            ("lol", LOL),
            ("lol", LOL | {"k": 5}),
            ("pa1", {"C": 1.0}),
            ("pa1", {"C": 1.25}),
        ),
    )

    assert titles(figure) == ["letter", "svmguide1"]
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["lol", "pa1"]


def test_sequential_against_offline_prototypes(source):
    figure = draw(
        "lol-2016-fig7", source(("lol", LOL), ("lol", LOL | {"prototypes": "offline"}))
    )

    labels = [line.get_label() for line in figure.axes[0].get_lines()]
    assert labels == ["sequential k-means", "offline k-means"]


def test_pamo_on_its_grid(source):
    grid = [
        {"h": 16, "k": 2, "alpha": a, "C": c}
        for a in (0.1, 0.5, 0.9)
        for c in (0.25, 1.0, 4.0)
    ]
    runs = source(
        *[("pamo1", params) for params in grid], ("pamo1", grid[0] | {"h": 64})
    )

    assert titles(draw("pamo-2018-fig6", runs))[:2] == ["letter", "svmguide1"]
    curves = draw("pamo-2018-fig7", runs)
    assert len(curves.axes) == 4
    assert {len(panel.get_lines()) for panel in curves.axes} == {3}


def test_pamo_each_permutation(source):
    figure = draw("pamo-2018-fig9", source(("pamo1", {"h": 64, "k": 2})))

    assert [len(panel.get_lines()) for panel in figure.axes] == [2, 2]


def test_ospvm_with_and_without_its_mean(source):
    of = {"mean_update": True, "ratio": 0.7}
    figure = draw(
        "ospvm-2016-fig2",
        source(("ospvm", of), ("ospvm", of | {"mean_update": False}), ("pvm", {})),
    )

    assert titles(figure) == ["letter", "svmguide1"]
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == [
        "with mean update",
        "no mean update",
    ]
    assert lines[0].get_xdata().tolist() == [15, 30]


def test_ospvm_grows_along_the_rows_of_a_data_set_in_the_data_home(
    source, small_catalogue, shelf, tmp_path
):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "orl").symlink_to(shelf / "dense")

    figure = draw("ospvm-2016-fig1", source(("pa", {})))

    assert titles(figure) == ["hidden nodes", "accuracy"]
    nodes, right = (
        [line.get_ydata() for line in axis.get_lines()] for axis in figure.axes
    )
    assert all(np.all(np.diff(each) >= 0) for each in nodes)
    assert nodes[1][-1] >= nodes[0][-1] > 0  # a larger ratio takes more
    assert all(0 <= one <= 100 for each in right for one in each)


def test_the_rotating_xor_after_each_hundred_rows(source):
    figure = draw("pamo-2018-fig8", source(("pa", {})))

    assert titles(figure)[0] == "rows 1 to 100"
    assert len(figure.axes) == 10


@pytest.mark.long
def test_ollc_learns_xor_within_two_hundred_rows(source):
    nothing = source(("pa", {}))

    _, right = draw("ollc-fig2", nothing).axes
    median = right.get_lines()[-1].get_ydata()
    assert median[0] > 30
    # percent; the paper: converged after about 200 updates
    assert median[200:].max() < 2
    assert titles(draw("ollc-fig3", nothing)) == [
        "regions (the gate)",
        "decision boundary",
    ]


def test_boundaries_need_the_data_set(source, small_catalogue):
    with pytest.raises(MissingRunsError, match="svmguide1"):
        draw("lol-2016-fig3", source(("pa", {})))


def test_boundaries_of_a_data_set_in_the_data_home(
    source, small_catalogue, shelf, tmp_path
):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "svmguide1").symlink_to(shelf / "dense")

    figure = draw("lol-2016-fig3", source(("pa", {})))

    assert [title[:3] for title in titles(figure)] == ["PA", "LOL"]
    # the prototypes
    assert len(figure.axes[1].collections) == len(figure.axes[0].collections) + 1


@pytest.mark.parametrize(
    "figure",
    [figure for name in PAPERS for figure in paper_figures(name) if figure.needs],
    ids=lambda f: f.name,
)
def test_what_is_missing_is_said_with_a_pipeline_that_exists(
    figure, source, small_catalogue
):
    with pytest.raises(MissingRunsError):
        figure.draw(source(("perceptron", {})))
    [pipeline] = [word for word in figure.needs.split() if word.endswith(".toml")]
    assert load_experiment(PIPELINES.parent / pipeline).learners


def test_an_unknown_paper_offers_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'lol-2016'"):
        paper_figures("lol-2017")
