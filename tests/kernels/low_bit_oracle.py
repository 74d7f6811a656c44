# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed layers of random weights, and their outputs in complex128."""

import numpy as np
import torch

from complex_transformers.nn import PackedLinear

LAYERS = ("complex", "conjugate", "widely_linear")
DTYPES = {torch.float32: 2e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def packed_layer(linear_type="widely_linear", columns=37, rows=33, stages=2, granularity="row", bias=True):
    """Return a packed layer of random codes and scales, without gradients."""
    layer = PackedLinear(2 * columns, 2 * rows, linear_type, stages, granularity, bias).requires_grad_(False)
    for name, buffer in layer.named_buffers():
        if name.endswith("codes"):
            codes = torch.randint(0, 256, buffer.shape, dtype=torch.uint8)
            last = codes[..., -1:] & (4 ** ((columns - 1) % 4 + 1) - 1)  # the bits of no column are 0
            buffer.copy_(torch.cat([codes[..., :-1], last], dim=-1))
        else:
            buffer.uniform_(0.1, 1.0)
    if bias:
        torch.nn.init.normal_(layer.bias)
    return layer


def matrix(codes, scales, columns):
    """Return sum_t s_t i^c_t in complex128."""
    columns = np.arange(columns)
    found = codes.cpu().numpy()[..., columns // 4] >> 2 * (columns % 4) & 3
    scales = scales.double().cpu().expand(-1, -1, codes.shape[1]).numpy()[..., None]
    units = np.array([1, 1j, -1, -1j])[found]
    return (units * np.where(found % 2, scales[:, 1], scales[:, 0])).sum(0)


def expected_output(layer, x):
    """Return U z + V conj(z) + b in complex128, as halves."""
    columns = layer.in_features // 2
    real, imag = np.split(x.double().cpu().numpy(), 2, axis=-1)
    z = real + 1j * imag
    inputs = {"complex": [z], "conjugate": [z.conj()], "widely_linear": [z, z.conj()]}[layer.linear_type]
    names = [(getattr(layer, f"{prefix}codes"), getattr(layer, f"{prefix}scales")) for prefix in layer.prefixes]
    total = sum(value @ matrix(*name, columns).T for value, name in zip(inputs, names, strict=True))
    bias = 0.0 if layer.bias is None else layer.bias.double().cpu().numpy()
    return torch.from_numpy(np.concatenate([total.real, total.imag], axis=-1) + bias)


def error(found, expected):
    return ((found.double().cpu() - expected).abs().max() / expected.abs().max()).item()
