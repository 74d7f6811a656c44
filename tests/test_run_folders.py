# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: resumed from its own checkpoints alone, which end with the figures of an undisturbed run."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from datasets import Dataset
from transformers import TrainerCallback

from complex_transformers import ComplexFastTextConfig, ComplexFastTextForSequenceClassification
from complex_transformers.recipes import BlockStream, Run, RunArguments, prepare_run
from complex_transformers.recipes.run_folder import run_mark
from complex_transformers.training.checkpoints import write_mark
from refusals import refused


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
        ({"seed": 3, "texts": 13}, "data and training"),
    ):
        for resume in ("last", None):
            other, checkpoint = classifier_run(tmp_path / "a", resume_from_checkpoint=resume, **changes)
            message = rf"checkpoint-\d of run {mark['run']}, with other {what}. Choose another, or remove"
            with pytest.raises(ValueError, match=message):
                other.run(checkpoint)
    assert sorted(path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("*.safetensors")) == before

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
    refused(r"of an unknown run\. Choose another", unknown.run, checkpoint)


def test_a_checkpoint_given_by_path_must_be_of_the_same_run(tmp_path: Path) -> None:
    whole, _ = classifier_run(tmp_path / "whole", load_best_model_at_end=False, save_total_limit=3)
    whole.run()
    checkpoint = str(tmp_path / "whole" / "checkpoint-2")
    for number, (changes, what) in enumerate(
        [({"learning_rate": 0.5}, "training"), ({"texts": 13}, "data"), ({"hidden_size": 6}, "configuration")]
    ):
        other, given = classifier_run(tmp_path / f"other{number}", resume_from_checkpoint=checkpoint, **changes)
        refused(rf"resume_from_checkpoint must be a checkpoint of this run, .* with other {what}", other.run, given)
    (tmp_path / "empty").mkdir()
    nothing, given = classifier_run(tmp_path / "new", resume_from_checkpoint=str(tmp_path / "empty"))
    refused("got .*empty of an unknown run", nothing.run, given)

    same, given = classifier_run(tmp_path / "same", resume_from_checkpoint=checkpoint, load_best_model_at_end=False)
    assert same.run(given)["resumed"]
    assert all(map(torch.equal, weights(same), weights(whole)))


@pytest.mark.parametrize(
    "content", [pytest.param({}, marks=pytest.mark.full), {"run.json": "{", "trainer_state.json": ""}]
)
def test_a_checkpoint_that_is_not_whole_hinders_nobody(tmp_path: Path, content: dict[str, str]) -> None:
    first, _ = classifier_run(tmp_path)
    first.run()
    half = tmp_path / "checkpoint-9"
    half.mkdir()
    for name, text in content.items():
        (half / name).write_text(text)
    with pytest.warns(UserWarning, match="checkpoint-9 is incomplete and is skipped"):
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
    with pytest.raises(SystemExit):
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


class Interrupt(TrainerCallback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def test_an_interrupted_run_says_how_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(step: int, **options: Any) -> str:
        run, checkpoint = classifier_run(tmp_path / "a run", **options)
        run.trainer.add_callback(Interrupt(step))
        with pytest.raises(SystemExit) as ended:
            run.run(checkpoint)
        assert ended.value.code == 130
        return capsys.readouterr().err

    monkeypatch.setattr("sys.argv", ["train.py", "--output_dir", "a run"])
    assert "Interrupted before the first checkpoint" in interrupted(1)
    resume = "python train.py --output_dir 'a run' --resume_from_checkpoint last\n"
    assert interrupted(3).endswith(f"Resume from the last checkpoint with:\n{resume}")
    monkeypatch.setattr("sys.argv", [*["train.py", "--output_dir", "a run"], "--resume_from_checkpoint", "last"])
    assert interrupted(3, resume_from_checkpoint="last").endswith(resume)
    run, checkpoint = classifier_run(tmp_path / "a run", resume_from_checkpoint="last")
    assert run.run(checkpoint)["steps"] == 4


@pytest.mark.full
def test_two_runs_at_once_do_not_share_a_folder(tmp_path: Path) -> None:
    first, _ = classifier_run(tmp_path)
    second, _ = classifier_run(tmp_path)
    started = weights(second)

    class Meanwhile(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            with pytest.raises(
                ValueError, match=f"output_dir must not be in use by another run, got {tmp_path}. Choose another"
            ):
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
    refused(r"must be of this run, got .* of run elsewhere", run.run)
