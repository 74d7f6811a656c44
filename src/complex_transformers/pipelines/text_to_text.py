# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The pipeline of encoder-decoder models for text, such as translators."""

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

# Limit of new tokens if neither the caller nor the model's generation configuration sets one.
_DEFAULT_NEW_TOKENS = 256
# Arguments of a call by stage (preprocess, forward, postprocess); all others go to `generate`.
_PARAMETERS = (
    ("truncation",),
    ("return_scores",),
    ("return_text", "return_tensors", "return_relations", "skip_special_tokens", "clean_up_tokenization_spaces"),
)
# Transformers writes "no limit" as a model_max_length beyond this.
_NO_LIMIT = int(1e20)


class _Numbered(NamedTuple):
    """A text with its index in the input, for error messages."""

    number: int
    text: Any


class _NumberedTexts:
    """A data set or list of texts, each with its index."""

    def __init__(self, texts: Any) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, number: int) -> _Numbered:
        return _Numbered(number, self.texts[number])


class _Outputs:
    """The outputs of a pipeline, computed lazily; ``finish`` is called after the last one that is read."""

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
            f"{_name(number)} must be a string, got {type(text).__name__}: {text!r:.80}. Pass strings, or one column: "
            "KeyDataset(dataset, 'text')."
        )
    if not text.strip():
        raise ValueError(f"{_name(number)} must have more than white space, got {text!r}. Remove empty texts.")


def _prompt_length(sequences: torch.Tensor, given: torch.Tensor | None) -> int:
    """Return the number of given tokens in ``sequences [rows, T]``: the start token, or the decoder prompt."""
    if given is None:
        return 1
    length = given.shape[1]  # Transformers puts the start token before a prompt that lacks it
    return length + (not torch.equal(sequences[0, :length].cpu(), given[0].cpu()))


def _ends(
    sequences: torch.Tensor, start: int, eos_token_id: int | list[int] | None, pad_token_id: int | None
) -> torch.Tensor:
    """Return the length of each sequence ``[rows, T]`` up to and including its end token, without padding.

    End tokens among the first ``start`` tokens do not count: the decoder's start token may be an end token.
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
    """Return the summed log probability of the generated tokens over their number to the power of the penalty.

    ``logits`` holds ``[rows, V]`` for each step; the result is ``[rows]``.
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

    Works with any ``AutoModelForSeq2SeqLM``, of this package or of Transformers. A call takes a string, a list, one
    column of a data set, a generator or another iterable of strings. It returns a list of dicts for each text, one
    for each of the ``num_return_sequences``. A list returns a list; ``KeyDataset`` and iterables return an iterator.

    Arguments of ``generate()`` override a ``generation_config`` passed along, which overrides the model's own. Without
    any length, ``max_new_tokens`` is 256, or the number of learned positions if that is less.

    If the model's folder has a processor, ``processor(text=...)`` encodes one text, and its ``pad``, if it has one,
    makes the batch. A subclass can change ``encode`` and ``collate`` instead.

    Args:
        model: an encoder-decoder model that can generate.
        tokenizer: tokenizer of source and target; ``batch_size`` above 1 needs a pad token.
        batch_size: number of texts per forward pass; like all arguments below, also accepted by a call.
        truncation: cut texts beyond ``tokenizer.model_max_length`` or the learned positions, with one warning per
            call, instead of raising.
        return_text: return ``generated_text``; default true, unless only ``return_tensors`` is given.
        return_tensors: return ``generated_token_ids``, a list from the decoder's start token to the end token.
        return_scores: return ``score``. With beams it is ``sequences_scores`` of ``generate()``; without beams it has
            the same formula: the sum of the log probabilities of the generated tokens, end token included, over their
            number to the power of ``length_penalty`` (default 1). The probabilities are taken before temperature,
            top-k etc., so scores of samples are comparable.
        return_relations: return ``generated_words`` and ``generated_relations``, the dependency relation of each word
            (``SynCoNMT`` with its processor).
        skip_special_tokens: leave special tokens out of the text; default true.
        clean_up_tokenization_spaces: argument of ``tokenizer.decode``.

    Raises:
        ValueError: the model has no decoder, no start token or no tokenizer; a text is empty or too long; or
            ``return_relations`` is given for a model without relations.
        TypeError: a text is not a string.
    """

    _load_tokenizer = True
    _load_processor = None
    _load_feature_extractor = False
    _load_image_processor = False
    _load_video_processor = False
    # Transformers' own handling of generate() arguments would copy them into the model's configuration:
    # _generation_config merges them for each call instead.
    _pipeline_calls_generate = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = type(self.model).__name__
        if not getattr(self.model.config, "is_encoder_decoder", False) or not self.model.can_generate():
            raise ValueError(
                f"model must be an encoder-decoder that can generate for {TEXT_TO_TEXT_TASK!r}, got {name}. Load one "
                "with AutoModelForSeq2SeqLM."
            )
        if self.tokenizer is None:
            raise ValueError(f"tokenizer must be given for {TEXT_TO_TEXT_TASK!r}, got None. Or pass a processor.")
        config, _ = self._generation_config(self._forward_params)
        if config.decoder_start_token_id is None and config.bos_token_id is None:
            raise ValueError(
                f"decoder_start_token_id must be set, got None for {name}. Set "
                "model.generation_config.decoder_start_token_id or pass it to pipeline()."
            )

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        for_input, for_scores, for_output = (
            {name: value for name in names if (value := kwargs.pop(name, None)) is not None} for names in _PARAMETERS
        )
        if for_output.get("return_relations") and not self._generates_relations():
            raise ValueError(
                f"return_relations must be False for {type(self.model).__name__} without relations, got True"
            )
        return for_input, {**kwargs, **for_scores}, for_output

    def __call__(self, inputs: str | Iterable[str], **kwargs: Any) -> Any:
        """Generate texts for ``inputs``; ``kwargs`` are arguments of the class or of ``generate()``."""
        if isinstance(inputs, Sequence) and not isinstance(inputs, (str, bytes)):
            inputs = list(inputs)
            for number, text in enumerate(inputs):  # before the first batch, not hours later
                _check_text(text, number)
        elif not isinstance(inputs, (str, Dataset)):
            if not isinstance(inputs, Iterable) or isinstance(inputs, (bytes, Mapping)):
                raise TypeError(
                    f"inputs must be a string or an iterable of strings, got {type(inputs).__name__}: {inputs!r:.80}"
                )
            inputs = (text for text in inputs)
        if isinstance(inputs, Sized) and len(inputs) == 0 and not isinstance(inputs, str):
            return []
        return super().__call__(inputs, **kwargs)

    # The parameters of `postprocess` come last; it appends the length of every text to `source_lengths`.

    def run_single(self, inputs: Any, *params: Any) -> list[dict[str, Any]]:
        """Run one text; warn if it was cut."""
        lengths: list[int] = []
        outputs = super().run_single(inputs, *params[:-1], {**params[-1], "source_lengths": lengths})
        self._warn_of_cuts(lengths)
        return outputs

    def get_iterator(self, inputs: Any, *params: Any) -> _Outputs:
        """Number the texts for error messages; warn once for all texts that were cut."""
        indexed = isinstance(inputs, Sized) and not isinstance(inputs, IterableDataset)
        texts = _NumberedTexts(inputs) if indexed else (_Numbered(i, text) for i, text in enumerate(inputs))
        lengths: list[int] = []
        outputs = super().get_iterator(texts, *params[:-1], {**params[-1], "source_lengths": lengths})
        return _Outputs(outputs, inputs, lambda: self._warn_of_cuts(lengths))

    def encode(self, text: str, **options: Any) -> dict[str, Any]:
        """Encode one text: ``input_ids`` and other lists with one entry for each token.

        ``options`` are ``truncation`` and ``max_length`` if the text must be cut.
        """
        if self.processor is None:
            options |= {"return_attention_mask": True, "return_token_type_ids": False, "verbose": False}
            return dict(self.tokenizer(text, **options))
        return dict(self.processor(text=text, **options))

    def collate(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Make a batch of ``features``, each from ``encode``.

        Pads on the right whatever the tokenizer's side: left padding shifts the positions of many encoders.
        """
        pad = getattr(self.processor, "pad", self.tokenizer.pad)
        batch = dict(pad(features, padding=len(features) > 1, padding_side="right", return_tensors="pt"))
        if not getattr(self.model.config, "use_relations", True):  # a model without relations
            batch.pop("relation_ids", None)
        return batch

    def preprocess(self, input_: Any, truncation: bool = False) -> dict[str, Any]:
        """Encode one text and count its tokens; errors name the text by its index."""
        number, text = input_ if isinstance(input_, _Numbered) else (None, input_)
        _check_text(text, number)
        try:
            features = self.encode(text)
        except ValueError as error:  # a processor does not know the index of the text
            raise ValueError(f"{_name(number)}: {error}") from error
        length = len(features["input_ids"])
        if length == 0:
            raise ValueError(f"{_name(number)} must have a token of the vocabulary, got {text!r}. Remove it.")
        limit, reason = self._source_limit()
        if limit is not None and length > limit:
            if not truncation:
                raise ValueError(
                    f"{_name(number)} must have at most {limit} tokens ({reason}), got {length}. Split it or pass "
                    "truncation=True."
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
        start = _prompt_length(output.sequences, others.get("decoder_input_ids"))
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
        """Return one record for each generated sequence; append the length of the text to ``source_lengths``."""
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
        """Merge the arguments of ``generate()`` into one configuration; return it and the arguments left over."""
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
                prompt = others.get("decoder_input_ids")
                left = positions - (0 if prompt is None else prompt.shape[-1])
                config.max_new_tokens = max(1, min(_DEFAULT_NEW_TOKENS, left))
        if config.pad_token_id is None:
            config.pad_token_id = self.tokenizer.pad_token_id
        return config, others

    def _generates_relations(self) -> bool:
        """Return whether the model generates relations and the processor can decode them."""
        return hasattr(self.processor, "decode_with_relations") and getattr(self.model.config, "use_relations", False)

    def _source_limit(self) -> tuple[int | None, str]:
        """Return the largest number of source tokens, or None, and the name of the setting that limits it."""
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
