# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transcribe audio with a saved model: a file or a folder in, text or JSON lines out.

Files that cannot be read are reported at the end, and the exit code is then 1. A note counts the files for which the
model outputs nothing. Audio that is longer than a chunk goes through a CTC model in chunks that overlap.

    complex-transformers run transcribe --model outputs/speech recordings/ --output_file transcripts.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, pipeline

from ...data.audio import read_audio
from ...data.character_lm import CausalCharacterModel, CharacterLanguageModel, CharacterNGram
from ...data.ctc_decoding import CTCBeamSearchDecoder
from ..run import limit_progress_bars

ENDINGS = (
    ".wav", ".wave", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".aifc", ".au", ".caf", ".rf64", ".w64"
)  # fmt: skip
UNREADABLE = (".aac", ".ac3", ".amr", ".ape", ".m4a", ".mka", ".mp4", ".webm", ".wma")  # audio soundfile does not read


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("audio", nargs="+", type=Path, help="files, or folders to search")
    parser.add_argument("--model", required=True, help="folder or name on the Hub, as run ctc saves it")
    parser.add_argument("--output_file", type=Path, help="default: standard output")
    parser.add_argument(
        "--format", choices=("text", "json"), help="default: json for files named .jsonl or .json (one list)"
    )
    parser.add_argument("--chunk_length_s", type=float, default=30.0, help="for CTC models; 0: no chunks")
    parser.add_argument("--stride_length_s", type=float, help="overlap on either side; default a sixth of a chunk")
    parser.add_argument("--batch_size", type=int, default=8, help="chunks per batch")
    parser.add_argument("--num_beams", type=int, help="beams of the search; default: greedy, 16 with --language_model")
    parser.add_argument(
        "--language_model",
        help="for CTC: a file of transcripts, for 5-grams of characters, or a causal model with a character tokenizer",
    )
    parser.add_argument("--language_model_weight", type=float, default=0.5, help="weight of its log-probabilities")
    parser.add_argument("--length_bonus", type=float, default=0.0, help="for CTC: added to the score per character")
    parser.add_argument("--mix_channels", action="store_true", help="average the channels of stereo audio")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args(arguments)
    if args.format is None:
        named_json = args.output_file is not None and args.output_file.suffix in (".json", ".jsonl")
        args.format = "json" if named_json else "text"
    return args


def audio_files(paths: list[Path], failures: dict[Path, str]) -> list[Path]:
    """Return the files and the sorted files of folders; a folder without audio goes into ``failures``."""
    found, others = [], []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        files = sorted(files_below(path, failures))
        inside = [p for p in files if p.suffix.lower() in ENDINGS + UNREADABLE and not p.name.startswith(".")]
        if not inside:
            failures[path] = f"has no audio file (endings: {', '.join(ENDINGS)})"
        found += inside
        others += sorted(set(files) - set(inside))
    if others:
        names = "".join(f"\n  {file}" for file in others)
        print(f"{len(others)} other files in the folders are hidden or not audio, left out:{names}", file=sys.stderr)
    return found


def files_below(folder: Path, failures: dict[Path, str]) -> Iterator[Path]:
    """Yield all files; folders that are unreadable or links go into ``failures``."""

    def unreadable(error: OSError) -> None:
        failures[Path(error.filename)] = f"cannot be searched: {error.strerror}"

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        for link in (Path(parent) / name for name in folders):
            if link.is_symlink():
                failures[link] = "is a link to a folder and was not searched. Pass that folder."
        yield from (Path(parent) / name for name in names)


def character_model(name: str) -> CharacterLanguageModel:
    """Return the 5-gram model of a text file with one transcript per line, or a saved causal model."""
    if Path(name).is_file():
        return CharacterNGram(Path(name).read_text(encoding="utf-8").splitlines())
    return CausalCharacterModel(AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name))


def beam_search(args: argparse.Namespace) -> dict[str, Any]:
    """Return the ``decoder`` of a CTC pipeline; none for greedy decoding."""
    if args.num_beams is None and args.language_model is None:
        return {}
    language_model = None if args.language_model is None else character_model(args.language_model)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    options = (args.num_beams or 16, language_model, args.language_model_weight, args.length_bonus)
    return {"decoder": CTCBeamSearchDecoder(tokenizer, *options)}


class Transcriber:
    """The pipeline for the model, from waveform to text."""

    def __init__(self, args: argparse.Namespace) -> None:
        config = AutoConfig.from_pretrained(args.model)
        task = "complex-speech2text" if config.is_encoder_decoder else "automatic-speech-recognition"
        if config.is_encoder_decoder and args.language_model is not None:
            raise SystemExit(f"--language_model must be left out with a decoder, got {args.language_model}.")
        decoder = {} if config.is_encoder_decoder else beam_search(args)
        self.pipeline = pipeline(task, model=args.model, device=args.device, **decoder)
        self.extractor, self.ratio = self.pipeline.feature_extractor, config.inputs_to_logits_ratio
        self.rate = self.extractor.sampling_rate
        self.options: dict[str, Any] = {} if args.num_beams is None else {"num_beams": args.num_beams}
        self.longest = 0  # samples of a chunk
        if not config.is_encoder_decoder:
            self.options = {"batch_size": args.batch_size}
            if args.chunk_length_s:
                self.use_chunks(args.chunk_length_s, args.stride_length_s)

    def use_chunks(self, chunk: float, stride: float | None) -> None:
        """Split long audio into chunks of so many seconds; raise for an overlap that loses frames."""
        stride = chunk / 6 if stride is None else stride
        # Whole output frames, since the pipeline rounds in the same way.
        self.longest, overlap = (round(s * self.rate / self.ratio) * self.ratio for s in (chunk, stride))
        if not self.extractor.window_length <= overlap < self.longest / 2:
            raise SystemExit(
                f"--stride_length_s must be between one window ({self.extractor.window_length} samples) and half a "
                f"chunk ({self.longest // 2}), got {stride:g} s ({overlap})."
            )
        self.chunks = {"chunk_length_s": chunk, "stride_length_s": stride}

    def __call__(self, wave: np.ndarray) -> str:
        """Return the text of a waveform ``[samples]``."""
        options = self.options
        if 0 < self.longest < len(wave):
            if self.extractor.normalize:
                warnings.warn(
                    "chunks are normalized separately, so the text can differ from the whole audio. Set "
                    "--chunk_length_s 0 to avoid chunks.",
                    stacklevel=2,
                )
            # The pipeline keeps round(samples / ratio) frames of the last chunk, but the model may have one more.
            wave = np.pad(wave, (0, -len(wave) % self.ratio))
            options = {**options, **self.chunks}
        return self.pipeline({"raw": wave, "sampling_rate": self.rate}, **options)["text"]


def transcripts(
    args: argparse.Namespace, transcribe: Transcriber, failures: dict[Path, str]
) -> Iterator[dict[str, Any]]:
    """Yield ``file``, ``text`` and ``seconds`` of each readable file; the others go into ``failures``."""
    for path in tqdm(audio_files(args.audio, failures), unit="file", disable=None):
        try:
            wave = read_audio(path, transcribe.rate, args.mix_channels)
            text = transcribe(wave)
        except Exception as error:  # whatever one file does, the others are transcribed
            failures[path] = str(error).removeprefix(f"{path} ") or repr(error)
            continue
        yield {"file": str(path), "text": text, "seconds": round(len(wave) / transcribe.rate, 3)}


def line_of(record: dict[str, Any], format_: str) -> str:
    """Return one line of the output; undecodable bytes of a file name are escaped."""
    line = json.dumps(record, ensure_ascii=False) if format_ == "json" else f"{record['file']}\t{record['text']}"
    return line.encode("utf-8", "backslashreplace").decode()


def main(arguments: list[str] | None = None) -> int:
    """Transcribe recordings, report failed ones, and return the exit code."""
    args = parse(arguments)
    limit_progress_bars()
    transcribe = Transcriber(args)
    failures: dict[Path, str] = {}
    written, silent = 0, []
    as_list = args.format == "json" and args.output_file is not None and args.output_file.suffix == ".json"
    if args.output_file is not None:
        args.output_file.parent.mkdir(parents=True, exist_ok=True)
    output = nullcontext(sys.stdout) if args.output_file is None else args.output_file.open("w", encoding="utf-8")
    with output as file:
        try:
            for record in transcripts(args, transcribe, failures):
                mark = ("," if written else "[") if as_list else ""
                print(mark + line_of(record, args.format), file=file, flush=True)
                written += 1
                if not record["text"].strip():
                    silent.append(record["file"])
        finally:  # the list must be valid JSON even after an error
            if as_list:
                print("]" if written else "[]", file=file)
    if silent:
        print(
            f"The model outputs nothing for {len(silent)} of {written} files (first: {silent[0]}). Check that they "
            "hold speech, or train the model longer.",
            file=sys.stderr,
        )
    if failures:
        print(f"{len(failures)} of {len(failures) + written} files could not be transcribed:", file=sys.stderr)
        for path, reason in failures.items():
            print(f"  {path}: {reason}", file=sys.stderr)
    return 1 if failures else 0
