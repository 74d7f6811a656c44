# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Models that are quantised after they were loaded: which layers, calibration, refusals, every family."""

import copy

import pytest
import torch
from quantized_models import GREEDY, LINEAR_TYPES, WORDS, decoder, real_decoder, texts
from torch import nn
from transformers import BatchEncoding

from complex_transformers import (
    ComplexLlamaForCausalLM,
    ComplexQuantizationConfig,
    ComplexRecurrentLMConfig,
    ComplexRecurrentLMForCausalLM,
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    quantize,
)
from complex_transformers.analysis import prune_conjugate
from complex_transformers.nn import ComplexLinear, PackedLinear, Readout, complex_linear_type
from complex_transformers.quantization.calibration import gram_matrices
from complex_transformers.quantization.conversion import layers_to_convert
from families import CASES
from family_inputs import batch, results, rows
from refusals import refused


def packed_names(model):
    return {name for name, module in model.named_modules() if isinstance(module, PackedLinear)}


def family_cases():
    cases = [case for case in CASES if case.config().number_field == "complex"]
    return [pytest.param(case, id=str(case), marks=() if case.is_default else pytest.mark.full) for case in cases]


def has_complex_layers(model):
    heads = [name for name, module in model.named_modules() if isinstance(module, Readout)]
    return any(
        complex_linear_type(module) and not any(name.startswith(head) for head in heads)
        for name, module in model.named_modules()
    )


@pytest.mark.parametrize("case", family_cases())
def test_every_family_computes_with_packed_weights(case):
    """Packed layers equal float layers of the same weights; a model without complex layers is unchanged."""
    model = case.own()
    before = copy.deepcopy(model.state_dict())
    shared = getattr(model.config, "share_parts", False)
    if shared or not has_complex_layers(model):
        words = "share_parts must be False" if shared else "model must have complex layers to quantize"
        refused(words, quantize, model, ComplexQuantizationConfig())
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
        return
    inputs = batch(rows(model))
    quantize(model, ComplexQuantizationConfig(stages=2))
    assert packed_names(model)
    found = results(model, inputs)
    plain = results(copy.deepcopy(model).dequantize(), inputs)
    for ours, theirs, original in zip(found, plain, results(case.model(), inputs), strict=True):
        for name, value in ours.items():
            torch.testing.assert_close(value, theirs[name], rtol=1e-4, atol=1e-5)
            assert value.isfinite().all()
        assert any(not torch.equal(value, original[name]) for name, value in ours.items())


@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
def test_which_layers(linear_type):
    every = {
        f"model.layers.{index}.{name}_proj"
        for index in range(2)
        for name in (*(f"self_attn.{part}" for part in "qkvo"), "mlp.gate", "mlp.up", "mlp.down")
    }
    modulus = {"lm_readout": "modulus"}
    assert packed_names(quantize(decoder(linear_type, **modulus), ComplexQuantizationConfig())) == every
    kept = ComplexQuantizationConfig(modules_to_not_convert=["lm_head", "down_proj", r"model.layers.1"])
    names = {name for name in every if "layers.0" in name and "down" not in name}
    assert packed_names(quantize(decoder(linear_type, **modulus), kept)) == names
    everything = ComplexQuantizationConfig(modules_to_not_convert=[])
    assert packed_names(quantize(decoder(linear_type, **modulus), everything)) == {*every, "lm_head.projection"}
    unknown = ComplexQuantizationConfig(modules_to_not_convert=["lm_head", "fc1"])
    refused(r"modules_to_not_convert must name layers of the model, got \['fc1'\]", quantize, decoder(), unknown)
    unknown = ComplexQuantizationConfig(module_stages={"q_proj": 1, "lm_head": 3})  # the head stays float
    refused(r"module_stages must name layers to quantize, got \['lm_head'\]", quantize, decoder(), unknown)
    refused(r"module_stages\['q_proj'\] must be 1, 2 or 3", ComplexQuantizationConfig, module_stages={"q_proj": 4})


@torch.no_grad()
def test_a_model_writes_and_its_cache_is_right():
    model = quantize(decoder(), ComplexQuantizationConfig(stages=3))
    ids = texts()
    written = model.generate(ids, **GREEDY)
    for _ in range(3):  # step by step, without a cache
        ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(ids, written[:, : ids.shape[1]])


@torch.no_grad()
@pytest.mark.parametrize(
    "linear_type", [*(pytest.param(name, marks=pytest.mark.full) for name in LINEAR_TYPES[:2]), LINEAR_TYPES[2]]
)
def test_calibration_lowers_the_error_of_outputs(linear_type):
    model = decoder(linear_type)
    seen, ids = texts(16, 12), texts(4, 12, seed=2)
    wanted = model(ids).logits
    errors = {}
    for name, options in (
        ("nearest", {}),
        ("calibrated", {"calibration": seen.split(4)}),
        ("in passes", {"calibration": seen.split(4), "calibration_passes": 14}),
    ):
        found = quantize(copy.deepcopy(model), ComplexQuantizationConfig(**options))
        errors[name] = (found(ids).logits - wanted).square().mean().item()
        assert found.config.quantization_config.calibration is None
    assert errors["calibrated"] < 0.95 * errors["nearest"]
    assert errors["in passes"] < 0.95 * errors["nearest"]


@pytest.mark.full
@torch.no_grad()
def test_calibrations_of_every_form_are_one():
    ids = texts(3, 9)
    padded, mask = torch.cat([ids, torch.zeros(3, 2, dtype=torch.long)], dim=1), torch.ones(3, 11, dtype=torch.long)
    mask[:, 9:] = 0
    states = [
        quantize(decoder(), ComplexQuantizationConfig(calibration=calibration)).state_dict()
        for calibration in (
            [ids],
            ids,
            {"input_ids": ids},
            [{"input_ids": row.tolist(), "labels": row.tolist()} for row in ids],
            [BatchEncoding({"input_ids": padded, "attention_mask": mask})],
        )
    ]
    for state in states[1:]:
        same = [(value == state[name]).float().mean() for name, value in states[0].items()]
        assert min(same) > 0.95  # sums of other order


def test_unusable_calibrations_leave_the_model_unchanged():
    ids = texts()
    options = ComplexQuantizationConfig
    refused("calibration must be None with training=True", options, calibration=[ids], training=True)
    refused("calibration_passes must be positive, got 0", options, calibration_passes=0)

    def calibrate(calibration, model=None, **others):
        model = decoder() if model is None else model
        before = copy.deepcopy(model)
        try:
            quantize(model, options(calibration=calibration, **others))
        finally:
            assert packed_names(model) == set()
            for name, value in before.state_dict().items():
                torch.testing.assert_close(model.state_dict()[name], value, rtol=0, atol=0, equal_nan=True)

    refused("damping must be positive, got -1", calibrate, [ids], damping=-1)
    refused(
        "calibration column text must be an array of numbers, got", calibrate, [{"input_ids": ids, "text": "words"}]
    )
    nothing = {"input_ids": ids, "attention_mask": torch.zeros_like(ids)}
    refused("calibration must have at least one token", calibrate, [nothing])
    broken = decoder()
    with torch.no_grad():
        broken.model.embed_tokens.weight[5] = torch.nan
    refused("q_proj: .* got a mean square of nan", calibrate, [torch.full((1, 4), 5)], broken)
    unused = decoder()
    unused.model.layers[1].add_module("more", ComplexLinear(4, 4))
    refused("calibration must reach every layer, got none for .*model.layers.1.more", calibrate, [ids], unused)


def test_models_and_options_that_cannot_be_quantized():
    config = ComplexQuantizationConfig()
    refused("config must be given for a float model, got None", quantize, decoder())
    model = decoder()
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.imag.weight[0, 0] = torch.inf
    refused("model.layers.1.mlp.up_proj: weights must fit float16 scales, got inf", quantize, model, config)
    assert packed_names(model) == set()
    quantize(model := decoder(), config)
    for given in (config, None):
        refused(r"model must have complex layers.*call model.dequantize\(\) if it is packed", quantize, model, given)
    hooked = decoder()
    hooked.model.layers[0].mlp.up_proj.real = torch.nn.Sequential(torch.nn.Linear(16, 24))
    refused("model.layers.0.mlp.up_proj: .*hooks or replacements", quantize, hooked, config)
    refused(r"lift\(model\)", quantize, real_decoder(), config)
    for stages in (0, 4, 2.0, True, "2"):
        refused(f"stages must be 1, 2 or 3, got {stages!r}", ComplexQuantizationConfig, stages=stages)
    refused("granularity must be one of", ComplexQuantizationConfig, granularity="group")


def test_weights_of_the_papers_are_kept():
    """A model whose weights are sums of units computes the same, up to 16-bit scales."""
    model = decoder("conjugate")
    plain = quantize(copy.deepcopy(model), ComplexQuantizationConfig(1, "tensor")).dequantize()
    again = quantize(copy.deepcopy(plain), ComplexQuantizationConfig(1, "tensor"))
    ids = texts()
    torch.testing.assert_close(again(ids).logits, plain(ids).logits)
    assert (plain(ids).logits - model(ids).logits).abs().max() > 1e-2


@torch.no_grad()
def test_pruned_layers_are_packed_as_complex_ones(tmp_path):
    model, ids = decoder(), texts()
    prune_conjugate(model, ["model.layers.0.mlp.up_proj"])
    quantize(model, ComplexQuantizationConfig(calibration=[ids]))
    assert model.model.layers[0].mlp.up_proj.linear_type == "complex"
    model.save_pretrained(tmp_path)
    assert torch.equal(ComplexLlamaForCausalLM.from_pretrained(tmp_path)(ids).logits, model(ids).logits)


def test_calibration_leaves_the_model_as_it_was():
    model = decoder(attention_probs_dropout_prob=0.5).train()
    config = ComplexQuantizationConfig(calibration=[texts()], modules_to_not_convert=["lm_head", "q_proj"])
    quantize(model, config)
    assert all(module.training for module in model.modules())
    assert not any(module._forward_pre_hooks for module in model.modules())
    again = quantize(decoder(), config)
    assert torch.equal(again(texts()).logits, model.eval()(texts()).logits)


def test_calibration_leaves_the_mode_of_every_layer():
    model = decoder("complex").train()
    model.model.layers[0].eval()
    quantize(model, ComplexQuantizationConfig(calibration=[texts()]))
    modes = [{module.training for module in layer.modules()} for layer in model.model.layers]
    assert modes == [{False}, {True}]


@torch.no_grad()
def test_calibration_leaves_out_the_padding_of_both_sides():
    torch.manual_seed(0)
    config = ComplexSeq2SeqConfig(vocab_size=WORDS, hidden_size=16, intermediate_size=16, num_attention_heads=2)
    model = ComplexSeq2SeqForConditionalGeneration(config).eval()
    source, target = texts(2, 6)[:, None]
    some, other = torch.arange(6)[None] < 4, torch.arange(6)[None] < 5
    padded = {
        "input_ids": source,
        "attention_mask": some,
        "decoder_input_ids": target,
        "decoder_attention_mask": other,
    }
    plain = {"input_ids": source[:, :4], "decoder_input_ids": target[:, :5]}
    layers = layers_to_convert(model, ComplexQuantizationConfig())
    found, expected = (gram_matrices(model, layers, [text]) for text in (padded, plain))
    assert any("cross_attn.k_proj" in name for name in found)
    for name, gram in found.items():
        torch.testing.assert_close(gram, expected[name], rtol=1e-3, atol=1e-4, msg=name)


@torch.no_grad()
def test_labels_are_what_a_decoder_is_calibrated_with():
    """Without other inputs: the start token, then all labels but the last, without padding."""
    torch.manual_seed(0)
    sizes = {"vocab_size": WORDS, "hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    config = ComplexSeq2SeqConfig(**sizes, encoder_layers=1, decoder_layers=1, decoder_start_token_id=1)
    model = ComplexSeq2SeqForConditionalGeneration(config).eval()
    source, target = texts(2, 6)[:, None]
    read = torch.cat([torch.full((1, 1), config.decoder_start_token_id), target[:, :-1]], dim=1)
    padded = nn.functional.pad(target, (0, 2), value=-100)
    states = [
        quantize(copy.deepcopy(model), ComplexQuantizationConfig(calibration=[{"input_ids": source, **more}]))
        for more in (
            {"decoder_input_ids": read},
            {"labels": target},
            {"labels": padded},
            {"decoder_input_ids": read, "labels": "not read"},
        )
    ]
    expected = states[0].state_dict()
    for found in states[1:]:
        same = [(value == expected[name]).float().mean() for name, value in found.state_dict().items()]
        assert min(same) > 0.95  # sums of other order


def test_recurrent_layers_are_calibrated_without_padding():
    """Hidden-to-hidden weights read the states before each token, here taken from the outputs."""
    torch.manual_seed(0)
    sizes = {"vocab_size": WORDS, "hidden_size": 16, "recurrent_size": 12, "num_hidden_layers": 1}
    model = ComplexRecurrentLMForCausalLM(ComplexRecurrentLMConfig(**sizes)).eval()
    layers = layers_to_convert(model, ComplexQuantizationConfig())
    name = next(name for name in layers if "recurrent_proj" in name)
    short, long = texts(1, 4), texts(1, 7)
    found = gram_matrices(model, layers, [{"input_ids": short}, {"input_ids": long}])[name]
    states = [model.model(ids).last_hidden_state[0, :-1].double() for ids in (short, long)]
    expected = sum(rows.T @ rows for rows in states)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-6)
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[0, 4:] = 0
    both = {"input_ids": torch.cat([nn.functional.pad(short, (0, 3)), long]), "attention_mask": mask}
    config = ComplexQuantizationConfig(calibration=[both])
    refused("calibration must have no padding for the recurrent layer .*rnn.input_proj.0", quantize, model, config)
    assert packed_names(model) == set()


@pytest.mark.parametrize("calibration", [None, [texts()]])
def test_shared_layers_stay_shared(calibration):
    model = decoder("complex")
    first, second = model.model.layers
    second.mlp, second.self_attn.o_proj = first.mlp, first.self_attn.o_proj
    nothing = {"input_ids": texts(), "attention_mask": torch.zeros_like(texts())}
    words = "calibration must have at least one token"
    refused(words, quantize, model, ComplexQuantizationConfig(calibration=[nothing]))
    assert second.self_attn.o_proj is first.self_attn.o_proj
    quantize(model, ComplexQuantizationConfig(training=True))
    assert second.self_attn.o_proj is first.self_attn.o_proj
    quantize(model, ComplexQuantizationConfig(calibration=calibration))
    assert isinstance(second.self_attn.o_proj, PackedLinear)
    assert second.self_attn.o_proj is first.self_attn.o_proj
    assert isinstance(second.mlp.down_proj, PackedLinear)
    model.dequantize()
    assert not packed_names(model)
    assert second.self_attn.o_proj is first.self_attn.o_proj


@torch.no_grad()
@pytest.mark.parametrize("dtype", [None, torch.bfloat16, torch.float32])
def test_a_dequantised_model_has_one_dtype(dtype):
    rotary = decoder(attention_bias=True, position_type="rotary")  # phases of polar positions stay in float32
    model = quantize(rotary, ComplexQuantizationConfig()).to(torch.bfloat16)
    plain = model.dequantize(dtype)
    expected = torch.float32 if dtype is None else dtype  # None: that in which the model was made
    assert {parameter.dtype for parameter in plain.parameters()} == {expected}
    assert plain(texts()).logits.dtype == expected


@pytest.mark.parametrize("training", [False, True])
def test_a_frozen_model_is_dequantised_frozen(training):
    config = ComplexQuantizationConfig(training=training)
    assert not any(
        p.requires_grad for p in quantize(decoder(), config).requires_grad_(False).dequantize().parameters()
    )
    assert all(p.requires_grad for p in quantize(decoder(), config).dequantize().parameters())


@pytest.mark.full
@pytest.mark.torch_compile_test
@torch.no_grad()
def test_a_quantised_model_compiles():
    model = quantize(decoder(num_hidden_layers=1), ComplexQuantizationConfig())
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    ids = texts()
    torch.testing.assert_close(compiled(ids, use_cache=False).logits, model(ids, use_cache=False).logits)


def test_rounding_without_calibration_or_training_warns(recwarn):
    def warned(model, **options):
        recwarn.clear()
        quantize(model, ComplexQuantizationConfig(**options) if options else None)
        return [str(each.message) for each in recwarn if "calibration" in str(each.message)]

    (message,) = warned(decoder(), stages=3)
    assert message.startswith(
        "Rounding to 3 bit(s) per real weight without calibration or training usually leaves noise"
    )
    assert "to 2 bit(s)" in warned(decoder(), stages=1, module_stages={"down_proj": 2})[0]
    assert warned(decoder(), stages=1, calibration=[texts()]) == []
    model = decoder()
    assert warned(model, stages=1, training=True) == []
    assert warned(model) == []  # trained weights are packed
