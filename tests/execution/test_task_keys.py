"""Keys of tasks: Dask's dashboard groups them by learner and data set."""

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from distributed.utils import key_split

from olscale.execution.group_calls import key_prefix


def group(dataset: str, *learners: str) -> Any:
    return SimpleNamespace(
        runs=[
            SimpleNamespace(learner=name, stream=SimpleNamespace(dataset=dataset))
            for name in learners
        ]
    )


@pytest.mark.parametrize(
    ("asked", "prefix"),
    [
        (group("digits", "pa1"), "pa1_digits"),
        (group("url-like", "pa1", "arow", "pa1"), "arow+1_url-like"),
        (group("a set", "mine:Learner"), "mine_Learner_a_set"),
    ],
)
def test_dask_groups_tasks_by_learner_and_data_set(asked: Any, prefix: str) -> None:
    key = f"{key_prefix(asked)}-{uuid4().hex[:12]}-{uuid4().hex}"

    assert key_prefix(asked) == prefix
    assert key_split(key) == prefix
