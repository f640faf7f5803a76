"""Random projection: a few dimensions instead of millions of features, distances nearly kept."""

import numpy as np

from olscale.compiled.csr import CSR, Rows, rows_of, slice_rows, to_csr
from olscale.data.transforms.base import Transform
from olscale.data.transforms.matrix import matrix_of
from olscale.errors import ParameterError, UnknownNameError

KINDS = ("gaussian", "sparse", "very-sparse")
_BLOCK_ROWS = 1024


class RandomProjection(Transform):
    r"""Random projection to `features` dimensions.

    With D features before and D' after, ``x' = x R`` for a D x D' matrix R of independent entries:

    - ``gaussian``: :math:`r_{ij} \sim N(0, 1/D')`.
    - ``sparse``: :math:`\sqrt{s/D'}` times +1 with probability :math:`1/2s`, 0 with :math:`1 -
      1/s`, -1 with :math:`1/2s`, for s = 3 (Achlioptas, equation 2, up to the scale).
    - ``very-sparse``: the same for :math:`s = \sqrt{D}` (Li, Hastie and Church, equation 2). It
      is for rows without heavy tails: the few large values of a row may meet no entry at all.

    All have mean 0 and variance 1/D', so squared norms and distances keep their expectation:
    :math:`E |x'|^2 = |x|^2`, with the variance :math:`2 |x|^4 / D'` for Gaussian entries. By the
    lemma of Johnson and Lindenstrauss :math:`D' = O(\epsilon^{-2} \log n)` dimensions keep all
    distances among n rows within :math:`1 \pm \epsilon`.

    The sum over a row visits its features in ascending order; neither the cut into chunks nor
    stored zeros change a bit. Every entry is a function of `seed`, the projection's number, the
    feature and the dimension (`olscale.compiled.philox`), by exact arithmetic without library
    functions: each machine makes the same matrix.

    Parameters
    ----------
    features : int
        Number of dimensions D', at least 1.
    kind : {"gaussian", "sparse", "very-sparse"}
    seed : int
        Projection number i of a seed has the key ``SeedSequence([seed, i])``.

    References
    ----------
    E. Bingham, H. Mannila, Random projection in dimensionality reduction: applications to image and
    text data, KDD 2001: cited by the LOL paper for its URL set, projected to 100 dimensions ten
    times.
    D. Achlioptas, Database-friendly random projections: Johnson-Lindenstrauss with binary coins,
    Journal of Computer and System Sciences 66 (2003).
    P. Li, T. J. Hastie, K. W. Church, Very sparse random projections, KDD 2006.

    Examples
    --------
    >>> rows = np.eye(1000)[:2]
    >>> projected = RandomProjection(features=400).apply(rows, 1000)
    >>> projected.shape, (projected**2).sum(axis=1).round(1)
    ((2, 400), array([1. , 1.1]))
    """

    name = "project"
    takes_sparse = True
    is_random = True
    mixes_features = True

    def __init__(
        self,
        features: int,
        kind: str = "gaussian",
        seed: int = 0,
    ) -> None:
        for parameter, value, least in (("features", features, 1), ("seed", seed, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                expected = f"expected a whole number of at least {least}"
                raise ParameterError(
                    f"transform project: {parameter} was {value!r}, {expected}"
                )
        if kind not in KINDS:
            raise UnknownNameError("kind of projection", str(kind), KINDS)
        self.features = features
        self.kind = kind
        self.seed = seed

    def width(self, columns: int) -> int:
        return self.features

    def apply(self, X: Rows, columns: int) -> Rows:
        """Return ``x R`` for each row, dense."""
        drawn = np.random.SeedSequence([self.seed, self.projection]).generate_state(2)
        key = int(drawn[0]), int(drawn[1])
        sparsity = {
            "gaussian": 0.0,
            "sparse": 3.0,
            "very-sparse": float(np.sqrt(columns)),
        }[self.kind]
        # So that squared norms keep their expectation.
        scale = np.sqrt(max(sparsity, 1.0) / self.features)
        matrix = matrix_of(key, columns, self.features, sparsity)
        out = np.empty((rows_of(X), self.features))
        # Dense rows become sparse a block at a time.
        step = max(1, rows_of(X)) if isinstance(X, CSR) else _BLOCK_ROWS
        for start in range(0, rows_of(X), step):
            block = to_csr(slice_rows(X, start, start + step))
            out[start : start + step] = scale * matrix.times(block)
        return out
