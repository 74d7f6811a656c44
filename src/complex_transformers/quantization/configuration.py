# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What is rounded, and how."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Self

from transformers.utils.quantization_config import QuantizationConfigMixin

from ..nn.low_bit.quantized_linear import check_rounding

__all__ = ["METHOD", "ComplexQuantizationConfig"]

METHOD = "complex_units"  # `quant_method` of config.json


class ComplexQuantizationConfig(QuantizationConfigMixin):
    """Complex weights as sums of scaled units s i^c, two bits each (iFairy and Fairy2i, Wang et al. 2025).

    For ``from_pretrained(path, quantization_config=...)`` and ``quantize(model, config)``. A complex layer of T stages
    takes 2 T bits for each complex weight, a widely linear one T bits for each weight of the real layer it equals, and
    two scales of 16 bits for each row and stage (``row``) or for each weight matrix and stage (``tensor``).

    Args:
        stages: of rounding, 1 to 3; each rounds what those before it have left.
        granularity: scales of each ``row`` (default) or of the whole ``tensor``, as in the papers.
        modules_to_not_convert: names of layers that stay float, or the ends of names, as in Transformers' other
            configurations; default the heads (every ``nn.Readout`` and the output embeddings). ``[]`` for none.
        training: layers round their weights in every step and train the ones they round; saved as they are trained.
            ``quantize(model)`` packs them.
        calibration: texts that the model reads before it is rounded, so that what counts is the error of the layers'
            outputs (``nn.calibrated_weights``): a list or a dataset of token ids ``[B, T]``, or of mappings of what
            ``forward`` reads. None, the default, for the nearest units. It is not saved.
        calibration_passes: how often the model reads them: layers are divided in the order in which they are called,
            and each part reads what the parts before it, already rounded, make of the texts. It is not saved.
        damping: see ``nn.calibrated_weights``. It is not saved.

    Raises:
        ValueError: another number of stages or passes, an unknown ``granularity``, a calibration that is empty, can be
            read once only, or is given with ``training``; ``damping`` that is not positive, ``training`` that is no
            truth value, names that are one string or no regular expressions, an unknown argument.

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
        **kwargs: Any,
    ) -> None:
        if (method := kwargs.pop("quant_method", METHOD)) != METHOD:
            raise ValueError(f"quant_method must be {METHOD!r}, got {method!r}: these weights are of another kind")
        if kwargs:
            raise ValueError(f"unknown arguments {sorted(kwargs)}: the file may be of a newer version of the package")
        check_rounding(stages, granularity)
        if type(training) is not bool:
            raise ValueError(f"training must be True or False, got {training!r}")
        if type(calibration_passes) is not int or calibration_passes < 1:
            raise ValueError(f"calibration_passes must be a positive integer, got {calibration_passes!r}")
        if not isinstance(damping, (int, float)) or not 0.0 < damping < math.inf:
            raise ValueError(f"damping must be a positive number, got {damping!r}")
        _check_patterns(modules_to_not_convert)
        self.quant_method = METHOD
        self.stages = stages
        self.granularity = granularity
        self.modules_to_not_convert = None if modules_to_not_convert is None else list(modules_to_not_convert)
        self.training = training
        self.calibration = _checked(calibration, training)
        self.calibration_passes = calibration_passes
        self.damping = damping

    def to_dict(self) -> dict[str, Any]:
        """What ``config.json`` holds: how the weights are stored, not how they were found."""
        names = ("quant_method", "stages", "granularity", "modules_to_not_convert", "training")
        return {name: copy.copy(getattr(self, name)) for name in names}

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from self.to_dict().items()

    def stored(self) -> Self:
        """The same configuration as ``config.json`` would hold it, of packed weights unless it is for training."""
        return type(self)(**self.to_dict())


def _check_patterns(names: Any) -> None:
    """Raise unless these are None, or regular expressions."""
    if names is None:
        return
    if isinstance(names, str):
        raise ValueError(f"modules_to_not_convert must be a list of names, got one string: give [{names!r}]")
    for name in names:
        try:
            re.compile(name)
        except (re.error, TypeError) as error:
            raise ValueError(
                f"modules_to_not_convert holds {name!r}, which is no name and no regular expression: {error}"
            ) from None


def _checked(calibration: Any, training: bool) -> Any:
    """Raise for texts that cannot be read, more than once, as a sequence."""
    if calibration is None:
        return None
    if training:
        raise ValueError("calibration goes with packed weights: train first, then quantize(model, calibration config)")
    if not hasattr(calibration, "__len__") or not hasattr(calibration, "__getitem__"):
        raise ValueError(f"calibration must be a list or a dataset, got a {type(calibration).__name__}: list(...) it")
    if not len(calibration):
        raise ValueError("calibration is empty: give at least one text, or None for the nearest units")
    return calibration
