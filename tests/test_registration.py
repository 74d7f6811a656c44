# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Registration with the Auto classes, whichever side is imported first and however far."""

import json
import subprocess
import sys

import pytest
import transformers

import complex_transformers
from complex_transformers import auto

# Runs pairs of import statements, each pair in a process of its own: forked after the import of what both sides need,
# which saves its seconds, but before that of either side. Prints what went wrong, by pair.
SERVER = """
import json, os, sys, traceback
import huggingface_hub, numpy, safetensors.torch, sklearn.metrics, tokenizers, torch, torch._dynamo
assert not {"transformers", "complex_transformers"} & set(sys.modules)

CHECK = '''
import transformers
config = transformers.AutoConfig.for_model("complex_order", vocab_size=9, hidden_size=16, intermediate_size=16)
for auto, name in (("AutoModel", "ComplexOrderModel"), ("AutoModelForMaskedLM", "ComplexOrderForMaskedLM")):
    assert type(getattr(transformers, auto).from_config(config)).__name__ == name
from transformers.pipelines import check_task
entry = check_task("complex-text2text")[1]
assert "complex_units" in transformers.quantizers.auto.AUTO_QUANTIZER_MAPPING
assert entry["impl"].__name__ == "TextToTextPipeline" and entry["pt"] == (transformers.AutoModelForSeq2SeqLM,), entry
'''
failed = {}
for statements in json.load(sys.stdin):
    read, write = os.pipe()
    if not (child := os.fork()):
        try:
            exec("; ".join(statements) + CHECK, {})
        except BaseException:
            os.write(write, traceback.format_exc()[-4000:].encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        if error := pipe.read():
            failed["; ".join(statements)] = error
    os.waitpid(child, 0)
print(json.dumps(failed))
"""
OURS = [f"from complex_transformers import {name}" for name in complex_transformers.__all__]
# Every so manieth name in the alphabet, which goes through all kinds of models and tools.
THEIRS = [f"from transformers import {name}" for name in sorted(transformers._class_to_module)]
THEIRS = THEIRS[:: len(THEIRS) // 60]


def check(pairs: list[tuple[str, ...]]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVER], input=json.dumps(pairs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {}


OURS_FIRST = ("import complex_transformers", "from complex_transformers import ComplexLinear")
# In alphabetical order of the packages, where registration met modules half done.
ALPHABETICAL = [
    (OURS_FIRST[0], "from transformers import GPT2LMHeadModel"),
    (OURS_FIRST[1], "import transformers.modeling_layers"),
]
OTHER_ORDERS = [
    ("from transformers import AutoModel", OURS_FIRST[0]),
    ALPHABETICAL[1],
    ("from complex_transformers import TextToTextPipeline", "from transformers import pipeline"),
    (OURS_FIRST[0], "from transformers import BertModel"),
    (OURS_FIRST[0], "from transformers import Wav2Vec2ForCTC"),
    (OURS_FIRST[0], "from transformers import pipeline", "from transformers import AutoModel"),
    ("from complex_transformers import ComplexOrderModel", "from transformers import AutoModel"),
    ("from transformers import AutoConfig", OURS_FIRST[0], "from transformers import AutoModel"),
]


@pytest.mark.full  # tests/test_auto.py meets one order
def test_any_order_of_imports_registers() -> None:
    check([ALPHABETICAL[0]])


@pytest.mark.slow
def test_imports_that_failed_or_come_in_between() -> None:
    check(OTHER_ORDERS)


@pytest.mark.slow
@pytest.mark.parametrize("ours_first", [True, False])
def test_every_public_name_beside_a_sample_of_theirs(ours_first: bool) -> None:
    assert len(THEIRS) >= 60
    pairs = [(ours, THEIRS[number % len(THEIRS)]) for number, ours in enumerate(OURS)]
    check(pairs if ours_first else [(theirs, ours) for ours, theirs in pairs])


@pytest.mark.full  # tests/test_peft.py meets one order
@pytest.mark.parametrize("ours_first", [True, False])
def test_peft_knows_complex_layers_whichever_is_imported_first(ours_first: bool) -> None:
    pytest.importorskip("peft")
    imports = ["import complex_transformers.nn", "import peft"]
    adapt = (
        "import torch; layers = torch.nn.Sequential(complex_transformers.nn.ComplexLinear(4, 4)); "
        "peft.inject_adapter_in_model(peft.LoraConfig(target_modules=['0']), layers)"
    )
    statements = "; ".join([*(imports if ours_first else reversed(imports)), adapt])
    subprocess.run([sys.executable, "-c", statements], check=True, timeout=300)


def test_an_old_peft_is_named_and_goes_without_complex_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.18.1")
    with pytest.warns(UserWarning, match="peft must be 0.21 or later .* got 0.18.1"):
        auto._register_adapters()
