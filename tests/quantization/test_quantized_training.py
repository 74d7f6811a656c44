# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Trained with rounded weights by a plain Trainer, saved as trained, packed in the end."""

import pytest
import torch
from quantized_models import LINEAR_TYPES, WORDS, decoder, texts
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

from complex_transformers import (
    ComplexQuantizationConfig,
    ComplexRecurrentLMConfig,
    ComplexRecurrentLMForCausalLM,
    quantize,
)
from complex_transformers.kernels.native import low_bit
from complex_transformers.nn import (
    ComplexLinear,
    PackedLinear,
    RoundedLinear,
    unpack_codes,
    use_kernels,
)
from complex_transformers.nn.low_bit import quantized_linear as unit_linear
from complex_transformers.nn.low_bit.rounding import rounded_values
from refusals import refused

pytest.importorskip("accelerate")
TRAINING = ComplexQuantizationConfig(stages=1, training=True)


def arguments(folder, **options):
    options = {"use_cpu": True, "max_steps": 12, "learning_rate": 5e-3, "per_device_train_batch_size": 4, **options}
    return TrainingArguments(str(folder), save_strategy="no", disable_tqdm=True, report_to="none", **options)


def rounded(model):
    return [module for module in model.modules() if isinstance(module, RoundedLinear)]


def test_a_trainer_trains_what_is_then_packed(tmp_path):
    decoder().save_pretrained(tmp_path / "float")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "float", quantization_config=TRAINING)
    assert len(rounded(model)) == 14
    ids = texts(4, 10)
    nearest = quantize(decoder(), ComplexQuantizationConfig(stages=1))
    assert torch.equal(model(ids).logits, nearest(ids).logits)
    before = {name: value.clone() for name, value in model.named_parameters()}
    loss = model(ids, labels=ids).loss.item()
    data = [{"input_ids": row, "labels": row} for row in ids]
    Trainer(model, arguments(tmp_path / "run"), train_dataset=data).train()
    model.eval()
    trained = model(ids, labels=ids)
    assert trained.loss.item() < 0.8 * loss
    assert all(not torch.equal(value, before[name]) for name, value in model.named_parameters())

    model.save_pretrained(tmp_path / "trained")  # as it is trained: float weights under the names of float layers
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "trained")
    assert again.config.quantization_config.training
    assert torch.equal(again(ids).logits, trained.logits)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())

    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "trained", quantization_config=None)
    assert not rounded(plain)
    assert all(torch.equal(value, plain.state_dict()[name]) for name, value in model.state_dict().items())
    other = ComplexQuantizationConfig(stages=3)
    with pytest.warns(UserWarning, match="already has a `quantization_config`"):
        again = AutoModelForCausalLM.from_pretrained(tmp_path / "trained", quantization_config=other)
    assert torch.equal(again(ids).logits, trained.logits)

    packed = quantize(model)
    assert not rounded(packed)
    assert torch.equal(packed(ids).logits, trained.logits)
    packed.save_pretrained(tmp_path / "packed")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "packed")
    assert sum(isinstance(module, PackedLinear) for module in loaded.modules()) == 14
    assert torch.equal(loaded(ids).logits, trained.logits)
    trainer = Trainer(packed, arguments(tmp_path / "more"), train_dataset=data, eval_dataset=data)
    assert trainer.evaluate()["eval_loss"] == pytest.approx(trained.loss.item(), rel=1e-5)
    refused(r"without packed layers, got 14.*training=True", trainer.train)


def test_packed_weights_are_not_asked_to_train():
    packed = quantize(decoder(), ComplexQuantizationConfig(stages=1))
    words = r"without packed layers, got 14.*ComplexQuantizationConfig\(training=True\).*requires_grad_\(False\)"
    refused(words, packed.train)
    assert not any(module.training for module in packed.modules())
    packed.requires_grad_(False)
    packed.lm_head.requires_grad_(True)
    head, ids = packed.lm_head.projection.weight.clone(), texts()
    packed.train()(ids, labels=ids).loss.backward()
    torch.optim.SGD(packed.lm_head.parameters(), lr=0.1).step()
    assert not torch.equal(packed.lm_head.projection.weight, head)
    packed.requires_grad_(True)
    packed.lm_head.requires_grad_(False)  # and every parameter of the decoder within it is trained
    packed.train()
    quantize(decoder(), TRAINING).train()
    quantize(decoder(), ComplexQuantizationConfig(stages=1)).dequantize().train()


@pytest.mark.parametrize(
    "targets", [["lm_head.projection"], ["q_proj", "v_proj", "down_proj"]], ids=["head", "packed"]
)
def test_adapters_of_a_packed_model_train(tmp_path, targets):
    peft = pytest.importorskip("peft")
    packed = peft.prepare_model_for_kbit_training(quantize(decoder(), ComplexQuantizationConfig(stages=1)))
    codes = {name: value.clone() for name, value in packed.named_buffers()}
    ids = texts(4, 10)
    data = [{"input_ids": row, "labels": row} for row in ids]
    model = peft.get_peft_model(packed, peft.LoraConfig(r=4, target_modules=targets))
    loss = model.eval()(ids, labels=ids).loss.item()
    Trainer(model, arguments(tmp_path, learning_rate=0.1), train_dataset=data).train()
    assert model.eval()(ids, labels=ids).loss.item() < loss - 0.1
    buffers = {name.replace(".base_layer", ""): value for name, value in packed.named_buffers()}
    assert all(torch.equal(value, buffers[name]) for name, value in codes.items())
    model.save_pretrained(tmp_path / "adapter")
    base = quantize(decoder(), ComplexQuantizationConfig(stages=1))
    again = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    torch.testing.assert_close(again(ids).logits, model(ids).logits)


@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_weight_gets_a_gradient(linear_type, dtype):
    model = quantize(decoder(linear_type), TRAINING).to(dtype).train()
    ids = texts()
    model(ids, labels=ids).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_trained_models_take_another_rounding():
    ids = texts(8, 12)
    model = quantize(decoder(), TRAINING)
    more = quantize(model, ComplexQuantizationConfig(stages=2, training=True))
    assert {layer.stages for layer in rounded(more)} == {2}
    calibrated = quantize(more, ComplexQuantizationConfig(stages=2, calibration=[ids]))
    expected = quantize(decoder(), ComplexQuantizationConfig(stages=2, calibration=[ids]))
    assert torch.equal(calibrated(ids).logits, expected(ids).logits)
    plain = quantize(decoder(), TRAINING).dequantize()
    assert torch.equal(plain(ids).logits, quantize(decoder(), ComplexQuantizationConfig(stages=1))(ids).logits)
    assert {type(layer) for layer in plain.modules() if isinstance(layer, ComplexLinear)} == {
        type(layer) for layer in decoder().modules() if isinstance(layer, ComplexLinear)
    }
    refused("config must be given", quantize, plain)
    broken = quantize(decoder(), TRAINING)
    torch.nn.init.constant_(rounded(broken)[3].real.weight, torch.nan)
    without = ComplexQuantizationConfig(modules_to_not_convert=["q_proj"])
    for config in (None, without):
        refused("weights must fit float16 scales, got nan", quantize, broken, config)
        assert len(rounded(broken)) == 14


@torch.no_grad()
@pytest.mark.parametrize("training", [False, True])
def test_layers_that_are_left_out_of_another_rounding_are_float(tmp_path, training):
    kept = ComplexQuantizationConfig(1, modules_to_not_convert=["lm_head", "q_proj"], training=training)
    everything = ComplexQuantizationConfig(1, modules_to_not_convert=[], training=True)
    model, ids = quantize(decoder(), everything), texts()
    quantize(model, kept)
    assert type(model.model.layers[0].self_attn.q_proj) is type(decoder().model.layers[0].self_attn.q_proj)
    assert torch.equal(model(ids).logits, quantize(decoder(), kept)(ids).logits)
    model.save_pretrained(tmp_path)
    assert torch.equal(AutoModelForCausalLM.from_pretrained(tmp_path)(ids).logits, model(ids).logits)


@pytest.mark.parametrize("rnn_type", ["rnn", "lstm", "gru"])
def test_recurrent_weights_are_made_once_for_all_steps(monkeypatch, rnn_type):
    """Compare outputs and gradients with layers that round in every step."""
    torch.manual_seed(0)
    sizes = {"vocab_size": WORDS, "hidden_size": 16, "recurrent_size": 12, "num_hidden_layers": 1}
    config = ComplexRecurrentLMConfig(**sizes, rnn_type=rnn_type, hidden_dropout_prob=0.0)
    model = quantize(ComplexRecurrentLMForCausalLM(config), TRAINING).train()
    ids, count = texts(3, 12), []

    def counted(function):
        return lambda *arguments, **named: count.append(1) or function(*arguments, **named)

    def step(hook=None):
        count.clear()
        model.zero_grad()
        handles = [layer.register_forward_hook(hook) for layer in rounded(model) if hook]
        out = model(ids, labels=ids)
        out.loss.backward()
        for handle in handles:
            handle.remove()
        return out.logits, {name: weight.grad.clone() for name, weight in model.named_parameters()}

    monkeypatch.setattr(unit_linear, "rounded_values", counted(rounded_values))
    monkeypatch.setattr(unit_linear, "unpack_codes", counted(unpack_codes))
    logits, gradients = step()
    assert len(count) == len(rounded(model)) == 2
    called, expected = step(lambda *_: None)
    assert len(count) == 1 + 12
    assert torch.equal(called, logits)
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], msg=name)
    with torch.no_grad():
        trained = model.eval()(ids).logits
        packed = quantize(model)
        for enabled in (False, True):
            count.clear()
            with use_kernels(enabled):
                torch.testing.assert_close(packed(ids).logits, trained, **({} if enabled else {"rtol": 0, "atol": 0}))
            assert len(count) == (0 if enabled and low_bit.load() else 2)
        torch.testing.assert_close(packed.to(torch.bfloat16)(ids).logits.float(), trained, rtol=0.05, atol=0.01)


def test_gradients_are_those_of_checkpointed_layers():
    model = quantize(decoder(), TRAINING).train()
    ids = texts()
    model(ids, labels=ids).loss.backward()
    expected = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable()
    model(ids, labels=ids).loss.backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name])
