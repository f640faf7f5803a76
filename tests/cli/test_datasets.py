"""The commands that make and show datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from olscale.cli.datasets import datasets
from olscale.cli.ingest import ingest
from olscale.data.dataset import open_dataset
from olscale.errors import OlscaleError


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with three sources."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        Path(f"{name}.csv").write_text("x,y,label\n1,2,0\n3,4,1\n5,6,1\n")
    return tmp_path


def run(command, *args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(command, args)
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    ("args", "train", "test"),
    [
        (("a.csv", "D"), "a", ""),
        (("a.csv", "D", "--test", "b.csv"), "a", "b"),
        (("a.csv", "D", "--test", "b.csv", "c.csv"), "a", "bc"),
        (("a.csv", "D", "--test", "b.csv", "c.csv", "--chunk-rows", "2"), "a", "bc"),
        (("a.csv", "D", "--test", "b.csv", "--test", "c.csv"), "a", "bc"),
        (("--test", "c.csv", "a.csv", "b.csv", "D"), "ab", "c"),
        (("a.csv", "--test", "c.csv", "D"), "a", "c"),
        (("a.csv", "b.csv", "D", "--test=c.csv"), "ab", "c"),
        (
            (
                "--chunk-rows",
                "2",
                "a.csv",
                "D",
                "--layout",
                "parquet",
                "--test",
                "b.csv",
                "c.csv",
            ),
            "a",
            "bc",
        ),
    ],
)
def test_sources_and_tests(shelf: Path, args: tuple[str, ...], train: str, test: str):
    run(ingest, *args)
    sources = open_dataset("D").manifest.sources
    assert "".join(s.name[0] for s in sources if s.split == "train") == train
    assert "".join(s.name[0] for s in sources if s.split == "test") == test


def test_ingest_says_what_it_made(shelf: Path):
    lines = run(ingest, "a.csv", "D", "--test", "b.csv").output.splitlines()
    assert lines[0] == "D: 3 train + 3 test rows x 2 columns, 2 classes, dense, zarr"
    assert lines[1].startswith(
        "read as: delimiter ',', header, label 'label' (2 classes), 2 numbers; override with"
    )
    assert lines[2] == "classes: 0 1 (33.3 %), 1 2 (66.7 %)"
    assert not any(line.startswith("columns") for line in lines), (
        "the second line has said that all are numbers"
    )
    assert lines[-1].endswith(f"fingerprint {open_dataset('D').fingerprint[:12]}")
    assert "MB/s" not in lines[-1]  # no speed from a few bytes


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("a.csv",),
        ("a.csv", "D", "--layout", "tar"),
        ("a.csv", "D", "--chunk-rows", "0"),
    ],
)
def test_bad_usage_exits_with_2(shelf: Path, args: tuple[str, ...]):
    run(ingest, *args, code=2)
    assert not Path("D").exists()


def test_label_by_name_and_position(shelf: Path):
    for number, label in enumerate(("x", "0", "-3")):
        run(ingest, "a.csv", f"D{number}", "--label", label)
        assert open_dataset(f"D{number}").classes == (1, 3, 5)


def test_list_show_verify_export_generate(shelf: Path):
    assert run(datasets, "list", ".").output == "no datasets under .\n"
    run(ingest, "a.csv", "D10", "--test", "b.csv")
    run(datasets, "generate", "rotating-xor", "D2", "--rows", "150", "--seed", "4")
    Path("D3").mkdir()
    Path("D3/ingest.json").write_text("{}")
    rows = [
        line.split()
        for line in run(datasets, "list").output.splitlines()
        if line.startswith("D")
    ]
    assert [row[:6] for row in rows] == [
        ["D2", "dense", "150", "-", "2", "2"],
        ["D3", "unfinished"],
        ["D10", "dense", "3", "3", "2", "2"],
    ]
    facts = json.loads(run(datasets, "show", "D10", "--json").output)
    assert (facts["name"], facts["rows"], facts["classes"]) == (
        "D10",
        {"train": 3, "test": 3},
        [0, 1],
    )
    assert facts["fingerprint"] == open_dataset("D10").fingerprint
    shown = run(datasets, "show", "D2").output
    assert "150 train" in shown
    assert "2 train" in next(
        line for line in shown.splitlines() if line.startswith("segments")
    )
    assert "intact" in run(datasets, "verify", "D10").output
    run(datasets, "export", "D10", "out.csv", "--split", "test")
    assert Path("out.csv").read_text() == Path("b.csv").read_text()


def test_fetch_makes_a_dataset_and_tells_the_notes(
    small_catalogue: dict[str, Any], tmp_path: Path
):
    lines = run(datasets, "fetch", "ring", str(tmp_path / "d")).output.splitlines()
    fingerprint = open_dataset(tmp_path / "d").fingerprint[:12]
    assert lines == [
        f"d: 30 train + 12 test rows x 3 columns, fingerprint {fingerprint}",
        "note: round",
    ]
    with pytest.raises(OlscaleError, match="did you mean 'ring'"):
        CliRunner().invoke(datasets, ["fetch", "rimg", "x"], catch_exceptions=False)


def test_list_shows_the_catalogue_after_what_is_here(
    small_catalogue: dict[str, Any], shelf: Path
):
    run(ingest, "a.csv", "D")
    output = run(datasets, "list").output
    assert output.index("\nD ") < output.index("\ncatalogue ")
    rows = {line.split()[0]: line.split() for line in output.splitlines() if line}
    assert rows["ring"] == [
        "ring",
        "points",
        "on",
        "a",
        "ring",
        "30",
        "12",
        "3",
        "2",
        "mirror",
    ]
    assert rows["gone"][-1] == "absent"
    assert "ring" not in run(datasets, "list", ".").output


def test_ingest_cuts_and_drops(shelf: Path):
    run(ingest, "a.csv", "D", "--train-rows", "2", "--drop", "x")
    made = open_dataset("D")
    assert (made.rows("train"), made.rows("test"), made.manifest.feature_names) == (
        2,
        1,
        ("y",),
    )


def test_show_lists_columns_and_classes(shelf: Path):
    wide = ",".join(f"c{i}" for i in range(30))
    Path("wide.csv").write_text(
        f"id,word,{wide},y\n"
        + f"7,red,{','.join(['1'] * 30)},0\n"
        + f"8,,{','.join([''] * 30)},1\n"
    )
    run(ingest, "wide.csv", "W", "--drop", "id")
    short = run(datasets, "show", "W").output
    whole = run(datasets, "show", "W", "--columns").output
    assert "train rows   0 1 (50.0 %), 1 1 (50.0 %)" in short
    assert (
        "encoding     30 numeric, 1 text -> 1 columns, one per value (word 1 as 'red'), dropped id"
        in short
    )
    assert "and 13 more columns; --columns lists them all" in short
    listed = [line.split() for line in whole.splitlines() if line]
    assert ["c29", "numeric", "1"] in listed
    assert ["word", "text,", "1", "value", "1"] in listed
    assert ["id", "dropped", "-"] in listed
    assert ["y", "label", "-"] in listed
    facts = json.loads(run(datasets, "show", "W", "--json").output)
    assert facts["class_rows"] == {"train": [1, 1]}
    assert facts["missing"]["train"]["c0"] == 1
    assert facts["table"]["dropped"] == ["id"]


def test_datasets_of_before_show_what_they_keep():
    old = Path(__file__).parents[1] / "data" / "fixtures" / "version2" / "table-zarr"
    shown = run(datasets, "show", str(old)).output
    assert ["day", "feature", "-"] in [line.split() for line in shown.splitlines()]
    assert "encoding" not in shown
    assert (
        "note: its manifest, of format version 2, has no checksum"
        in run(datasets, "verify", str(old)).output
    )
