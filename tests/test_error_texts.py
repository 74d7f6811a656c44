# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""What errors advise exists: every name in the text of an error is one that the package uses or defines."""

import ast
import io
import re
import tokenize
from pathlib import Path

import complex_transformers

NAME = re.compile(r"(?<![\w/.])[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b|\b[A-Z]\w*[a-z][A-Z]\w+")
# Of other packages and of their checkpoints, and words that look like names.
FOREIGN = {"CoNLL", "GloVe", "KeyDataset", "SynCoNMT", "WikiText", "complex_transformers", "label_smoothing_factor"}
FOREIGN |= {
    "assistant_model",
    "attn_implementation",
    "device_map",
    "flex_attention",
    "generate_batch",
    "merge_and_unload",
    "target_modules",
    "prompt_lookup_num_tokens",
    "multi_label_classification",
    "to_disk",
    "kv_net",
    "out_layer",
    "pos_emb",
    "r_bias",
    "r_emb",
    "tasks_1",
    "tp_plan",
    "tp_size",
    "use_sliding_window",
}


def test_names_in_errors_exist() -> None:
    known, said = set(FOREIGN), dict[str, str]()
    for path in Path(complex_transformers.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        known |= {token.string for token in tokens if token.type == tokenize.NAME}
        nodes = list(ast.walk(ast.parse(source)))
        texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        known |= {text.value for text in texts if text.value.isidentifier()}
        for error in (node for node in nodes if isinstance(node, ast.Raise)):
            for text in ast.walk(error):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    said |= dict.fromkeys(NAME.findall(text.value), f"{path.name}:{text.lineno}")
    assert len(said) > 100
    assert {name: place for name, place in said.items() if name not in known} == {}
