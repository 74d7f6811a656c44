# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``@law``: a test of every variant of every family, but for those named here with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from complex_transformers.models import family_class
from complex_transformers.models.base.images import ImagePreTrainedModel
from complex_transformers.models.base.text import WITHOUT_POSITION, ClassicTextModel
from complex_transformers.nn import Mamba3Mixer
from families import CASES, FAMILIES, Case
from family_inputs import Row

LAWS: dict[str, Callable[..., None]] = {}

MODELS = {name: family_class(name, "AutoModel") for name in FAMILIES}
CLASSIFIERS = tuple(name for name, model in MODELS.items() if issubclass(model, ClassicTextModel))
IMAGE_NETWORKS = tuple(name for name, model in MODELS.items() if issubclass(model, ImagePreTrainedModel))
READS_BAGS = tuple(str(case) for case in CASES if getattr(case.config(), "bag_of_words", "none") != "none")
READS_IMAGES = tuple(str(case) for case in CASES if case.family in IMAGE_NETWORKS and str(case) not in READS_BAGS)
READS_STORIES = ("complex_memory_network",)
WITHOUT_STACK = tuple(name for name, model in MODELS.items() if not model.supports_gradient_checkpointing)
ENCODERS = ("complex_order", *CLASSIFIERS)
SPEECH_ENCODERS = tuple(
    f"spectral_transformer: {variant}"
    for variant in ("symbols", "scaled", "real", "rotate", "real score", "scaled rotate")
)
ADAPTIVE = tuple(str(case) for case in CASES if "adaptive" in case.variant)
BATCH_NORMS = (
    *(f"complex_order: {name}" for name in ("tied, batch norm", "amplitudes", "bilinear", "real score, amplitudes")),
    *("complex_order: real tied", "spectral_transformer: rotate", "spectral_transformer: scaled rotate"),
    *("complex_mlp: spectrum", "complex_mlp: real spectrum"),
    *(f"complex_convnet: {name}" for name in ("real", "residual", "spectrum", "real residual")),
)
DECODERS = ("complex_llama", "complex_mamba", "complex_transfo_xl")
READS_TO_CLASSIFY = tuple(str(case) for case in CASES if case.family in DECODERS and case.head[0] != "ForCausalLM")
SAYS_NOTHING_OF_TOKENS = tuple(
    str(case) for case in CASES if case.family in DECODERS and case.head[0] in ("Model", "ForSequenceClassification")
)
WITHOUT_POSITIONS = tuple(
    str(case) for case in CASES if case.family in ENCODERS and case.config().embedding_type in WITHOUT_POSITION
)
# Laws, families or variants of them -> why they do not hold there
_SKIPPED: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {
    (
        (
            "nothing_is_seen_before_its_time",
            "steps_equal_one_pass",
            "generation_needs_no_cache",
            "beam_search_equals_a_plain_reference",
        ),
        (*ENCODERS, *SPEECH_ENCODERS, *IMAGE_NETWORKS, *READS_STORIES),
    ): "reads all at once and writes nothing",
    (
        ("a_common_phase_passes_through",),
        tuple(name for name, family in FAMILIES.items() if family.commuting is None),
    ): "no variant is named through which a phase passes",
    (("a_common_phase_passes_through",), ("complex_transfo_xl",)): (
        "relative positions and their biases have a phase of their own"
    ),
    (("nothing_is_seen_before_its_time",), SAYS_NOTHING_OF_TOKENS): "there are no logits of tokens",
    (
        ("steps_equal_one_pass", "generation_needs_no_cache", "beam_search_equals_a_plain_reference"),
        READS_TO_CLASSIFY,
    ): "a decoder without the head of a language model writes nothing",
    (
        (
            *("what_is_no_number_stays_in_its_row", "padding_holds_any_size", "padding_may_be_no_number"),
            *("embeddings_stand_for_ids", "numbers_of_any_size_have_finite_gradients"),
        ),
        tuple(f"complex_llama: {name}" for name in ("words turn", "polar words", "real polar words")),
    ): "every word turns at its own speed: embeddings name no words, and are refused",
    (("the_real_twin_has_the_widths_and_no_imaginary_part",), ("complex_mamba",)): (
        "its layers are real in both fields, and the twin lacks the projection to angles"
    ),
    (("a_common_phase_passes_through",), ("synconmt",)): "each part of a state has attention weights of its own",
    (
        ("eager_equals_sdpa",),
        (
            *(*CLASSIFIERS, *IMAGE_NETWORKS, *READS_STORIES, "complex_mamba", "complex_transfo_xl"),
            *("complex_recurrent_lm", "synconmt"),
        ),
    ): ("has no attention, or one that sdpa cannot compute, and refuses the name"),
    (("checkpointing_gives_the_same_gradients",), WITHOUT_STACK): (
        "there is no stack of layers to compute again, and checkpointing is refused"
    ),
    (("rows_do_not_see_each_other",), BATCH_NORMS): "a batch norm in training is a mean over rows",
    (
        ("positions_are_counted_where_none_are_given",),
        (
            *("complex_llama", "complex_seq2seq", "complex_transfo_xl", "complex_recurrent_lm", "synconmt"),
            "complex_mamba",
            "spectral_transformer",
        ),
    ): "positions of a decoder count from 0, or it carries a state and counts by itself; frames are in order",
    (
        ("a_resized_vocabulary_keeps_its_words",),
        ("spectral_transformer",),
    ): "features are what is read: the symbols of a head, or of a decoder, are those it was built with",
    (
        ("a_resized_vocabulary_keeps_its_words",),
        ADAPTIVE,
    ): "log-probabilities are normalised over the new words as well",
    (("low_precision_is_near_and_says_what_it_is",), ADAPTIVE): "log-probabilities are float32 at least",
    (("a_resized_vocabulary_keeps_its_words",), ("synconmt: rnn, two vocabularies",)): (
        "two vocabularies cannot have one new size"
    ),
    (("positions_are_counted_where_none_are_given",), WITHOUT_POSITIONS): "words are embedded without a position",
    (("autocast_is_near_float32",), ("complex_text_cnn: identity",)): (
        "rounding moves the maximum of moduli to another window, and without an activation its feature is another one"
    ),
    (
        (
            *("positions_are_counted_where_none_are_given", "embeddings_stand_for_ids"),
            "a_resized_vocabulary_keeps_its_words",
        ),
        IMAGE_NETWORKS,
    ): "an image and a bag have no order, so no positions, and no table of words",
    (
        (
            *("padding_holds_any_size", "padding_may_be_no_number", "what_is_no_number_stays_in_its_row"),
            *("numbers_of_any_size_have_finite_gradients", "float16_at_the_ends_of_its_range"),
        ),
        (*READS_BAGS, *READS_STORIES),
    ): "words are all that is read, and have no size",
    (("padding_holds_any_size", "padding_may_be_no_number"), READS_IMAGES): "an image has one size",
    (("embeddings_stand_for_ids", "positions_are_counted_where_none_are_given"), READS_STORIES): (
        "each table of words is read in its own hop, and places are counted inside sentences"
    ),
    (("weights_on_a_disk_come_when_they_are_called",), ("synconmt: real",)): (
        "a cell of torch.nn that reads a context goes step by step, and is not called"
    ),
    (("embeddings_stand_for_ids",), SPEECH_ENCODERS): "features are what is read: there are no ids",
}
SKIPS = {(name, place): reason for (names, places), reason in _SKIPPED.items() for name in names for place in places}


def named(table: dict[tuple[str, str], str], name: str, case: Case) -> str | None:
    """The reason that a table of laws and families, or variants of them, has for a case, or None."""
    return table.get((name, str(case))) or table.get((name, case.family))


def law(
    test: Callable[..., None],
    cases: Sequence[Case] = CASES,
    rest: Sequence[Case] = (),
    rest_mark: pytest.MarkDecorator = pytest.mark.full,
) -> Callable[..., None]:
    """Run a test, whose argument is a ``case``, on all of them; those in ``rest`` are no default tests."""
    name = test.__name__.removeprefix("test_")
    LAWS[name] = test
    params = []
    for case in cases:
        marks = [] if case.is_default and case not in rest else [rest_mark]
        if reason := named(SKIPS, name, case):
            marks.append(pytest.mark.skip(reason=reason))
        params.append(pytest.param(case, marks=marks, id=str(case)))
    return pytest.mark.parametrize("case", params)(test)


FIRST = [Case(name, next(iter(family.variants))) for name, family in FAMILIES.items()]
DEFAULT = [case for case in CASES if case.is_default]


def law_of_first(test: Callable[..., None]) -> Callable[..., None]:
    """A law of families: run on the first variant of each."""
    return law(test, FIRST)


def law_of_families(test: Callable[..., None]) -> Callable[..., None]:
    """A law of what all variants share: the default tests have the first of each family."""
    return law(test, DEFAULT, [case for case in DEFAULT if case not in FIRST])


def assert_same(found: Row, expected: Row, tolerance: float = 0.0) -> None:
    """All that the model says, bit for bit or within a tolerance, which is that of the largest number."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        size = tolerance and tolerance * max(1.0, value.abs().max().item())
        torch.testing.assert_close(
            found[name], value, rtol=0, atol=size, equal_nan=True, msg=lambda text, name=name: f"{name}: {text}"
        )


def loss_of(model: PreTrainedModel, inputs: dict[str, Tensor], **options: object) -> Tensor:
    """The loss of a head; without labels, or without a head, a sum over all that it says of tokens."""
    out = model(**inputs, **options)
    if "labels" in inputs:
        return out.loss
    if "logits" in out:
        return out.logits.square().sum()
    states = out.last_hidden_state
    if "attention_mask" in inputs and states.dim() == 3:
        states = states.masked_fill(inputs["attention_mask"].unsqueeze(-1) == 0, 0.0)
    return states.square().sum() + (0.0 if out.get("pooler_output") is None else out.pooler_output.square().sum())


def gradients(model: PreTrainedModel, inputs: dict[str, Tensor], **options: object) -> dict[str, Tensor]:
    """The gradient of every parameter."""
    model.zero_grad()
    loss_of(model, inputs, **options).backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def flat(values: Row) -> Tensor:
    """All numbers of the tensors in one vector on the CPU."""
    return torch.cat([value.float().cpu().flatten() for value in values.values()])


def ties(model: PreTrainedModel) -> set[frozenset[str]]:
    """The names that share one tensor."""
    names: dict[int, set[str]] = {}
    for name, value in model.named_parameters(remove_duplicate=False):
        names.setdefault(value.data_ptr(), set()).add(name)
    return {frozenset(group) for group in names.values() if len(group) > 1}


LOW = (torch.bfloat16, torch.float16)
ANGLES = (
    *("frequency", "phase", "damping", "log_modulus", "score_bias"),
    *(f"mixer.{name}" for name in Mamba3Mixer.full_precision),
)
STATISTICS = ("running_mean", "running_var")


def narrow(case: Case, dtype: torch.dtype) -> PreTrainedModel:
    """The shared model as it should be when it is loaded in a dtype: some tensors stay float32."""
    model = case.own()
    for name, parameter in model.named_parameters():
        if not name.endswith(ANGLES):
            parameter.data = parameter.data.to(dtype)
    for name, buffer in model.named_buffers():
        if buffer.is_floating_point() and not name.endswith(STATISTICS):
            buffer.data = buffer.data.to(dtype)
    model.config.dtype = dtype
    return model


def as_dtype(inputs: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """The inputs with their numbers in a dtype."""
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in inputs.items()}
