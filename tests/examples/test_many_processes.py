# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
import torch
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.utils import FullyShardedDataParallelPlugin
from example_runs import EXAMPLES, ONE_EPOCH, TINY, make_rows, write

from launcher import start


def test_configurations_are_read_by_accelerate() -> None:
    configs = {name: load_config_from_file(str(EXAMPLES / f"accelerate/{name}.yaml")) for name in ("ddp", "fsdp2")}
    assert configs["ddp"].distributed_type.value == "MULTI_GPU"
    assert configs["fsdp2"].distributed_type.value == "FSDP"
    fields = FullyShardedDataParallelPlugin.__dataclass_fields__
    for name in configs["fsdp2"].fsdp_config:  # a name that Accelerate does not know it would leave out
        assert name in fields or name.removeprefix("fsdp_") in fields


@pytest.mark.slow
@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed")
def test_an_example_under_accelerate_launch(tmp_path: Path) -> None:
    """The configuration for accelerators, with two processes of the CPU in their place."""
    train = write(tmp_path / "train.tsv", make_rows(80, seed=1))
    config = ["--config_file", EXAMPLES / "accelerate/ddp.yaml"]
    config += ["--num_processes", 2, "--main_process_port", 0, "--mixed_precision", "no"]
    script = EXAMPLES / "text-classification/run_classification.py"
    options = ["--train_file", train, *TINY, *ONE_EPOCH, "--use_cpu", "true", "--output_dir", tmp_path / "out"]
    start("-m", "accelerate.commands.launch", *config, script, *options, "--per_device_train_batch_size", 8)
    assert (tmp_path / "out/seed-0/checkpoint-5").is_dir()  # 72 texts are 9 batches of 8, or 5 of two processes
