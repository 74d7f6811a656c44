# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import stream_training
from complex_transformers import ComplexTransfoXLForCausalLM, MemoryCache, StreamDataset
from complex_transformers.training.trainer import optimizer_groups
from refusals import refused
from stream_training import LANES, SEGMENT, tokens, trainer


def assert_same_weights(one, other):
    for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b), name


def losses(run):
    return [log["loss"] for log in run.state.log_history if "loss" in log]


@pytest.mark.parametrize("accumulation", [1, 3])
def test_training_is_the_loop_that_carries_the_memory(tmp_path, accumulation):
    quiet = {"hidden_dropout_prob": 0.0}
    settings = {"lr_scheduler_type": "constant", "weight_decay": 0.1, "save_strategy": "no"}
    run = trainer(
        tmp_path, network=stream_training.model(**quiet), gradient_accumulation_steps=accumulation, **settings
    )
    run.train()

    plain = stream_training.model(**quiet).train()
    optimizer = torch.optim.AdamW(optimizer_groups(plain, 0.1), lr=1e-2)
    data = run.train_dataset
    expected = []
    for _ in range(2):
        memory = None
        for start in range(0, len(data), accumulation):
            segments = [data[index] for index in range(start, min(start + accumulation, len(data)))]
            count = sum(int((segment["shift_labels"] != -100).sum()) for segment in segments)
            total = 0.0
            for segment in segments:
                out = plain(segment["input_ids"], cache=memory, use_cache=True)
                memory = out.cache
                loss = torch.nn.functional.cross_entropy(
                    out.logits.flatten(0, 1), segment["shift_labels"].flatten(), reduction="sum"
                )
                (loss / count).backward()
                total += loss.item() / count
            torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.25)
            optimizer.step()
            optimizer.zero_grad()
            expected.append(total)
    assert losses(run) == pytest.approx(expected, abs=2e-4)  # the log has four digits
    for (name, a), b in zip(run.model.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(a, b[1], atol=1e-4, rtol=1e-3, msg=lambda m, n=name: f"{n}: {m}")


BUILDERS = [stream_training.model, stream_training.recurrent_model, stream_training.mamba_model]


@pytest.mark.parametrize("build", BUILDERS)
def test_gradient_checkpointing_changes_nothing(tmp_path, build):
    runs = []
    for checkpointing in (False, True):
        run = trainer(tmp_path, network=build(), gradient_checkpointing=checkpointing, save_strategy="no")
        run.train()
        runs.append(run)
    assert losses(runs[0]) == losses(runs[1])
    assert_same_weights(runs[0].model, runs[1].model)


def test_the_memory_makes_a_difference(tmp_path):
    run = trainer(tmp_path, network=stream_training.model(hidden_dropout_prob=0.0), save_strategy="no", max_steps=3)
    first, second = run.train_dataset[0], run.train_dataset[1]
    run.model.train()
    for segment in (first, second):
        loss = run.compute_loss(run.model, segment)
    alone = run.model(second["input_ids"], shift_labels=second["shift_labels"], use_cache=False).loss
    assert abs(loss.item() - alone.item()) > 1e-3
    assert run.memory.get_seq_length() == 2 * SEGMENT


@torch.no_grad()
def one_pass(network, stream):
    """Loss of every token but the first of a stream, read at once."""
    out = network.eval()(stream[None].long(), use_cache=False)
    return torch.nn.functional.cross_entropy(out.logits[0, :-1], stream[1:].long()).item()


@pytest.mark.parametrize("segment", [1, 7, 30, 100])
@pytest.mark.parametrize("changes", [{}, {"number_field": "real", "embedding_type": "word"}], ids=["complex", "real"])
def test_evaluation_with_a_memory_that_covers_all_is_one_long_segment(tmp_path, segment, changes):
    stream = tokens(min(segment, 50) + 52)
    network = stream_training.model(**changes)
    run = trainer(tmp_path, network=network, per_device_eval_batch_size=1, eval_mem_len=200)
    metrics = run.evaluate(StreamDataset(stream, 1, segment))
    assert metrics["eval_loss"] == pytest.approx(one_pass(network, stream), abs=1e-5)
    assert metrics["eval_perplexity"] == pytest.approx(math.exp(metrics["eval_loss"]))
    assert metrics["eval_bits_per_token"] == pytest.approx(metrics["eval_loss"] / math.log(2))


@pytest.mark.parametrize(("transform", "name"), [("causal_z", "perplexity"), ("fourier", "not_a_perplexity")])
def test_what_sees_words_to_come_has_no_perplexity(tmp_path, transform, name):
    network = stream_training.recurrent_model(transform=transform)
    metrics = trainer(tmp_path, network=network).evaluate()
    assert {key for key in metrics if "perplexity" in key} == {f"eval_{name}"}
    assert metrics[f"eval_{name}"] == pytest.approx(math.exp(metrics["eval_loss"]))


@pytest.mark.parametrize("lanes", [2, 3, 5])
def test_evaluation_of_lanes_is_the_mean_over_all_their_tokens(tmp_path, lanes):
    stream = tokens(5 * 20 + 4)
    network = stream_training.model()
    data = StreamDataset(stream, lanes, 6)
    run = trainer(tmp_path, network=network, per_device_eval_batch_size=lanes, eval_mem_len=200)
    parts = [stream[a : b + 1] for a, b in zip(data.lane_starts, data.lane_starts[1:], strict=False)]
    total = sum(one_pass(network, part) * (len(part) - 1) for part in parts)
    assert run.evaluate(data)["eval_loss"] == pytest.approx(total / (len(stream) - 1), abs=1e-5)


def test_evaluation_leaves_training_alone(tmp_path):
    settings = {"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "no"}
    with_evaluation = trainer(tmp_path, **settings)
    with_evaluation.train()
    without = trainer(tmp_path, save_strategy="no")
    without.train()
    assert_same_weights(with_evaluation.model, without.model)
    assert len([log for log in with_evaluation.state.log_history if "eval_loss" in log]) == 8


def test_evaluation_takes_a_memory_of_its_own_length(tmp_path):
    scores = [
        trainer(tmp_path, network=stream_training.model(), eval_mem_len=length).evaluate()["eval_loss"]
        for length in (None, stream_training.MEMORY, 1)
    ]
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.full
@pytest.mark.parametrize("accumulation", [1, pytest.param(3, marks=pytest.mark.full)])
def test_resumed_training_is_the_uninterrupted_one(tmp_path, accumulation):
    straight = trainer(tmp_path, gradient_accumulation_steps=accumulation, save_steps=1)
    straight.train()
    steps = straight.state.max_steps
    assert steps == 2 * math.ceil(8 / accumulation)
    for step in {1, steps // 2 - 1, steps // 2, steps - 1}:  # inside an epoch, at its end, in the next
        torch.manual_seed(step)
        resumed = trainer(
            tmp_path / "again", network=stream_training.model(seed=9), gradient_accumulation_steps=accumulation
        )
        resumed.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{step}"))
        assert_same_weights(straight.model, resumed.model)
        assert losses(resumed) == losses(straight)


@pytest.mark.parametrize(
    "rnn_type", ["lstm", "mamba", *(pytest.param(name, marks=pytest.mark.full) for name in ("gru", "lru"))]
)
def test_resumed_recurrent_training_is_the_uninterrupted_one(tmp_path, rnn_type):
    straight = trainer(tmp_path, network=stream_training.recurrent_model(rnn_type), save_steps=1)
    straight.train()
    for step in (3, 8):  # inside an epoch, and at its end
        resumed = trainer(tmp_path / "again", network=stream_training.recurrent_model(rnn_type, seed=9))
        resumed.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{step}"))
        assert_same_weights(straight.model, resumed.model)
        assert losses(resumed) == losses(straight)


@pytest.mark.parametrize("rnn_type", ["lstm", "lru", "mamba"])
def test_evaluation_carries_states_along_the_lanes(tmp_path, rnn_type):
    network = stream_training.recurrent_model(rnn_type).eval()
    run = trainer(tmp_path, network=network)
    data = run.eval_dataset
    whole = network(torch.cat([data[index]["input_ids"] for index in range(len(data))], dim=1)).logits
    following = torch.cat([data[index]["shift_labels"] for index in range(len(data))], dim=1)
    expected = torch.nn.functional.cross_entropy(whole.flatten(0, 1), following.flatten())
    assert run.evaluate()["eval_loss"] == pytest.approx(expected.item(), abs=1e-5)
    refused("mem_len must be None for a recurrent model, got 4", trainer, tmp_path, network=network, eval_mem_len=4)


@pytest.mark.slow
@pytest.mark.parametrize("rnn_type", [[], ["lstm"], ["mamba"]], ids=["Transformer-XL", "LSTM", "Mamba-3"])
def test_killed_training_resumes_to_bit_equal_weights(tmp_path, rnn_type):
    generator = random.Random(0)
    command = [sys.executable, stream_training.__file__, str(tmp_path / "killed"), "0.02", *rnn_type]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    steps = 48
    stops = sorted(generator.sample(range(2, steps - 2), 3))
    for stop in stops:
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:  # a step is said before it is saved: the kill may hit the writing
                if line.split() == ["step", str(stop)]:
                    time.sleep(0.05 * generator.random())
                    process.kill()
                    break
            assert process.wait() == -signal.SIGKILL, f"ended before step {stop}"
    subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    whole = subprocess.run(
        [*command[:2], str(tmp_path / "whole"), "0", *rnn_type], env=environment, stdout=subprocess.PIPE
    )
    assert whole.returncode == 0
    files = [load_file(tmp_path / name / f"checkpoint-{steps}" / "model.safetensors") for name in ("killed", "whole")]
    assert files[0].keys() == files[1].keys()
    for name, value in files[0].items():
        assert torch.equal(value, files[1][name]), name


def test_training_data_that_does_not_fit_is_refused(tmp_path):
    run = trainer(tmp_path, lanes=3)
    refused(r"num_lanes of the train data must be .* = 4, got 3", run.train)


def test_evaluation_that_cannot_be_is_refused_before_training(tmp_path):
    for length in (-1, 0):
        refused("mem_len must be", trainer, tmp_path, error=(ValueError, TypeError), eval_mem_len=length)
    network = stream_training.model(same_length=True)
    with pytest.raises(ValueError, match="mem_len must be at least 7 with same_length"):
        trainer(tmp_path, network=network, eval_mem_len=2)
    run = trainer(tmp_path)
    good = run.eval_dataset
    data, message = StreamDataset(tokens(90), 3, 9), r"num_lanes of the eval data must be .* = 2, got 3"
    with pytest.raises(ValueError, match=message):
        run.evaluate(data)
    for given in (data, {"good": good, "bad": data}):
        run.eval_dataset = given
        with pytest.raises(ValueError, match=message):
            run.train()
    assert run.state.global_step == 0


@pytest.mark.parametrize("changes", [{"label_smoothing_factor": 0.1}, {"compute_loss_func": torch.nn.MSELoss()}])
def test_losses_that_do_not_see_the_following_tokens_are_refused(tmp_path, changes):
    with pytest.raises(ValueError, match=r"label_smoothing_factor must be 0 and compute_loss_func None"):
        trainer(tmp_path, **changes)


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    trainer(tmp_path, num_train_epochs=1).train()
    return tmp_path / "checkpoint-3"


def test_a_checkpoint_of_other_lanes_segments_or_processes(tmp_path, checkpoint):
    with pytest.raises(ValueError, match=r"of the memory, \(4, 16\), got \(2, 16\)"):
        trainer(tmp_path, per_device_train_batch_size=2, lanes=2).train(resume_from_checkpoint=str(checkpoint))
    with pytest.raises(ValueError, match="ignore_data_skip must be False to resume"):
        trainer(tmp_path, ignore_data_skip=True, num_train_epochs=3).train(resume_from_checkpoint=str(checkpoint))
    other = trainer(tmp_path)
    other.train_dataset = StreamDataset(tokens(4 * 38 + 3), LANES, SEGMENT + 1)
    with pytest.raises(ValueError, match=r"got 15. Resume with the segment_length"):
        other.train(resume_from_checkpoint=str(checkpoint))
    (checkpoint / "memory-0-of-1.safetensors").rename(checkpoint / "memory-0-of-2.safetensors")
    with pytest.raises(FileNotFoundError, match=r"memory-0-of-1\.safetensors"):
        trainer(tmp_path).train(resume_from_checkpoint=str(checkpoint))


def test_a_checkpoint_is_complete_when_every_process_has_written(tmp_path):
    run = trainer(tmp_path, max_steps=3)
    wait, seen = run.accelerator.wait_for_everyone, []

    def look():
        seen.append({file.name for file in (tmp_path / "checkpoint-3").glob("*")})
        wait()

    run.accelerator.wait_for_everyone = look
    run.train()
    own = {"memory-0-of-1.safetensors", "rng_state.pth"}
    assert [files for files in seen if own <= files and "trainer_state.json" not in files]


def test_a_saved_model_is_the_trained_one_without_its_memory(tmp_path):
    run = trainer(tmp_path / "out", num_train_epochs=1, save_strategy="no")
    run.train()
    run.save_model(str(tmp_path / "saved"))
    assert not list((tmp_path / "saved").glob("memory*"))
    loaded = ComplexTransfoXLForCausalLM.from_pretrained(tmp_path / "saved")
    assert_same_weights(run.model, loaded)
    assert isinstance(loaded(tokens(5)[None].long(), use_cache=True).cache, MemoryCache)
    shutil.rmtree(tmp_path / "saved")
