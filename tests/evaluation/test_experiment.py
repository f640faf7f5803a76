"""Experiment files: what is accepted, and one clear line for what is not."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olscale.errors import ExperimentError, OlscaleError, UnknownNameError
from olscale.evaluation.experiment import Experiment, load_experiment, parse_experiment

GOOD: dict[str, Any] = {"datasets": [{"path": "d"}], "learners": [{"name": "pa"}]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lerners": []}, "unknown key 'lerners'; did you mean 'learners'?"),
        (
            {"protocol": {"oder": "time"}},
            "unknown key in protocol 'oder'; did you mean 'order'?",
        ),
        (
            {"learners": [{"name": "pa", "param": {}}]},
            "unknown key in learners.0 'param'; did you mean 'params'?",
        ),
        (
            {"datasets": [{"pth": "d"}]},
            "unknown key in datasets.0 'pth'; did you mean 'path'?",
        ),
        (
            {"datasets": [{"path": "d", "optinal": True}]},
            "'optinal'; did you mean 'optional'?",
        ),
        ({"seed": -1}, "seed was -1"),
        ({"seed": "one"}, "seed was 'one'"),
        ({"protocol": {"order": "random"}}, "protocol.order was 'random'"),
        ({"protocol": {"permutations": 0}}, "protocol.permutations was 0"),
        ({"protocol": "time"}, "protocol was 'time'"),
        ({"datasets": []}, "datasets was []"),
        ({"datasets": "d"}, "datasets was 'd'"),
        ({"learners": [{}]}, "learners.0.name is missing"),
        ({"transforms": "bias"}, "transforms was 'bias'"),
        (
            {"transforms": ["project"]},
            "transform project: features is missing; expected e.g. project:features=100",
        ),
        (
            {"transforms": ["project:0"]},
            "transform project: features was 0, expected a whole number of at least 1",
        ),
        (
            {"datasets": [{"path": "d", "protocol": {"oder": "time"}}]},
            "protocol 'oder'; did you mean 'order'?",
        ),
        (
            {"datasets": [{"path": "d", "protocol": {"projections": 0}}]},
            "datasets.0.protocol.projections was 0",
        ),
        ({"seed": True}, "seed was True: expected no true or false here"),
        (
            {"datasets": [{"name": "d", "rows": True}]},
            "datasets.0.rows was True: expected no true or false here",
        ),
        (
            {"protocol": {"burn_in": True}},
            "protocol.burn_in was True: expected no true or false here",
        ),
        (
            {"budget": {"max_seconds": True}},
            "budget.max_seconds was True: expected a number, not true or false",
        ),
        (
            {"datasets": [{"path": "d", "protocol": {"window": True}}]},
            "datasets.0.protocol.window was True",
        ),
    ],
)
def test_what_does_not_fit_is_named_on_one_line(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(OlscaleError) as caught:
        parse_experiment({**GOOD, **change}, "my.toml")
    assert said in str(caught.value)
    assert str(caught.value).startswith("my.toml: ")
    assert "\n" not in str(caught.value)


SHAPES = [
    (
        {"datasets": {"path": "d"}},
        "datasets was {'path': 'd'}: expected a list of tables, got one: write [[datasets]]",
    ),
    ({"learners": {"name": "pa"}}, "write [[learners]] (in Python learners=[{...}])"),
    (
        {"learners": ["pa"]},
        """learners.0 was 'pa': expected a table: write [[learners]] with name = "pa" """,
    ),
    ({"datasets": ["data/d"]}, """(in Python {"path": "data/d"})"""),
    (
        {"transforms": "bias"},
        """transforms was 'bias': expected a list: write transforms = ["bias"]""",
    ),
    ({"transforms": "unit-norm,bias"}, """write transforms = ["unit-norm", "bias"]"""),
    (
        {"datasets": [{"path": "d", "transforms": "bias"}]},
        """datasets.0.transforms was 'bias': expected a list: write""",
    ),
    ({"learners": [{"name": "pa", "datasets": "d"}]}, """write datasets = ["d"]"""),
    (
        {"learners": [{"name": "pa1", "tune": {"C": 1.0}}]},
        "tune.C was 1.0: expected a list: write C = [1.0]",
    ),
    (
        {"learners": [{"name": "pa1", "params": "C=1"}]},
        "expected a table: write params = { name = value }",
    ),
    (
        {"protocol": [{"order": "time"}]},
        "expected a table: write [protocol] with a key on each line below",
    ),
    (
        {"protocol": {"order": "tme"}},
        "protocol.order was 'tme'; did you mean 'time'? there are: permuted, time",
    ),
    ({"protocol": {"passes": 0}}, "protocol.passes was 0: "),
    ({"datasets": [{}]}, "datasets.0 was {}: expected path (of a dataset) or name"),
    ({"lerners": []}, "unknown key 'lerners'; did you mean 'learners'?"),
]


@pytest.mark.parametrize(("change", "said"), SHAPES)
def test_python_says_what_the_command_line_says_and_what_to_write(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(ExperimentError) as of_file:
        parse_experiment({**GOOD, **change}, "my.toml")
    with pytest.raises(ExperimentError) as of_python:
        Experiment(**{**GOOD, **change})
    assert said.strip() in str(of_file.value)
    assert "\n" not in str(of_file.value)
    assert str(of_python.value) == str(of_file.value).replace(
        "my.toml: ", "experiment: ", 1
    )


def test_an_experiment_pickles_and_copies() -> None:
    made = Experiment(**GOOD)
    assert pickle.loads(pickle.dumps(made)) == made == Experiment(**made.model_dump())
    assert made.model_copy(update={"seed": 3}).seed == 3


WORDS = st.sampled_from(
    ["", "path", "name", "params", "order", "time", "permutations", "C"]
)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*Experiment.model_fields, "other"]), json))
def test_any_content_is_an_experiment_or_an_error_of_ours(
    content: dict[str, Any],
) -> None:
    with contextlib.suppress(ExperimentError, UnknownNameError):
        parse_experiment(content)


def test_transforms_have_one_form() -> None:
    short = {
        "transforms": ["project:100,seed=3"],
        "datasets": [{"path": "d", "transforms": ["project:kind=sparse,features=9"]}],
    }
    experiment = parse_experiment({**GOOD, **short})
    assert experiment.transforms == ("project:features=100,kind=gaussian,seed=3",)
    assert experiment.datasets[0].transforms == (
        "project:features=9,kind=sparse,seed=0",
    )
    with pytest.raises(
        UnknownNameError, match="unknown transform 'projekt'; did you mean 'project'"
    ):
        parse_experiment({**GOOD, "transforms": ["projekt:100"]})


def test_a_file_is_read_with_its_name_and_relative_paths(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'datasets = [{path="d"}, {path="/e"}, {path="s3://b/f"}]\nlearners = [{name="pa"}]\n'
    )
    experiment = load_experiment(file)
    assert experiment.name == "mine"
    assert [spec.path for spec in experiment.datasets] == [
        str(tmp_path / "d"),
        "/e",
        "s3://b/f",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"a = [", "not a TOML file"),
        (b"\xff\xfe", "not a TOML file"),
    ],
)
def test_what_is_no_toml_file_is_said_so(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "mine.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ExperimentError, match=said) as caught:
        load_experiment(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 5000, "seed = " + "9" * 5000, "a = 1979-13-99"]
)
def test_what_toml_cannot_hold_is_one_line(tmp_path, text: str):
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(ExperimentError, match=r"e\.toml: not a TOML file"):
        load_experiment(tmp_path / "e.toml")


@pytest.mark.parametrize("label", ["  ", "\t", "x" * 201])
def test_a_label_is_seen_in_a_table(label: str) -> None:
    """A row of a table had no name, or was 5,000 characters wide."""
    for where in ("datasets", "learners"):
        content = {"datasets": [{"path": "d"}], "learners": [{"name": "pa1"}]}
        content[where][0]["label"] = label
        with pytest.raises(
            ExperimentError,
            match="expected up to 200 characters that are seen in a table",
        ):
            parse_experiment(content)


def test_path_with_a_null_character_is_one_line(tmp_path):
    (tmp_path / "e.toml").write_text(
        'datasets = [{path = "a\\u0000"}]\nlearners = [{name = "pa"}]\n'
    )
    with pytest.raises(ExperimentError, match="no path holds a null character"):
        load_experiment(tmp_path / "e.toml")
