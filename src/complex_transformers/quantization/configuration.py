# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The configuration of quantization."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from transformers.utils.quantization_config import QuantizationConfigMixin

from ..nn.checks import check_positive
from ..nn.low_bit.quantized_linear import check_rounding

__all__ = ["METHOD", "ComplexQuantizationConfig", "names_layer"]

METHOD = "complex_units"  # `quant_method` of config.json


def names_layer(key: str, name: str) -> bool:
    """Return whether ``key`` is the name of a layer or its ending; a model prefix before the name is ignored."""
    return f".{name}".endswith(f".{key}") or f".{key}".endswith(f".{name}")


class ComplexQuantizationConfig(QuantizationConfigMixin):
    """Configuration for storing complex weights as sums of scaled units s i^c (iFairy, Fairy2i, Wang et al. 2025).

    Pass it to ``from_pretrained(path, quantization_config=...)`` or ``quantize(model, config)``. With T stages, a
    complex layer takes 2 T bits per complex weight, and a widely linear layer T bits per weight of the equal real
    layer. Each stage adds two 16-bit scales per row (``row``) or per weight matrix (``tensor``).

    Args:
        stages: rounding stages, 1 to 3; each rounds the residual of the stages before it.
        granularity: scales per ``row`` (default) or per ``tensor``, as in the papers.
        module_stages: stages of some layers, by names or endings of names, such as ``{"down_proj": 3}``; the longest
            that fits counts. Default ``stages`` for all.
        modules_to_not_convert: names or suffixes of layers that stay floating-point, as in Transformers' other
            configurations; default the heads (every ``nn.Readout`` and the output embeddings). ``[]`` for none.
        training: quantization-aware training: layers round their weights in every forward pass and train the
            unrounded ones, which are also saved. ``quantize(model)`` packs them.
        calibration: list or dataset of inputs, each token ids ``[B, T]`` or a mapping of arguments of ``forward``.
            Weights are then rounded to minimize the error of layer outputs (``nn.calibrated_weights``). None (default)
            rounds to the nearest units. Not saved.
        calibration_passes: number of passes over the calibration inputs. The layers are divided into as many groups,
            in the order of their calls; each group is calibrated on the outputs of the quantized groups before it.
            Not saved.
        damping: see ``nn.calibrated_weights``. Not saved.
        quant_method: set by Transformers.

    Raises:
        ValueError: ``stages``, ``module_stages`` or ``granularity`` that do not exist, ``calibration_passes`` that is
            not positive, ``calibration`` together with ``training``.

    Example:
        >>> from complex_transformers import ComplexQuantizationConfig
        >>> ComplexQuantizationConfig(stages=1).to_dict()["quant_method"]
        'complex_units'
    """

    def __init__(
        self,
        stages: int = 2,
        granularity: str = "row",
        modules_to_not_convert: Sequence[str] | None = None,
        training: bool = False,
        calibration: Any = None,
        calibration_passes: int = 1,
        damping: float = 0.01,
        quant_method: str = METHOD,
        module_stages: Mapping[str, int] | None = None,
    ) -> None:
        check_rounding(stages, granularity)
        for name, count in (module_stages or {}).items():
            check_rounding(count, granularity, f"module_stages[{name!r}]")
        check_positive(calibration_passes=calibration_passes)
        if training and calibration is not None:
            raise ValueError("calibration must be None with training=True, got data. Train first, then calibrate.")
        self.quant_method = METHOD
        self.stages = stages
        self.module_stages = dict(module_stages or {})
        self.granularity = granularity
        self.modules_to_not_convert = None if modules_to_not_convert is None else list(modules_to_not_convert)
        self.training = training
        self.calibration = calibration
        self.calibration_passes = calibration_passes
        self.damping = damping

    def rounding(self, name: str) -> tuple[int, str]:
        """Return stages and granularity of a layer."""
        fitting = [key for key in self.module_stages if names_layer(key, name)]
        return self.module_stages[max(fitting, key=len)] if fitting else self.stages, self.granularity

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of ``config.json``: how weights are stored, not how they were calibrated."""
        names = ("quant_method", "stages", "module_stages", "granularity", "modules_to_not_convert", "training")
        return {name: copy.copy(getattr(self, name)) for name in names}

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from self.to_dict().items()

    def stored(self) -> Self:
        """Return the configuration without its calibration, as ``config.json`` stores it."""
        return type(self)(**self.to_dict())
