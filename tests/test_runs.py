# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs: their command lines, their folders, and what they write: nothing of the machine, all figures."""

from __future__ import annotations

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
from datasets import Dataset
from transformers import HfArgumentParser, TrainerCallback

from complex_transformers import (
    AudioClassificationRun,
    BlockStream,
    ClipDataset,
    ComplexFastTextConfig,
    ComplexFastTextForSequenceClassification,
    ComplexOrderConfig,
    ComplexSeq2SeqConfig,
    ComplexTransfoXLConfig,
    Run,
    RunArguments,
    TranscriptionRun,
    arguments_of,
    arguments_of_networks,
    encode_parallel_dataset,
    load_parallel_dataset,
    prepare_run,
)
from complex_transformers.training.block_runs import BlockRun, split_blocks
from complex_transformers.training.folder import checksum, read_mark, run_mark, write_mark
from complex_transformers.training.records import (
    command_line,
    portable,
    rounded,
    run_record,
    save_model,
    write_results,
)
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
    refused("the validation data: one token alone", split_blocks, torch.arange(1), 8, "validation")


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


# --- command lines ---------------------------------------------------------------------------------------------------


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
    (parsed,) = parse(arguments, line="--train_files a b --max_source_length 9 --validation_split 0.5")
    lengths = {"max_source_length": 9, "max_target_length": None, "too_long": "error"}
    assert parsed.given(encode_parallel_dataset) == lengths
    given = parsed.given(load_parallel_dataset)
    assert {**given, **lengths} == parsed.given() == asdict(parsed)
    expected = {"train_files": ["a", "b"], "test_files": None, "validation_split": 0.5, "overlap": "drop"}
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
        ("--num_filters 8", "--num_filters has no effect with --model_type complex_mlp: leave it out"),
    ):
        with pytest.raises(ValueError, match=words):
            parse(arguments, line=line)[0].configuration()
    with pytest.raises(ValueError, match="not used by the HfArgumentParser"):
        parse(arguments, line="--num_channels 3")


def test_help_is_that_of_the_configurations(capsys: pytest.CaptureFixture[str]) -> None:
    configs = (ComplexOrderConfig, ComplexFastTextConfig)
    fields = arguments_of(*configs, without=("phase",)).__dataclass_fields__
    assert not {"vocab_size", "pad_token_id", "id2label", "use_cache", "phase", "model_type"} & set(fields)
    assert "classifier_dropout" not in arguments_of(ComplexSeq2SeqConfig).__dataclass_fields__  # never read
    with pytest.raises(SystemExit):
        parse(arguments_of(*configs), line="--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "--embedding-type EMBEDDING_TYPE complex_order, complex_vanilla" in text
    assert "of complex_order; " in text
    assert "(default: 0.1)" in text
    assert "(default: that of the network)" in text
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
    with pytest.raises(
        ValueError, match=r"a run always trains, .* Leave them out, or use the saved model in a pipeline"
    ):
        RunArguments(output_dir=str(tmp_path), **options)
    args = RunArguments(output_dir=str(tmp_path), do_train=True, **options)
    assert replace(args, seed=3).do_eval  # as evaluations are asked for


def test_the_metric_of_an_audio_run_is_the_chosen_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("complex_transformers.Run.__init__", lambda *arguments, **options: None)
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


# --- the folder of a run ---------------------------------------------------------------------------------------------


def classifier_run(folder: Path, *, texts: int = 12, steps: int = 4, **changes: Any) -> tuple[Run, str | None]:
    """A run of a tiny network that has not begun, and the checkpoint it would go on from."""
    fields = {"hidden_size": changes.pop("hidden_size", 4), "initializer_range": 0.5}
    args = RunArguments(
        output_dir=str(folder),
        max_steps=steps,
        save_strategy="steps",
        eval_strategy="steps",
        save_steps=2,
        eval_steps=2,
        **{"per_device_train_batch_size": 4, "use_cpu": True, "disable_tqdm": True, **changes},
    )
    checkpoint = prepare_run(args)
    part = Dataset.from_dict(
        {"input_ids": [[n % 9 + 1, 2] for n in range(texts)], "label": [n % 2 for n in range(texts)]}
    )
    model = ComplexFastTextForSequenceClassification(ComplexFastTextConfig(vocab_size=10, **fields))
    processing = SimpleNamespace(save_pretrained=lambda folder: None)
    return Run(
        model, {"train": part, "validation": part}, args, processing=processing, data_collator=collate
    ), checkpoint


def collate(batch: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.tensor([row["input_ids"] for row in batch]),
        "labels": torch.tensor([row["label"] for row in batch]),
    }


def weights(run: Run) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in run.model.parameters()]


@pytest.mark.full
def test_a_run_goes_on_in_its_own_folder_alone(tmp_path: Path) -> None:
    whole, checkpoint = classifier_run(tmp_path / "a", resume_from_checkpoint="last")
    assert checkpoint is None
    assert not whole.run(checkpoint)["resumed"]
    newest = tmp_path / "a" / "checkpoint-4"
    mark = json.loads((newest / "run.json").read_text())
    assert json.loads((tmp_path / "a" / "run.json").read_text()) == {**mark, "finished": True}
    assert not (tmp_path / "a" / "run.lock").exists()

    # Longer, to be scored more often: the same run.
    longer, checkpoint = classifier_run(tmp_path / "a", steps=6, logging_steps=1, resume_from_checkpoint="last")
    assert checkpoint == str(newest)
    assert longer.run(checkpoint)["resumed"]
    assert json.loads((tmp_path / "a" / "run.json").read_text())["run"] == mark["run"]

    # Other data, another network, other training: not resumed, and while it is unfinished not replaced.
    assert json.loads((tmp_path / "a" / "run.json").read_text())["finished"]
    write_mark(tmp_path / "a", mark)
    before = sorted(path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.safetensors"))
    for changes, what in (
        ({"texts": 13}, "data"),
        ({"hidden_size": 6}, "configuration"),
        ({"seed": 3}, "training"),
        ({"frequency_learning_rate": 0.5}, "optimizer"),
        ({"phase_learning_rate": 0.5}, "optimizer"),
        ({"adam_beta2": 0.5}, "optimizer"),
        ({"lr_scheduler_kwargs": {"num_cycles": 3}}, "optimizer"),
        ({"seed": 3, "texts": 13}, "data and training"),
    ):
        for resume in ("last", None):
            other, checkpoint = classifier_run(tmp_path / "a", resume_from_checkpoint=resume, **changes)
            message = (
                rf"checkpoint-\d is of run {mark['run']}, with other {what}: choose another output_dir, or remove"
            )
            with pytest.raises(ValueError, match=message):
                other.run(checkpoint)
    assert sorted(path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.safetensors")) == before

    # Checkpoints that say nothing of the optimizer are those of the run.
    for path in (tmp_path / "a").glob("checkpoint-*"):
        write_mark(path, {name: value for name, value in read_mark(path).items() if name != "optimizer"})
    longer, checkpoint = classifier_run(tmp_path / "a", steps=6, resume_from_checkpoint="last")
    assert longer.run(checkpoint)["resumed"]

    # The same command once more begins anew, and ends as it did.
    again, checkpoint = classifier_run(tmp_path / "a")
    assert not again.run(checkpoint)["resumed"]
    assert {path.name for path in (tmp_path / "a").glob("checkpoint-*")} <= {"checkpoint-2", "checkpoint-4"}
    assert all(map(torch.equal, weights(again), weights(whole)))
    assert json.loads((tmp_path / "a" / "run.json").read_text())["run"] != mark["run"]

    # One that came to its end makes room, and leaves nothing behind.
    other, checkpoint = classifier_run(tmp_path / "a", seed=3)
    other.run(checkpoint)
    fresh, _ = classifier_run(tmp_path / "b", seed=3)
    fresh.run()
    assert all(map(torch.equal, weights(other), weights(fresh)))
    assert not any(map(torch.equal, weights(other), weights(whole)))

    for path in (tmp_path / "a").glob("checkpoint-*"):
        (path / "run.json").unlink()
    unknown, checkpoint = classifier_run(tmp_path / "a", resume_from_checkpoint="last")
    with pytest.raises(ValueError, match="is of an unknown run: choose another output_dir"):
        unknown.run(checkpoint)


def test_a_checkpoint_given_by_path_must_be_of_the_same_run(tmp_path: Path) -> None:
    whole, _ = classifier_run(tmp_path / "whole", load_best_model_at_end=False, save_total_limit=3)
    whole.run()
    checkpoint = str(tmp_path / "whole" / "checkpoint-2")
    for number, (changes, what) in enumerate(
        [({"learning_rate": 0.5}, "training"), ({"texts": 13}, "data"), ({"hidden_size": 6}, "configuration")]
    ):
        other, given = classifier_run(tmp_path / f"other{number}", resume_from_checkpoint=checkpoint, **changes)
        refused(rf"resume_from_checkpoint must be of the same run, .* with other {what}\.", other.run, given)
    (tmp_path / "empty").mkdir()
    nothing, given = classifier_run(tmp_path / "new", resume_from_checkpoint=str(tmp_path / "empty"))
    refused("got .*empty of an unknown run", nothing.run, given)

    same, given = classifier_run(tmp_path / "same", resume_from_checkpoint=checkpoint, load_best_model_at_end=False)
    assert same.run(given)["resumed"]
    assert all(map(torch.equal, weights(same), weights(whole)))


@pytest.mark.parametrize("content", [{}, {"run.json": "{", "trainer_state.json": ""}])
def test_a_checkpoint_that_is_not_whole_hinders_nobody(tmp_path: Path, content: dict[str, str]) -> None:
    first, _ = classifier_run(tmp_path)
    first.run()
    half = tmp_path / "checkpoint-9"
    half.mkdir()
    for name, text in content.items():
        (half / name).write_text(text)
    with pytest.warns(UserWarning, match="checkpoint-9 was not written to its end"):
        resumed, checkpoint = classifier_run(tmp_path, steps=6, resume_from_checkpoint="last")
    assert checkpoint == str(tmp_path / "checkpoint-4")
    assert resumed.run(checkpoint)["steps"] == 6
    new, _ = classifier_run(tmp_path)
    new.run()
    assert not half.exists()


@pytest.mark.parametrize("stop", [2, 4])
def test_the_training_loss_of_a_resumed_run_is_that_of_an_undisturbed_one(tmp_path: Path, stop: int) -> None:
    options = {"steps": 5, "load_best_model_at_end": False, "save_total_limit": 3}  # an epoch is three steps
    whole, _ = classifier_run(tmp_path / "whole", **options)
    results = whole.run()
    checkpoint = str(tmp_path / "whole" / f"checkpoint-{stop}")
    resumed, given = classifier_run(tmp_path / "again", resume_from_checkpoint=checkpoint, **options)
    assert resumed.run(given)["train_loss"] == results["train_loss"]
    losses = [[log["loss"] for log in run.trainer.state.log_history if "loss" in log] for run in (whole, resumed)]
    assert losses[0] == losses[1]


def test_the_batches_of_a_stream_depend_on_its_workers() -> None:
    part = Dataset.from_dict({"input_ids": [[1, 2]]})
    stream = BlockStream(lambda: ["a b"], None, 2)  # type: ignore[arg-type]

    def mark(train: Any, workers: int) -> dict[str, Any]:
        args = RunArguments(output_dir="out", use_cpu=True, dataloader_num_workers=workers)
        return {**run_mark(args, {}, {"train": train, "validation": part}), "run": None}

    assert mark(part, 0) == mark(part, 2)
    assert mark(stream, 0) != mark(stream, 2)


@pytest.mark.full
def test_patience_goes_on_where_it_was(tmp_path: Path) -> None:
    def stopping_run(folder: str, die: int | None = None, **changes: Any) -> tuple[Run, str | None]:
        options = {"steps": 40, "metric_for_best_model": "accuracy", "early_stopping_patience": 3, **changes}
        run, checkpoint = classifier_run(tmp_path / folder, resume_from_checkpoint="last", **options)

        def never_better(_: Any) -> dict[str, float]:
            if die is not None and run.trainer.state.global_step == die:
                raise KeyboardInterrupt
            return {"accuracy": 0.5}

        run.trainer.compute_metrics = never_better
        return run, checkpoint

    whole, checkpoint = stopping_run("whole")
    assert whole.run(checkpoint)["steps"] == 8
    killed, checkpoint = stopping_run("killed", die=6)
    with pytest.raises(KeyboardInterrupt):
        killed.run(checkpoint)
    resumed, checkpoint = stopping_run("killed")
    assert checkpoint == str(tmp_path / "killed" / "checkpoint-4")
    results = resumed.run(checkpoint)
    assert results["steps"] == 8
    assert all(map(torch.equal, weights(resumed), weights(whole)))

    again, checkpoint = stopping_run("killed")  # nothing is left to train
    assert again.run(checkpoint)["evaluations"] == results["evaluations"]
    assert all(map(torch.equal, weights(again), weights(whole)))
    patient, checkpoint = stopping_run("killed", early_stopping_patience=4)
    assert patient.run(checkpoint)["steps"] == 10


@pytest.mark.full
def test_a_run_with_all_its_steps_is_not_trained_again(tmp_path: Path) -> None:
    whole, _ = classifier_run(tmp_path, load_best_model_at_end=False)
    results = whole.run()
    again, checkpoint = classifier_run(tmp_path, load_best_model_at_end=False, resume_from_checkpoint="last")
    found = again.run(checkpoint)
    assert [found[name] for name in ("steps", "evaluations", "validation")] == [
        results[name] for name in ("steps", "evaluations", "validation")
    ]
    assert all(map(torch.equal, weights(again), weights(whole)))
    longer, checkpoint = classifier_run(
        tmp_path, steps=6, early_stopping_patience=2, metric_for_best_model="loss", resume_from_checkpoint="last"
    )
    assert longer.run(checkpoint)["steps"] == 6  # the checkpoint knows no patience


def test_two_runs_at_once_do_not_share_a_folder(tmp_path: Path) -> None:
    first, _ = classifier_run(tmp_path)
    second, _ = classifier_run(tmp_path)
    started = weights(second)

    class Meanwhile(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            with pytest.raises(ValueError, match=f"another run is at work in {tmp_path}: choose another output_dir"):
                second.run()

    first.trainer.add_callback(Meanwhile())
    first.run()
    assert all(map(torch.equal, started, weights(second)))
    assert second.run()["steps"] == 4  # the folder is free again


def test_the_best_epoch_of_another_run_is_not_loaded(tmp_path: Path) -> None:
    run, _ = classifier_run(tmp_path)

    class Overwrite(TrainerCallback):
        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            raise AssertionError("too late")

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            for path in tmp_path.glob("checkpoint-*"):
                write_mark(path, {**run.trainer.mark, "run": "elsewhere"})

    run.trainer.add_callback(Overwrite())
    with pytest.raises(ValueError, match="is of run elsewhere, which has begun in the same folder"):
        run.run()


def test_checksums_tell_data_apart() -> None:
    rows = {"a": [[1, 2], [3], []], "b": ["x", "y", "z"]}
    part = Dataset.from_dict(rows)
    same = Dataset.from_dict({name: [values[n] for n in (2, 0, 1)] for name, values in rows.items()}).select([1, 2, 0])
    assert checksum(part) == checksum(same)
    others = [part.select([0, 2, 1]), part.select([0, 1]), Dataset.from_dict({**rows, "b": ["x", "y", "w"]})]
    assert len({checksum(part), *map(checksum, others)}) == 4
    clips = [
        ClipDataset(["a.wav", name], [label, "1"], print, 8000) for name, label in (("b.wav", "0"), ("b.wav", "1"))
    ]
    assert checksum(clips[0]) != checksum(clips[1])
    assert checksum(clips[0]) == checksum(ClipDataset(["/other/a.wav", "b.wav"], ["0", "1"], print, 8000))
