# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Every example runs end to end on data written here, and says what is wrong with bad data."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from complex_transformers import TranslationMetric, build_tokenizer
from complex_transformers.data.text_files import split_by_label

EXAMPLES = Path(__file__).parents[1] / "examples"
TINY = ["--hidden_size", "16", "--num_attention_heads", "2", "--intermediate_size", "32"]
ONE_EPOCH = ["--num_train_epochs", "1", "--disable_tqdm", "true"]
Rows = list[tuple[str, str]]


def load_example(path: str) -> ModuleType:
    """An example as a module: folders with a hyphen cannot be imported by name."""
    name = "example_" + Path(path).stem
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up here
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Call an example's ``main`` with a command line, its caches and outputs below ``tmp_path``."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")

    def call(path: str, *arguments: str | Path) -> Any:
        output = ["--output_dir", str(tmp_path / "out")]
        monkeypatch.setattr(sys, "argv", [f"examples/{path}", *output, *map(str, arguments)])
        return load_example(path).main()

    return call


def make_rows(number: int, seed: int) -> Rows:
    """Distinct texts with a label that their words give away; commas and a quote must survive the files."""
    generator = random.Random(seed)
    rows = []
    for index in range(number):
        label, word = generator.choice([("good", "fine"), ("bad", "poor")])
        rows.append((f'a {word} film, number {seed} {index} , "{generator.choice("abcdef")}', label))
    return rows


def write(path: Path, rows: Rows, columns: tuple[str, str] = ("text", "label")) -> Path:
    """Write rows in the format of the file's ending."""
    opener = gzip.open if path.suffix == ".gz" else open
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        if kind == "csv":
            csv.writer(file).writerows([columns, *rows])
        elif kind == "tsv":
            file.writelines("\t".join(row) + "\n" for row in [columns, *rows])
        else:
            file.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    return path


CLASSIFICATION = "text-classification/run_classification.py"


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "json", "jsonl.gz"])
def test_classification_reads_every_format(run: Callable[..., Any], tmp_path: Path, ending: str) -> None:
    rows = make_rows(60, seed=1)
    train = write(tmp_path / f"train.{ending}", rows)
    test = write(tmp_path / f"test.{ending}", make_rows(20, seed=2))
    seeds = ["--seeds", "0", "1"] if ending == "csv" else []
    results = run(CLASSIFICATION, "--train_file", train, "--test_file", test, *seeds, *TINY, *ONE_EPOCH)
    assert results["rows"] == {"train": 54, "validation": 6, "test": 20}
    assert len(results["runs"]) == max(len(seeds) - 1, 1)
    for part in ("validation_accuracy", "test_accuracy"):
        assert 0.0 <= results[part]["mean"] <= 1.0
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert saved["config"]["id2label"] == {"0": "bad", "1": "good"}
    assert saved["command"].startswith("python examples/text-classification")
    answers = pipeline("text-classification", model=str(tmp_path / "out"))(rows[0][0])
    assert answers[0]["label"] in ("good", "bad")
    assert (tmp_path / "out" / "README.md").is_file()


def test_classification_learns_and_stops_early(run: Callable[..., Any], tmp_path: Path) -> None:
    train = write(tmp_path / "train.tsv", make_rows(200, seed=1))
    validation = write(tmp_path / "validation.tsv", make_rows(50, seed=2))
    results = run(
        *(CLASSIFICATION, "--train_file", train, "--validation_file", validation, *TINY, "--disable_tqdm", "true"),
        *("--num_train_epochs", "30", "--learning_rate", "0.005", "--early_stopping_patience", "3"),
        *("--output_json", tmp_path / "json" / "figures.json"),
    )
    assert results["validation_accuracy"]["mean"] >= 0.95
    assert results["runs"][0]["epochs"] < 30
    assert "test_accuracy" not in results
    assert json.loads((tmp_path / "json" / "figures.json").read_text())["runs"] == results["runs"]


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("embedding", ["complex_vanilla", "word", "learned_position", "sinusoidal_position"])
def test_classification_runs_every_embedding(
    run: Callable[..., Any], tmp_path: Path, embedding: str, field: str
) -> None:
    train = write(tmp_path / "train.csv", make_rows(20, seed=1), columns=("sentence", "class"))
    results = run(
        *(CLASSIFICATION, "--train_file", train, "--text_column", "sentence", "--label_column", "class"),
        *("--embedding_type", embedding, "--number_field", field, *TINY, *ONE_EPOCH, "--save_strategy", "no"),
        *("--load_best_model_at_end", "false", "--tokenizer", "character", "--max_length", "5"),
    )
    assert results["config"]["number_field"] == field
    assert results["parameters"] > 0


# Fields of the networks without attention; one that a network does not have is an error.
SMALL: dict[str, dict[str, Any]] = {
    "complex_fasttext": {"intermediate_size": 16},
    "complex_text_cnn": {"kernel_sizes": [2, 3], "num_filters": 8, "intermediate_size": 16},
    "complex_text_rnn": {"rnn_type": "gru", "recurrent_size": 16, "bidirectional": True},
    "complex_text_gcn": {"intermediate_size": 16, "window_size": 1},
}
UNSAVED = ["--save_strategy", "no", "--load_best_model_at_end", "false"]


def network(model_type: str) -> list[str]:
    """A network as a command line says it."""
    fields = {name: value if isinstance(value, list) else [value] for name, value in SMALL[model_type].items()}
    return ["--model_type", model_type, *(part for name in fields for part in (f"--{name}", *map(str, fields[name])))]


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("model_type", SMALL)
def test_classification_runs_every_network(
    run: Callable[..., Any], tmp_path: Path, model_type: str, field: str
) -> None:
    train = write(tmp_path / "train.csv", make_rows(20, seed=1))
    results = run(
        *(CLASSIFICATION, "--train_file", train, *network(model_type), "--number_field", field),
        *("--hidden_size", "16", *ONE_EPOCH, *UNSAVED),
    )
    assert results["config"]["model_type"] == model_type
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out")
    assert (model.config.model_type, model.config.number_field) == (model_type, field)
    assert {name: getattr(model.config, name) for name in SMALL[model_type]} == SMALL[model_type]
    assert model.num_parameters() == results["parameters"]
    assert "vector_coverage" not in results


@pytest.mark.parametrize("model_type", ["complex_fasttext", "complex_text_cnn"])
def test_classification_starts_from_word_vectors(run: Callable[..., Any], tmp_path: Path, model_type: str) -> None:
    pytest.importorskip("gensim")
    train = write(tmp_path / "train.csv", make_rows(20, seed=1))
    vectors = tmp_path / "glove.8d.txt"
    known = {"film": 0.25, "fine": -3.0, "poor": 3.0, "elsewhere": 9.0}
    vectors.write_text("".join(f"{word} {' '.join([str(value)] * 8)}\n" for word, value in known.items()))
    arguments = [CLASSIFICATION, "--train_file", train, *network(model_type), *UNSAVED]
    arguments += ["--vectors", vectors, "--disable_tqdm", "true", "--num_train_epochs", "1"]
    # No learning: the model that is saved still has the vectors of the file.
    results = run(*arguments, "--hidden_size", "16", "--learning_rate", "0")
    vocabulary = AutoTokenizer.from_pretrained(tmp_path / "out").get_vocab()
    assert "elsewhere" not in vocabulary
    assert results["vector_coverage"] == pytest.approx(3 / len(vocabulary))
    saved = json.loads((tmp_path / "out" / "results.json").read_text())
    assert saved["vector_coverage"] == results["vector_coverage"]
    table = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").get_input_embeddings().weight
    for word in ("film", "fine", "poor"):
        assert table[vocabulary[word]].tolist() == [known[word]] * 8
    with pytest.raises(ValueError, match=r"vectors of 8 dimensions do not fit 10 complex features.*hidden_size"):
        run(*arguments, "--hidden_size", "20")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model_type", "complex_text_rnn", "--kernel_sizes", "3"], "--kernel_sizes has no effect"),
        (["--model_type", "complex_fasttext", "--attention_score", "real"], "--attention_score .* complex_fasttext"),
        (["--window_size", "2"], "--window_size has no effect with --model_type complex_order: leave it out"),
        (
            ["--model_type", "complex_text_lstm"],
            r"one of \['complex_fasttext', 'complex_order', 'complex_text_cnn', 'complex_text_gcn', "
            r"'complex_text_rnn'\], got 'complex_text_lstm'",
        ),
    ],
)
def test_options_that_a_network_lacks_are_named(
    run: Callable[..., Any], tmp_path: Path, arguments: list[str], message: str
) -> None:
    train = write(tmp_path / "train.csv", make_rows(10, seed=1))
    with pytest.raises(ValueError, match=message):
        run(CLASSIFICATION, "--train_file", train, *arguments)


def test_labels_and_texts_that_look_like_numbers_stay_strings(run: Callable[..., Any], tmp_path: Path) -> None:
    rows = [(f"{n:03d}", label) for n in range(40) for label in [("01", "1", "None")[n % 3]]]
    run(CLASSIFICATION, "--train_file", write(tmp_path / "train.csv", rows), *TINY, *ONE_EPOCH)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out")
    assert sorted(model.config.label2id) == ["01", "1", "None"]
    assert "007" in AutoTokenizer.from_pretrained(tmp_path / "out").get_vocab()


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        (("sentence", "label"), [], r"no column 'text', only \['sentence', 'label'\].*text_column"),
        (("text", "class"), [], r"no column 'label', only \['text', 'class'\].*label_column"),
        (("text", "label"), ["--text_column", "words"], r"no column 'words'.*text_column"),
    ],
)
def test_missing_columns_are_named(
    run: Callable[..., Any], tmp_path: Path, columns: tuple[str, str], arguments: list[str], message: str
) -> None:
    train = write(tmp_path / "train.csv", make_rows(5, seed=1), columns)
    with pytest.raises(ValueError, match=message):
        run(CLASSIFICATION, "--train_file", train, *arguments)


def test_bad_classification_data_is_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", make_rows(20, seed=1))
    with pytest.raises(ValueError, match="either dataset_name or train_file"):
        run(CLASSIFICATION)
    with pytest.raises(FileNotFoundError, match=r"no such file: absent\.csv"):
        run(CLASSIFICATION, "--train_file", "absent.csv")
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        run(CLASSIFICATION, "--train_file", write(tmp_path / "train.txt", make_rows(5, seed=1)))
    empty = write(tmp_path / "empty.csv", [*make_rows(5, seed=1), ("  ", "good")])
    with pytest.raises(ValueError, match=r"1 row\(s\) of the train data have no text \(first: row 5\)"):
        run(CLASSIFICATION, "--train_file", empty)
    other = write(tmp_path / "other.csv", [("a film", "dull")])
    with pytest.raises(ValueError, match=r"validation data has labels \['dull'\]"):
        run(CLASSIFICATION, "--train_file", train, "--validation_file", other)
    for split in ("0", "1.5"):
        with pytest.raises(ValueError, match="validation_split must be between 0 and 1"):
            run(CLASSIFICATION, "--train_file", train, "--validation_split", split)


def test_parts_that_share_texts(run: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows(40, seed=1)
    train = write(tmp_path / "train.csv", rows)
    copies = [(rows[0][0].upper(), rows[0][1]), (rows[1][0] + " ", rows[1][1])]  # case and spaces do not count
    test = write(tmp_path / "test.csv", [*make_rows(10, seed=2), *copies])
    arguments = [CLASSIFICATION, "--train_file", train, "--test_file", test, *TINY, *ONE_EPOCH]
    with pytest.raises(ValueError, match=r"2 row\(s\) of the train data .* also in the test data: use overlap='drop'"):
        run(*arguments)
    assert run(*arguments, "--overlap", "drop")["rows"] == {"train": 34, "validation": 4, "test": 12}
    assert "2 row(s) of the train data" in capsys.readouterr().out
    assert run(*arguments, "--overlap", "allow")["rows"] == {"train": 36, "validation": 4, "test": 12}
    assert "also in the test data: kept" in capsys.readouterr().out


def test_copies_of_a_text_stay_on_one_side_of_the_split() -> None:
    rows = make_rows(60, seed=1) * 3
    part = Dataset.from_dict({"text": [text for text, _ in rows], "label": [label for _, label in rows]})
    train, validation = split_by_label(part, 0.25, seed=0)
    assert not set(train["text"]) & set(validation["text"])
    assert len(train) + len(validation) == 180
    for label in ("good", "bad"):  # the same share of every label
        share = validation["label"].count(label) / part["label"].count(label)
        assert share == pytest.approx(0.25, abs=0.03)
    again = split_by_label(part, 0.25, seed=0)[1]
    assert again["text"] == validation["text"]


MLM = "language-modeling/run_mlm.py"


def write_lines(path: Path, seed: int) -> Path:
    generator = random.Random(seed)
    words = ["the", "<unk>", "cat", "dog", "sat", "on", "a", "mat", "."]
    lines = [" ".join(generator.choices(words, k=9)) for _ in range(60)]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n\n".join(lines))
    return path


def test_masked_language_model(run: Callable[..., Any], tmp_path: Path) -> None:
    files = {part: write_lines(tmp_path / f"{part}.txt.gz", seed) for seed, part in enumerate(("train", "valid", "t"))}
    results = run(
        *(MLM, "--train_file", files["train"], "--validation_file", files["valid"], "--test_file", files["t"]),
        *("--block_size", "16", *TINY, *ONE_EPOCH, "--fill_mask", "the <mask> sat on the mat ."),
    )
    assert results["blocks"] == dict.fromkeys(("train", "validation", "test"), 34)  # 540 tokens, none is dropped
    assert 1.0 < results["test"]["perplexity"] < 50.0
    assert len(results["fill_mask"]["the <mask> sat on the mat ."]) == 3


def test_bad_language_model_data_is_refused(run: Callable[..., Any], tmp_path: Path) -> None:
    train, valid = write_lines(tmp_path / "train.txt.gz", 0), write_lines(tmp_path / "valid.txt.gz", 1)
    with pytest.raises(ValueError, match=r"no part \['validation'\].*--validation_file"):
        run(MLM, "--train_file", train)
    with pytest.raises(ValueError, match="the parts share a file"):
        run(MLM, "--train_file", train, "--validation_file", train)
    with pytest.raises(ValueError, match="no column 'words'"):
        run(MLM, "--train_file", train, "--validation_file", valid, "--text_column", "words")
    with pytest.raises(ValueError, match="--fill_mask needs sentences with <mask>"):
        run(MLM, "--train_file", train, "--validation_file", valid, "--fill_mask", "no gap")


def test_bert_with_complex_order(run: Callable[..., Any]) -> None:
    results = run(
        "drop-in/train_bert_with_complex_order.py",
        *("--hidden_size", "16", "--num_hidden_layers", "1", "--max_sentences", "100", "--num_train_epochs", "1"),
    )
    assert results["BertWithoutPositions"] == pytest.approx(0.5)  # both orders of a sentence get the same answer
    assert set(results) == {"BertWithoutPositions", "BertWithComplexOrder"}


def test_lora_is_saved_loaded_and_merged(run: Callable[..., Any]) -> None:
    pytest.importorskip("peft")
    results = run("drop-in/lora.py", "--max_steps", "4", "--max_sentences", "100")
    assert results["adapted - base"] > 1e-3
    assert results["loaded - adapted"] == 0.0
    assert results["merged - adapted"] < 1e-5


TRANSLATION = "translation/run_translation.py"
TINY_TRANSLATOR = [*TINY, "--encoder_layers", "1", "--decoder_layers", "1", "--hidden_dropout_prob", "0"]
TINY_TRANSLATOR += ["--attention_probs_dropout_prob", "0", "--vocab_size", "300", "--disable_tqdm", "true"]
NUMBERS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}


def make_pairs(number: int, seed: int) -> Rows:
    """Distinct sentences of two to four numbers, and the same numbers in German."""
    generator = random.Random(seed)
    sources = {" ".join(generator.choices(list(NUMBERS), k=generator.randint(2, 4))) for _ in range(number)}
    return [(source, " ".join(NUMBERS[word] for word in source.split())) for source in sorted(sources)]


def aligned_files(folder: Path, part: str, pairs: Rows) -> list[Path]:
    """Two text files whose lines translate each other."""
    paths = [folder / f"{part}.en", folder / f"{part}.de"]
    for side, path in enumerate(paths):
        path.write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    return paths


def parallel_files(folder: Path) -> list[str | Path]:
    """Options that name the files of all parts."""
    everything = make_pairs(500, seed=1)
    random.Random(0).shuffle(everything)
    parts = {"test": everything[:10], "validation": everything[10:22], "train": everything[22:]}
    files = [[f"--{name}_files", *aligned_files(folder, name, pairs)] for name, pairs in parts.items()]
    return [word for option in files for word in option]


def translate(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, *arguments: str | Path) -> None:
    """Run translate.py with ``text`` as its standard input."""
    module = load_example("translation/translate.py")
    monkeypatch.setattr(sys, "argv", ["translate.py", "--model", str(folder), *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
    module.main()


def test_translation_learns_and_translates(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = run(
        *(TRANSLATION, *parallel_files(tmp_path), *TINY_TRANSLATOR, "--num_train_epochs", "12", "--seed", "0"),
        *("--learning_rate", "0.01", "--warmup_steps", "40", "--per_device_train_batch_size", "16"),
        *("--hidden_size", "64", "--label_smoothing", "0.1", "--test_num_beams", "2"),
    )
    assert results["rows"] == {"train": 288, "validation": 12, "test": 10}
    assert results["config"]["label_smoothing"] == 0.1
    assert max(epoch["bleu"] for epoch in results["epochs"]) == results["validation"]["bleu"] > 40.0
    best = [epoch["epoch"] for epoch in results["epochs"] if epoch["bleu"] == results["validation"]["bleu"]]
    assert results["best_epoch"] == best[0]
    assert str(tmp_path) not in json.dumps(results)
    out = tmp_path / "out"
    assert json.loads((out / "results.json").read_text()) == results
    assert (out / "README.md").is_file()

    # The translations lie in the order of the test file, whatever the order they were made in.
    predictions = (out / "predictions.txt").read_text(encoding="utf-8")
    references = (tmp_path / "test.de").read_text(encoding="utf-8").splitlines()
    scores = TranslationMetric().compute(predictions=predictions.splitlines(), references=references)
    assert scores["bleu"] == pytest.approx(results["test"]["bleu"], abs=1e-4)
    assert scores["bleu_signature"] == results["signatures"]["bleu"]
    assert results["test"]["bleu"] > 10.0

    capsys.readouterr()
    sources = (tmp_path / "test.en").read_text(encoding="utf-8")
    translate(monkeypatch, out, sources, "--batch_size", "3")
    assert capsys.readouterr().out == predictions  # other batches, the same search as saved with the model
    translate(monkeypatch, out, "one two\n\nsix", "--scores", "true", "--empty", "keep", "--num_beams", "1")
    first, empty, last = capsys.readouterr().out.splitlines()
    assert empty == "0.0000\t"
    for line in (first, last):
        score, text = line.split("\t")
        assert float(score) < 0.0
        assert set(text.split()) <= set(NUMBERS.values())
    translate(monkeypatch, out, "", "--input_file", tmp_path / "test.en", "--output_file", tmp_path / "hypotheses")
    assert (tmp_path / "hypotheses").read_text(encoding="utf-8") == predictions
    translate(monkeypatch, out, "one two three", "--max_length", "2", "--dtype", "bfloat16")
    assert "1 translation(s) stop at the longest length allowed: raise --max_length" in capsys.readouterr().err
    for text, arguments, message in (
        ("one\n \n\n", [], r"2 empty line\(s\), the first is line 2: .*--empty keep"),
        ("one", ["--batch_size", "0"], "--batch_size must be at least 1, got 0"),
        ("one", ["--dtype", "double"], r"--dtype must be one of \['auto', .*got 'double'"),
    ):
        with pytest.raises(ValueError, match=message):
            translate(monkeypatch, out, text, *arguments)


def test_translation_goes_on_and_is_fine_tuned(run: Callable[..., Any], tmp_path: Path) -> None:
    files = parallel_files(tmp_path)
    by_loss = ["--metric_for_best_model", "loss", "--early_stopping_patience", "9", "--max_train_samples", "64"]
    arguments = [TRANSLATION, *files, *TINY_TRANSLATOR, *by_loss, "--resume_from_checkpoint", "last"]
    first = run(*arguments, "--num_train_epochs", "1", "--embedding_type", "learned_position")
    second = run(*arguments, "--num_train_epochs", "2", "--embedding_type", "learned_position")
    assert (first["resumed"], second["resumed"], second["rows"]["train"]) == (False, True, 64)
    assert [epoch["epoch"] for epoch in second["epochs"]] == [1.0, 2.0]
    assert "bleu" not in second["epochs"][0]
    assert second["validation"]["loss"] == pytest.approx(min(epoch["loss"] for epoch in second["epochs"]), abs=1e-3)
    tuned = run(
        *(TRANSLATION, *files, "--model_name_or_path", tmp_path / "out", "--num_train_epochs", "1", *by_loss),
        *("--output_dir", tmp_path / "tuned", "--hidden_dropout_prob", "0.25", "--lr_scheduler_type", "linear"),
    )
    assert tuned["config"]["embedding_type"] == "learned_position"
    assert tuned["config"]["hidden_dropout_prob"] == 0.25
    assert tuned["parameters"] == second["parameters"]


def test_translation_with_a_network_of_transformers(run: Callable[..., Any], tmp_path: Path) -> None:
    sizes = [f"{side}_{name}" for side in ("encoder", "decoder") for name in ("layers=1", "attention_heads=2")]
    results = run(
        *(TRANSLATION, *parallel_files(tmp_path), "--model_type", "marian", "--max_train_samples", "64"),
        *("--config_overrides", "d_model=16", "activation_function=relu", *sizes, "--vocab_size", "300", *ONE_EPOCH),
        *("--lowercase", "true", "--generation_max_length", "9"),
    )
    assert results["config"]["activation_function"] == "relu"
    assert results["generation_max_length"] == 9
    assert "case:lc" in results["signatures"]["bleu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model_type", "marian", "--hidden_size", "8"], "--hidden_size has no effect with --model_type marian"),
        (["--config_overrides", "depth=3"], "--depth has no effect with --model_type complex_seq2seq: leave it out"),
        (["--config_overrides", "depth"], "--config_overrides takes NAME=VALUE, got 'depth'"),
        (["--max_target_length", "3"], r"have a target of more than 3 tokens .*raise max_target_length"),
    ],
)
def test_bad_translation_options_are_named(
    run: Callable[..., Any], tmp_path: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(TRANSLATION, *parallel_files(tmp_path), "--vocab_size", "300", *arguments)


def test_translation_needs_a_tokenizer_that_ends_texts(run: Callable[..., Any], tmp_path: Path) -> None:
    build_tokenizer(["one two"]).save_pretrained(tmp_path / "tokenizer")
    with pytest.raises(ValueError, match="does not end a text with an end-of-text token"):
        run(TRANSLATION, *parallel_files(tmp_path), "--tokenizer_name_or_path", tmp_path / "tokenizer")


def test_translation_table(tmp_path: Path) -> None:
    table = load_example("translation/table.py").table
    run = {
        "parameters": 1_500_000,
        "seconds": 60.2,
        "resumed": False,
        "validation": {"bleu": 30.0},
        "signatures": {"bleu": "nrefs:1", "chrf": "nc:6"},
    }
    for seed, bleu in ((0, 31.0), (10, 34.0), (2, 32.5)):
        result = {**run, "seed": seed, "test": {"bleu": bleu, "chrf": 50.0}}
        (tmp_path / f"complex_order-real-seed-{seed}.json").write_text(json.dumps(result))
    lines = table(tmp_path).splitlines()
    assert lines[2] == (
        "| `complex_order` | real | 0 2 10 | 30.00 ± 0.00 | 32.50 ± 1.50 | 31.00 32.50 34.00 | 50.00 ± 0.00 "
        "| 1.50 M | 60 s |"
    )
    assert lines[-1] == "BLEU: `nrefs:1`; chrF: `nc:6`."
    other = {**run, "seed": 0, "test": {"bleu": 1.0, "chrf": 1.0}, "signatures": {"bleu": "nrefs:2", "chrf": "nc:6"}}
    (tmp_path / "complex_vanilla-seed-0.json").write_text(json.dumps(other))
    with pytest.raises(ValueError, match="scores with unequal signatures"):
        table(tmp_path)
