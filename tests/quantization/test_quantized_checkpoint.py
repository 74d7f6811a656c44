# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Quantised while loading, saved packed, loaded in a process that knows no more than the folder."""

import json
import subprocess
import sys

import pytest
import torch
from quantized_models import GREEDY, LINEAR_TYPES, SIZES, decoder, real_decoder, texts
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, LlamaForCausalLM
from transformers.distributed import DistributedConfig

from complex_transformers import ComplexLlamaForCausalLM, ComplexQuantizationConfig, lift, quantize
from complex_transformers.nn import PackedLinear, WidelyLinear
from refusals import refused

THERE = """
import sys, torch
import complex_transformers
from transformers import AutoModelForCausalLM
folder = sys.argv[1]
model = AutoModelForCausalLM.from_pretrained(folder)
ids = torch.load(folder + "/ids.pt")
written = model.generate(ids, max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0)
torch.save({"logits": model(ids).logits, "written": written, "state": model.state_dict()}, folder + "/there.pt")
"""

MEMORY = """
import sys
import complex_transformers
from transformers import AutoModelForCausalLM
def kilobytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
AutoModelForCausalLM.from_pretrained(sys.argv[1])  # what only the first model needs
before = kilobytes("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # reset the peak
model = AutoModelForCausalLM.from_pretrained(sys.argv[2])
print(1024 * (kilobytes("VmHWM") - before))
"""


def load(path, **options):
    return AutoModelForCausalLM.from_pretrained(path, **options)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak memory is read from /proc")
def test_loading_needs_little_more_memory_than_the_file(tmp_path):
    wide = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 4}
    for name, sizes in (("tiny", {}), ("wide", wide)):
        quantize(decoder(**sizes), ComplexQuantizationConfig()).save_pretrained(tmp_path / name)
    size = (tmp_path / "wide" / "model.safetensors").stat().st_size
    assert size > 2**23
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "tiny"), str(tmp_path / "wide")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout.split()[-1]) < 1.3 * size  # the float weights of one linear layer take as much as the file


@pytest.mark.full
def test_a_lifted_model_is_quantised_saved_and_loaded_in_a_new_process(tmp_path):
    lift(real_decoder()).save_pretrained(tmp_path / "float")
    config = ComplexQuantizationConfig(stages=2, calibration=[texts(8, 16)])
    model = load(tmp_path / "float", quantization_config=config)
    assert sum(isinstance(module, PackedLinear) for module in model.modules()) == 14
    assert not any(isinstance(module, WidelyLinear) for module in model.modules())
    folder = tmp_path / "packed"
    model.save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["quantization_config"] == {
        "quant_method": "complex_units",
        "stages": 2,
        "module_stages": {},
        "granularity": "row",
        "modules_to_not_convert": None,
        "training": False,
    }
    ids = texts()
    torch.save(ids, folder / "ids.pt")
    subprocess.run([sys.executable, "-c", THERE, str(folder)], check=True)
    there = torch.load(folder / "there.pt")
    assert torch.equal(there["logits"], model(ids).logits)
    assert torch.equal(there["written"], model.generate(ids, **GREEDY))
    for name, value in model.state_dict().items():
        assert there["state"][name].dtype == value.dtype
        assert torch.equal(there["state"][name], value), name


@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
@pytest.mark.parametrize(("stages", "granularity"), [(1, "tensor"), (2, "row"), (3, "row")])
def test_bits_on_disk(tmp_path, linear_type, stages, granularity):
    """Two bits per stage and complex weight, 16 bits per scale; head, embedding and norms stay floats."""
    model = decoder(linear_type)
    model.save_pretrained(tmp_path / "float")
    quantize(model, ComplexQuantizationConfig(stages, granularity)).save_pretrained(tmp_path / "packed")
    state = load_file(tmp_path / "packed" / "model.safetensors")
    plain = load_file(tmp_path / "float" / "model.safetensors")
    packed = {name: value for name, value in state.items() if name.endswith(("codes", "scales"))}
    weights = {name: value for name, value in plain.items() if "_proj." in name}
    assert {n: v.dtype for n, v in state.items() if n not in packed} == {
        n: v.dtype for n, v in plain.items() if n not in weights
    }
    codes = sum(value.nbytes for name, value in packed.items() if name.endswith("codes"))
    complex_weights = sum(value.numel() for value in weights.values()) // 2
    assert 8 * codes == 2 * stages * complex_weights
    rows = sum(len(value) for value in weights.values()) // 2
    scales = sum(value.numel() for name, value in packed.items() if name.endswith("scales"))
    assert scales == 2 * stages * (rows if granularity == "row" else len(weights) // 2)
    file = (tmp_path / "packed" / "model.safetensors").stat().st_size
    assert file < 0.75 * (tmp_path / "float" / "model.safetensors").stat().st_size


@pytest.mark.parametrize("how", ["nearest", "calibrated", "trained"])
def test_layers_with_stages_of_their_own_are_saved_and_loaded(tmp_path, how):
    # The longest that fits counts; config.json sorts them.
    own = {"down_proj": 1, "model.layers.0.mlp.down_proj": 3, "layers.1.self_attn.q_proj": 1}
    options = {"calibration": [texts(8, 16)]} if how == "calibrated" else {"training": how == "trained"}
    model = quantize(decoder(), ComplexQuantizationConfig(module_stages=own, **options))
    if how == "trained":
        quantize(model)
    stages = {name: layer.stages for name, layer in model.named_modules() if isinstance(layer, PackedLinear)}
    changed = {"model.layers.0.mlp.down_proj": 3, "model.layers.1.mlp.down_proj": 1}
    changed["model.layers.1.self_attn.q_proj"] = 1
    assert stages == {**dict.fromkeys(stages, 2), **changed}
    model.save_pretrained(tmp_path)
    assert torch.equal(load(tmp_path)(texts()).logits, model(texts()).logits)
    headless = AutoModel.from_pretrained(tmp_path)
    assert torch.equal(headless(texts()).last_hidden_state, model.model(texts()).last_hidden_state)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loading_quantises_as_quantize_does(tmp_path, dtype):
    decoder().to(dtype).save_pretrained(tmp_path / "float")
    config = ComplexQuantizationConfig(stages=2)
    model = load(tmp_path / "float", quantization_config=config, dtype=dtype)
    later = quantize(load(tmp_path / "float", dtype=dtype), config)
    ids = texts()
    logits = model(ids).logits
    assert logits.dtype == dtype
    assert torch.equal(logits, later(ids).logits)
    model.save_pretrained(tmp_path / "packed")
    again = load(tmp_path / "packed", dtype="auto")
    assert again.dtype == dtype
    assert torch.equal(again(ids).logits, logits)
    assert {buffer.dtype for name, buffer in again.named_buffers() if name.endswith("scales")} == {torch.float16}
    by_dict = load(tmp_path / "float", quantization_config={"quant_method": "complex_units", "stages": 2}, dtype=dtype)
    assert torch.equal(by_dict(ids).logits, logits)
    plain = again.dequantize()
    assert not hasattr(plain.config, "quantization_config")
    assert torch.equal(plain(ids).logits, logits)
    plain.save_pretrained(tmp_path / "again")
    assert torch.equal(load(tmp_path / "again", dtype="auto")(ids).logits, logits)


def edit(folder, change):
    path = folder / "model.safetensors"
    state = load_file(path)
    change(state)
    save_file(state, path, metadata={"format": "pt"})


NAME = "model.layers.1.mlp.up_proj"


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop(f"{NAME}.codes"),
        lambda state: [state.pop(name) for name in list(state) if name.startswith(NAME)],
        lambda state: state[f"{NAME}.scales"][0, 0, 0].fill_(torch.nan),
    ],
    ids=["without codes", "without layer", "with NaN"],
)
def test_files_that_lack_weights(tmp_path, change):
    quantize(decoder(), ComplexQuantizationConfig()).save_pretrained(tmp_path)
    edit(tmp_path, change)
    refused(f"checkpoint must contain packed weights of {NAME}, got none", load, tmp_path)


@pytest.mark.parametrize("name", ["codes", "scales"])
def test_packed_weights_of_another_dtype_are_cast(tmp_path, name):
    model = quantize(decoder(), ComplexQuantizationConfig(stages=2))
    model.save_pretrained(tmp_path)
    edit(tmp_path, lambda state: state.update({f"{NAME}.{name}": state[f"{NAME}.{name}"].float()}))
    assert torch.equal(load(tmp_path)(texts()).logits, model(texts()).logits)


def test_files_of_another_configuration(tmp_path):
    quantize(decoder(), ComplexQuantizationConfig(stages=2)).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    written = json.loads(path.read_text())

    def rewrite(**changes):
        path.write_text(json.dumps({**written, "quantization_config": {**written["quantization_config"], **changes}}))

    for changes in ({"stages": 3}, {"granularity": "tensor"}):
        rewrite(**changes)
        for kind in (ComplexLlamaForCausalLM, AutoModel):  # with and without the head
            refused("ignore_mismatched_sizes", kind.from_pretrained, tmp_path, error=RuntimeError)
    rewrite(groups=4)
    refused("unexpected keyword argument 'groups'", load, tmp_path, error=TypeError)
    rewrite(stages=4)
    refused("stages must be 1, 2 or 3, got 4", load, tmp_path)
    decoder().save_pretrained(tmp_path / "float")
    path = tmp_path / "float" / "config.json"
    rewrite(stages=2)  # says packed, holds floats
    refused("checkpoint must contain packed weights of model.layers.0", load, tmp_path / "float")


@torch.no_grad()
@pytest.mark.parametrize("training", [False, True])
def test_models_that_share_a_configuration(tmp_path, training):
    model, ids = decoder(), texts()
    other = ComplexLlamaForCausalLM(model.config).eval()
    expected = other(ids).logits
    quantize(model, ComplexQuantizationConfig(1, training=training))
    assert all(module.config is model.config for module in model.modules() if hasattr(module, "config"))
    other.save_pretrained(tmp_path / "other")
    assert torch.equal(load(tmp_path / "other")(ids).logits, expected)
    model.save_pretrained(tmp_path / "model")
    assert torch.equal(load(tmp_path / "model")(ids).logits, model(ids).logits)


@pytest.mark.parametrize("training", [False, True])
def test_tensor_parallel_models_are_rejected(tmp_path, training):
    config, options = ComplexQuantizationConfig(1, training=training), {"config": decoder().config}
    options["config"].distributed_config = DistributedConfig(tp_size=2)
    words = "tp_size must be 1 for quantization"
    decoder().save_pretrained(tmp_path / "float")
    refused(words, load, tmp_path / "float", quantization_config=config, **options)
    refused(words, quantize, ComplexLlamaForCausalLM(options["config"]), config)
    model = quantize(decoder(), config)
    model.save_pretrained(tmp_path / "quantised")
    options["config"].quantization_config = model.config.quantization_config.to_dict()
    refused(words, load, tmp_path / "quantised", **options)


@torch.no_grad()
def test_layers_that_are_offloaded(tmp_path):
    pytest.importorskip("accelerate")
    places = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk", "model.norm": "cpu"}
    options = {"device_map": {**places, "lm_head": "cpu"}, "offload_folder": str(tmp_path / "offload")}
    decoder().save_pretrained(tmp_path / "float")
    for training in (False, True):
        config = ComplexQuantizationConfig(training=training)
        words = "device_map must not offload layers to quantize, got model.layers.1"
        refused(words, load, tmp_path / "float", quantization_config=config, **options)
        refused(words, quantize, load(tmp_path / "float", **options), config)
    packed = quantize(decoder(), ComplexQuantizationConfig())
    packed.save_pretrained(tmp_path / "packed")
    assert torch.equal(load(tmp_path / "packed", **options)(texts()).logits, packed(texts()).logits)


def test_models_without_complex_weights(tmp_path):
    real = ComplexLlamaForCausalLM(decoder().config.real_twin())
    real.save_pretrained(tmp_path / "real")
    config = ComplexQuantizationConfig()
    words = "model must have complex layers.*number_field='complex'"
    refused(words, load, tmp_path / "real", quantization_config=config)
    real_decoder().save_pretrained(tmp_path / "llama")
    refused(
        r"model must have complex layers to quantize, got none in LlamaForCausalLM.*lift\(model\)",
        LlamaForCausalLM.from_pretrained,
        tmp_path / "llama",
        quantization_config=config,
    )
    assert SIZES["num_hidden_layers"] == 2


@pytest.mark.parametrize("change", [{"training": True}, {"modules_to_not_convert": ["q_proj"]}])
def test_a_configuration_that_does_not_fit_the_packed_weights_is_rejected(tmp_path, change):
    quantize(decoder(), ComplexQuantizationConfig(stages=2)).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["quantization_config"] |= change
    (tmp_path / "config.json").write_text(json.dumps(config))
    refused("quantization_config must pack .*safetensors", load, tmp_path)
