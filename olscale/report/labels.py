"""Names of table rows and columns, and the words of metrics, protocols and parameters."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from olscale.analysis.summary import Summary
from olscale.measures import measure_of, metric_words
from olscale.results import canonical_json
from olscale.results.settings import natural_name, natural_order
from olscale.storage.canonical_json import ParsedJson

PART_WORDS = {
    "half": "random halves",
    "stratified-half": "stratified halves",
    "kfold": "folds",
    "stratified": "stratified folds",
}
"""Names of the parts in which rows are held out."""

_ONE_PART = {"half": "a random half", "stratified-half": "a stratified half"}


def parts_text(count: int, split: str) -> str:
    """Return the words for the parts in which rows are held out.

    Examples
    --------
    >>> parts_text(10, "half"), parts_text(1, "half"), parts_text(5, "kfold")
    ('10 random halves', 'a random half', '5 folds')
    """
    if count == 1 and split in _ONE_PART:
        return _ONE_PART[split]
    return f"{count} {PART_WORDS[split]}"


# Hexadecimal digits of a model that tables show.
_DIGEST_DIGITS = 12


def value_text(value: Any) -> str:
    """Return a parameter's value as it is shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return " ".join(map(value_text, value))
    if isinstance(value, float):
        # The shortest digits that give the same double: as the user typed it.
        return repr(value).removesuffix(".0")
    return canonical_json(value)


def heading(metric: str) -> str:
    """Return the words for a metric, with its unit, as they begin a title.

    Examples
    --------
    >>> heading("test_error"), heading("kappa_m")
    ('Test error (%)', 'Kappa-M')
    """
    text = metric_text(metric)
    return text[0].upper() + text[1:]  # `capitalize` would write Rmse


def metric_text(metric: str) -> str:
    """Return the words for a metric, with its unit.

    Examples
    --------
    >>> metric_text("test_error"), metric_text("rmse")
    ('test error (%)', 'RMSE')
    """
    words = metric_words(metric)
    if measure_of(metric).unit == "percent":
        words += " (%)"
    return words


def protocol_text(protocol: Mapping[str, Any]) -> str:
    """Return the words for a protocol; options without a value appear as names.

    Examples
    --------
    >>> protocol_text({"order": "permuted", "seed": 0, "test_only": True})
    'permuted order, seed 0, test only'
    """
    return ", ".join(protocol_parts(protocol))


def protocol_parts(protocol: Mapping[str, Any]) -> list[str]:
    """Return the words for each option of a protocol, its order first."""
    order = str(protocol.get("order", "unknown"))
    words = {"time": "time order", "permuted": "permuted order"}
    shown = {
        name: "" if value is True else value_text(value)
        for name, value in sorted(protocol.items())
        if name != "order"
    }
    # What belongs to an option stands behind it, in place of an option of its own.
    if version := shown.pop("drift_version", ""):
        shown["drift"] += f" ({version})"
    if position := shown.pop("delay_position", ""):
        shown["delay"] += f" (column {position})"
    if digest := shown.pop("from_model", ""):
        shown["from_model"] = digest[:_DIGEST_DIGITS]
    options = [
        f"{name.replace('_', ' ')} {text}".rstrip() for name, text in shown.items()
    ]
    return [words.get(order, f"{order} order"), *options]


class Column(NamedTuple):
    """A dataset under its transforms; columns sort in the order of the store's experiments.

    Those of no experiment sort by their labels, with numbers in them by value. `transforms` are
    those of most learners: an experiment may give a learner its own.
    """

    place: int
    natural_label: tuple[tuple[int, int, str], ...]
    label: str
    dataset: str
    fingerprint: str
    transforms: tuple[str, ...]


class Row(NamedTuple):
    """A setting of a learner under one of its names; `order` is that of the store's experiments."""

    place: int
    label: str
    learner: str
    version: str
    params: str

    def order(self) -> tuple[Any, ...]:
        """Return what rows are sorted by."""
        return (
            self.place,
            natural_name(self.learner),
            # The names themselves follow their sort keys, so that no two rows are
            # equal: the order never depends on the store.
            self.learner,
            self.version,
            natural_order(self.params),
            self.params,
            self.label,
        )


def column_of(s: Summary) -> Column:
    """Return the column of a summary."""
    return Column(
        s.dataset_name.place,
        natural_name(s.dataset_label),
        s.dataset_label,
        s.dataset,
        s.fingerprint,
        s.column_transforms,
    )


def rows_of(s: Summary) -> list[Row]:
    """Return the rows of a summary: several if an experiment labels the setting several times."""
    params = canonical_json(s.params)
    return [
        Row(
            name.place,
            name.text or s.learner,
            s.learner,
            name.version or s.version,
            params,
        )
        for name in s.learner_names
    ]


@cache
def _parsed(text: str) -> ParsedJson:
    return ParsedJson(text)


def row_labels(
    cells: Iterable[tuple[Row, Column]],
) -> tuple[dict[Row, str], dict[str, list[str]]]:
    """Name each row by its learner's label and by what distinguishes it from its namesakes.

    Returns
    -------
    dict of Row to str
        Rows that share a text are one row of the table.
    dict of str to list of str
        The differing parameters of texts that stand for another setting on each dataset.
    """
    settings: dict[str, dict[Row, set[Column]]] = defaultdict(lambda: defaultdict(set))
    for row, column in sorted(cells, key=lambda cell: (cell[0].order(), cell[1])):
        settings[row.label][row].add(column)
    labels: dict[Row, str] = {}
    own: dict[str, list[str]] = {}
    for label, rows in settings.items():
        params = {row: _parsed(row.params) for row in rows}
        names = sorted({name for values in params.values() for name in values})
        differing = [
            name
            for name in names
            # By their JSON, since values may be lists, which no set holds, and 1 is not
            # 1.0.
            if len({canonical_json(p.get(name)) for p in params.values()}) > 1
        ]
        kinds = {row.learner for row in rows}
        versions = {row.version for row in rows}
        spread = [column for columns in rows.values() for column in columns]
        if (
            len(rows) > 1
            and len(kinds) == len(versions) == 1
            and len(set(spread)) == len(spread)
        ):
            # Tuned for each dataset: each column has one setting, so one row suffices.
            labels |= dict.fromkeys(rows, label)
            own[label] = differing
            continue
        for row in rows:
            kind = []
            if len(kinds) > 1:
                kind = [f"({row.learner})"]
            version = []
            # Versions of different learners say nothing about each other.
            if len(versions) > 1 and len(kinds) == 1:
                version = [f"v{row.version}"]
            shown = [
                f"{name}={value_text(params[row][name])}"
                for name in differing
                if name in params[row]
            ]
            labels[row] = " ".join([label, *kind, *version, *shown])
    return labels, own


def column_labels(columns: Sequence[Column]) -> list[str]:
    """Name each dataset, with what distinguishes it from its namesakes."""
    labels = []
    for column in columns:
        namesakes = [
            candidate for candidate in columns if candidate.label == column.label
        ]
        label = column.label
        # Two contents under one name, such as a dataset ingested again with other rows.
        if (
            len({(candidate.dataset, candidate.fingerprint) for candidate in namesakes})
            > 1
        ):
            label += f" #{column.fingerprint[:8]}"
        if len({candidate.transforms for candidate in namesakes}) > 1:
            label += f" [{','.join(column.transforms) or 'raw'}]"
        labels.append(label)
    return labels


def transforms_note(columns: Sequence[Column], labels: Sequence[str]) -> list[str]:
    """Describe how the rows were transformed: once for all columns, or per kind if they differ."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for column, label in zip(columns, labels, strict=True):
        kinds[", ".join(column.transforms) or "none"].append(label)
    if len(kinds) == 1:
        return [f"Transforms: {kind}." for kind in kinds if kind != "none"]
    parts = [f"{kind} ({', '.join(of)})" for kind, of in kinds.items()]
    if parts:
        return [f"Transforms: {'; '.join(parts)}."]
    return []


def own_transforms_note(settings: Iterable[tuple[str, Summary | None]]) -> list[str]:
    """Name the learners that met other transforms than most in their columns.

    Parameters
    ----------
    settings : iterable of (str, Summary or None)
        The name of a learner, and one of its settings.
    """
    learners: dict[str, dict[str, None]] = defaultdict(dict)
    for learner, s in settings:
        if s is not None and s.transforms != s.column_transforms:
            learners[", ".join(s.transforms) or "none"][learner] = None
    if not learners:
        return []
    parts = [f"{kind} ({', '.join(of)})" for kind, of in learners.items()]
    return [f"Learners with their own transforms: {'; '.join(parts)}."]
