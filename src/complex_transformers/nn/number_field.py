# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``number_field("complex" | "real")``: the same layer names, signatures and widths over either field.

A model file is written once, against a ``NumberField``; its real twin is the same file with the other field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import nn

from .activation import get_activation
from .arithmetic import Arithmetic, arithmetic
from .attention.multi_head import ComplexMultiheadAttention
from .convolution import (
    ComplexConv1d,
    ComplexConv2d,
    ComplexConv3d,
    ComplexConvTranspose1d,
    ComplexConvTranspose2d,
    ComplexUpsample,
    RealConv1d,
    RealConv2d,
    RealConv3d,
    RealConvTranspose1d,
    RealConvTranspose2d,
    RealInputConv2d,
)
from .dropout import ComplexDropout
from .embedding import ComplexEmbedding
from .linear import ComplexLinear, RealInputLinear, RealLinear
from .normalization import (
    ComplexBatchNorm1d,
    ComplexBatchNorm2d,
    ComplexLayerNorm,
    ComplexRMSNorm,
    RealBatchNorm1d,
    RealBatchNorm2d,
)
from .pooling import ModulusAvgPool1d, ModulusAvgPool2d, ModulusMaxPool1d, ModulusMaxPool2d
from .readout import Readout
from .recurrent.layers import ComplexGRU, ComplexLSTM, ComplexRNN
from .recurrent.real_layers import RealGRU, RealLSTM, RealRNN

__all__ = ["NumberField", "number_field"]


@dataclass(frozen=True)
class NumberField:
    """The layers of one number field. Widths are stored widths in both fields.

    Attributes:
        numbers: its elementary functions (modulus, parts, ...).
        Linear, Embedding, RNN, LSTM, GRU: layer classes.
        Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, Upsample: layer classes.
        LayerNorm, RMSNorm, BatchNorm1d, BatchNorm2d, Dropout: layer classes.
        RealInputLinear, RealInputConv2d: layers with real input; input sizes count real features.
        MultiheadAttention, Readout, activation, MaxPool1d, MaxPool2d, AvgPool1d, AvgPool2d: constructors with the
            field filled in.
    """

    name: str
    numbers: Arithmetic
    Linear: type[nn.Module]
    RealInputLinear: type[nn.Module]
    Embedding: type[nn.Module]
    Conv1d: type[nn.Module]
    Conv2d: type[nn.Module]
    Conv3d: type[nn.Module]
    ConvTranspose1d: type[nn.Module]
    ConvTranspose2d: type[nn.Module]
    Upsample: type[nn.Module]
    RealInputConv2d: type[nn.Module]
    RNN: type[nn.Module]
    LSTM: type[nn.Module]
    GRU: type[nn.Module]
    LayerNorm: type[nn.Module]
    RMSNorm: type[nn.Module]
    BatchNorm1d: type[nn.Module]
    BatchNorm2d: type[nn.Module]
    Dropout: type[nn.Module]
    MultiheadAttention: Callable[..., nn.Module]
    Readout: Callable[..., nn.Module]
    activation: Callable[..., nn.Module]
    MaxPool1d: Callable[..., nn.Module]
    MaxPool2d: Callable[..., nn.Module]
    AvgPool1d: Callable[..., nn.Module]
    AvgPool2d: Callable[..., nn.Module]


def number_field(name: str) -> NumberField:
    """Return the number field ``name``; raise ValueError for an unknown name."""
    numbers = arithmetic(name)
    is_complex = name == "complex"
    return NumberField(
        name=name,
        numbers=numbers,
        Linear=ComplexLinear if is_complex else RealLinear,
        RealInputLinear=RealInputLinear if is_complex else RealLinear,
        Embedding=ComplexEmbedding if is_complex else nn.Embedding,
        Conv1d=ComplexConv1d if is_complex else RealConv1d,
        Conv2d=ComplexConv2d if is_complex else RealConv2d,
        Conv3d=ComplexConv3d if is_complex else RealConv3d,
        ConvTranspose1d=ComplexConvTranspose1d if is_complex else RealConvTranspose1d,
        ConvTranspose2d=ComplexConvTranspose2d if is_complex else RealConvTranspose2d,
        Upsample=ComplexUpsample if is_complex else nn.Upsample,
        RealInputConv2d=RealInputConv2d if is_complex else RealConv2d,
        RNN=ComplexRNN if is_complex else RealRNN,
        LSTM=ComplexLSTM if is_complex else RealLSTM,
        GRU=ComplexGRU if is_complex else RealGRU,
        LayerNorm=ComplexLayerNorm if is_complex else nn.LayerNorm,
        RMSNorm=ComplexRMSNorm if is_complex else nn.RMSNorm,
        BatchNorm1d=ComplexBatchNorm1d if is_complex else RealBatchNorm1d,
        BatchNorm2d=ComplexBatchNorm2d if is_complex else RealBatchNorm2d,
        Dropout=ComplexDropout if is_complex else nn.Dropout,
        MultiheadAttention=partial(ComplexMultiheadAttention, number_field=name),
        Readout=partial(Readout, number_field=name),
        activation=partial(get_activation, number_field=name),
        MaxPool1d=partial(ModulusMaxPool1d, number_field=name),
        MaxPool2d=partial(ModulusMaxPool2d, number_field=name),
        AvgPool1d=partial(ModulusAvgPool1d, number_field=name),
        AvgPool2d=partial(ModulusAvgPool2d, number_field=name),
    )
