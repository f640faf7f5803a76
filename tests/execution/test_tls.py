"""Encrypted connections: certificates that are made and checked, and clusters that speak under them only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olscale.errors import ExecutionError
from olscale.evaluation.experiment import Experiment, parse_experiment
from olscale.execution.evaluate import evaluate
from olscale.execution.tls import CERTIFICATE, KEY, security
from tests.record_bytes import record_bytes

ROOT = Path(__file__).parents[2]

pytest.importorskip("cryptography")


def experiment(shelf: Path) -> Experiment:
    return parse_experiment(
        {
            "datasets": [{"path": str(shelf / "dense")}],
            "learners": [{"name": "pa1"}],
            "protocol": {"permutations": 2},
        }
    )


def test_a_folder_is_made_once_and_its_key_is_for_its_owner_only(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "new" / "keys"
    security(folder)
    made = {name: (folder / name).read_bytes() for name in (CERTIFICATE, KEY)}
    assert (folder / KEY).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.parent.iterdir()] == ["keys"]
    settings = security(folder)
    assert {name: (folder / name).read_bytes() for name in (CERTIFICATE, KEY)} == made
    assert settings.require_encryption
    assert settings.get_tls_config_for_role("worker")["key"] == str(folder / KEY)


def test_a_missing_file_and_a_key_that_others_read_are_refused(tmp_path: Path) -> None:
    security(tmp_path / "keys")
    (tmp_path / "keys" / KEY).chmod(0o644)
    with pytest.raises(ExecutionError, match="mode 644, expected 600"):
        security(tmp_path / "keys")
    (tmp_path / "keys" / KEY).unlink()
    with pytest.raises(ExecutionError, match=r"has no key\.pem"):
        security(tmp_path / "keys")


def test_without_cryptography_the_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ExecutionError, match=r"pip install cryptography"):
        security(tmp_path / "keys")
    assert list(tmp_path.iterdir()) == []


def test_a_local_cluster_under_tls_gives_the_same_bytes(
    shelf: Path, tmp_path: Path
) -> None:
    evaluate(experiment(shelf), tmp_path / "plain", in_process=True)
    evaluate(experiment(shelf), tmp_path / "secret", workers=1, tls=tmp_path / "keys")
    assert record_bytes(tmp_path / "secret") == record_bytes(tmp_path / "plain")


def test_a_scheduler_and_a_driver_that_disagree_on_encryption_are_one_line(
    shelf: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        ExecutionError,
        match="wants encryption; give the folder of its certificate with --tls",
    ):
        evaluate(
            experiment(shelf), tmp_path / "store", scheduler="tls://127.0.0.1:8786"
        )
    with pytest.raises(ExecutionError, match="does not encrypt, but --tls"):
        evaluate(
            experiment(shelf),
            tmp_path / "store",
            scheduler="tcp://127.0.0.1:8786",
            tls=tmp_path / "keys",
        )
    assert not (tmp_path / "store").exists()


def test_the_script_starts_a_cluster_that_only_its_certificate_opens(
    shelf: Path, tmp_path: Path
) -> None:
    """With the same certificate the experiment runs; another one is refused, in one line."""
    security(tmp_path / "other")
    twice = (
        "import sys; from olscale.cli import main, olscale\n"
        f"words = ['evaluate', '--dataset', {str(shelf / 'dense')!r}, '--learner', 'pa1', "
        "'--scheduler', sys.argv[1]]\n"
        f"olscale([*words, '--store', {str(tmp_path / 'ok')!r}, '--tls', "
        f"{str(tmp_path / 'keys')!r}], "
        "standalone_mode=False)\n"
        f"main([*words, '--store', {str(tmp_path / 'no')!r}, '--tls', "
        f"{str(tmp_path / 'other')!r}])\n"
    )
    done = subprocess.run(
        [str(ROOT / "cluster" / "local.sh"), "1", sys.executable, "-c", twice, "{}"],
        env=environment()
        | {"OLSCALE_TLS": str(tmp_path / "keys"), "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert "10 of 10 runs computed" in done.stdout
    assert "certificate does not match" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "no").exists()


def environment() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": str(ROOT)}
