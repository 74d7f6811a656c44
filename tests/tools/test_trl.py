# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""TRL's trainers on a decoder of ours and on a lifted one."""

import pytest
import torch
from tool_models import OURS, TEXTS, complex_llama, lifted, llama, sizes, tokenizer
from transformers import LlamaConfig, LlamaForSequenceClassification

from complex_transformers import ComplexLlamaConfig, ComplexLlamaForSequenceClassification, lift

trl = pytest.importorskip("trl", reason="optional: make test-tools")
datasets = pytest.importorskip("datasets")

ours = pytest.mark.parametrize("make_model", OURS.values(), ids=OURS)
PREFERENCES = [
    {"prompt": "the cat", "chosen": " sat on the mat", "rejected": " jumps"},
    {"prompt": "dogs of", "chosen": " wizards bark", "rejected": " the quick brown mat"},
    {"prompt": "a quick", "chosen": " brown fox", "rejected": " on"},
    {"prompt": "the fox", "chosen": " sat", "rejected": " of very glibly cat"},
]


def train(trainer_class, model, rows, tmp_path, **options):
    """Train for two steps, check that the weights have changed, and return what was logged in each step."""
    own = {name: options.pop(name) for name in ("reward_funcs", "peft_config") if name in options}
    config_class = getattr(trl, trainer_class.__name__.replace("Trainer", "Config"))
    arguments = config_class(
        output_dir=str(tmp_path),
        **{"max_steps": 2, "per_device_train_batch_size": 4, "learning_rate": 1e-2, "logging_steps": 1, **options},
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
    )
    data = datasets.Dataset.from_list(rows)
    trainer = trainer_class(model=model, args=arguments, train_dataset=data, processing_class=tokenizer(), **own)
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    trainer.train()
    assert any(not value.equal(before[name]) for name, value in trainer.model.named_parameters())
    return [entry for entry in trainer.state.log_history if "loss" in entry]


def losses(log):
    return [entry["loss"] for entry in log]


def stored(model, tmp_path):
    """Save the model and load it: TRL loads the reference model from the same folder."""
    model.save_pretrained(tmp_path / "model")
    return type(model).from_pretrained(tmp_path / "model")


def fine_tune(model, tmp_path, **options):
    rows = [{"text": text} for text in TEXTS]
    return losses(train(trl.SFTTrainer, model, rows, tmp_path, max_length=None, **options))


@pytest.mark.tool("trl", "`SFTTrainer` on a lifted Llama: the losses of the Llama")
def test_fine_tuning_of_a_lifted_model(tmp_path):
    expected = fine_tune(llama(), tmp_path)
    assert fine_tune(lifted(), tmp_path)[0] == pytest.approx(expected[0], abs=1e-4)


@pytest.mark.tool("trl", "`SFTTrainer(padding_free=True)`: the losses of padded batches")
@ours
def test_fine_tuning_without_padding(tmp_path, make_model):
    padded = fine_tune(make_model(), tmp_path)
    assert fine_tune(make_model(), tmp_path, padding_free=True) == pytest.approx(padded, abs=1e-4)


@pytest.mark.tool("trl", "`SFTTrainer(peft_config=...)`")
@ours
def test_fine_tuning_of_adapters(tmp_path, make_model):
    peft = pytest.importorskip("peft")
    model = make_model()
    before = {name: value.clone() for name, value in model.named_parameters()}
    config = peft.LoraConfig(r=2, target_modules=["real", "imag"])
    rows = [{"text": text} for text in TEXTS]
    log = train(trl.SFTTrainer, model, rows, tmp_path, peft_config=config)
    assert log[1]["loss"] < log[0]["loss"]
    found = {name.replace("base_layer.", ""): value for name, value in model.named_parameters() if "lora" not in name}
    assert found.keys() == before.keys()
    assert all(value.equal(before[name]) for name, value in found.items())


@pytest.mark.tool("trl", "`DPOTrainer` on `complex_llama`")
def test_direct_preferences(tmp_path):
    log = train(trl.DPOTrainer, stored(complex_llama(), tmp_path), PREFERENCES, tmp_path)
    assert log[0]["loss"] == pytest.approx(0.693, abs=1e-3)  # -log sigmoid(0): the model is its own reference
    assert log[1]["loss"] < log[0]["loss"]


@pytest.mark.tool("trl", "`DPOTrainer` on a lifted Llama: the likelihoods of the Llama")
def test_direct_preferences_of_a_lifted_model(tmp_path):
    found, expected = (
        train(trl.DPOTrainer, stored(make_model(), tmp_path), PREFERENCES, tmp_path)[0]
        for make_model in (lifted, llama)
    )
    for name in ("loss", "logps/chosen", "logps/rejected"):
        assert found[name] == pytest.approx(expected[name], rel=1e-4)


@pytest.mark.tool("trl", "`GRPOTrainer`")
@ours
def test_group_relative_policies(tmp_path, make_model):
    def reward(completions, **kwargs):
        return [float(len(each)) for each in completions]

    rows = [{"prompt": row["prompt"]} for row in PREFERENCES]
    options = {"num_generations": 4, "max_completion_length": 6, "reward_funcs": reward}
    assert len(train(trl.GRPOTrainer, make_model(), rows, tmp_path, **options)) == 2


@pytest.mark.tool("trl", "`KTOTrainer`")
@ours
def test_unpaired_preferences(tmp_path, make_model):
    rows = [
        {"prompt": row["prompt"], "completion": row[name], "label": name == "chosen"}
        for row in PREFERENCES
        for name in ("chosen", "rejected")
    ]
    model = stored(make_model(), tmp_path)
    assert len(train(trl.KTOTrainer, model, rows, tmp_path)) == 2


def reward_losses(model, tmp_path):
    rows = [{name: row["prompt"] + row[name] for name in ("chosen", "rejected")} for row in PREFERENCES]
    return losses(train(trl.RewardTrainer, model, rows, tmp_path))


@pytest.mark.tool("trl", "`RewardTrainer` on `ComplexLlamaForSequenceClassification`")
def test_reward_model(tmp_path):
    model = ComplexLlamaForSequenceClassification(ComplexLlamaConfig(**sizes(num_labels=1)))
    first, second = reward_losses(model, tmp_path)
    assert second < first


@pytest.mark.tool("trl", "`RewardTrainer` on a lifted Llama: the losses of the Llama")
def test_lifted_reward_model(tmp_path):
    torch.manual_seed(0)
    real = LlamaForSequenceClassification(LlamaConfig(**sizes(num_labels=1)))
    lifted_model = lift(real)
    expected = reward_losses(real, tmp_path)
    assert reward_losses(lifted_model, tmp_path)[0] == pytest.approx(expected[0], abs=1e-4)
