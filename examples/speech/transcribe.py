# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Transcribe audio with a saved model: a file or a folder in, text or JSON lines out.

Files that cannot be read are reported at the end, and the exit code is then 1. Long audio goes through a CTC model in
chunks that overlap.

    python examples/speech/transcribe.py --model outputs/speech recordings/ --output_file transcripts.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from tqdm.auto import tqdm
from transformers import AutoConfig, pipeline

import complex_transformers  # noqa: F401 - registers models and tasks
from complex_transformers import read_audio

ENDINGS = (".wav", ".flac", ".ogg", ".mp3", ".opus", ".aiff", ".aif", ".au")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("audio", nargs="+", type=Path, help="files, or folders that are searched for them")
    parser.add_argument("--model", required=True, help="folder or name on the Hub, as run_ctc.py saves it")
    parser.add_argument("--output_file", type=Path, help="default: standard output")
    parser.add_argument("--format", choices=("text", "json"), help="default: json for a file named .json or .jsonl")
    parser.add_argument("--chunk_length_s", type=float, default=30.0, help="of CTC models; 0: the whole file at once")
    parser.add_argument("--stride_length_s", type=float, help="overlap on either side; default a sixth of a chunk")
    parser.add_argument("--batch_size", type=int, default=8, help="chunks that go through the model at once")
    parser.add_argument("--num_beams", type=int, help="of models with a decoder")
    parser.add_argument("--mix_channels", action="store_true", help="average the channels of stereo audio")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args(arguments)
    if args.format is None:
        named_json = args.output_file is not None and args.output_file.suffix in (".json", ".jsonl")
        args.format = "json" if named_json else "text"
    return args


def audio_files(paths: list[Path]) -> list[Path]:
    """The files, and those of the folders in order of their names."""
    found = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in ENDINGS)
            if not inside:
                raise SystemExit(f"{path} has no audio file (endings: {', '.join(ENDINGS)})")
            found += inside
        else:
            found.append(path)
    return found


def load(args: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The pipeline that fits the model, and the arguments of its calls."""
    config = AutoConfig.from_pretrained(args.model)
    if config.is_encoder_decoder:
        options = {} if args.num_beams is None else {"num_beams": args.num_beams}
        return pipeline("complex-speech2text", model=args.model, device=args.device), options
    if args.num_beams is not None:
        raise SystemExit("--num_beams is for models with a decoder, and this one transcribes by CTC: leave it out")
    options = {"batch_size": args.batch_size}
    if args.chunk_length_s:
        stride = args.stride_length_s
        options |= {"chunk_length_s": args.chunk_length_s, **({} if stride is None else {"stride_length_s": stride})}
    return pipeline("automatic-speech-recognition", model=args.model, device=args.device), options


def transcripts(args: argparse.Namespace, failures: dict[Path, str]) -> Iterator[dict[str, Any]]:
    """``file``, ``text`` and ``seconds`` of each file that can be read; the others go into ``failures``."""
    transcribe, options = load(args)
    rate = transcribe.feature_extractor.sampling_rate
    for path in tqdm(audio_files(args.audio), unit="file", disable=None):
        try:
            wave = read_audio(path, rate, args.mix_channels)
            text = transcribe({"raw": wave, "sampling_rate": rate}, **options)["text"]
        except (OSError, ValueError) as error:
            failures[path] = str(error).removeprefix(f"{path} ")
            continue
        yield {"file": str(path), "text": text, "seconds": round(len(wave) / rate, 3)}


def main(arguments: list[str] | None = None) -> int:
    """Transcribe and report; the exit code."""
    args = parse(arguments)
    failures: dict[Path, str] = {}
    written = 0
    output = nullcontext(sys.stdout) if args.output_file is None else args.output_file.open("w", encoding="utf-8")
    with output as file:
        for record in transcripts(args, failures):
            line = (
                json.dumps(record, ensure_ascii=False)
                if args.format == "json"
                else f"{record['file']}\t{record['text']}"
            )
            print(line, file=file, flush=True)
            written += 1
    if failures:
        print(f"{len(failures)} of {len(failures) + written} files could not be transcribed:", file=sys.stderr)
        for path, reason in failures.items():
            print(f"  {path}: {reason}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
