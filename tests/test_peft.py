# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""LoRA by PEFT on the real and imaginary sub-layers: trained, saved, loaded, merged."""

import pytest
import torch

from complex_transformers import ComplexOrderForSequenceClassification, ComplexTrainer
from complex_transformers.nn import Readout, functional as CF
from families import Case

peft = pytest.importorskip("peft")
pytest.importorskip("accelerate")


@pytest.fixture
def base(tmp_path):
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = Case("complex_order", "words").config(num_hidden_layers=1, **without_dropout)
    ComplexOrderForSequenceClassification(config).save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def load(base):
    return ComplexOrderForSequenceClassification.from_pretrained(base)


def answers(model):
    ids = torch.arange(3, 18).view(3, 5)
    with torch.no_grad():
        return model.eval()(input_ids=ids, attention_mask=torch.ones_like(ids)).logits


def test_lora_trains_saves_loads_and_merges(base, tmp_path):
    from transformers import TrainingArguments

    plain = load(base)
    before = answers(plain)
    lora = peft.LoraConfig(r=2, lora_alpha=8, target_modules=["real", "imag"], lora_dropout=0.0)
    model = peft.get_peft_model(load(base), lora)
    wrapped = [name for name, module in model.named_modules() if isinstance(module, peft.tuners.lora.Linear)]
    assert len(wrapped) == 14  # q, k, v, out, up, down and the readout, two parts each
    torch.testing.assert_close(answers(model), before, atol=1e-6, rtol=1e-6)  # B starts at zero

    rows = [{"input_ids": torch.randint(3, 20, (5,)), "labels": torch.tensor(i % 3)} for i in range(12)]
    arguments = TrainingArguments(str(tmp_path / "run"), use_cpu=True, max_steps=5, learning_rate=5e-2,
                                  save_strategy="no", disable_tqdm=True)  # fmt: skip
    ComplexTrainer(model, arguments, train_dataset=rows).train()
    trained = answers(model)
    assert (trained - before).abs().max() > 1e-2

    model.save_pretrained(tmp_path / "adapter")
    files = {path.name for path in (tmp_path / "adapter").iterdir()}
    assert files >= {"adapter_config.json", "adapter_model.safetensors"}
    again = peft.PeftModel.from_pretrained(load(base), tmp_path / "adapter")
    torch.testing.assert_close(answers(again), trained, atol=1e-6, rtol=1e-6)

    merged = again.merge_and_unload()
    assert isinstance(merged, ComplexOrderForSequenceClassification)
    torch.testing.assert_close(answers(merged), trained, atol=1e-5, rtol=1e-5)
    merged.save_pretrained(tmp_path / "merged")
    torch.testing.assert_close(answers(load(tmp_path / "merged")), trained, atol=1e-5, rtol=1e-5)
    # Training touched the adapters alone.
    for name, value in load(base).state_dict().items():
        assert torch.equal(value, plain.state_dict()[name])


def test_new_words_are_trained_whole(tmp_path):
    """Embeddings are of no kind that PEFT adapts: they are saved beside the adapter."""
    case = Case("complex_recurrent_lm", "lstm")
    options = {"target_modules": ["real", "imag"], "modules_to_save": ["embed_tokens", "lm_head"]}
    model = peft.get_peft_model(case.own(), peft.LoraConfig(r=2, **options))
    ids = torch.arange(3, 13).view(2, 5)
    model(input_ids=ids, labels=ids).loss.backward()
    trained = {name: each for name, each in model.named_parameters() if "modules_to_save" in name}
    assert {name.split(".modules_to_save")[0].rpartition(".")[2] for name in trained} == {"embed_tokens", "lm_head"}
    with torch.no_grad():
        for each in trained.values():
            each -= 0.5 * each.grad
    model.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(case.own(), tmp_path)
    with torch.no_grad():
        after = model.eval()(input_ids=ids).logits
        assert not torch.allclose(after, case.model()(input_ids=ids).logits, atol=1e-3)
        torch.testing.assert_close(again(input_ids=ids).logits, after, atol=1e-6, rtol=1e-6)


def test_adapted_layer_is_a_complex_product_of_the_adapted_weights(base):
    lora = peft.LoraConfig(r=2, target_modules=["real", "imag"], init_lora_weights=False)
    model = peft.get_peft_model(load(base), lora)
    layer = model.base_model.model.model.layers[0].self_attn.q_proj
    weights = [part.weight + part.get_delta_weight("default") for part in (layer.real, layer.imag)]
    x = torch.randn(4, 16)
    w, z = torch.complex(*(weight.detach() for weight in weights)), CF.to_complex(x)
    expected = z @ w.T + CF.to_complex(layer.bias.detach())
    torch.testing.assert_close(CF.to_complex(layer(x).detach()), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("readout", ["concat", "feature_modulus", "modulus"])
def test_adapted_heads_read_as_before(readout):
    """The layer is an adapter then, whose class says nothing of the numbers it reads."""
    torch.manual_seed(0)
    head = Readout(8, 6, readout)
    x = torch.randn(3, 8)
    expected = head(x)
    targets = ["real", "imag"] if readout == "modulus" else ["projection"]
    adapted = peft.inject_adapter_in_model(peft.LoraConfig(r=2, target_modules=targets), head)
    assert any("lora" in name for name, _ in adapted.named_parameters())
    torch.testing.assert_close(adapted(x), expected)  # B starts at zero
