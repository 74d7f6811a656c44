# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Train a spaCy pipeline (tagger and dependency parser) on CoNLL-U files, on the CPU.

The best epoch is chosen by LAS on the validation split; the test split, if there is one, is parsed once at the end.

    complex-transformers run train-parser --language en --train_file train.conllu \
        --validation_file dev.conllu --test_file test.conllu --output_dir outputs/parser-en
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import HfArgumentParser

from ...data.extras import install_command
from ...data.syntax import read_conllu
from ..records import command_line, write_results

try:
    import spacy
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.training import Example
    from spacy.training.batchers import minibatch_by_words
    from spacy.util import compounding, fix_random_seed
    from thinc.api import Optimizer
except ModuleNotFoundError as error:
    raise ImportError(f"training a parser needs {error.name}. {install_command('train', 'syntax')}") from error

SEGMENTERS = ("char", "jieba", "pkuseg")
PACKAGES = {"ja": "spacy[ja]", "ko": "spacy[ko]", "th": "spacy[th]", "vi": "pyvi"}  # of languages without spaces
METRICS = ("upos", "uas", "las")
# Tagger and parser read one tok2vec. {width} and {depth} are options.
COMPONENTS = """
[tok2vec]
[tok2vec.model]
@architectures = "spacy.Tok2Vec.v2"
[tok2vec.model.embed]
@architectures = "spacy.MultiHashEmbed.v2"
width = {width}
attrs = ["NORM", "PREFIX", "SUFFIX", "SHAPE"]
rows = [5000, 1000, 2500, 2500]
include_static_vectors = false
[tok2vec.model.encode]
@architectures = "spacy.MaxoutWindowEncoder.v2"
width = {width}
depth = {depth}
window_size = 1
maxout_pieces = 3
[tagger]
[tagger.model]
@architectures = "spacy.Tagger.v2"
[tagger.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = {width}
[parser]
min_action_freq = {min_label_frequency}
[parser.model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "parser"
extra_state_tokens = false
hidden_width = 64
maxout_pieces = 2
use_upper = true
[parser.model.tok2vec]
@architectures = "spacy.Tok2VecListener.v1"
width = {width}
"""


@dataclass
class Arguments:
    """Command line options: data, network and training."""

    language: str = field(metadata={"help": "language of spaCy's tokenizer: en, de, zh, ..., or xx for any"})
    train_file: list[str] = field(metadata={"help": "CoNLL-U, also .gz; several are concatenated"})
    validation_file: list[str] | None = field(default=None, metadata={"help": "chooses the epoch"})
    validation_split: float = field(
        default=0.1, metadata={"help": "share of the training sentences held out without --validation_file"}
    )
    test_file: list[str] | None = None
    output_dir: str = "outputs/parser"
    output_json: str | None = field(default=None, metadata={"help": "default: results.json in output_dir"})
    segmenter: str | None = field(default=None, metadata={"help": "word segmenter of Chinese: char, jieba or pkuseg"})
    contractions: str = field(default="merge", metadata={"help": "merge contractions like zum, or split"})
    max_train_sentences: int | None = field(default=None, metadata={"help": "use only the first ones"})
    sentences_per_text: int = field(
        default=1,
        metadata={"help": "N: up to N neighbours form one training text, so the parser learns sentence ends"},
    )
    min_label_frequency: int = field(default=10, metadata={"help": "rarer relations become dep"})
    width: int = 96
    depth: int = 4
    dropout: float = 0.1
    learning_rate: float = 1e-3
    epochs: int = 10
    max_steps: int | None = None
    patience: int | None = field(default=None, metadata={"help": "stop after this many epochs without a better LAS"})
    batch_words: int = field(default=1000, metadata={"help": "final batch size; the first ones have 100"})
    seed: int = 0

    def __post_init__(self) -> None:
        counts = ("width", "depth", "epochs", "batch_words", "max_steps", "max_train_sentences", "patience")
        for name in (*counts, "sentences_per_text"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, got {value}.")
        if self.segmenter is not None and (self.language != "zh" or self.segmenter not in SEGMENTERS):
            raise ValueError(
                f"--segmenter must be one of {list(SEGMENTERS)} with --language zh, got {self.segmenter!r} for "
                f"{self.language!r}."
            )


def blank_pipeline(language: str, segmenter: str | None) -> Language:
    """Return a blank pipeline: the tokenizer of a language."""
    config = {} if segmenter is None else {"nlp": {"tokenizer": {"segmenter": segmenter}}}
    try:
        return spacy.blank(language, config=config)
    except ImportError as error:
        remedy = "--language xx splits at spaces and punctuation"
        if (package := PACKAGES.get(language, segmenter)) is not None:
            remedy = f"pip install {package}"
        raise ImportError(f"--language {language}: {error}; {remedy}") from error


def read_sentences(paths: Iterable[str], contractions: str, limit: int | None = None) -> list[dict[str, Any]]:
    """Read the non-empty sentences of several files."""
    sentences = (sentence for path in paths for sentence in read_conllu(path, contractions) if sentence["tokens"])
    read = list(islice(sentences, limit))
    if not read:
        raise ValueError(f"files must have at least one sentence, got none in {list(paths)}.")
    return read


def read_training_sentences(args: Arguments) -> dict[str, list[dict[str, Any]]]:
    """Return ``train`` and ``validation``: their files, or a random share of the training sentences."""
    train = read_sentences(args.train_file, args.contractions, args.max_train_sentences)
    if args.validation_file is not None:
        return {"train": train, "validation": read_sentences(args.validation_file, args.contractions)}
    count = round(args.validation_split * len(train))
    if not 0 < count < len(train):
        raise ValueError(
            f"--validation_split must leave sentences in both splits, got {args.validation_split} of {len(train)}. "
            "Use --validation_file."
        )
    order = list(range(len(train)))
    random.Random(args.seed).shuffle(order)
    kept = order[count:] if args.sentences_per_text == 1 else sorted(order[count:])  # neighbours are joined to texts
    return {"train": [train[index] for index in kept], "validation": [train[index] for index in order[:count]]}


def texts_of(sentences: list[dict[str, Any]], limit: int, seed: int) -> list[dict[str, Any]]:
    """Join neighbouring sentences to texts of 1 to ``limit`` sentences; each keeps its tree."""
    generator, texts, start = random.Random(seed), [], 0
    while start < len(sentences):
        parts = sentences[start : start + generator.randint(1, limit)]
        start += len(parts)
        text: dict[str, Any] = {name: [] for name in ("tokens", "upos", "heads", "relations", "spaces")}
        for part in parts:
            before = len(text["tokens"])
            heads = [head and before + head for head in part["heads"]]  # the head of a root stays 0
            for name, column in text.items():
                column += heads if name == "heads" else part[name]
        texts.append(text)
    return texts


def gold_doc(nlp: Language, sentence: dict[str, Any]) -> Doc:
    """Return a sentence as a spaCy ``Doc``: heads count from 0, and a root is its own head."""
    heads = [index if head == 0 else head - 1 for index, head in enumerate(sentence["heads"])]
    return Doc(
        nlp.vocab,
        words=sentence["tokens"],
        spaces=sentence["spaces"],
        tags=sentence["upos"],
        heads=heads,
        deps=[
            "ROOT" if head == index else name
            for index, (head, name) in enumerate(zip(heads, sentence["relations"], strict=True))
        ],
    )


def build_pipeline(args: Arguments) -> Language:
    """Build a pipeline of tok2vec, tagger and parser without weights."""
    sizes = {name: getattr(args, name) for name in ("width", "depth", "min_label_frequency")}
    components = spacy.util.Config().from_str(COMPONENTS.format(**sizes), interpolate=False)
    nlp = blank_pipeline(args.language, args.segmenter)
    for name in ("tok2vec", "tagger", "parser"):
        nlp.add_pipe(name, config=components.get(name, {}))
    return nlp


def spans(doc: Doc) -> dict[tuple[int, int], tuple[str, tuple[int, int], str]]:
    """Return tag, head and relation of every word; words are keyed by character offsets without spaces."""
    ends, end = [], 0
    for token in doc:
        end += len(token.text.replace(" ", ""))
        ends.append(end)
    places = list(zip([0, *ends[:-1]], ends, strict=True))
    return {places[token.i]: (token.tag_, places[token.head.i], token.dep_) for token in doc}


def scores(predicted: Iterable[Doc], gold: Iterable[Doc]) -> dict[str, float]:
    """Compute F1 in per cent of words, UPOS, UAS and LAS, with punctuation; on gold tokens these are accuracies.

    Words match if their characters do; see the CoNLL 2018 shared task.
    """
    right, total = dict.fromkeys(("words", *METRICS), 0), 0
    for system, reference in zip(predicted, gold, strict=True):
        words, answers = spans(system), spans(reference)
        total += len(words) + len(answers)
        for place, (tag, head, relation) in answers.items():
            if place in words:
                found_tag, found_head, found_relation = words[place]
                right["words"] += 1
                right["upos"] += found_tag == tag
                right["uas"] += found_head == head
                right["las"] += found_head == head and found_relation == relation
    return {name: round(200.0 * count / total, 2) for name, count in right.items()}


def on_gold_tokens(nlp: Language, gold: list[Doc]) -> dict[str, float]:
    """Compute the accuracies of tagger and parser on gold tokens."""
    words = (Doc(nlp.vocab, [t.text for t in doc], [bool(t.whitespace_) for t in doc]) for doc in gold)
    figures = scores(nlp.pipe(words), gold)
    return {name: figures[name] for name in METRICS}


def train(
    args: Arguments, nlp: Language, optimizer: Optimizer, examples: list[Example], dev: list[Doc]
) -> list[dict[str, Any]]:
    """Train, save the best epoch in ``output_dir``, and return the metrics of every epoch."""
    history: list[dict[str, Any]] = []
    best, since, step = -1.0, 0, 0
    generator = random.Random(args.seed)
    sizes = compounding(min(100, args.batch_words), args.batch_words, 1.001)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        losses: dict[str, float] = {}
        generator.shuffle(examples)
        bar = tqdm(total=len(examples), desc=f"Epoch {epoch + 1}", disable=None, leave=False)
        for batch in minibatch_by_words(examples, size=sizes):
            nlp.update(batch, drop=args.dropout, sgd=optimizer, losses=losses)
            bar.update(len(batch))
            step += 1
            if step == args.max_steps:
                break
        bar.close()
        with nlp.use_params(optimizer.averages):
            figures = on_gold_tokens(nlp, dev)
            if figures["las"] > best:
                Path(args.output_dir).mkdir(
                    parents=True, exist_ok=True
                )  # spaCy creates only the last folder of a path
                nlp.to_disk(args.output_dir)
        seconds = round(time.perf_counter() - start, 1)
        best, since = (figures["las"], 0) if figures["las"] > best else (best, since + 1)
        history.append({"epoch": epoch + 1, "steps": step, **figures, "seconds": seconds})
        print(", ".join(f"{name} {value:g}" for name, value in history[-1].items()), flush=True)
        if step == args.max_steps or since == args.patience:
            break
    return history


def main() -> dict[str, Any]:
    """Parse the command line, train, evaluate, write the pipeline and the results."""
    (args,) = HfArgumentParser(Arguments, description=__doc__).parse_args_into_dataclasses()
    fix_random_seed(args.seed)
    sentences = {
        **read_training_sentences(args),
        **({} if args.test_file is None else {"test": read_sentences(args.test_file, args.contractions)}),
    }
    nlp = build_pipeline(args)
    examples = [
        Example(Doc(nlp.vocab, sentence["tokens"], sentence["spaces"]), gold_doc(nlp, sentence))
        for sentence in texts_of(sentences["train"], args.sentences_per_text, args.seed)
    ]
    dev = [gold_doc(nlp, sentence) for sentence in sentences["validation"]]
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = args.learning_rate
    start = time.perf_counter()
    history = train(args, nlp, optimizer, examples, dev)
    results: dict[str, Any] = {
        "command": command_line(),
        "seed": args.seed,
        "sentences": {name: len(part) for name, part in sentences.items()},
        "words": {name: sum(len(s["tokens"]) for s in part) for name, part in sentences.items()},
        "seconds": round(time.perf_counter() - start, 1),
        "best_epoch": max(history, key=lambda figures: figures["las"])["epoch"],
        "epochs": history,
        "environment": {"spacy": spacy.__version__},
    }
    if "test" in sentences:
        best = spacy.load(args.output_dir)
        gold = [gold_doc(best, sentence) for sentence in sentences["test"]]
        results["test"] = {
            "gold_tokens": on_gold_tokens(best, gold),
            "raw_text": scores(best.pipe(doc.text.strip() for doc in gold), gold),
        }
        for name, figures in results["test"].items():
            print(f"test, {name}: " + ", ".join(f"{key} {value:g}" for key, value in figures.items()))
    print(f"pipeline: {args.output_dir}")
    write_results(args.output_json or Path(args.output_dir) / "results.json", results)
    return results
