# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Command lines: made from configurations and from functions, and the arguments that all runs share."""

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache, partial
from typing import Any, ClassVar

import torch
from transformers import PreTrainedConfig, PreTrainedModel, Seq2SeqTrainingArguments

from ..models import (
    family_class,
)

__all__ = ["GivenArguments", "RunArguments", "arguments_of", "arguments_of_networks"]

_ENTRY = re.compile(r"^    ([a-z_]\w*(?:, [a-z_]\w*)*): (.*(?:\n     .*)*)", re.MULTILINE)


@dataclass(frozen=True)
class _Left:
    """What a field of a configuration has where it is left out: ``--help`` shows it, ``given()`` does not."""

    value: Any

    def __str__(self) -> str:
        return str(self.value)


class GivenArguments:
    """Base of what ``arguments_of`` makes."""

    sources: ClassVar[tuple[Any, ...]] = ()

    def given(self, source: Any = None) -> dict[str, Any]:
        """What to call a configuration or a function with; what a configuration has itself is left out.

        Args:
            source: one of several that the arguments were made from; None: all.
        """
        names = {name for each in self.sources if source in (None, each) for name in _fields(each)}
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if name in names and not isinstance(value, _Left)}


def arguments_of(
    *sources: Any, without: tuple[str, ...] = (), shown: Mapping[str, Any] | None = None, **defaults: Any
) -> type[GivenArguments]:
    """A dataclass for ``HfArgumentParser`` with the fields of configurations, or the arguments of functions.

    Type, default and help are those of the source; help is what its docstring, or that of a class it derives from,
    says under ``Args``. A number that may be None although its default is another takes the word ``none``. Left out
    are arguments without a default or of a kind that no word can give; and of configurations what all of Transformers'
    have or training arguments name too, inherited fields that the network never reads, the vocabulary's size and the
    ids of tokens, which come from a tokenizer.

    Args:
        *sources: configuration classes of the networks that the command line can choose from, or functions.
        without: more names to leave out.
        shown: of single fields, what ``--help`` shows in place of the source's own default; ``given()`` does not have
            them, so that what was given can be told from what was left out.
        **defaults: of single fields, in place of the source's own; ``given()`` has them.

    Example:
        >>> from complex_transformers import ComplexOrderConfig, arguments_of
        >>> arguments = arguments_of(ComplexOrderConfig, hidden_size=256)(phase="learned")
        >>> arguments.given()
        {'hidden_size': 256, 'phase': 'learned'}
    """
    defaults |= {name: _Left(value) for name, value in (shown or {}).items()}
    found: dict[str, list[Any]] = {}
    for source in sources:
        for name in _fields(source):
            if name not in without:
                found.setdefault(name, []).append(source)
    arguments = []
    for name, owners in found.items():
        kind, default = _fields(owners[0])[name]
        if any(_fields(owner)[name][1] != default for owner in owners):
            default = _Left("that of the network")
        default = defaults.get(name, default)
        text = next(filter(None, (_documented(owner).get(name) for owner in owners)), "")
        if len(owners) < len(sources) and inspect.isclass(owners[0]):
            text = f"of {', '.join(owner.model_type for owner in owners)}; {text}".removesuffix("; ")
        options: dict[str, Any] = {"metadata": {"help": text.replace("%", "%%")}}  # argparse fills in per cents
        # HfArgumentParser reads the default of a list from a factory alone, and that of others as it stands.
        is_list = typing.get_origin(kind) is list
        options |= {"default_factory": partial(lambda value: value, default)} if is_list else {"default": default}
        arguments.append((name, kind, field(**options)))
    names = ", ".join(f"``{source.__name__}``" for source in sources)
    namespace = {"sources": sources, "__doc__": f"Arguments of {names}, under the same names."}
    return make_dataclass("Arguments", arguments, bases=(GivenArguments,), namespace=namespace)


@cache
def _fields(source: Any) -> dict[str, tuple[Any, Any]]:
    """How each argument is read from a word, and its default."""
    if inspect.isclass(source):
        known = {*PreTrainedConfig.__dataclass_fields__, *Seq2SeqTrainingArguments.__dataclass_fields__}
        found = {each.name: (each.type, _Left(each.default)) for each in fields(source) if each.name not in known}  # type: ignore[arg-type]
        found = {name: value for name, value in found.items() if not name.endswith(("vocab_size", "_id"))}
    else:
        parameters = inspect.signature(source).parameters.values()
        optional = {each.name: each for each in parameters if each.default is not each.empty}
        annotations = {name: each.annotation for name, each in optional.items()}
        types_ = typing.get_type_hints(types.SimpleNamespace(__annotations__=annotations), source.__globals__)
        found = {name: (types_[name], each.default) for name, each in optional.items()}
    kinds = {name: _parser(kind, getattr(default, "value", default)) for name, (kind, default) in found.items()}
    return {name: (kind, found[name][1]) for name, kind in kinds.items() if kind is not None}


def arguments_of_networks(auto_class: str, *model_types: str, without: tuple[str, ...] = ()) -> type[GivenArguments]:
    """``arguments_of`` several families, and ``model_type``, which chooses among them; the first is the default.

    ``configuration(**fields)`` is that of the chosen family, and raises a ``ValueError`` for an unknown type and for
    an option that the family does not have; ``model(configuration)`` is a new model with random weights.

    Args:
        auto_class: ``AutoModelForSequenceClassification`` or another, which says what the model is for.
        *model_types: names of families.
        without: names of fields to leave out.
    """
    configs = {name: family_class(name, "AutoConfig") for name in model_types}

    def configuration(self: Any, **values: Any) -> PreTrainedConfig:
        if self.model_type not in configs:
            raise ValueError(f"--model_type must be one of {sorted(configs)}, got {self.model_type!r}")
        given, known = self.given(), configs[self.model_type].__dataclass_fields__
        if foreign := sorted(set(given) - set(known)):
            raise ValueError(f"--{foreign[0]} has no effect with --model_type {self.model_type}: leave it out")
        return configs[self.model_type](**given, **values)

    def model(self: Any, config: PreTrainedConfig) -> PreTrainedModel:
        return family_class(self.model_type, auto_class)(config)

    choice = field(default=model_types[0], metadata={"help": ", ".join(model_types)})
    return make_dataclass(
        "Arguments",
        [("model_type", str, choice)],
        bases=(arguments_of(*configs.values(), without=without),),
        namespace={
            "configuration": configuration,
            "model": model,
            "__doc__": "The network: fields of its configuration.",
        },
    )


def _number_or_none(kind: type) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        return None if text.lower() == "none" else kind(text)

    parse.__name__ = f"{kind.__name__} or none"  # argparse names it in its errors
    return parse


def _parser(kind: Any, default: Any) -> Any:
    """How an argument is read from a word: a type that ``HfArgumentParser`` knows, a function, or None for no way."""
    kinds = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    some = [each for each in kinds if each is not types.NoneType]
    if float in some:  # float | int: huggingface_hub takes no integer for a float
        some = [float]
    if typing.get_origin(some[0]) in (list, Sequence):
        return types.GenericAlias(list, typing.get_args(some[0]))
    optional = types.NoneType in kinds and default is not None
    if some[0] in (int, float):
        return _number_or_none(some[0]) if optional else some[0]
    return some[0] if some[0] in (bool, str) else None


@cache
def _documented(source: Any) -> dict[str, str]:
    """What the docstring of a function, or those of a class and its bases, say of each argument."""
    texts: dict[str, str] = {}
    for base in inspect.getmro(source) if inspect.isclass(source) else (source,):
        _, _, arguments = inspect.cleandoc(base.__doc__ or "").partition("\nArgs:\n")
        for names, text in _ENTRY.findall(re.split(r"\n\n?\S", arguments)[0]):
            for name in names.split(", "):
                texts.setdefault(name, " ".join(text.replace("``", "").split()).rstrip("."))
    return {name: text for name, text in texts.items() if not text.startswith(("as in ", "as well"))}


def own_default(name: str, value: Any, why: str) -> Any:
    """Return a field of Transformers' training arguments with another default; ``--help`` says why.

    Args:
        name: the training argument.
        value: the default of our scripts.
        why: the reason, for ``--help``.
    """
    (theirs,) = (each for each in fields(Seq2SeqTrainingArguments) if each.name == name)
    text = f"{theirs.metadata['help']} Transformers' default is {theirs.default}; here: {why}."
    return field(default=value, metadata={"help": text})


@dataclass
class RunArguments(Seq2SeqTrainingArguments):
    """``transformers.Seq2SeqTrainingArguments`` for small models; ``--help`` gives the reason for each other default.

    Where there is no GPU ``bf16`` trains on the CPU.

    Args:
        disable_tqdm: no progress bars; by default they are drawn on a terminal only.
        learning_rate: 1e-3.
        eval_strategy, save_strategy, logging_strategy, save_total_limit: every epoch; one checkpoint is kept.
        load_best_model_at_end: the best epoch by ``metric_for_best_model`` on the validation split.
        dataloader_pin_memory: only with a GPU.
        frequency_learning_rate, phase_learning_rate: of the frequencies and phases of embeddings, see
            ``optimizer_groups``.
        resume_from_checkpoint: a checkpoint, or ``last``: the newest in ``output_dir``, if there is one.
        early_stopping_patience: stop after this many evaluations without a better one.
        output_json: file of the results, by default ``results.json`` in ``output_dir``.
        do_train, do_eval, do_predict: a run always trains and then scores.

    Raises:
        ValueError: ``do_eval`` or ``do_predict`` without ``do_train``.
    """

    do_train: bool = field(default=False, metadata={"help": "a run always trains"})
    disable_tqdm: bool | None = field(default=None, metadata={"help": "default: where there is no terminal"})
    learning_rate: float = own_default("learning_rate", 1e-3, "small models train from scratch")
    frequency_learning_rate: float | None = field(default=None, metadata={"help": "default: learning_rate"})
    phase_learning_rate: float | None = field(default=None, metadata={"help": "default: learning_rate"})
    eval_strategy: str = own_default("eval_strategy", "epoch", "the best epoch is kept")
    save_strategy: str = own_default("save_strategy", "epoch", "the best epoch is kept")
    logging_strategy: str = own_default("logging_strategy", "epoch", "the training loss beside eval_loss")
    save_total_limit: int | None = own_default("save_total_limit", 1, "the best and the last checkpoint are kept")
    load_best_model_at_end: bool = own_default("load_best_model_at_end", True, "the best epoch is scored and saved")
    dataloader_pin_memory: bool = own_default(
        "dataloader_pin_memory", torch.cuda.is_available(), "pinning memory needs a GPU and warns without one"
    )
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "a checkpoint, or last: the newest in output_dir, if there is one"}
    )
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "stop after this many evaluations without a better validation part"}
    )
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})

    def __post_init__(self) -> None:
        if (self.do_eval or self.do_predict) and not self.do_train:
            raise ValueError(
                "do_eval and do_predict alone ask for no training, but a run always trains, and scores its parts at "
                f"the end: it would overwrite the model in {self.output_dir}. Leave them out, or use the saved model "
                "in a pipeline, or in a Trainer with evaluate and predict"
            )
        self.do_train = True
        self.chosen_metric = self.metric_for_best_model  # Transformers writes loss where none is chosen
        if self.disable_tqdm is None:
            self.disable_tqdm = not sys.stderr.isatty()
        if (self.bf16 or self.bf16_full_eval) and not torch.accelerator.is_available():
            self.use_cpu = True
        super().__post_init__()
