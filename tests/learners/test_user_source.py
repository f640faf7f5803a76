"""The digest of what users write: any edit changes it, the place does not, and what is loaded is what counts."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olscale.errors import OlscaleError
from olscale.evaluation.versions import check_sources, learner_versions
from olscale.learners.contract.version import source_note
from olscale.learners.registry import learner_class, learner_path, make_learner
from olscale.system.user_source import source_digest

MODEL = """
from sklearn.linear_model import SGDClassifier
from steps.size import STEP

class Model(SGDClassifier):
    pass

class Other(Model):
    pass

def build():
    import late_helper
    return Model(alpha=STEP)
"""

LEARNER = """
from olscale.learners.linear.perceptron import Perceptron

class Mine(Perceptron):
    name = "mine"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path with the modules `own_model`, `own_learner` and what the first imports."""
    (tmp_path / "own_model.py").write_text(MODEL)
    (tmp_path / "own_learner.py").write_text(LEARNER)
    (tmp_path / "late_helper.py").write_text("LATE = 1\n")
    (tmp_path / "unrelated.py").write_text("A = 1\n")
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "__init__.py").write_text("")
    (tmp_path / "steps" / "size.py").write_text("from .more import *\nSTEP = 0.1\n")
    (tmp_path / "steps" / "more.py").write_text("MORE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """Have Python import the modules anew, as another process would."""
    for name in (
        "own_model",
        "own_learner",
        "late_helper",
        "unrelated",
        "steps",
        "steps.size",
        "steps.more",
    ):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def version(name: str = "own_model:Model") -> str:
    return str(make_learner(name, {}).version)


@pytest.mark.parametrize(
    "file", ["own_model.py", "steps/size.py", "steps/more.py", "late_helper.py"]
)
def test_an_edit_of_a_learner_or_of_what_it_imports_is_another_learner(
    home: Path, file: str
) -> None:
    before = version()
    (home / file).write_text((home / file).read_text() + "# edited\n")
    forget()
    assert version() != before


def test_an_edit_of_another_module_changes_nothing(home: Path) -> None:
    before = version()
    (home / "unrelated.py").write_text("A = 2\n")
    forget()
    assert version() == before


def test_a_digest_is_of_the_content_and_not_of_the_place(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = version()
    shutil.copytree(home, home / "moved")
    for file in (home / "moved").glob("*.py"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    for file in home.glob("*.py"):
        file.unlink()
    monkeypatch.syspath_prepend(str(home / "moved"))
    forget()
    assert version() == before
    assert learner_class("own_model:Model").__module__ == "own_model"
    assert str(home / "moved") in (sys.modules["own_model"].__file__ or "")


def test_functions_models_and_learners_of_ours_from_outside_have_one_too(
    home: Path,
) -> None:
    (home / "own_model.py").write_text(MODEL + "model = Model()\n")
    assert version("own_model:build") == version("own_model:model") == version()
    stated, _, digest = version("own_learner:Mine").partition("+")
    assert (stated, len(digest)) == (
        "2" if make_learner("perceptron", {}).version == 2 else "1",
        12,
    )


def test_what_is_installed_or_ours_keeps_its_version() -> None:
    import sklearn

    assert (
        make_learner("sklearn.linear_model:SGDClassifier", {}).version
        == sklearn.__version__
    )
    assert make_learner("pa1", {}).version == learner_class("pa1").version
    assert (
        source_digest(
            [
                "sklearn.linear_model",
                "json",
                "olscale.compiled.decorator",
                "no_such_module",
            ]
        )
        is None
    )


def test_the_version_is_that_of_what_was_imported_not_of_the_file(home: Path) -> None:
    """A process that goes on after an edit still runs what it has imported: it must not pass for the new source."""
    before = version()
    (home / "own_model.py").write_text(MODEL + "# edited\n")
    assert version() == before
    with pytest.raises(
        OlscaleError,
        match=r"own_model was edited after Python had imported it; start Python anew",
    ):
        check_sources(["own_model:Model"])
    importlib.reload(sys.modules["own_model"])
    assert version() != before
    assert check_sources(["own_model:Model"]) == []


def test_a_class_that_was_typed_in_is_known_by_its_methods_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import linecache

    main = sys.modules["__main__"]
    monkeypatch.delattr(main, "__file__", raising=False)
    monkeypatch.setattr(main, "__spec__", None, raising=False)
    found = []
    for number, eta in enumerate((0.1, 0.2)):
        cell = (
            f"class Typed:\n    def partial_fit(self, X, y): self.eta = {eta}\n    def "
            "predict(self, X): return [0]\n"
        )
        linecache.cache[f"<cell {number}>"] = (
            len(cell),
            None,
            cell.splitlines(True),
            f"<cell {number}>",
        )
        scope = {"__name__": "__main__"}
        exec(compile(cell, f"<cell {number}>", "exec"), scope)
        monkeypatch.setattr(main, "Typed", scope["Typed"], raising=False)
        found.append(version("__main__:Typed"))
    assert found[0] != found[1]
    path = learner_path("__main__:Typed")
    assert "only edits of its methods are noticed" in source_note(
        path, learner_class(path)
    )


def test_a_learner_without_a_source_is_said_to_be_one(home: Path) -> None:
    import py_compile

    py_compile.compile(str(home / "own_model.py"), cfile=str(home / "own_model.pyc"))
    (home / "own_model.py").unlink()
    forget()
    assert version() == "0"
    assert check_sources(["own_model:Model", "pa"]) == [
        "learner own_model:Model has no source that can be read: when it changes, its results "
        "here stay those of before"
    ]


def test_what_cannot_be_imported_on_a_worker_is_an_answer(home: Path) -> None:
    found = learner_versions(["own_model:Model", "nowhere:Model"])
    assert found["own_model:Model"] == version()
    assert found["nowhere:Model"].startswith(
        "!learner 'nowhere:Model' cannot be imported (No module named 'nowhere')"
    )


def test_a_process_with_another_source_computes_nothing_under_this_id(
    home: Path,
) -> None:
    from olscale.errors import ExecutionError
    from olscale.evaluation.run import Run, StreamKey
    from olscale.evaluation.versions import check_learners

    key = StreamKey("dense", "f" * 64, (), None)
    check_learners([Run(key, "own_model:Model", version(), {}), Run(key, "pa", 99, {})])
    with pytest.raises(
        ExecutionError,
        match="own_model:Model is not what the experiment was planned with",
    ):
        check_learners([Run(key, "own_model:Model", "0+0123456789ab", {})])
