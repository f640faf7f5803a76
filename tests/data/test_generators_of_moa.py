"""Streams by MOA's definitions: the rows are those of MOA, bit for bit, for the same seed."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from olscale.compiled.java_random import (
    java_random,
    next_double,
    next_gaussian,
    next_int,
)
from olscale.data.generators import GENERATORS, generate, recipe
from olscale.data.generators.concept_stream import ConceptStream
from olscale.data.generators.rbf import batches as rbf
from olscale.data.generators.sea import Sea
from olscale.data.generators.sea import batches as sea
from olscale.errors import ParameterError, UnknownNameError


def _sea(function: int, seed: int) -> str:
    """What MOA calls an SEA concept within another stream."""
    return f"(generators.SEAGenerator -f {function} -i {seed})"


# A generator, a stream of MOA 24.07, and what this prints of its first 2,000 rows:
# java -cp moa.jar tests/data/MoaRows.java STREAM 2000
ROWS_OF_MOA = [
    (
        "sea:function=4,noise=20,balance=true",
        "generators.SEAGenerator -f 4 -p 20 -b -i 42",
        "f70f8c12350fba6b",
    ),
    (
        "agrawal:function=1",
        "generators.AgrawalGenerator -f 1 -i 42",
        "291dd2f702060470",
    ),
    (
        "agrawal:function=2",
        "generators.AgrawalGenerator -f 2 -i 42",
        "8a3b501c0c79edbf",
    ),
    (
        "agrawal:function=3",
        "generators.AgrawalGenerator -f 3 -i 42",
        "e457195e8d301240",
    ),
    (
        "agrawal:function=4",
        "generators.AgrawalGenerator -f 4 -i 42",
        "8b32e7f38ec21c3a",
    ),
    (
        "agrawal:function=5",
        "generators.AgrawalGenerator -f 5 -i 42",
        "2d4ba3100383cce8",
    ),
    (
        "agrawal:function=6",
        "generators.AgrawalGenerator -f 6 -i 42",
        "fef481313c80dcde",
    ),
    (
        "agrawal:function=7",
        "generators.AgrawalGenerator -f 7 -i 42",
        "252e2cc4e5068e6e",
    ),
    (
        "agrawal:function=8",
        "generators.AgrawalGenerator -f 8 -i 42",
        "8e9a617296f0c893",
    ),
    (
        "agrawal:function=9",
        "generators.AgrawalGenerator -f 9 -i 42",
        "c7c6123538b171f0",
    ),
    (
        "agrawal:function=10",
        "generators.AgrawalGenerator -f 10 -i 42",
        "87e0c211c5cd7d75",
    ),
    (
        "agrawal:function=2,perturbation=0.2,balance=true",
        "generators.AgrawalGenerator -f 2 -p 0.2 -b -i 42",
        "6feaa01a5a394160",
    ),
    (
        "rbf:columns=7,classes=5,centroids=20,drifting=9,speed=0.01,model_seed=5",
        "generators.RandomRBFGeneratorDrift -a 7 -c 5 -n 20 -k 9 -s 0.01 -r 5 -i 42",
        "95186ea8f2505763",
    ),
    (
        "rbf",
        "generators.RandomRBFGenerator -i 42",
        "383538412cff40bf",
    ),
    (
        "hyperplane:columns=6,drifting=4,change=0.01,noise=10,reversal=20",
        "generators.HyperplaneGenerator -a 6 -k 4 -t 0.01 -n 10 -s 20 -i 42",
        "60d26563739e9fe0",
    ),
    (
        "mixed",
        "generators.MixedGenerator -f 1 -i 42",
        "3a3fb4c9368a2987",
    ),
    (
        "mixed:function=2,balance=true",
        "generators.MixedGenerator -f 2 -b -i 42",
        "f8316ebca0479743",
    ),
    (
        "random-tree",
        "generators.RandomTreeGenerator -i 42",
        "c4a3f688ee2989b7",
    ),
    (
        "random-tree:model_seed=7,classes=4,nominal=3,numeric=4,values=3,depth=7,"
        "first_leaf=2,leaf_share=0.3",
        "generators.RandomTreeGenerator -r 7 -c 4 -o 3 -u 4 -v 3 -d 7 -l 2 -f 0.3 -i 42",
        "bcb236db2307f87d",
    ),
    (
        "random-tree:nominal=0",
        "generators.RandomTreeGenerator -o 0 -i 42",
        "0a849722747bf745",
    ),
    (
        "stagger:function=1,balance=true",
        "generators.STAGGERGenerator -f 1 -b -i 42",
        "30bb223233f863fe",
    ),
    (
        "stagger:function=2",
        "generators.STAGGERGenerator -f 2 -i 42",
        "2b4963de4d3bfb2e",
    ),
    (
        "stagger:function=3",
        "generators.STAGGERGenerator -f 3 -i 42",
        "b9e0728f620599b0",
    ),
    (
        "sine:function=1",
        "generators.SineGenerator -f 1 -i 42",
        "1ccdd68f9f13166f",
    ),
    (
        "sine:function=2",
        "generators.SineGenerator -f 2 -i 42",
        "413d1e7281461f87",
    ),
    (
        "sine:function=3",
        "generators.SineGenerator -f 3 -i 42",
        "e45681be6a6c166a",
    ),
    (
        "sine:function=4",
        "generators.SineGenerator -f 4 -i 42",
        "2a3b8231d992b3ee",
    ),
    (
        "sine:function=3,irrelevant=false,balance=true",
        "generators.SineGenerator -f 3 -s -b -i 42",
        "bf16cf2e11c2486e",
    ),
    (
        "led:noise=20,drifting=5",
        "generators.LEDGeneratorDrift -n 20 -d 5 -i 42",
        "a03d70b96dcfaa7e",
    ),
    (
        "led:irrelevant=false",
        "generators.LEDGenerator -s -i 42",
        "40a0623e6869ac13",
    ),
    (
        "waveform",
        "generators.WaveformGenerator -i 42",
        "772cd9d05ed3edbe",
    ),
    (
        "waveform:irrelevant=true,drifting=15",
        "generators.WaveformGeneratorDrift -n -d 15 -i 42",
        "606ade2d05aa50fa",
    ),
    (
        "sea:function=1/4,position=800,width=300",
        f"ConceptDriftStream -s {_sea(1, 42)} -d {_sea(4, 43)} -p 800 -w 300 -r 42",
        "352bc9ed8eb8cc6a",
    ),
    (
        "sea:function=1/2/3,position=600",
        f"ConceptDriftStream -s {_sea(1, 42)} -d (ConceptDriftStream -s {_sea(2, 43)} "
        f"-d {_sea(3, 44)} -p 600 -w 1 -r 42) -p 600 -w 1 -r 42",
        "91323f25d93f0b1a",
    ),
    (
        "agrawal:function=7/2,period=300,width=200",
        "RecurrentConceptDriftStream -s (generators.AgrawalGenerator -f 7 -i 42) "
        "-d (generators.AgrawalGenerator -f 2 -i 43) "
        "-p 300 -x 300 -y 300 -z 9 -w 200 -r 42",
        "053f717051454464",
    ),
]
SEED = 42


def rows_of(text: str, rows: int = 2_000, seed: int = SEED) -> np.ndarray:
    """The rows of a generator, with the class as the last column."""
    module, arguments, _ = recipe(text, "batches", seed, rows, {})
    made = [
        np.column_stack([batch.X, batch.target])
        for batch in module.batches(**arguments)
    ]
    return np.concatenate(made)


@pytest.mark.parametrize(("text", "stream", "digest"), ROWS_OF_MOA)
def test_rows_are_those_of_moa(text: str, stream: str, digest: str):
    assert (
        hashlib.sha256(rows_of(text).astype("<f8").tobytes()).hexdigest()[:16] == digest
    ), stream


def test_every_stream_of_moa_is_compared():
    compared = {text.partition(":")[0] for text, _, _ in ROWS_OF_MOA}
    ours = {
        name
        for name in GENERATORS.ours
        if hasattr(GENERATORS.load(name), "ConceptStream")
    }
    assert compared == ours


def test_java_random_has_the_numbers_of_java():
    """``new Random(42)``: nextInt(100), nextInt(8), nextDouble(), nextGaussian() twice."""
    random = java_random(42)
    assert next_int(random, 100) == 30
    assert next_int(random, 8) == 0
    assert next_double(random) == 0.6832234717598454
    pair = [next_gaussian(random), next_gaussian(random)]
    assert pair == [-0.9498666368908959, -1.1069902863993377]


def test_fewer_rows_are_the_beginning_of_more_however_they_are_taken():
    for text in ("sea:function=1/2,period=700,width=90", "rbf:speed=0.01", "waveform"):
        np.testing.assert_array_equal(
            rows_of(text, 5_000)[:4_100], rows_of(text, 4_100)
        )
    stream = Sea(1)
    parts = [stream.take(count)[0] for count in (1, 7, 92)]
    np.testing.assert_array_equal(np.concatenate(parts), Sea(1).take(100)[0])


def test_stream_without_an_end_goes_on():
    batches = sea(None, 1)
    assert [len(batch) for batch in itertools.islice(batches, 3)] == [4_096] * 3


def test_concepts_recur_in_turn_and_go_on_where_they_were():
    """Three noiseless concepts of 1,000 rows each: each phase follows its threshold."""
    rows = rows_of("sea:function=1/2/4,period=1000,noise=0", 7_000)
    total = rows[:, 0] + rows[:, 1]
    for phase, threshold in enumerate((8.0, 9.0, 9.5, 8.0, 9.0, 9.5, 8.0)):
        inner = slice(1_000 * phase + 20, 1_000 * (phase + 1) - 20)
        np.testing.assert_array_equal(rows[inner, -1], total[inner] > threshold)
    alone = Sea(SEED, function=1, noise=0).take(2_000)[0]
    np.testing.assert_array_equal(
        rows[3_100, :3], alone[np.flatnonzero(alone[:, 0] == rows[3_100, 0])[0]]
    )
    assert len(np.unique(rows[:, 0])) == 7_000


def test_gradual_change_takes_its_width():
    rows = rows_of("stagger:function=1/3,position=10000,width=4000", 20_000)
    third = np.isin(rows[:, 0], (1.0, 2.0)).astype(float)
    follows_new = rows[:, -1] == third
    share = [
        follows_new[start : start + 500].mean() for start in (5_000, 9_750, 14_500)
    ]
    assert share[0] < 0.35
    assert 0.5 < share[1] < 0.72
    assert share[2] > 0.98


def test_one_hot_has_a_column_for_each_value():
    for name, columns in (("stagger", 9), ("agrawal", 40), ("random-tree", 30)):
        rows = rows_of(f"{name}:one_hot=true", 50)
        assert rows.shape == (50, columns + 1)
    coded = rows_of("stagger", 50)
    hot = rows_of("stagger:one_hot=true", 50)
    np.testing.assert_array_equal(hot[:, 3:6].argmax(axis=1), coded[:, 1])
    np.testing.assert_array_equal(hot[:, :9].sum(axis=1), np.full(50, 3.0))


def test_dataset_has_names_and_options(tmp_path: Path):
    dataset = generate(
        "agrawal:function=2/7", tmp_path / "loans", rows=300, seed=3, position=100
    )
    assert dataset.manifest.sources[0].name == (
        "generator:agrawal:seed=3,rows=300,function=2/7,position=100"
    )
    assert dataset.manifest.feature_names[:3] == ("salary", "commission", "age")
    assert dataset.classes == (0, 1)
    same = generate(
        "agrawal", tmp_path / "same", rows=300, seed=3, function=(2, 7), position=100
    )
    cut = {"rows": 300, "seed": 3, "chunk_rows": 7}
    other = generate("agrawal:function=2/7,position=100", tmp_path / "cut", **cut)
    assert same.fingerprint == dataset.fingerprint
    ours, theirs = (
        np.concatenate([chunk.X for chunk in made.chunks("train")])
        for made in (dataset, other)
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sea:function=5", "function is 5, expected a whole number from 1 to 4"),
        ("sea:noise=1.5", "noise is 1.5, expected a whole number from 0 to 100"),
        ("sea:balance=7", "balance is 7, expected true or false"),
        ("agrawal:perturbation=2", "perturbation is 2, expected a number from 0 to 1"),
        ("sea:function=1/2", "several concepts need position"),
        ("sea:function=1/2,position=5,period=5", "several concepts need position"),
        ("sea:position=5", "expected several values of one, such as function=1/2"),
        (
            "sea:function=1/2,noise=1/2/3,period=5",
            "expected one value for each concept",
        ),
        (
            "sea:function=1/2,period=0",
            "period is 0, expected a whole number of at least 1",
        ),
        ("sea:function=1/2,period=5,width=0", "width is 0"),
        ("rbf:columns=3/4,period=5", "the concepts have different columns"),
        ("hyperplane:drifting=11", "drifting is 11, expected at most the 10 columns"),
        (
            "led:irrelevant=false,drifting=1",
            "without irrelevant features to change places with",
        ),
        ("random-tree:numeric=0,values=20", "the random tree has more than 100,000"),
        (
            "random-tree:numeric=0,nominal=3",
            "nominal is 3, expected at least the depth 5",
        ),
        ("sea:noise", "'noise' is not option=value"),
        ("rotating-xor:rows=5", "rows is given twice"),
    ],
)
def test_wrong_options_are_named(text: str, message: str):
    with pytest.raises(ParameterError, match=message):
        rows_of(text, 10)


def test_unknown_option_is_named_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'function'"):
        rows_of("sea:functio=1")


def test_classes_of_rbf_and_base_class():
    (batch,) = rbf(2_000, 1, classes=5)
    assert set(batch.target) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert issubclass(Sea, ConceptStream)
