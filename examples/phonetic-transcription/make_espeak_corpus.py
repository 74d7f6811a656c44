#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Make a corpus of speech and its phonetic transcription from any text, spoken by espeak-ng.

    python examples/phonetic-transcription/make_espeak_corpus.py --text_files sentences.txt --utterances 3000 \
        --max_words 8 --output_dir outputs/espeak

It replaces manually transcribed recordings such as Babble (``--babble``).
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import random
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import ceil, gcd
from pathlib import Path
from typing import Any

import numpy as np
from espeak import PITCHES, SPEEDS, Espeak
from tqdm import tqdm
from transformers import HfArgumentParser

from complex_transformers.data.extras import (
    install_command,
)
from complex_transformers.data.files import (
    read_lines,
)
from complex_transformers.recipes import (
    ipa_category,
    write_babble_tasks,
)
from complex_transformers.recipes.records import (
    invocation,
)

try:
    import soundfile
    from scipy.signal import resample_poly
except ImportError as error:
    raise ImportError(f"writing speech needs {error.name}. {install_command('synthesis')}") from error

COLUMNS = ("path", "text", "ipa", "voice", "speed", "pitch", "seconds")
HELD_OUT = {"validation": 0.1, "test": 0.1}
TRANSCRIPTION_TASKS = range(1, 7)  # of Babble; task 7 has one label for all speech


@dataclass
class Arguments:
    """Texts, voices, sizes and output folder."""

    text_files: list[str] = field(metadata={"help": "one sentence per line; also .gz"})
    utterances: int = 3000
    max_words: int | None = field(
        default=None,
        metadata={"help": "split longer lines into sentences, and these into even pieces of at most this many words"},
    )
    voices: list[str] = field(
        default_factory=lambda: [
            *("en-gb", "en-us", "en-gb-scotland", "en-gb-x-rp"),
            *("en-gb+f2", "en-us+f3", "en-gb+m7", "en-us+m3"),
        ],
        metadata={"help": "voices of espeak-ng; a plus adds a variant: en-us+f3"},
    )
    speeds: list[int] = field(default_factory=lambda: [130, 160, 190], metadata={"help": "words per minute, 80-450"})
    pitches: list[int] = field(default_factory=lambda: [50], metadata={"help": "0 to 99"})
    sampling_rate: int = field(default=16000, metadata={"help": "Hz of the recordings"})
    seed: int = field(default=0, metadata={"help": "seed of the choice of sentences, voices and splits"})
    processes: int = field(default=1, metadata={"help": "parallel processes; the result is the same"})
    babble: bool = field(
        default=False, metadata={"help": "write the folder of Babble (babble.csv, tasks/) instead of three splits"}
    )
    min_count: int = field(
        default=10,
        metadata={"help": "with --babble, minimum count of a symbol in a task"},
    )
    output_dir: str = "outputs/espeak"

    def __post_init__(self) -> None:
        for name, least in (("utterances", 1), ("max_words", 1), ("sampling_rate", 8000), ("processes", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"--{name} must be at least {least}, got {value}")
        for name, allowed in (("speeds", SPEEDS), ("pitches", PITCHES)):
            if wrong := [value for value in getattr(self, name) if value not in allowed]:
                raise ValueError(f"--{name} must lie in [{allowed.start}, {allowed.stop - 1}], got {wrong}")
        for name in ("voices", "speeds", "pitches"):
            if double := [value for value, count in Counter(getattr(self, name)).items() if count > 1]:
                raise ValueError(f"--{name} must be distinct, got {double} more than once")


@dataclass(frozen=True)
class Sentence:
    """A text to speak, and the number of its line."""

    text: str
    line: int


@dataclass(frozen=True)
class Utterance:
    """A sentence with its voice, speed and pitch."""

    path: str
    sentence: Sentence
    voice: str
    speed: int
    pitch: int


def pieces(line: str, max_words: int | None) -> list[str]:
    """Split a line into sentences, and these into even pieces of at most ``max_words`` words."""
    if max_words is None or len(line.split()) <= max_words:
        return [" ".join(line.split())]
    found = []
    for sentence in re.split(r"(?<=[.!?])\s+", line.strip()):
        words = sentence.split()
        number = ceil(len(words) / max_words)
        bounds = [round(index * len(words) / number) for index in range(number + 1)]
        found += [" ".join(words[start:end]) for start, end in pairwise(bounds)]
    return found


def read_sentences(files: Sequence[str], max_words: int | None) -> tuple[list[Sentence], dict[str, int]]:
    """Return texts with distinct words, and counts of the lines and pieces left out.

    Raises:
        ValueError: a file without a sentence.
    """
    counts = dict.fromkeys(("lines", "blank_lines", "pieces_without_words", "repeated_pieces"), 0)
    seen: dict[tuple[str, ...], Sentence] = {}
    for path in files:
        spoken = 0
        for line in read_lines(path):
            counts["lines"] += 1
            if not line.strip():
                counts["blank_lines"] += 1
                continue
            for piece in pieces(line, max_words):
                words = tuple(re.findall(r"\w+", piece.casefold()))
                if not words:
                    counts["pieces_without_words"] += 1
                elif words in seen:
                    counts["repeated_pieces"] += 1
                else:
                    seen[words] = Sentence(piece, counts["lines"])
                spoken += bool(words)
        if not spoken:
            raise ValueError(f"{path} must have one sentence per line, got none")
    return list(seen.values()), counts


def choose(sentences: Sequence[Sentence], args: Arguments) -> list[Utterance]:
    """Choose utterances: every sentence once before any repeats, and never with the same voice, speed and pitch.

    Raises:
        ValueError: more utterances than combinations of sentence, voice, speed and pitch; with ``--babble``, more than
            sentences.
    """
    generator = random.Random(args.seed)
    ways = list(product(args.voices, args.speeds, args.pitches))
    most = len(sentences) if args.babble else len(sentences) * len(ways)
    if args.utterances > most:
        # Babble's splits are made by symbols, so a sentence spoken twice could be in two of them.
        reason = "--babble uses each once" if args.babble else f"{len(ways)} combinations of voice, speed and pitch"
        raise ValueError(
            f"--utterances must be at most {most}, got {args.utterances}: {len(sentences)} sentences and {reason}"
        )
    order = generator.sample(sentences, len(sentences))
    ways_of = [generator.sample(ways, len(ways)) for _ in order[: args.utterances]]
    width = len(str(args.utterances - 1))
    chosen = []
    for index in range(args.utterances):
        turn, place = divmod(index, len(order))
        chosen.append(Utterance(f"wav/{index:0{width}d}.wav", order[place], *ways_of[place][turn]))
    return chosen


def split_lines(lines: Iterable[int], seed: int) -> dict[int, str]:
    """Return line -> split. All utterances of a line are in the same split.

    Raises:
        ValueError: fewer than 3 lines.
    """
    order = sorted(set(lines))
    if len(order) < 3:
        raise ValueError(f"text_files must have sentences of at least 3 lines, got {len(order)}")
    random.Random(seed).shuffle(order)
    part_of = dict.fromkeys(order, "train")
    for part, share in HELD_OUT.items():
        for _ in range(max(1, round(share * len(part_of)))):
            part_of[order.pop()] = part
    return part_of


_speaking: dict[str, Any] = {}  # per process: espeak-ng, output folder and sampling rate


def _start(espeak: Espeak, folder: Path, sampling_rate: int) -> None:
    _speaking.update(espeak=espeak, folder=folder, sampling_rate=sampling_rate)


def resample(samples: np.ndarray, rate: int, new_rate: int) -> np.ndarray:
    """Resample 16-bit samples with a polyphase filter."""
    if rate == new_rate:
        return samples
    common = gcd(rate, new_rate)
    result = resample_poly(samples.astype(np.float64), new_rate // common, rate // common)
    return np.clip(np.rint(result), -32768, 32767).astype(np.int16)


def _speak(utterance: Utterance) -> tuple[str | None, float, str | None]:
    """Write a recording; return its transcription and seconds, or the error."""
    espeak, rate = _speaking["espeak"], _speaking["sampling_rate"]
    try:
        samples, ipa = espeak.say(utterance.sentence.text, utterance.voice, utterance.speed, utterance.pitch)
        samples = resample(samples, espeak.sampling_rate, rate)
        soundfile.write(_speaking["folder"] / utterance.path, samples, rate, subtype="PCM_16")
    except (ValueError, RuntimeError, OSError) as error:
        return None, 0.0, f"{type(error).__name__}: {error}"
    return ipa, len(samples) / rate, None


def speak_all(utterances: Sequence[Utterance], espeak: Espeak, args: Arguments) -> Iterator[Any]:
    """Yield the results of ``_speak`` in order."""
    # Forked processes share the loaded library and its voices.
    context = multiprocessing.get_context("fork")
    with context.Pool(args.processes, _start, (espeak, Path(args.output_dir), args.sampling_rate)) as pool:
        yield from tqdm(pool.imap(_speak, utterances), total=len(utterances), unit=" utterances", disable=None)


def write_table(path: Path, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Write the given columns as a csv file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_parts(folder: Path, rows: Sequence[dict[str, Any]], part_of: dict[int, str]) -> dict[str, Any]:
    """Write a table per split and return their sizes."""
    sizes = {}
    for part in ("train", *HELD_OUT):
        mine = [row for row in rows if part_of[row["line"]] == part]
        write_table(folder / f"{part}.csv", COLUMNS, mine)
        sizes[part] = {
            "utterances": len(mine),
            "sentences": len({row["text"] for row in mine}),
            "hours": round(sum(row["seconds"] for row in mine) / 3600, 4),
        }
    return sizes


def write_babble(folder: Path, rows: Sequence[dict[str, Any]], args: Arguments) -> dict[str, Any]:
    """Write the table and the tasks of Babble and return their sizes."""
    table = [{**row, "file_path": row["path"], "full_ipa": row["ipa"]} for row in rows]
    write_table(folder / "babble.csv", ("file_path", "full_ipa", "text", "voice", "speed", "pitch", "seconds"), table)
    return {
        f"task{task}": sizes
        for task, sizes in write_babble_tasks(folder, TRANSCRIPTION_TASKS, args.min_count, args.seed).items()
    }


def main() -> dict[str, Any]:
    """Parse the command line, synthesize the utterances and write the folder."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    folder = Path(args.output_dir)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists and is not an empty folder: remove it, or give another --output_dir")
    espeak = Espeak()
    same: dict[str, str] = {}
    for voice in args.voices:
        if (other := same.setdefault(espeak.resolve(voice), voice)) != voice:
            raise ValueError(f"--voices must be distinct, got {other!r} and {voice!r}, which are the same voice")
    sentences, read = read_sentences(args.text_files, args.max_words)
    utterances = choose(sentences, args)
    part_of = {} if args.babble else split_lines((each.sentence.line for each in utterances), args.seed)
    (folder / "wav").mkdir(parents=True)
    rows, failed = [], []
    for utterance, (ipa, seconds, error) in zip(utterances, speak_all(utterances, espeak, args), strict=True):
        row = {**vars(utterance), "text": utterance.sentence.text, "line": utterance.sentence.line}
        if error is None:
            rows.append({**row, "ipa": ipa, "seconds": round(seconds, 4)})
        else:
            failed.append({**{key: row[key] for key in COLUMNS if key in row}, "error": error})
    if not rows:
        raise RuntimeError(f"all {len(failed)} utterances failed, the first: {failed[0]['error']}")
    symbols = Counter(symbol for row in rows for symbol in row["ipa"])
    corpus: dict[str, Any] = {
        "utterances": len(rows),
        "failed": failed,
        "hours": round(sum(row["seconds"] for row in rows) / 3600, 4),
        "parts": write_babble(folder, rows, args) if args.babble else write_parts(folder, rows, part_of),
        "text": {**read, "sentences": len(sentences)},
        "voices": dict(sorted(Counter(row["voice"] for row in rows).items())),
        "symbols": dict(symbols.most_common()),
        "symbols_outside_chart": sorted(s for s in symbols if s != " " and ipa_category(s) is None),
        "sampling_rate": args.sampling_rate,
        "seed": args.seed,
        "espeak_ng": espeak.version,
        "command": shlex.join(invocation()),
    }
    (folder / "corpus.json").write_text(json.dumps(corpus, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(rows)} utterances, {corpus['hours']:.2f} hours, {len(symbols)} symbols: {folder}")
    print("left out: " + ", ".join(f"{read[name]} {name.replace('_', ' ')}" for name in list(read)[1:]))
    for part, sizes in corpus["parts"].items():
        print(f"{part}: " + ", ".join(f"{name} {size}" for name, size in sizes.items()))
    if failed:
        lines = "\n".join(f"{each['path']}: {each['error']}" for each in failed)
        raise SystemExit(f"{len(failed)} of {len(utterances)} utterances failed and are in no table:\n{lines}")
    return corpus


if __name__ == "__main__":
    main()
