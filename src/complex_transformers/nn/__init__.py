# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex layers on plain torch: ``torch.nn`` for tensors of ``[real | imag]`` halves."""

from types import ModuleType as _ModuleType

from . import functional
from .activation import *
from .adaptive_softmax import *
from .arithmetic import *
from .attention.alignment import *
from .attention.grouped_query import *
from .attention.multi_head import *
from .attention.polar import *
from .attention.relative import *
from .attention.rotary import *
from .convolution import *
from .dropout import *
from .embedding import *
from .feed_forward import *
from .functional import *
from .graph import *
from .initialization import *
from .linear import *
from .low_bit.bit_packing import *
from .low_bit.calibration import *
from .low_bit.quantized_linear import *
from .low_bit.rounding import *
from .memory import *
from .normalization import *
from .number_field import *
from .pooling import *
from .quantum import *
from .readout import *
from .real_embedding import *
from .recurrent.diagonal import *
from .recurrent.gates import *
from .recurrent.layers import *
from .recurrent.mamba import *
from .recurrent.real_layers import *
from .short_time import *
from .spectral import *
from .syntax_embedding import *
from .transforms import *
from .unitary import *
from .widely_linear import *

# Every name imported above is public; of the modules, only ``functional`` is.
__all__ = ["functional"]
__all__ += [name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType)]
