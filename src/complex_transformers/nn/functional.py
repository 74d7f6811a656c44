# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex arithmetic on real tensors: the one place that knows the halves layout.

A complex tensor of d features is a real tensor of width 2d whose last axis holds ``[real | imag]``.
Every function below takes and returns that layout unless it says otherwise. Nothing here uses a complex
dtype except ``to_complex`` and ``from_complex``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Parameter

from ..kernels.accelerator.switch import use_kernels
from ..kernels.dispatch import is_plain_cpu, run
from ..kernels.exporting import halves
from ..kernels.linear import GaussLinear, MatrixLinear, block_matrix, widely_matrix, widely_parts
from ..kernels.modulus import modulus_of_halves
from ..kernels.product import product_of_halves
from .checks import check_choice

__all__ = [
    "block_linear",
    "block_matrix",
    "complex_mse",
    "concatenate",
    "conj",
    "equal_parameter_widths",
    "from_complex",
    "hermitian_inner",
    "is_plain_cpu",
    "join",
    "linear",
    "linear_path",
    "log_squared_modulus",
    "masked_mean",
    "modulus",
    "multiply",
    "normalize_probability_amplitude",
    "parameter_budget_width",
    "probability_amplitude",
    "probability_amplitude_sigmoid",
    "rotate",
    "scale",
    "split",
    "split_softmax",
    "squared_modulus",
    "squared_modulus_sigmoid",
    "squared_modulus_softmax",
    "sublayer_linear",
    "to_complex",
    "use_kernels",
    "widely_linear",
    "widely_matrix",
    "widely_parts",
]


def wide(x: Tensor) -> Tensor:
    """``x`` in float32 or better: as it is, or float32 in place of a half precision."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def narrow(x: Tensor, dtype: torch.dtype) -> Tensor:
    """``x`` in ``dtype``; what lies beyond its range saturates at its largest number."""
    largest = torch.finfo(dtype).max
    return x.to(dtype) if torch.finfo(x.dtype).max <= largest else x.clamp(-largest, largest).to(dtype)


# --- layout -------------------------------------------------------------------------------------------------------


def check_halves(x: Tensor) -> None:
    """Raise unless ``x`` can be read as ``[real | imag]`` halves: a real floating tensor of even width."""
    if x.is_complex():
        raise TypeError(
            f"expected real [real | imag] halves, got a tensor of dtype {x.dtype}; convert it with from_complex(z)"
        )
    if not x.is_floating_point():
        raise TypeError(f"expected a floating-point tensor of halves, got dtype {x.dtype}")
    if x.dim() == 0 or x.shape[-1] % 2:
        raise ValueError(
            f"the last axis holds [real | imag] halves and must be even, got shape {tuple(x.shape)}; "
            "pad the features or pass a tensor of width 2 x features"
        )


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    """Views of the real and the imaginary half: ``[..., 2d] -> [..., d], [..., d]``."""
    check_halves(x)
    return halves(x)


def join(real: Tensor, imag: Tensor) -> Tensor:
    """Halves from two parts of equal shape: ``[..., d], [..., d] -> [..., 2d]``."""
    return torch.cat([real, imag], dim=-1)


def concatenate(tensors: Sequence[Tensor]) -> Tensor:
    """Features of several complex tensors side by side: ``[..., 2 d_1], [..., 2 d_2], ... -> [..., 2 sum d_i]``."""
    if len(tensors) == 1:
        return tensors[0]
    reals, imags = zip(*map(split, tensors), strict=True)
    return torch.cat([*reals, *imags], dim=-1)


def to_complex(x: Tensor) -> Tensor:
    """Halves as a native complex tensor, ``[..., 2d] -> complex [..., d]``; exact.

    float64 becomes complex128; float32, bfloat16 and float16 become complex64 (the smallest complex dtype with
    arithmetic on every device).
    """
    real, imag = split(x)
    return torch.complex(wide(real).contiguous(), wide(imag).contiguous())


def from_complex(z: Tensor) -> Tensor:
    """A native complex tensor as halves, ``complex [..., d] -> [..., 2d]``; exact inverse of ``to_complex``."""
    if not z.is_complex():
        raise TypeError(f"expected a complex tensor, got dtype {z.dtype}; real halves need no conversion")
    z = z.resolve_conj()
    return join(z.real, z.imag)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def conj(x: Tensor) -> Tensor:
    """Complex conjugate, a + ib -> a - ib."""
    real, imag = split(x)
    return join(real, -imag)


def multiply(x: Tensor, y: Tensor) -> Tensor:
    """Element-wise complex product (a + ib)(c + id) = (ac - bd) + i(ad + bc) (Thesis 2.5), with broadcasting."""
    check_halves(x)
    check_halves(y)
    return product_of_halves(x, y)


def scale(x: Tensor, factor: Tensor) -> Tensor:
    """Multiply each complex number by a real factor: ``[..., 2d], [..., d] (or [..., 1]) -> [..., 2d]``."""
    check_halves(x)
    return (x.unflatten(-1, (2, -1)) * factor.unsqueeze(-2)).flatten(-2)


def rotate(x: Tensor, phase: Tensor) -> Tensor:
    """Multiply by exp(i phase): ``[..., 2d]``, phase in radians ``[..., d]`` -> ``[..., 2d]``.

    sin and cos are taken in float32 or better whatever the dtype of ``x``.
    """
    phase = wide(phase)
    return multiply(x, join(phase.cos(), phase.sin()).to(x.dtype))


def modulus(x: Tensor) -> Tensor:
    """|z| = sqrt(re^2 + im^2), ``[..., 2d] -> [..., d]``.

    Computed without squaring, so neither 1e-30 nor 1e30 is lost, with gradient 0 at z = 0 (a subgradient: the modulus
    has no derivative there). Values beyond the range of the dtype saturate at its largest number.
    """
    check_halves(x)
    return narrow(modulus_of_halves(wide(x)), x.dtype)


def squared_modulus(x: Tensor) -> Tensor:
    """|z|^2 = re^2 + im^2, ``[..., 2d] -> [..., d]``; saturates at the largest number of the dtype."""
    check_halves(x)
    real, imag = split(wide(x))
    # Saturating the parts keeps the gradient finite too: 2 re with |re| <= sqrt(max / 2).
    limit = (torch.finfo(real.dtype).max / 2.0) ** 0.5 * 0.999
    result = real.clamp(-limit, limit).square() + imag.clamp(-limit, limit).square()
    return result.clamp(max=torch.finfo(x.dtype).max).to(x.dtype)


def hermitian_inner(q: Tensor, k: Tensor) -> Tensor:
    """Inner product sum_j q_j conj(k_j) over the last axis, ``[..., 2d], [..., 2d] -> [..., 2]`` ([real | imag]).

    Linear in q, conjugate-linear in k (Thesis 2.39 with q and k in the order of 2.44).
    """
    a, b = split(q)
    c, d = split(k)
    return torch.stack([(a * c + b * d).sum(-1), (b * c - a * d).sum(-1)], dim=-1)


# --- linear maps --------------------------------------------------------------------------------------------------


# Which product is fastest follows from shapes alone (docs/decisions/0002-linear.md, measured): layers of this many
# features have few rows multiplied by the sub-layers, smaller ones by the block; three products need the given rows.
_LARGE_LAYER = 256
_MIN_ROWS_LARGE, _MIN_ROWS_SMALL = 128, 1024
# Few rows are multiplied faster than the block matrix of so many weights is put together.
_MANY_WEIGHTS, _ROWS_OF_MANY_WEIGHTS = 24_000, 16


def linear_path(x: Tensor, weight: Tensor) -> str:
    """``three_products``, ``block`` or ``sublayer``: how ``linear`` multiplies ``x`` by parts like ``weight``."""
    # Half precision stays with the block product: A + B and B - A would be rounded before they are used.
    # A compiler fuses the additions by itself and is given the plain block product.
    if x.dtype != weight.dtype or not is_plain_cpu(x):
        return "block"
    rows = x.shape[:-1].numel()
    large = min(weight.shape) >= _LARGE_LAYER
    if rows >= (_MIN_ROWS_LARGE if large else _MIN_ROWS_SMALL):
        return "three_products"
    many = weight.numel() >= _MANY_WEIGHTS and rows <= _ROWS_OF_MANY_WEIGHTS
    return "sublayer" if large or many else "block"


def linear(x: Tensor, real: Tensor, imag: Tensor, bias: Tensor | None = None) -> Tensor:
    """W z + b with W = A + iB (Thesis 2.16, SynCoNMT Eq. 7): ``[..., 2 in] -> [..., 2 out]``.

    A = ``real`` and B = ``imag`` are ``[out, in]``, ``bias`` is ``[b_re | b_im]`` of width ``2 out``. Computed by
    three real products, one block product or four products, whichever is fastest; all agree to the rounding of
    |W| |z|.
    """
    path = linear_path(x, real)
    if path == "block":
        return block_linear(x, real, imag, bias)
    if path == "sublayer":
        return _weights_first([real, imag], [x, _times_i(x)], bias)
    out_features, in_features = real.shape
    flat = run(GaussLinear, x.reshape(-1, 2 * in_features), real, imag, bias)
    return flat.view(*x.shape[:-1], 2 * out_features)


def block_linear(x: Tensor, real: Tensor, imag: Tensor, bias: Tensor | None = None) -> Tensor:
    """W z + b by one real product with the block matrix of W."""
    return F.linear(x, block_matrix(real, imag), bias)


# Products of so few rows with real weights are faster with the weights in front; that of one row, if it stands there
# twice and the weights are too many for a cache (measured, MKL).
_FEW_ROWS, _CACHED_WEIGHTS = 4, 2**18


def real_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``F.linear``, ``[..., in] -> [..., out]``, by the order of factors that is fastest where rows are few."""
    # Rows that are a symbol must not be asked for their number; where they are many nothing else is asked.
    if torch.compiler.is_compiling() or (rows := x.shape[:-1].numel()) > _FEW_ROWS:
        return F.linear(x, weight, bias)
    if not is_plain_cpu(x) or type(weight) not in (Tensor, Parameter):
        return F.linear(x, weight, bias)
    size = weight.numel()
    if rows == 1 and size > _CACHED_WEIGHTS:
        return _weights_first([weight], [torch.stack([x, x])], bias)[0]
    if rows > 1 and size >= _MANY_WEIGHTS:
        return _weights_first([weight], [x], bias)
    return F.linear(x, weight, bias)


def _weights_first(weights: Sequence[Tensor], inputs: Sequence[Tensor], bias: Tensor | None) -> Tensor:
    """Sum of W x + b over real weights ``[out, in]`` and inputs ``[..., parts in]``, each W of every part of its x."""
    (out_features, in_features), (*shape, width) = weights[0].shape, inputs[0].shape
    total: Tensor | None = None
    for weight, x in zip(weights, inputs, strict=True):
        column = x.reshape(-1, in_features).t()
        total = torch.mm(weight, column) if total is None else total.addmm_(weight, column)
    assert total is not None
    out = total.t().reshape(*shape, width // in_features * out_features)
    return out if bias is None else out + bias


def _times_i(x: Tensor) -> Tensor:
    """i z."""
    real, imag = halves(x)
    return join(-imag, real)


def sublayer_linear(
    x: Tensor,
    real: Callable[[Tensor], Tensor],
    imag: Callable[[Tensor], Tensor] | None,
    bias: Tensor | None = None,
) -> Tensor:
    """W z + b from the maps A = ``real`` and B = ``imag`` (None: B = A), each applied to both parts of z."""
    a_real, a_imag = _of_both_parts(real, x)
    if imag is None:  # (1 + i) A z
        out = join(a_real - a_imag, a_real + a_imag)
    else:
        b_real, b_imag = _of_both_parts(imag, x)
        out = join(a_real - b_imag, a_imag + b_real)
    return out if bias is None else out + bias


def _of_both_parts(layer: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, ...]:
    """The real and imaginary part of x ``[..., 2 in]`` through a real layer, in one call where that is the same.

    Hooks before the layer may depend on the axes of x: PEFT's adapter names are those of the batch, and activated LoRA
    counts tokens from the end. Such a layer is called for each part.
    """
    if getattr(layer, "_forward_pre_hooks", None):
        return tuple(layer(part) for part in halves(x))
    parts = layer(x.reshape(-1, 2, x.shape[-1] // 2))  # three axes: layers of 8 bits (bitsandbytes) take no more
    return tuple(part.unflatten(0, x.shape[:-1]) if x.dim() > 1 else part[0] for part in parts.unbind(-2))


# A matrix that is put together costs more than four products of few rows where it is large (measured).
_MIN_ROWS_WIDELY = 16


def widely_linear(x: Tensor, parts: Sequence[Tensor], bias: Tensor | None = None) -> Tensor:
    """U z + V conj(z) + b with U = A + iB and V = C + iD: ``[..., 2 in] -> [..., 2 out]``.

    ``parts`` are A, B, C, D, ``[out, in]`` each, ``bias`` is ``[b_re | b_im]`` of width ``2 out``. Computed by one
    real product with the matrix of the map, or by four with its parts where rows are few.
    """
    out_features, in_features = parts[0].shape
    if min(out_features, in_features) >= _LARGE_LAYER and x.shape[:-1].numel() < _MIN_ROWS_WIDELY:
        conjugate = conj(x)
        return _weights_first(parts, [x, _times_i(x), conjugate, _times_i(conjugate)], bias)
    if not is_plain_cpu(x):
        return F.linear(x, widely_matrix(*parts), bias)
    flat = run(MatrixLinear, x.reshape(-1, 2 * in_features), *parts, bias)
    return flat.view(*x.shape[:-1], 2 * out_features)


def sublayer_widely_linear(
    x: Tensor, maps: Sequence[Callable[[Tensor], Tensor]], bias: Tensor | None = None
) -> Tensor:
    """U z + V conj(z) + b from the maps of A, B, C and D, each called once on both parts of z."""
    real, imag, conj_real, conj_imag = maps
    out = sublayer_linear(x, real, imag) + sublayer_linear(conj(x), conj_real, conj_imag)
    return out if bias is None else out + bias


# --- to real numbers ----------------------------------------------------------------------------------------------


def squared_modulus_softmax(x: Tensor) -> Tensor:
    """softmax(|z|^2) over the features (Thesis 2.53): ``[..., 2d] -> [..., d]``."""
    return torch.softmax(squared_modulus(x), dim=-1)


def squared_modulus_sigmoid(x: Tensor) -> Tensor:
    """sigmoid(|z|^2) in [1/2, 1) (Thesis 2.52): ``[..., 2d] -> [..., d]``."""
    return torch.sigmoid(squared_modulus(x))


def probability_amplitude(x: Tensor) -> Tensor:
    """psi_j(z) = |z_j|^2 / (1 + sum_a |z_a|^2) over the features (Thesis 2.37): ``[..., 2d] -> [..., d]``.

    Computed from moduli divided by max(1, max_a |z_a|), which changes nothing and cannot overflow.
    """
    return normalize_probability_amplitude(modulus(x))


def normalize_probability_amplitude(score: Tensor, mask: Tensor | None = None) -> Tensor:
    """psi (Thesis 2.37) of real scores s: s_j^2 e^{mask_j} / (1 + sum_a s_a^2 e^{mask_a}) over the last axis.

    ``mask`` is additive, as before a softmax: 0 keeps, the most negative number removes an element.
    """
    if mask is not None:
        score = score * (0.5 * mask).exp()
    peak = score.detach().abs().amax(dim=-1, keepdim=True).clamp(min=1.0)
    weight = (score / peak).square()
    return weight / (peak.reciprocal().square() + weight.sum(dim=-1, keepdim=True))


def probability_amplitude_sigmoid(x: Tensor) -> Tensor:
    """Psi(z) = |z|^2 / (1 + |z|^2) of each number (Thesis 2.38): ``[..., 2d] -> [..., d]``."""
    return normalize_probability_amplitude(modulus(x).unsqueeze(-1)).squeeze(-1)


def log_squared_modulus(x: Tensor, eps: float = 1e-6) -> Tensor:
    """log(|z|^2 + eps) of each number, the logit of an amplitude: ``[..., 2d] -> [..., d]``.

    softmax of it is |z_j|^2 / sum_a |z_a|^2 (Thesis 2.37 without the 1), sigmoid of it |z|^2 / (1 + |z|^2) (2.38);
    ``eps`` bounds logit and slope at z = 0.
    """
    return (squared_modulus(wide(x)) + eps).log().to(x.dtype)


def split_softmax(x: Tensor) -> Tensor:
    """softmax(re) + i softmax(im) over the features (SynCoNMT Eq. 10 and 14): ``[..., 2d] -> [..., 2d]``."""
    check_halves(x)
    return torch.softmax(x.unflatten(-1, (2, -1)), dim=-1).flatten(-2)


# --- reductions and losses ----------------------------------------------------------------------------------------


def masked_mean(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean over axis -2 of the rows where ``mask`` is true: ``[..., N, C], [..., N] -> [..., C]``.

    Masked rows are selected out, not multiplied by zero, so a NaN in the padding stays there. A row of ``mask``
    without a true value gives zeros.
    """
    if mask is None:
        return x.mean(dim=-2)
    mask = mask.to(torch.bool).unsqueeze(-1)
    # The sum of many fp16 numbers leaves the range that their mean is in.
    total = x.masked_fill(~mask, 0.0).sum(dim=-2, dtype=wide(x[..., :0]).dtype)
    return (total / mask.sum(dim=-2).clamp(min=1)).to(x.dtype)


def complex_mse(prediction: Tensor, target: Tensor) -> Tensor:
    """Mean of |y - y_hat|^2 over all complex numbers (Thesis 2.54): halves of equal shape -> scalar."""
    if prediction.shape != target.shape:
        raise ValueError(
            f"prediction and target must have one shape, got {tuple(prediction.shape)} and {tuple(target.shape)}"
        )
    return squared_modulus(prediction - target).mean()


def parameter_budget_width(
    input_size: int, num_classes: int, num_hidden_layers: int, budget: int, number_field: str = "complex"
) -> int:
    """Neurons per layer of an MLP with k hidden layers within a budget of real parameters (Thesis 3.5, 3.6).

    Solves budget = c (n m + k m^2 + m classes) for m, with c = 1 for real and 2 for complex weights, and rounds to
    the nearest integer.

    Args:
        input_size: n, features of the input.
        num_classes: neurons of the last layer.
        num_hidden_layers: k >= 0, the m x m layers between the first and the last.
        budget: number of real parameters.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: an argument is out of its range, or the budget is too small for one neuron a layer.
    """
    factors = {"real": 1, "complex": 2}
    check_choice("number_field", number_field, factors)
    if min(input_size, num_classes, budget) < 1 or num_hidden_layers < 0:
        raise ValueError(
            "input_size, num_classes and budget must be positive and num_hidden_layers >= 0, got "
            f"{input_size}, {num_classes}, {budget}, {num_hidden_layers}"
        )
    parameters = budget / factors[number_field]
    if num_hidden_layers == 0:
        width = round(parameters / (input_size + num_classes))
    else:
        half = (input_size + num_classes) / (2 * num_hidden_layers)
        width = round(-half + (half**2 + parameters / num_hidden_layers) ** 0.5)
    if width < 1:
        least = factors[number_field] * (input_size + num_hidden_layers + num_classes)
        raise ValueError(f"budget={budget} is too small: one neuron a layer has {least} parameters")
    return width


def equal_parameter_widths(width: int, num_hidden_layers: int, number_field: str = "complex") -> list[int]:
    """Stored widths of k + 1 hidden layers whose weights are as many in both number fields (Thesis 3.1 to 3.4).

    Real: m everywhere. Complex: m/2, m, m/2, ... complex neurons, so widths m, 2m, m, ..., which with an even k ends
    as it begins, and has exactly the weights n m + k m^2 + m classes of the real network.

    Args:
        width: m, the neurons of a real layer.
        num_hidden_layers: k >= 0, the m x m layers.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: an argument is out of its range; an odd width, or an odd k, which no complex network equals.
    """
    check_choice("number_field", number_field, ("complex", "real"))
    if width < 1 or num_hidden_layers < 0:
        raise ValueError(f"width must be positive and num_hidden_layers >= 0, got {width} and {num_hidden_layers}")
    if number_field == "real":
        return [width] * (num_hidden_layers + 1)
    if width % 2 or num_hidden_layers % 2:
        raise ValueError(
            f"complex layers of m/2, m, m/2, ... neurons need an even width m and an even k, got {width} and "
            f"{num_hidden_layers}"
        )
    return [2 * width if layer % 2 else width for layer in range(num_hidden_layers + 1)]
