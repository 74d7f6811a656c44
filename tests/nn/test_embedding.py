# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import copy
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from complex_transformers.nn import (
    ComplexEmbedding,
    ComplexOrderEmbedding,
    RealWordEmbedding,
    WordPositionEmbedding,
    positions_from_mask,
)
from oracles import DTYPES, TOLERANCE, assert_close, assert_refused, assert_slopes, r, randomize, z

V, D = 7, 3
SHARINGS = ("none", "word", "dimension")
PHASES = ("none", "learned", "per_dimension")
SCHEMES = [
    {"amplitude_sharing": a, "frequency_sharing": f, "phase": p, "damping": g}
    for a, f, p, g in itertools.product(SHARINGS, SHARINGS, PHASES, ("none", "learned"))
    if not (a == f == "word" and p != "learned")
]
OTHERS = [{"embedding_type": name} for name in ("complex_vanilla", "word", "learned_position", "sinusoidal_position")]
POSITIONS = 9


def parametrize(schemes):
    return pytest.mark.parametrize("scheme", schemes, ids=lambda s: "-".join(s.values()))


schemes = parametrize(SCHEMES)
every_embedding = parametrize(SCHEMES + OTHERS)
kinds = parametrize([SCHEMES[0], SCHEMES[-1], *OTHERS])


def make(dtype=torch.float64, **scheme):
    if scheme.get("embedding_type", "complex_order").startswith("complex"):
        return randomize(ComplexOrderEmbedding(V, 2 * D, **scheme)).to(dtype)
    return randomize(WordPositionEmbedding(V, 2 * D, max_position_embeddings=POSITIONS, **scheme)).to(dtype)


def table(parameter, ids):
    """A table of any sharing scheme as ``[..., D]`` for ids, 0 without one."""
    return np.broadcast_to(0.0 if parameter is None else r(parameter), (V, D))[ids]


def oracle(embedding, ids, positions):
    """r |z_1|^pos exp(i (omega pos + theta)) (ComplexOrder Eq. 4 and 5), or a word and its position."""
    pos = np.asarray(positions)[..., None].astype(np.float64)
    if isinstance(embedding, WordPositionEmbedding):
        words = z(embedding.weight)[ids]
        if embedding.embedding_type == "learned_position":
            return words + z(embedding.position)[positions - 1]
        wave = np.exp(1j * pos * 10000.0 ** (-np.arange(D) / D))
        return words + (wave if embedding.embedding_type == "sinusoidal_position" else 0.0)
    phase = table(embedding.frequency, ids) * pos + table(embedding.phase, ids)
    decay = 1.0
    if embedding.damping is not None:
        decay = np.exp(-np.log1p(np.exp(table(embedding.damping, ids)))) ** pos
    return table(embedding.amplitude, ids) * decay * np.exp(1j * phase)


@every_embedding
@pytest.mark.parametrize("dtype", DTYPES)
def test_formula_of_every_scheme(scheme, dtype):
    embedding, ids = make(dtype, **scheme), torch.randint(V, (3, 6))
    mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 1]])
    given = torch.randint(1, POSITIONS + 1, (3, 6))
    keep, counted = mask.bool().numpy(), np.maximum(mask.cumsum(1).numpy(), 1)
    tolerance = max(TOLERANCE[dtype], 1e-6 if "position" in scheme.get("embedding_type", "") else 0.0)
    out = embedding(ids)
    assert out.dtype == dtype
    assert_close(z(out), oracle(embedding, ids.numpy(), np.arange(1, 7)[None]), tolerance)
    out = z(embedding(ids, attention_mask=mask))
    assert_close(out[keep], oracle(embedding, ids.numpy(), counted)[keep], tolerance)
    out = z(embedding(ids, position_ids=given, attention_mask=mask))
    assert_close(out, oracle(embedding, ids.numpy(), given.numpy()), tolerance)


@schemes
def test_shapes_of_the_tables(scheme):
    shapes = {"none": (V, D), "word": (1, D), "dimension": (V, 1)}
    expected = {"amplitude": shapes[scheme["amplitude_sharing"]], "frequency": shapes[scheme["frequency_sharing"]]}
    if scheme["phase"] != "none":
        expected["phase"] = {"learned": (V, D), "per_dimension": (1, D)}[scheme["phase"]]
    if scheme["damping"] == "learned":
        expected["damping"] = shapes[scheme["frequency_sharing"]]
    embedding = ComplexOrderEmbedding(V, 2 * D, **scheme)
    assert {name: tuple(value.shape) for name, value in embedding.named_parameters()} == expected
    assert embedding.weight is embedding.amplitude


@every_embedding
def test_gradients_of_every_table(scheme):
    ids = torch.tensor([[0, 3, 3], [6, 1, 0]])
    mask = torch.tensor([[0, 1, 1], [1, 1, 0]])
    assert_slopes(make(**scheme), ids, None, mask)


@pytest.mark.parametrize("d", [1, 2, 5, 64])
def test_appendix_a_the_sinusoidal_encoding_is_a_special_case(d):
    embedding = ComplexOrderEmbedding(4, 2 * d, frequency_sharing="word")  # p = 2 pi 10000^(2k/d_model), theta = 0
    with torch.no_grad():
        embedding.amplitude.fill_(1.0)
    angles = np.arange(1, 51)[:, None] / 10000 ** (2 * np.arange(d) / (2 * d))
    # ComplexOrder Eq. 7 and 8: PE_2k, the sine, is the imaginary part, and PE_2k+1, the cosine, the real part.
    out = z(embedding(torch.zeros(1, 50, dtype=torch.long)))[0]
    assert_close(out, np.cos(angles) + 1j * np.sin(angles), 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_phase_is_exact_at_position_one_million(dtype):
    embedding = ComplexOrderEmbedding(1, 64, frequency_init="uniform").to(dtype)
    with torch.no_grad():
        embedding.amplitude.fill_(1.0)
    positions = np.array([1, 12_345, 1_000_000, 1_048_575])
    out = embedding.double() if dtype == torch.float64 else embedding
    value = z(out(torch.zeros(1, 4, dtype=torch.long), position_ids=torch.from_numpy(positions)[None]))[0]
    turn = value * np.exp(-1j * r(embedding.frequency) * positions[:, None])
    rounding = {torch.float16: 1e-3, torch.bfloat16: 8e-3}.get(dtype, 0.0)  # of the result, not of the phase
    assert np.abs(np.angle(turn)).max() < 1e-3 + rounding
    np.testing.assert_allclose(np.abs(turn), 1.0, atol=1e-3 + rounding)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_no_cast_rounds_a_frequency(dtype):
    embedding = ComplexOrderEmbedding(30, 16, phase="learned", damping="learned", frequency_init="uniform")
    ids, positions = torch.arange(30)[None], torch.arange(771, 801)[None]
    low, expected = copy.deepcopy(embedding), embedding(ids, positions)
    low(ids, positions).sum().backward()
    gradients = {name: value.grad for name, value in low.named_parameters()}
    low.to(dtype)
    for name in ("frequency", "phase", "damping"):
        assert torch.equal(low.get_parameter(name), embedding.get_parameter(name))
        assert torch.equal(low.get_parameter(name).grad, gradients[name])
    assert low.amplitude.dtype == low.amplitude.grad.dtype == low(ids).dtype == dtype
    assert (low(ids, positions) - expected).norm() < 0.005 * expected.norm()  # bfloat16 frequencies: 0.5 and more
    assert {p.dtype for p in embedding.double().parameters()} == {torch.float64}
    assert low.to("meta").frequency.device.type == "meta"
    assert low.frequency.dtype == torch.float32


@given(st.integers(0, 4), st.integers(1, 5), st.integers(0, 4))
def test_positions_count_real_tokens_from_one(left, length, right):
    mask = torch.tensor([[0] * left + [1] * length + [0] * right])
    ids = torch.zeros_like(mask)
    positions = positions_from_mask(ids, mask)
    assert positions[0, left : left + length].tolist() == list(range(1, length + 1))
    assert (positions >= 1).all()
    assert torch.equal(positions_from_mask(ids, mask.bool()), positions)
    assert positions_from_mask(ids).tolist() == [list(range(1, left + length + right + 1))]


@pytest.mark.parametrize("sharing", ["none", "word", "dimension"])
def test_frequency_initialisation(sharing):
    def frequency(init, scale=1.0):
        kind = {"frequency_sharing": sharing, "frequency_init": init, "frequency_scale": scale}
        return r(ComplexOrderEmbedding(400, 64, **kind).frequency)

    sinusoidal = frequency("sinusoidal")
    expected = [[0.01]] if sharing == "dimension" else [10000.0 ** (-np.arange(32) / 32)]
    np.testing.assert_allclose(sinusoidal, np.broadcast_to(expected, sinusoidal.shape), rtol=1e-6)
    normal, uniform = frequency("normal"), frequency("uniform")
    assert normal.std() == pytest.approx(1.0, abs=0.35 if sharing == "word" else 0.15)
    assert np.abs(uniform).max() <= math.pi
    assert uniform.std() == pytest.approx(math.pi / math.sqrt(3), abs=0.7 if sharing == "word" else 0.2)
    for init, start in (("sinusoidal", sinusoidal), ("normal", normal), ("uniform", uniform)):
        scaled = frequency(init, 0.01)
        assert scaled.std() == pytest.approx(0.01 * start.std(), rel=1.0, abs=1e-9)
        assert np.abs(scaled).max() < 0.06
        assert not frequency(init, 0.0).any()


def test_padding_word_is_zero_and_stays_so():
    ids = torch.tensor([[2, 0, 2]])
    for embedding in (
        ComplexOrderEmbedding(V, 2 * D, padding_idx=2),
        WordPositionEmbedding(V, 2 * D, padding_idx=2),
        ComplexEmbedding(V, 2 * D, padding_idx=2),
    ):
        out = embedding(ids)
        assert not out[0, [0, 2]].any()
        assert out[0, 1].all()
        out.sum().backward()
        assert not embedding.weight.grad[2].any()
        assert embedding.weight.grad[0].any()


def test_free_complex_table():
    embedding = ComplexEmbedding(V, 2 * D)
    ids = torch.randint(V, (2, 4))
    values = r(embedding.weight)
    assert_close(z(embedding(ids)), (values[:, :D] + 1j * values[:, D:])[ids.numpy()])


@schemes
@pytest.mark.parametrize(("size", "mean"), [(10, True), (10, False), (4, True)])
def test_resizing_keeps_rows_and_shared_tables(scheme, size, mean):
    embedding = make(**scheme)
    old = {name: value.detach().clone() for name, value in embedding.named_parameters()}
    embedding.frequency.requires_grad_(False)
    embedding.resize(size, mean_resizing=mean)
    assert embedding.num_embeddings == size
    assert not embedding.frequency.requires_grad
    assert embedding.amplitude.requires_grad
    for name, value in embedding.named_parameters():
        assert value.dtype == torch.float64
        if old[name].shape[0] == 1:
            assert torch.equal(value, old[name])
            continue
        assert value.shape == (size, old[name].shape[1])
        assert torch.equal(value[:V], old[name][:size])
        if size > V and mean:
            torch.testing.assert_close(value[V:], old[name].mean(0).expand(size - V, -1))
        elif size > V:
            assert torch.isfinite(value[V:]).all()
            assert (value[V:] - old[name].mean(0)).abs().max() > 1e-6
    ids = torch.tensor([[size - 1, 0]])
    assert embedding(ids).shape == (1, 2, 2 * D)
    assert_refused(rf"\[0, {size}\), got {size}", embedding, torch.tensor([[size]]))


@pytest.mark.parametrize("positions", [V, 5])
def test_resizing_words_leaves_positions_alone(positions):
    embedding = WordPositionEmbedding(V, 2 * D, embedding_type="learned_position", max_position_embeddings=positions)
    word, position = embedding.weight.detach().clone(), embedding.position.detach().clone()
    embedding.resize(V + 2)
    assert torch.equal(embedding.weight[:V], word)
    assert torch.equal(embedding.position, position)


def test_resizing_and_padding():
    embedding = ComplexOrderEmbedding(V, 2 * D, padding_idx=6)
    embedding.resize(V + 1)
    assert not embedding(torch.tensor([[6]])).any()
    embedding.resize(3)
    assert embedding.padding_idx is None


@kinds
@pytest.mark.parametrize("bad", [-1, V, 10**6])
def test_ids_outside_the_vocabulary(scheme, bad):
    assert_refused(rf"\[0, {V}\), got {bad}. Use the tokenizer", make(**scheme), torch.tensor([[0, bad]]))


@kinds
def test_empty_text_has_an_empty_embedding(scheme):
    assert make(**scheme)(torch.zeros(2, 0, dtype=torch.long)).shape == (2, 0, 2 * D)


def test_text_longer_than_its_positions():
    embedding = WordPositionEmbedding(V, 2 * D, embedding_type="learned_position", max_position_embeddings=4)
    ids = torch.zeros(1, 6, dtype=torch.long)
    assert_refused("got 6. Truncate to max_position_embeddings=4 tokens.*complex_order", embedding, ids)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1]])
    assert embedding(ids, attention_mask=mask).shape == (1, 6, 2 * D)  # two of the six are padding
    assert_refused("max_position_embeddings=4", embedding, ids, attention_mask=torch.ones(1, 6))
    for bad in (0, -3, 5):
        message = rf"positions must lie in \[1, 5\), got {bad}"
        assert_refused(message, embedding, ids[:, :2], position_ids=torch.tensor([[1, bad]]))


@pytest.mark.parametrize(
    "embedding",
    [
        ComplexOrderEmbedding(V, 2 * D),
        WordPositionEmbedding(V, 2 * D, embedding_type="sinusoidal_position"),
        WordPositionEmbedding(V, 2 * D, embedding_type="learned_position"),
        RealWordEmbedding(V, 2 * D, place="slot"),
        RealWordEmbedding(V, 2 * D, place="phase", position_length="sentence"),
    ],
    ids=lambda embedding: embedding.extra_repr(),
)
def test_positions_of_other_words(embedding):
    ids = torch.ones(2, 3, dtype=torch.long)
    for numbers in (torch.ones(3), torch.ones(1, 3), torch.ones(2, 3)):
        assert embedding(ids, position_ids=numbers.long()).shape == (2, 3, 2 * D)
    for shape in ((2, 5), (3, 3), (2, 1)):
        message = rf"attention_mask must have the shape of input_ids \(2, 3\), got \({shape[0]}, {shape[1]}\)"
        assert_refused(message, embedding, ids, attention_mask=torch.ones(shape))
    assert_refused(r"position_ids .* \(2, 1\), got \(2, 5\)", embedding, ids[:, :1], torch.ones(2, 5).long())


def test_bad_names_and_widths():
    for scale in (-0.1, math.inf, math.nan):
        assert_refused(f"at least 0, got {scale}", ComplexOrderEmbedding, 3, 4, frequency_scale=scale)
    for name, valid, wrong in (
        ("embedding_type", r"\['complex_order', 'complex_vanilla'\]", "word"),
        ("amplitude_sharing", r"\['dimension', 'none', 'word'\]", "all"),
        ("frequency_sharing", r"\['dimension', 'none', 'word'\]", "all"),
        ("phase", r"\['learned', 'none', 'per_dimension'\]", "random"),
        ("damping", r"\['learned', 'none'\]", "fixed"),
        ("frequency_init", r"\['normal', 'sinusoidal', 'uniform'\]", "index"),
    ):
        message = rf"{name} must be one of {valid}, got '{wrong}'"
        assert_refused(message, ComplexOrderEmbedding, V, 2 * D, **{name: wrong})
    message = r"embedding_type must be one of \['learned_position', .*got 'rotary'"
    assert_refused(message, WordPositionEmbedding, V, 2 * D, embedding_type="rotary")
    shared = {"amplitude_sharing": "word", "frequency_sharing": "word"}
    assert_refused("must not both be .word.*all tokens would be equal", ComplexOrderEmbedding, V, 2 * D, **shared)
    for layer in (ComplexOrderEmbedding, ComplexEmbedding):
        assert_refused("even, got 5. Use 6", layer, V, 5)
    for kind in ("learned_position", "sinusoidal_position"):  # a table alone may hold real numbers
        assert_refused("even, got 5. Use 6", WordPositionEmbedding, V, 5, embedding_type=kind)


def test_tiny_numbers_of_words():
    # One word: a table of one row is not a shared table by mistake.
    embedding = randomize(ComplexOrderEmbedding(1, 2 * D)).double()
    out = z(embedding(torch.zeros(1, 4, dtype=torch.long)))[0]
    assert_close(out, r(embedding.amplitude) * np.exp(1j * np.arange(1, 5)[:, None] * r(embedding.frequency)))
