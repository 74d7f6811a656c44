#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train the small models of the demo, one per pipeline task, and save them where ``demo.py`` loads them.

    python examples/demo/train_demo_models.py                      # all missing models, about two minutes
    python examples/demo/train_demo_models.py --tasks fill-mask    # this model, even if it exists

The data come from ``demo_data.py``. The command prints the accuracy of each saved model's pipeline on held-out items.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import demo_data as data
import soundfile
import torch
from transformers import HfArgumentParser, PreTrainedModel, pipeline, set_seed

from complex_transformers import (
    ComplexConvNetConfig,
    ComplexConvNetForImageClassification,
    ComplexImageProcessor,
    ComplexLlamaConfig,
    ComplexLlamaForCausalLM,
    ComplexMemoryNetworkConfig,
    ComplexMemoryNetworkForSequenceClassification,
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    ComplexOrderForSequenceClassification,
    ComplexOrderForTokenClassification,
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    MemoryProcessor,
    SpectralFeatureExtractor,
    SpectralTransformerConfig,
    SpectralTransformerForAudioClassification,
    SpectralTransformerForConditionalGeneration,
    SpectralTransformerForCTC,
    SpectralTransformerProcessor,
    build_ctc_tokenizer,
    build_tokenizer,
    write_model_card,
)
from complex_transformers.recipes import (
    limit_progress_bars,
)

T = TypeVar("T")

HELD_OUT = 33
SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
IGNORED = -100  # label that the loss ignores
GREEDY = {"max_new_tokens": 12, "do_sample": False}


def cut(rows: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Split rows into training rows and the last ``HELD_OUT`` for evaluation."""
    return rows[:-HELD_OUT], rows[-HELD_OUT:]


def fit(
    model: PreTrainedModel, batch: Mapping[str, torch.Tensor], steps: int, rows: int = 32, rate: float = 2e-3
) -> None:
    """Train with Adam on random rows of ``batch`` and a learning rate that falls to zero."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 2 * (1 - step / steps)))
    count = len(next(iter(batch.values())))
    model.train()
    for _ in range(steps):
        chosen = torch.randint(count, (rows,))
        model(**{name: values[chosen] for name, values in batch.items()}).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.eval()


def save(
    folder: Path, model: PreTrainedModel, processing: Any, task: str, right: Callable[[Any], list[bool]]
) -> float:
    """Save model and processor, evaluate the pipeline on held-out items, write the card; return the accuracy."""
    model.save_pretrained(folder)
    processing.save_pretrained(folder)
    answers = right(pipeline(task, model=str(folder)))
    share = sum(answers) / len(answers)
    metrics = {f"accuracy on {len(answers)} held-out items": share}
    write_model_card(
        folder,
        model,
        training_data=f"synthetic, examples/demo/demo.py_data for {task}",
        metrics=metrics,
    )
    return share


def names(labels: Sequence[Any]) -> dict[str, Any]:
    """Return ``id2label`` and ``label2id`` of a configuration."""
    by_id = dict(enumerate(map(str, labels)))
    return {"id2label": by_id, "label2id": {label: index for index, label in by_id.items()}}


def padded(tokenizer: Any, texts: Sequence[str]) -> dict[str, torch.Tensor]:
    """Tokenize texts as one padded batch."""
    return dict(tokenizer(list(texts), padding=True, return_tensors="pt"))


def writing_tokens(tokenizer: Any) -> dict[str, int]:
    """Return the vocabulary size and the ids of the padding, BOS and EOS tokens."""
    tokens = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    return {"vocab_size": len(tokenizer), **tokens}


def loss_labels(tokenizer: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return token ids as labels, with padding ignored."""
    return ids.masked_fill(ids == tokenizer.pad_token_id, IGNORED)


def reader_config(tokenizer: Any, **fields: Any) -> ComplexOrderConfig:
    """Return the configuration of a small ComplexOrder encoder."""
    tokens = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    return ComplexOrderConfig(**SIZES, **tokens, num_hidden_layers=2, initializer_range=0.3, **fields)


def text_classification(folder: Path, steps: int = 400) -> float:
    """Train a classifier of statements, questions and shuffled words."""
    learned, asked = cut(data.kinds_of_sentences())
    tokenizer = build_tokenizer([text for text, _ in learned])
    model = ComplexOrderForSequenceClassification(reader_config(tokenizer, **names(data.KINDS)))
    labels = torch.tensor([data.KINDS.index(kind) for _, kind in learned])
    fit(model, {**padded(tokenizer, [text for text, _ in learned]), "labels": labels}, steps)
    return save(
        *(folder, model, tokenizer, "text-classification"),
        lambda classify: [classify(text)[0]["label"] == kind for text, kind in asked],
    )


def token_classification(folder: Path, steps: int = 300) -> float:
    """Train a tagger of semantic roles in active and passive sentences."""
    learned, asked = cut(data.tagged_sentences())
    tokenizer = build_tokenizer([" ".join(row.words) for row in learned])
    model = ComplexOrderForTokenClassification(reader_config(tokenizer, **names(data.ROLES)))
    batch = padded(tokenizer, [" ".join(row.words) for row in learned])
    labels = torch.full_like(batch["input_ids"], IGNORED)
    for number, row in enumerate(learned):
        labels[number, : len(row.roles)] = torch.tensor([data.ROLES.index(role) for role in row.roles])
    fit(model, {**batch, "labels": labels}, steps)
    return save(
        *(folder, model, tokenizer, "token-classification"),
        lambda tag: [
            [word["entity"] for word in tag(" ".join(row.words), ignore_labels=[])] == row.roles for row in asked
        ],
    )


def fill_mask(folder: Path, steps: int = 400) -> float:
    """Train a masked language model; the evaluation masks the verb of statements and questions."""
    learned, asked = cut([text for text, kind in data.kinds_of_sentences() if kind != "shuffled"])
    tokenizer = build_tokenizer(learned)
    model = ComplexOrderForMaskedLM(reader_config(tokenizer))
    batch = padded(tokenizer, learned)  # of one length
    hidden = torch.randint(batch["input_ids"].shape[1], (len(learned), 1))
    labels = torch.full_like(batch["input_ids"], IGNORED).scatter(1, hidden, batch["input_ids"].gather(1, hidden))
    batch["input_ids"] = batch["input_ids"].scatter(1, hidden, tokenizer.mask_token_id)
    fit(model, {**batch, "labels": labels}, steps)
    masked = [" ".join(tokenizer.mask_token if word == "is" else word for word in text.split()) for text in asked]
    return save(
        *(folder, model, tokenizer, "fill-mask"), lambda fill: [fill(text)[0]["token_str"] == "is" for text in masked]
    )


def text_generation(folder: Path, steps: int = 900) -> float:
    """Train a language model that continues counting up or down."""
    learned, asked = cut([", ".join(run) for run in data.counts()])
    tokenizer = build_tokenizer(learned, kind="bpe", vocab_size=320, append_eos="stream")
    model = ComplexLlamaForCausalLM(ComplexLlamaConfig(**SIZES, **writing_tokens(tokenizer), num_hidden_layers=2))
    batch = padded(tokenizer, learned)
    fit(model, {**batch, "labels": loss_labels(tokenizer, batch["input_ids"])}, steps)
    starts = [(", ".join(run.split(", ")[:2]) + ",", ", ".join(run.split(", ")[:4])) for run in asked]
    return save(
        *(folder, model, tokenizer, "text-generation"),
        lambda write: [write(start, **GREEDY)[0]["generated_text"].startswith(goal) for start, goal in starts],
    )


def text_to_text(folder: Path, steps: int = 300) -> float:
    """Train a translator of numbers from English to German, which swaps tens and ones."""
    learned, asked = cut(data.translated_numbers())
    tokenizer = build_tokenizer(
        [text for pair in [*learned, *asked] for text in pair], append_eos=True, model_max_length=32
    )
    sizes = {**SIZES, "encoder_layers": 1, "decoder_layers": 1, "initializer_range": 0.3}
    tokens = {**writing_tokens(tokenizer), "decoder_start_token_id": tokenizer.bos_token_id}
    model = ComplexSeq2SeqForConditionalGeneration(ComplexSeq2SeqConfig(**sizes, **tokens))
    labels = padded(tokenizer, [german for _, german in learned])["input_ids"]
    batch = padded(tokenizer, [english for english, _ in learned])
    fit(model, {**batch, "labels": loss_labels(tokenizer, labels)}, steps, rows=64)
    return save(
        *(folder, model, tokenizer, "complex-text2text"),
        lambda translate: [translate(english)[0]["generated_text"] == german for english, german in asked],
    )


def question_answering(folder: Path, steps: int = 1000, rows: int = 4000) -> float:
    """Train a memory network that answers where a person is at the end of a story."""
    learned, asked = cut(data.stories(rows))
    tokenizer = build_tokenizer([text for row in learned for text in (*row.sentences, row.question)])
    processor = MemoryProcessor(tokenizer, memory_size=20)
    rooms = sorted({row.answer for row in learned})
    fields = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, **names(rooms)}
    model = ComplexMemoryNetworkForSequenceClassification(
        ComplexMemoryNetworkConfig(hidden_size=40, memory_size=20, **fields)
    )
    told, questions = [row.sentences for row in learned], [row.question for row in learned]
    batch = processor(told, questions, padding=True, return_tensors="pt")
    labels = torch.tensor([rooms.index(row.answer) for row in learned])
    fit(model, {**batch, "labels": labels}, steps, rate=5e-3)
    return save(
        *(folder, model, processor, "complex-question-answering"),
        lambda ask: [ask(story=row.sentences, question=row.question)["answer"] == row.answer for row in asked],
    )


def image_classification(folder: Path, steps: int = 600) -> float:
    """Train a convolutional network on handwritten digits."""
    learned, asked = cut(data.digits())
    model = ComplexConvNetForImageClassification(
        ComplexConvNetConfig(
            num_channels=1, image_size=8, num_filters=[32, 64], padding="same", norm_type="batch", **names(range(10))
        )
    )
    processor = ComplexImageProcessor.from_config(model.config)
    batch = processor([picture for picture, _ in learned], return_tensors="pt")
    fit(model, {**batch, "labels": torch.tensor([digit for _, digit in learned])}, steps)
    for digit, picture in {digit: picture for picture, digit in asked}.items():  # one image per digit
        picture.save(folder / f"example-{digit}.png")
    return save(
        *(folder, model, processor, "image-classification"),
        lambda look: [look(picture)[0]["label"] == str(digit) for picture, digit in asked],
    )


def listener_config(extractor: SpectralFeatureExtractor, **fields: Any) -> SpectralTransformerConfig:
    """Return the configuration of a small Transformer on complex spectra."""
    return SpectralTransformerConfig.from_extractor(
        extractor, **SIZES, num_hidden_layers=1, time_pool_size=2, **fields
    )


def heard(folder: Path, clips: Sequence[data.Clip], label: Callable[[Any], str]) -> Callable[[Any], list[bool]]:
    """Return a function that tells which clips a pipeline recognizes; save the first clips as examples."""
    for clip in clips[:3]:
        soundfile.write(folder / f"example-{clip.label}.wav", clip.wave, data.RATE)
    return lambda hear: [label(hear({"raw": clip.wave, "sampling_rate": data.RATE})) == clip.label for clip in clips]


def audio_classification(folder: Path, steps: int = 300, rows: int = 600) -> float:
    """Train a classifier of waveforms at any pitch."""
    learned, asked = cut(data.tones(rows))
    extractor = SpectralFeatureExtractor(sampling_rate=data.RATE, compression="log")
    model = SpectralTransformerForAudioClassification(
        listener_config(extractor, pooling="average", bin_pool_size=1, **names(data.TIMBRES))
    )
    batch = extractor([clip.wave for clip in learned], sampling_rate=data.RATE, padding=True, return_tensors="pt")
    labels = torch.tensor([data.TIMBRES.index(clip.label) for clip in learned])
    fit(model, {**batch, "labels": labels}, steps)
    right = heard(folder, asked, lambda answer: answer[0]["label"])
    return save(folder, model, extractor, "audio-classification", right)


def speech_recognition(folder: Path, steps: int = 500, rows: int = 500) -> float:
    """Train a CTC model that transcribes melodies as letters."""
    clips = data.melodies(rows)
    extractor = SpectralFeatureExtractor(sampling_rate=data.RATE, compression="log")
    tokenizer = build_ctc_tokenizer([clip.label for clip in clips])
    tokens = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    model = SpectralTransformerForCTC(listener_config(extractor, **tokens, ctc_loss_reduction="mean"))
    return _transcriber(folder, model, SpectralTransformerProcessor(extractor, tokenizer), clips, steps)


def speech_to_text(folder: Path, steps: int = 500, rows: int = 500) -> float:
    """Train an encoder-decoder that transcribes melodies letter by letter."""
    clips = data.melodies(rows)
    extractor = SpectralFeatureExtractor(sampling_rate=data.RATE, compression="log")
    tokenizer = build_tokenizer([clip.label for clip in clips], kind="character", append_eos=True)
    decoder = {**writing_tokens(tokenizer), "decoder_start_token_id": tokenizer.bos_token_id}
    model = SpectralTransformerForConditionalGeneration(
        listener_config(extractor, decoder={**decoder, "decoder_layers": 1})
    )
    return _transcriber(folder, model, SpectralTransformerProcessor(extractor, tokenizer), clips, steps)


def _transcriber(folder: Path, model: PreTrainedModel, processor: Any, clips: list[data.Clip], steps: int) -> float:
    learned, asked = cut(clips)
    batch = processor(
        audio=[clip.wave for clip in learned],
        text=[clip.label for clip in learned],
        sampling_rate=data.RATE,
        padding=True,
        return_tensors="pt",
    )
    fit(model, batch, steps)
    task = "complex-speech2text" if model.config.is_encoder_decoder else "automatic-speech-recognition"
    return save(folder, model, processor, task, heard(folder, asked, lambda answer: answer["text"]))


TASKS: dict[str, Callable[..., float]] = {
    "text-classification": text_classification,
    "token-classification": token_classification,
    "fill-mask": fill_mask,
    "text-generation": text_generation,
    "complex-text2text": text_to_text,
    "complex-question-answering": question_answering,
    "image-classification": image_classification,
    "audio-classification": audio_classification,
    "automatic-speech-recognition": speech_recognition,
    "complex-speech2text": speech_to_text,
}


@dataclass
class Arguments:
    """The tasks to train and the output folder."""

    tasks: list[str] = field(
        default_factory=list, metadata={"help": "tasks to train, even if saved; default: all missing"}
    )
    output_dir: str = "outputs/demo"


def main() -> dict[str, float]:
    """Train the requested or missing models and return the accuracy of each."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    if unknown := [task for task in args.tasks if task not in TASKS]:
        raise ValueError(f"--tasks must be among {list(TASKS)}, got {unknown[0]}")
    limit_progress_bars()
    folders = {task: Path(args.output_dir) / task for task in TASKS}
    missing = [task for task, folder in folders.items() if not (folder / "README.md").is_file()]
    shares = {}
    for task in args.tasks or missing:
        folders[task].mkdir(parents=True, exist_ok=True)
        set_seed(0)
        start = time.perf_counter()
        shares[task] = TASKS[task](folders[task])
        print(
            f"{task:<30} {shares[task]:4.0%} accuracy, {time.perf_counter() - start:3.0f} s: {folders[task]}",
            flush=True,
        )
    return shares


if __name__ == "__main__":
    main()
