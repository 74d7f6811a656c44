# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Training with Trainer: weight decay, accumulation, resuming; test_streaming.py kills processes on the way."""

from itertools import chain

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import Seq2SeqTrainingArguments, Trainer, TrainingArguments

from complex_transformers import (
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    ComplexSeq2SeqTrainer,
    ComplexTrainer,
    ComplexTransfoXLConfig,
    ComplexTransfoXLForCausalLM,
    build_tokenizer,
    decay_parameter_names,
)
from complex_transformers.recipes import BlockCollator, BlockStream
from complex_transformers.training.checkpoints import last_complete_checkpoint
from refusals import refused

pytest.importorskip("accelerate")


def build(head=ComplexOrderForSequenceClassification, config=ComplexOrderConfig, **changes):
    torch.manual_seed(0)
    sizes = {
        "vocab_size": 20,
        "hidden_size": 16,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "num_labels": 3,
        "initializer_range": 0.5,
    }
    return head(config(**{**sizes, **changes}))


def rows(kind, count=16, length=6):
    generator = torch.Generator().manual_seed(1)
    data = []
    for index in range(count):
        ids = torch.randint(3, 20, (length,), generator=generator)
        mask = torch.ones(length, dtype=torch.long)
        mask[length - index % 3 :] = 0 if index % 3 else 1
        if kind == "sequence":
            labels = ids[0] % 3
        else:
            labels = ids if kind == "lm" else ids % 3
            # Another number of counted tokens in every row: a mean of means would give another loss.
            labels = labels.masked_fill((torch.arange(length) % (1 + index % 4) != 0) | (mask == 0), -100)
        data.append({"input_ids": ids, "attention_mask": mask, "labels": labels})
    return data


def stacked(data):
    return {name: torch.stack([row[name] for row in data]) for name in data[0]}


def arguments(folder, kind=TrainingArguments, **changes):
    settings = {
        "output_dir": str(folder),
        "use_cpu": True,
        "per_device_train_batch_size": 4,
        "max_steps": 6,
        "learning_rate": 1e-2,
        "weight_decay": 0.1,
        "save_strategy": "no",
        "logging_steps": 1,
        "disable_tqdm": True,
        "seed": 7,
    }
    return kind(**{**settings, **changes})


def test_angles_norms_and_biases_are_not_decayed():
    model = build(phase="learned", damping="learned", norm_type="batch", norm_position="pre")
    decayed = set(decay_parameter_names(model))
    assert "model.embed_tokens.amplitude" in decayed
    assert "classifier.projection.real.weight" in decayed
    assert "model.layers.0.self_attn.q_proj.imag.weight" in decayed
    for name, _ in model.named_parameters():
        angle = name.endswith(("frequency", "phase", "damping"))
        assert (name not in decayed) == (angle or "bias" in name or "norm" in name), name


def test_trainer_pulls_on_amplitudes_but_not_on_frequencies(tmp_path):
    model = build()
    for parameter in model.parameters():
        parameter.register_hook(torch.zeros_like)  # no gradient: what is left of a step is the decay
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    ComplexTrainer(model, arguments(tmp_path, max_steps=1, weight_decay=0.5), train_dataset=rows("sequence")).train()
    assert torch.equal(model.model.embed_tokens.frequency, before["model.embed_tokens.frequency"])
    torch.testing.assert_close(
        model.model.embed_tokens.amplitude.detach(), before["model.embed_tokens.amplitude"] * (1 - 0.5 * 1e-2)
    )


def test_trainer_learns_evaluates_and_predicts(tmp_path):
    data = rows("sequence", count=24)
    model = build(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    trainer = ComplexTrainer(
        model,
        arguments(tmp_path, max_steps=60, learning_rate=3e-2, per_device_train_batch_size=8),
        train_dataset=data,
        eval_dataset=data,
        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
    )
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    assert before["eval_accuracy"] < 0.8
    assert after["eval_accuracy"] > 0.95
    assert after["eval_loss"] < 0.3 * before["eval_loss"]
    out = trainer.predict(data)
    assert out.predictions.shape == (24, 3)
    assert out.predictions.dtype == np.float32
    with torch.no_grad():
        expected = model.eval()(**stacked(data)).logits
    np.testing.assert_allclose(out.predictions, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("strategy", [pytest.param("random", marks=pytest.mark.full), "group_by_length"])
def test_training_killed_at_any_step_ends_with_the_same_weights(tmp_path, strategy):
    # Dropout is on: the random state is part of what is restored. Four steps are an epoch.
    read = []

    def collate(batch):
        read.append([tuple(row["input_ids"].tolist()) for row in batch])
        return stacked(batch)

    def train(folder, checkpoint=None, **changes):
        model = build()
        settings = arguments(folder, max_steps=8, train_sampling_strategy=strategy, **changes)
        trainer = ComplexTrainer(model, settings, train_dataset=rows("sequence"), data_collator=collate)
        trainer.train(resume_from_checkpoint=checkpoint)
        return trainer

    straight = train(tmp_path / "whole", save_steps=1, save_strategy="steps")
    whole, epochs = list(read), [sorted(chain(*read[:4])), sorted(chain(*read[4:]))]
    assert epochs[0] == epochs[1]
    assert len(set(epochs[0])) == 16
    assert read[:4] != read[4:]
    for step in (2, 4, 6):  # in an epoch, after it, in the second
        read.clear()
        torch.manual_seed(99 + step)  # a resumed process starts from anywhere
        resumed = train(tmp_path / "again", str(tmp_path / "whole" / f"checkpoint-{step}"))
        assert read == whole[step:]
        for (name, a), b in zip(straight.model.named_parameters(), resumed.model.parameters(), strict=True):
            assert torch.equal(a, b), name
        losses = [[log["loss"] for log in each.state.log_history if "loss" in log] for each in (straight, resumed)]
        assert len(losses[0]) == 8
        assert losses[0] == losses[1]


@pytest.mark.parametrize("accumulation", [pytest.param(1, marks=pytest.mark.full), 2])
def test_a_stream_is_resumed_in_any_pass(tmp_path, accumulation):
    texts = [f"a{number % 4} b{number % 3}" for number in range(15)]
    tokenizer = build_tokenizer(texts, "whitespace")
    blocks = BlockStream(lambda: texts, tokenizer, 4)
    assert [len(block["input_ids"]) for block in blocks] == [4] * 7 + [2]  # eight blocks are a pass
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16, "num_hidden_layers": 1}

    def train(folder, checkpoint=None):
        torch.manual_seed(0)
        model = ComplexLlamaForCausalLM(ComplexLlamaConfig(vocab_size=len(tokenizer), **sizes))
        changes = {"max_steps": 12, "per_device_train_batch_size": 3, "gradient_accumulation_steps": accumulation}
        settings = arguments(folder, save_steps=1, save_strategy="steps", **changes)
        trainer = ComplexTrainer(model, settings, train_dataset=blocks.repeat(), data_collator=BlockCollator())
        trainer.train(resume_from_checkpoint=checkpoint)
        losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
        return losses, model.state_dict()

    losses, weights = train(tmp_path / "whole")
    assert len(losses) == 12
    for step in (2, 5, 11):
        again = train(tmp_path / "again", str(tmp_path / "whole" / f"checkpoint-{step}"))
        assert again[0] == losses
        assert all(torch.equal(weights[name], value) for name, value in again[1].items())


def test_learning_rates_that_would_be_ignored_are_refused(tmp_path):
    def trainer(**changes):
        settings = arguments(tmp_path, save_steps=2, save_strategy="steps", **changes)
        return ComplexTrainer(build(), settings, train_dataset=rows("sequence"))

    trainer(max_steps=2).train()
    words = r"learning_rate must equal \[0.01, 0.01\] of the checkpoint, got \[0.5, 0.5\]"
    refused(words, trainer(learning_rate=0.5).train, resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert trainer(max_steps=4).train(resume_from_checkpoint=str(tmp_path / "checkpoint-2")).global_step == 4
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    refused(
        r"frequency_learning_rate .* must be None with optimizers, got \[0.2, None\]",
        ComplexTrainer,
        model,
        arguments(tmp_path),
        optimizers=(optimizer, None),
        frequency_learning_rate=0.2,
    )


def test_a_resumed_training_skips_a_checkpoint_that_is_not_whole(tmp_path, monkeypatch):
    settings = arguments(tmp_path, save_steps=2, save_strategy="steps", max_steps=4)
    ComplexTrainer(build(), settings, train_dataset=rows("sequence")).train()
    (tmp_path / "checkpoint-4" / "trainer_state.json").write_text('{"epo')
    trainer = ComplexTrainer(build(), settings, train_dataset=rows("sequence"))
    steps = []
    monkeypatch.setattr(trainer, "training_step", lambda *args: steps.append(args) or torch.zeros(()))
    with pytest.warns(UserWarning, match="checkpoint-4 is incomplete and is skipped"):
        trainer.train(resume_from_checkpoint=True)
    assert len(steps) == 2


def test_a_checkpoint_that_is_killed_while_it_is_written_anew_is_no_mixture(tmp_path, monkeypatch):
    settings = {"save_steps": 2, "save_strategy": "steps", "max_steps": 4}
    ComplexTrainer(build(), arguments(tmp_path, **settings), train_dataset=rows("sequence")).train()
    assert last_complete_checkpoint(tmp_path) == str(tmp_path / "checkpoint-4")

    def killed(*args):
        raise KeyboardInterrupt

    again = ComplexTrainer(build(), arguments(tmp_path, seed=8, **settings), train_dataset=rows("sequence"))
    monkeypatch.setattr(again, "_save_optimizer_and_scheduler", killed)  # the weights are written before
    with pytest.raises(KeyboardInterrupt):
        again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert (tmp_path / "checkpoint-4" / "model.safetensors").exists()
    with pytest.warns(UserWarning, match="checkpoint-4 is incomplete and is skipped"):
        assert last_complete_checkpoint(tmp_path) == str(tmp_path / "checkpoint-2")


class Writer(ComplexTransfoXLForCausalLM):
    """Its name does not say that it is causal."""


@pytest.mark.parametrize(
    ("trainer", "head", "changes"),
    [
        (ComplexTrainer, Writer, {}),
        (ComplexTrainer, Writer, {"cutoffs": [8]}),
        (Trainer, ComplexTransfoXLForCausalLM, {}),
    ],
    ids=["plain", "adaptive", "Trainer of Transformers"],
)
def test_smoothed_labels_of_a_causal_model_are_the_next_tokens(tmp_path, trainer, head, changes):
    model = build(head, ComplexTransfoXLConfig, num_hidden_layers=1, hidden_dropout_prob=0.0, **changes)
    ids = stacked(rows("lm", count=4))["input_ids"]
    settings = arguments(tmp_path, label_smoothing_factor=0.3)
    loss = trainer(model, settings).compute_loss(model, {"input_ids": ids, "labels": ids})
    logits = model(ids).logits[:, :-1].flatten(0, 1)
    expected = torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten(), label_smoothing=0.3)
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (ComplexOrderForMaskedLM, "lm"),
        pytest.param(ComplexOrderForTokenClassification, "token", marks=pytest.mark.full),
        (ComplexOrderForSequenceClassification, "sequence"),
    ],
)
def test_accumulated_batches_equal_the_full_batch(tmp_path, head, kind):
    def step(size, accumulation):
        model = build(head, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        before = {name: value.detach().clone() for name, value in model.named_parameters()}
        # Plain gradient descent with step 1 and no clipping: the change of the weights is the gradient.
        settings = arguments(
            tmp_path,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=accumulation,
            max_steps=1,
            optim="sgd",
            learning_rate=1.0,
            lr_scheduler_type="constant",
            weight_decay=0.0,
            max_grad_norm=0.0,
        )
        trainer = ComplexTrainer(model, settings, train_dataset=rows(kind))
        loss = trainer.train().training_loss
        return loss, {name: before[name] - value.detach() for name, value in model.named_parameters()}

    loss, gradients = step(16, 1)
    accumulated_loss, accumulated = step(4, 4)
    assert accumulated_loss == pytest.approx(loss, rel=1e-5)
    for name, value in gradients.items():
        torch.testing.assert_close(accumulated[name], value, atol=1e-5, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
    # The loss is the plain one of the whole batch.
    model = build(head, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    assert loss == pytest.approx(model(**stacked(rows(kind))).loss.item(), rel=1e-5)
    assert max(value.abs().max() for value in gradients.values()) > 1e-3


def test_translations_come_back_in_the_order_of_the_data(tmp_path):
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    layers = {"encoder_layers": 1, "decoder_layers": 1}
    model = build(ComplexSeq2SeqForConditionalGeneration, ComplexSeq2SeqConfig, **layers, **tokens)
    lengths = [3, 9, 2, 7, 5, 4, 8, 6, 1, 2]
    data = [{"input_ids": [row + 3] * length, "labels": [row + 3, 2]} for row, length in enumerate(lengths)]

    def collate(examples):
        ids = pad_sequence([torch.tensor(example["input_ids"]) for example in examples], batch_first=True)
        labels = torch.tensor([example["labels"] for example in examples])
        return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}

    args = arguments(
        tmp_path,
        Seq2SeqTrainingArguments,
        train_sampling_strategy="group_by_length",
        per_device_eval_batch_size=2,
        predict_with_generate=True,
        generation_max_length=4,
        remove_unused_columns=False,
    )
    trainer = ComplexSeq2SeqTrainer(model, args, eval_dataset=data, data_collator=collate)
    assert trainer.get_decay_parameter_names(trainer.model) == decay_parameter_names(trainer.model)
    assert trainer.predict(data).label_ids[:, 0].tolist() == [row + 3 for row in range(len(data))]


def test_a_warmup_longer_than_the_run_warns(tmp_path, recwarn):
    def warned(warmup_steps):
        recwarn.clear()
        settings = arguments(tmp_path, max_steps=2, warmup_steps=warmup_steps)
        ComplexTrainer(build(), settings, train_dataset=rows("sequence")).train()
        return [str(each.message) for each in recwarn if "warmup_steps" in str(each.message)]

    (message,) = warned(1000)
    assert message.startswith("warmup_steps=1000 covers all 2 training steps, so the learning rate never reaches")
    assert warned(1) == warned(0.99) == warned(0) == []
