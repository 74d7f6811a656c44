# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Which sentences the hops looked at, and their picture."""

import pytest
import torch

from complex_transformers.analysis import memory_hit_rates, plot_memories

MEMORIES = [{"sentence": "Mary left .", "weights": [0.9, 0.2]}, {"sentence": "John came .", "weights": [0.1, 0.8]}]


def test_hit_rates():
    looked_at = torch.tensor([[0, 1, 1], [2, 2, 0], [1, 1, 1], [0, 1, 2], [3, 3, 3]])
    supporting = [(0, 1), (0, 2), (0,), (), (3, -1)]  # the last two rows do not count
    # Row 1 sees both in time, row 2 with the third hop, row 3 never.
    assert memory_hit_rates(looked_at, supporting) == pytest.approx([2 / 3, 1 / 3, 2 / 3])
    with pytest.raises(ValueError, match="must have 5 rows, as looked_at, got 1"):
        memory_hit_rates(looked_at, [(0,)])
    with pytest.raises(ValueError, match="at least one row whose sentences are all in the memory"):
        memory_hit_rates(looked_at[:1], [()])
    for wrong in (torch.ones(5, 3, 4), looked_at.float(), looked_at[:, 0]):
        with pytest.raises(
            ValueError, match=r"must be integers \[batch, num_hops\], .*. Pass memory_weights\.argmax\(-1\)"
        ):
            memory_hit_rates(wrong, supporting)


def test_a_picture_of_memories(tmp_path):
    figure = plot_memories(MEMORIES, supporting=[1])
    axis = figure.axes[0]
    assert axis.images[0].get_array().tolist() == [[0.9, 0.2], [0.1, 0.8]]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["Mary left .", "* John came ."]
    figure.savefig(tmp_path / "memories.png")
    with pytest.raises(ValueError, match="memories must have at least one sentence"):
        plot_memories([])
