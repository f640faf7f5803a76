"""``olscale store`` and what ``olscale evaluate`` does about a store that has it all, or cannot be one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from olscale.cli import olscale as command
from olscale.results import Record, Store, open_store
from olscale.results.forget import forget
from olscale.results.version import version_bytes
from tests.record_bytes import record_bytes


def run(*args: object) -> Result:
    return CliRunner().invoke(command, [str(arg) for arg in args])


@pytest.fixture
def store(tmp_path: Path, make_record) -> Store:
    store = open_store(tmp_path / "store", create=True)
    for learner in ("pa1", "arow"):
        for i in range(2):
            store.write(make_record(learner=learner, permutation=i))
    return store


def test_runs_are_forgotten_and_counted(store: Store) -> None:
    done = run("store", "forget", store.path, "--learner", "pa1", "--dataset", "digits")
    assert (done.exit_code, done.stdout) == (
        0,
        f"2 runs forgotten, 2 left in {store.path}\n",
    )
    assert (
        run("store", "forget", store.path, "--all").stdout
        == f"2 runs forgotten, 0 left in {store.path}\n"
    )


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (
            [],
            2,
            "expected --learner or --dataset to choose runs, or --all for all of them",
        ),
        (
            ["--all", "--learner", "pa1"],
            2,
            "--all cannot be combined with --learner or --dataset",
        ),
        (["--learner", "pa"], 1, "did you mean 'pa1'?"),
        (["--dataset", "digit"], 1, "did you mean 'digits'?"),
    ],
)
def test_what_cannot_be_forgotten_is_one_line(
    store: Store, options: list[str], code: int, said: str
) -> None:
    done = run("store", "forget", store.path, *options)
    assert done.exit_code == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert len(store.done()) == 4


def evaluate(shelf: Path, store: Path, *options: object) -> Result:
    args = (
        "evaluate",
        "--dataset",
        shelf / "dense",
        "--learner",
        "pa1",
        "--learner",
        "pa2",
        "--order",
        "time",
    )
    return run(*args, "--in-process", "--store", store, *options)


def test_force_computes_again_and_says_how_many_differ(
    shelf: Path, tmp_path: Path
) -> None:
    assert evaluate(shelf, tmp_path / "s").exit_code == 0
    store = open_store(tmp_path / "s")
    right = record_bytes(store.path)
    record = store.get(min(right))
    forget(store, {record.id})
    store.write(Record(record.run, record.id, metrics={"mistakes": 0.0}))

    for option in ("--force", "--retry=all"):
        done = evaluate(shelf, tmp_path / "s", option)
        assert done.exit_code == 0, done.output
        differ = 1 if option == "--force" else 0
        assert done.stdout.splitlines() == [
            f"2 of 2 runs computed, results in {tmp_path / 's'}",
            f"{differ} of them differ from what was in {tmp_path / 's'}",
        ]
        assert record_bytes(store.path) == right
    refused = evaluate(shelf, tmp_path / "s", "--force", "--retry", "failed")
    assert (refused.exit_code, "give only one of them" in refused.stderr) == (2, True)


def test_exit_codes_tell_of_runs_that_failed(shelf: Path, tmp_path: Path) -> None:
    """All that failed, or any where --strict asks; whether they were computed now or before."""
    assert evaluate(shelf, tmp_path / "whole", "--strict").exit_code == 0
    whole = open_store(tmp_path / "whole")
    some = open_store(tmp_path / "some", create=True)
    every = open_store(tmp_path / "every", create=True)
    for i, id in enumerate(sorted(whole.done())):
        failed = Record(whole.get(id).run, id, "timeout", "it took too long")
        every.write(failed)
        some.write(failed if i else whole.get(id))

    assert evaluate(shelf, tmp_path / "some").exit_code == 0
    for store, options, said in (
        ("some", ["--strict"], "1 of 2 runs failed (1 timeout); `olscale status "),
        ("every", [], "all 2 runs failed (2 timeout); `olscale status "),
    ):
        done = evaluate(shelf, tmp_path / store, *options)
        assert done.exit_code == 1, done.output
        assert done.stderr.splitlines()[-1].startswith(f"olscale: error: {said}")


def test_a_place_that_holds_something_else_is_named(
    shelf: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    for path, said in (
        (
            tmp_path / "file",
            "is not a metrics store but a file; name a store, or a new directory",
        ),
        (
            shelf / "dense",
            "is not a metrics store but a dataset (it has a manifest.json)",
        ),
    ):
        before = sorted(path.iterdir()) if path.is_dir() else path.read_text()
        for done in (run("results", path), evaluate(shelf, path)):
            assert done.exit_code == 1
            assert f"{path} {said}" in done.stderr.splitlines()[-1]
        assert before == (sorted(path.iterdir()) if path.is_dir() else path.read_text())


def test_a_damaged_store_json_is_mended_and_said_so(
    shelf: Path, tmp_path: Path
) -> None:
    assert evaluate(shelf, tmp_path / "s").exit_code == 0
    (tmp_path / "s" / "store.json").write_bytes(b"\0" * 64)
    refused = run("results", tmp_path / "s")
    assert refused.exit_code == 1
    assert "olscale evaluate on it makes store.json anew" in refused.stderr
    done = evaluate(shelf, tmp_path / "s")
    assert done.exit_code == 0
    assert f"set aside damaged file store.json of {tmp_path / 's'}" in done.stderr
    assert (tmp_path / "s" / "store.json").read_bytes() == version_bytes(3)
    (tmp_path / "s" / "store.json").write_text(
        '{"format": "of somebody else", "version": 1}'
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "store.json").write_text(
        '{"format": "of somebody else", "version": 1}'
    )
    assert evaluate(shelf, tmp_path / "other").exit_code == 1
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["store.json"]
