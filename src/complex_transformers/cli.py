# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The console command ``complex-transformers``: conversion, quantization, export, evaluation and training recipes.

Each command is the ``main`` of a module, which reads its options from ``sys.argv`` and is imported when it is called,
so that ``--help`` takes a fraction of a second.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .data.extras import with_extra

__all__ = ["COMMANDS", "PROGRAM", "Command", "Group", "main", "module_of"]

PROGRAM = "complex-transformers"


@dataclass(frozen=True)
class Command:
    """A module of this package with a ``main``, and the line about it in the listing."""

    module: str
    help: str


@dataclass(frozen=True)
class Group:
    """Commands under one verb."""

    help: str
    commands: Mapping[str, Command | Group]


def _recipe(name: str, help: str) -> Command:
    return Command(f"recipes.commands.{name}", help)


RECIPES = {
    "classification": _recipe("classification", "train a text classifier"),
    "image-classification": _recipe("image_classification", "train an image classifier"),
    "audio-classification": _recipe("audio_classification", "train an audio classifier"),
    "causal-lm": _recipe("causal_lm", "train a complex Llama on packed blocks of text"),
    "recurrent-lm": _recipe("recurrent_lm", "train a recurrent language model on streams of text"),
    "state-space-lm": _recipe("state_space_lm", "train a Mamba-3 language model on streams of text"),
    "transfo-xl-lm": _recipe("transfo_xl_lm", "train a Transformer-XL language model on streams of text"),
    "masked-lm": _recipe("masked_lm", "train a ComplexOrder masked language model"),
    "translation": _recipe("translation", "train an encoder-decoder on parallel text"),
    "translate": _recipe("translate", "translate lines of text with a saved encoder-decoder"),
    "train-parser": _recipe("train_parser", "train a dependency parser with spaCy"),
    "parse-corpus": _recipe("parse_corpus", "parse parallel text for syntax-translation"),
    "syntax-translation": _recipe("syntax_translation", "train SynCoNMT on a parsed corpus"),
    "syntax-translate": _recipe("syntax_translate", "translate raw text with a saved SynCoNMT"),
    "ctc": _recipe("ctc", "train speech recognition with CTC, optionally with a decoder"),
    "transcribe": _recipe("transcribe", "transcribe audio files with a saved speech model"),
    "fsdd": _recipe("fsdd", "prepare the Free Spoken Digit Dataset for audio-classification and ctc"),
    "babble": _recipe("babble", "train phonetic transcription on the Babble tasks"),
    "babi": _recipe("babi", "train a memory network on the bAbI tasks"),
    "lift-report": _recipe("lift_report", "lift and quantize a checkpoint, and compare outputs, perplexity and sizes"),
}
CHECKPOINTS = {
    "transfo-xl": Command("conversion.convert_transfo_xl_checkpoint", "a released Complex Transformer-XL checkpoint"),
    "mamba3": Command("conversion.convert_mamba3_checkpoint", "a Mamba-3 checkpoint of the official code"),
    "ifairy": Command("conversion.convert_ifairy_checkpoint", "a released iFairy checkpoint"),
    "fairy2i": Command("conversion.convert_fairy2i_checkpoint", "a released Fairy2i checkpoint"),
}
COMMANDS = Group(
    "Complex-valued models for Hugging Face Transformers.",
    {
        "lift": Command("conversion.lift_checkpoint", "rewrite a real Llama or BERT checkpoint as a complex model"),
        "convert": Group("convert a released checkpoint of another code base", CHECKPOINTS),
        "quantize": _recipe("quantize", "quantize a complex model to two bits per complex weight and stage"),
        "export": _recipe("export_onnx", "export a saved model to ONNX and compare the outputs"),
        "evaluate": _recipe("evaluate", "score a saved model on a text file or a table"),
        "run": Group("run a recipe: train a model, prepare its data, or use it", RECIPES),
    },
)


def module_of(words: Sequence[str]) -> str:
    """Return the full name of the module behind a command such as ``["run", "ctc"]``."""
    entry: Command | Group = COMMANDS
    for word in words:
        assert isinstance(entry, Group)
        entry = entry.commands[word]
    assert isinstance(entry, Command)
    return f"{__package__}.{entry.module}"


def _choose(group: Group, name: str, words: Sequence[str]) -> str:
    """Return the command that the first word names; print help or an error and exit otherwise."""
    parser = argparse.ArgumentParser(name, description=group.help)
    if name == PROGRAM:
        parser.add_argument("--version", action="version", version=sys.modules[__package__].__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for command, entry in group.commands.items():
        commands.add_parser(command, help=entry.help, add_help=False)
    chosen: str = parser.parse_args(words[:1]).command
    return chosen


def _load(module: str) -> Any:
    """Import the module of a command; the error of a missing package says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise with_extra(error, sys.argv[0]) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 2 after an error of its arguments or files, which is printed.

    Args:
        arguments: the command line without the program's name; default ``sys.argv[1:]``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    chosen = [PROGRAM]
    entry: Command | Group = COMMANDS
    while isinstance(entry, Group):
        chosen.append(_choose(entry, " ".join(chosen), words))
        entry = entry.commands[words.pop(0)]
    sys.argv = [" ".join(chosen), *words]  # recipes read and record their command line
    try:
        result = _load(module_of(chosen[1:])).main()
    except (ImportError, OSError, ValueError) as error:
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        print(f"{PROGRAM}: error: {text}", file=sys.stderr)
        return 2
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
