# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Perplexity by place in a window: against the losses of single words, and a model that guesses."""

import math

import pytest
import torch

from complex_transformers import ComplexRecurrentLMConfig, ComplexRecurrentLMForCausalLM, StreamDataset
from complex_transformers.analysis import perplexity_by_position, perplexity_by_range, plot_perplexity_by_position
from refusals import refused

SIZES = {"vocab_size": 11, "hidden_size": 8, "recurrent_size": 8, "num_hidden_layers": 1}


@pytest.mark.parametrize("cutoffs", [(), (4, 8)])
def test_each_place_has_the_loss_of_its_words(cutoffs: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = ComplexRecurrentLMForCausalLM(ComplexRecurrentLMConfig(**SIZES, cutoffs=cutoffs)).train()
    # 3 lanes of 9, 8 and 8 words in windows of 4: the last has one word, and of that two lanes have none.
    stream = StreamDataset(torch.randint(0, 11, (26,)), num_lanes=3, segment_length=4)
    curve = perplexity_by_position(model, stream)
    assert model.training
    model.eval()
    for place in range(4):
        losses = []
        for window in stream:
            labels = window["shift_labels"].clone()
            labels[:, [other for other in range(labels.shape[1]) if other != place]] = -100
            if (count := int((labels != -100).sum())) > 0:
                total = model(window["input_ids"], shift_labels=labels, num_items_in_batch=1).loss
                losses.append((total.item(), count))
        total, count = map(sum, zip(*losses, strict=True))
        assert curve[place] == pytest.approx(math.exp(total / count), rel=1e-5)


def test_a_place_without_words_is_refused() -> None:
    model = ComplexRecurrentLMForCausalLM(ComplexRecurrentLMConfig(**SIZES))
    ids = torch.zeros(1, 2, dtype=torch.long)
    with pytest.raises(ValueError, match=r"a token to predict at each position, got counts \[1, 0\]"):
        perplexity_by_position(model, [{"input_ids": ids, "shift_labels": torch.tensor([[3, -100]])}])
    refused("a token to predict at each position", perplexity_by_position, model, [])


def test_ranges_are_geometric_means() -> None:
    curve = [9.0, 4.0, 2.0, 8.0, 5.0]
    assert perplexity_by_range(curve) == pytest.approx({1: 9.0, 2: 4.0, 4: 4.0, 5: 5.0})
    fine = perplexity_by_range([2.0] * 100, steps_per_octave=4)
    assert list(fine)[-4:] == [64, 76, 91, 100]
    assert list(fine.values()) == pytest.approx([2.0] * len(fine))
    assert perplexity_by_range([3.0]) == {1: pytest.approx(3.0)}


def test_plot_has_a_line_for_each_model_and_the_trained_length() -> None:
    figure = plot_perplexity_by_position({"a": [4.0, 2.0, 2.0], "b": [5.0]}, trained_length=2)
    (axis,) = figure.axes
    assert [line.get_label() for line in axis.lines] == ["a", "b", "trained length"]
    assert list(axis.lines[0].get_xdata())[-1] == 3
    assert axis.lines[0].get_ydata()[0] == pytest.approx(4.0)
