#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of the README: waves and attention of small trained networks, and the spectrum of a clip.

make quickstart && python examples/gallery/make_pictures.py
python examples/gallery/make_pictures.py --words return file number --clip clip.wav --output_dir outputs/pictures
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, HfArgumentParser, set_seed

from complex_transformers import (
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    read_audio,
)
from complex_transformers.analysis import (
    AttentionMap,
    plot_attention,
    plot_spectrum,
    plot_waves,
)
from complex_transformers.recipes import (
    limit_progress_bars,
)

RATE = 8000
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
PAD, START, END, FIRST = 0, 1, 2, 3


@dataclass
class Arguments:
    """Trained classifier, what to draw, and output folder."""

    classifier: str = "outputs/quickstart/model"
    words: list[str] = field(default_factory=lambda: ["return", "file"])
    clip: str | None = field(default=None, metadata={"help": "a wav file; without it there is no spectrum"})
    steps: int = field(default=600, metadata={"help": "training steps of the network whose attention is drawn"})
    output_dir: str = "docs/images"


def reversing_attention(steps: int) -> AttentionMap:
    """Train a network to reverse numbers and return its cross-attention, averaged over heads and layers."""
    set_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 2, "vocab_size": FIRST + len(DIGITS)}
    tokens = {"bos_token_id": START, "eos_token_id": END, "pad_token_id": PAD, "decoder_start_token_id": START}
    model = ComplexSeq2SeqForConditionalGeneration(
        ComplexSeq2SeqConfig(
            **sizes, **tokens, encoder_layers=1, decoder_layers=1, initializer_range=0.3, hidden_dropout_prob=0.0
        )
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end = torch.full((64, 1), END)
    for _ in range(steps):
        said = torch.randint(FIRST, FIRST + len(DIGITS), (64, 7))
        model(torch.cat([said, end], 1), labels=torch.cat([said.flip(1), end], 1)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    source = torch.cat([torch.tensor([[3, 1, 4, 1, 5, 9, 2]]) + FIRST, end[:1]], 1)
    model.config._attn_implementation = "eager"
    with torch.no_grad():
        target = model.eval().generate(source, max_new_tokens=8, do_sample=False)
        reading = model(source, decoder_input_ids=target[:, :-1], output_attentions=True)
    weights = torch.stack(reading.cross_attentions).mean(dim=(0, 2))[0]
    names = ["", "", "</s>", *DIGITS]
    columns, rows = ([names[token] for token in ids.tolist()] for ids in (source[0], target[0, 1:]))
    return AttentionMap(columns, [], rows, None, weights.tolist(), None)


def main() -> list[Path]:
    """Draw the figures and print their paths."""
    (args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()
    limit_progress_bars()
    model = AutoModelForSequenceClassification.from_pretrained(args.classifier)
    tokenizer = AutoTokenizer.from_pretrained(args.classifier)
    figures = {
        "waves": plot_waves(model, tokenizer, args.words, num_positions=30, num_features=2),
        "attention": plot_attention(reversing_attention(args.steps)),
    }
    if args.clip is not None:
        figures["spectrum"] = plot_spectrum(read_audio(args.clip, RATE), RATE)
    folder = Path(args.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=80)
        print(f"saved: {paths[-1]}")
    return paths


if __name__ == "__main__":
    main()
