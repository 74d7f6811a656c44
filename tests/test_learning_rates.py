# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Parameter groups: frequencies and phases with learning rates of their own, and what weight decay leaves alone."""

import pytest
import torch
from torch import nn
from transformers import TrainingArguments

from complex_transformers import ComplexOrderConfig, ComplexOrderForSequenceClassification, ComplexTrainer
from complex_transformers.nn import (
    ComplexBatchNorm1d,
    ComplexLayerNorm,
    ComplexLinear,
    ComplexRMSNorm,
    FrequencyKernel,
    Readout,
    ZTransform,
)
from complex_transformers.recipes.arguments import RunArguments
from complex_transformers.training.trainer import decay_parameter_names, optimizer_groups

pytest.importorskip("accelerate")


def build(**changes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 20, "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 1}
    return ComplexOrderForSequenceClassification(
        ComplexOrderConfig(num_hidden_layers=1, **sizes, **{"phase": "learned", **changes})
    )


def rows():
    generator = torch.Generator().manual_seed(1)
    return [{"input_ids": torch.randint(3, 20, (5,), generator=generator), "labels": i % 2} for i in range(8)]


def angles(model):
    embedding = model.model.embed_tokens
    return {"frequency": embedding.frequency, "phase": embedding.phase}


def test_groups_hold_every_parameter_once_at_its_rate():
    model = build()
    model.classifier.requires_grad_(False)
    plain = optimizer_groups(model, 0.3)
    groups = optimizer_groups(model, 0.3, frequency_learning_rate=0.5, phase_learning_rate=0.0)
    assert [(group["weight_decay"], group.get("lr")) for group in groups] == [
        (0.3, None),
        (0.0, None),
        (0.0, 0.5),
        (0.0, 0.0),
    ]
    assert [id(p) for p in groups[2]["params"]] == [id(angles(model)["frequency"])]
    assert [id(p) for p in groups[3]["params"]] == [id(angles(model)["phase"])]
    everything = sorted(id(p) for group in groups for p in group["params"])
    assert everything == sorted(id(p) for p in model.parameters() if p.requires_grad)
    assert len(plain) == 2
    assert sorted(id(p) for group in plain for p in group["params"]) == everything


@pytest.mark.parametrize("by_arguments", [False, True])
def test_trainer_steps_and_schedules_each_at_its_rate(tmp_path, by_arguments):
    rates = {"frequency_learning_rate": 1e-1, "phase_learning_rate": 1e-4}
    settings = {
        "output_dir": str(tmp_path),
        "use_cpu": True,
        "max_steps": 2,
        "learning_rate": 1e-2,
        "lr_scheduler_type": "linear",
        "optim": "sgd",
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "eval_strategy": "no",
        "load_best_model_at_end": False,
        "max_grad_norm": 0.0,
    }
    model = build(hidden_dropout_prob=0.0)
    before = {name: value.detach().clone() for name, value in angles(model).items()}
    gradients = {name: [] for name in before}
    for name, value in angles(model).items():
        value.register_hook(lambda grad, name=name: gradients[name].append(grad.clone()))
    if by_arguments:
        trainer = ComplexTrainer(model, RunArguments(**settings, **rates), train_dataset=rows())
    else:
        trainer = ComplexTrainer(model, TrainingArguments(**settings), train_dataset=rows(), **rates)
    trainer.train()
    for name, (first, second) in gradients.items():
        assert first.any()
        step = -rates[f"{name}_learning_rate"] * (first + 0.5 * second)  # the schedule falls to half in two steps
        torch.testing.assert_close(angles(model)[name].detach() - before[name], step, rtol=1e-3, atol=1e-6)


def test_rates_that_fit_nothing_are_refused():
    with pytest.raises(ValueError, match=r"frequency_learning_rate must be 0 or more, got -1\.0"):
        optimizer_groups(build(), 0.0, frequency_learning_rate=-1.0)
    with pytest.raises(ValueError, match=r"phase_learning_rate must be None without trainable phase, got 0\.1"):
        optimizer_groups(build(phase="none"), 0.0, phase_learning_rate=0.1)


def test_gains_and_transforms_are_not_decayed_whatever_they_are_called():
    blocks = {
        "a": ComplexLayerNorm(8, norm="whitening"),
        "b": ComplexRMSNorm(8),
        "c": ZTransform(8),
        "d": FrequencyKernel(8),
        "e": Readout(8, 3, "scaled_modulus"),
        "f": ComplexBatchNorm1d(8),
        "g": ComplexLinear(8, 8),
    }
    weights = {f"{name}.{part}.weight" for name in ("e.projection", "g") for part in ("real", "imag")}
    assert set(decay_parameter_names(nn.ModuleDict(blocks))) == weights
