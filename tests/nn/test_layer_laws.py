# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What every block of both fields owes: finite numbers, true gradients, rows and padding apart, turns, refusals."""

import copy
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import complex_transformers.nn as cnn
import complex_transformers.nn.functional as CF
from complex_transformers.nn import ACT2CFN, number_field
from complex_transformers.nn.arithmetic import NUMBER_FIELDS
from complex_transformers.nn.attention.alignment import ALIGNMENTS
from complex_transformers.nn.attention.multi_head import ATTENTION_FUNCTIONS, REAL_SCORES
from complex_transformers.nn.quantum import MEASUREMENTS
from complex_transformers.nn.readout import READOUTS
from oracles import assert_close, assert_refused, assert_slopes, finite, halves, randn, randomize, z

# --- the table -------------------------------------------------------------------------------------------------------

MASK = [[1, 1, 0], [1, 1, 1]]


@dataclass(frozen=True)
class Block:
    """A layer or function on ``[B, 3, 8]``.

    Attributes:
        layer: What is called.
        fits_half: Whether its results stay in the range of fp16 for inputs of 6e4.
        padding: For a block that is given ``MASK``: the worst number that padding may hold without a trace.
    """

    layer: nn.Module
    fits_half: bool = False
    padding: float | None = None


class Adapted(nn.Module):
    """A layer, if any, and how it is called on ``[B, 3, 8]``."""

    def __init__(self, call: Callable[..., Tensor], layer: nn.Module | None = None) -> None:
        super().__init__()
        self.call = call
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.call(x) if self.layer is None else self.call(self.layer, x)


def mask_for(x, mask=MASK):
    """A mask of two rows for ``x`` of some pairs of rows."""
    return torch.tensor(mask).repeat(len(x) // 2, 1)


def first(layer, x):
    return layer(x)[0]


def many_rows(layer, x):
    """Enough rows for the three-multiplication path."""
    return layer(x.repeat(1 + 400 // len(x), 1, 1))


def one_by_one(layer, x):
    return torch.stack([layer(token) for token in x.flatten(0, 1)]).unflatten(0, x.shape[:2])


def channels(layer, x):
    return layer(x.transpose(1, 2)).transpose(1, 2)


def masked_channels(layer, x):
    return layer(x.transpose(1, 2), mask_for(x)).transpose(1, 2)


def images(layer, x):
    """Of two equal columns."""
    return layer(torch.stack([x.transpose(1, 2)] * 2, dim=-1)).transpose(1, 2)


def volumes(layer, x):
    """Of four equal columns."""
    volume = torch.stack([torch.stack([x.transpose(1, 2)] * 2, dim=-1)] * 2, dim=-1)
    return layer(volume).transpose(1, 2)


def masked_images(layer, x):
    image, mask = torch.stack([x.transpose(1, 2)] * 2, dim=-1), torch.stack([mask_for(x)] * 2, dim=-1)
    return layer(image, mask).transpose(1, 2)


def recurrent(layer, x):
    """The outputs, and behind them the last states, which are not zero where the mask is false."""
    out, last = layer(x, mask=mask_for(x))
    last = torch.cat(last) if isinstance(last, tuple) else last
    return torch.cat([out, last.transpose(0, 1).reshape(len(x), -1, out.shape[-1])], dim=1)


def masked_states(layer, x):
    """All states, and behind them the last ones."""
    out, last = layer(x, mask=mask_for(x))
    return torch.cat([out, last.to(out.dtype).unsqueeze(1)], dim=1)


def attention(layer, x):
    return layer(x, attention_mask=mask_for(x)[:, None, None].bool())[0]


def alignment(layer, x):
    return torch.cat(layer(x, layer.keys(x), x, mask_for(x)), dim=-1)


def mixed_outcomes(layer, x):
    mask = mask_for(x)
    x = x.masked_fill(mask.unsqueeze(-1) == 0, 0.0)
    return cnn.mix(layer(cnn.unit_norm(x)), cnn.mixture_scores(x, "norm"), mask).to(x.dtype)


def graph(layer, x):
    mask = mask_for(x)
    return layer(x, cnn.normalize_adjacency(cnn.window_adjacency(mask, 1), mask))


def likelihood(layer, x):
    return layer.nll(x, torch.tensor([[0, 3, 10], [5, -100, 4]]).repeat(len(x) // 2, 1))


def inverse_short_time_dft(x):
    return cnn.inverse_short_time_dft(x, cnn.make_window("hamming", 6, x.dtype), 2)


# Linear maps, sums of products and squares leave the range of fp16 for inputs that only just fit it.
FUNCTIONS = {
    "conj": Block(Adapted(CF.conj), True),
    "modulus": Block(Adapted(CF.modulus), True),
    "squared modulus": Block(Adapted(CF.squared_modulus), True),
    "squared modulus softmax": Block(Adapted(CF.squared_modulus_softmax), True),
    "squared modulus sigmoid": Block(Adapted(CF.squared_modulus_sigmoid), True),
    "probability amplitude": Block(Adapted(CF.probability_amplitude), True),
    "probability amplitude sigmoid": Block(Adapted(CF.probability_amplitude_sigmoid), True),
    "split softmax": Block(Adapted(CF.split_softmax), True),
    "rotate": Block(Adapted(lambda x: CF.rotate(x, x[..., :4])), True),
    "scale": Block(Adapted(lambda x: CF.scale(x, x[..., :4]))),
    "multiply": Block(Adapted(lambda x: CF.multiply(x, x.flip(-1)))),
    "inner product": Block(Adapted(lambda x: CF.hermitian_inner(x, x.flip(-1)))),
    "concatenate": Block(Adapted(lambda x: CF.concatenate([x, x[..., :4]])), True),
    "block matrix": Block(Adapted(lambda x: torch.stack([CF.block_matrix(*row.chunk(2, dim=-1)) for row in x])), True),
    "mse": Block(Adapted(lambda x: CF.complex_mse(x, -x)), True),
    "dft": Block(Adapted(cnn.dft)),
    "inverse dft": Block(Adapted(cnn.inverse_dft), True),
    "z transform": Block(cnn.ZTransform(8), True),
    "frequency kernel": Block(cnn.FrequencyKernel(8), True),
    "inverse short-time dft": Block(Adapted(inverse_short_time_dft), True),
}


@functools.cache
def blocks(field: str) -> dict[str, Block]:
    torch.manual_seed(0)  # the same weights whichever test asks first
    of = number_field(field)
    is_complex = field == "complex"
    nothing = float("nan")  # what padding may hold where it is not read at all

    table = {
        "linear": Block(of.Linear(8, 6)),
        "linear, many rows": Block(Adapted(many_rows, of.Linear(8, 6))),
        "layer norm": Block(of.LayerNorm(8), True),
        "layer norm, one token": Block(Adapted(one_by_one, of.LayerNorm(8)), True),
        "rms norm": Block(of.RMSNorm(8, eps=1e-5), True),
        "batch norm": Block(Adapted(masked_channels, of.BatchNorm1d(8)), True, nothing),
        "batch norm, no mask": Block(Adapted(channels, of.BatchNorm1d(8)), True),
        "batch norm, running": Block(Adapted(masked_channels, of.BatchNorm1d(8)).eval(), True, nothing),
        "batch norm, images": Block(Adapted(masked_images, of.BatchNorm2d(8)), True, nothing),
        "dropout": Block(of.Dropout(0.0), True),
        "max pool": Block(Adapted(masked_channels, of.MaxPool1d(2, 1)), True, nothing),
        "average pool": Block(Adapted(masked_channels, of.AvgPool1d(2, 1)), True, nothing),
        "max pool, images": Block(Adapted(masked_images, of.MaxPool2d((2, 1), 1)), True, nothing),
        "average pool, images": Block(Adapted(masked_images, of.AvgPool2d((1, 2), 1)), True, nothing),
        "convolution": Block(Adapted(channels, of.Conv1d(8, 6, 2))),
        "convolution, groups": Block(Adapted(channels, of.Conv1d(8, 4, 2, groups=2))),
        "convolution, images": Block(Adapted(images, of.Conv2d(8, 6, (2, 1), padding=1))),
        "convolution, groups of images": Block(Adapted(images, of.Conv2d(8, 4, (2, 1), groups=2))),
        "convolution, volumes": Block(Adapted(volumes, of.Conv3d(8, 6, (2, 1, 2), padding=1))),
        "convolution, transposed": Block(Adapted(channels, of.ConvTranspose1d(8, 6, 2, stride=2))),
        "convolution, transposed groups": Block(Adapted(channels, of.ConvTranspose1d(8, 4, 2, groups=2))),
        "convolution, transposed images": Block(Adapted(images, of.ConvTranspose2d(8, 6, (2, 1), padding=(1, 0)))),
        "upsampling": Block(Adapted(images, of.Upsample(scale_factor=2, mode="bilinear")), True),
        "graph convolution": Block(Adapted(graph, cnn.GraphConvolution(8, 6, number_field=field)), padding=1e6),
        "masked mean": Block(Adapted(lambda x: CF.masked_mean(x, mask_for(x, [[1, 1, 0], [0, 0, 0]]))), True, nothing),
    }
    table["grouped attention"] = Block(Adapted(first, cnn.GroupedQueryAttention(8, 2, 1, number_field=field)))
    table["gated feed-forward"] = Block(cnn.GatedFeedForward(8, 6, number_field=field))
    for kind in ("RNN", "LSTM", "GRU"):
        for activation in ("split_tanh", "hirose_tanh", "split_relu") if is_complex else ("split_tanh",):
            gate = "modulus" if activation == "hirose_tanh" else "split"
            options = {"gate": gate, "activation": activation, "bidirectional": True, "batch_first": True}
            layer = Adapted(recurrent, getattr(of, kind)(8, 6, **options))
            table[f"{kind} {gate} {activation}"] = Block(layer, padding=nothing)
    for name in ACT2CFN:
        table[f"activation {name}"] = Block(of.activation(name, 8), True)
    for score, normalization in ATTENTION_FUNCTIONS:
        if is_complex or (score in REAL_SCORES and normalization != "split_softmax"):
            options = {"score": score, "normalization": normalization}
            causal, full = (of.MultiheadAttention(8, 2, is_causal=value, **options) for value in (True, False))
            table[f"attention {score} {normalization}"] = Block(Adapted(first, causal))
            table[f"attention {score} {normalization}, masked"] = Block(Adapted(attention, full), padding=1e6)
    for name, layer in ALIGNMENTS.items():
        table[f"alignment {name}"] = Block(Adapted(alignment, layer(8, number_field=field)), padding=1e6)
    for name, valid in READOUTS.items():
        if field in valid:
            table[f"readout {name}"] = Block(of.Readout(8, 3, readout=name))
    recurrence = cnn.DiagonalRecurrence(8, field, batch_first=True)
    table["diagonal recurrence"] = Block(Adapted(masked_states, recurrence), padding=nothing)
    block = cnn.LinearRecurrentBlock(8, 6, number_field=field, batch_first=True)
    table["recurrent block"] = Block(Adapted(first, block))
    table["unitary"] = Block(cnn.UnitaryLinear(8, 0.3, field))
    table["unit norm"] = Block(cnn.UnitNorm(), True)
    for kind in MEASUREMENTS:
        layer = Adapted(mixed_outcomes, cnn.Measurement(8, 10, kind, field))
        table[f"measurement {kind}"] = Block(layer, True, nothing)
    for kind in ("RNN", "LSTM", "GRU"):
        squares = getattr(of, kind)(8, 6, activation="squared_modulus", bidirectional=True, batch_first=True)
        table[f"{kind} squared_modulus"] = Block(Adapted(recurrent, squares), padding=nothing)
    for readout, div_value in itertools.product(("concat", "feature_modulus") if is_complex else ("concat",), (1, 2)):
        head = cnn.AdaptiveReadout(8, 11, (3, 4), div_value=div_value, readout=readout, number_field=field)
        table[f"adaptive {readout} {div_value}"] = Block(Adapted(likelihood, head))
    relative = {"share_parts": (True,), "score": ("modulus", "real", "bilinear_modulus", "sum_of_moduli")}
    for name, values in relative.items() if is_complex else {"number_field": ("real",)}.items():
        for value in values:
            layer = cnn.RelativeMultiheadAttention(8, 2, **{name: value})
            table[f"relative attention {name} {value}"] = Block(Adapted(first, layer))
    if is_complex:
        table |= FUNCTIONS | {
            "grouped attention, widely": Block(
                Adapted(
                    first, cnn.GroupedQueryAttention(8, 2, 1, linear_type="widely_linear", qk_norm=True, sub_norm=True)
                )
            ),
            "gated feed-forward, conjugate": Block(cnn.GatedFeedForward(8, 6, gate_product="conj", sub_norm=True)),
            "linear, shared parts": Block(of.Linear(8, 6, share_parts=True)),
            "linear, conjugate": Block(cnn.ConjugateLinear(8, 6)),
            "linear, widely": Block(cnn.WidelyLinear(8, 6)),
            "rms norm, gains of parts": Block(cnn.rms_norm(8, 1e-5), True),
            "layer norm, whitening": Block(of.LayerNorm(8, norm="whitening"), True),
            "batch norm, whitening": Block(
                Adapted(masked_channels, of.BatchNorm1d(8, norm="whitening")), True, padding=nothing
            ),
        }
    else:
        table |= {
            "dct": Block(Adapted(cnn.dct)),
            "short-time dft": Block(Adapted(lambda x: cnn.short_time_dft(x, cnn.make_window("hamming", 4), 2))),
            "spectral attention": Block(Adapted(first, cnn.SpectralScaledAttention(8, 2))),
        }
    return table


every_block = pytest.mark.parametrize(("field", "name"), [(f, n) for f in NUMBER_FIELDS for n in blocks(f)])
masked_blocks = pytest.mark.parametrize(
    ("field", "name"), [(f, n) for f in NUMBER_FIELDS for n, block in blocks(f).items() if block.padding is not None]
)


def layer_of(field, name):
    return copy.deepcopy(blocks(field)[name].layer)


# --- finite numbers --------------------------------------------------------------------------------------------------

PATTERNS = {
    "random": lambda x: x,
    "equal": lambda x: torch.ones_like(x),
    "one axis": lambda x: torch.cat([x[..., :4], torch.zeros_like(x[..., 4:])], dim=-1),
    "one number": lambda x: x * (torch.arange(8) % 4 == 1),
    "mixed sizes": lambda x: x * torch.tensor([1.0, 1e-30, 0.0, 1.0]).repeat(2),
}
SIZES = {
    torch.float64: (0.0, 1e-300, 1e-30, 1.0, 1e15),
    torch.float32: (0.0, 1e-44, 1e-38, 1e-30, 1e-20, 1e-10, 1.0, 1e15),
    torch.bfloat16: (0.0, 1e-38, 1e-30, 1e-20, 1e-10, 1.0, 1e15),
    torch.float16: (0.0, 6e-8, 1e-6, 1e-4, 1.0, 20.0, 1.5e4),
}


@pytest.mark.parametrize("dtype", [pytest.param(torch.float64, marks=pytest.mark.full), *list(SIZES)[1:]], ids=str)
@every_block
def test_no_nan_or_infinity_from_finite_input(field, name, dtype):
    layer = layer_of(field, name).to(dtype)
    pattern = torch.randn(2, 3, 8, dtype=torch.float64).clamp(-2.0, 2.0)
    batches = [shape(pattern) for shape in PATTERNS.values()]
    if "batch norm" not in name:  # no row sees another: all patterns at once
        batches = [torch.cat(batches)]
    for size, batch in itertools.product(SIZES[dtype], batches):
        if dtype == torch.float16 and size > 100.0 and not blocks(field)[name].fits_half:
            continue  # a sum of products of such numbers is beyond the dtype
        if size > 1e10 and name == "alignment luong" and dtype != torch.float64:
            continue  # and a gradient of three factors beyond float32
        x = (size * batch).to(dtype).requires_grad_()
        out = layer(x)
        assert out.dtype == (torch.float32 if "adaptive" in name and dtype != torch.float64 else dtype)
        assert finite(out), (size, batch)
        (out.float() if dtype in (torch.float16, torch.bfloat16) else out).mean().backward()
        assert finite(x.grad, *(p.grad for p in layer.parameters())), (size, batch)
        layer.zero_grad()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@every_block
def test_autocast(field, name, dtype):
    layer, x = layer_of(field, name), torch.randn(2, 3, 8)
    expected = layer(x)
    if "squared_modulus" in name and expected.abs().max() > 10.0:
        pytest.skip("a state that is squared at every step carries its rounding to the square")
    with torch.autocast("cpu", dtype):
        out = layer(x)
    torch.testing.assert_close(out.float(), expected, rtol=0.1, atol=0.1 if dtype == torch.bfloat16 else 0.02)
    if out.requires_grad:
        out.float().square().sum().backward()
        assert finite(*(p.grad for p in layer.parameters()))


# --- gradients -------------------------------------------------------------------------------------------------------


@every_block
def test_gradients(field, name):
    layer = randomize(layer_of(field, name))
    if getattr(layer, "call", None) in (recurrent, many_rows):
        pytest.skip("too many parameters or rows: at small sizes in test_recurrent.py and test_functional.py")
    assert_slopes(layer, randn(2, 3, 8, grad=True), twice="norm" in name or name in ("linear", "modulus"))


# --- changed sub-layers ----------------------------------------------------------------------------------------------


class Wrapper(nn.Module):
    """A layer in place of another, as quantisation does it, without the attributes of the first."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


def hook(layer, name):
    getattr(layer, name).register_forward_hook(lambda module, args, output: output)


def pre_hook(layer, name):
    getattr(layer, name).register_forward_pre_hook(lambda module, args: None)


def replace(layer, name):
    setattr(layer, name, Wrapper(getattr(layer, name)))


def subclass(layer, name):
    part = getattr(layer, name)
    part.__class__ = type("Quantised", (type(part),), {})


def patched_forward(layer, name):
    part = getattr(layer, name)
    part.forward = lambda x: type(part).forward(part, x)


CALLED = ["linear", "convolution", "convolution, images", "convolution, volumes", "convolution, transposed"]


@pytest.mark.parametrize("change", [hook, pre_hook, replace, subclass, patched_forward])
@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("name", CALLED)
def test_changed_sublayers_are_called(name, part, change, monkeypatch):
    layer, x, results = randomize(layer_of("complex", name)).double(), randn(2, 3, 8, grad=True), []
    for changed in (False, True):
        if changed:  # what reads the weights without a call is out of reach
            change(getattr(layer, "layer", layer), part)
            monkeypatch.delattr(CF, "linear")
            monkeypatch.delattr(CF, "block_matrix")
        out = layer(x)
        results.append([out, *torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])])
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=1e-11)


# --- rows and padding ------------------------------------------------------------------------------------------------


@every_block
def test_nan_stays_in_its_row(field, name):
    if ("batch norm" in name and "running" not in name) or name in ("mse", "linear, many rows"):
        pytest.skip("a statistic of the whole batch, or rows repeated")
    layer, x = layer_of(field, name), torch.randn(2, 3, 8)
    expected = layer(x)
    x[0] = float("nan")
    out = layer(x)
    assert torch.equal(out[1], expected[1])
    assert out[0].isnan().any()


ONE_BY_ONE = ("linear", "layer norm", "rms norm", "dropout", "activation", "readout", *FUNCTIONS)
MIXING = ("linear, many rows", "mse", "inverse short-time dft")


@pytest.mark.parametrize(
    ("field", "name"),
    [(f, n) for f in NUMBER_FIELDS for n in blocks(f) if n.startswith(ONE_BY_ONE) and n not in MIXING],
)
def test_nan_stays_in_its_token(field, name):
    layer, x = layer_of(field, name), torch.randn(2, 3, 8)
    expected = layer(x)
    x[0, 1] = float("nan")
    assert torch.equal(layer(x)[0, [0, 2]], expected[0, [0, 2]])


@masked_blocks
def test_padding_has_no_influence(field, name):
    layer, x, results = randomize(layer_of(field, name)).double(), randn(2, 3, 8), []
    for value in (0.7, blocks(field)[name].padding):
        x[0, 2] = value
        leaf, changed = x.clone().requires_grad_(), copy.deepcopy(layer)
        out = changed(leaf)
        kept = [out[0, :2] if out.shape[1] == 3 else out[0], out[1]]  # what stands at padding itself is free
        torch.cat([part.flatten() for part in kept]).square().sum().backward()
        assert not leaf.grad[0, 2].any()
        results.append([*kept, leaf.grad, *(p.grad for p in changed.parameters()), *changed.buffers()])
    torch.testing.assert_close(results[1], results[0])


# --- turns of all phases ---------------------------------------------------------------------------------------------

TURNED = [
    "linear",
    "linear, many rows",
    "linear, shared parts",
    "convolution",
    "convolution, groups",
    "convolution, images",
    "convolution, volumes",
    "convolution, transposed",
    "convolution, transposed groups",
    "convolution, transposed images",
    "upsampling",
    "graph convolution",
    "rms norm",
    "unit norm",
    "unitary",
    "max pool",
    "max pool, images",
    "activation modrelu",
    "activation hirose_tanh",
    "attention modulus softmax",
]
UNTURNED = ["modulus", "activation modulus", "activation squared_modulus", "average pool", "average pool, images"]
UNTURNED += [f"measurement {kind}" for kind in MEASUREMENTS]


@pytest.mark.parametrize("name", TURNED + UNTURNED)
def test_a_turn_of_the_input_turns_the_output_or_nothing(name):
    layer, x, angle = randomize(layer_of("complex", name)).double(), randn(2, 3, 8), np.exp(1.3j)
    with torch.no_grad():
        for path, parameter in layer.named_parameters():
            if path.endswith("bias") and name != "activation modrelu":
                parameter.zero_()
    turned, plain = layer(halves(z(x) * angle)), layer(x)
    if turned.dim() > 3:
        turned, plain = turned.movedim(2, -1), plain.movedim(2, -1)
    assert_close(z(turned), z(plain) * (angle if name in TURNED else 1.0))


# --- what is refused -------------------------------------------------------------------------------------------------


# Real maps of whatever is given.
ANY_NUMBERS = ("readout concat", "adaptive concat 1", "adaptive concat 2", "masked mean", "block matrix", "unit norm")


@pytest.mark.parametrize("name", [name for name in blocks("complex") if name not in ANY_NUMBERS])
def test_what_is_not_halves_is_refused(name):
    layer = layer_of("complex", name)
    assert_refused("complex64", layer, torch.zeros(2, 3, 8, dtype=torch.complex64), error=TypeError)
    assert_refused("got shape", layer, torch.zeros(2, 3, 7))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ANY_NUMBERS])
def test_functions_refuse_numbers_that_are_not_floating(name):
    function = layer_of("complex", name)
    assert_refused("int64", function, torch.zeros(2, 3, 8, dtype=torch.int64), error=TypeError)
