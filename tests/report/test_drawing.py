"""What a report draws, where, and what it leaves out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from olscale import Experiment, evaluate
from olscale.analysis.summary import Summary, summarise
from olscale.analysis.sweeps import find_sweeps
from olscale.errors import ReportError
from olscale.report import drawing
from olscale.report.drawing import Drawing, draw
from olscale.report.figures import parameter_figure
from olscale.report.gallery import Gallery
from olscale.report.papers.base import FigureSource
from olscale.report.sections import stream_sections
from olscale.results import open_store


def summary(dataset: str, learner: str, mean: float, **params: float) -> Summary:
    return Summary(
        dataset,
        dataset,
        (),
        learner,
        "1",
        params,
        {"order": "time"},
        "test_error",
        mean,
        0.0,
        1,
    )


def source(summaries: list[Summary], folder: Path) -> FigureSource:
    return FigureSource(open_store(folder / "store", create=True), summaries)


def drawings(count: int) -> list[Drawing]:
    [sweep] = find_sweeps([summary("d", "pa1", C / 10, C=float(C)) for C in (1, 2, 4)])
    return [
        Drawing(f"figure-{i}", "", parameter_figure, {f"{i}": {"pa1": sweep}})
        for i in range(count)
    ]


def test_processes_draw_what_one_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw(drawings(12), tmp_path / "one", ("svg",), processes=1)
    if sys.platform == "linux":  # this process imports no matplotlib then
        monkeypatch.delattr(drawing, "draw_here")
    draw(drawings(12), tmp_path / "two", ("svg",), processes=2)

    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == 12
    assert all(
        (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        for name in names
    )


def test_a_fault_in_a_process_is_the_reports(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ReportError, match=r"^cannot write .*; name another folder$"):
        draw(drawings(12), tmp_path / "file", ("svg",), processes=2)


def test_learners_share_the_figure_of_a_parameter_and_the_best_twelve_are_in_it(
    tmp_path: Path,
) -> None:
    summaries = [
        summary("d", f"learner-{i:02}", i / 100 + C / 1000, C=float(C))
        for i in range(14)
        for C in (1, 2, 4)
    ]
    [(title, [_, drawing])] = stream_sections(
        source(summaries, tmp_path), Gallery(tmp_path)
    )

    assert isinstance(drawing, Drawing)
    assert (title, drawing.name) == ("d", "d-C")
    assert list(drawing.shown[""]) == [f"learner-{i:02}" for i in range(12)]
    assert (
        "of each learner against C, the best 12 of 14 learners"
        in drawing.caption.replace(";", ",")
    )
    assert "learner-11 C=1" in drawing.caption


def test_maps_of_the_best_learners_are_drawn_and_the_others_named(
    tmp_path: Path,
) -> None:
    grid = [(float(C), float(lam)) for C in (1, 2, 4) for lam in (1, 2, 4)]
    summaries = [
        summary("d", f"learner-{i}", i / 100 + C / 1000, C=C, lam=lam)
        for i in range(8)
        for C, lam in grid
    ]
    [(_, parts)] = stream_sections(source(summaries, tmp_path), Gallery(tmp_path))

    names = [part.name for part in parts if isinstance(part, Drawing)]
    assert names == ["d-C", "d-lam", *(f"d-learner-{i}-C-lam" for i in range(6))]
    assert "the 6 best of 8 learners are drawn, not learner-6, learner-7" in str(
        parts[-1]
    )


def test_data_sets_beyond_the_first_sixty_have_no_figures_and_are_named(
    tmp_path: Path,
) -> None:
    summaries = [
        summary(f"set-{i:02}", "pa1", C / 10, C=float(C))
        for i in range(62)
        for C in (1, 2, 4)
    ]
    gallery = Gallery(tmp_path)
    *sections, (heading, [note]) = stream_sections(source(summaries, tmp_path), gallery)

    assert len(sections) == 60
    assert heading == "Without figures"
    assert "the first 60 of 62 data sets" in str(note)
    assert "set-60; set-61" in str(note)


def test_what_was_measured_on_the_test_split_alone_is_drawn(
    shelf: Path, tmp_path: Path
) -> None:
    """Such runs have no error along the stream, beside which the others' matrices and ROC curves are found."""
    protocol = {"test_only": True, "permutations": 1, "measures": ["confusion", "roc"]}
    experiment = Experiment(
        datasets=[{"path": str(shelf / "dense")}],
        learners=[{"name": "pa1"}],
        protocol=protocol,
    )
    store = evaluate(
        experiment, tmp_path / "store", in_process=True, progress=False
    ).store
    [(title, [_, roc, table])] = stream_sections(
        FigureSource(store, summarise(store)), Gallery(tmp_path)
    )

    assert isinstance(roc, Drawing)
    assert (title, roc.name) == ("dense", "dense-test-roc")
    assert isinstance(table, str)
    assert "Test error by class (%), dense" in table
    assert "in the test split that the final model predicts wrongly" in table
    assert "before the update" not in table
