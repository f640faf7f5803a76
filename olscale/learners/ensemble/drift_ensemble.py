"""drift-ensemble: experts of several horizons for streams that may drift, olscale's own learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.csr import Rows, read_only_csr
from olscale.learners.contract.cost import learning_seconds
from olscale.learners.contract.learner import FloatArray, State, score_columns
from olscale.learners.contract.parameters import Whole, param
from olscale.learners.ensemble.drift_ensemble_loop import (
    EXPERTS,
    LARGEST_STEPS,
    NEIGHBOURS,
    OTHERS,
    PROBE,
    TILE_RATES,
    WINDOW_SHARES,
    DriftExperts,
    Neighbours,
    Tiles,
)
from olscale.learners.ensemble.expert_forest import (
    ExpertForest,
    allow_forest,
    expert_forest,
    forest_bytes,
    forest_state,
    has_forest,
    with_prefix,
)
from olscale.learners.kernel.replay_learner import ReplayLearner
from olscale.learners.kernel.replay_machine import MACHINES
from olscale.learners.kernel.replay_svm import ReplaySVM
from olscale.learners.neighbour.knn_window import KNNWindow, places_newest_first
from olscale.learners.neighbour.rows_ahead import no_rows_ahead
from olscale.learners.neighbour.window_loop import Voting
from olscale.learners.tiles.pair_tiles import (
    PairTiles,
    cells_of,
    draw_pairs,
    singles_of,
)

_LONG_ROWS = 100_000
"""Rows of a stream along which parts take their usual time: a window is full after few of them."""


class DriftEnsemble(ReplayLearner):
    """A mixture of experts of long and short memory, for streams with unknown drift.

    The experts are the machines of `replay-svm`, which gain most where nothing changes; the votes
    of the five nearest of the last `window` rows, of a quarter and a sixteenth of them; tables over
    pairs of binned features, as `pair-tiles` has them, of four rates; PA-I of four largest steps,
    with the mean of the first one's weights; and the five trees of an `arf` that split early, each
    by the most frequent class of its leaf and by naive Bayes. A stack, which learns weights of all
    of these by gradient descent on the log loss, is a further expert. All are mixed by weights that
    follow their mistakes (fixed share), so that the best one of the last few hundred rows decides.

    While a window's neighbours err less than the machines, the stream is taken to drift: the
    machines then drop old rows first and make no more steps on them. While the machines add next to
    nothing to what is predicted, they rest: they take part in every fourth row only, until they are
    worth more.

    Notes
    -----
    Strictly online: a row is scored before anything is learned from it, and the width of the
    kernels is that of the first 400 rows, until which the other experts predict. Settings besides
    `B` and `window` are those of `replay-svm`. **It stores the last `window` rows and up to B + 256
    others**: a saved model contains them. Two models cannot be merged, and classes cannot be
    learned apart. Rows must be standardized: see `running-standardize`. ``docs/drift-ensemble.md``
    has equations, figures, and where it loses.

    State: that of `replay-svm`, ``window d`` numbers for d features, four times that of
    `pair-tiles`, and up to 5,000 leaves of trees. Cost of a row: that of `replay-svm`,
    O(window d), four times that of `pair-tiles` and five trees, on sparse rows too. A row's weight
    is not used.

    References
    ----------
    M. Herbster, M. Warmuth, Tracking the best expert, Machine Learning 32, 1998. S. Bach,
    M. Maloof, Paired learners for concept drift, ICDM 2008. D. Wolpert, Stacked generalization,
    Neural Networks 5, 1992. Of the parts: see `replay-svm`, `knn-window`, `pair-tiles` and `arf`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(3000, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    >>> y[1500:] = 1 - y[1500:]
    >>> model = DriftEnsemble(B=100).fit(X, y)
    >>> bool(np.mean(model.predict(X[1500:]) == y[1500:]) > 0.95)
    True
    """

    name = "drift-ensemble"
    version = 2
    numbers_per_second = 5.5e9

    B: int = param(
        2048,
        Whole(1),
        "Most rows that the machines store: more err less and take more time and memory.",
    )
    window: int = param(
        1024, Whole(1), "Rows among which neighbours are searched, the last ones."
    )
    seed: int = param(
        0,
        Whole(0),
        "Seed of the steps on stored rows, of how often trees learn a row, and of the pairs of "
        "features, where not all of them have tables; the seed and number of the run count too.",
    )

    D = ReplaySVM.D
    R = ReplaySVM.R
    theta = ReplaySVM.theta
    race = ReplaySVM.race
    rests_from = 2 * ReplaySVM.race
    rests_below = 0.02

    def _allocate(self, columns: int, outputs: int) -> State:
        state = super()._allocate(columns, outputs)
        forest = expert_forest(int(self.seed))
        forest.begin(columns, self._classes, self._entropy)
        self._forest = forest
        return {
            **state,
            **with_prefix(forest.state_),
            "stored_at": np.zeros(len(state["sizes"]), dtype=np.int64),
            "drifting": np.zeros(1, dtype=np.int64),
        }

    def _allocate_experts(self, columns: int, outputs: int) -> State:
        # Until the machines open, all trust is in the others.
        trust = np.zeros(2 * MACHINES + OTHERS)
        trust[2 * MACHINES :] = 1.0 / OTHERS
        return {
            "W": np.zeros((len(LARGEST_STEPS), columns + 1, outputs)),
            "late_W": np.zeros((columns + 1, outputs)),
            "rows": np.zeros((columns, int(self.window))),
            "labels": np.zeros(int(self.window), dtype=np.int64),
            "tables": np.zeros((len(TILE_RATES), cells_of(columns), outputs)),
            "pairs": draw_pairs(columns, self._random()),
            "trust": trust,
            "stack": np.full(EXPERTS, 2.0 / EXPERTS),
            "worth": np.ones(1),
            "resting": np.zeros(1, dtype=np.int64),
            # As if each had guessed two classes so far.
            "lapses": np.full(2 * MACHINES + len(WINDOW_SHARES), 0.5),
        }

    def _score_ahead(self, X: Rows, y: NDArray[np.int64], learning: bool) -> FloatArray:
        """Return the scores of the trees, which depend on no other expert."""
        forest = self.forest()
        tree_scores = forest.tree_scores(read_only_csr(X), y, learning)
        # Trees that have grown have new arrays.
        self.state_.update(with_prefix(forest.state_))
        return tree_scores

    def _begin_race(self) -> None:
        super()._begin_race()
        trust = self.state_["trust"]
        # Machines enter with an equal share; the others keep the proportions they have.
        trust *= OTHERS / len(trust)
        trust[: 2 * MACHINES] = 1.0 / len(trust)

    def _experts(self, ahead: FloatArray) -> DriftExperts:
        state = self.state_
        return DriftExperts(
            state["trust"],
            state["errors"],
            state["W"],
            state["late_W"],
            state["stack"],
            state["lapses"],
            state["drifting"],
            state["worth"],
            state["resting"],
            int(self.rests_from),
            float(self.rests_below),
            self._neighbours(),
            self._tiles(),
            ahead,
            np.zeros((OTHERS, self._outputs)),
            np.zeros((EXPERTS + 1, self._outputs)),
            np.zeros(self._outputs),
        )

    def machines_run(self) -> bool:
        """Return whether the machines take part in the score of the next row."""
        state = self.state_
        seen = int(state["seen"][0])
        rests = state["resting"][0] and seen >= self.rests_from and seen % PROBE
        return bool(state["gamma"][0] > 0.0 and not rests)

    def forest(self) -> ExpertForest:
        """Return the forest, which shares its arrays with this learner."""
        forest = self._forest
        forest.state_ = forest_state(self.state_)
        return forest

    def windows(self) -> list[int]:
        """Return how many of the last rows the neighbours of each expert are searched among."""
        return [max(1, int(self.window) // share) for share in WINDOW_SHARES]

    def voting(self) -> Voting:
        """Return how neighbours vote: nearer ones count more, on the scale of `knn-window`."""
        return Voting(
            min(NEIGHBOURS, int(self.window)), True, False, 1.0 / max(1, self._columns)
        )

    def newest_first(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the rows of the window, the newest first, and their labels."""
        state = self.state_
        places = places_newest_first(int(state["seen"][0]), int(self.window))
        return state["rows"][:, places].T, state["labels"][places]

    def linear_coefficients(self) -> FloatArray:
        """Return the weights of the linear experts for rows ``(x, 1)`` of length 1.

        Returns
        -------
        float64 array of shape (experts, features + 1, outputs)
            The last expert is the mean of the first.
        """
        state = self.state_
        mean = state["W"][0] - state["late_W"] / max(1.0, float(state["seen"][0])) ** 3
        return np.concatenate([state["W"], mean[np.newaxis]])

    def _neighbours(self) -> Neighbours:
        state = self.state_
        voting = self.voting()
        return Neighbours(
            state["rows"],
            state["labels"],
            np.array(self.windows()),
            voting,
            np.ones(self._columns),
            no_rows_ahead(self._columns, int(self.window)),
            np.empty(voting.k),
            np.empty(voting.k, dtype=np.int64),
            np.empty(max(2, self._outputs)),
        )

    def _tiles(self) -> Tiles:
        state = self.state_
        singles = singles_of(self._columns)
        return Tiles(
            state["tables"],
            state["pairs"],
            singles,
            np.empty(self._columns, dtype=np.int64),
            np.empty(singles + 2 * len(state["pairs"]), dtype=np.int64),
            np.zeros((len(TILE_RATES), self._outputs)),
            np.empty(self._outputs),
        )

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state`, whose trees may need more room than the current ones."""
        allow_forest(self.state_, state)
        super().restore(state)

    def _can_continue(self) -> bool:
        state = self.state_
        labels = state["labels"]
        pairs = state["pairs"]
        fits = ((labels >= 0) & (labels < max(2, self._outputs))).all()
        fits &= ((pairs >= 0) & (pairs < self._columns)).all()
        flags = [*state["drifting"].tolist(), *state["resting"].tolist()]
        fits &= all(flag in (0, 1) for flag in flags)
        fits &= has_forest(state, self._columns)
        return bool(fits) and super()._can_continue()

    def row_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return how many numbers a row goes through, at the speed of the machines."""
        machines = super().row_numbers(columns, classes, values)
        return machines + self._part_numbers(columns, classes, values)

    def stream_numbers(
        self, columns: int, classes: int, values: float, rows: int
    ) -> float:
        """Return how many numbers `rows` rows go through, at the speed of the machines."""
        machines = super().stream_numbers(columns, classes, values, rows)
        return machines + rows * self._part_numbers(columns, classes, values)

    def _part_numbers(self, columns: int, classes: int, values: float) -> float:
        """Return the numbers of neighbours, tiles and linear experts, at the machines' speed."""
        size = (columns, classes, values)
        parts = [KNNWindow(window=self.window), expert_forest(seed=0)]
        parts += [PairTiles() for _ in TILE_RATES]
        # Each at its own speed, as an estimate has the one speed of its learner.
        seconds = sum(learning_seconds(part, *size, _LONG_ROWS) for part in parts)
        linear = 2.0 * (len(LARGEST_STEPS) + 1) * values * score_columns(classes)
        return seconds / _LONG_ROWS * self.numbers_per_second + linear

    def state_bytes(self, columns: int, classes: int) -> int:
        """Return the bytes of the state, if the stored rows have all features."""
        window = KNNWindow(window=self.window).state_bytes(columns, classes)
        tiles = PairTiles().state_bytes(columns, classes) * len(TILE_RATES)
        forest = forest_bytes(columns, classes)
        return super().state_bytes(columns, classes) + window + tiles + forest

    def cheaper(self) -> str:
        """Return what to do where rows are wide or many."""
        return "take a smaller B or window, or project rows first, as with the transform project"
