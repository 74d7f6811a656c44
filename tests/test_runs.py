# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs: their command lines, their folders, and what they write: nothing of the machine, all figures."""

import json
import math
from dataclasses import asdict, replace
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import HfArgumentParser

from complex_transformers import (
    ComplexFastTextConfig,
    ComplexFastTextForSequenceClassification,
    ComplexOrderConfig,
    ComplexTransfoXLConfig,
    build_tokenizer,
)
from complex_transformers.recipes import (
    AudioClassificationRun,
    BlockDataArguments,
    RunArguments,
    StreamDataArguments,
    TranscriptionRun,
    arguments_of,
    arguments_of_networks,
    encode_parallel_dataset,
    load_parallel_dataset,
)
from complex_transformers.recipes.packed_language_modeling import BlockRun, split_blocks
from complex_transformers.recipes.records import command_line, portable, rounded, run_record, save_model, write_results
from complex_transformers.recipes.stateful_language_modeling import make_tokenizer
from refusals import refused


def test_no_path_of_this_machine_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = tmp_path / "elsewhere" / "data"
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("COMPLEX_TRANSFORMERS_DATA", str(data))
    assert portable(str(work / "a" / "b.txt")) == str(Path("a/b.txt"))
    assert portable(data / "train.gz") == "$COMPLEX_TRANSFORMERS_DATA/train.gz"
    assert portable("/home/someone/corpus.txt") == "corpus.txt"
    assert portable(f"--train_file={data}/x") == "--train_file=$COMPLEX_TRANSFORMERS_DATA/x"
    given = {"files": [str(data / "x"), "relative/y"], "rate": 0.1, "none": None, "word": "en"}
    assert portable(given) == {
        "files": ["$COMPLEX_TRANSFORMERS_DATA/x", "relative/y"],
        "rate": 0.1,
        "none": None,
        "word": "en",
    }
    monkeypatch.setattr("sys.argv", ["examples/run.py", "--prompt", "two words", str(work / "out")])
    assert command_line() == "python examples/run.py --prompt 'two words' out"
    monkeypatch.delenv("COMPLEX_TRANSFORMERS_DATA")
    assert portable(str(data / "x")) == "x"


def test_a_record_has_every_evaluation_and_the_best() -> None:
    model = ComplexFastTextForSequenceClassification(ComplexFastTextConfig(vocab_size=10, hidden_size=4))
    logs = [
        {"loss": 3.0, "epoch": 1.0, "step": 5},
        {"eval_loss": 2.123456, "eval_runtime": 9.0, "epoch": 1.0, "step": 5},
        {"eval_loss": 1.5, "eval_bleu": 7.0, "eval_samples_per_second": 1.0, "epoch": 2.0, "step": 10},
    ]
    trainer = SimpleNamespace(
        model=model,
        args=SimpleNamespace(seed=3, device="cpu"),
        state=SimpleNamespace(log_history=logs, best_global_step=10, global_step=12),
    )
    record = run_record(trainer, 1.26, True)  # type: ignore[arg-type]
    assert record["evaluations"] == [
        {"loss": 2.1235, "epoch": 1.0, "step": 5},
        {"loss": 1.5, "bleu": 7.0, "epoch": 2.0, "step": 10},
    ]
    assert (record["best_epoch"], record["steps"], record["seed"], record["seconds"]) == (2.0, 12, 3, 1.3)
    assert record["resumed"] is True
    assert record["train_loss"] == 3.0
    assert record["parameters"] == model.num_parameters()
    assert record["config"]["model_type"] == "complex_fasttext"
    assert rounded({"a": 1 / 3, "b": "x", "c": 2}, 2) == {"a": 0.33, "b": "x", "c": 2}
    json.dumps(record)


@pytest.mark.parametrize("block_size", [2, 4, 8])
def test_bits_of_a_character_do_not_depend_on_the_size_of_blocks(block_size: int) -> None:
    tokens = np.arange(8).reshape(-1, block_size)  # one bit each, and two characters
    predicted = SimpleNamespace(label_ids=tokens, predictions=np.full(tokens[:, 1:].shape, math.log(2)))
    run = BlockRun.__new__(BlockRun)
    run.parts, run.characters, run.tokens = {"test": None}, {"test": 16}, {"test": 8}
    run.model = SimpleNamespace(config=None)  # type: ignore[assignment]
    run.trainer = SimpleNamespace(predict=lambda part: predicted)  # type: ignore[assignment]
    scores = run.evaluate("test")
    assert (scores["bits_per_token"], scores["bits_per_character"]) == (1.0, 0.5)


def test_one_token_that_is_left_over_is_no_block() -> None:
    blocks = split_blocks(torch.arange(33), 8, "validation")
    assert np.array_equal(np.stack(blocks), np.arange(32).reshape(4, 8))
    assert [len(block) for block in split_blocks(torch.arange(34), 8, "validation")] == [8, 8, 8, 8, 2]
    words = "validation data and block_size must have 2 tokens or more, got 1 and 8"
    refused(words, split_blocks, torch.arange(1), 8, "validation")


def test_texts_that_begin_with_a_slash_are_no_paths() -> None:
    for text in ("/me waves", "/help", "/" + 300 * "a", "/"):
        assert portable(text) == text
        assert portable({"prompt": [text]}) == {"prompt": [text]}


def test_model_card_and_results_are_saved(tmp_path: Path) -> None:
    model = ComplexFastTextForSequenceClassification(ComplexFastTextConfig(vocab_size=10, hidden_size=4))
    saved: list[Path] = []
    processing = SimpleNamespace(save_pretrained=saved.append)
    save_model(tmp_path / "m", model, processing, training_data="`x`", metrics={"accuracy": 0.5})
    assert saved == [tmp_path / "m"]
    assert "| accuracy | 0.5000 |" in (tmp_path / "m" / "README.md").read_text()
    assert "use_cache" not in json.loads((tmp_path / "m" / "config.json").read_text())
    write_results(tmp_path / "new" / "r.json", {"a": 1})
    assert json.loads((tmp_path / "new" / "r.json").read_text()) == {"a": 1}


def parse(*classes: type, line: str) -> Any:
    return HfArgumentParser(classes).parse_args_into_dataclasses(line.split(), look_for_args_file=False)


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("", {"num_hidden_layers": 3}),
        ("--num_hidden_layers 1 --hidden_act split_relu", {"num_hidden_layers": 1, "hidden_act": "split_relu"}),
        ("--hidden_dropout_prob 0 --attention_score real", {"hidden_dropout_prob": 0.0, "attention_score": "real"}),
        ("--same_length --tie_word_embeddings false", {"same_length": True, "tie_word_embeddings": False}),
        ("--clamp_len 4 --position_period none", {"clamp_len": 4, "position_period": None}),
        ("--position_period 7 --cutoffs 3 4 --phase none", {"position_period": 7, "cutoffs": [3, 4], "phase": "none"}),
    ],
)
def test_a_command_line_is_made_from_a_configuration(line: str, given: dict[str, Any]) -> None:
    arguments = arguments_of(ComplexTransfoXLConfig, num_hidden_layers=3)
    (parsed,) = parse(arguments, line=line)
    assert parsed.given() == {"num_hidden_layers": 3, **given}
    config = ComplexTransfoXLConfig(vocab_size=20, **parsed.given())
    for name, value in {"num_hidden_layers": 3, **given}.items():
        assert getattr(config, name) == value


def test_a_default_that_is_shown_is_not_given() -> None:
    arguments = arguments_of(ComplexTransfoXLConfig, shown={"num_hidden_layers": 3})
    assert arguments().given() == {}
    (parsed,) = parse(arguments, line="--num_hidden_layers 3")
    assert parsed.given() == {"num_hidden_layers": 3}
    assert "(default: 3)" in HfArgumentParser(arguments).format_help()


def test_a_command_line_is_made_from_functions() -> None:
    arguments = arguments_of(load_parallel_dataset, encode_parallel_dataset, overlap="drop", without=("empty",))
    (parsed,) = parse(arguments, line="--train_file a b --max_source_length 9 --validation_split 0.5")
    lengths = {"max_source_length": 9, "max_target_length": None, "too_long": "error"}
    assert parsed.given(encode_parallel_dataset) == lengths
    given = parsed.given(load_parallel_dataset)
    assert {**given, **lengths} == parsed.given() == asdict(parsed)
    expected = {"train_file": ["a", "b"], "test_file": None, "validation_split": 0.5, "overlap": "drop"}
    assert expected.items() <= given.items()
    defaults = {name: each.default for name, each in signature(load_parallel_dataset).parameters.items()}
    assert set(defaults) - set(given) == {"empty"}
    assert {name: defaults[name] for name in set(given) - set(expected)} == {
        name: given[name] for name in set(given) - set(expected)
    }


def test_a_command_line_chooses_among_networks() -> None:
    networks = ("complex_mlp", "complex_convnet")
    arguments = arguments_of_networks("AutoModelForImageClassification", *networks, without=("num_channels",))
    (parsed,) = parse(arguments, line="--model_type complex_convnet --num_filters 4 6")
    model = parsed.model(parsed.configuration(num_channels=1, num_labels=3))
    assert type(model).__name__ == "ComplexConvNetForImageClassification"
    assert (model.config.num_filters, model.config.num_channels, model.config.num_labels) == ([4, 6], 1, 3)
    (default,) = parse(arguments, line="--hidden_sizes 8")
    assert default.configuration().hidden_sizes == [8]
    for line, words in (
        ("--model_type resnet", r"--model_type must be one of \['complex_convnet', 'complex_mlp'\], got 'resnet'"),
        ("--num_filters 8", "--num_filters must be left out with --model_type complex_mlp, got"),
    ):
        refused(words, parse(arguments, line=line)[0].configuration)
    refused("not used by the HfArgumentParser", parse, arguments, line="--num_channels 3")


def test_help_is_that_of_the_configurations(capsys: pytest.CaptureFixture[str]) -> None:
    configs = (ComplexOrderConfig, ComplexFastTextConfig)
    fields = arguments_of(*configs, without=("phase",)).__dataclass_fields__
    assert not {"vocab_size", "pad_token_id", "id2label", "use_cache", "phase", "model_type"} & set(fields)
    with pytest.raises(SystemExit):
        parse(arguments_of(*configs), line="--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "--embedding-type EMBEDDING_TYPE complex_order, complex_vanilla" in text
    assert "complex_order: " in text
    assert "(default: 0.1)" in text
    assert "(default: default of the network)" in text
    with pytest.raises(SystemExit):
        parse(arguments_of(ComplexTransfoXLConfig), line="--position_period many")
    assert "invalid int or none value: 'many'" in capsys.readouterr().err


def test_arguments_of_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    (args,) = parse(RunArguments, line=f"--output_dir {tmp_path} --bf16")
    assert args.use_cpu  # Transformers alone asks for it
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        (args,) = parse(RunArguments, line=f"--output_dir {tmp_path}")
        assert args.disable_tqdm != terminal
        assert not args.use_cpu


@pytest.mark.parametrize("options", [{"do_eval": True}, {"do_predict": True}])
def test_a_run_that_shall_not_train_is_refused(options: dict[str, bool], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="do_train must be True, got False: a run trains and overwrites"):
        RunArguments(output_dir=str(tmp_path), **options)
    args = RunArguments(output_dir=str(tmp_path), do_train=True, **options)
    assert replace(args, seed=3).do_eval  # as evaluations are asked for


def test_the_metric_of_an_audio_run_is_the_chosen_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("complex_transformers.recipes.Run.__init__", lambda *arguments, **options: None)
    model = SimpleNamespace(can_generate=lambda: False)

    def chosen(kind: Any, **options: Any) -> tuple[str | None, bool | None]:
        args = RunArguments(output_dir=str(tmp_path), **options)
        kind(model, SimpleNamespace(pad=None), {}, args)
        return args.metric_for_best_model, args.greater_is_better

    assert chosen(AudioClassificationRun) == ("accuracy", True)
    assert chosen(AudioClassificationRun, metric_for_best_model="loss") == ("loss", False)
    assert chosen(TranscriptionRun) == ("label_error_rate", False)
    assert chosen(TranscriptionRun, metric_for_best_model="eval_loss") == ("loss", False)
    assert chosen(TranscriptionRun, metric_for_best_model="sequence_accuracy") == ("sequence_accuracy", True)
    with pytest.raises(ValueError, match=r"metric_for_best_model must be one of .*, got 'bleu'"):
        chosen(TranscriptionRun, metric_for_best_model="bleu")


@pytest.mark.parametrize("kind", ["word", "whitespace", "bpe", "character"])
def test_a_kind_of_tokenizer_beside_a_saved_one_must_be_its_own(kind: str, tmp_path: Path) -> None:
    texts = ["the cat sat on the mat"] * 3
    for data_args in (StreamDataArguments(tokenizer=kind), BlockDataArguments(tokenizer=kind)):
        built = make_tokenizer(texts, data_args)
        built.save_pretrained(tmp_path / "saved")
        saved = data_args.saved_tokenizer(None, str(tmp_path / "saved"))
        assert saved("the cat")["input_ids"] == built("the cat")["input_ids"]
        assert data_args.reads_characters(saved) == data_args.reads_characters(None) == (kind == "character")
        other = replace(data_args, tokenizer="word" if kind != "word" else "bpe")
        for folders in ((str(tmp_path / "saved"), None), (None, str(tmp_path / "saved"))):
            refused(f"--tokenizer must be {kind} with .*saved, got", other.saved_tokenizer, *folders)
    build_tokenizer(texts).save_pretrained(tmp_path / "foreign")
    foreign = replace(data_args, tokenizer_name_or_path=str(tmp_path / "foreign"))
    refused("--tokenizer must be left out with .*foreign, got", foreign.saved_tokenizer, None, None)
    assert replace(foreign, tokenizer=None).saved_tokenizer("nowhere", None) is not None  # the name goes first
    assert replace(data_args, tokenizer=None).saved_tokenizer(None, None) is None


def test_the_kind_of_a_new_tokenizer() -> None:
    kinds = {kind: kind(train_file="a").kind for kind in (StreamDataArguments, BlockDataArguments)}
    assert kinds == {StreamDataArguments: "character", BlockDataArguments: "bpe"}
