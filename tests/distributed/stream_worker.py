# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train on a stream, on this process or as one of torchrun's, then again from the middle (rank 0 writes).

python stream_worker.py OUTPUT_JSON
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path

import torch
from transformers import set_seed

sys.path.insert(0, str(Path(__file__).parents[1]))

from stream_training import mamba_model, model, recurrent_model, trainer

# With a memory of tokens, and with states of cells behind those of a linear recurrence.
NETWORKS = {
    "transfo_xl": model,
    "lstm": partial(recurrent_model, "lstm"),
    "mamba": mamba_model,
}


def main() -> None:
    """Without dropout, of which each process would have its own."""
    output = Path(sys.argv[1])
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    results = {}
    for name, make in NETWORKS.items():
        for accumulation in (1, 3):
            settings = {"processes": processes, "gradient_accumulation_steps": accumulation}
            folder = output.parent / f"out-{name}-{accumulation}"
            whole = trainer(folder, network=make(hidden_dropout_prob=0.0), **settings)
            whole.train()
            set_seed(7)
            again = trainer(folder / "again", network=make(seed=7, hidden_dropout_prob=0.0), **settings)
            again.train(resume_from_checkpoint=str(folder / "checkpoint-3"))
            pairs = zip(whole.model.parameters(), again.model.parameters(), strict=True)
            results[f"{name}-{accumulation}"] = {
                "losses": [log["loss"] for log in whole.state.log_history if "loss" in log],
                "grad_norms": [log["grad_norm"] for log in whole.state.log_history if "grad_norm" in log],
                "eval_loss": whole.evaluate()["eval_loss"],
                "resumed_equal": all(torch.equal(a, b) for a, b in pairs),
            }
    if os.environ.get("RANK", "0") == "0":
        output.write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
