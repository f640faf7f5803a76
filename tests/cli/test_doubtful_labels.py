"""What ingest says of labels that may be one class, so that nobody learns them apart unawares."""

from pathlib import Path

import numpy as np
import pytest

from olscale.cli.doubtful_labels import doubtful_label_lines
from olscale.data.ingest.ingest import ingest

SAID = {
    "True TRUE true no": "'TRUE' and 'True' and 'true' are different classes",
    "True yes no false": "'True' and 'yes', 'false' and 'no' are different classes",
    "x y label": "a class is called as its column, 'label'",
    "t f y n": None,
    "yes no": None,
    "spam ham": None,
}


@pytest.mark.parametrize("words", SAID)
def test_labels_that_may_be_one_class_are_named(tmp_path: Path, words: str) -> None:
    labels = words.split()
    rows = [f"{place},1,{label}\n" for place, label in enumerate(labels * 3)]
    (tmp_path / "t.csv").write_text(f"a,b,label\n{''.join(rows)}")
    manifest = ingest(tmp_path / "t.csv", tmp_path / "d").manifest
    lines = [line for _, line in doubtful_label_lines(manifest)]
    assert len(manifest.classes or ()) == len(labels)
    expected = SAID[words]
    if expected is None:
        assert lines == []
    else:
        assert len(lines) == 1
        assert lines[0].startswith(expected)


def test_labels_that_differ_in_blanks_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), y=np.array(["a", "a ", "b"]))
    manifest = ingest(tmp_path / "t.npz", tmp_path / "d").manifest
    assert [line for _, line in doubtful_label_lines(manifest)] == [
        "'a' and 'a ' are different classes; write them alike in the source if they are one"
    ]
