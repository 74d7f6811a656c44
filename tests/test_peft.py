# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""PEFT on complex layers and wave embeddings: LoRA on layers and sub-layers, prompts, saved modules."""

import pytest
import torch

from complex_transformers import (
    ComplexOrderForSequenceClassification,
    ComplexQuantizationConfig,
    ComplexTrainer,
    quantize,
)
from complex_transformers.nn import PackedLinear, Readout, RealInputLinear, functional as CF
from families import Case
from refusals import refused

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
    """PEFT cannot adapt these embeddings; it saves them with the adapter."""
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


@pytest.mark.parametrize("targets", [["projection"], ["real", "imag"]], ids=["layer", "parts"])
@pytest.mark.parametrize("readout", ["concat", "feature_modulus", "modulus"])
def test_adapted_heads_read_as_before(readout, targets):
    """Check a readout whose layer has the class of the adapter."""
    torch.manual_seed(0)
    head = Readout(8, 6, readout)
    x = torch.randn(3, 8)
    expected = head(x)
    if readout != "modulus" and targets == ["real", "imag"]:
        pytest.skip("a real layer has no parts")
    adapted = peft.inject_adapter_in_model(peft.LoraConfig(r=2, target_modules=targets), head)
    assert any("lora" in name for name, _ in adapted.named_parameters())
    torch.testing.assert_close(adapted(x), expected)  # B starts at zero


ADAPTED = ["q_proj", "v_proj"]
LINEAR_TYPES = ["complex", "conjugate", "widely_linear"]


def decoder(linear_type="complex", **changes):
    """Return a decoder with biases and large weights, in evaluation mode."""
    return Case("complex_llama", "complex").build(linear_type=linear_type, attention_bias=True, **changes)


def adapted(model, targets=ADAPTED, **options):
    """Return a model with an adapter whose factors are both random."""
    lora = peft.LoraConfig(r=3, target_modules=targets, init_lora_weights=False, **options)
    return peft.get_peft_model(model, lora).eval()


MIXER = ["in_proj", "out_proj"]
STATE_SPACE = {"mixer": MIXER, "all": [*MIXER, "gate_proj", "up_proj", "down_proj"]}


@pytest.mark.parametrize("name", STATE_SPACE)
def test_adapters_of_a_state_space_model_train_merge_and_load(name, tmp_path):
    case, ids = Case("complex_mamba", "complex"), texts()
    model = adapted(case.own(), STATE_SPACE[name])
    before = logits(model, ids)
    model(input_ids=ids, labels=ids).loss.backward()
    trained = {key: value for key, value in model.named_parameters() if value.requires_grad}
    assert len(trained) == 2 * 2 * len(STATE_SPACE[name])  # both factors, two layers
    assert all(value.grad.abs().max() > 0 for value in trained.values())
    with torch.no_grad():
        for value in trained.values():
            value -= 0.1 * value.grad
    expected = logits(model, ids)
    assert (expected - before).abs().max() > 1e-2
    written = model.generate(input_ids=ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
    model.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(case.own(), tmp_path).eval()
    torch.testing.assert_close(logits(again, ids), expected)
    with again.disable_adapter():
        torch.testing.assert_close(logits(again, ids), logits(case.model(), ids))
    mixer = again.base_model.model.model.layers[0].mixer
    weight = mixer.in_proj.weight + mixer.in_proj.get_delta_weight("default")  # also of the steps and angles
    merged = again.merge_and_unload()
    torch.testing.assert_close(merged.model.layers[0].mixer.in_proj.weight, weight)
    torch.testing.assert_close(logits(merged, ids), expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(merged.generate(ids, max_new_tokens=4, do_sample=False, pad_token_id=0), written)


def texts(batch=2):
    return torch.randint(3, 30, (batch, 7), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def logits(model, ids, **options):
    return model(input_ids=ids, **options).logits


def matrix_of(layer, width):
    """Return the matrix of a linear map on halves."""
    return (layer(torch.eye(width)) - layer(torch.zeros(width))).T


@torch.no_grad()
@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
def test_the_update_of_a_whole_layer_is_a_complex_matrix_of_its_rank(linear_type):
    model = adapted(decoder(linear_type), lora_bias=True)
    layer = model.base_model.model.model.layers[0].self_attn.q_proj
    update = matrix_of(layer, 16) - matrix_of(layer.base_layer, 16)
    (a, b), (c, d) = (half.chunk(2, dim=1) for half in update.chunk(2))
    if linear_type == "widely_linear":
        assert torch.linalg.matrix_rank(update, tol=1e-4) == 3
        return
    sign = -1 if linear_type == "conjugate" else 1  # W conj(z)
    torch.testing.assert_close(torch.complex(a, c), torch.complex(sign * d, -sign * b), atol=1e-5, rtol=1e-5)
    assert torch.linalg.matrix_rank(torch.complex(a, c), tol=1e-4) == 3


def test_a_layer_of_real_input_is_adapted_as_a_complex_one():
    layer = RealInputLinear(5, 8)
    lora = peft.LoraConfig(r=2, target_modules=["0"], init_lora_weights=False)
    model = peft.inject_adapter_in_model(lora, torch.nn.Sequential(layer)).eval()
    x = torch.randn(4, 5)
    expected = model(x)
    assert not torch.allclose(expected, layer(x), atol=1e-3)
    model[0].merge()
    torch.testing.assert_close(layer(x), expected, atol=1e-6, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Adapter 'default'. 4 LoRA tensor")  # PEFT takes biases for cut weights
@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
def test_whole_layers_train_merge_and_load(linear_type, tmp_path):
    ids = texts()
    model = adapted(decoder(linear_type), lora_bias=True)
    # As many parameters as an adapter of a real network of these widths.
    assert model.get_nb_trainable_parameters()[0] == 2 * ((3 * (16 + 16) + 16) + (3 * (16 + 8) + 8))
    model(input_ids=ids, labels=ids).loss.backward()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert all(parameter.grad.abs().max() > 0 for parameter in trained)
    with torch.no_grad():
        for parameter in trained:
            parameter -= 0.1 * parameter.grad
    expected = logits(model, ids)
    assert not torch.allclose(expected, logits(decoder(linear_type), ids), atol=1e-2)

    model.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(decoder(linear_type), tmp_path)
    torch.testing.assert_close(logits(again, ids), expected)
    with again.disable_adapter():
        torch.testing.assert_close(logits(again, ids), logits(decoder(linear_type), ids))
    again.merge_adapter()
    torch.testing.assert_close(logits(again, ids), expected, atol=1e-5, rtol=1e-5)
    again.unmerge_adapter()
    torch.testing.assert_close(logits(again, ids), expected, atol=1e-5, rtol=1e-5)
    merged = again.merge_and_unload(safe_merge=True)
    assert type(merged.model.layers[0].self_attn.q_proj) is type(decoder(linear_type).model.layers[0].self_attn.q_proj)
    torch.testing.assert_close(logits(merged, ids), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("targets", [["real", "imag"], ADAPTED], ids=["parts", "layers"])
@pytest.mark.parametrize("linear_type", ["complex", "widely_linear"])
def test_each_text_of_a_batch_has_an_adapter_of_its_own(linear_type, targets):
    ids = texts(3)
    model = adapted(decoder(linear_type), targets)
    model.add_adapter("other", model.peft_config["default"])
    names = ["other", "__base__", "default"]
    mixed = logits(model, ids, adapter_names=names)
    for row, name in enumerate(names):
        alone = decoder(linear_type) if name == "__base__" else model
        if name != "__base__":
            model.set_adapter(name)
        torch.testing.assert_close(mixed[row], logits(alone, ids)[row], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(mixed[0], logits(model, ids)[0], atol=1e-3)


@pytest.mark.parametrize("targets", [["real", "imag"], ADAPTED], ids=["parts", "layers"])
def test_activated_lora_begins_at_its_invocation(targets):
    ids = texts(2)
    ids[0, 3:5], ids[1] = torch.tensor([1, 2]), ids[1].clamp(min=3)
    base = logits(decoder(), ids)
    model = adapted(decoder(), targets, task_type="CAUSAL_LM", alora_invocation_tokens=[1, 2])
    activated = logits(model, ids)
    torch.testing.assert_close(activated[0, :3], base[0, :3], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(activated[1], base[1], atol=1e-5, rtol=1e-5)  # never invoked
    assert ((activated - base)[0, 3:].abs().amax(-1) > 1e-3).all()
    written = model.generate(input_ids=ids[:1], max_new_tokens=4, do_sample=False)
    again = ids[:1]
    for _ in range(4):
        again = torch.cat([again, logits(model, again)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(written, again)
    refused("does not support merging", model.merge_adapter, error=NotImplementedError)


@pytest.mark.parametrize("linear_type", LINEAR_TYPES)
def test_adapters_of_packed_layers_merge_into_their_float_weights(linear_type):
    ids = texts()
    packed = quantize(decoder(linear_type), ComplexQuantizationConfig(stages=1))
    model = adapted(packed)
    layer = model.base_model.model.model.layers[0].self_attn.q_proj
    assert isinstance(layer.base_layer, PackedLinear)
    model(input_ids=ids, labels=ids).loss.backward()
    assert all(parameter.grad is not None for parameter in layer.parameters() if parameter.requires_grad)
    expected = logits(model, ids)
    refused("dequantize", model.merge_and_unload)
    model.get_base_model().dequantize()
    torch.testing.assert_close(logits(model.merge_and_unload(), ids), expected, atol=1e-5, rtol=1e-5)


def test_what_whole_layers_do_not_take_is_rejected():
    refused("init_lora_weights", peft.get_peft_model, decoder(),
            peft.LoraConfig(target_modules=ADAPTED, init_lora_weights="pissa"))  # fmt: skip
    shared = Case("complex_order", "words").build(share_parts=True)
    refused("share_parts", peft.get_peft_model, shared, peft.LoraConfig(target_modules=["q_proj"]))
    model = adapted(decoder())
    torch.nn.init.constant_(model.base_model.model.model.layers[0].self_attn.q_proj.lora_A["default"].weight, 1e38)
    torch.nn.init.constant_(model.base_model.model.model.layers[0].self_attn.q_proj.lora_B["default"].weight, 1e38)
    refused("finite", model.merge_and_unload, safe_merge=True)


WAVES = Case("complex_llama", "waves")
DECODERS = [
    WAVES,
    Case("complex_llama", "real"),
    Case("complex_transfo_xl", "modulus"),
    Case("complex_transfo_xl", "learned positions"),
    Case("complex_recurrent_lm", "rnn"),
]
CLASSIFIERS = [Case("complex_order", "real score"), Case("complex_fasttext", "learned positions")]


def prompted(case, words, task="CAUSAL_LM"):
    """Return a model whose virtual tokens are the embeddings of ``words``."""
    options = {"num_layers": 1, "num_attention_heads": 1}  # PEFT asks for them where a network has no heads
    config = peft.PromptTuningConfig(task_type=task, num_virtual_tokens=len(words), **options)
    model = peft.get_peft_model(case.own(), config).eval()
    with torch.no_grad():
        model.prompt_encoder["default"].embedding.weight.copy_(model.word_embeddings(words))
    return model


@torch.no_grad()
@pytest.mark.parametrize("case", DECODERS, ids=str)
def test_words_stand_after_the_virtual_tokens(case):
    ids = texts()[:1]
    expected = logits(case.model(), ids)
    model = prompted(case, ids[0, :3])
    mask = torch.ones_like(ids)
    torch.testing.assert_close(logits(model, ids[:, 3:], attention_mask=mask[:, 3:]), expected, atol=1e-5, rtol=1e-5)
    # Tokens that are generated from a cache have the positions after these words.
    prompt = torch.cat([model.get_prompt(1), model.word_embeddings(ids[:, 3:6])], dim=1)
    cache = model.base_model(inputs_embeds=prompt, use_cache=True).cache
    last = logits(model.base_model, ids[:, 6:], attention_mask=mask, cache=cache)
    torch.testing.assert_close(last, expected[:, 6:], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_padding_does_not_count_after_a_prompt(case):
    ids = texts()
    expected = logits(case.model(), ids)
    model = prompted(case, ids[0, :3], "SEQ_CLS")
    torch.testing.assert_close(logits(model, ids[:1, 3:]), expected[:1], atol=1e-5, rtol=1e-5)
    for side in ("left", "right"):
        padding = (2, 0) if side == "left" else (0, 2)
        padded = torch.nn.functional.pad(ids[:1, 3:], padding, value=case.config().pad_token_id)
        same = logits(model, padded, attention_mask=(padded != case.config().pad_token_id).long())
        torch.testing.assert_close(same, expected[:1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [peft.PromptTuningConfig, peft.PromptEncoderConfig, peft.PrefixTuningConfig])
def test_prompts_of_wave_embeddings_train_save_and_load(kind, tmp_path):
    ids = texts()
    options = {"encoder_hidden_size": 8} if kind is peft.PromptEncoderConfig else {}
    model = peft.get_peft_model(WAVES.own(), kind(task_type="CAUSAL_LM", num_virtual_tokens=3, **options))
    model.eval()(input_ids=ids, labels=ids).loss.backward()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for parameter in trained:
            assert parameter.grad.abs().max() > 0
            parameter -= 0.1 * parameter.grad
    model.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(WAVES.own(), tmp_path).eval()
    torch.testing.assert_close(logits(again, ids), logits(model, ids), atol=1e-5, rtol=1e-5)
    assert "embeddings" not in dict(model.base_model.named_children())


@torch.no_grad()
def test_a_prefix_of_keys_and_values_counts_as_tokens():
    ids = texts()[:1]
    base = WAVES.own()
    config = peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    model = peft.get_peft_model(base, config).eval()
    layers = base(input_ids=ids[:, :3], use_cache=True).cache.layers
    states = torch.stack([part[0] for layer in layers for part in (layer.keys, layer.values)])  # [2 L, H, 3, width]
    model.prompt_encoder["default"].embedding.weight.copy_(states.permute(2, 0, 1, 3).flatten(1))
    expected = logits(base, ids)[:, 3:]
    torch.testing.assert_close(logits(model, ids[:, 3:]), expected, atol=1e-5, rtol=1e-5)


def test_an_encoder_decoder_generates_after_a_prompt():
    ids = texts()
    case = Case("complex_seq2seq", "modulus")
    config = peft.PromptTuningConfig(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=3)
    model = peft.get_peft_model(case.own(), config).eval()
    options = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 5, "do_sample": False}
    written = model.generate(input_ids=ids, **options)
    for step in range(1, written.shape[1]):
        last = logits(model, ids, attention_mask=options["attention_mask"], decoder_input_ids=written[:, :step])[:, -1]
        going = (written[:, :step] != 2).all(-1)  # before the end token
        assert torch.equal(last.argmax(-1)[going], written[going, step])
