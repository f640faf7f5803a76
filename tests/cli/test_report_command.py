"""``olscale report``."""

from __future__ import annotations

import csv
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from olscale.cli import olscale as command
from olscale.report.papers import PAPERS
from olscale.results import Series, open_store, run_id, write_plan


@pytest.fixture
def store(tmp_path, make_record):
    """A store with a parameter that varies, segments and a failed run."""
    store = open_store(tmp_path / "store", create=True)
    ids = []
    for C, error in ((0.25, 0.3), (1.0, 0.2), (4.0, 0.25)):
        for i in range(2):
            record = make_record(
                params={"C": C},
                permutation=i,
                metrics={"test_error": error, "cumulative_error": error},
                curve_rows=np.array([50, 100]),
                curve_mistakes=np.array([20, round(100 * error)]),
                segments=[("Day0", 50, 20), ("Day1", 50, 10)],
            )
            store.write(record)
            ids.append(record.id)
    store.write(
        make_record(learner="cw", outcome="diverged", reason="norm is inf & <large>")
    )
    write_plan(store, "demo", ids)
    return store


def run(*args: str):
    return CliRunner().invoke(command, list(args))


def test_a_report_has_tables_figures_and_failures(store, tmp_path):
    out = tmp_path / "out"
    result = run("report", store.path, "--out", str(out))

    assert result.exit_code == 0
    assert result.stdout == f"wrote {out}/index.html and 4 figures\n"
    names = {path.name for path in (out / "figures").glob("*.svg")}
    with (out / "figures" / "index.csv").open(newline="") as file:
        index = list(csv.DictReader(file))
    assert {line["file"] for line in index} == names
    curves = next(line for line in index if line["file"] == "digits-curves.svg")
    assert (curves["section"], curves["shows"]) == ("digits", "cumulative error")
    assert curves["caption"].startswith("cumulative error, mean over")
    stems = ("digits-curves", "digits-segments", "digits-segments-map", "digits-pa1-C")
    assert names == {f"{stem}.svg" for stem in stems}
    page = (out / "index.html").read_text()
    assert '<td class="best">20.00 &plusmn; 0.00</td>' in page
    assert "best at C=1." in page
    assert "norm is inf &amp; &lt;large&gt;" in page
    assert page.count('<img src="figures/') == 4


def test_a_report_on_one_experiment(store, tmp_path):
    """The failed run belongs to none, and a second experiment is not of this page."""
    write_plan(store, "other", sorted(store.done())[:1])
    out = tmp_path / "out"
    result = run("report", store.path, "--out", str(out), "--experiment", "demo")

    assert result.exit_code == 0, result.output
    page = (out / "index.html").read_text()
    assert "best at C=1." in page
    assert "norm is inf" not in page
    assert "other" not in re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)

    unknown = run("report", store.path, "--out", str(out), "--experiment", "demos")
    assert unknown.exit_code == 1
    assert "did you mean 'demo'?" in unknown.stderr


def test_a_report_stands_alone(store, tmp_path):
    run("report", store.path, "--out", str(tmp_path / "out"))
    page = (tmp_path / "out" / "index.html").read_text()

    assert page.count("<script>") == 5
    page = page[: page.rindex("</main>")]
    targets = re.findall(r'(?:src|href)="([^"#][^"]*)"', page)
    links = [target for target in targets if not target.startswith("data:")]
    assert all((tmp_path / "out" / link).exists() for link in links)
    anchors = set(re.findall(r'href="#([^"]+)"', page))
    assert anchors == set(re.findall(r'<section id="([^"]+)"', page))
    for heading in ("failed", "runs", "data sets", "best mean rank"):
        assert f"<dt>{heading}</dt>" in page
    assert page.index("Leaderboard by") < page.index("<h2>Runs</h2>")


def test_a_static_report_has_no_script(store, tmp_path):
    run("report", store.path, "--out", str(tmp_path / "out"), "--static")
    page = (tmp_path / "out" / "index.html").read_text()

    assert "<script" not in page
    assert page.count("data:image/svg+xml;base64,") == 4


def test_the_same_store_gives_the_same_bytes(store, tmp_path):
    for name in ("one", "two"):
        run("report", store.path, "--out", str(tmp_path / name))

    files = sorted(
        path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")
    )
    assert len(files) == 9  # with a page for each of three runs, and a list of figures
    assert all(
        (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
        for file in files
    )


def test_figures_come_in_other_formats_too(store, tmp_path):
    result = run(
        "report",
        store.path,
        "--out",
        str(tmp_path / "out"),
        "--also",
        "pdf",
        "--also",
        "png",
    )

    assert result.stdout.endswith("and 4 figures\n")
    suffixes = [
        path.suffix
        for path in sorted((tmp_path / "out" / "figures").glob("digits-curves.*"))
    ]
    assert suffixes == [".pdf", ".png", ".svg"]
    assert (
        'href="figures/digits-curves.pdf"'
        in (tmp_path / "out" / "index.html").read_text()
    )


def test_figures_for_a_journal_have_its_width_and_font(store, tmp_path):
    out = tmp_path / "out"
    journal = ("--figures", "pdf", "--size", "3.5in", "--font", "DejaVu Serif")
    assert run("report", store.path, "--out", str(out), *journal).exit_code == 0

    for name in ("digits-curves", "digits-pa1-C"):
        pdf = (out / "figures" / f"{name}.pdf").read_bytes()
        width = float(re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ", pdf)[1])
        assert width == pytest.approx(3.5 * 72, abs=1)
        assert b"DejaVuSerif" in pdf
    unknown = run("report", store.path, "--out", str(out), "--font", "Dejavu serif")
    assert unknown.exit_code == 1
    assert "unknown font 'Dejavu serif'; did you mean 'DejaVu Serif'?" in unknown.stderr
    assert run("report", store.path, "--out", str(out), "--size", "3").exit_code == 2


def test_figures_of_a_paper_and_what_is_missing(store, tmp_path, small_catalogue):
    result = run(
        "report", store.path, "--out", str(tmp_path / "out"), "--paper", "pamo-2018"
    )

    assert result.exit_code == 0
    assert (tmp_path / "out" / "figures" / "pamo-2018-fig8.svg").exists()
    lines = result.stderr.splitlines()
    assert [line.split()[1] for line in lines] == [
        "pamo-2018-fig6",
        "pamo-2018-fig7",
        "pamo-2018-fig9",
    ]
    assert all(
        "olscale evaluate pipelines/pamo-2018-figures.toml" in line for line in lines
    )


def test_the_help_names_every_paper():
    # a line may end within a name
    text = "".join(run("report", "--help").stdout.split())

    assert all(name in text for name in PAPERS)


def test_an_empty_store_says_what_to_do(tmp_path):
    open_store(tmp_path / "store", create=True)

    result = run("report", str(tmp_path / "store"), "--out", str(tmp_path / "out"))

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "holds no finished runs yet" in result.stderr
    assert "olscale evaluate" in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_unknown_paper_is_refused_before_anything_is_written(store, tmp_path):
    result = run(
        "report", store.path, "--out", str(tmp_path / "out"), "--paper", "lol-2017"
    )

    assert result.exit_code == 1
    assert "unknown paper 'lol-2017'; did you mean 'lol-2016'?" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_to(store, tmp_path):
    (tmp_path / "file").write_text("")

    result = run("report", store.path, "--out", str(tmp_path / "file"))

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert f"cannot write {tmp_path}/file" in result.stderr


def test_without_matplotlib_the_message_says_what_to_type(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    result = run("report", store.path, "--out", str(tmp_path / "out"))

    assert result.exit_code == 1
    assert "pip install matplotlib" in result.stderr


def test_a_store_in_which_every_run_failed(tmp_path, make_record):
    store = open_store(tmp_path / "store", create=True)
    store.write(make_record(learner="cw", outcome="diverged", reason="norm is inf"))

    result = run("report", store.path, "--out", str(tmp_path / "out"))

    assert result.exit_code == 0
    assert "norm is inf" in (tmp_path / "out" / "index.html").read_text()


def test_damaged_files_are_left_out_on_demand(store, tmp_path):
    damaged = next((tmp_path / "store" / "runs").rglob("*.parquet"))
    damaged.write_bytes(b"half a fi")

    refused = run("report", store.path, "--out", str(tmp_path / "out"))
    result = run("report", store.path, "--out", str(tmp_path / "out"), "--skip-damaged")

    assert (refused.exit_code, result.exit_code) == (1, 0)
    assert damaged.name in result.stderr


def test_what_the_protocol_asked_for_is_drawn(tmp_path, make_record):
    store = open_store(tmp_path / "watched", create=True)
    names = ("window_error", "fading_error", "holdout_error")
    record = make_record(
        metrics={
            "cumulative_error": 0.2,
            "drift_alarms": 1.0,
            **dict.fromkeys(names, 0.1),
        },
        curve_rows=np.array([50, 100]),
        curve_mistakes=np.array([20, 30]),
        series=[
            *(
                Series(name, np.array([50, 100]), np.array([0.3, 0.1]))
                for name in names
            ),
            Series("drift_alarms", np.array([70]), np.array([1.0])),
        ],
    )
    options = {
        "window": 50,
        "fading": 0.9,
        "holdout_every": 25,
        "drift": "adwin",
        "drift_version": "river 0",
    }
    run_of = {**record.run, "protocol": {**record.run["protocol"], **options}}
    store.write(replace(record, run=run_of, id=run_id(run_of)))
    out = tmp_path / "out"

    assert run("report", store.path, "--out", str(out)).exit_code == 0

    page = (out / "index.html").read_text()
    assert page.count('<img src="figures/') == 5
    for caption in (
        "digits: window error over the last 50 rows; triangles: drift alarms.",
        "digits: fading error with the fading factor 0.9.",
        "digits: holdout error every 25 rows.",
        "digits: rows at which adwin (river 0) raised an alarm.",
    ):
        assert f"{caption} (" in page
    chips = ("permuted order", "drift adwin (river 0)", "fading 0.9")
    assert all(f'<span class="chip" title="{chip}">' in page for chip in chips)
