"""The grammar of ``NAME:key=value,key=value``."""

import pytest

from olscale.cli.evaluate import parse_learner
from olscale.data.transforms.pipeline import make_transform
from olscale.errors import ParameterError


@pytest.mark.parametrize(
    ("parse", "text", "key"),
    [
        (parse_learner, "pa1:C=0.1,C=0.2", "C"),
        (make_transform, "project:features=10,kind=sparse,features=20", "features"),
        (make_transform, "project:10,features=20", "features"),
    ],
)
def test_a_parameter_that_is_given_twice_is_refused(parse, text, key):
    """Neither value is taken without a word."""
    with pytest.raises(
        ParameterError, match=f"^{text}: {key} is given 2 times, expected once$"
    ):
        parse(text)
