# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""ComplexOrder models: an oracle in complex128, independence of padding and batch, precision, resizing, saving."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy.special import erf
from torch import nn

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexOrderModel,
)
from complex_transformers.nn import ComplexLayerNorm, from_complex
from complex_transformers.nn.linear import RealLinear

HEADS = (ComplexOrderForMaskedLM, ComplexOrderForSequenceClassification, ComplexOrderForTokenClassification)
FIELDS = ("complex", "real")
EMBEDDINGS = ("complex_order", "complex_vanilla", "word", "learned_position", "sinusoidal_position")
# score, normalisation, number field: everything that exists
ATTENTIONS = [
    *[(s, n, "complex") for s in ("modulus", "bilinear_modulus") for n in ("softmax", "probability_amplitude")],
    *[(s, "split_softmax", "complex") for s in ("modulus", "bilinear_modulus")],
    *[("real", n, field) for n in ("softmax", "probability_amplitude") for field in FIELDS],
]


def config(**changes):
    sizes = {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "num_labels": 3,
        # Large enough that words, and not the positions alone, decide the result.
        "initializer_range": 0.5,
    }
    return ComplexOrderConfig(**{**sizes, **changes})


def build(model_class=ComplexOrderModel, **changes):
    model = model_class(config(**changes)).eval()
    for name, buffer in model.named_buffers():  # statistics as after training
        if name.endswith("running_mean"):
            buffer.normal_(std=0.3)
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2.0)
    return model


def text(length, batch=1, vocab_size=40):
    return torch.randint(3, vocab_size, (batch, length))


def first(model, **inputs):
    with torch.no_grad():
        return model(**inputs)[0]


# --- the oracle -----------------------------------------------------------------------------------------------------


def numbers(array):
    """[real | imag] halves as complex128."""
    half = array.shape[-1] // 2
    return array[..., :half] + 1j * array[..., half:]


def oracle_logits(model, input_ids, mask):
    """ComplexOrder Eq. 5, 13, 14 and App. B in complex128, written from the weights alone, one sentence at a time."""
    w = {name: value.double().numpy() for name, value in model.state_dict().items()}
    cfg = model.config

    def dense(name, z):
        return z @ (w[f"{name}.real.weight"] + 1j * w[f"{name}.imag.weight"]).T + numbers(w[f"{name}.bias"])

    def norm(name, z):
        def standard(x):
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + cfg.layer_norm_eps)

        gain, shift = numbers(w[f"{name}.weight"]), numbers(w[f"{name}.bias"])
        real = standard(z.real) * gain.real + shift.real
        return real + 1j * (standard(z.imag) * gain.imag + shift.imag)

    def gelu(x):
        return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))

    logits = []
    for ids, keep in zip(input_ids.numpy(), mask.numpy().astype(bool), strict=True):
        ids = ids[keep]
        position = np.arange(1, len(ids) + 1)[:, None]
        z = w["model.embed_tokens.amplitude"][ids] * np.exp(1j * w["model.embed_tokens.frequency"][ids] * position)
        for layer in range(cfg.num_hidden_layers):
            name = f"model.layers.{layer}"
            q, k, v = (dense(f"{name}.self_attn.{part}_proj", z) for part in "qkv")
            size = q.shape[-1] // cfg.num_attention_heads
            heads = []
            for head in range(cfg.num_attention_heads):
                part = slice(head * size, (head + 1) * size)
                score = np.abs(q[:, part] @ k[:, part].conj().T) / math.sqrt(size)
                weight = np.exp(score - score.max(-1, keepdims=True))
                heads.append(weight / weight.sum(-1, keepdims=True) @ v[:, part])
            attended = dense(f"{name}.self_attn.out_proj", np.concatenate(heads, -1))
            z = norm(f"{name}.self_attn_norm", z + attended)
            hidden = dense(f"{name}.feed_forward.up_proj", z)
            hidden = gelu(hidden.real) + 1j * gelu(hidden.imag)
            z = norm(f"{name}.feed_forward_norm", z + dense(f"{name}.feed_forward.down_proj", hidden))
        logits.append(np.abs(dense("classifier.projection", z.mean(0))))
    return np.stack(logits)


@pytest.mark.parametrize("side", ["left", "right"])
def test_classifier_equals_the_oracle_in_complex128(side):
    model = build(ComplexOrderForSequenceClassification, frequency_init="uniform")
    for parameter in model.parameters():  # biases and gains too
        parameter.data += 0.1 * torch.randn_like(parameter)
    ids = text(9, batch=4)
    mask = torch.ones_like(ids)
    for row, padding in enumerate((0, 3, 5, 8)):
        mask[row, 9 - padding :] = 0
    if side == "left":
        mask = mask.flip(1)
    expected = oracle_logits(model, ids, mask)
    assert np.ptp(expected, axis=0).min() > 0.05  # texts differ: a constant would prove nothing
    torch.testing.assert_close(
        first(model.double(), input_ids=ids, attention_mask=mask).numpy(), expected, rtol=1e-7, atol=1e-7
    )
    torch.testing.assert_close(
        first(model.float(), input_ids=ids, attention_mask=mask).double().numpy(), expected, rtol=1e-5, atol=1e-5
    )


# --- padding, batch, positions --------------------------------------------------------------------------------------


def variants():
    """Every attention; every norm and embedding with it once, in both fields."""
    for (score, normalization, field), norm in itertools.product(ATTENTIONS, ("layer", "rms", "batch")):
        yield field, score, normalization, norm, "complex_order"
    for field, embedding, norm in itertools.product(FIELDS, EMBEDDINGS[1:], ("layer", "rms", "batch")):
        yield field, "real" if field == "real" else "modulus", "softmax", norm, embedding


@pytest.mark.parametrize(("field", "score", "normalization", "norm", "embedding"), list(variants()))
def test_padding_and_company_never_change_a_result(field, score, normalization, norm, embedding):
    model = build(
        number_field=field,
        attention_score=score,
        attention_normalization=normalization,
        norm_type=norm,
        embedding_type=embedding,
        norm_position="pre" if norm == "rms" else "post",
    )
    sentence, longer = text(5)[0], text(9)[0]
    ids = torch.zeros(3, 9, dtype=torch.long)
    mask = torch.zeros_like(ids)
    ids[0, :5], mask[0, :5] = sentence, 1
    ids[1], mask[1] = longer, 1
    ids[2, 4:], mask[2, 4:] = sentence, 1
    ids[0, 5:], ids[2, :4] = 7, 11  # what stands in the padding does not matter
    alone = first(model, input_ids=sentence[None])[0]
    other = first(model, input_ids=longer[None])[0]
    together = first(model, input_ids=ids, attention_mask=mask)
    torch.testing.assert_close(together[0, :5], alone, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together[2, 4:], alone, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together[1], other, atol=1e-5, rtol=1e-5)
    # The test could not fail if the output did not depend on the words around a token, or if it were constant.
    changed = sentence.clone()
    changed[0] = (changed[0] + 1) % 37 + 3
    assert (first(model, input_ids=changed[None])[0, -1] - alone[-1]).abs().max() > 1e-3
    assert alone.std() > 0.1


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("head", HEADS)
def test_heads_ignore_padding(head, field):
    model = build(head, number_field=field)
    ids = text(6)
    padded = torch.cat([torch.full((1, 4), 9), ids, torch.full((1, 3), 8)], 1)
    mask = torch.tensor([[0] * 4 + [1] * 6 + [0] * 3])
    alone, together = first(model, input_ids=ids), first(model, input_ids=padded, attention_mask=mask)
    if head is not ComplexOrderForSequenceClassification:
        together = together[:, 4:10]
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_training_with_masked_rows_does_not_see_other_rows(norm):
    model = build(ComplexOrderForSequenceClassification, norm_type=norm, hidden_dropout_prob=0.0,
                  attention_probs_dropout_prob=0.0).train()  # fmt: skip
    ids = text(6, batch=3)
    torch.testing.assert_close(model(input_ids=ids)[0][:1], model(input_ids=ids[:1])[0], atol=1e-5, rtol=1e-5)


def test_batch_norm_statistics_leave_padding_out():
    settings = {"norm_type": "batch", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    ids = text(6, batch=4)
    padded = torch.cat([torch.full((4, 5), 9), ids], 1)
    mask = torch.tensor([[0] * 5 + [1] * 6] * 4)
    model = build(**settings).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    plain = model(input_ids=ids)[0]
    after_plain = {name: value.clone() for name, value in model.named_buffers()}
    model.load_state_dict(before)
    torch.testing.assert_close(model(input_ids=padded, attention_mask=mask)[0][:, 5:], plain, atol=1e-5, rtol=1e-5)
    for name, value in model.named_buffers():
        torch.testing.assert_close(value, after_plain[name], atol=1e-5, rtol=1e-5)
        assert not torch.equal(value, before[name])


def test_positions_count_from_one_and_can_be_given():
    model = build(frequency_init="uniform")
    ids = text(6)
    plain = first(model, input_ids=ids)
    torch.testing.assert_close(first(model, input_ids=ids, position_ids=torch.arange(1, 7)[None]), plain)
    assert (first(model, input_ids=ids, position_ids=torch.arange(6)[None]) - plain).abs().max() > 1e-3
    # Given positions are the truth, whatever the mask says.
    spread = torch.tensor([[3, 1, 4, 1, 5, 9]])
    expected = first(model, inputs_embeds=model.embed_tokens(ids, position_ids=spread))
    torch.testing.assert_close(first(model, input_ids=ids, position_ids=spread), expected)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_order_matters_exactly_where_it_should(embedding):
    frequency = {"frequency_init": "uniform"} if embedding == "complex_order" else {}
    model = build(ComplexOrderForSequenceClassification, embedding_type=embedding, **frequency)
    ids = text(7)
    difference = (first(model, input_ids=ids) - first(model, input_ids=ids.flip(1))).abs().max()
    if embedding in ("word", "complex_vanilla"):
        assert difference < 1e-5
    else:
        assert difference > 1e-4


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_embeds_are_final_embeddings(embedding):
    model = build(ComplexOrderForTokenClassification, embedding_type=embedding)
    ids, mask = text(6, batch=2), torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]])
    embeds = model.get_input_embeddings()(ids, attention_mask=mask)
    assert embeds.shape == (2, 6, 16)
    torch.testing.assert_close(
        first(model, inputs_embeds=embeds, attention_mask=mask), first(model, input_ids=ids, attention_mask=mask)
    )


def test_eager_equals_sdpa_for_the_real_score():
    for field in FIELDS:
        eager = build(number_field=field, attention_score="real", attn_implementation="eager")
        sdpa = build(number_field=field, attention_score="real", attn_implementation="sdpa")
        assert (eager.config._attn_implementation, sdpa.config._attn_implementation) == ("eager", "sdpa")
        sdpa.load_state_dict(eager.state_dict())
        ids, mask = text(7, batch=2), torch.tensor([[1] * 7, [0] * 3 + [1] * 4])
        out = [m(input_ids=ids, attention_mask=mask)[0] * mask[..., None] for m in (eager, sdpa)]
        torch.testing.assert_close(*out, atol=1e-5, rtol=1e-5)
        for value in out:
            value.square().sum().backward()
        for (name, a), b in zip(eager.named_parameters(), sdpa.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
        # sdpa returns no weights: had it fallen back to eager it would.
        assert sdpa.layers[0].self_attn(torch.randn(1, 3, 16))[1] is None


@pytest.mark.parametrize(("score", "normalization", "field"), ATTENTIONS)
def test_hidden_states_and_attentions_on_request(score, normalization, field):
    model = build(
        ComplexOrderForSequenceClassification,
        attention_score=score,
        attention_normalization=normalization,
        number_field=field,
        attn_implementation="eager",
    )
    ids, mask = text(5, batch=2), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    plain = model(input_ids=ids, attention_mask=mask)
    assert plain.hidden_states is None
    assert plain.attentions is None
    out = model(input_ids=ids, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    torch.testing.assert_close(out.logits, plain.logits)
    embeds = model.get_input_embeddings()(ids, attention_mask=mask)
    torch.testing.assert_close(out.hidden_states[0], embeds)
    assert len(out.hidden_states) == 3
    for weights in out.attentions:
        parts = weights.chunk(2, -1) if normalization == "split_softmax" else [weights]
        for part in parts:
            assert part.shape == (2, 2, 5, 5)
            assert part[1, :, :, 3:].abs().max() < 1e-20  # nothing attends to padding
            if normalization != "probability_amplitude":
                torch.testing.assert_close(part.sum(-1), torch.ones(2, 2, 5))


# --- gradients, precision, compilation ------------------------------------------------------------------------------


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_weights_keep_angles_in_float32(tmp_path, dtype):
    model = build(ComplexOrderForSequenceClassification, phase="learned", damping="learned", frequency_init="uniform")
    model.save_pretrained(tmp_path)
    low = ComplexOrderForSequenceClassification.from_pretrained(tmp_path, dtype=dtype)
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


# --- vocabulary -----------------------------------------------------------------------------------------------------

TABLES = [
    {},
    {"amplitude_sharing": "dimension"},
    {"amplitude_sharing": "word"},
    {"frequency_sharing": "word"},
    {"frequency_sharing": "dimension", "phase": "learned", "damping": "learned"},
    {"phase": "per_dimension", "frequency_sharing": "word", "damping": "learned"},
    {"embedding_type": "complex_vanilla"},
    {"embedding_type": "word"},
    {"embedding_type": "learned_position"},
    {"embedding_type": "sinusoidal_position"},
    {"lm_readout": "feature_modulus", "tie_word_embeddings": True},
    {"embedding_type": "complex_vanilla", "lm_readout": "feature_modulus", "tie_word_embeddings": True},
    {"embedding_type": "word", "tie_word_embeddings": True},
    {"lm_readout": "modulus"},
    {"lm_readout": "squared_modulus"},
    {"number_field": "real"},
    {"number_field": "real", "embedding_type": "word", "tie_word_embeddings": True},
]


@pytest.mark.parametrize("new_size", [52, 33])
@pytest.mark.parametrize("changes", TABLES, ids=lambda c: "-".join(map(str, c.values())) or "default")
def test_resized_vocabulary(changes, new_size, tmp_path):
    model = build(ComplexOrderForMaskedLM, **changes)
    torch.nn.init.normal_(model.lm_head.projection.bias)
    ids = torch.randint(3, 33, (2, 6))
    before = first(model, input_ids=ids)
    embeddings = model.resize_token_embeddings(new_size)
    assert embeddings is model.get_input_embeddings()
    assert model.config.vocab_size == embeddings.num_embeddings == new_size
    after = first(model, input_ids=ids)
    kept = min(new_size, 40)
    assert after.shape[-1] == new_size
    torch.testing.assert_close(after[..., :kept], before[..., :kept], atol=1e-5, rtol=1e-5)
    new_words = torch.full((1, 4), new_size - 1)
    model(input_ids=new_words, labels=new_words).loss.backward()
    if new_size > 40:
        assert first(model, input_ids=new_words).isfinite().all()
        for name in embeddings.word_tables():
            table = embeddings.get_parameter(name)
            torch.testing.assert_close(table[40:], table[:40].mean(0).expand_as(table[40:]), atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match=rf"\[0, {new_size}\)"):
        model(input_ids=torch.tensor([[new_size]]))
    if model.config.tie_word_embeddings:
        assert model.lm_head.projection.weight is embeddings.get_parameter(embeddings.word_tables()[0])
    model.save_pretrained(tmp_path)
    again = ComplexOrderForMaskedLM.from_pretrained(tmp_path).eval()
    torch.testing.assert_close(first(again, input_ids=ids), after, atol=0, rtol=0)


def test_resizing_to_a_multiple_and_not_at_all():
    model = build(ComplexOrderForMaskedLM)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.resize_token_embeddings(40)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    model.resize_token_embeddings(41, pad_to_multiple_of=16)
    assert model.config.vocab_size == 48
    assert model.lm_head.projection.out_features == 48
    with pytest.raises(ValueError, match="at least one word"):
        model.resize_token_embeddings(0)


def test_tied_tables_are_one_parameter_and_train_together():
    word = {"embedding_type": "word"}
    for changes in ({"lm_readout": "feature_modulus"}, word, {**word, "number_field": "real"}):
        tied = build(ComplexOrderForMaskedLM, tie_word_embeddings=True, **changes)
        free = build(ComplexOrderForMaskedLM, **changes)
        table = tied.model.embed_tokens.weight
        assert tied.lm_head.projection.weight is table
        assert free.lm_head.projection.weight is not free.model.embed_tokens.weight
        missing = sum(p.numel() for p in free.parameters()) - sum(p.numel() for p in tied.parameters())
        assert missing == table.numel()
        ids = text(5)
        tied(input_ids=ids, labels=ids).loss.backward()
        assert (table.grad[3:].abs().sum(-1) > 0).all()  # every word gets the gradient of the head


# --- saving and loading ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("field", FIELDS)
def test_saved_model_loads_equal_in_every_dtype(tmp_path, field, dtype):
    for head in (ComplexOrderModel, *HEADS):
        model = build(head, number_field=field, norm_type="batch", norm_position="pre").to(dtype)
        for parameter in model.parameters():  # no two tensors alike, so that none can be taken for another
            parameter.data.normal_()
        model.save_pretrained(tmp_path / head.__name__)
        again = head.from_pretrained(tmp_path / head.__name__, dtype=dtype)
        assert again.state_dict().keys() == model.state_dict().keys()
        for name, value in again.state_dict().items():
            saved = model.state_dict()[name]
            # Angles and running statistics are kept in float32 at least.
            assert torch.equal(value.to(saved.dtype), saved), name
        assert all(p.requires_grad for p in again.parameters())


def test_head_loads_a_base_model_and_back(tmp_path):
    base = build(norm_position="pre")
    base.save_pretrained(tmp_path / "base")
    head = ComplexOrderForMaskedLM.from_pretrained(tmp_path / "base")
    for name, value in base.state_dict().items():
        assert torch.equal(head.model.state_dict()[name], value)
    torch.nn.init.normal_(head.head_norm.weight)
    head.save_pretrained(tmp_path / "head")
    for name, value in ComplexOrderModel.from_pretrained(tmp_path / "head").state_dict().items():
        assert torch.equal(base.state_dict()[name], value), name


_RELOAD = """
import sys, torch
import complex_transformers
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification
from transformers import AutoModelForTokenClassification
folder = sys.argv[1]
for auto in (AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoModelForTokenClassification):
    name = auto.__name__
    case = torch.load(f"{folder}/{name}.pt")
    model = auto.from_pretrained(f"{folder}/{name}")
    assert not model.training
    assert type(model).__name__ == case["class"], type(model)
    with torch.no_grad():
        assert torch.equal(model(**case["inputs"])[0], case["output"]), name
print("equal")
"""


def test_saved_models_load_by_auto_classes_in_a_new_process(tmp_path):
    inputs = {"input_ids": text(6, batch=2), "attention_mask": torch.tensor([[1] * 6, [0] * 2 + [1] * 4])}
    for head in (ComplexOrderModel, *HEADS):
        name = head.__name__.replace("ComplexOrder", "Auto").replace("AutoFor", "AutoModelFor")
        model = build(head)
        model.save_pretrained(tmp_path / name)
        case = {"class": head.__name__, "inputs": inputs, "output": first(model, **inputs)}
        torch.save(case, tmp_path / f"{name}.pt")
    run = subprocess.run([sys.executable, "-c", _RELOAD, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.stdout.strip().endswith("equal"), run.stderr


def _saved(tmp_path):
    build(ComplexOrderForSequenceClassification).save_pretrained(tmp_path)
    return tmp_path / "model.safetensors"


def test_truncated_file_is_an_error(tmp_path):
    file = _saved(tmp_path)
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(Exception, match=r"(?i)incomplete|truncat|header|size"):
        ComplexOrderForSequenceClassification.from_pretrained(tmp_path)


def test_file_that_is_no_safetensors_is_an_error(tmp_path):
    file = _saved(tmp_path)
    file.write_bytes(b"these are not weights at all")
    with pytest.raises(Exception, match=r"(?i)header|safetensors"):
        ComplexOrderForSequenceClassification.from_pretrained(tmp_path)


def test_weights_of_another_size_name_the_tensors(tmp_path, caplog):
    file = _saved(tmp_path)
    state = load_file(file)
    state["model.embed_tokens.amplitude"] = torch.zeros(11, 8)
    save_file(state, file, metadata={"format": "pt"})
    from transformers.utils import logging

    logging.enable_propagation()
    try:
        with pytest.raises(RuntimeError, match="mismatched"):
            ComplexOrderForSequenceClassification.from_pretrained(tmp_path)
    finally:
        logging.disable_propagation()
    assert "embed_tokens.amplitude" in caplog.text
    assert "11" in caplog.text


def test_missing_and_foreign_tensors_are_reported_and_initialised(tmp_path):
    file = _saved(tmp_path)
    state = load_file(file)
    del state["classifier.projection.real.weight"]
    state["bert.pooler.dense.weight"] = torch.zeros(2, 2)
    save_file(state, file, metadata={"format": "pt"})
    model, info = ComplexOrderForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert set(info["missing_keys"]) == {"classifier.projection.real.weight"}
    assert set(info["unexpected_keys"]) == {"bert.pooler.dense.weight"}
    # E|w|^2 = 2 / (fan_in + fan_out), half of it in the real part; what was loaded is left alone.
    missing = model.classifier.projection.real.weight
    assert 0.2 < missing.std().item() / math.sqrt(1.0 / (8 + 3)) < 2.0
    assert torch.equal(model.classifier.projection.imag.weight, state["classifier.projection.imag.weight"])


# --- initial values -------------------------------------------------------------------------------------------------


def _large(tmp_path, source, **changes):
    """A model large enough for statistics: fresh, or as from_pretrained initialises what a file does not hold."""
    model = ComplexOrderForMaskedLM(config(vocab_size=500, hidden_size=128, intermediate_size=256, num_hidden_layers=1,
                                           initializer_range=0.02, **changes))  # fmt: skip
    if source == "post_init":
        return model
    model.config.save_pretrained(tmp_path)
    # One tensor of no meaning: everything else is missing, and drawn by _init_weights on what was a meta tensor.
    save_file({"nothing": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return ComplexOrderForMaskedLM.from_pretrained(tmp_path)


@pytest.mark.parametrize("source", ["post_init", "from_pretrained"])
@pytest.mark.parametrize("init", ["glorot", "he", "unitary", "normal"])
@pytest.mark.parametrize("field", FIELDS)
def test_dense_layers_start_as_configured(tmp_path, field, init, source):
    model = _large(tmp_path, source, number_field=field, weight_init=init)
    layers = {name: m for name, m in model.named_modules() if hasattr(m, "real") or type(m) is RealLinear}
    assert len(layers) == 8  # q, k, v, out, up, down, and two of the head
    for name, layer in layers.items():
        if hasattr(layer, "real"):
            parts = [layer.real.weight, layer.imag.weight]
            correlation = torch.corrcoef(torch.stack([p.flatten() for p in parts]).detach())[0, 1]
            assert abs(correlation) < 0.05, name
        else:
            parts = [layer.weight]
        fan_out, fan_in = parts[0].shape
        variance = {
            "glorot": 2.0 / (fan_in + fan_out),
            "he": 2.0 / fan_in,
            "unitary": min(fan_in, fan_out) / (fan_in * fan_out),
            "normal": len(parts) * 0.02**2,
        }[init]
        for part in parts:
            assert part.var().item() == pytest.approx(variance / len(parts), rel=0.12), name
            assert abs(part.mean().item()) < 0.1 * part.std().item(), name
        if layer.bias is not None:
            assert torch.count_nonzero(layer.bias) == 0


@pytest.mark.parametrize("source", ["post_init", "from_pretrained"])
def test_embedding_and_norms_start_as_documented(tmp_path, source):
    model = _large(tmp_path, source, phase="learned", damping="learned", hidden_act="modrelu", norm_type="batch")
    table = model.model.embed_tokens
    expected = 10000.0 ** (-torch.arange(64, dtype=torch.float64) / 64)
    torch.testing.assert_close(table.frequency.double(), expected.expand(500, 64), rtol=1e-6, atol=0)
    assert table.amplitude[1:].std().item() == pytest.approx(0.02, rel=0.05)
    assert torch.count_nonzero(table.amplitude[0]) == 0
    assert table.phase.abs().max() <= math.pi
    assert table.phase.std().item() == pytest.approx(math.pi / math.sqrt(3), rel=0.02)
    torch.testing.assert_close(nn.functional.softplus(table.damping), torch.full_like(table.damping, 1e-3))
    norms = [m.batch_norm for m in model.modules() if hasattr(m, "batch_norm") and isinstance(m.batch_norm, nn.Module)]
    assert len(norms) == 2
    for norm in norms:
        assert torch.equal(norm.running_mean, torch.zeros(128))
        assert torch.equal(norm.running_var, torch.ones(128))
    for norm in [*norms, model.head_norm]:
        assert torch.equal(norm.weight, torch.ones(128))
        assert torch.equal(norm.bias, torch.zeros(128))
    assert isinstance(model.head_norm, ComplexLayerNorm)
    for module in model.modules():
        if type(module).__name__ == "ModReLU":
            assert torch.count_nonzero(module.bias) == 0


@pytest.mark.parametrize("source", ["post_init", "from_pretrained"])
@pytest.mark.parametrize(
    ("changes", "name", "check"),
    [
        ({"frequency_init": "normal"}, "frequency", lambda t: abs(t.std().item() - 1.0) < 0.02),
        (
            {"frequency_init": "uniform"},
            "frequency",
            lambda t: t.abs().max() <= math.pi and abs(t.std().item() - math.pi / math.sqrt(3)) < 0.03,
        ),
        ({"frequency_sharing": "dimension"}, "frequency", lambda t: torch.equal(t, torch.full((500, 1), 0.01))),
        ({"embedding_type": "learned_position"}, "position", lambda t: abs(t.std().item() - 0.02) < 0.001),
        ({"embedding_type": "word"}, "weight", lambda t: abs(t.std().item() - 0.02) < 0.001 and not t[0].any()),
    ],
)
def test_other_tables_start_as_documented(tmp_path, source, changes, name, check):
    assert check(_large(tmp_path, source, **changes).model.embed_tokens.get_parameter(name).detach())


def test_whitening_norm_keeps_its_gain_inside_a_transformers_model(tmp_path):
    # The base class sets weight 1 wherever a class name says LayerNorm; the gain is I / sqrt 2 in our own parameter.
    class Whitened(ComplexOrderModel):
        def __init__(self, config):
            super().__init__(config)
            self.extra = ComplexLayerNorm(config.hidden_size, norm="whitening")
            self.post_init()

    base = build()
    base.save_pretrained(tmp_path)
    for model in (Whitened(config()), Whitened.from_pretrained(tmp_path)):
        expected = torch.tensor([[0.5**0.5], [0.0], [0.5**0.5]]).expand(3, 8)
        torch.testing.assert_close(model.extra.affine.gain.detach(), expected)
        assert torch.count_nonzero(model.extra.affine.bias) == 0


# --- extremes and bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("score", "normalization", "field"), ATTENTIONS)
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_nan_stays_in_its_row(score, normalization, field, norm):
    model = build(
        ComplexOrderForSequenceClassification,
        attention_score=score,
        attention_normalization=normalization,
        number_field=field,
        norm_type=norm,
    )
    embeds = torch.randn(3, 5, 16)
    clean = first(model, inputs_embeds=embeds)
    embeds[1, 2, 3] = float("nan")
    out = first(model, inputs_embeds=embeds)
    assert out[1].isnan().any()
    assert torch.equal(out[[0, 2]], clean[[0, 2]])


@pytest.mark.parametrize(("score", "normalization", "field"), ATTENTIONS)
@pytest.mark.parametrize("size", [0.0, 1e-30, 1e15])
def test_extreme_embeddings_stay_finite(score, normalization, field, size):
    for norm, position in (("layer", "post"), ("rms", "pre")):
        model = build(
            ComplexOrderForSequenceClassification,
            attention_score=score,
            attention_normalization=normalization,
            number_field=field,
            norm_type=norm,
            norm_position=position,
        )
        embeds = (torch.randn(2, 5, 16) * size).requires_grad_()
        out = model(inputs_embeds=embeds, attention_mask=torch.tensor([[1] * 5, [1] * 3 + [0] * 2]))
        out.logits.sum().backward()
        assert out.logits.isfinite().all()
        assert embeds.grad.isfinite().all()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("bad", [-1, 40, 10**6])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_ids_outside_the_vocabulary(embedding, bad):
    with pytest.raises(ValueError, match=rf"\[0, 40\), got {bad}.*resize_token_embeddings"):
        build(embedding_type=embedding)(input_ids=torch.tensor([[5, bad, 7]]))


def test_inputs_no_text_model_can_use():
    model = build(ComplexOrderForSequenceClassification, embedding_type="learned_position", max_position_embeddings=6)
    ids = text(4, batch=2)
    embeds = torch.randn(2, 4, 16)
    cases = [
        ({}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids, "inputs_embeds": embeds}, ValueError, "exactly one of input_ids and inputs_embeds"),
        ({"input_ids": ids[0]}, ValueError, r"\[batch, length\], got shape \(4,\)"),
        ({"input_ids": ids.float()}, TypeError, "integers, got dtype torch.float32"),
        ({"input_ids": ids[:, :0]}, ValueError, r"empty.*\(2, 0\).*leave out empty texts"),
        ({"input_ids": ids[:0]}, ValueError, r"empty.*\(0, 4\)"),
        ({"input_ids": ids, "attention_mask": torch.ones(2, 3)}, ValueError, r"\(2, 4\), got \(2, 3\)"),
        (
            {"input_ids": ids, "attention_mask": torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0]])},
            ValueError,
            r"row\(s\) \[1\].*padding only.*leave out empty texts",
        ),
        ({"inputs_embeds": torch.randn(2, 4, 8)}, ValueError, r"hidden_size=16\], got \(2, 4, 8\)"),
        ({"inputs_embeds": torch.randn(4, 16)}, ValueError, r"hidden_size=16\], got \(4, 16\)"),
        (
            {"inputs_embeds": torch.randn(2, 4, 8, dtype=torch.complex64)},
            TypeError,
            r"halves, got dtype torch.complex64.*from_complex",
        ),
        ({"input_ids": text(7)}, ValueError, "max_position_embeddings=6.*7.*truncate"),
        ({"input_ids": ids, "position_ids": torch.tensor([[0, 1, 2, 3]] * 2)}, ValueError, r"\[1, max_position"),
        ({"input_ids": ids, "position_ids": torch.tensor([[1, 2, 3, 7]] * 2)}, ValueError, r"\[1, max_position"),
    ]
    for inputs, error, message in cases:
        with pytest.raises(error, match=message):
            model(**inputs)
    # The remedies work.
    z = torch.randn(2, 4, 8, dtype=torch.complex64)
    assert first(model, inputs_embeds=from_complex(z)).isfinite().all()
    padded = torch.cat([ids, torch.zeros(2, 5, dtype=torch.long)], 1)
    mask = torch.tensor([[1] * 4 + [0] * 5] * 2)
    torch.testing.assert_close(first(model, input_ids=padded, attention_mask=mask), first(model, input_ids=ids))


def test_complex_order_has_no_longest_text():
    model = build(ComplexOrderForSequenceClassification, max_position_embeddings=4)
    assert first(model, input_ids=text(700)).isfinite().all()
