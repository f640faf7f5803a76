"""The report on a store: a page and its figures in a folder."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from olscale.addresses import redacted_name
from olscale.analysis import store_status, summarise, unfinished_experiments
from olscale.analysis.replicates import ReplicateFigures
from olscale.analysis.summary import Summary
from olscale.errors import ReportError, StoreError
from olscale.report.comparison import Compared
from olscale.report.facts import facts_section
from olscale.report.figures import curve_figure
from olscale.report.figures.style import ANY_SIZE, FigureSize, need_matplotlib
from olscale.report.first_screen import comparison_data, curves_for_paper, first_screen
from olscale.report.gallery import Gallery, Part
from olscale.report.html import PageSection, page_html, table_html
from olscale.report.mcnemar import rows_compared
from olscale.report.notes import unfinished_notes
from olscale.report.papers import FigureSource, paper_figures
from olscale.report.ranks import comparisons_of, rank_section
from olscale.report.run_pages import run_pages
from olscale.report.sections import failures, overview, stream_sections
from olscale.report.selection import select
from olscale.report.tables import tables
from olscale.results import Store, open_store, store_part
from olscale.results.store import OnDamage
from olscale.storage.local import discard_parts, part_of
from olscale.system.arguments import checked_arguments
from olscale.system.garbage import seldom_collected

_MOST_PANELS = 12
"""Most panels of the figure of all data sets."""

_FIGURES_OF_DATASET = 2
"""Figures that most data sets have at least: a process is started early for as many."""

_INDEX = Path("figures", "index.csv")
"""What each file of a figure shows, within a report."""

_LONG = 40
"""Most rows of a table before the figures; longer tables come after them."""


class _Parts(NamedTuple):
    """A section whose figures are not drawn yet."""

    name: str
    parts: list[Part]
    anchor: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What was written.

    Parameters
    ----------
    page : Path
        The page.
    figures : tuple of Path
        Files of figures.
    absent : tuple of str
        Figures of papers that could not be drawn: which, why, and what to type.
    runs : tuple of Path
        Pages of single runs.
    """

    page: Path
    figures: tuple[Path, ...]
    absent: tuple[str, ...]
    runs: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report shows, and the files it consists of.

    Parameters
    ----------
    papers : sequence of str
        Also draw figures of these papers, if the store or the data home has the data
        for.
    also : sequence of {"pdf", "png", "svg"}
        Also write figures in these formats, and one of the curves on all data sets, for a paper.
    static : bool
        Leave out the scripts that make charts and tables interactive.
    metric : str, optional
        Show this metric in tables, and compare learners by it, instead of the headlines.
    learners : sequence of str
        Only these learners, by name or label: they are ranked and tested among themselves. All when
        empty.
    experiments : sequence of str
        Only the runs of these experiments, under their names; all when empty.
    size : FigureSize
        Width and font of the figures' files.
    on_damage : {"raise", "skip"}
        What to do about damaged files of the store.
    """

    papers: Sequence[str] = ()
    also: Sequence[str] = ()
    static: bool = False
    metric: str | None = None
    learners: Sequence[str] = ()
    experiments: Sequence[str] = ()
    size: FigureSize = ANY_SIZE
    on_damage: OnDamage = "raise"


@seldom_collected()
def write_report(
    store: Store,
    out: str | os.PathLike[str],
    options: ReportOptions = ReportOptions(),
) -> Report:
    """Write ``index.html``, ``figures/`` and ``runs/`` into `out`, replacing an earlier report.

    The page has the store's tables, the curves of each data set, a plot of each parameter that
    varies, errors by segment where there are segments, and failed runs with their reasons. The same
    store gives the same bytes.

    Figures are SVG, drawn on all cores. The page leaves out what would be illegible, and says so:
    of many learners the best are shown, of many data sets the first.

    Parameters
    ----------
    store : Store
    out : path
        Folder, made if it is missing.
    options : ReportOptions
        What to show; by default everything that the store has.

    Raises
    ------
    ReportError
        If matplotlib or a font is missing or `out` cannot be written to.
    UnknownNameError
        If a paper, the metric, a learner or an experiment is unknown.
    StoreError
        If the store holds no finished run, or a file of it is damaged.
    """
    need_matplotlib()
    options.size.check()
    folder = Path(out)
    with _unfinished(folder) as part:
        report = _write(store, part, options)
        # The page last: a reader of an earlier one still has its
        # figures, and a new page never lacks any.
        for file in (*report.figures, part / _INDEX, *report.runs, report.page):
            (folder / file.relative_to(part)).parent.mkdir(exist_ok=True)
            file.replace(folder / file.relative_to(part))
    figures, runs = (
        tuple(folder / file.relative_to(part) for file in files)
        for files in (report.figures, report.runs)
    )
    return Report(folder / report.page.relative_to(part), figures, report.absent, runs)


@checked_arguments()
def make_report(
    store: Store | str | os.PathLike[str],
    out: str | os.PathLike[str],
    papers: Sequence[str] = (),
    also: Sequence[str] = (),
    static: bool = False,
    metric: str | None = None,
    learners: Sequence[str] = (),
    experiments: Sequence[str] = (),
) -> Report:
    """Write a page with the tables and figures of a store, as ``olscale report`` does.

    Parameters
    ----------
    store : Store or path
        Metrics store.
    out : path
        Folder for ``index.html`` and ``figures/``, made if it is missing.
    papers, also, static, metric, learners, experiments
        As of `ReportOptions`.

    Returns
    -------
    Report

    Raises
    ------
    ReportError
        If matplotlib is missing or `out` cannot be written to.
    StoreError
        If the store holds no finished run, or a file of it is damaged.

    Examples
    --------
    >>> make_report(open_store("memory://doctest-report", create=True), "report")
    Traceback (most recent call last):
    olscale.errors.StoreError: the metrics store memory://doctest-report holds no finished runs ...
    """
    opened = store if isinstance(store, Store) else open_store(store)
    options = ReportOptions(papers, also, static, metric, learners, experiments)
    return write_report(opened, out, options)


def _drawn(section: _Parts, gallery: Gallery) -> PageSection:
    parts = [gallery.html(part, section.name) for part in section.parts]
    return PageSection(section.name, parts, section.anchor, section.group)


@contextmanager
def _unfinished(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder inside `folder`; then remove it, and `folder` if it is empty."""
    part = part_of(folder / "report")
    new = not folder.exists()
    try:
        part.mkdir(parents=True)
        # What killed processes have left; the parts of running ones stay.
        discard_parts(folder / "report")
        yield part
    except OSError as fault:
        raise ReportError(
            f"cannot write {folder}: {fault.strerror or fault}; name another folder"
        ) from fault
    except ReportError as fault:
        # The user has named the folder, and not the temporary one in it.
        raise ReportError(str(fault).replace(str(part), str(folder))) from fault
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if new:
            with suppress(OSError):  # it holds the report
                folder.rmdir()


def _write(store: Store, folder: Path, options: ReportOptions) -> Report:
    """Write the report into an existing folder."""
    on_damage = options.on_damage
    figures_of = [(paper, paper_figures(paper)) for paper in options.papers]
    store, plans = store_part.part_of(store, options.experiments, on_damage)
    names = {plan.experiment for plan in plans.values()}
    summaries = summarise(store, on_damage, experiments=names)
    damaged = store.damaged
    if not summaries:
        raise StoreError(
            f"the metrics store {store.path} holds no finished runs yet; there is nothing to "
            "report until "
            f"olscale evaluate ... --store {store.path} has put some there"
        )
    # Not before this line: an empty store has no learner to be unknown.
    summaries = select(summaries, learners=options.learners)
    source = FigureSource(store, summaries, on_damage)
    formats = tuple(dict.fromkeys(("svg", *options.also)))
    with Gallery(folder, formats, not options.static, options.size) as gallery:
        # The other process imports matplotlib while this one reads the store.
        gallery.expect(
            _FIGURES_OF_DATASET * len({summary.dataset for summary in summaries})
        )
        # Everything that has figures comes first: they are drawn while the tables are made.
        replicates = ReplicateFigures(store, on_damage)
        comparisons = comparisons_of(source, replicates, options.metric)
        on_rows = [
            list(rows_compared(comparison, store, on_damage))
            for comparison in comparisons
        ]
        ranks = rank_section(source, gallery, comparisons, replicates, on_rows)
        of_papers = [
            _Parts(
                f"Figures of {paper}",
                [gallery.paper(figure, source) for figure in figures],
            )
            for paper, figures in figures_of
        ]
        of_datasets = [
            _Parts(title, parts, f"set{number}", "Data sets")
            for number, (title, parts) in enumerate(stream_sections(source, gallery))
        ]
        _queue_paper_curves(source, gallery, comparisons, bool(options.also))
        gallery.begin()

        status = store_status(store, on_damage)
        planned = unfinished_experiments(store, on_damage)
        if plans:
            planned = [progress for progress in planned if progress.experiment in plans]
            chosen = [
                progress
                for progress in status.experiments
                if progress.experiment in plans
            ]
            status = replace(status, experiments=tuple(chosen))
        unfinished = unfinished_notes(planned)
        sections = [_Parts("Runs", [*overview(status, unfinished)], "runs")]
        results, long = _results(
            summaries, options.metric, failed=bool(status.failures)
        )
        if not long:
            sections.append(results)
        link = {}
        if ranks:
            link["ranks"] = "ranks"
            sections.append(_Parts("Ranks", ranks, "ranks"))
        sections += [*of_papers, *of_datasets]
        if long:
            sections.append(results)
        facts: list[Part] = [*facts_section(source)]
        pages: list[Path] = []
        if comparisons:
            links, pages = run_pages(store, comparisons[0], folder, on_damage)
            facts.insert(0, links)
        sections.append(_Parts("What was run", facts, "facts"))
        if status.failures:
            link["failed"] = "failed"
            sections.append(_Parts("Failed runs", [failures(status)], "failed"))
        lead = first_screen(source, status, comparisons, link)
        if not options.static and comparisons:
            data = comparison_data(comparisons[0], on_rows[0])
            lead += f'<script type="application/json" id="comparison">{data}</script>'
        # Each reader names the same damaged files again; the list of the first is
        # complete.
        store.damaged = damaged

        gallery.draw()
        gallery.write_index(
            _INDEX, [(section.name, section.parts) for section in sections]
        )
        shown = [_drawn(section, gallery) for section in sections]
    page = folder / "index.html"
    name = redacted_name(store.path) or store.path
    # Of the last run and not of now: the same store gives the same bytes.
    when = f"{status.last_finished:%Y-%m-%d}" if status.last_finished else ""
    html = page_html(f"Report on {name}", shown, not options.static, lead, when)
    page.write_text(html, encoding="utf-8")
    return Report(page, tuple(gallery.files), tuple(gallery.absent), tuple(pages))


def _results(
    summaries: list[Summary], metric: str | None, failed: bool
) -> tuple[_Parts, bool]:
    """Return the section of tables of results, and whether it is too long to come first."""
    result_tables = tables(select(summaries, [metric] if metric else []), metric)
    reasons = "#failed" if failed else ""
    parts: list[Part] = [table_html(table, reasons) for table in result_tables]
    return _Parts("Results", parts, "results"), any(
        len(t.rows) > _LONG for t in result_tables
    )


def _queue_paper_curves(
    source: FigureSource,
    gallery: Gallery,
    comparisons: Sequence[Compared],
    is_asked: bool,
) -> None:
    """Queue one figure of the curves of all data sets, where there are several."""
    if not is_asked or not comparisons:
        return
    datasets = curves_for_paper(source, comparisons[0], _MOST_PANELS)
    if len(datasets) > 1:
        gallery.add(
            "paper-curves",
            "",
            curve_figure,
            datasets,
            across=3,
            of_learner=source.looks,
        )
