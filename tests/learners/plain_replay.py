"""replay-svm in plain NumPy, row by row: what its compiled loop must compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olscale.compiled.philox import philox
from olscale.learners.local.soft_lol import SoftLOL

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]


class PlainReplay:
    """The algorithm row by row, with the random rows of the learner's key."""

    def __init__(self, like: Any, B: int, D: int, R: int, race: int) -> None:
        self.B = B
        self.R = R
        self.D = D
        self.race = race
        self.sample = min(400, B + D)
        self.key = like.state_["key"]
        self.outputs = like._outputs
        self.rows: list[FloatArray] = []
        self.labels: list[int] = []
        self.landmarks = 0
        self.stored_at: list[int] = []
        self.drifting = False
        self.alive = [True] * 4
        self.errors = np.zeros((2, 4))
        self.shares = np.array([1.0] * 10 + [0.5])
        self.trust = self.shares / self.shares.sum()

    def learn(self, X: FloatArray, y: Labels) -> FloatArray:
        self.W = np.zeros((self.outputs, X.shape[1] + 1))
        self.late_W = np.zeros_like(self.W)
        scores = np.zeros((len(X), self.outputs))
        earlier = [rows for rows in (25, 50, 100, 200) if rows < self.sample]
        openings = [*earlier, self.sample]
        local = SoftLOL()
        local.begin(X.shape[1], max(2, self.outputs))
        local_scores = local.learn(X, y)
        for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
            unit = np.append(x, 1.0) / np.sqrt(x @ x + 1.0)
            linear = self.W @ unit
            mean = linear - self.late_W @ unit / max(1, i) ** 3
            if i in openings:
                self.open(X[:i], y[:i].tolist())
            if i == self.sample:
                self.errors = np.zeros((2, 4))
                self.trust = self.shares / self.shares.sum()
            if i < openings[0]:
                scores[i] = linear
            else:
                scores[i] = self.score(x, label, [linear, mean, local_scores[i]], i)
                self.step_row(x, label, i + 1)
                if self.landmarks and i + 1 == self.race:
                    self.end_race()
            self.learn_linear(unit, linear, label, i + 1)
        return scores

    def open(self, X: FloatArray, labels: list[int]) -> None:
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        self.gamma = 1.0 / np.median(squares[np.tril_indices(len(X), -1)])
        self.landmarks = 0
        if len(X) == self.sample:
            self.landmarks = min(self.D, len(X))
        self.rows = list(X[: self.landmarks])
        self.labels = labels[: self.landmarks]
        self.stored_at = [0] * self.landmarks
        self.alpha = np.zeros((4, self.outputs, self.landmarks))
        self.late = np.zeros_like(self.alpha)
        K = np.exp(-self.gamma * squares[: self.landmarks, : self.landmarks])
        self.inverse = [
            np.linalg.inv(K ** (2**e) + 1e-3 * np.eye(self.landmarks)) for e in range(4)
        ]
        self.share = np.zeros((4, self.landmarks))
        for i, (x, label) in enumerate(zip(X, labels, strict=True)):
            self.set_scores(x, max(1, i))
            self.step_row(x, label, i + 1)

    def kernel(self, x: FloatArray) -> FloatArray:
        squares = ((np.array(self.rows).reshape(-1, len(x)) - x) ** 2).sum(axis=1)
        return np.array([np.exp(-self.gamma * squares) ** (2**e) for e in range(4)])

    def set_scores(self, x: FloatArray, t: int) -> None:
        self.k = self.kernel(x)
        self.f = np.einsum("ecs,es->ec", self.alpha, self.k)
        self.g = self.f - np.einsum("ecs,es->ec", self.late, self.k) / t**3

    def is_wrong(self, f: FloatArray, label: int) -> bool:
        predicted = int(f[0] >= 0.0) if self.outputs == 1 else int(np.argmax(f))
        return predicted != label

    def margin(self, f: FloatArray, label: int) -> float:
        if self.outputs == 1:
            return float(f[0] if label == 1 else -f[0])
        return float(f[label] - np.delete(f, label).max())

    def score(
        self, x: FloatArray, label: int, others: list[FloatArray], t: int
    ) -> FloatArray:
        self.set_scores(x, t)
        experts = [*self.f, *self.g, *others]
        member = np.array([*self.alive, *self.alive, True, True, True])
        score = sum(w * f for w, f in zip(self.trust * member, experts, strict=True))
        for j, f in enumerate(experts):
            if member[j] and self.is_wrong(f, label):
                self.trust[j] *= np.exp(-0.5)
                if j < 8:
                    self.errors[j // 4, j % 4] += 1
        self.trust[~member] = 0.0
        self.trust /= self.trust.sum()
        dealt = self.shares[member] / self.shares[member].sum()
        self.trust[member] = 0.999 * self.trust[member] + 0.001 * dealt
        return np.asarray(score)

    def step_row(self, x: FloatArray, label: int, t: int) -> None:
        living = [e for e in range(4) if self.alive[e]]
        margin = min(self.margin(self.f[e], label) for e in living)
        if margin < 0.5 or not self.landmarks:
            f = self.f.copy()
            slot = self.store(x, label, t, living)
            for e in living:
                self.step(e, slot, f[e], label, t)
        stored = len(self.rows) - self.landmarks
        for r in range(self.R if stored else 0):
            words = philox.py_func(
                np.uint64(t), np.uint64(0), np.uint64(r), np.uint64(0), *self.key
            )
            slot = self.landmarks + int(words[0] * np.uint64(stored) >> np.uint64(32))
            if self.drifting and t - self.stored_at[slot] > 1000:
                continue
            k = self.kernel(self.rows[slot])
            for e in living:
                self.step(e, slot, self.alpha[e] @ k[e], self.labels[slot], t)

    def store(self, x: FloatArray, label: int, t: int, living: list[int]) -> int:
        slot = len(self.rows)
        stored = slice(self.landmarks, None)
        if self.landmarks and slot - self.landmarks == self.B:
            need = sum((self.alpha[e] ** 2).sum(axis=0) * self.share[e] for e in living)
            if self.drifting:
                need = need * 0.5 ** ((t - np.array(self.stored_at)) / 500)
            slot = self.landmarks + int(np.argmin(np.asarray(need)[stored]))
            k = self.kernel(self.rows[slot])[:, : self.landmarks]
            for e in living:
                p = self.inverse[e] @ k[e]
                self.alpha[e][:, : self.landmarks] += np.outer(
                    self.alpha[e][:, slot], p
                )
                self.late[e][:, : self.landmarks] += np.outer(self.late[e][:, slot], p)
            self.alpha[:, :, slot] = 0.0
            self.late[:, :, slot] = 0.0
            self.rows[slot] = x
            self.labels[slot] = label
            self.stored_at[slot] = t
        else:
            self.rows.append(x)
            self.labels.append(label)
            self.stored_at.append(t)
            self.alpha = np.concatenate(
                [self.alpha, np.zeros((4, self.outputs, 1))], axis=2
            )
            self.late = np.concatenate(
                [self.late, np.zeros((4, self.outputs, 1))], axis=2
            )
            self.share = np.concatenate([self.share, np.zeros((4, 1))], axis=1)
        k = self.kernel(x)[:, : self.landmarks]
        for e in living:
            self.share[e, slot] = max(1e-3, 1.0 - k[e] @ self.inverse[e] @ k[e])
        return slot

    def step(self, e: int, slot: int, f: FloatArray, label: int, t: int) -> None:
        most = (1.0, 3.0, 10.0, 30.0)[e]
        old = self.alpha[e][:, slot].copy()
        if self.outputs == 1:
            sign = 1.0 if label == 1 else -1.0
            new = np.array(
                [sign * np.clip(sign * old[0] + 1.0 - sign * f[0], 0.0, most)]
            )
        else:
            target = np.eye(self.outputs)[label]
            gain = target - f
            free = old < most * target
            up = int(np.argmax(np.where(free, gain, -np.inf)))
            down = int(np.argmin(gain))
            new = old.copy()
            if gain[up] - gain[down] > 1e-3:
                tau = min((gain[up] - gain[down]) / 2, most * target[up] - old[up])
                new[up] += tau
                new[down] -= tau
        self.alpha[e][:, slot] = new
        self.late[e][:, slot] += float(t) ** 3 * (new - old)

    def end_race(self) -> None:
        best = int(np.argmin(self.errors.min(axis=0)))
        self.alive = [e == best for e in range(4)]
        self.trust *= [*self.alive, *self.alive, True, True, True]
        self.trust /= self.trust.sum()

    def learn_linear(self, unit: FloatArray, f: FloatArray, label: int, t: int) -> None:
        loss = max(0.0, 1.0 - self.margin(f, label))
        change = np.zeros_like(self.W)
        if self.outputs == 1:
            change[0] = min(10.0, loss) * (1.0 if label == 1 else -1.0) * unit
        else:
            rivals = f.copy()
            rivals[label] = -np.inf
            change[label] = min(10.0, loss / 2) * unit
            change[int(np.argmax(rivals))] = -min(10.0, loss / 2) * unit
        self.W += change
        self.late_W += float(t) ** 3 * change
