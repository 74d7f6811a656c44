# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text classifiers: low precision, autocast, gradient checkpointing, compilation."""

import pytest
import torch
from small_classifiers import FAMILIES, FIELDS, VARIANTS, classifier, first, model, name_of, shaken, text

LOW = (torch.bfloat16, torch.float16)
# Where negative numbers have moduli, rounding may choose another maximum: there is no nearby result.
CASES = [(family, changes) for family, changes in VARIANTS if "hidden_act" not in changes]


def inputs(length=8):
    """Two texts, the second padded on the left."""
    mask = torch.ones(2, length, dtype=torch.long)
    mask[1, :3] = 0
    return {"input_ids": text(length, batch=2), "attention_mask": mask}


def flat_gradient(module):
    return torch.cat([p.grad.float().flatten() for p in module.parameters()])


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("family", "changes"), CASES, ids=name_of)
def test_autocast_stays_close_to_float32(family, changes, field, dtype):
    module = shaken(classifier(family, number_field=field, **changes))
    batch = {**inputs(), "labels": torch.tensor([0, 2])}
    exact = module(**batch)
    exact.loss.backward()
    want = flat_gradient(module)
    module.zero_grad()
    with torch.autocast("cpu", dtype=dtype):
        out = module(**batch)
    out.loss.backward()
    assert (out.logits.float() - exact.logits).abs().max() < (0.1 if dtype == torch.bfloat16 else 0.02)
    got = flat_gradient(module)
    assert got.isfinite().all()
    # Rounding moves a few of the units over the kink of a ReLU, or from one maximum to the next.
    assert torch.cosine_similarity(got, want, dim=0) > 0.9


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("family", "changes"), CASES, ids=name_of)
def test_low_precision_weights(family, changes, field, dtype):
    module = shaken(classifier(family, number_field=field, **changes)).to(dtype)
    exact = classifier(family, number_field=field, **changes)
    exact.load_state_dict(module.state_dict())  # the same rounded weights, in float32
    batch = {**inputs(), "labels": torch.tensor([0, 2])}
    out = module.train(False)(**batch)
    assert out.logits.dtype == dtype
    assert (out.logits.float() - first_logits(exact, batch)).abs().max() < (0.15 if dtype == torch.bfloat16 else 0.02)
    out.loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


def first_logits(module, batch):
    return first(module, **{name: value for name, value in batch.items() if name != "labels"})


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("family", FAMILIES)
def test_loaded_in_low_precision_angles_stay_float32(tmp_path, family, dtype):
    module = classifier(family, phase="learned", damping="learned", frequency_init="uniform")
    module.save_pretrained(tmp_path)
    low = type(module).from_pretrained(tmp_path, dtype=dtype)
    types = {name: value.dtype for name, value in low.named_parameters()}
    angles = {f"model.embed_tokens.{name}" for name in ("frequency", "phase", "damping")}
    assert {name for name, kind in types.items() if kind == torch.float32} == angles
    assert {kind for name, kind in types.items() if name not in angles} == {dtype}
    batch = inputs()
    torch.testing.assert_close(first(low, **batch).float(), first(module, **batch), atol=0.1, rtol=0.05)


@pytest.mark.parametrize("size", [2.0**13, 2.0**-20])
@pytest.mark.parametrize("family", FAMILIES)
def test_float16_at_the_ends_of_its_range(family, size):
    module = model(family).half()
    embeds = (torch.randn(2, 6, 16).clamp(-2, 2) * size).half().requires_grad_()
    out = module(inputs_embeds=embeds, attention_mask=inputs(6)["attention_mask"]).last_hidden_state
    assert out.isfinite().all()


# --- gradient checkpointing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("family", "changes"),
    [("rnn", {"num_hidden_layers": 2, "bidirectional": True}), ("rnn", {"rnn_type": "gru"}), ("gcn", {})],
    ids=name_of,
)
def test_gradient_checkpointing_gives_the_same_gradients(family, changes, field, reentrant):
    module = classifier(family, number_field=field, hidden_dropout_prob=0.3, **changes).train()
    batch = {**inputs(), "labels": torch.tensor([0, 2])}

    def gradients():
        module.zero_grad()
        torch.manual_seed(1)  # dropout must be replayed
        module(**batch).loss.backward()
        return {name: value.grad.clone() for name, value in module.named_parameters()}

    plain = gradients()
    module.activation_checkpointing_enable({"use_reentrant": reentrant})
    calls = []
    inner = module.model.layers[-1].rnn if family == "rnn" else module.model.layers[-1].activation
    inner.register_forward_pre_hook(lambda *inputs: calls.append(1))
    module.enable_input_require_grads()
    for name, value in gradients().items():
        torch.testing.assert_close(value, plain[name], atol=1e-6, rtol=1e-5)
        assert value.any(), name
    assert len(calls) == 2  # forward, and once more in the backward pass


@pytest.mark.parametrize("family", ["fasttext", "cnn"])
def test_gradient_checkpointing_is_refused_where_there_are_no_layers(family):
    for module in (model(family), classifier(family)):
        with pytest.raises(ValueError, match="does not support activation checkpointing"):
            module.activation_checkpointing_enable()


# --- compilation ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("fasttext", {}),
        ("cnn", {"kernel_sizes": [2, 7]}),
        ("rnn", {"bidirectional": True}),
        ("rnn", {"rnn_type": "gru", "pooling": "mean"}),
        ("gcn", {}),
    ],
    ids=name_of,
)
def test_compiled_classifier_equals_eager(family, changes, field):
    torch._dynamo.reset()
    module = classifier(family, number_field=field, hidden_dropout_prob=0.0, **changes)
    batch = {**inputs(5), "labels": torch.tensor([0, 2])}
    eager = module(**batch)
    eager.loss.backward()
    expected = {name: value.grad.clone() for name, value in module.named_parameters()}
    module.zero_grad()
    out = torch.compile(module)(**batch)
    out.loss.backward()
    torch.testing.assert_close(out.logits, eager.logits, atol=1e-5, rtol=1e-5)
    for name, value in module.named_parameters():
        torch.testing.assert_close(value.grad, expected[name], atol=1e-5, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
