# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Text in, text out: the task of every encoder-decoder model of text, such as a translator."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset, IterableDataset
from transformers import GenerationConfig
from transformers.pipelines.base import Pipeline

from ..models.base.generation import learned_positions
from ..models.base.hub import TEXT_TO_TEXT_TASK

__all__ = ["TextToTextPipeline"]

# New tokens at most, where neither the caller nor the model's generation configuration says how many.
_DEFAULT_NEW_TOKENS = 256
# The arguments of a call, by stage; all others are those of `generate`.
_PARAMETERS = (
    ("truncation",),
    ("return_scores",),
    ("return_text", "return_tensors", "return_relations", "skip_special_tokens", "clean_up_tokenization_spaces"),
)
# Transformers writes "no limit" as a model_max_length beyond this.
_NO_LIMIT = int(1e20)


class _Numbered(NamedTuple):
    """A text with its place in the input, for errors that name it."""

    number: int
    text: Any


class _NumberedTexts:
    """A data set or list of texts, each with its number."""

    def __init__(self, texts: Any) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, number: int) -> _Numbered:
        return _Numbered(number, self.texts[number])


class _Outputs:
    """The outputs of a pipeline, made when asked for; ``finish`` is called after the last one asked for."""

    def __init__(self, outputs: Any, texts: Any, finish: Callable[[], None]) -> None:
        self.outputs, self.texts, self.finish = outputs, texts, finish

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        try:
            yield from self.outputs
        finally:
            self.finish()


def _name(number: int | None) -> str:
    return "the text" if number is None else f"text {number}"


def _check_text(text: Any, number: int | None) -> None:
    if not isinstance(text, str):
        raise TypeError(
            f"{_name(number)} is not a string but {type(text).__name__}: {text!r}; pass strings, or one column of a "
            "data set: KeyDataset(dataset, 'text')"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{_name(number)} holds half of a surrogate pair at character {error.start}: {text!r}"
        ) from None
    if not text.strip():
        raise ValueError(f"{_name(number)} is empty or only white space: {text!r}; leave out empty texts")


def _beginning(sequences: torch.Tensor, given: torch.Tensor | None) -> int:
    """Tokens of ``sequences [rows, T]`` that were not generated: the first, or the beginning that was given."""
    if given is None:
        return 1
    length = given.shape[1]  # Transformers puts the first token before a beginning that lacks it
    return length + (not torch.equal(sequences[0, :length].cpu(), given[0].cpu()))


def _ends(
    sequences: torch.Tensor, start: int, eos_token_id: int | list[int] | None, pad_token_id: int | None
) -> torch.Tensor:
    """Length of each sequence ``[rows, T]`` without its padding: the end token included, pads behind it not.

    Only what is behind the ``start`` first tokens can be an end: the token that starts the decoder may be one itself.
    """
    tokens = sequences[:, start:]
    eos = torch.tensor([] if eos_token_id is None else eos_token_id, device=tokens.device, dtype=tokens.dtype)
    is_end = torch.isin(tokens, eos)
    padding = is_end.cumsum(1) > is_end.long()
    if pad_token_id is not None:
        padding |= tokens.eq(pad_token_id).flip(1).cumprod(1).flip(1).bool() & ~is_end
    return start + (~padding).sum(1)


def _mean_log_probabilities(
    logits: Sequence[torch.Tensor], sequences: torch.Tensor, ends: torch.Tensor, length_penalty: float
) -> torch.Tensor:
    """Sum of the log probabilities of the tokens generated, divided by their number to the power of the penalty.

    ``logits`` are those of each step, ``[rows, V]``; the result is ``[rows]``.
    """
    start = sequences.shape[1] - len(logits)
    steps = [
        step.float().log_softmax(-1).gather(1, sequences[:, start + i, None].to(step.device))
        for i, step in enumerate(logits)
    ]
    counts = (ends.to(steps[0].device) - start).clamp(min=1)
    generated = torch.arange(len(steps), device=counts.device) < counts[:, None]
    return torch.cat(steps, 1).where(generated, 0.0).sum(1) / counts**length_penalty


class TextToTextPipeline(Pipeline):
    """Text to text with an encoder-decoder model: ``pipeline("complex-text2text", model=..., tokenizer=...)``.

    Any model of ``AutoModelForSeq2SeqLM`` will do, of this package or of Transformers. A call takes a string, a list,
    one column of a data set, a generator or another iterable of strings. It returns a list of dicts for each text, one
    dict for each of the ``num_return_sequences``. Lists are answered by a list, ``KeyDataset`` and iterables one by
    one while the answer is read.

    Arguments of ``generate()`` count by name before those of a ``generation_config`` passed along, and these before
    those of the model; without a length anywhere, ``max_new_tokens`` is 256, or the number of positions that the model
    has learned where that is less.

    A model whose texts need more than a tokenizer brings a processor in its folder: ``processor(text=...)`` gives the
    features of one text, and its ``pad``, with the arguments of ``tokenizer.pad``, makes the batch where it has one.
    A subclass can change ``encode`` and ``collate`` instead.

    Args:
        model: an encoder-decoder model that can generate.
        tokenizer: of source and target; a pad token is needed for ``batch_size`` above 1.
        batch_size: texts that go through the model at once; also an argument of a call, like all below.
        truncation: cut texts beyond ``tokenizer.model_max_length`` or the learned positions, with one warning for each
            call, instead of raising.
        return_text: give ``generated_text``; true unless ``return_tensors`` is asked for alone.
        return_tensors: give ``generated_token_ids``, a list from the token that starts the decoder to the end token.
        return_scores: give ``score``. With beams it is ``sequences_scores`` of ``generate()``. Without, it is the same
            formula: the sum of the log probabilities of the tokens generated, the end token included, over their
            number to the power of ``length_penalty`` (1 where not set). The probabilities are the model's own, before
            temperature, top-k and the like, so scores of samples can be compared.
        return_relations: give ``generated_words`` and ``generated_relations``, the dependency relation of each, of a
            model that writes relations (``SynCoNMT`` with its processor).
        skip_special_tokens: leave special tokens out of the text; true where not given.
        clean_up_tokenization_spaces: passed on to ``tokenizer.decode``.

    Raises:
        ValueError: a model that has no decoder, no first token for it, or no tokenizer; an empty text; one that is too
            long; both ``return_text`` and ``return_tensors`` false; ``return_relations`` of a model that has none.
        TypeError: a text that is not a string.
    """

    _load_tokenizer = True
    _load_processor = None
    _load_feature_extractor = False
    _load_image_processor = False
    _load_video_processor = False
    # How Transformers keeps arguments of generate() for a pipeline differs between its versions: all stay in
    # _sanitize_parameters, and _generation_config puts them together.
    _pipeline_calls_generate = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = type(self.model).__name__
        if not getattr(self.model.config, "is_encoder_decoder", False) or not self.model.can_generate():
            raise ValueError(
                f"{name} cannot turn text into text: {TEXT_TO_TEXT_TASK!r} needs an encoder-decoder model that can "
                "generate, as AutoModelForSeq2SeqLM loads them"
            )
        if self.tokenizer is None:
            raise ValueError(
                f"{TEXT_TO_TEXT_TASK!r} needs a tokenizer: pass tokenizer=..., or a processor that has one"
            )
        config, _ = self._generation_config(self._forward_params)
        if config.decoder_start_token_id is None and config.bos_token_id is None:
            raise ValueError(
                f"{name} has no first token for its decoder: set model.generation_config.decoder_start_token_id (or "
                "bos_token_id), or pass decoder_start_token_id=... to pipeline()"
            )

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        for_input, for_scores, for_output = (
            {name: value for name in names if (value := kwargs.pop(name, None)) is not None} for names in _PARAMETERS
        )
        if for_output.get("return_text") is False and for_output.get("return_tensors") is False:
            raise ValueError("return_text and return_tensors are both False: nothing would be returned; set one")
        if (truncation := for_input.get("truncation")) not in (None, True, False):
            raise ValueError(f"truncation must be True or False, got {truncation!r}")
        if for_output.get("return_relations") and not self._writes_relations():
            raise ValueError(
                f"return_relations=True needs a model that writes relations, with its processor, but "
                f"{type(self.model).__name__} gives words alone"
            )
        return for_input, {**kwargs, **for_scores}, for_output

    def __call__(self, inputs: str | Iterable[str], **kwargs: Any) -> Any:
        """The texts generated for ``inputs``; ``kwargs`` as in the class and ``generate()``."""
        if isinstance(inputs, Sequence) and not isinstance(inputs, (str, bytes)):
            inputs = list(inputs)
            for number, text in enumerate(inputs):  # before hours of work, not after
                _check_text(text, number)
        elif not isinstance(inputs, (str, Dataset)):
            if not isinstance(inputs, Iterable) or isinstance(inputs, (bytes, Mapping)):
                raise TypeError(
                    f"texts must be a string or an iterable of strings, got {type(inputs).__name__}: {inputs!r}"
                    + ("; give what is in it: the text, or a list of texts" if isinstance(inputs, Mapping) else "")
                )
            inputs = (text for text in inputs)
        if isinstance(inputs, Sized) and len(inputs) == 0 and not isinstance(inputs, str):
            return []
        return super().__call__(inputs, **kwargs)

    # The parameters of `postprocess` come last; it notes the length of every text.

    def run_single(self, inputs: Any, *params: Any) -> list[dict[str, Any]]:
        """As in Transformers; one warning if the text was cut."""
        lengths: list[int] = []
        outputs = super().run_single(inputs, *params[:-1], {**params[-1], "source_lengths": lengths})
        self._warn_of_cuts(lengths)
        return outputs

    def get_iterator(self, inputs: Any, *params: Any) -> _Outputs:
        """As in Transformers, with the number of each text for errors; one warning for all texts that were cut."""
        indexed = isinstance(inputs, Sized) and not isinstance(inputs, IterableDataset)
        texts = _NumberedTexts(inputs) if indexed else (_Numbered(i, text) for i, text in enumerate(inputs))
        lengths: list[int] = []
        outputs = super().get_iterator(texts, *params[:-1], {**params[-1], "source_lengths": lengths})
        return _Outputs(outputs, inputs, lambda: self._warn_of_cuts(lengths))

    def encode(self, text: str, **options: Any) -> dict[str, Any]:
        """Features of one text for ``collate``: lists of one entry for each token, ``input_ids`` among them.

        ``options`` are ``truncation`` and ``max_length``, where the text has to be cut.
        """
        if self.processor is None:
            options |= {"return_attention_mask": True, "return_token_type_ids": False, "verbose": False}
            return dict(self.tokenizer(text, **options))
        return dict(self.processor(text=text, **options))

    def collate(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Inputs of the model for a batch of ``features``, each from ``encode``.

        Padding is on the right whatever the tokenizer's side: on the left it moves the positions of many encoders.
        """
        pad = getattr(self.processor, "pad", self.tokenizer.pad)
        batch = dict(pad(features, padding=len(features) > 1, padding_side="right", return_tensors="pt"))
        if not getattr(self.model.config, "use_relations", True):  # a twin of words alone
            batch.pop("relation_ids", None)  # of a processor; a tokenizer has none
        return batch

    def preprocess(self, input_: Any, truncation: bool = False) -> dict[str, Any]:
        """Features of one text and its number of tokens; errors name the text."""
        number, text = input_ if isinstance(input_, _Numbered) else (None, input_)
        _check_text(text, number)
        try:
            features = self.encode(text)
        except ValueError as error:  # a processor knows this text alone, not its place
            raise ValueError(f"{_name(number)}: {error}") from error
        length = len(features["input_ids"])
        if length == 0:
            raise ValueError(f"{_name(number)} has no token in this vocabulary: {text!r}; leave it out")
        limit, reason = self._source_limit()
        if limit is not None and length > limit:
            if not truncation:
                raise ValueError(
                    f"{_name(number)} has {length} tokens, but {reason} is {limit}: split it, or pass truncation=True "
                    f"to cut it to {limit} tokens"
                )
            features = self.encode(text, truncation=True, max_length=limit)
        return {"features": features, "source_length": length}

    def _forward(
        self, model_inputs: dict[str, Any], return_scores: bool = False, **generate_kwargs: Any
    ) -> dict[str, Any]:
        features = model_inputs["features"]
        features = features if isinstance(features, list) else [features]
        inputs = self._ensure_tensor_on_device(self.collate(features), self.device)
        config, others = self._generation_config(generate_kwargs)
        beams = (config.num_beams or 1) > 1
        config.return_dict_in_generate = True
        config.output_scores, config.output_logits = return_scores and beams, return_scores and not beams
        if config.stop_strings is not None:
            others["tokenizer"] = self.tokenizer
        output = self.model.generate(**inputs, **others, generation_config=config)
        start = _beginning(output.sequences, others.get("decoder_input_ids"))
        ends = _ends(output.sequences, start, config.eos_token_id, config.pad_token_id)
        rows = {"sequences": output.sequences, "ends": ends}
        if getattr(output, "relations", None) is not None:
            rows["relations"] = output.relations
        if return_scores and beams:
            rows["scores"] = output.sequences_scores
        elif return_scores:
            penalty = 1.0 if config.length_penalty is None else config.length_penalty
            rows["scores"] = _mean_log_probabilities(output.logits, output.sequences, ends, penalty)
        by_text = {name: value.reshape(len(features), -1, *value.shape[1:]) for name, value in rows.items()}
        return {**by_text, "source_length": model_inputs["source_length"]}

    def postprocess(
        self,
        model_outputs: dict[str, Any],
        return_text: bool | None = None,
        return_tensors: bool | None = None,
        return_relations: bool = False,
        skip_special_tokens: bool = True,
        clean_up_tokenization_spaces: bool | None = None,
        source_lengths: list[int] | None = None,
    ) -> list[dict[str, Any]]:
        """One record for each sequence of a text; the length of the text goes to ``source_lengths``."""
        if source_lengths is not None:
            source_lengths.append(model_outputs["source_length"])
        with_text = not return_tensors if return_text is None else return_text
        columns = {name: value[0].tolist() for name, value in model_outputs.items() if name != "source_length"}
        records = []
        for row, (sequence, end) in enumerate(zip(columns["sequences"], columns["ends"], strict=True)):
            record: dict[str, Any] = {}
            if with_text:
                record["generated_text"] = self.tokenizer.decode(
                    sequence[1:end],
                    skip_special_tokens=skip_special_tokens,
                    clean_up_tokenization_spaces=clean_up_tokenization_spaces,
                )
            if return_tensors or not with_text:
                record["generated_token_ids"] = sequence[:end]
            if return_relations:
                relations = columns["relations"][row][:end]
                (decoded,) = self.processor.decode_with_relations([sequence[:end]], [relations])
                record["generated_words"], record["generated_relations"] = decoded["tokens"], decoded["relations"]
            if "scores" in columns:
                record["score"] = columns["scores"][row]
            records.append(record)
        return records

    def _generation_config(self, generate_kwargs: Mapping[str, Any]) -> tuple[GenerationConfig, dict[str, Any]]:
        """All arguments of ``generate()`` in one configuration, and those that do not belong into one."""
        others = dict(generate_kwargs)
        own = self.model.generation_config
        given = others.pop("generation_config", None)
        config = copy.deepcopy(own if given is None else given)
        if given is not None:
            config.update(**own.to_dict(), defaults_only=True, allow_custom_entries=True)
        others = config.update(**others)
        if config.max_length is None and config.max_new_tokens is None:
            config.max_new_tokens = _DEFAULT_NEW_TOKENS
            if (positions := learned_positions(self.model)) is not None:
                begun = others.get("decoder_input_ids")
                left = positions - (0 if begun is None else begun.shape[-1])
                config.max_new_tokens = max(1, min(_DEFAULT_NEW_TOKENS, left))
        if config.pad_token_id is None:
            config.pad_token_id = self.tokenizer.pad_token_id
        return config, others

    def _writes_relations(self) -> bool:
        """Whether ``generate()`` has relations, and a processor to name them."""
        return hasattr(self.processor, "decode_with_relations") and getattr(self.model.config, "use_relations", False)

    def _source_limit(self) -> tuple[int | None, str]:
        """The most tokens a source may have, if there is a limit, and what sets it."""
        limits = []
        if self.tokenizer.model_max_length < _NO_LIMIT:
            limits.append((self.tokenizer.model_max_length, "tokenizer.model_max_length"))
        if (positions := learned_positions(self.model)) is not None:
            limits.append((positions, "config.max_position_embeddings"))
        return min(limits, default=(None, ""))

    def _warn_of_cuts(self, lengths: list[int]) -> None:
        limit, reason = self._source_limit()
        if limit is None or not (cut := [length for length in lengths if length > limit]):
            return
        warnings.warn(
            f"{len(cut)} of {len(lengths)} texts were cut to {limit} tokens ({reason}); the longest had {max(cut)}",
            stacklevel=2,
        )
