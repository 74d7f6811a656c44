# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``flex_attention``, which PyTorch compiles, for scores that are dot products of halves."""

import pytest
import torch

from families import AMPLITUDES, REAL_SCORE, Case
from family_inputs import batch, results, rows


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["lifted", "real"])
def test_flex_attention_is_sdpa(variant):
    """In evaluation: on the CPU it has no gradient. Padding and rows of several texts have masks of blocks."""
    case = Case("complex_order", variant)
    sdpa, flex = (case.trained(attn_implementation=name) for name in ("sdpa", "flex_attention"))
    assert flex.config._attn_implementation == "flex_attention"
    packed = {**batch(rows(sdpa, (9,))), "position_ids": torch.tensor([[0, 1, 0, 0, 1, 2, 3, 4, 5]])}
    for inputs in (batch(rows(sdpa)), batch(rows(sdpa, (5, 5))), packed):
        for found, expected in zip(results(flex, inputs), results(sdpa, inputs), strict=True):
            for name, value in found.items():
                torch.testing.assert_close(value, expected[name], atol=2e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("changes", [{}, {**REAL_SCORE, **AMPLITUDES}])
def test_other_attention_is_refused_by_name(changes):
    message = r"flex_attention' has no attention_score='\w+' with attention_normalization='\w+': use .*'real'"
    case = Case("complex_order", "words")
    with pytest.raises(ValueError, match=message):
        case.build(attn_implementation="flex_attention", **changes)
    model = case.build(**changes)
    with pytest.raises(ValueError, match=message):
        model.set_attn_implementation("flex_attention")
    assert model.config._attn_implementation == "sdpa"


def test_families_without_it_say_so():
    with pytest.raises(ValueError, match="does not support an attention implementation through torch's flex"):
        Case("complex_transfo_xl", "adaptive").build(attn_implementation="flex_attention")
