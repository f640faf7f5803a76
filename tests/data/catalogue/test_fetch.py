"""Fetching: from the mirror or the net, checked, whole or not at all, and once however many ask."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from olscale.data.catalogue.entries import CatalogueEntry
from olscale.data.catalogue.fetch import availability, data_home, fetch, locate
from olscale.data.dataset import open_dataset
from olscale.errors import DatasetError, UnknownNameError

ROWS = b"".join(b"%+d 1:%d 2:1\n" % (1 - 2 * (i % 2), i) for i in range(20))


class Net:
    """A web server: `pages` are what it gives, `asked` what was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut = False
        net = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                net.asked.append(self.path)
                content = net.pages.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write((content or b"")[: 50 if net.cut else None])

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, page: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}{page}"


@pytest.fixture
def net() -> Iterator[Net]:
    net = Net()
    yield net
    net.server.shutdown()
    net.server.server_close()


@pytest.fixture
def remote(
    small_catalogue: dict[str, Any], net: Net, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A set `far` with one file in the net; call the value of ``"describe"`` to change what is known of the file."""
    monkeypatch.delenv("OLSCALE_DATA")
    net.pages["/rows.svm"] = ROWS

    def describe(**known: Any) -> None:
        file = {
            "path": "far/rows.svm",
            "role": "train",
            "url": net.url("/rows.svm"),
            **known,
        }
        common = {
            "title": "t",
            "what": "w",
            "page": "https://page",
            "rows": {"train": 20},
            "columns": 2,
            "classes": 2,
        }
        small_catalogue["far"] = CatalogueEntry(name="far", files=[file], **common)

    describe()
    return {"describe": describe}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def files_under(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    )


def test_a_mirror_gives_both_splits_and_their_checksums(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    made = fetch("ring", tmp_path / "ring")
    assert {split: made.rows(split) for split in made.splits} == {
        "train": 30,
        "test": 12,
    }
    known = {file.role: file.sha256[0] for file in small_catalogue["ring"].files}
    assert {source.split: source.sha256 for source in made.manifest.sources} == known


def test_a_damaged_file_in_the_mirror_is_named(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "mirror" / "ring" / "test"
    expected = small_catalogue["ring"].files[1].sha256[0]
    file.write_bytes(b"+1 1:1\n")
    with pytest.raises(DatasetError) as caught:
        fetch("ring", tmp_path / "ring")
    assert str(caught.value) == (
        f"{file}: wrong checksum: got sha256 {sha256(file.read_bytes())}, expected {expected}; "
        "replace the file"
    )
    assert not (tmp_path / "ring").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "gone",
            r"gone cannot be fetched: its owner keeps it \(see https://page\); .* `olscale ingest YOUR_FILES .*gone`",
        ),
        (
            "lost",
            r"lost cannot be downloaded: its form is another \(see https://page\), and the mirror .* lost/rows",
        ),
    ],
)
def test_what_cannot_be_had_is_said_with_the_cure(
    small_catalogue: dict[str, Any], tmp_path: Path, name: str, said: str
) -> None:
    for get in (lambda: fetch(name, tmp_path / name), lambda: locate(name)):
        with pytest.raises(DatasetError, match=said):
            get()
    assert not (tmp_path / name).exists()


def test_a_copy_of_ones_own_is_found_where_the_error_says(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    from olscale.data.ingest.ingest import ingest

    ingest(tmp_path / "mirror" / "ring" / "train", f"{data_home()}/gone")
    assert open_dataset(locate("gone")).rows() == 30
    assert availability(small_catalogue["gone"]) == "ingested"


def test_a_download_with_the_published_checksum_is_silent_but_for_its_line(
    remote: dict[str, Any], net: Net, tmp_path: Path
) -> None:
    remote["describe"](sha256=[sha256(ROWS)], published=True)
    said: list[str] = []
    made = fetch("far", tmp_path / "far", say=said.append)
    assert made.rows() == 20
    assert said == [f"downloading {net.url('/rows.svm')}"]
    fetch("far", tmp_path / "again", say=said.append)
    assert net.asked == ["/rows.svm"], "a file once downloaded is kept"
    assert files_under(tmp_path / "cache") == ["olscale/downloads/far/rows.svm"]


def test_a_kept_download_that_was_damaged_is_fetched_again(
    remote: dict[str, Any], net: Net, tmp_path: Path
) -> None:
    remote["describe"](sha256=[sha256(ROWS)], published=True)
    kept = tmp_path / "cache" / "olscale" / "downloads" / "far" / "rows.svm"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(ROWS[:100])
    said: list[str] = []
    assert fetch("far", tmp_path / "far", say=said.append).rows() == 20
    assert said[0] == f"{kept} has a wrong checksum and is downloaded again"


def test_a_download_nobody_vouches_for_is_kept_with_a_warning(
    remote: dict[str, Any], tmp_path: Path
) -> None:
    remote["describe"](sha256=["0" * 64])
    said: list[str] = []
    made = fetch("far", tmp_path / "far", say=said.append)
    assert (
        f"no checksum is published for {said[0].split()[1]}; got {len(ROWS)} bytes with sha256 "
        f"{sha256(ROWS)}" in said[1]
    )
    assert [source.sha256 for source in made.manifest.sources] == [sha256(ROWS)]


def test_a_download_with_a_wrong_checksum_leaves_nothing(
    remote: dict[str, Any], tmp_path: Path
) -> None:
    remote["describe"](sha256=["0" * 64], published=True)
    with pytest.raises(DatasetError) as caught:
        fetch("far", tmp_path / "far")
    assert f"wrong checksum: got sha256 {sha256(ROWS)}, expected {'0' * 64}" in str(
        caught.value
    )
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "far").exists()
    assert files_under(tmp_path / "cache") == []


@pytest.mark.parametrize("fault", ["cut", "404", "no server"])
def test_a_download_that_breaks_off_is_one_line_and_leaves_nothing(
    remote: dict[str, Any], net: Net, tmp_path: Path, fault: str
) -> None:
    if fault == "cut":
        net.cut = True
    elif fault == "404":
        net.pages.clear()
    else:
        remote["describe"](url="http://127.0.0.1:9/rows.svm")
    with pytest.raises(DatasetError, match="cannot be downloaded") as caught:
        fetch("far", tmp_path / "far")
    assert "\n" not in str(caught.value)
    assert "downloads/far/rows.svm" in str(caught.value)
    assert not (tmp_path / "far").exists()
    assert files_under(tmp_path / "cache") == []
    net.cut = False
    if fault == "cut":
        assert fetch("far", tmp_path / "far").rows() == 20


def test_a_dataset_that_is_there_is_not_fetched_over(
    remote: dict[str, Any], net: Net, tmp_path: Path
) -> None:
    fetch("far", tmp_path / "far")
    with pytest.raises(DatasetError, match="already is a dataset"):
        fetch("far", tmp_path / "far")
    assert net.asked == ["/rows.svm"]


def test_where_a_set_can_be_had(
    small_catalogue: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [availability(entry) for entry in small_catalogue.values()] == [
        "mirror",
        "absent",
        "needs OLSCALE_DATA",
    ]
    locate("ring")
    assert availability(small_catalogue["ring"]) == "ingested"
    monkeypatch.setenv("OLSCALE_DATASETS", f"{os.environ['OLSCALE_DATASETS']}-2")
    monkeypatch.delenv("OLSCALE_DATA")
    assert availability(small_catalogue["ring"]) == "download"


def test_locate_fetches_once_and_says_so(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    said: list[str] = []
    path = locate("ring", say=said.append)
    assert path == str(tmp_path / "home" / "ring")
    assert said == [f"fetching data set ring into {path}"]
    assert locate("ring", say=said.append) == path
    assert len(said) == 1
    with pytest.raises(UnknownNameError, match="did you mean 'ring'"):
        locate("rings")


def test_a_data_home_that_cannot_be_written_is_one_line(
    small_catalogue: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OLSCALE_DATASETS", str(tmp_path / "file"))
    with pytest.raises(DatasetError, match="set OLSCALE_DATASETS to another folder"):
        locate("ring")


@pytest.mark.long
def test_processes_that_ask_at_once_share_one_dataset(
    small_catalogue: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "entry.json").write_text(small_catalogue["ring"].model_dump_json())
    code = (
        "import sys, olscale.data.catalogue.entries as c\n"
        "entry = c.CatalogueEntry.model_validate_json(open(sys.argv[1]).read())\n"
        "c.catalogue = lambda: {'ring': entry}\n"
        "from olscale.data.catalogue.fetch import locate\n"
        "from olscale.data.dataset import open_dataset\n"
        "said = []\n"
        "open_dataset(locate('ring', say=said.append)).verify()\n"
        "print(len(said))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "entry.json")]
    several = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [json.loads(process.communicate(timeout=200)[0]) for process in several]
    assert [process.returncode for process in several] == [0, 0, 0]
    assert sorted(said) == [0, 0, 1], "one makes it, the others wait"
