# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Unpack the Free Spoken Digit Dataset into a folder of recordings with a table per split.

The official split tests on the recordings 0 to 4 of every speaker and digit; 5 to 9, of its training split, validate.

    complex-transformers run fsdd --output_dir outputs/fsdd/data
    complex-transformers run fsdd --output_dir outputs/no-theo/data --leave_out theo      # a speaker never heard
"""

from __future__ import annotations

import csv
import os
import re
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from transformers import HfArgumentParser

PARTS = ("train", "validation", "test")
NAME = re.compile(r"(?:.*/)?(?P<digit>\d)_(?P<speaker>[a-z]+)_(?P<index>\d+)\.wav")
TEST, VALIDATION = range(5), range(5, 10)  # indices of recordings


@dataclass
class Arguments:
    """Command line options: archive, output folder and split."""

    archive: str | None = field(
        default=None, metadata={"help": "a tar archive; default: $COMPLEX_TRANSFORMERS_DATA/speech/fsdd.tar.gz"}
    )
    output_dir: str = "outputs/fsdd/data"
    leave_out: str | None = field(default=None, metadata={"help": "a speaker whose recordings are the test split"})


def part_of(speaker: str, index: int, leave_out: str | None) -> str:
    """Return the split of one recording."""
    if speaker == leave_out or (leave_out is None and index in TEST):
        return "test"
    return "validation" if index in VALIDATION else "train"


def main() -> dict[str, int]:
    """Unpack the archive and return the number of recordings per split."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    data = os.environ.get("COMPLEX_TRANSFORMERS_DATA", "../shared/data")
    archive, folder = Path(args.archive or f"{data}/speech/fsdd.tar.gz"), Path(args.output_dir)
    if not archive.is_file():
        raise FileNotFoundError(f"--archive must be an existing file, got {archive}. Set --archive.")
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[tuple[str, str, str]]] = {part: [] for part in PARTS}
    with tarfile.open(archive) as file:
        members = [(member, NAME.fullmatch(member.name)) for member in file if member.name.endswith(".wav")]
        speakers = {match["speaker"] for _, match in members if match}
        if args.leave_out is not None and args.leave_out not in speakers:
            raise ValueError(f"--leave_out must be one of {sorted(speakers)}, got {args.leave_out!r}.")
        for member, match in members:
            if match is None:
                raise ValueError(f"{archive} must have DIGIT_SPEAKER_INDEX.wav files, got {member.name}.")
            content = file.extractfile(member) if member.isfile() else None
            if content is None or Path(member.name).is_absolute() or ".." in Path(member.name).parts:
                raise ValueError(f"{archive} must not have paths outside its folder, got {member.name!r}.")
            target = folder / member.name  # not extract(): only newer Python versions filter unsafe members
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())
            part = part_of(match["speaker"], int(match["index"]), args.leave_out)
            rows[part].append((member.name, match["digit"], match["speaker"]))
    if empty := [part for part in PARTS if not rows[part]]:
        raise ValueError(f"{archive} must have recordings of every split, got none for {empty[0]}.")
    for part in PARTS:
        with (folder / f"{part}.csv").open("w", encoding="utf-8", newline="") as table:
            csv.writer(table).writerows([("path", "label", "speaker"), *sorted(rows[part])])
    counts = {part: len(rows[part]) for part in PARTS}
    print(f"{folder}: {counts}, speakers {sorted(speakers)}")
    return counts
