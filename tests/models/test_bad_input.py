# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What no model can use is refused with words that name it, in every family; empty texts and labels harm nothing."""

import copy
from functools import cache

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import DynamicCache

import complex_transformers as ct
from refusals import refused

TEXT = {"vocab_size": 20, "hidden_size": 16, "initializer_range": 0.5, "num_labels": 3}
LAYERS = {**TEXT, "num_attention_heads": 2, "intermediate_size": 16}
WRITES = {"decoder_layers": 2, "decoder_start_token_id": 1, "bos_token_id": 1, "eos_token_id": 2}
SPEECH = {**LAYERS, "feature_size": 10, "num_hidden_layers": 1}
SEQ2SEQ = {**LAYERS, **WRITES, "encoder_layers": 2}
SYNTAX = {**TEXT, **WRITES, "relation_vocab_size": 5}
REAL = {"number_field": "real"}
CLASSIFIER, WRITER = "ForSequenceClassification", "ForConditionalGeneration"
# name -> family, head, sizes
HEADS = {
    "encoder": ("ComplexOrder", "Model", LAYERS),
    "masked words": ("ComplexOrder", "ForMaskedLM", {**LAYERS, "attention_score": "real"}),
    "texts": ("ComplexOrder", CLASSIFIER, LAYERS),
    "texts, batch norm": ("ComplexOrder", CLASSIFIER, {**LAYERS, "norm_type": "batch"}),
    "texts, real": ("ComplexOrder", CLASSIFIER, {**LAYERS, **REAL}),
    "tokens": ("ComplexOrder", "ForTokenClassification", {**LAYERS, "attention_normalization": "split_softmax"}),
    "fasttext": ("ComplexFastText", CLASSIFIER, {**TEXT, "intermediate_size": 8}),
    "cnn": ("ComplexTextCNN", CLASSIFIER, {**TEXT, "num_filters": 8, "intermediate_size": 8}),
    "rnn": ("ComplexTextRNN", CLASSIFIER, {**TEXT, "recurrent_size": 8, "bidirectional": True}),
    "rnn, real": ("ComplexTextRNN", CLASSIFIER, {**TEXT, "recurrent_size": 8, **REAL}),
    "gcn": ("ComplexTextGCN", CLASSIFIER, {**TEXT, "intermediate_size": 8}),
    "translation": ("ComplexSeq2Seq", WRITER, SEQ2SEQ),
    "translation, real": ("ComplexSeq2Seq", WRITER, {**SEQ2SEQ, **REAL}),
    "language": ("ComplexTransfoXL", "ForCausalLM", {**LAYERS, "num_hidden_layers": 2, "mem_len": 8}),
    "language, adaptive": ("ComplexTransfoXL", "ForCausalLM", {**LAYERS, "mem_len": 8, "cutoffs": [8]}),
    "syntax": ("SynCoNMT", WRITER, SYNTAX),
    "syntax, luong": ("SynCoNMT", WRITER, {**SYNTAX, "attention_type": "luong"}),
    "syntax, real": ("SynCoNMT", WRITER, {**SYNTAX, **REAL, "rnn_type": "lstm"}),
    "clips": ("SpectralTransformer", "ForAudioClassification", {**SPEECH, "time_pool_size": 2}),
    "clips, scaled": ("SpectralTransformer", "ForAudioClassification", {**SPEECH, "variant": "spectral_scaled"}),
    "ctc": ("SpectralTransformer", "ForCTC", SPEECH),
    "transcription": ("SpectralTransformer", WRITER, {**SPEECH, "decoder": {"vocab_size": 20, **WRITES}}),
}
WITH_LABELS = [name for name in HEADS if name != "encoder"]
WRITERS = ("translation", "translation, real", "syntax", "syntax, luong", "syntax, real", "transcription")
every_head = pytest.mark.parametrize("head", HEADS)
every_labelled = pytest.mark.parametrize("head", WITH_LABELS)


@cache
def build(head):
    family, kind, sizes = HEADS[head]
    torch.manual_seed(0)
    model = getattr(ct, f"{family}{kind}")(getattr(ct, f"{family}Config")(**sizes)).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def source_of(head, batch=2, length=6):
    model = build(head)
    if model.main_input_name == "input_features":
        return {"input_features": torch.randn(batch, length, 10)}
    source = {"input_ids": torch.randint(3, 20, (batch, length))}
    return {**source, "relation_ids": torch.randint(1, 5, (batch, length))} if "syntax" in head else source


def labels_of(head, batch=2, length=3):
    """Labels of every kind, by name; several a row for heads that give one for each token."""
    if "ForSequence" in HEADS[head][1] or "ForAudio" in HEADS[head][1]:
        return {"labels": torch.randint(0, 3, (batch,))}
    if head in ("masked words", "tokens") or "language" in head:
        length = 6
    labels = torch.randint(1, 3, (batch, length))
    return {"labels": labels, "relation_labels": labels} if "syntax" in head else {"labels": labels}


def target_of(head, batch=2, length=3):
    if head not in WRITERS:
        return {}
    target = {"decoder_input_ids": torch.randint(3, 20, (batch, length))}
    return {**target, "decoder_relation_ids": torch.randint(1, 5, (batch, length))} if "syntax" in head else target


def inputs_of(head, **changes):
    return {**source_of(head), **target_of(head), **changes}


def numbers(out):
    """All floating-point tensors of an output that say something of a text."""
    names = ("logits", "relation_logits", "last_hidden_state", "pooler_output", "encoder_last_hidden_state")
    return {name: out[name] for name in names if out.get(name) is not None}


@every_head
def test_unknown_keywords_are_handled_as_transformers_does(head):
    model, inputs = build(head), inputs_of(head)
    expected = numbers(model(**inputs))
    for name, found in numbers(model(**inputs, frobnicate=1, output_attentions=False)).items():
        torch.testing.assert_close(found, expected[name])


@every_head
def test_positions(head):
    model, places = build(head), torch.arange(1, 7).expand(2, 6)
    if HEADS[head][0] in ("SynCoNMT", "SpectralTransformer"):
        return  # they number words and frames by themselves, and have no such argument
    for wrong, error, words in (
        (places[:, :5], ValueError, r"\[batch, length\] = \(2, 6\) or \[1, 6\], got \(2, 5\)"),
        (places[0], ValueError, r"got \(6,\)"),
        (places.float(), TypeError, "position_ids must be integers"),
    ):
        with pytest.raises(error, match=words):
            model(**inputs_of(head, position_ids=wrong))
    if HEADS[head][0] == "ComplexTransfoXL":
        with pytest.raises(ValueError, match="position_ids must count the tokens of a stream from 0, got"):
            model(**inputs_of(head, position_ids=places))
        model(**inputs_of(head, position_ids=places - 1))
        return
    embeds = model.get_input_embeddings()(source_of(head)["input_ids"])
    with pytest.raises(ValueError, match="position_ids must be None with inputs_embeds"):
        model(**{**target_of(head), "inputs_embeds": embeds, "position_ids": places})


@every_head
def test_masks_of_other_axes(head):
    ones = torch.ones(2, 6, dtype=torch.long)
    additive = torch.tensor([[0.0] * 5 + [float("-inf")]] * 2)
    names = ("attention_mask", "decoder_attention_mask") if head in WRITERS else ("attention_mask",)
    for name in names:
        length = 3 if "decoder" in name else 6
        for mask, words in (
            (ones[0, :length], rf"got \({length},\)"),
            (ones[:, None, :length], rf"got \(2, 1, {length}\)"),
            (additive[:, -length:], "must be 1 for tokens and 0 for padding, got -inf"),
            (ones[:, :1], rf"\(2, {length}\).* got \(2, 1\)"),
        ):
            with pytest.raises(ValueError, match=rf"^{name} .*{words}"):
                build(head)(**inputs_of(head, **{name: mask}))
        with pytest.raises((TypeError, ValueError), match=rf"^{name} .*(must be boolean .*int64|got \(2, 1, )"):
            build(head)(**inputs_of(head, **{name: ones[:, None, None, :length].expand(2, 1, length, length)}))


@every_head
def test_ids_that_are_none(head):
    model, inputs = build(head), inputs_of(head)
    for name in (name for name in inputs if name.endswith("_ids")):
        ids, limit = inputs[name], 5 if "relation" in name else 20
        for wrong in (limit, -1):
            bad = ids.index_fill(1, torch.tensor([1]), wrong)
            with pytest.raises(
                ValueError, match=rf"{name.removeprefix('decoder_')} must lie in \[0, {limit}\), got {wrong}"
            ):
                model(**{**inputs, name: bad})
        for dtype in (torch.bool, torch.uint8, torch.float32) if name.endswith("input_ids") else ():
            with pytest.raises(TypeError, match=r"_ids must be integers .*got dtype torch"):
                model(**{**inputs, name: ids.to(dtype)})


@every_head
def test_texts_without_a_word(head):
    model, inputs = build(head), inputs_of(head)
    for side in ("decoder_", ""):
        empty = {name: value[:, :0] for name, value in inputs.items() if name.startswith("decoder_") == bool(side)}
        if empty:
            with pytest.raises(ValueError, match="empty"):
                model(**{**inputs, **empty})


@pytest.mark.parametrize("head", WRITERS)
def test_targets_that_no_source_goes_with(head):
    model, source = build(head), source_of(head)
    with pytest.raises(ValueError, match="decoder_input_ids"):
        model(**source)
    with pytest.raises(ValueError, match=r"source texts,? but 3 target|batch size 3"):
        model(**source, **target_of(head, batch=3))
    if head != "transcription":
        with pytest.raises(ValueError, match="encoder_hidden_states"):
            model.get_decoder()(target_of(head)["decoder_input_ids"])
    model = copy.deepcopy(model)
    for config in (model.decoder_config, model.generation_config):
        config.decoder_start_token_id = config.bos_token_id = None
    with pytest.raises(ValueError, match="decoder_start_token_id must be set in the config"):
        model(**source, **labels_of(head))
    with pytest.raises(ValueError, match="decoder_start_token_id"):
        model.generate(**source, max_new_tokens=2)


@every_labelled
def test_labels_that_are_none(head):
    model = build(head)
    for name, labels in labels_of(head).items():
        every = {**inputs_of(head), **labels_of(head)}
        for wrong, error, words in (
            (labels.where(labels != labels.flatten()[0], 20), ValueError, f"^{name} must .* got 20"),
            (labels - 7, ValueError, rf"^{name} must .* got -[5-7]"),
            (labels.new_zeros(2, 5, 2), ValueError, "^(relation_)?labels must .*, got"),
        ):
            with pytest.raises(error, match=words):
                model(**{**every, name: wrong})
        if name == "labels" and labels.dim() == 2:
            refused("labels must be integer class ids", model, **{**every, name: labels.float()}, error=TypeError)
        if head in WRITERS:  # the decoder reads them
            refused(f"^{name} must lie in", model, **source_of(head), **{**labels_of(head), name: labels - 7})


@pytest.mark.parametrize("head", ["language", "language, adaptive"])
def test_labels_that_are_shifted_already(head):
    following = labels_of(head)["labels"]
    for wrong in (following - 7, following.new_zeros(2, 5)):
        with pytest.raises(ValueError, match=r"^shift_labels must"):
            build(head)(**inputs_of(head), shift_labels=wrong)


@every_labelled
def test_labels_of_any_integers(head):
    inputs, labels = inputs_of(head), labels_of(head)
    short = {name: value.to(torch.int32) for name, value in labels.items()}
    assert torch.equal(build(head)(**inputs, **short).loss, build(head)(**inputs, **labels).loss)


@every_labelled
@pytest.mark.parametrize("num_items", [None, 0])
def test_no_label_is_a_loss_of_0_with_a_graph(head, num_items):
    """CTC has a loss there: that of saying nothing."""
    model = build(head)
    nothing = {name: torch.full_like(value, -100) for name, value in labels_of(head).items()}
    loss = model(**inputs_of(head), **nothing, num_items_in_batch=num_items).loss
    assert loss == 0 or (head == "ctc" and loss > 0)
    loss.backward()
    grads = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    assert grads
    assert all(grad.isfinite().all() for grad in grads)


@every_head
@pytest.mark.parametrize("training", [False, True])
def test_an_empty_text_harms_no_other(head, training):
    model = build(head).train(training)
    inputs = inputs_of(head, attention_mask=torch.tensor([[0] * 6, [1] * 4 + [0] * 2]))
    out = model(**inputs)
    sum(value.square().mean() for value in numbers(out).values()).backward()
    finite = all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    model.zero_grad()
    model.eval()
    assert finite
    assert all(value.isfinite().all() for value in numbers(out).values())
    if training:
        return
    alone = model(**{name: value[1:] for name, value in inputs.items()})
    for name, value in numbers(alone).items():
        torch.testing.assert_close(numbers(out)[name][1:], value)


@pytest.mark.parametrize(
    "head", ["texts", "texts, real", "fasttext", "cnn", "rnn", "rnn, real", "gcn", "clips", "clips, scaled"]
)
def test_an_empty_text_is_classified_by_what_no_word_says(head):
    """Not by its padding."""
    model, mask = build(head), torch.tensor([[0] * 6, [1] * 6])
    torch.testing.assert_close(*(model(**source_of(head), attention_mask=mask).logits[0] for _ in range(2)))


@pytest.mark.parametrize("head", WRITERS)
def test_a_target_of_padding_alone(head):
    mask = torch.tensor([[0] * 3, [1] * 3])
    out = build(head)(**inputs_of(head, decoder_attention_mask=mask))
    assert all(value.isfinite().all() for value in numbers(out).values())


@pytest.mark.parametrize("head", WRITERS)
def test_caches_of_other_texts(head):
    model, inputs = build(head), inputs_of(head)
    cache = model(**inputs, use_cache=True).cache
    fewer = {name: value[:1, -1:] if name.startswith("decoder") else value[:1] for name, value in inputs.items()}
    with pytest.raises(ValueError, match=r"2 texts|2 sequences|got 2"):
        model(**fewer, cache=cache)
    cache = model(**inputs, use_cache=True).cache
    assert model(**inputs, cache=cache).logits.isfinite().all()


def test_a_plain_cache_of_other_streams():
    model, cache = build("language"), DynamicCache()
    model(**source_of("language"), cache=cache)
    with pytest.raises(ValueError, match="cache must have the batch size 1, got 2"):
        model(**source_of("language", batch=1), cache=cache)


def test_targets_of_several_labels():
    model = build("texts")
    for problem, labels, words in (
        (
            "multi_label_classification",
            torch.full((2, 3), 2.0),
            r"must lie in \[0, 1\] for multi_label_classification, got 2",
        ),
        ("multi_label_classification", torch.zeros(2), r"shape \(2, 3\) of the logits, got \(2,\)"),
        ("regression", torch.zeros(2, 1), r"shape \(2, 3\) of the logits, got \(2, 1\)"),
    ):
        model.config.problem_type = problem
        with pytest.raises(ValueError, match=words):
            model(**source_of("texts"), labels=labels)
    integers = torch.tensor([[0, 1, 1], [1, 0, 0]])
    for problem in ("multi_label_classification", "regression"):
        model.config.problem_type = problem
        inputs = source_of("texts")
        assert model(**inputs, labels=integers).loss == model(**inputs, labels=integers.float()).loss
    model.config.problem_type = None


CONFIGS = {family: sizes for family, _, sizes in reversed(HEADS.values())}
every_config = pytest.mark.parametrize("family", CONFIGS)


@every_config
def test_special_tokens_are_words(family):
    config = getattr(ct, f"{family}Config")
    for name in ("pad_token_id", "bos_token_id", "eos_token_id"):
        for wrong in (20, -1):
            with pytest.raises(StrictDataclassError, match=rf"{name} must lie in \[0, vocab_size=20\).*got {wrong}"):
                config(**{**CONFIGS[family], name: wrong})
    assert config(**{**CONFIGS[family], "eos_token_id": [2, 3]}).eos_token_id == [2, 3]
    with pytest.raises(StrictDataclassError, match=r"eos_token_id must lie in \[0, vocab_size=20\).*got 20"):
        config(**{**CONFIGS[family], "eos_token_id": [2, 20]})


def test_special_tokens_of_two_vocabularies():
    with pytest.raises(StrictDataclassError, match=r"eos_token_id must lie in \[0, target_vocab_size=5\).*got 7"):
        ct.SynCoNMTConfig(vocab_size=10, target_vocab_size=5, eos_token_id=7)
    with pytest.raises(StrictDataclassError, match=r"pad_token_id must lie in \[0, vocab_size=4\).*got 4"):
        ct.SynCoNMTConfig(vocab_size=4, target_vocab_size=5, pad_token_id=4)
    assert ct.SynCoNMTConfig(vocab_size=4, target_vocab_size=5, eos_token_id=4).eos_token_id == 4


LEARNED = {"embedding_type": "learned_position"}
# family -> changes of its sizes, and what is said of them
WRONG = {
    "ComplexSeq2Seq": [
        ({"norm_type": "batch"}, "norm_type must be 'layer' or 'rms' in a decoder, got 'batch'"),
        ({"num_attention_heads": 3}, "num_attention_heads must divide the 8 complex features"),
        ({"tie_word_embeddings": True}, "lm_readout must be .* with tie_word_embeddings=True"),
    ],
    "ComplexTransfoXL": [
        (
            {**LEARNED, "max_position_embeddings": 511},
            "position_period must be at most max_position_embeddings=511 .*, got 512",
        ),
        ({"norm_type": "batch"}, "norm_type must be 'layer' or 'rms' in a decoder, got 'batch'"),
        (
            {"attention_normalization": "split_softmax"},
            "attention_normalization must be .* for relative scores, got 'split_softmax'",
        ),
        (
            {"attention_score": "sum_of_moduli", "number_field": "real"},
            "with number_field='real', got 'sum_of_moduli'",
        ),
        ({"num_attention_heads": 3}, "num_attention_heads must divide the 8 complex features"),
        ({"tie_word_embeddings": True}, "lm_readout must be .* with tie_word_embeddings=True"),
        ({"cutoffs": (18, 8)}, r"must be increasing token ids between 1 and 19, .* got \[18, 8\]"),
        ({"cutoffs": (20,)}, r"between 1 and 19, the last of 20 tokens, got \[20\]"),
        ({"cutoffs": (8,), "div_value": 0}, "div_value must be positive, got 0"),
        ({"cutoffs": (8,), "div_value": 17}, "must leave one of 16 features for tail 1"),
        ({"cutoffs": (8,), "lm_readout": "modulus"}, "got 'modulus' with the adaptive softmax"),
        (
            {"cutoffs": (8,), "div_value": 2, "tie_word_embeddings": True, "lm_readout": "feature_modulus"},
            "div_value must be 1 with tie_word_embeddings=True, got 2",
        ),
    ],
    "SynCoNMT": [
        ({"alpha": 1.1}, r"alpha must be in \[0, 1\], got 1.1"),
        ({"hidden_size": 18}, "hidden_size must be a multiple of 4 .*, got 18"),
        ({"gate": "modulus", "rnn_type": "rnn"}, "gate must be 'split' with rnn_type='rnn'"),
        ({"number_field": "real", "gate": "modulus"}, "gate must be 'split' with number_field='real'"),
        (
            {"number_field": "real", "lm_readout": "modulus"},
            "lm_readout must be 'concat' with number_field='real', got 'modulus'",
        ),
        ({"use_relations": False}, "use_relations must be True with number_field='complex', got False"),
        ({"tie_word_embeddings": True}, "tie_word_embeddings must be False for SynCoNMT, got True"),
        ({"pad_relation_id": 5}, r"must lie in \[0, relation_vocab_size=5\), got 5"),
        ({"decoder_start_relation_id": 9}, r"must lie in \[0, target_relation_vocab_size=5\)"),
        ({"target_relation_vocab_size": 3, "pad_relation_id": 4}, "must lie in .*target_relation_vocab_size"),
        (
            {"share_embeddings": True, "target_vocab_size": 9},
            "target_vocab_size must be 20 with share_embeddings=True, got 9",
        ),
        ({"share_embeddings": True, "target_relation_vocab_size": 9}, "relation_vocab_size must be 5"),
    ],
}


@pytest.mark.parametrize(("family", "changes", "message"), [(name, *row) for name in WRONG for row in WRONG[name]])
def test_wrong_settings_are_named(family, changes, message):
    with pytest.raises(StrictDataclassError, match=message):
        getattr(ct, f"{family}Config")(**{**CONFIGS[family], **changes})
