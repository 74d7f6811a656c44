# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text classifiers in Trainer and in pipeline()."""

import pytest
import torch
from small_classifiers import FAMILIES, classifier, first
from transformers import AutoTokenizer, TrainingArguments, pipeline

from complex_transformers import ComplexTrainer, build_tokenizer, decay_parameter_names

pytest.importorskip("accelerate")


def rows(count=24, length=6):
    """Which of two words comes first decides: no bag of words can tell."""
    generator = torch.Generator().manual_seed(1)
    data = []
    for index in range(count):
        ids = torch.randint(8, 20, (length,), generator=generator)
        first, second = sorted(torch.randperm(4, generator=generator)[:2].tolist())
        ids[first], ids[second] = (5, 6) if index % 2 else (6, 5)
        mask = torch.ones(length, dtype=torch.long)
        mask[length - index % 3 :] = 0 if index % 3 else 1
        data.append({"input_ids": ids, "attention_mask": mask, "labels": torch.tensor(index % 2)})
    return data


def build(family, **changes):
    torch.manual_seed(0)
    return classifier(family, vocab_size=20, num_labels=2, frequency_init="uniform", **changes)


def arguments(folder, **changes):
    settings = {
        "output_dir": str(folder),
        "use_cpu": True,
        "per_device_train_batch_size": 8,
        "max_steps": 6,
        "learning_rate": 1e-2,
        "weight_decay": 0.1,
        "save_strategy": "no",
        "logging_steps": 1,
        "disable_tqdm": True,
        "seed": 7,
    }
    return TrainingArguments(**{**settings, **changes})


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


@pytest.mark.parametrize("family", FAMILIES)
def test_trainer_learns_and_evaluates(tmp_path, family):
    data = rows()
    module = build(family, hidden_dropout_prob=0.0)
    settings = arguments(tmp_path, max_steps=75, learning_rate=2e-2, weight_decay=0.0)
    datasets = {"train_dataset": data, "eval_dataset": data}
    trainer = ComplexTrainer(module, settings, compute_metrics=accuracy, **datasets)
    before, _, after = trainer.evaluate(), trainer.train(), trainer.evaluate()
    assert before["eval_accuracy"] < 0.8
    assert after["eval_accuracy"] > 0.95
    assert after["eval_loss"] < 0.5 * before["eval_loss"]
    batch = {name: torch.stack([row[name] for row in data]) for name in ("input_ids", "attention_mask")}
    predicted = torch.from_numpy(trainer.predict(data).predictions)
    torch.testing.assert_close(predicted, first(module.eval(), **batch), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_resumed_training_equals_an_uninterrupted_one(tmp_path, family):
    whole = build(family)  # with dropout: the random state is part of what is restored
    saving = arguments(tmp_path / "a", save_steps=3, save_strategy="steps")
    ComplexTrainer(whole, saving, train_dataset=rows()).train()
    again = build(family)
    torch.manual_seed(99)  # a resumed process starts from anywhere
    resumed = ComplexTrainer(again, arguments(tmp_path / "b"), train_dataset=rows())
    resumed.train(resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-3"))
    for (name, a), b in zip(whole.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b), name


def test_trainer_gives_the_graph_to_the_model(tmp_path):
    # A graph of no edges but to one word: Trainer must not drop the column and fall back to the window.
    data = [{**row, "adjacency": torch.zeros(6, 6)} for row in rows()]
    module = build("gcn", hidden_dropout_prob=0.0)
    trainer = ComplexTrainer(module, arguments(tmp_path), train_dataset=data)
    seen = []
    module.model.layers[0].register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[1].detach()))
    trainer.train()
    assert len(seen) == 6
    for normalized in seen:  # loops alone
        assert torch.equal(normalized, torch.diag_embed(normalized.diagonal(dim1=-2, dim2=-1)))


@pytest.mark.parametrize("family", FAMILIES)
def test_angles_and_biases_are_not_decayed(family):
    module = build(family, phase="learned", damping="learned")
    decayed = set(decay_parameter_names(module))
    for name, _ in module.named_parameters():
        angle = name.endswith(("frequency", "phase", "damping"))
        assert (name not in decayed) == (angle or "bias" in name), name


TEXTS = ["the cat sat on the mat", "a dog ran", "the small dog sat on a big old mat near the cat"]


@pytest.mark.parametrize("family", FAMILIES)
def test_pipeline(tmp_path, family):
    tokenizer = build_tokenizer(TEXTS)
    labels = {0: "animal", 1: "thing", 2: "neither"}
    head = classifier(family, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, id2label=labels)
    head.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    classify = pipeline("text-classification", model=str(tmp_path), top_k=None)
    batched = classify(TEXTS, batch_size=3)  # texts of different lengths
    for sentence, answer in zip(TEXTS, batched, strict=True):
        logits = first(head, **AutoTokenizer.from_pretrained(tmp_path)(sentence, return_tensors="pt"))[0]
        scores = {row["label"]: row["score"] for row in answer}
        assert [scores[name] for name in labels.values()] == pytest.approx(logits.softmax(-1).tolist(), abs=1e-5)
    with pytest.raises(ValueError, match="leave out empty texts"):
        classify("")
    alone, beside_none = (classify(texts, batch_size=2)[0] for texts in (["a dog ran"], ["a dog ran", ""]))
    assert [row["score"] for row in beside_none] == pytest.approx([row["score"] for row in alone], abs=1e-6)
