# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Changes to a sub-layer after which it must really be called, not read: of hooks, quantisation and adapters."""

from __future__ import annotations

from torch import nn


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


CHANGES = [hook, pre_hook, replace, subclass, patched_forward]
