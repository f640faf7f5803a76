"""Published figures are read, and a difference from them gets its verdict."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from olscale.analysis.ledger import VERDICTS
from olscale.analysis.published import PublishedCell, difference, read_published
from olscale.errors import FormatError
from tests.analysis.published_cell import published


def test_a_difference_is_measured_in_joint_deviations() -> None:
    cell = published(mean=0.20, std=0.03)
    assert difference(0.30, 0.04, 2, cell).distance == pytest.approx(2.0)
    assert difference(0.10, 0.04, 2, cell).distance == pytest.approx(-2.0)
    assert difference(0.26, 0.03, 2, published(std=None)).distance == pytest.approx(2.0)
    assert difference(0.20, 0.0, 2, published(std=0.0)).distance == 0.0
    assert difference(0.19, 0.0, 2, published(std=None)).distance == -math.inf


def test_welchs_test_is_that_of_the_runs_themselves() -> None:
    """From means and deviations alone it gives what it gives of samples that have these."""
    from scipy.stats import ttest_1samp, ttest_ind

    ours = np.array([0.10, 0.13, 0.19, 0.12])
    theirs = np.array([0.15, 0.16, 0.14, 0.18, 0.17, 0.16])
    mean = float(ours.mean())
    std = float(ours.std(ddof=1))
    cell = PublishedCell(
        "p",
        "T",
        "d",
        "PA",
        "test_error",
        float(theirs.mean()),
        float(theirs.std(ddof=1)),
        6,
    )
    assert difference(mean, std, 4, cell).p == pytest.approx(
        ttest_ind(ours, theirs, equal_var=False).pvalue
    )
    exact = published(mean=0.15, std=None)
    assert difference(mean, std, 4, exact).p == pytest.approx(
        ttest_1samp(ours, 0.15).pvalue
    )
    assert math.isnan(difference(0.2, 0.0, 1, cell).p)
    assert [difference(m, 0.0, 2, published(std=None)).p for m in (0.2, 0.21)] == [
        1.0,
        0.0,
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        # PA-I on cbcl_face: our own noise, no agreement
        (
            (0.1072, 0.0382, 20),
            (0.0375, 0.0131),
            "compatible, wide",
        ),
        # of two runs nothing can be told
        (
            (0.1072, 0.0382, 2),
            (0.0375, 0.0131),
            "compatible, wide",
        ),
        # p = 0.08, since we spread widely
        (
            (0.0210, 0.0382, 20),
            (0.0375, 0.0131),
            "compatible, wide",
        ),
        # Pegasos on cbcl_face: p = 0.09, since they do
        (
            (0.0982, 0.0136, 10),
            (0.2084, 0.1820),
            "compatible, wide",
        ),
        # p = 0.04, but within 20 %
        ((0.0440, 0.0010, 20), (0.0375, 0.0131), "reproduced"),
        ((0.0460, 0.0010, 20), (0.0375, 0.0131), "compatible, wide"),
        ((0.0660, 0.0010, 20), (0.0375, 0.0131), "not reproduced"),
        ((0.0060, 0.0010, 20), (0.0375, 0.0131), "better"),
        ((0.0460, 0.0100, 20), (0.0375, None), "compatible, wide"),
        ((0.0440, 0.0100, 20), (0.0375, None), "reproduced"),
        # one run: no p, and not close
        ((0.0460, 0.0100, 1), (0.0375, 0.0131), "compatible, wide"),
    ],
)
def test_a_wide_band_alone_reproduces_nothing(
    ours: tuple[float, float, int], theirs: tuple[float, float | None], verdict: str
) -> None:
    assert (
        difference(
            *ours, PublishedCell("p", "T", "d", "PA", "test_error", *theirs)
        ).verdict
        == verdict
    )


def test_verdicts_of_the_page_follow_from_its_figures() -> None:
    """Those of docs/reproduction.md, whose figures have two decimals: none of them is near a limit."""
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(
        encoding="utf-8"
    )
    verdicts: Counter[str] = Counter()
    for line in page.splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")]
        if len(parts) != 12 or parts[9] not in VERDICTS:
            continue
        verdicts[parts[9]] += 1
        if parts[7]:
            theirs, ours = (list(map(float, part.split("±"))) for part in parts[3:5])
            cell = published(mean=theirs[0], std=theirs[1] if len(theirs) > 1 else None)
            assert (
                difference(ours[0], ours[1], int(parts[5]), cell).verdict == parts[9]
            ), line
    counted: Counter[str] = Counter()
    for counts_text in re.findall(
        r"^[0-9]+ published cells: (.*)\.$", page, re.MULTILINE
    ):
        for part in counts_text.split("; "):
            number, _, verdict = part.partition(" ")
            counted[verdict] += int(number)
    assert counted == verdicts


def test_the_published_tables_are_read() -> None:
    cells = read_published()
    assert len(cells) == 187
    assert {cell.source for cell in cells} == {"lol-2016", "pamo-2018", "ospvm-2016"}
    assert {
        cell.dataset
        for cell in cells
        if (cell.source, cell.table) == ("pamo-2018", "Table 2")
    } == {
        "a9a-joined",
        "w7a",
        "w8a-joined",
        "ijcnn1-joined",
    }
    assert [
        cell.std
        for cell in cells
        if cell.dataset == "webspam" and cell.source == "lol-2016"
    ] == [None] * 11


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("p,T,d,PA,test_error,5.0,1.0", "occurs a second time"),
        ("p,T,d,LOL,test_error,105,1.0", "'105' is no percentage"),
        ("p,T,d,LOL,test_error,x,1.0", "'x' is no percentage"),
        ("p,T,d,LOL,accuracy,5,1.0", "expected four names and one of test_error"),
        ("p,T,d,LOL,test_error,5", "6 fields, expected 7"),
    ],
)
def test_a_line_that_does_not_fit_is_named(
    tmp_path: Path, line: str, said: str
) -> None:
    file = tmp_path / "tables.csv"
    head = "source,table,dataset,learner,metric,mean_percent,std_percent\np,T,d,PA,test_error,5.0,\n"
    file.write_text(head + line + "\n")
    with pytest.raises(FormatError, match="line 3") as fault:
        read_published(file)
    assert said in str(fault.value)
    file.write_text("table\n")
    with pytest.raises(FormatError, match="the columns are table"):
        read_published(file)
