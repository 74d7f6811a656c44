# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Low-bit rules for real weights against their formulas, and a small Llama quantized and trained by every rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.reporting import machine_facts
from experiments.grids.bits import MIXED, REAL, TRAINED, UNIFORM, UNITS
from experiments.lift import bits
from experiments.lift.gptq import Grid, bits_of_grid
from experiments.lift.learned_scales import LEARNED
from experiments.lift.real_rules import binary, bits_of_rule, residual_binary, round_straight_through, ternary
from experiments.tables.bits import bits_table, training_table
from transformers import LlamaConfig, LlamaForCausalLM, TrainingArguments

from complex_transformers.kernels.native import low_bit

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}


def small_llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(vocab_size=40, **SIZES)).eval()


@pytest.fixture
def on_a_small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the package and WikiText-2 by a small Llama and random tokens."""
    ids = torch.randint(3, 40, (64, 16), generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(bits, "load", lambda checkpoint: (small_llama(), None))
    monkeypatch.setattr(bits, "wikitext", lambda tokenizer, part, count, length=16: ids[: max(2, count // length)])
    sizes = {"TEST_TOKENS": 64, "CHUNKS_TOKENS": 64, "STEPS": 4, "TRIAL_STEPS": 2, "TRAINING_LENGTH": 16}
    for name, value in sizes.items():
        monkeypatch.setattr(bits, name, value)


def test_rules_are_their_formulas() -> None:
    weight = torch.tensor([[0.2, -1.0, 0.0, 3.0], [0.1, 0.1, -0.1, -0.1]])
    assert torch.allclose(binary(weight), torch.tensor([[1.05, -1.05, 1.05, 1.05], [0.1, 0.1, -0.1, -0.1]]))
    assert torch.allclose(ternary(weight), torch.tensor([[0.0, -1.05, 0.0, 1.05], [0.1, 0.1, -0.1, -0.1]]))
    assert not ternary(torch.zeros(1, 4)).any()
    # The remainder of the first row is -0.85, 0.05, -1.05, 1.95: scale 0.975.
    two = torch.tensor([[0.075, -0.075, 0.075, 2.025], [0.1, 0.1, -0.1, -0.1]])
    assert torch.allclose(residual_binary(weight), two)


def test_scales_count_as_bits() -> None:
    model = small_llama()
    rows = {rule: bits_of_rule(model, rule) for rule in ("binary", "residual_binary", "ternary")}
    scale = rows["binary"] - 1
    assert 16 / 64 < scale < 16 / 32  # of rows of 32 and of 64 weights
    assert rows["residual_binary"] == pytest.approx(2 + 2 * scale)
    assert rows["ternary"] == pytest.approx(2 + scale)
    assert bits_of_grid(model, Grid(-1.5, 1.5)) == pytest.approx(2 + scale)
    assert bits_of_grid(model, Grid(0.0, 7.0, shifted=True)) == pytest.approx(3 + 2 * scale)
    assert bits_of_grid(model, Grid(-1.0, 1.0, group_size=16)) == 2 + 16 / 16


def test_gradients_pass_as_if_nothing_was_rounded() -> None:
    model = small_llama()
    layer = model.model.layers[0].mlp.up_proj
    weight = layer.weight.detach().clone()
    round_straight_through(model, "ternary")
    x = torch.randn(3, 32)
    torch.testing.assert_close(layer(x), x @ ternary(weight).T)
    layer(x).sum().backward()
    trained = layer.parametrizations.weight.original
    torch.testing.assert_close(trained.grad, x.sum(0).expand_as(weight))
    assert torch.equal(trained.detach(), weight)
    assert not hasattr(model.lm_head, "parametrizations")


@pytest.mark.full
@pytest.mark.parametrize(
    "row",
    [
        "float",
        "lifted",
        "binary",
        "residual_binary",
        "nearest-row-2",
        "calibrated-row-1",
        "calibrated-row-2-down-3",
        "gptq-ternary",
        "gptq-3-bit-row",
    ],
)
def test_a_rounded_model_is_scored(on_a_small_model: None, row: str) -> None:
    found = bits.measure((REAL | UNITS | UNIFORM | MIXED)[row], 0)
    weights = sum(layer.weight.numel() for layer in bits.layers_to_round(small_llama()))
    others = small_llama().num_parameters() - weights
    few = {
        "binary": 1.0,
        "residual_binary": 2.0,
        "nearest-row-2": 2.0,
        "calibrated-row-1": 1.0,
        "calibrated-row-2-down-3": 2.1,
    }
    least = ({"float": 32.0, "lifted": 32.0, "gptq-ternary": 2.0, "gptq-3-bit-row": 3.0} | few)[row]
    assert least <= found["bits"] <= least + 3.0  # scales of short rows
    assert found["megabytes"] == pytest.approx((4 * others + found["bits"] * weights / 8) / 1e6)
    exact = bits.measure(REAL["float"], 0)["perplexity"]
    assert (found["perplexity"] == pytest.approx(exact, rel=1e-5)) == (least == 32.0)


def test_more_bits_and_calibration_are_closer_to_the_float_model() -> None:
    texts = list(torch.randint(3, 40, (16, 1, 16), generator=torch.Generator().manual_seed(1)))
    exact = small_llama()(texts[0]).logits
    errors = {}
    for row in ("uniform-2-bit-row", "gptq-2-bit-row", "gptq-4-bit-row"):
        model, _ = bits.quantized(small_llama(), UNIFORM[row], texts if UNIFORM[row].calibrated else None)
        errors[row] = (model(texts[0]).logits - exact).square().mean().item()
    assert errors["gptq-4-bit-row"] < 0.2 * errors["gptq-2-bit-row"]
    assert errors["gptq-2-bit-row"] < 0.8 * errors["uniform-2-bit-row"]


def test_distillation_is_the_divergence_from_the_float_model(tmp_path: Path) -> None:
    ids = torch.randint(3, 40, (2, 16))
    student, teacher = small_llama(), small_llama()
    torch.nn.init.normal_(student.model.norm.weight)
    trainer = bits.Distillation(student, TrainingArguments(str(tmp_path), report_to="none", use_cpu=True))
    inputs = {"input_ids": ids, "labels": ids}
    torch.testing.assert_close(trainer.compute_loss(student, inputs), student(ids, labels=ids).loss)
    trainer.teacher = teacher
    loss = trainer.compute_loss(student, inputs)
    wanted, found = teacher(ids).logits.double().softmax(-1), student(ids).logits.double().softmax(-1)
    expected = (wanted * (wanted / found).log()).sum(-1).mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    loss.backward()
    assert student.model.norm.weight.grad is not None
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert trainer.compute_loss(teacher, inputs).abs() < 1e-6


@pytest.mark.parametrize(
    "row", ["seq-calibrated", "ternary_learned-calibrated", "units-1-calibrated", "units-2-calibrated"]
)
def test_training_starts_from_calibrated_weights(row: str) -> None:
    texts = list(torch.randint(3, 40, (16, 1, 16), generator=torch.Generator().manual_seed(1)))
    trained = TRAINED[row]
    made = bits.trainable(small_llama(), trained, texts)
    if trained.rule == "units":
        options = bits.Rounded(trained.checkpoint, "units", trained.stages, calibrated=True)
    else:
        options = bits.Rounded(trained.checkpoint, "grid", calibrated=True, grid=LEARNED[trained.rule].grid)
    exact, _ = bits.quantized(small_llama(), options, texts)
    with torch.no_grad():
        error = (made(texts[0]).logits - exact(texts[0]).logits).square().mean().sqrt()
        plain = bits.trainable(small_llama(), TRAINED[row.removesuffix("-calibrated")], None)
        other = (plain(texts[0]).logits - exact(texts[0]).logits).square().mean().sqrt()
    # Two stages are not always found again from their sum.
    assert error < (0.5 * other if row == "units-2-calibrated" else 1e-5)
    assert other > 1e-3


def test_precisions_of_packed_layers(on_a_small_model: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if not set(bits.ROUNDING).intersection(low_bit.paths()):
        with pytest.raises(RuntimeError, match="this processor must have AVX2 or NEON"):
            bits.measure_precisions(UNITS["calibrated-row-2"], 0)
        return
    monkeypatch.setattr(bits, "CHUNK", 5)
    row = UNITS["calibrated-row-2"]
    found = bits.measure_precisions(row, 0)
    expected = bits.measure(row, 0)["perplexity"]
    assert found["perplexity"]["highest"] == pytest.approx(expected, rel=1e-5)
    assert found["perplexity"]["high"] == pytest.approx(expected, rel=1e-2)
    assert 0 < found["largest_difference"] < 0.1
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.full
def test_training_with_rounded_weights(on_a_small_model: None, tmp_path: Path) -> None:
    for row in ("ternary", "lsq", "units-1-calibrated-distilled"):
        found = bits.measure_trained(TRAINED[row], 0)
        assert found["perplexity"] != found["before"]
        assert found["rate"] in bits.RATES
        line: dict[str, Any] = {"row": row, "seed": 0, "settings": bits.training_settings(TRAINED[row]), **found}
        with (tmp_path / "lift-training.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
    table = training_table(tmp_path)
    assert "| original, ternary, per-row scales |" in table
    assert "| original, 2 bits (LSQ), learned per-row scales |" in table
    assert "| lifted, 1 stage, per-row scales, calibrated first, distilled |" in table
    assert bits_table(tmp_path) == "not measured yet"


def test_the_edge_of_the_learning_rates_is_marked(tmp_path: Path) -> None:
    common = {"bits": 2.0, "before": 9.0, "perplexity": 8.0, "seconds": 60.0, "seed": 0, "machine": machine_facts()}
    for row, rate in (("binary", 4e-4), ("ternary", 3.2e-3)):
        line = {"row": row, "settings": bits.training_settings(TRAINED[row]), "rate": rate, **common}
        with (tmp_path / "lift-training.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
    table = training_table(tmp_path)
    assert "| 8.0 | 4e-4 of 5 |" in table
    assert "| 8.0 | 3.2e-3 of 5 (largest) |" in table
