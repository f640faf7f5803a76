"""Figures of the OLK paper's Examples 2 and 3: regression and novelties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from olscale.analysis.stretches import stretches
from olscale.compiled.csr import read_only
from olscale.data.generators import gaussian_novelties, noisy_sines
from olscale.report.figures.style import panels, styled
from olscale.report.papers.base import FigureSource, PaperFigure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from olscale.data.formats.base import Batch

_DRAWS = 20
_OLK: dict[str, Any] = {"p": 0.5, "C": 1.0, "r": 0.001, "epsilon": 0.5}
_REGRESSORS: dict[str, tuple[str, dict[str, Any]]] = {
    "OLK-R": ("olk-r", _OLK),
    "NORMA, tube 0.5": ("norma-r", {"p": 0.5, "lam": 0.01, "eta": 0.1, "epsilon": 0.5}),
    "NORMA, tube 0.1": ("norma-r", {"p": 0.5, "lam": 0.01, "eta": 0.1, "epsilon": 0.1}),
    "kernel perceptron, lms": ("kernel-perceptron-r", {"p": 0.5, "eta": 0.02}),
    "kernel perceptron, sign": (
        "kernel-perceptron-r",
        {"p": 0.5, "eta": 0.02, "step": "sign"},
    ),
    "KRLS": ("krls", {"p": 0.5, "nu": 0.001}),
    "LS-SVM (batch)": ("ls-svm", {"gamma": 4.0, "C": 10.0}),
}
_DETECTORS: dict[str, tuple[str, dict[str, Any]]] = {
    "OLK-N": ("olk-n", {"p": 1.0, "C": 0.2, "v": 0.1, "r": 0.001}),
    "NORMA": ("norma-n", {"p": 1.0, "eta": 0.1, "lam": 1.0, "nu": 0.1}),
}


def _rows(made: Iterator[Batch]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    (batch,) = made
    return np.asarray(batch.X), np.asarray(batch.target, dtype=np.float64)


def _nonzero(source: FigureSource) -> Figure:
    del source
    X, y = _rows(noisy_sines.batches(noisy_sines.ROWS, seed=0))
    tubes = np.linspace(0.0, 1.0, 21)
    counts = [
        step.measures["support_vectors"]
        for tube in tubes
        for step in stretches(
            "olk-r", _OLK | {"epsilon": float(tube)}, X, y, every=len(y)
        )
    ]
    with styled():
        figure, (axis,) = panels(1)
        axis.plot(tubes, counts)
        axis.set(xlabel="epsilon", ylabel="coefficients that are not 0", xlim=(0, 1))
        axis.set_ylim(bottom=0)
    return figure


def _estimates(source: FigureSource) -> Figure:
    del source
    X, y = _rows(noisy_sines.batches(noisy_sines.ROWS, seed=0))
    x = np.linspace(-np.pi, np.pi, 400)
    shown = (50, 150, 300, 600)
    with styled():
        figure, axes = panels(len(shown))
        for step in stretches("olk-r", _OLK, X, y, every=50):
            if step.rows not in shown:
                continue
            axis = axes[shown.index(step.rows)]
            axis.plot(
                X[: step.rows, 0], y[: step.rows], ".", color="0.75", markersize=2
            )
            axis.plot(x, noisy_sines.curve(x), label="true")
            axis.plot(
                x, step.learner.scores(read_only(x[:, None]))[:, 0], label="OLK-R"
            )
            axis.set(title=f"{step.rows} rows", xlabel="x", ylabel="y")
        axes[0].legend()
    return figure


def _test_errors(source: FigureSource) -> Figure:
    del source
    with styled():
        figure, (axis,) = panels(1, width=4.0, height=3.0, beside=list(_REGRESSORS))
        for label, (name, params) in _REGRESSORS.items():
            rows = []
            draws = []
            for seed in range(_DRAWS):
                X, y = _rows(noisy_sines.batches(noisy_sines.ROWS, seed))
                X_test, y_test = _rows(noisy_sines.test_batches(seed))
                along = [
                    (
                        step.rows,
                        _rmse(step.learner.scores(read_only(X_test))[:, 0], y_test),
                    )
                    for step in stretches(name, params, X, y, every=50)
                ]
                rows = [count for count, _ in along]
                draws.append([error for _, error in along])
            axis.plot(rows, np.mean(draws, axis=0), label=label)
        axis.set(
            xlabel="rows",
            ylabel="RMSE on the test rows",
            xlim=(0, noisy_sines.ROWS),
            ylim=(0, 0.4),
        )
        figure.legend(*axis.get_legend_handles_labels(), loc="outside right upper")
    return figure


def _rmse(f: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean((f - y) ** 2)))


def _novelty_scores(
    seed: int, name: str, params: dict[str, Any]
) -> tuple[NDArray[np.float64], ...]:
    """Return rows, labels, and scores by the detector that has learned all rows."""
    X, y = _rows(gaussian_novelties.batches(gaussian_novelties.ROWS, seed))
    (step,) = stretches(name, params, X, np.zeros(len(y), dtype=np.int64), every=len(y))
    return X, y, step.learner.scores(read_only(X))[:, 0]


def _novelties(source: FigureSource) -> Figure:
    del source
    X, y, scores = _novelty_scores(0, *_DETECTORS["OLK-N"])
    with styled():
        figure, (axis,) = panels(1, width=3.6, height=3.2)
        novel = X[scores < 0.0]
        axis.plot(
            *novel.T,
            "o",
            color="0.6",
            fillstyle="none",
            markersize=7,
            label="told as novelty",
        )
        axis.plot(*X[y > 0].T, ".", label="normal")
        axis.plot(*X[y < 0].T, "x", label="novelty")
        axis.set(xlabel="first coordinate", ylabel="second coordinate")
        axis.legend()
    return figure


def _rocs(source: FigureSource) -> Figure:
    from sklearn.metrics import roc_auc_score, roc_curve

    del source
    with styled():
        figure, (axis,) = panels(1, width=3.4, height=3.0)
        at = np.linspace(0.0, 1.0, 101)
        for label, detector in _DETECTORS.items():
            rates = []
            areas = []
            for seed in range(_DRAWS):
                _, y, scores = _novelty_scores(seed, *detector)
                if (y < 0).any():
                    false, true, _ = roc_curve(y < 0, -scores)
                    rates.append(np.interp(at, false, true))
                    areas.append(roc_auc_score(y < 0, -scores))
            axis.plot(
                at, np.mean(rates, axis=0), label=f"{label}, area {np.mean(areas):.3f}"
            )
        axis.set(
            xlabel="false positive rate",
            ylabel="true positive rate",
            xlim=(0, 1),
            ylim=(0, 1.02),
        )
        axis.legend(loc="lower right")
    return figure


FIGURES = (
    PaperFigure(
        "olk-2013-fig1",
        "Coefficients of OLK-R (p = 0.5, C = 1, r = 0.001) that are not 0 after the 700 rows of "
        "Example 2, by the half "
        "width epsilon of the tube: all of them at 0, few beyond 0.7.",
        "",
        _nonzero,
    ),
    PaperFigure(
        "olk-2013-fig5",
        "What OLK-R makes of Example 2 after 50, 150, 300 and 600 rows, which are the points.",
        "",
        _estimates,
    ),
    PaperFigure(
        "olk-2013-fig6",
        "RMSE on 1,000 rows without noise along the rows of Example 2, mean of 20 draws. OLK-R is "
        "ahead of NORMA for some "
        "300 rows; after that NORMA with the same tube is. LS-SVM is a batch method that learns "
        "all rows so far at once.",
        "",
        _test_errors,
    ),
    PaperFigure(
        "olk-2013-fig7",
        "Example 3: rows that OLK-N (p = 1, C = 0.2, v = 0.1, r = 0.001) tells as novelties after "
        "it has learned them all.",
        "",
        _novelties,
    ),
    PaperFigure(
        "olk-2013-fig8",
        "ROC of Example 3, mean of 20 draws; the rows are those learned from, as in the paper. "
        "The paper does not state "
        "NORMA's parameters: here eta = 0.1, nu = 0.1, lam = 1.",
        "",
        _rocs,
    ),
)
