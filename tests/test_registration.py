# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Registration with the Auto classes, whichever side is imported first and however far."""

import subprocess
import sys

import pytest

ORDERS = {
    "ours first": "import complex_transformers; from transformers import AutoModel",
    "theirs first": "from transformers import AutoModel; import complex_transformers",
    "ours between": (
        "from transformers import AutoConfig; import complex_transformers; from transformers import AutoModel"
    ),
    "our model first": "from complex_transformers import ComplexOrderModel; from transformers import AutoModel",
    "pipeline first": (
        "import complex_transformers; from transformers import pipeline; from transformers import AutoModel"
    ),
}
CHECK = """
from transformers import AutoConfig, AutoModelForMaskedLM
from complex_transformers import ComplexOrderForMaskedLM, ComplexOrderModel
config = AutoConfig.for_model("complex_order", vocab_size=9, hidden_size=16, intermediate_size=16)
assert isinstance(AutoModel.from_config(config), ComplexOrderModel)
assert isinstance(AutoModelForMaskedLM.from_config(config), ComplexOrderForMaskedLM)
"""


@pytest.mark.parametrize("order", ORDERS)
def test_any_order_of_imports_registers(order: str) -> None:
    done = subprocess.run([sys.executable, "-c", ORDERS[order] + CHECK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
