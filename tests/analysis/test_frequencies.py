# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Frequencies of a model: tables and quantiles against numbers worked out by hand, and the figure."""

import math

import numpy as np
import pytest
import torch

from complex_transformers import build_tokenizer
from complex_transformers.analysis import (
    WordFrequency,
    frequency_table,
    period_summary,
    plot_frequency_density,
    plot_waves,
)
from complex_transformers.models import family_class
from complex_transformers.nn import ComplexOrderEmbedding
from families import FAMILIES, Case
from refusals import refused

for package in ("matplotlib", "scipy"):
    pytest.importorskip(package, reason='needs the extra analysis: pip install -e ".[analysis]"')

TOKENIZER = build_tokenizer(["bird ant cat dog"], "whitespace")
VOCABULARY = TOKENIZER.get_vocab()
# Two features a word. The special tokens have the largest: they would come first if they counted.
OMEGA = {
    "<pad>": (9.0, 9.0),
    "<unk>": (8.0, 8.0),
    "<mask>": (7.0, 7.0),
    "dog": (0.5, -1.5),
    "ant": (-0.25, 0.25),
    "bird": (0.0, 0.5),
    "cat": (0.0, 0.0),
}
FAMILIES_OF_WORDS = ("complex_order", "complex_fasttext", "complex_text_cnn", "complex_text_rnn", "complex_text_gcn")


def embedding_of(omega: dict[str, tuple[float, ...]] = OMEGA, **options: str) -> ComplexOrderEmbedding:
    embedding = ComplexOrderEmbedding(len(VOCABULARY), 4, padding_idx=0, **options)
    fill(embedding, omega)
    return embedding


def fill(embedding: ComplexOrderEmbedding, omega: dict[str, tuple[float, ...]]) -> None:
    for word, row in omega.items():
        embedding.frequency.data[VOCABULARY[word]] = torch.tensor(row)


def test_deltas_by_hand_with_ties_and_negative_frequencies():
    rows = frequency_table(embedding_of(), TOKENIZER)
    # |0.5| and |-1.5| give 1; "ant" and "bird" tie.
    assert rows == [WordFrequency(*row) for row in (("dog", 1.0), ("ant", 0.25), ("bird", 0.25), ("cat", 0.0))]
    assert [row.period for row in rows[:2]] == pytest.approx([2 * math.pi, 8 * math.pi])
    assert rows[3].period == math.inf


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("family", FAMILIES_OF_WORDS)
def test_every_family_is_read_with_and_without_its_head(family, field):
    case = Case(family, next(iter(FAMILIES[family].variants)))
    config = case.config(vocab_size=len(VOCABULARY), hidden_size=4, number_field=field)
    for auto_class in ("AutoModelForSequenceClassification", "AutoModel"):
        model = family_class(family, auto_class)(config)
        fill(model.get_input_embeddings(), OMEGA)
        assert [row.word for row in frequency_table(model, TOKENIZER)] == ["dog", "ant", "bird", "cat"]
        assert period_summary(model) == period_summary(embedding_of())
        assert len(plot_frequency_density({family: model}).axes[0].lines) == 1


def test_only_the_words_asked_for():
    rows = frequency_table(embedding_of(), TOKENIZER, ["cat", "dog", "cat", "<unk>"])
    assert rows == [WordFrequency("dog", 1.0), WordFrequency("cat", 0.0)]
    assert frequency_table(embedding_of(), TOKENIZER, []) == []


def test_words_of_one_frequency_stand_in_the_order_of_the_alphabet():
    words = [f"w{number:02d}" for number in range(30)]
    tokenizer = build_tokenizer(reversed(words), "whitespace")
    rows = frequency_table(ComplexOrderEmbedding(len(tokenizer), 4), tokenizer)
    assert [row.word for row in rows] == words
    assert len({row.frequency for row in rows}) == 1


def test_one_frequency_for_all_dimensions_of_a_word():
    embedding = ComplexOrderEmbedding(len(VOCABULARY), 4, frequency_sharing="dimension")
    embedding.frequency.data = torch.arange(-3.0, 4.0).unsqueeze(1) / 4
    ids = sorted(VOCABULARY, key=VOCABULARY.__getitem__)[3:]  # 0, 1/4, 2/4, 3/4
    expected = [WordFrequency(word, rank / 4) for rank, word in enumerate(ids)][::-1]
    assert frequency_table(embedding, TOKENIZER) == expected
    assert period_summary(embedding)["min"] == pytest.approx(2 * math.pi / 0.75)


def test_frequencies_that_all_words_share():
    embedding = ComplexOrderEmbedding(len(VOCABULARY), 4, frequency_sharing="word")
    embedding.frequency.data = torch.tensor([[2.0, -4.0]])
    refused("frequency_sharing must be 'none' or 'dimension'", frequency_table, embedding, TOKENIZER)
    summary = period_summary(embedding)
    assert (summary["min"], summary["max"]) == pytest.approx((math.pi / 2, math.pi))
    assert summary["below_two"] == 0.5
    line = plot_frequency_density({"shared": embedding}).axes[0].lines[0]
    assert list(line.get_xdata()) == [3.0, 3.0]  # one delta: a vertical line at (2 + 4) / 2


def test_quantiles_of_the_periods():
    embedding = ComplexOrderEmbedding(5, 2)
    embedding.frequency.data = torch.tensor([[0.0], [1.0], [-2.0], [4.0], [-8.0]])
    expected = {"min": 1 / 8, "q25": 1 / 4, "median": 1 / 2, "q75": 1.0, "max": math.inf}
    summary = period_summary(embedding)
    assert {name: summary[name] / (2 * math.pi) for name in expected} == pytest.approx(expected)
    assert summary["below_two"] == pytest.approx(2 / 5)  # 4 and -8 exceed pi, where whole positions alias


def test_one_curve_for_each_model_and_none_falls_through_the_grid():
    generator = torch.Generator().manual_seed(0)
    models = {}
    for name, centre, width in [("wide", 2.0, 0.5), ("narrow", 1.0, 1e-5), ("equal", 0.5, 0.0)]:
        models[name] = ComplexOrderEmbedding(300, 2)
        models[name].frequency.data = centre + width * torch.randn(300, 1, generator=generator)
    axis = plot_frequency_density(models).axes[0]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == list(models)
    assert [line.get_label() for line in axis.lines] == list(models)
    for line, centre in zip(axis.lines[:2], (2.0, 1.0), strict=True):
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        mass = np.sum((y[1:] + y[:-1]) / 2 * np.diff(x))
        assert mass == pytest.approx(1.0, abs=0.02)
        assert x[y.argmax()] == pytest.approx(centre, rel=0.2)
    assert list(axis.lines[2].get_xdata()) == [0.5, 0.5]


FUNCTIONS = {
    "table": lambda model: frequency_table(model, TOKENIZER),
    "summary": period_summary,
    "density": lambda model: plot_frequency_density({"good": embedding_of(), "bad": model}),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_models_without_usable_frequencies_are_refused(function):
    function(embedding_of())
    vanilla = ComplexOrderEmbedding(len(VOCABULARY), 4, embedding_type="complex_vanilla")
    refused("must be 'complex_order' to have frequencies, got 'complex_vanilla'", function, vanilla)
    model = Case("complex_fasttext", "words").model()
    for other in (model, model.get_input_embeddings()):
        refused("must have a ComplexOrderEmbedding, got WordPositionEmbedding", function, other)
    for bad in (math.nan, math.inf):
        refused("frequencies must be finite, got NaN or infinity", function, embedding_of({"dog": (0.5, bad)}))


def test_words_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"must be in the vocabulary, got \['zebra', 'Dog'\]"):
        frequency_table(embedding_of(), TOKENIZER, ["dog", "zebra", "Dog"])
    refused("must fit the model's 5 words, got id 6", frequency_table, ComplexOrderEmbedding(5, 4), TOKENIZER)


def test_waves_with_a_visible_period_go_first_and_no_legend_covers_them():
    def drawn(omega, num_positions):
        embedding = embedding_of({"dog": omega})
        embedding.amplitude.data[VOCABULARY["dog"]] = torch.tensor([5.0, 0.1])
        (axis,) = plot_waves(embedding, TOKENIZER, ["dog"], num_positions, num_features=1).axes
        return axis

    for slow_or_fast in (0.01, 3.0):  # not a whole period in 20 positions, or two positions a period
        assert drawn((slow_or_fast, 0.5), 20).lines[0].get_label() == "feature 1"
    assert drawn((0.01, 0.5), 3).lines[0].get_label() == "feature 0"  # none is seen whole: the largest
    axis = drawn((0.5, 0.5), 20)
    axis.figure.draw_without_rendering()
    assert axis.get_legend().get_window_extent().x0 >= axis.get_window_extent().x1


def test_waves_are_drawn_for_each_word():
    figure = plot_waves(embedding_of(), TOKENIZER, ["dog", "cat"], num_positions=7, num_features=2)
    assert [axis.get_ylabel() for axis in figure.axes] == ["dog", "cat"]
    embedding = embedding_of()
    line = plot_waves(embedding, TOKENIZER, ["dog"], num_positions=7, num_features=2).axes[0].lines[0]
    feature = int(line.get_label().removeprefix("feature "))
    omega, amplitude = OMEGA["dog"][feature], embedding.amplitude[VOCABULARY["dog"], feature].item()
    expected = [amplitude * math.cos(omega * position) for position in range(1, 8)]
    np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-6)
    features = embedding.amplitude.shape[1]
    assert len(plot_waves(embedding, TOKENIZER, ["dog"], num_features=features + 1).axes[0].lines) == features
    refused(r"must be in the vocabulary, got \['zebra'\]", plot_waves, embedding, TOKENIZER, ["zebra"])
    refused("must be positive, got 0, 40 and 3", plot_waves, embedding, TOKENIZER, [])
    refused("must be positive, got 1, 0 and 0", plot_waves, embedding, TOKENIZER, ["dog"], 0, 0)
