"""Learners whose parameters ask for more than any machine has."""

import errno

import numpy as np
import pytest

from olscale.errors import ParameterError
from olscale.evaluation.guard import failure_of
from olscale.learners.contract.cost import check_row_numbers
from olscale.learners.registry import learner_names, make_learner


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("bpas", {"B": 1e30}, "B was 1e\\+30"),
        ("fogd", {"D": 10**18}, "D was 1e\\+18"),
        ("lol", {"k": 10**15}, "k was 1e\\+15"),
        ("pamo1", {"k": 10**16}, "k was 1e\\+16"),
    ],
)
def test_sizes_beyond_reason_are_refused_in_the_plan(name, params, said):
    """In our words, which name the parameter, and before anything is asked of the memory."""
    with pytest.raises(
        ParameterError,
        match=f"^learner {name}: {said}, and a row would go through .* numbers",
    ):
        check_row_numbers(make_learner(name, params), columns=4, classes=2)


@pytest.mark.parametrize("name", learner_names())
def test_defaults_are_refused_nowhere(name):
    """On a hundred columns."""
    learner = make_learner(name, {})
    check_row_numbers(
        learner, columns=100, classes=2 if learner.task == "classification" else 0
    )


@pytest.mark.parametrize("shape", [(2**62,), (2**40, 2**40)])
def test_an_array_that_is_too_big_is_a_want_of_memory(shape):
    """NumPy says so by `ValueError` where the size is no number of bytes; other ones are the learner's own."""
    with pytest.raises(ValueError, match=r"too big|Maximum allowed") as caught:
        np.zeros(shape)
    assert failure_of(caught.value).outcome == "oom"
    assert failure_of(OSError(errno.ENOMEM, "Cannot allocate memory")).outcome == "oom"
    assert failure_of(OSError(errno.ENOENT, "No such file")).outcome == "learner_error"
    assert failure_of(ValueError("of its own")).outcome == "learner_error"
