"""A limit of memory reaches the streams and changes no byte of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from olscale.bench.workloads import generate
from olscale.data.shuffle.external import ExternalShuffle
from olscale.data.shuffle.subset import ordered_rows
from olscale.errors import ExecutionError, ParameterError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.evaluation.plan import make_plan
from olscale.evaluation.run_group import RunGroup
from olscale.execution.evaluate import evaluate
from olscale.execution.on_worker import run_as_task
from olscale.results import open_store
from tests.cluster import Cluster
from tests.record_bytes import record_bytes


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return 2,000 sparse rows in 40 chunks: 2.8 MB, a seventh of that will do."""
    return generate(
        "url-like",
        tmp_path_factory.mktemp("limit") / "url",
        rows=2_000,
        columns=1_000,
        chunk_rows=50,
    ).path


def experiment(url: str, **protocol: Any) -> Experiment:
    learners = [{"name": name} for name in ("pa1", "perceptron")]
    return parse_experiment(
        {"datasets": [{"path": url}], "learners": learners, "protocol": protocol}
    )


@pytest.mark.parametrize(
    "protocol",
    [
        {"permutations": 2},
        {"permutations": 1, "passes": 2},
        {"order": "time", "split": "half", "folds": 2},
        {"split": "stratified", "folds": 2},
    ],
    ids=str,
)
def test_results_have_the_same_bytes_under_any_limit(
    url: str, tmp_path: Path, protocol: dict[str, Any]
) -> None:
    spec = experiment(url, **protocol)
    ways = []

    def noted(*args: Any) -> Any:
        ways.append(ordered_rows(*args))
        return ways[-1]

    evaluate(spec, tmp_path / "large", in_process=True, memory_limit="1GB")
    with mock.patch("olscale.data.stream.ordered_rows", side_effect=noted):
        evaluate(spec, tmp_path / "small", in_process=True, memory_limit="400 kB")
    assert record_bytes(tmp_path / "large") == record_bytes(tmp_path / "small")
    assert any(isinstance(way, ExternalShuffle) for way in ways) == (
        protocol.get("order") != "time"
    )


def test_workers_permute_out_of_core_too(
    url: str, tmp_path: Path, cluster: Cluster
) -> None:
    spec = experiment(url, permutations=2)
    evaluate(spec, tmp_path / "here", in_process=True)
    evaluate(
        spec, tmp_path / "there", scheduler=cluster.scheduler, memory_limit=400_000
    )
    assert record_bytes(tmp_path / "here") == record_bytes(tmp_path / "there")


def test_a_limit_that_is_none_or_too_small_is_one_line(
    url: str, tmp_path: Path
) -> None:
    with pytest.raises(
        ParameterError, match="memory limit was '2 cats', expected a size such as '2GB'"
    ):
        evaluate(
            experiment(url), tmp_path / "store", in_process=True, memory_limit="2 cats"
        )
    assert not (tmp_path / "store").exists()
    with pytest.raises(
        ExecutionError,
        match=r"too small to permute .* need \d+\.\d kB; raise the limit",
    ):
        evaluate(
            experiment(url), tmp_path / "store", in_process=True, memory_limit="50 kB"
        )


def test_a_full_disk_is_one_line(url: str, tmp_path: Path) -> None:
    with (
        mock.patch(
            "olscale.data.shuffle.spill_file._all",
            side_effect=OSError(28, "No space left on device"),
        ),
        pytest.raises(
            ExecutionError,
            match=r"^cannot permute .*: No space left on device; .* OLSCALE_SCRATCH",
        ),
    ):
        evaluate(
            experiment(url), tmp_path / "store", in_process=True, memory_limit="400 kB"
        )


def test_half_of_a_worker_is_the_default(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = mock.Mock(nanny=None)
    store = open_store(tmp_path / "store", create=True)
    worker.memory_manager.memory_limit, worker.state.nthreads = 6_000_000, 3
    monkeypatch.setattr("distributed.get_worker", lambda: worker)
    given: list[int | None] = []

    def noted(pack: RunGroup, *rest: object) -> None:
        given.append(pack.memory_limit)
        raise ParameterError("enough")

    monkeypatch.setattr("olscale.execution.resumable_pass.GroupPass", noted)
    import distributed.worker  # noqa: F401 - as on a worker

    runs = make_plan(experiment(url, order="time")).runs
    for limit in (None, 12_345):
        group = RunGroup(url, 1, runs, memory_limit=limit)
        assert run_as_task(group, store.path).fault == "enough"
    assert given == [1_000_000, 12_345]
