#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Open a web page with one tab per pipeline task, on the models of ``train_demo_models.py``.

    make demo                                # installs gradio, trains missing models, opens the page
    python examples/demo/demo.py --port 7861    # in an environment with gradio

The page shows the error messages of the library.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # no network access
try:
    import gradio as gr
except ImportError:  # the answers need no gradio; ``main`` says how to install it
    gr = None

import torch
from transformers import HfArgumentParser, Pipeline, pipeline
from transformers.pipelines import PipelineException
from transformers.utils import logging

from complex_transformers import (
    read_audio,
)
from complex_transformers.analysis import (
    AttentionMap,
    plot_attention,
    plot_memories,
    plot_phases,
    plot_spectrum,
    plot_waves,
)
from complex_transformers.recipes import (
    limit_progress_bars,
)

MAX_CHARACTERS, MAX_SECONDS = 1000, 10.0
NEPERS = 4.0  # range of a spectrum plot: the clips are noisy
# task -> folder of its model, where the names differ
FOLDERS = {"feature-extraction": "text-classification"}
OPTIONS: dict[str, dict[str, Any]] = {
    "token-classification": {"aggregation_strategy": "simple"},
    "complex-text2text": {"model_kwargs": {"attn_implementation": "eager"}},  # for the plotted attention weights
}
SENTENCE = "the old dog is behind the small cat"
HEARD = "The network takes the complex spectrum; in the plot hue is the phase and brightness the modulus."


def shares(records: Sequence[dict[str, Any]], name: str = "label") -> dict[str, float]:
    """Return the scores of a pipeline's records by label, for ``gr.Label``."""
    return {record[name]: float(record["score"]) for record in records}


def classify(pipe: Pipeline, text: str) -> tuple[Any, ...]:
    """Return the classes of a text and a plot of the waves of its first words."""
    answer = shares(pipe(text, top_k=None))
    words = [word for word in dict.fromkeys(pipe.tokenizer.tokenize(text)) if word != pipe.tokenizer.unk_token][:3]
    return answer, plot_waves(pipe.model, pipe.tokenizer, words, num_positions=20, num_features=2) if words else None


def tag(pipe: Pipeline, text: str) -> dict[str, Any]:
    """Return a text with the roles of its words, for ``gr.HighlightedText``."""
    words = [{"entity": row["entity_group"], "start": row["start"], "end": row["end"]} for row in pipe(text)]
    return {"text": text, "entities": words}


def fill(pipe: Pipeline, text: str) -> dict[str, float]:
    """Return the likeliest tokens for the mask."""
    records = pipe(text)
    if isinstance(records[0], list):
        raise ValueError(
            f"the text must have one mask token, got {len(records)}. Write {pipe.tokenizer.mask_token} once."
        )
    return shares(records, "token_str")


def show_features(pipe: Pipeline, text: str) -> Any:
    """Return a plot of the hidden states of the last layer."""
    (states,) = pipe(text, return_tensors="pt")
    return plot_phases(states, pipe.tokenizer.tokenize(text))


def write_on(pipe: Pipeline, text: str, words: int) -> str:
    """Return a text with its continuation."""
    if not text.strip():
        raise ValueError("the prompt must not be empty. Write at least one number.")
    return pipe(text, max_new_tokens=int(words), do_sample=False)[0]["generated_text"]


def translate(pipe: Pipeline, text: str, beams: int) -> tuple[Any, ...]:
    """Return translations of a text, best first, and a plot of the cross-attention of the best one."""
    beams = int(beams)
    records = pipe(text, num_beams=beams, num_return_sequences=beams, return_scores=True)
    rows = [[record["generated_text"], f"{record['score']:.3f}"] for record in records]
    tokens = pipe(text, num_beams=beams, return_tensors=True)[0]["generated_token_ids"]
    source = pipe.tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        output = pipe.model(source, decoder_input_ids=torch.tensor([tokens[:-1]]), output_attentions=True)
    weights = torch.stack(output.cross_attentions).mean(dim=(0, 2))[0]
    names = [pipe.tokenizer.convert_ids_to_tokens(ids) for ids in (source[0].tolist(), tokens[1:])]
    return rows, plot_attention(AttentionMap(names[0], [], names[1], None, weights.tolist(), None))


def answer_question(pipe: Pipeline, story: str, question: str) -> tuple[Any, ...]:
    """Return the answer, a plot of the attended sentences, and notes on unknown words."""
    answer = pipe(story=story, question=question)
    unknown = ", ".join(answer["unknown_words"]) or "none"
    notes = f"unknown words: {unknown}; sentences beyond the memory size: {answer['dropped_sentences']}"
    return {answer["answer"]: answer["score"]}, plot_memories(answer["memories"]), notes


def look(pipe: Pipeline, picture: Any) -> dict[str, float]:
    """Return the classes of an image."""
    if picture is None:
        raise ValueError("an image is required. Choose a file or an example.")
    return shares(pipe(picture, top_k=3))


def hear(pipe: Pipeline, path: str | None) -> tuple[Any, ...]:
    """Return the class or transcription of an audio file and a plot of its spectrum."""
    if path is None:
        raise ValueError("a sound is required. Choose a file, record one, or take an example.")
    rate = pipe.feature_extractor.sampling_rate
    wave = read_audio(path, rate, mix_channels=True)
    if len(wave) > MAX_SECONDS * rate:
        raise ValueError(f"the sound must be at most {MAX_SECONDS:.0f} s long, got {len(wave) / rate:.0f} s. Cut it.")
    answer = pipe({"raw": wave, "sampling_rate": rate})
    heard = shares(answer) if isinstance(answer, list) else answer["text"]
    return heard, plot_spectrum(wave, rate, nepers=NEPERS)


class Page(NamedTuple):
    """One tab: a task, a text about its model, input components, a function and output components."""

    task: str
    about: str
    inputs: Callable[[], list[gr.components.Component]]
    answer: Callable[..., Any]
    outputs: Callable[[], list[gr.components.Component]]
    examples: list[Any]  # values of the first input, lists of all inputs, or a file pattern in the model's folder


def text_box(label: str = "text", lines: int = 2) -> gr.Textbox:
    """Return an input for text."""
    return gr.Textbox(label=label, lines=lines)


def picture(label: str) -> gr.Plot:
    """Return an output for a plot, without the label that would cover it."""
    return gr.Plot(label=label, show_label=False)


def sound_tab(task: str, about: str, answer: Callable[[], gr.components.Component]) -> Page:
    """Return a tab with audio input."""
    return Page(
        task,
        f"{about} {HEARD}",
        lambda: [gr.Audio(sources=["upload", "microphone"], type="filepath", label="sound", buttons=[])],
        hear,
        lambda: [answer(), picture("spectrum")],
        ["example-*.wav"],
    )


PAGES = [
    Page(
        "text-classification",
        "Statement, question, or shuffled words? The words are the same, their order differs. Each word is a *wave* "
        "over positions, z = r exp(i (ω pos + θ)); the plot shows the waves of the first words.",
        lambda: [text_box()],
        classify,
        lambda: [gr.Label(label="class"), picture("waves of words")],
        [SENTENCE, "is the old dog behind the small cat", "old is the dog cat behind small the"],
    ),
    Page(
        "token-classification",
        "Who does what to whom? In the passive the second noun acts: the phases of the words encode their order.",
        lambda: [text_box()],
        tag,
        lambda: [gr.HighlightedText(label="roles", show_legend=False)],
        ["the old dog chases the small cat", "the small cat is chased by the old dog"],
    ),
    Page(
        "fill-mask",
        "A word is masked. The attention score is the modulus of a complex product, which depends on the distance.",
        lambda: [text_box()],
        fill,
        lambda: [gr.Label(label="word")],
        ["the old dog is <mask> the small cat", "<mask> the young fox near the old horse"],
    ),
    Page(
        "feature-extraction",
        "The hidden states of the classifier's last layer, one row per word: hue is phase, brightness is modulus.",
        lambda: [text_box()],
        show_features,
        lambda: [picture("states")],
        [SENTENCE, "is the old dog behind the small cat"],
    ),
    Page(
        "text-generation",
        "A complex Llama counts up or down: rotary positions are multiplications by exp(i ω pos).",
        lambda: [text_box("prompt"), gr.Slider(1, 40, value=16, step=1, label="new tokens")],
        write_on,
        lambda: [gr.Textbox(label="continuation", lines=3)],
        ["twenty seven, twenty eight,", "fifty three, fifty two,"],
    ),
    Page(
        "complex-text2text",
        "Numbers in German, which swaps tens and ones: *twenty three* is *drei und zwanzig*. The plot shows the "
        "cross-attention of each German word, computed from the moduli of complex scores.",
        lambda: [text_box("English", 1), gr.Slider(1, 5, value=3, step=1, label="beams")],
        translate,
        lambda: [
            gr.Dataframe(headers=["German", "score"], label="German"),
            picture("cross-attention"),
        ],
        ["sixty nine", "forty and eighty"],
    ),
    Page(
        "complex-question-answering",
        "A memory network attends to the sentences of a story three times, by complex inner products. Only the last "
        "move of a person counts.",
        lambda: [text_box("story", 5), text_box("question", 1)],
        answer_question,
        lambda: [
            gr.Label(label="answer"),
            picture("attended sentences"),
            gr.Textbox(label="notes"),
        ],
        [
            ["Mary goes to the kitchen.\nJohn runs to the office.\nMary walks to the garden.", "Where is Mary?"],
            ["Paul walks to the hall.\nAnn goes to the hall.\nPaul runs to the office.", "Where is Ann?"],
        ],
    ),
    Page(
        "image-classification",
        "Handwritten digits of 8 x 8 pixels, by complex convolutions; pooling keeps the value of largest modulus.",
        lambda: [gr.Image(type="pil", sources=["upload"], label="picture", height=240)],
        look,
        lambda: [gr.Label(label="digit")],
        ["example-*.png"],
    ),
    sound_tab(
        "audio-classification",
        "Sine, square or sawtooth?",
        lambda: gr.Label(label="wave"),
    ),
    sound_tab(
        "automatic-speech-recognition",
        "Melodies of the notes c, e, g and b as letters, by CTC: a letter or a blank per frame.",
        lambda: gr.Textbox(label="melody"),
    ),
    sound_tab(
        "complex-speech2text",
        "The same melodies, by a decoder that generates letter by letter.",
        lambda: gr.Textbox(label="melody"),
    ),
]


# Title -> tasks of one row of tabs: a single row would hide most tabs in a menu.
SECTIONS = {
    "Read text": ("text-classification", "token-classification", "fill-mask", "feature-extraction"),
    "Write text": ("text-generation", "complex-text2text", "complex-question-answering"),
    "Look and listen": (
        *("image-classification", "audio-classification"),
        *("automatic-speech-recognition", "complex-speech2text"),
    ),
}


@cache
def loaded(task: str, folder: Path) -> Pipeline:
    """Return the pipeline of a task, loaded once."""
    return pipeline(task, model=str(folder / FOLDERS.get(task, task)), **OPTIONS.get(task, {}))


def respond(page: Page, folder: Path, *inputs: Any) -> Any:
    """Return the answer of a page, or show the error of the library there."""
    try:
        for text in inputs:
            if isinstance(text, str) and len(text) > MAX_CHARACTERS:
                raise ValueError(
                    f"the text must have at most {MAX_CHARACTERS} characters, got {len(text)}. Shorten it."
                )
        return page.answer(loaded(page.task, folder), *inputs)
    except (TypeError, ValueError, PipelineException) as error:
        raise gr.Error(escape(str(error), quote=False), print_exception=False) from error


def examples_of(page: Page, folder: Path) -> list[list[Any]]:
    """Return example inputs, one list per example."""
    if isinstance(pattern := page.examples[0], str) and pattern.startswith("example-"):
        return [[str(path)] for path in sorted((folder / page.task).glob(pattern))]
    return [example if isinstance(example, list) else [example] for example in page.examples]


def build(folder: Path) -> gr.Blocks:
    """Build the page with one row of tabs per section, on the models of ``folder``."""
    pages = {page.task: page for page in PAGES}
    with gr.Blocks(title="complex_transformers", analytics_enabled=False) as blocks:
        gr.Markdown("## complex_transformers\nOne tab per pipeline task, on models trained here.")
        for number, (title, tasks) in enumerate(SECTIONS.items()):
            gr.Markdown(f"### {title}")
            with gr.Tabs(elem_id=f"section-{number}"):
                for task in tasks:
                    build_tab(pages[task], folder)
    return blocks


def build_tab(page: Page, folder: Path) -> None:
    """Add the tab of a task."""
    with gr.Tab(page.task, id=page.task):
        examples = examples_of(page, folder)
        gr.Markdown(page.about)
        with gr.Row():
            with gr.Column():
                inputs = page.inputs()
                button = gr.Button("run", variant="primary", elem_id=f"run-{page.task}")
                gr.Examples(examples, inputs[: len(examples[0])], elem_id=f"examples-{page.task}")
            with gr.Column(elem_id=f"answer-{page.task}"):
                outputs = page.outputs()
        button.click(partial(respond, page, folder), inputs, outputs, api_name=page.task)


@dataclass
class Arguments:
    """The folder of the models and the address of the page."""

    models: str = "outputs/demo"
    host: str = "127.0.0.1"
    port: int = 7860


def main() -> None:
    """Serve the page until interrupted."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    if gr is None:
        raise SystemExit("the page needs gradio: run `make demo`, or install gradio in an environment of its own")
    folder = Path(args.models)
    if missing := [page.task for page in PAGES if not (folder / FOLDERS.get(page.task, page.task)).is_dir()]:
        raise SystemExit(f"no model for {missing[0]} in {folder}: run python examples/demo/train_demo_models.py")
    limit_progress_bars()
    logging.set_verbosity_error()
    theme = gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
    build(folder.resolve()).launch(
        server_name=args.host,
        server_port=args.port,
        allowed_paths=[str(folder.resolve())],
        theme=theme,
        footer_links=["api"],
    )


if __name__ == "__main__":
    main()
