# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The package as it is imported: light, complete, and known to every Auto class."""

import subprocess
import sys

import pytest

import complex_transformers
from complex_transformers.auto import register_all
from complex_transformers.models import family_class, file_kind, model_families


def test_import_is_light():
    # Neither torch nor Transformers: their import is paid for when something of ours is first used.
    code = (
        "import sys, complex_transformers; print([n for n in ('torch', 'transformers', 'numpy') if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_everything_public_is_there_and_nothing_else():
    for name in complex_transformers.__all__:
        assert getattr(complex_transformers, name) is not None
    assert set(complex_transformers.__all__) <= set(dir(complex_transformers))
    with pytest.raises(AttributeError, match="ComplexOrderForPoetry"):
        complex_transformers.ComplexOrderForPoetry


def test_auto_classes_build_our_classes():
    import transformers

    register_all()  # once more does no harm
    sizes = {"vocab_size": 9, "hidden_size": 8, "num_attention_heads": 2, "head_dim": 4, "intermediate_size": 8}
    own = {"spectral_transformer": {"decoder": {**sizes, "decoder_start_token_id": 1}}}
    heads = {"ComplexMLPForSequenceClassification": {"bag_of_words": "binary"}}
    for model_type, classes in model_families().items():
        for auto_class, name in classes.items():
            values = {**sizes, **own.get(model_type, {}), **heads.get(name, {})}
            config_class = family_class(model_type, "AutoConfig")
            known = config_class.__dataclass_fields__.keys()
            config = transformers.AutoConfig.for_model(
                model_type, **{field: value for field, value in values.items() if field in known}
            )
            assert type(config).__name__ == classes["AutoConfig"]
            assert family_class(model_type, auto_class) is getattr(complex_transformers, name)
            if file_kind(auto_class) == "modeling":
                assert type(getattr(transformers, auto_class).from_config(config)).__name__ == name
