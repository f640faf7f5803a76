"""Random projection of URL-like rows to 100 dimensions, beside scikit-learn and a bare loop over a matrix in memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from olscale.bench.base import Contestant, Figure, compare
from olscale.bench.loops import bare_gather
from olscale.bench.peers import to_scipy
from olscale.bench.workloads.url_like import chunks
from olscale.compiled.csr import to_csr
from olscale.data.chunk import Chunk
from olscale.data.transforms.matrix import matrix_of
from olscale.data.transforms.pipeline import fit_transforms

_WIDTH = 100
_DAY_ROWS = 19_803
_PEER_ROWS = 4_096
_UNIT = "k rows/s"


def figures(rows: int = 65_536, rounds: int = 3) -> list[Figure]:
    """Return the speeds of all kinds, whose matrix is yet to be made, and of peers that have their matrix ready."""
    wide = list(chunks(rows, day_rows=_DAY_ROWS))
    # The matrices of peers are no wider than these rows need.
    columns = 1 + max(int(to_csr(chunk.X).indices.max()) for chunk in wide)
    stream = [Chunk(chunk.X, chunk.y, columns) for chunk in wide]
    bare = _bare(stream, columns)
    table = [bare]
    for kind, density in (("gaussian", None), ("sparse", 1 / 3), ("very-sparse", columns**-0.5)):
        peer = _sklearn(stream[0][:_PEER_ROWS], kind, density)
        table += [
            peer,
            _ours(stream, kind, bare.name),
            _ours(stream, kind, peer.name, " to scikit-learn"),
        ]
    return compare(table, _UNIT, rounds)


def _ours(stream: Sequence[Chunk], kind: str, peer: str, title: str = "") -> Contestant:
    pipeline = fit_transforms(
        [f"project:features={_WIDTH},kind={kind}"], lambda: iter(stream), stream[0].columns
    )

    def project(_: object) -> None:
        for chunk in stream:
            pipeline.apply(chunk)

    return Contestant(
        f"{kind}{title}", project, sum(map(len, stream)) / 1e3, matrix_of.cache_clear, peer
    )


def _bare(stream: Sequence[Chunk], columns: int) -> Contestant:
    matrix = np.random.default_rng(0).standard_normal((columns, _WIDTH), dtype=np.float32)

    def gather(_: object) -> None:
        for chunk in stream:
            bare_gather(chunk.X, matrix, np.zeros((len(chunk), _WIDTH)))

    return Contestant("bare gather, whole matrix in memory", gather, sum(map(len, stream)) / 1e3)


def _sklearn(chunk: Chunk, kind: str, density: float | None) -> Contestant:
    from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

    rows = to_scipy(chunk)
    model: Any = GaussianRandomProjection(_WIDTH, random_state=0)
    if density is not None:
        model = SparseRandomProjection(_WIDTH, density=density, dense_output=True, random_state=0)
    model.fit(rows)
    return Contestant(f"scikit-learn, {kind}", lambda _: model.transform(rows), len(chunk) / 1e3)
