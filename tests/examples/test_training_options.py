# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""All training scripts call their data by the same names, and say where a default is not that of Transformers."""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, fields

import pytest
from example_runs import load_example
from transformers import HfArgumentParser, Seq2SeqTrainingArguments

DATA = {"train_file", "validation_file", "test_file", "validation_split", "dataset_name"}
ON_ANY_DATA = [
    *(f"language-modeling/{name}.py" for name in ("run_clm", "run_clm_mamba", "run_clm_rnn", "run_clm_xl", "run_mlm")),
    *("translation/run_translation.py", "text-classification/run_classification.py"),
    *("image-classification/run_image_classification.py",),
    *("speech/run_audio_classification.py", "speech/run_ctc.py"),
]
ON_OWN_DATA = ["question-answering/run_babi.py", "phonetic-transcription/run_babble.py"]
ON_OWN_DATA += ["syntax-translation/run_synconmt.py"]


class Parsed(Exception):
    """The parser of a script."""


def options(path: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Field]:
    """Return the fields that a script makes options of."""

    def stop(self: HfArgumentParser, *args: object, **kwargs: object) -> None:
        raise Parsed({each.name: each for source in self.dataclass_types for each in fields(source)})

    monkeypatch.setattr(HfArgumentParser, "parse_args_into_dataclasses", stop)
    monkeypatch.setattr(sys, "argv", [path])
    with pytest.raises(Parsed) as parsed:
        load_example(path).main()
    return parsed.value.args[0]


@pytest.mark.parametrize("path", [*ON_ANY_DATA, *ON_OWN_DATA])
def test_options_of_a_script(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = options(path, monkeypatch)
    if path in ON_ANY_DATA:
        assert set(found) >= DATA
        assert found["validation_split"].default == 0.1
    for theirs in fields(Seq2SeqTrainingArguments):
        ours = found[theirs.name]
        if theirs.name != "output_dir" and ours.default is not MISSING and ours.default != theirs.default:
            why = ours.metadata.get("help", "").partition("here: ")[2]
            assert why or theirs.name in ("do_train", "disable_tqdm"), (
                f"{path} changes {theirs.name} and says no reason"
            )
    assert 0 <= found["warmup_steps"].default < 1  # a share of the run


@pytest.mark.parametrize("path", ["syntax-translation/train_parser.py", "syntax-translation/prepare.py"])
def test_options_of_parsing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(options(path, monkeypatch)) >= DATA - {"dataset_name"}
