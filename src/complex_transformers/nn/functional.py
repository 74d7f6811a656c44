# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex arithmetic on real tensors in ``[real | imag]`` halves.

A complex tensor of d features is a real tensor of width 2d whose last axis holds ``[real | imag]``. Every function
below takes and returns this layout unless it says otherwise. Only ``to_complex`` and ``from_complex`` use a complex
dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Parameter

from ..kernels import modulus as moduli
from ..kernels.accelerator.halves import KernelModulus, KernelProduct, takes_modulus, takes_product
from ..kernels.accelerator.switch import use_kernels
from ..kernels.dispatch import is_plain_cpu, product_dtype, run
from ..kernels.exporting import halves
from ..kernels.linear import GaussLinear, MatrixLinear, block_matrix, matrix_and_bias, widely_matrix, widely_parts
from ..kernels.product import product_of_halves
from .checks import check_choice, check_shape

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
    """Cast float16 and bfloat16 to float32; return other dtypes unchanged."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def narrow(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Cast ``x`` to ``dtype``; values beyond its range saturate."""
    largest = torch.finfo(dtype).max
    return x.to(dtype) if torch.finfo(x.dtype).max <= largest else x.clamp(-largest, largest).to(dtype)


# --- layout -------------------------------------------------------------------------------------------------------


def check_halves(x: Tensor, dim: int = -1) -> None:
    """Raise unless axis ``dim`` of ``x`` can hold ``[real | imag]`` halves: a real floating dtype and an even size."""
    if not x.is_floating_point():
        remedy = "from_complex(z)" if dim == -1 else f"torch.cat([z.real, z.imag], dim={dim})"
        raise TypeError(
            f"x must be a real floating-point tensor of halves, got dtype {x.dtype}. Convert complex z by {remedy}."
        )
    if x.dim() == 0 or x.shape[dim] % 2:
        raise ValueError(f"x must have an even size on axis {dim} ([real | imag] halves), got shape {tuple(x.shape)}")


def split(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return views of the real and the imaginary half: ``[..., 2d] -> [..., d], [..., d]``."""
    check_halves(x)
    return halves(x)


def join(real: Tensor, imag: Tensor) -> Tensor:
    """Join a real and an imaginary part of equal shape: ``[..., d], [..., d] -> [..., 2d]``."""
    return torch.cat([real, imag], dim=-1)


def concatenate(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate features of complex tensors: ``[..., 2 d_1], [..., 2 d_2], ... -> [..., 2 sum d_i]``."""
    if len(tensors) == 1:
        return tensors[0]
    reals, imags = zip(*map(split, tensors), strict=True)
    return torch.cat([*reals, *imags], dim=-1)


def to_complex(x: Tensor) -> Tensor:
    """Convert halves to a native complex tensor, ``[..., 2d] -> complex [..., d]``; exact.

    float64 becomes complex128; float32, bfloat16 and float16 become complex64 (the smallest complex dtype with
    arithmetic on every device).
    """
    real, imag = split(x)
    return torch.complex(wide(real).contiguous(), wide(imag).contiguous())


def from_complex(z: Tensor) -> Tensor:
    """Convert a native complex tensor to halves, ``complex [..., d] -> [..., 2d]``; the inverse of ``to_complex``."""
    z = z.resolve_conj()
    return join(z.real, z.imag)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def conj(x: Tensor) -> Tensor:
    """Return the complex conjugate, a + ib -> a - ib."""
    real, imag = split(x)
    return join(real, -imag)


def multiply(x: Tensor, y: Tensor) -> Tensor:
    """Multiply element-wise, (a + ib)(c + id) = (ac - bd) + i(ad + bc) (Thesis 2.5), with broadcasting."""
    check_halves(x)
    check_halves(y)
    for first, second in ((x, y), (y, x)):
        if takes_product(first, second):
            return run(KernelProduct, first, second)
    return product_of_halves(x, y)


def scale(x: Tensor, factor: Tensor) -> Tensor:
    """Multiply each complex feature by a real factor: ``[..., 2d], [..., d] (or [..., 1]) -> [..., 2d]``."""
    check_halves(x)
    return (x.unflatten(-1, (2, -1)) * factor.unsqueeze(-2)).flatten(-2)


def rotate(x: Tensor, phase: Tensor) -> Tensor:
    """Multiply by exp(i phase): ``[..., 2d]``, phase in radians ``[..., d]`` -> ``[..., 2d]``.

    sin and cos are computed in float32 or better, whatever the dtype of ``x``.
    """
    phase = wide(phase)
    return multiply(x, join(phase.cos(), phase.sin()).to(x.dtype))


def modulus(x: Tensor) -> Tensor:
    """Compute |z| = sqrt(re^2 + im^2), ``[..., 2d] -> [..., d]``.

    The computation neither overflows nor underflows for 1e30 and 1e-30. The gradient at z = 0 is 0 (a subgradient).
    Moduli beyond the range of the dtype saturate.
    """
    check_halves(x)
    return run(KernelModulus, x) if takes_modulus(x) else moduli.modulus(x)


def squared_modulus(x: Tensor) -> Tensor:
    """Compute |z|^2 = re^2 + im^2, ``[..., 2d] -> [..., d]``; values beyond the range of the dtype saturate."""
    check_halves(x)
    real, imag = split(wide(x))
    # Clamping the parts also keeps the gradient finite: 2 re with |re| <= sqrt(max / 2).
    limit = (torch.finfo(real.dtype).max / 2.0) ** 0.5 * 0.999
    result = real.clamp(-limit, limit).square() + imag.clamp(-limit, limit).square()
    return result.clamp(max=torch.finfo(x.dtype).max).to(x.dtype)


def hermitian_inner(q: Tensor, k: Tensor) -> Tensor:
    """Compute sum_j q_j conj(k_j) over the last axis, ``[..., 2d], [..., 2d] -> [..., 2]`` ([real | imag]).

    Linear in q, conjugate-linear in k (Thesis 2.39 with q and k in the order of 2.44).
    """
    a, b = split(q)
    c, d = split(k)
    return torch.stack([(a * c + b * d).sum(-1), (b * c - a * d).sum(-1)], dim=-1)


# --- linear maps --------------------------------------------------------------------------------------------------


# Thresholds of the fastest product, measured (docs/decisions/0002-linear.md). With few rows, layers of at least
# _LARGE_LAYER features multiply by the sub-layers, smaller ones by the block matrix. Three products need _MIN_ROWS_*.
_LARGE_LAYER = 256
_MIN_ROWS_LARGE, _MIN_ROWS_SMALL = 128, 1024
# With this many weights, building the block matrix takes longer than multiplying this few rows.
_MANY_WEIGHTS, _ROWS_OF_MANY_WEIGHTS = 24_000, 16


def linear_path(x: Tensor, weight: Tensor) -> str:
    """Return how ``linear`` multiplies ``x`` by A and B: ``three_products``, ``block`` or ``sublayer``."""
    # Half precision uses the block product: A + B and B - A would be rounded. A compiler fuses the additions itself.
    if x.dtype != weight.dtype or not is_plain_cpu(x):
        return "block"
    rows = x.shape[:-1].numel()
    large = min(weight.shape) >= _LARGE_LAYER
    if rows >= (_MIN_ROWS_LARGE if large else _MIN_ROWS_SMALL):
        return "three_products"
    many = weight.numel() >= _MANY_WEIGHTS and rows <= _ROWS_OF_MANY_WEIGHTS
    return "sublayer" if large or many else "block"


def linear(x: Tensor, real: Tensor, imag: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute W z + b with W = A + iB (Thesis 2.16, SynCoNMT Eq. 7): ``[..., 2 in] -> [..., 2 out]``.

    A = ``real`` and B = ``imag`` are ``[out, in]``, ``bias`` is ``[b_re | b_im]`` of width ``2 out``. Uses three real
    products, one block product or four products, whichever is fastest; they agree up to rounding of |W| |z|.
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
    """Compute W z + b by one real product with the block matrix of W."""
    return F.linear(x, *matrix_and_bias((real, imag), bias, product_dtype(real)))


# Products with at most _FEW_ROWS rows are faster as weight @ x^T; with a single row only if it is duplicated and the
# weight exceeds the cache (measured, MKL).
_FEW_ROWS, _CACHED_WEIGHTS = 4, 2**18


def real_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute ``F.linear``, ``[..., in] -> [..., out]``, in the order of factors that is fastest for few rows."""
    # Test for a compiler first: a symbolic number of rows must not be compared.
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
    """Sum W x over pairs of weights ``[out, in]`` and inputs ``[..., blocks in]``, W applied to every block; add b."""
    (out_features, in_features), (*shape, width) = weights[0].shape, inputs[0].shape
    total: Tensor | None = None
    for weight, x in zip(weights, inputs, strict=True):
        column = x.reshape(-1, in_features).t()
        total = torch.mm(weight, column) if total is None else total.addmm_(weight, column)
    assert total is not None
    out = total.t().reshape(*shape, width // in_features * out_features)
    return out if bias is None else out + bias


def _times_i(x: Tensor) -> Tensor:
    real, imag = halves(x)
    return join(-imag, real)


def sublayer_linear(
    x: Tensor,
    real: Callable[[Tensor], Tensor],
    imag: Callable[[Tensor], Tensor] | None,
    bias: Tensor | None = None,
) -> Tensor:
    """Compute W z + b by calling the maps A = ``real`` and B = ``imag`` (None: B = A) on both parts of z."""
    a_real, a_imag = _apply_to_parts(real, x)
    if imag is None:  # (1 + i) A z
        out = join(a_real - a_imag, a_real + a_imag)
    else:
        b_real, b_imag = _apply_to_parts(imag, x)
        out = join(a_real - b_imag, a_imag + b_real)
    return out if bias is None else out + bias


def _apply_to_parts(layer: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, ...]:
    """Apply a real layer to the real and the imaginary part of x ``[..., 2 in]``, in one call if possible.

    A layer with forward pre-hooks is called twice, since they may depend on the axes of x: PEFT selects adapters by
    batch element, and activated LoRA counts tokens from the end.
    """
    if getattr(layer, "_forward_pre_hooks", None):
        return tuple(layer(part) for part in halves(x))
    parts = layer(x.reshape(-1, 2, x.shape[-1] // 2))  # 3-D: 8-bit layers of bitsandbytes support no more axes
    return tuple(part.unflatten(0, x.shape[:-1]) if x.dim() > 1 else part[0] for part in parts.unbind(-2))


# With fewer rows, building a large matrix costs more than four products (measured).
_MIN_ROWS_WIDELY = 16


def widely_linear(x: Tensor, parts: Sequence[Tensor], bias: Tensor | None = None) -> Tensor:
    """Compute U z + V conj(z) + b with U = A + iB and V = C + iD: ``[..., 2 in] -> [..., 2 out]``.

    ``parts`` are A, B, C, D, ``[out, in]`` each, ``bias`` is ``[b_re | b_im]`` of width ``2 out``. Uses one product
    with the real matrix of the map, or four products with the parts if there are few rows.
    """
    out_features, in_features = parts[0].shape
    if min(out_features, in_features) >= _LARGE_LAYER and x.shape[:-1].numel() < _MIN_ROWS_WIDELY:
        conjugate = conj(x)
        return _weights_first(parts, [x, _times_i(x), conjugate, _times_i(conjugate)], bias)
    if not is_plain_cpu(x):
        return F.linear(x, *matrix_and_bias(parts, bias, product_dtype(parts[0])))
    flat = run(MatrixLinear, x.reshape(-1, 2 * in_features), *parts, bias)
    return flat.view(*x.shape[:-1], 2 * out_features)


def sublayer_widely_linear(
    x: Tensor, maps: Sequence[Callable[[Tensor], Tensor]], bias: Tensor | None = None
) -> Tensor:
    """Compute U z + V conj(z) + b by calling the maps A, B, C and D, once each, on both parts of z."""
    real, imag, conj_real, conj_imag = maps
    out = sublayer_linear(x, real, imag) + sublayer_linear(conj(x), conj_real, conj_imag)
    return out if bias is None else out + bias


# --- to real numbers ----------------------------------------------------------------------------------------------


def squared_modulus_softmax(x: Tensor) -> Tensor:
    """Compute softmax(|z|^2) over the features (Thesis 2.53): ``[..., 2d] -> [..., d]``."""
    return torch.softmax(squared_modulus(x), dim=-1)


def squared_modulus_sigmoid(x: Tensor) -> Tensor:
    """Compute sigmoid(|z|^2) in [1/2, 1) (Thesis 2.52): ``[..., 2d] -> [..., d]``."""
    return torch.sigmoid(squared_modulus(x))


def probability_amplitude(x: Tensor) -> Tensor:
    """Compute psi_j(z) = |z_j|^2 / (1 + sum_a |z_a|^2) over the features (Thesis 2.37): ``[..., 2d] -> [..., d]``.

    Numerator and denominator are divided by max(1, max_a |z_a|)^2, so squares cannot overflow.
    """
    return normalize_probability_amplitude(modulus(x))


def normalize_probability_amplitude(score: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute psi (Thesis 2.37) of real scores s over the last axis: s_j^2 e^{mask_j} / (1 + sum_a s_a^2 e^{mask_a}).

    ``mask`` is additive, as for a softmax: 0 keeps an element, the lowest value of the dtype removes it.
    """
    if mask is not None:
        score = score * (0.5 * mask).exp()
    peak = score.detach().abs().amax(dim=-1, keepdim=True).clamp(min=1.0)
    weight = (score / peak).square()
    return weight / (peak.reciprocal().square() + weight.sum(dim=-1, keepdim=True))


def probability_amplitude_sigmoid(x: Tensor) -> Tensor:
    """Compute Psi(z) = |z|^2 / (1 + |z|^2) element-wise (Thesis 2.38): ``[..., 2d] -> [..., d]``."""
    return normalize_probability_amplitude(modulus(x).unsqueeze(-1)).squeeze(-1)


def log_squared_modulus(x: Tensor, eps: float = 1e-6) -> Tensor:
    """Compute log(|z|^2 + eps) element-wise, the logit of an amplitude: ``[..., 2d] -> [..., d]``.

    Its softmax is |z_j|^2 / sum_a |z_a|^2 (Thesis 2.37 without the 1), its sigmoid |z|^2 / (1 + |z|^2) (2.38).
    ``eps`` bounds value and gradient at z = 0.
    """
    return (squared_modulus(wide(x)) + eps).log().to(x.dtype)


def split_softmax(x: Tensor) -> Tensor:
    """Compute softmax(re) + i softmax(im) over the features (SynCoNMT Eq. 10, 14): ``[..., 2d] -> [..., 2d]``."""
    check_halves(x)
    return torch.softmax(x.unflatten(-1, (2, -1)), dim=-1).flatten(-2)


# --- reductions and losses ----------------------------------------------------------------------------------------


def masked_mean(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Average over axis -2 where ``mask`` is true: ``[..., N, C], [..., N] -> [..., C]``.

    NaN at masked positions does not reach the result. If no position counts, the mean is 0.
    """
    if mask is None:
        return x.mean(dim=-2)
    mask = mask.to(torch.bool).unsqueeze(-1)
    # A sum in float16 could overflow although the mean does not.
    total = x.masked_fill(~mask, 0.0).sum(dim=-2, dtype=wide(x[..., :0]).dtype)
    return (total / mask.sum(dim=-2).clamp(min=1)).to(x.dtype)


def complex_mse(prediction: Tensor, target: Tensor) -> Tensor:
    """Compute the mean of |y - y_hat|^2 over all complex elements (Thesis 2.54): halves of equal shape -> scalar."""
    check_shape("target", target, prediction.shape)
    return squared_modulus(prediction - target).mean()


def parameter_budget_width(
    input_size: int, num_classes: int, num_hidden_layers: int, budget: int, number_field: str = "complex"
) -> int:
    """Return the neurons per layer of an MLP with k hidden layers and a parameter budget (Thesis 3.5, 3.6).

    Solves budget = c (n m + k m^2 + m classes) for m, with c = 1 for real and 2 for complex weights, and rounds to
    the nearest integer.

    Args:
        input_size: n, features of the input.
        num_classes: neurons of the last layer.
        num_hidden_layers: k >= 0, the number of m x m layers between the first and the last.
        budget: number of real parameters.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: the budget is too small for one neuron per layer.
    """
    factors = {"real": 1, "complex": 2}
    check_choice("number_field", number_field, factors)
    parameters = budget / factors[number_field]
    if num_hidden_layers == 0:
        width = round(parameters / (input_size + num_classes))
    else:
        half = (input_size + num_classes) / (2 * num_hidden_layers)
        width = round(-half + (half**2 + parameters / num_hidden_layers) ** 0.5)
    if width < 1:
        least = factors[number_field] * (input_size + num_hidden_layers + num_classes)
        raise ValueError(f"budget must be at least {least}, the parameters of one neuron per layer, got {budget}")
    return width


def equal_parameter_widths(width: int, num_hidden_layers: int, number_field: str = "complex") -> list[int]:
    """Return stored widths of k + 1 hidden layers that give both number fields equal parameters (Thesis 3.1 to 3.4).

    Real: m everywhere. Complex: m/2, m, m/2, ... complex neurons, so stored widths m, 2m, m, .... With an even k
    both networks have n m + k m^2 + m classes weights.

    Args:
        width: m, the neurons of a real layer.
        num_hidden_layers: k >= 0, the number of m x m layers.
        number_field: ``"complex"`` or ``"real"``.

    Raises:
        ValueError: an odd width or an odd k in the complex field.
    """
    check_choice("number_field", number_field, ("complex", "real"))
    if number_field == "real":
        return [width] * (num_hidden_layers + 1)
    if width % 2 or num_hidden_layers % 2:
        raise ValueError(
            f"width and num_hidden_layers must be even in the complex field, got {width} and {num_hidden_layers}"
        )
    return [2 * width if layer % 2 else width for layer in range(num_hidden_layers + 1)]
