# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpointing, autocast, low precision and compilation give what float32 gives."""

import copy

import pytest
import torch
from small_models import FIELDS, HEADS, build, first, text
from transformers import AutoModelForSequenceClassification

from complex_transformers import (
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("reentrant", [True, False])
def test_gradient_checkpointing_gives_the_same_gradients(field, reentrant):
    model = build(ComplexOrderForMaskedLM, number_field=field).train()
    ids, mask = text(6, batch=2), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])

    def gradients():
        model.zero_grad()
        torch.manual_seed(1)  # dropout must be replayed
        model(input_ids=ids, attention_mask=mask, labels=ids).loss.backward()
        return {name: value.grad.clone() for name, value in model.named_parameters()}

    plain = gradients()
    model.activation_checkpointing_enable({"use_reentrant": reentrant})
    calls = []
    model.model.layers[0].feed_forward.register_forward_pre_hook(lambda *inputs: calls.append(1))
    model.enable_input_require_grads()
    for name, value in gradients().items():
        torch.testing.assert_close(value, plain[name], atol=1e-6, rtol=1e-5)
    assert len(calls) == 2  # forward, and once more in the backward pass
    assert all(value.abs().sum() > 0 for name, value in plain.items() if "k_proj.bias" not in name)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("norm", ["layer", "rms", "batch"])
@pytest.mark.parametrize("field", FIELDS)
def test_autocast_stays_close_to_float32(field, norm, dtype):
    model = build(ComplexOrderForMaskedLM, number_field=field, norm_type=norm)
    ids, mask = text(8, batch=2), torch.tensor([[1] * 8, [0] * 3 + [1] * 5])
    labels = ids.masked_fill(mask == 0, -100)
    exact = model(input_ids=ids, attention_mask=mask, labels=labels)
    exact.loss.backward()
    expected = {name: value.grad.clone() for name, value in model.named_parameters()}
    model.zero_grad()
    with torch.autocast("cpu", dtype=dtype):
        out = model(input_ids=ids, attention_mask=mask, labels=labels)
    out.loss.backward()
    kept = mask.bool()
    assert (out.logits.float() - exact.logits)[kept].abs().max() < (0.15 if dtype == torch.bfloat16 else 0.02)
    assert abs(out.loss.item() - exact.loss.item()) < 0.02
    # All gradients as one vector: finite and in the direction of the exact one.
    got = torch.cat([value.grad.float().flatten() for value in model.parameters()])
    want = torch.cat([expected[name].flatten() for name, _ in model.named_parameters()])
    assert got.isfinite().all()
    assert torch.cosine_similarity(got, want, dim=0) > 0.99


def _from_config(model, dtype):
    low = AutoModelForSequenceClassification.from_config(model.config, dtype=dtype)
    low.load_state_dict(model.state_dict())
    return low.eval()


ROADS = {
    "from_pretrained": lambda model, dtype: type(model).from_pretrained(model.name_or_path, dtype=dtype),
    "from_config": _from_config,
    "to": lambda model, dtype: copy.deepcopy(model).to(dtype=dtype),
    "to_device": lambda model, dtype: copy.deepcopy(model).to(torch.empty(0, dtype=dtype)),
    "half": lambda model, dtype: getattr(copy.deepcopy(model), {torch.float16: "half"}.get(dtype, "bfloat16"))(),
    "double_first": lambda model, dtype: copy.deepcopy(model).double().to(dtype),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("road", ROADS)
def test_low_precision_weights_keep_angles_in_float32(tmp_path, road, dtype):
    model = build(ComplexOrderForSequenceClassification, phase="learned", damping="learned", frequency_init="uniform")
    model.save_pretrained(tmp_path)
    model.name_or_path = tmp_path
    low = ROADS[road](model, dtype)
    types = {name.rpartition(".")[2]: value.dtype for name, value in low.model.embed_tokens.named_parameters()}
    assert types == {
        "amplitude": dtype,
        "frequency": torch.float32,
        "phase": torch.float32,
        "damping": torch.float32,
    }
    assert low.model.layers[0].self_attn.q_proj.real.weight.dtype == dtype
    angles = ("frequency", "phase", "damping")
    for name in angles:
        assert torch.equal(getattr(low.model.embed_tokens, name), getattr(model.model.embed_tokens, name))
    # A thousand positions on, the wave still agrees: bf16 frequencies would be off by whole turns.
    ids, positions = text(3), torch.tensor([[1000, 1001, 1002]])
    waves = low.model.embed_tokens(ids, position_ids=positions)
    assert waves.dtype == dtype
    exact = model.model.embed_tokens(ids, position_ids=positions)
    torch.testing.assert_close(waves.float(), exact, atol=2e-2, rtol=2e-2)
    low.save_pretrained(tmp_path / "low")
    again = type(model).from_pretrained(tmp_path / "low").state_dict()
    assert all(
        torch.equal(value, again[name]) and value.dtype == again[name].dtype
        for name, value in low.state_dict().items()
    )
    out, want = first(low, input_ids=text(6)), first(model, input_ids=text(6))
    assert out.dtype == dtype
    assert out.isfinite().all()
    assert want.shape == out.shape


def test_low_precision_model_trains_a_step_in_every_head():
    for head in HEADS:
        model = build(head).to(torch.bfloat16).train()
        ids = text(6, batch=2)
        labels = ids[:, 0] % 3 if head is ComplexOrderForSequenceClassification else ids % 3
        model(input_ids=ids, labels=labels).loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def _compiles_to_the_same(**changes):
    torch._dynamo.reset()
    settings = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "num_hidden_layers": 1, **changes}
    model = build(ComplexOrderForSequenceClassification, **settings)
    ids, mask = text(6, batch=2), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    inputs = {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([0, 2])}
    eager = model(**inputs)
    eager.loss.backward()
    expected = {name: value.grad.clone() for name, value in model.named_parameters()}
    model.zero_grad()
    out = torch.compile(model, fullgraph=True)(**inputs)
    out.loss.backward()
    torch.testing.assert_close(out.logits, eager.logits, atol=1e-5, rtol=1e-5)
    for name, value in model.named_parameters():
        torch.testing.assert_close(value.grad, expected[name], atol=1e-5, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attention_score": "real"},
        {"number_field": "real"},
        {"attention_normalization": "split_softmax", "norm_type": "rms"},
        {"attention_normalization": "probability_amplitude", "norm_type": "batch"},
        {"phase": "learned", "damping": "learned", "hidden_act": "modrelu"},
        {"embedding_type": "learned_position"},
        {"embedding_type": "sinusoidal_position"},
    ],
)
def test_compiled_model_equals_eager(changes):
    _compiles_to_the_same(**changes)
