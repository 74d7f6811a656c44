# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Private methods of Transformers that this package overrides, each with the reason; checked with Transformers 5.24.

A release of Transformers may rename or change them without notice: ``make test-newest`` runs this list against the
newest one. What is not listed here is not overridden.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import complex_transformers

# Documented extension points, which Transformers' own guides tell a library to override.
EXTENSION_POINTS = {
    "_init_weights": "PreTrainedModel: how the layers of a model are initialised",
    "_sanitize_parameters": "Pipeline: arguments of each step",
    "_forward": "Pipeline: the step that runs the model",
    "_process_model_before_weight_loading": "HfQuantizer: replace layers before the checkpoint is read",
    "_process_model_after_weight_loading": "HfQuantizer: prepare the layers that were read",
    "_dequantize": "HfQuantizer: back to float layers",
}
OTHERS = {
    "_beam_search": "SynCoNMT returns dependency relations beside tokens",
    "_sample": "SynCoNMT returns dependency relations beside tokens",
    "_update_model_kwargs_for_generation": "SynCoNMT records the relation of each step before beams are reordered",
    "_get_logits_processor": "SynCoNMT: vocab_size is that of the target",
    "_get_stopping_criteria": "stop strings are matched with the tokens of word-level tokenizers",
    "_prepare_position_ids_for_generation": "padding inside a prompt does not start the positions anew",
    "_prepare_cache_for_generation": "recurrent and memory models create their own cache",
    "_prepare_decoder_input_ids_for_generation": "the start token is looked for behind left padding; relations",
    "_get_static_cache_init_shape": "keys of polar positions are wider than values",
    "_flex_attn_can_dispatch": "flex_attention computes one score and normalisation only, told by name",
    "_initialize_weights": "outside its own package Transformers takes a layer without own tensors for loaded",
    "_resize_token_embeddings": "embeddings of several tables and heads of halves change their size together",
    "_get_train_sampler": "batches grouped by length are a function of seed and epoch, so that a run resumes",
    "_get_eval_sampler": "batches grouped by length would change the order of predictions",
    "_save_checkpoint": "a checkpoint is written into an empty folder, and says which run wrote it",
    "_load_best_model": "the best checkpoint must be of this run",
    "_save_rng_state": "the states carried along a stream are saved with a checkpoint",
    "_load_optimizer_and_scheduler": "the states carried along a stream are read from a checkpoint",
    "_get_arguments_from_pretrained": "SynCoNMT's processor has two tokenizers and parsers",
    "_upload_modified_files": "folders of parsers are uploaded",
}


def overrides() -> Iterator[tuple[str, str]]:
    """Yield the name and the place of each private method that a base class of Transformers has, too."""
    for module in pkgutil.walk_packages(complex_transformers.__path__, "complex_transformers."):
        if ".commands." in module.name:  # command lines, which need the packages of their recipes
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and value.__module__ == module.name:
                for name in vars(value):
                    if name.startswith("_") and not name.startswith("__") and callable(getattr(value, name)):
                        bases = (base for base in value.__mro__[1:] if name in vars(base))
                        if any(base.__module__.partition(".")[0] == "transformers" for base in bases):
                            yield name, f"{value.__module__}.{value.__qualname__}"


def test_private_methods_that_are_overridden_are_listed_with_a_reason():
    found = dict(overrides())
    assert found.keys() == {*EXTENSION_POINTS, *OTHERS}
