# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The network of states against explicit density matrices in complex128; pairs of texts; what is refused."""

import numpy as np
import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from transformers import AutoTokenizer, pipeline

from complex_transformers import (
    ComplexQuantumConfig,
    ComplexQuantumForSequenceClassification,
    ComplexQuantumModel,
    DependencyCollator,
    build_tokenizer,
    decay_parameter_names,
)
from complex_transformers.analysis import frequency_table
from complex_transformers.nn import QuantumEmbedding
from families import FAMILIES, Case
from oracles import numbers, r, softmax
from refusals import refused

CASES = [
    Case("complex_quantum", name)
    for name in (*FAMILIES["complex_quantum"].variants, *FAMILIES["complex_quantum"].more)
]
PAIRS = Case("complex_quantum", "complex")
TEXTS = [[5, 9, 7, 3, 11], [4, 12], [20]]


def oracle(model, words):
    """Outcomes of one text ``[N, width]`` of embeddings by the trace rule, window by window."""
    config, field = model.config, model.config.number_field
    vectors = numbers(field, words)
    norms = np.linalg.norm(vectors, axis=-1)
    states = vectors / norms[:, None]
    if config.evolution == "shared":
        w = r(model.layer.evolution.matrix())
        w = w if field == "real" else w[: len(w) // 2] + 1j * w[len(w) // 2 :]
        states = states @ w.T
    scores = {"weight": np.log(norms), "norm": norms, "mean": np.zeros(len(norms))}[config.mixture]
    basis = numbers(field, model.measurement.states())

    def outcomes(place):
        weights = softmax(scores[place])
        rho = sum(p * np.outer(w, w.conj()) for p, w in zip(weights, states[place], strict=True))
        return np.array([np.trace(np.outer(v, v.conj()) @ rho).real for v in basis])

    if config.pooling == "sentence":
        return outcomes(slice(None))
    greatest = []
    for size in config.window_sizes:
        starts = range(max(1, len(words) - size + 1))
        greatest.append(np.max([outcomes(slice(start, start + size)) for start in starts], axis=0))
    return np.concatenate(greatest)


def padded(texts, side):
    longest = max(map(len, texts))
    ids = [
        [4] * (longest - len(text)) + text if side == "left" else text + [4] * (longest - len(text)) for text in texts
    ]
    mask = [
        [int(place >= longest - len(text) if side == "left" else place < len(text)) for place in range(longest)]
        for text in texts
    ]
    return torch.tensor(ids), torch.tensor(mask)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_outcomes_are_those_of_density_matrices(case, side):
    model = case.own().double()
    base = getattr(model, "model", model)
    ids, mask = padded(TEXTS, side)
    with torch.no_grad():
        out = base(ids, attention_mask=mask)
        exact = 1e-6 if base.config.embedding_type == "sinusoidal_position" else 1e-10
        for text, words in enumerate(TEXTS):
            expected = oracle(base, base.get_input_embeddings()(torch.tensor([words]))[0])
            np.testing.assert_allclose(out.pooler_output[text].numpy(), expected, rtol=0, atol=exact)
            assert ((expected >= 0) & (expected <= 1)).all()
        assert np.ptp(out.pooler_output.numpy(), axis=0).min() > 1e-4
        if base.config.measurement == "povm":
            torch.testing.assert_close(out.pooler_output.sum(-1), torch.ones(3).double(), rtol=0, atol=1e-10)
        if model is not base:
            logits = model(ids, attention_mask=mask).logits
            layer = model.classifier.projection
            features = r(out.pooler_output) / base.measurement.mean_outcome
            np.testing.assert_allclose(r(logits), features @ r(layer.weight).T + r(layer.bias), rtol=0, atol=1e-6)


def test_the_phase_of_a_word_changes_nothing():
    """Of every occurrence a phase of its own: states are rays."""
    model = PAIRS.own().double()
    words = model.get_input_embeddings()(torch.tensor([[5, 9, 7]])).detach()
    angle = torch.tensor([[0.3, -1.2, 2.9]], dtype=torch.float64).unsqueeze(-1)
    real, imag = words.chunk(2, -1)
    turned = torch.cat([angle.cos() * real - angle.sin() * imag, angle.sin() * real + angle.cos() * imag], -1)
    with torch.no_grad():
        expected = model(inputs_embeds=words).logits
        torch.testing.assert_close(model(inputs_embeds=turned).logits, expected, rtol=0, atol=1e-10)
        assert (model(inputs_embeds=words.flip(-1)).logits - expected).abs().max() > 1e-3


def test_a_text_of_zeros_has_the_logits_of_the_bias():
    model = PAIRS.own()
    words = torch.zeros(1, 3, 16, requires_grad=True)
    out = model(inputs_embeds=words)
    torch.testing.assert_close(out.logits[0], model.classifier.projection.bias)
    out.logits.sum().backward()
    assert words.grad.isfinite().all()


# --- relations -------------------------------------------------------------------------------------------------------

RELATIONS = ["root", "nsubj", "obj"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("field", ["complex", "real"])
def test_words_evolve_by_their_relations(field, side):
    """q_k = tr(|v_k><v_k| rho), rho = sum_i p_i U_i |w_i><w_i| U_i^H with the matrix of the relation of word i."""
    changes = {"evolution": "by_relation", "relations": RELATIONS}
    model = Case("complex_quantum", field).trained(**changes, pooling="sentence", mixture="weight").double()
    words, own = [[5, 9, 7, 3], [4, 12]], [[1, 0, 2, 1], [0, 0]]
    (ids, mask), (relations, _) = padded(words, side), padded(own, side)
    relations = relations.masked_fill(mask == 0, -100)  # of padding none is read
    with torch.no_grad():
        found = model.model(ids, attention_mask=mask, relation_ids=relations).pooler_output
        maps = r(model.model.layer.evolution.matrix())
        maps = maps if field == "real" else maps[:, : maps.shape[2]] + 1j * maps[:, maps.shape[2] :]
        basis = numbers(field, model.model.measurement.states())
        for text, (row, relation) in enumerate(zip(words, own, strict=True)):
            vectors = numbers(field, model.get_input_embeddings()(torch.tensor([row]))[0])
            norms = np.linalg.norm(vectors, axis=-1)
            states = [maps[k] @ w for k, w in zip(relation, vectors / norms[:, None], strict=True)]
            rho = sum(p * np.outer(w, w.conj()) for p, w in zip(norms / norms.sum(), states, strict=True))
            expected = [np.trace(np.outer(v, v.conj()) @ rho).real for v in basis]
            np.testing.assert_allclose(found[text].numpy(), expected, rtol=0, atol=1e-10)
        same = model.model(ids, attention_mask=mask, relation_ids=torch.zeros_like(relations)).pooler_output
        assert (same[0] - found[0]).abs().max() > 1e-2
        torch.testing.assert_close(same[1], found[1])


def test_who_did_it_is_learned_from_relations_alone(tmp_path):
    """Of two words, which is the subject? No mixture without relations can know."""
    rows = [
        {
            "tokens": list(pair),
            "relations": ["nsubj", "obj:lvc"][::turn],
            "label": int((pair[0] == "dog") == (turn > 0)),
        }
        for pair in (("dog", "cat"), ("cat", "dog"))
        for turn in (1, -1)
    ]
    tokenizer = build_tokenizer(["dog cat"])
    batch = DependencyCollator(tokenizer, relations=RELATIONS)(rows)
    assert set(batch) == {"input_ids", "attention_mask", "relation_ids", "labels"}
    torch.manual_seed(0)
    config = ComplexQuantumConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_measurements=8, evolution="by_relation", relations=RELATIONS
    )
    model = ComplexQuantumForSequenceClassification(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(80):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    model.save_pretrained(tmp_path)
    again = ComplexQuantumForSequenceClassification.from_pretrained(tmp_path)
    assert again.config.relations == RELATIONS
    logits = again(**batch).logits
    assert logits.argmax(-1).tolist() == [row["label"] for row in rows]
    assert torch.equal(logits, model.eval()(**batch).logits)


def test_relations_that_do_not_fit():
    model, ids = PAIRS.build(evolution="by_relation", relations=RELATIONS), torch.tensor([[5, 6, 7]])
    refused(
        r"relation_ids must be .*, got None.*DependencyCollator\(tokenizer, relations=config.relations\)", model, ids
    )
    refused(r"\[batch, length\] = \(1, 3\), got \(1, 2\)", model, ids, relation_ids=torch.zeros(1, 2))
    refused(r"must lie in \[0, 3\), got 3", model, ids, relation_ids=torch.tensor([[0, 1, 3]]))


# --- pairs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"pooling": "max"}, {"embedding_type": "complex_order"}], ids=str)
def test_a_pair_is_two_texts_and_their_comparison(changes):
    model = PAIRS.trained(text_pairs=True, **changes).double()
    first, second = [5, 9, 7], [4, 12]
    ids = torch.tensor([[*first, *second]])
    types = torch.tensor([[0, 0, 0, 1, 1]])
    with torch.no_grad():
        found = model.model(ids, token_type_ids=types).pooler_output[0].numpy()
        a, b = (oracle(model.model, model.get_input_embeddings()(torch.tensor([t]))[0]) for t in (first, second))
        np.testing.assert_allclose(found, [*a, *b], rtol=0, atol=1e-10)
        units = [value / model.model.measurement.mean_outcome for value in (a, b)]
        cosines = a * b / np.linalg.norm(a) / np.linalg.norm(b) * len(a)
        features = np.concatenate([*units, np.abs(units[0] - units[1]), cosines])
        layer = model.classifier.projection
        logits = model(ids, token_type_ids=types).logits[0]
        np.testing.assert_allclose(r(logits), r(layer.weight) @ features + r(layer.bias), rtol=0, atol=1e-6)
        # Padding between and around the texts is none.
        ids = torch.tensor([[9, *first, 9, 9, *second]])
        mask, types = torch.tensor([[0, 1, 1, 1, 0, 0, 1, 1]]), torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1]])
        again = model(ids, attention_mask=mask, token_type_ids=types).logits[0]
        torch.testing.assert_close(again, logits, rtol=0, atol=1e-10)


def test_a_pair_without_a_second_text_is_defined():
    model = PAIRS.trained(text_pairs=True)
    assert model(torch.tensor([[5, 6]]), token_type_ids=torch.zeros(1, 2, dtype=torch.long)).logits.isfinite().all()


def test_pairs_go_through_the_pipeline_and_training(tmp_path):
    questions = ["where is the cat", "who is the king"]
    tokenizer = build_tokenizer([*questions, "in the house", "a man"])
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer.save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    torch.manual_seed(0)
    config = ComplexQuantumConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_measurements=16, num_labels=2, text_pairs=True
    )
    model = ComplexQuantumForSequenceClassification(config)
    pairs = [(q, a, int((q[:3] == "whe") == (a[:2] == "in"))) for q in questions for a in ("in the house", "a man")]
    batch = tokenizer(*map(list, zip(*((q, a) for q, a, _ in pairs), strict=True)), padding=True, return_tensors="pt")
    labels = torch.tensor([label for *_, label in pairs])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
    classify = pipeline("text-classification", model=model.eval(), tokenizer=tokenizer)
    found = [classify({"text": q, "text_pair": a})["label"] for q, a, _ in pairs]
    assert found == [f"LABEL_{label}" for *_, label in pairs]  # which no text alone can tell


# --- what is refused -------------------------------------------------------------------------------------------------


def test_pairs_that_cannot_be_told_apart():
    model, ids = PAIRS.trained(text_pairs=True), torch.tensor([[5, 6, 7]])
    refused(r"token_type_ids must be .*, got None.*tokenizer\(first, second, return_token_type_ids=True\)", model, ids)
    refused(r"must be \[batch, length\] = \(1, 3\), got \(3,\)", model, ids, token_type_ids=torch.zeros(3))
    wrong = torch.tensor([[0, 1, 2]])
    refused(r"must lie in \[0, 2\), got 2. Use 0 for the first text and 1", model, ids, token_type_ids=wrong)
    one = PAIRS.own()
    torch.testing.assert_close(one(ids, token_type_ids=torch.zeros_like(ids)).logits, one(ids).logits)


BAD = [
    ({"evolution": "by_relation"}, "relations must be distinct names .*, got None"),
    ({"evolution": "by_relation", "relations": ["obj", "obj"]}, "distinct names .*, got \\['obj', 'obj'\\]"),
    (
        {"measurement": "povm", "num_measurements": 4},
        "at least 256, the complex features, for measurement='povm', got 4",
    ),
    ({"pooling": "max", "window_sizes": []}, "window_sizes must be a non-empty list"),
    ({"pooling": "max", "window_sizes": [0]}, "window_sizes must be a non-empty list of positive"),
    ({"embedding_type": "slot_position"}, "embedding_type must be one of"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=lambda value: str(value) if isinstance(value, dict) else "")
def test_configurations_that_mean_nothing(changes, message):
    with pytest.raises(StrictDataclassClassValidationError, match=message):
        ComplexQuantumConfig(**changes)


def test_defaults_and_twin():
    config = ComplexQuantumConfig()
    assert (config.embedding_type, config.mixture, config.measurement) == ("complex_vanilla", "weight", "projectors")
    assert (config.readout, config.pooling, config.window_sizes) == ("concat", "sentence", [1, 2, 3])
    twin = config.real_twin()
    assert (twin.number_field, twin.readout, twin.num_measurements) == ("real", "concat", 256)
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_measurements": 8}
    model, twin = (
        ComplexQuantumModel(c) for c in (ComplexQuantumConfig(**sizes), ComplexQuantumConfig(**sizes).real_twin())
    )
    assert model.num_parameters() == twin.num_parameters()


def test_what_decays_and_what_words_say():
    model = PAIRS.build(embedding_type="complex_order")
    decayed = set(decay_parameter_names(model))
    assert not any(name.endswith(("frequency", "bias")) for name in decayed)
    assert isinstance(model.get_input_embeddings(), QuantumEmbedding)
    tokenizer = build_tokenizer(["a b c"])
    assert {row.word for row in frequency_table(model, tokenizer)} == {"a", "b", "c"}
    model.resize_token_embeddings(40)
    assert model(torch.tensor([[39]])).logits.isfinite().all()
