# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Command lines built from configurations and functions, and the arguments that all runs share."""

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

from ..data.extras import check_option
from ..models import family_class

__all__ = ["GivenArguments", "RunArguments", "arguments_of", "arguments_of_networks"]

_ENTRY = re.compile(r"^    ([a-z_]\w*(?:, [a-z_]\w*)*): (.*(?:\n     .*)*)", re.MULTILINE)


@dataclass(frozen=True)
class _ShownDefault:
    """A default that ``--help`` shows and ``given()`` leaves out."""

    value: Any

    def __str__(self) -> str:
        return str(self.value)


class GivenArguments:
    """Base class of the dataclasses that ``arguments_of`` returns."""

    sources: ClassVar[tuple[Any, ...]] = ()

    def given(self, source: Any = None) -> dict[str, Any]:
        """Return the keyword arguments for a configuration or function, without defaults of the configuration.

        Args:
            source: one of the sources of ``arguments_of``; None for all.
        """
        names = {name for each in self.sources if source in (None, each) for name in _fields(each)}
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {
            name: value for name, value in values.items() if name in names and not isinstance(value, _ShownDefault)
        }


def arguments_of(
    *sources: Any, without: tuple[str, ...] = (), shown: Mapping[str, Any] | None = None, **defaults: Any
) -> type[GivenArguments]:
    """Build a dataclass for ``HfArgumentParser`` from the fields of configurations or the arguments of functions.

    Type, default and help come from the source; the help is the ``Args`` section of its docstring or of a base class.
    An optional number with a default accepts ``none``. Arguments without a default, or of a type that has no
    command-line form, are left out. So are configuration fields that all of Transformers has, or that the training
    arguments also name, and vocabulary sizes and token ids, which come from a tokenizer.

    Args:
        *sources: configuration classes that the command line can choose from, or functions.
        without: more names to leave out.
        shown: defaults of single fields that only ``--help`` shows; ``given()`` leaves them out, so that explicit
            values can be recognized.
        **defaults: defaults of single fields in place of the source's own; ``given()`` includes them.

    Example:
        >>> from complex_transformers import ComplexOrderConfig, arguments_of
        >>> arguments = arguments_of(ComplexOrderConfig, hidden_size=256)(phase="learned")
        >>> arguments.given()
        {'hidden_size': 256, 'phase': 'learned'}
    """
    defaults |= {name: _ShownDefault(value) for name, value in (shown or {}).items()}
    found: dict[str, list[Any]] = {}
    for source in sources:
        for name in _fields(source):
            if name not in without:
                found.setdefault(name, []).append(source)
    arguments = []
    for name, owners in found.items():
        kind, default = _fields(owners[0])[name]
        if any(_fields(owner)[name][1] != default for owner in owners):
            default = _ShownDefault("default of the network")
        default = defaults.get(name, default)
        text = next(filter(None, (_documented(owner).get(name) for owner in owners)), "")
        if len(owners) < len(sources) and inspect.isclass(owners[0]):
            text = f"{', '.join(owner.model_type for owner in owners)}: {text}".removesuffix(": ")
        options: dict[str, Any] = {"metadata": {"help": text.replace("%", "%%")}}  # argparse formats percent signs
        # HfArgumentParser reads the default of a list from a factory only, and other defaults directly.
        is_list = typing.get_origin(kind) is list
        options |= {"default_factory": partial(lambda value: value, default)} if is_list else {"default": default}
        arguments.append((name, kind, field(**options)))
    names = ", ".join(f"``{source.__name__}``" for source in sources)
    namespace = {"sources": sources, "__doc__": f"Arguments of {names}, under the same names."}
    return make_dataclass("Arguments", arguments, bases=(GivenArguments,), namespace=namespace)


@cache
def _fields(source: Any) -> dict[str, tuple[Any, Any]]:
    """Return the parser and the default of each argument."""
    if inspect.isclass(source):
        known = {*PreTrainedConfig.__dataclass_fields__, *Seq2SeqTrainingArguments.__dataclass_fields__}
        found = {
            each.name: (each.type, _ShownDefault(each.default))
            for each in fields(source)  # type: ignore[arg-type]
            if each.name not in known
        }
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
    """Build the arguments of several families and of ``model_type``, which chooses one; the first is the default.

    ``configuration(**fields)`` returns the configuration of the chosen family and raises ``ValueError`` for an unknown
    type or an option of another family; ``model(configuration)`` returns a new model with random weights.

    Args:
        auto_class: the task, such as ``AutoModelForSequenceClassification``.
        *model_types: names of families.
        without: names of fields to leave out.
    """
    configs = {name: family_class(name, "AutoConfig") for name in model_types}

    def configuration(self: Any, **values: Any) -> PreTrainedConfig:
        check_option("--model_type", self.model_type, configs)
        given, known = self.given(), configs[self.model_type].__dataclass_fields__
        for name in sorted(set(given) - set(known)):
            raise ValueError(f"--{name} must be left out with --model_type {self.model_type}, got {given[name]!r}.")
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

    parse.__name__ = f"{kind.__name__} or none"  # argparse shows it in errors
    return parse


def _parser(kind: Any, default: Any) -> Any:
    """Return a type that ``HfArgumentParser`` knows, a function that parses a word, or None if there is none."""
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
    """Return the documentation of each argument in the docstrings of a function, or of a class and its bases."""
    texts: dict[str, str] = {}
    for base in inspect.getmro(source) if inspect.isclass(source) else (source,):
        _, _, arguments = inspect.cleandoc(base.__doc__ or "").partition("\nArgs:\n")
        for names, text in _ENTRY.findall(re.split(r"\n\n?\S", arguments)[0]):
            for name in names.split(", "):
                texts.setdefault(name, " ".join(text.replace("``", "").split()).rstrip("."))
    return {name: text for name, text in texts.items() if not text.startswith(("as in ", "as well"))}


def new_default(name: str, value: Any, why: str) -> Any:
    """Return a field of Transformers' training arguments with another default and its reason for ``--help``.

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
    """``transformers.Seq2SeqTrainingArguments`` with defaults for small models; ``--help`` gives the reasons.

    Without a GPU, ``bf16`` trains on the CPU.

    Args:
        disable_tqdm: no progress bars; by default only on a terminal.
        learning_rate: 1e-3.
        eval_strategy, save_strategy, logging_strategy, save_total_limit: every epoch; one checkpoint is kept.
        load_best_model_at_end: load the best epoch by ``metric_for_best_model`` on the validation split.
        dataloader_pin_memory: only with a GPU.
        frequency_learning_rate, phase_learning_rate: learning rates of the frequencies and phases of embeddings, see
            ``optimizer_groups``.
        resume_from_checkpoint: a checkpoint, or ``last``: the newest in ``output_dir``, if there is one.
        early_stopping_patience: stop after this many evaluations without an improvement.
        output_json: file of the results, by default ``results.json`` in ``output_dir``.
        do_train, do_eval, do_predict: have no effect together; a run always trains and then evaluates.

    Raises:
        ValueError: ``do_eval`` or ``do_predict`` without ``do_train``.
    """

    do_train: bool = field(default=False, metadata={"help": "a run always trains"})
    disable_tqdm: bool | None = field(default=None, metadata={"help": "default: unless on a terminal"})
    learning_rate: float = new_default("learning_rate", 1e-3, "small models train from scratch")
    frequency_learning_rate: float | None = field(default=None, metadata={"help": "default: learning_rate"})
    phase_learning_rate: float | None = field(default=None, metadata={"help": "default: learning_rate"})
    eval_strategy: str = new_default("eval_strategy", "epoch", "the best epoch is kept")
    save_strategy: str = new_default("save_strategy", "epoch", "the best epoch is kept")
    logging_strategy: str = new_default("logging_strategy", "epoch", "the training loss beside eval_loss")
    save_total_limit: int | None = new_default("save_total_limit", 1, "the best and the last checkpoint are kept")
    load_best_model_at_end: bool = new_default("load_best_model_at_end", True, "the best epoch is scored and saved")
    dataloader_pin_memory: bool = new_default(
        "dataloader_pin_memory", torch.cuda.is_available(), "pinning memory needs a GPU and warns without one"
    )
    resume_from_checkpoint: str | None = field(
        default=None, metadata={"help": "a checkpoint, or last: the newest in output_dir, if there is one"}
    )
    early_stopping_patience: int | None = field(
        default=None,
        metadata={"help": "stop after this many evaluations without an improvement on validation"},
    )
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})

    def __post_init__(self) -> None:
        if (self.do_eval or self.do_predict) and not self.do_train:
            raise ValueError(
                f"do_train must be True, got False: a run trains and overwrites {self.output_dir}. Evaluate a saved "
                "model with a Trainer or pipeline."
            )
        self.do_train = True
        self.chosen_metric = self.metric_for_best_model  # Transformers sets it to loss if none is chosen
        if self.disable_tqdm is None:
            self.disable_tqdm = not sys.stderr.isatty()
        if (self.bf16 or self.bf16_full_eval) and not torch.accelerator.is_available():
            self.use_cpu = True
        super().__post_init__()
