"""Loops of CapyMOA and of olscale over its classes, in the Python that has CapyMOA.

``PYTHON -m olscale.bench.moa.capymoa_loops`` says where MOA is, then answers each line of its
input, a `Request` as JSON, with one line: the processor seconds of the loop, and the mistakes.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from olscale.bench.own_loops import run_of, step
from olscale.data.chunk import Chunk
from olscale.learners.moa.java import moa_jar, start_java


@dataclass(frozen=True, slots=True)
class Request:
    """A learner, and the loop that takes it over rows.

    Attributes
    ----------
    loop : str
        ``"array"`` or ``"file"``, CapyMOA's prequential evaluation of an array or an ARFF file, or
        ``"olscale"``, a run of olscale.
    kind : str
        Class in ``capymoa.classifier``.
    params : dict
        Its parameters.
    stream : str
        Path of the rows without suffix: ``.npz`` has arrays X and y, ``.arff`` the text.
    rows : int
        How many of the rows.
    classes : int
        How many classes they have.
    """

    loop: str
    kind: str
    params: dict[str, Any]
    stream: str
    rows: int
    classes: int


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Java and CapyMOA print, too.
    os.dup2(2, 1)
    start_java()
    print(json.dumps({"jar": str(moa_jar())}), file=answers, flush=True)
    for line in sys.stdin:
        request = Request(**json.loads(line))
        loop = prepared(request)
        start = process_time()
        count = loop()
        seconds = process_time() - start
        answer = {"seconds": seconds, "mistakes": count()}
        print(json.dumps(answer), file=answers, flush=True)


def prepared(request: Request) -> Callable[[], Callable[[], int]]:
    """Return the loop, which returns a function that returns the mistakes."""
    if request.loop == "olscale":
        return _run(request)
    # Only here: the process that asks imports this module too, and may have no CapyMOA.
    from capymoa import classifier
    from capymoa.evaluation import prequential_evaluation

    # Before the clock starts, as the rows of a run of olscale are.
    stream = _stream(request)
    kind = getattr(classifier, request.kind)
    model = kind(schema=stream.get_schema(), **request.params)
    evaluation = partial(
        prequential_evaluation, stream, model, max_instances=request.rows
    )

    def loop() -> Callable[[], int]:
        return partial(_mistakes, evaluation(), request.rows)

    return loop


def _mistakes(results: Any, rows: int) -> int:
    # CapyMOA has no count of mistakes; a percentage of whole rows gives it back.
    accuracy: float = results["cumulative"].accuracy()
    return round(rows * (1.0 - accuracy / 100.0))


def _stream(request: Request) -> Any:
    from capymoa.stream import ARFFStream, NumpyStream

    if request.loop == "file":
        return ARFFStream(f"{request.stream}.arff")
    rows = _rows(request)
    return NumpyStream(rows.X, rows.y)


def _rows(request: Request) -> Chunk:
    with np.load(f"{request.stream}.npz", allow_pickle=False) as arrays:
        X = arrays["X"][: request.rows]
        return Chunk(X, arrays["y"][: request.rows], X.shape[1])


def _run(request: Request) -> Callable[[], Callable[[], int]]:
    rows = _rows(request)
    name = f"capymoa:{request.kind}"
    state = run_of(name, request.params, rows, request.classes)()

    def loop() -> Callable[[], int]:
        step(state, rows)
        return lambda: round(state.error() * len(rows))

    return loop


if __name__ == "__main__":
    main()
