# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A decoder as the network of a LightningModule."""

import pytest
import torch
from tool_models import complex_llama, token_ids

lightning = pytest.importorskip("lightning", reason="optional: make test-tools")


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = complex_llama()

    def training_step(self, ids, index):
        loss = self.model(input_ids=ids, labels=ids).loss
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01)


@pytest.mark.tool("lightning", "`Trainer.fit`, a checkpoint, `load_from_checkpoint`")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_training(tmp_path, precision):
    module, data = Module(), torch.utils.data.DataLoader(token_ids().repeat(2, 1), batch_size=2)
    with torch.no_grad():
        before = module.model(token_ids(), labels=token_ids()).loss
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    steps = {"max_steps": 4, "max_epochs": 2, "precision": precision}
    trainer = lightning.Trainer(accelerator="cpu", devices=1, default_root_dir=tmp_path, **steps, **quiet)
    trainer.fit(module, data)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    loaded = Module.load_from_checkpoint(tmp_path / "last.ckpt")
    with torch.no_grad():
        found = [each.model.eval()(token_ids(), labels=token_ids()).loss for each in (module, loaded)]
    assert found[0] < before
    assert found[0] == found[1]
