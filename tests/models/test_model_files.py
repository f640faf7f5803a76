"""Model files that are damaged or hostile are refused in one line, and nothing they say is run."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

import olscale
from olscale.errors import ModelError
from olscale.storage.checked_arrays import read_arrays, write_arrays
from tests.fuzz.models import seeds


def written(tmp_path: Path, change: dict[bytes, bytes], **arrays: np.ndarray) -> Path:
    found = dict(read_arrays(io.BytesIO(seeds()[0]["model.olm"]))) | arrays
    text = found["model.json"].tobytes()
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    found["model.json"] = np.frombuffer(text, dtype=np.uint8)
    with (tmp_path / "m.olm").open("wb") as file:
        write_arrays(file, found.items())
    return tmp_path / "m.olm"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({b'"format":1': b'"format":4'}, "of a later version of olscale"),
        ({b'"pa1"': b'"os:system"'}, "its learner 'os:system' is none of olscale's"),
        (
            {b'"version":1': b'"version":99'},
            "learned by version 99 of pa1, here is version 1",
        ),
        ({b'"count":3': b'"count":4'}, "has 3 names"),
        (
            {b'"classes":["x","y","z"]': b'"classes":["x","y","z","zz"]'},
            "state does not fit learner pa1",
        ),
        ({b'"classes":["x","y","z"]': b'"classes":["y","x","z"]'}, "sorted, each once"),
        ({b'"standardize",': b""}, "it has arrays of transform1|not fitted"),
        ({b'"format":1': b'"format":1,"more":1'}, "at more: Extra inputs"),
    ],
)
def test_what_does_not_fit_is_refused(
    change: dict[bytes, bytes], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=said) as refused:
        olscale.load_model(written(tmp_path, change))
    assert "\n" not in str(refused.value)


def test_a_learner_of_ones_own_is_imported_only_where_it_is_named(
    tmp_path: Path,
) -> None:
    file = written(
        tmp_path, {b'"pa1"': b'"olscale.learners.linear.passive_aggressive:PA1"'}
    )
    with pytest.raises(ModelError, match="trust it, name it too: --learner") as refused:
        olscale.load_model(file)
    assert "damaged" not in str(refused.value)
    assert olscale.load_model(
        file, "olscale.learners.linear.passive_aggressive:PA1"
    ).classes_.tolist() == ["x", "y", "z"]
    with pytest.raises(ModelError, match="os:system"):
        olscale.load_model(written(tmp_path, {b'"pa1"': b'"os:system"'}), "os:system")


def test_a_store_in_place_of_a_model_is_refused_by_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a folder, expected a model file; olscale"):
        olscale.load_model(tmp_path)


def test_a_file_is_no_larger_than_it_says(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.olm", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json.npy", bytes(1 << 24))
    with pytest.raises(ModelError, match="it is compressed"):
        olscale.load_model(tmp_path / "bomb.olm")
    huge = {
        "sparse/learner/W/shape": np.array([1 << 40, 3]),
        "sparse/learner/W/at": np.array([1 << 50]),
    }
    with pytest.raises(
        ModelError, match=r"lie outside of it|does not fit the memory|damaged"
    ):
        olscale.load_model(
            written(
                tmp_path, {}, **huge, **{"sparse/learner/W/blocks": np.zeros((1, 32))}
            )
        )


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    data = seeds()[0]["model.olm"]
    for place in range(100, len(data) - 1000, 997):
        (tmp_path / "m.olm").write_bytes(
            data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        )
        try:
            olscale.load_model(tmp_path / "m.olm")
        except ModelError:
            continue
        # Dates and the like in zip headers are no content.
        assert (
            read_arrays(io.BytesIO((tmp_path / "m.olm").read_bytes())).keys()
            == read_arrays(io.BytesIO(data)).keys()
        )


def test_a_saved_file_appears_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.olm").write_bytes(seeds()[0]["model.olm"])
    model = olscale.load_model(tmp_path / "m.olm")

    def broken(allow_pickle: bool) -> dict[str, np.ndarray]:
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "arrays", broken)
    with pytest.raises(KeyboardInterrupt):
        model.save(tmp_path / "other.olm")
    assert [path.name for path in tmp_path.iterdir()] == ["m.olm"]
