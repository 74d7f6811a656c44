# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""A parser is trained and a corpus is parsed, on a tiny language written here."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from example_runs import assert_refused, load_example, run_example
from huggingface_hub.errors import StrictDataclassClassValidationError

from complex_transformers import SyntaxParser
from complex_transformers.recipes import build_syntax_processor, encode_syntax_dataset

pytest.importorskip("conllu")
pytest.importorskip("spacy")
NOUNS, VERBS = ["dog", "cat", "bird", "man"], ["sees", "likes", "hears"]
# The place of a word says what it is: "the dog sees the old cat."
OLD = [("the", "DET", 1, "det"), ("old", "ADJ", 1, "amod")]


def run(name: str, *arguments: object) -> Any:
    return run_example(f"syntax-translation/{name}.py", *arguments)


def sentence(generator: random.Random) -> tuple[str, str]:
    """A text and its lines of CoNLL-U."""
    rows: list[tuple[str, str, str, int]] = []
    verb = 0
    for relation in ("nsubj", "obj"):
        old = ["old"] if generator.random() < 0.5 else []
        noun = len(rows) + 2 + len(old)
        rows += [("the", "DET", "det", noun), *[("old", "ADJ", "amod", noun)] * len(old)]
        verb = verb or noun + 1
        rows.append((generator.choice(NOUNS), "NOUN", relation, verb))
        if relation == "nsubj":
            rows.append((generator.choice(VERBS), "VERB", "root", 0))
    rows.append((".", "PUNCT", "punct", verb))
    text = " ".join(row[0] for row in rows[:-1]) + "."
    lines = [f"# text = {text}"]
    for number, (form, tag, relation, head) in enumerate(rows, 1):
        misc = "SpaceAfter=No" if number == len(rows) - 1 else "_"
        lines.append(f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{misc}")
    return text, "\n".join(lines) + "\n\n"


def corpus(seed: int, number: int) -> tuple[list[str], str]:
    """Texts that differ, and their CoNLL-U."""
    generator = random.Random(seed)
    pairs = dict(sentence(generator) for _ in range(3 * number))
    return list(pairs)[:number], "".join(list(pairs.values())[:number])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A parser of the language, and its results."""
    folder = tmp_path_factory.mktemp("parser")
    for name, seed, number in (("train", 1, 40), ("dev", 2, 10), ("test", 3, 10)):
        (folder / f"{name}.conllu").write_text(corpus(seed, number)[1], encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("COMPLEX_TRANSFORMERS_DATA", str(folder))
        results = run(
            *("train_parser", "--language", "en", "--output_dir", folder / "parser"),
            *("--train_file", folder / "train.conllu", "--validation_file", folder / "dev.conllu"),
            *("--test_file", folder / "test.conllu", "--epochs", 12, "--width", 32, "--depth", 1),
            *("--min_label_frequency", 1, "--batch_words", 100, "--learning_rate", 0.01, "--patience", 3),
        )
    return folder / "parser", results


def test_a_parser_learns_the_language(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, results = trained
    assert results["test"]["gold_tokens"]["las"] > 95.0
    assert results["test"]["gold_tokens"]["upos"] > 95.0
    # The English tokenizer finds the words of the test texts, so both ways of counting agree.
    assert results["test"]["raw_text"] == {"words": 100.0, **results["test"]["gold_tokens"]}
    first, best = results["epochs"][0], results["epochs"][results["best_epoch"] - 1]
    assert first["las"] <= best["las"] == max(epoch["las"] for epoch in results["epochs"])
    assert json.loads((folder / "results.json").read_text()) == results
    assert "$COMPLEX_TRANSFORMERS_DATA/train.conllu" in results["command"]
    parser = SyntaxParser(folder)
    assert parser("the old dog sees the cat.")["relations"] == ["det", "amod", "nsubj", "root", "det", "obj", "punct"]
    assert set(parser.relations) == {"det", "amod", "nsubj", "root", "obj", "punct", "dep", "parataxis"}


@pytest.mark.full
def test_a_parser_learns_where_sentences_end(tmp_path: Path, trained: tuple[Path, dict[str, Any]]) -> None:
    files = [
        f"--{option}_file={trained[0].parent / name}.conllu"
        for option, name in (("train", "train"), ("validation", "dev"))
    ]
    sizes = ["--epochs", 12, "--width", 32, "--depth", 1, "--batch_words", 100, "--learning_rate", 0.01]
    options = ["--min_label_frequency", 1, "--sentences_per_text", 3, "--output_dir", tmp_path / "out"]
    run("train_parser", "--language", "en", *files, *sizes, *options)
    one_tree, several = (SyntaxParser(folder, "join") for folder in (trained[0], tmp_path / "out"))
    texts = corpus(3, 10)[0]
    right = {one_tree: 0, several: 0}
    for pair in zip(texts[::2], texts[1::2], strict=True):
        alone = [several(text) for text in pair]
        assert [sentence["sentences"] for sentence in alone] == [1, 1]
        relations = alone[0]["relations"] + ["parataxis" if x == "root" else x for x in alone[1]["relations"]]
        for parser in right:
            found = parser(" ".join(pair))
            right[parser] += (found["sentences"], found["relations"]) == (2, relations)
    assert right[several] >= 4 > right[one_tree]


def test_sentences_become_texts() -> None:
    example = load_example("syntax-translation/train_parser.py")
    columns = {"upos": ["X", "Y"], "relations": ["root", "obj"], "spaces": [True, False]}
    sentences = [{"tokens": [f"a{n}", f"b{n}"], "heads": [0, 1] if n % 2 else [2, 0], **columns} for n in range(50)]
    assert example.texts_of(sentences, 1, 0) == sentences
    texts = example.texts_of(sentences, 3, 0)
    assert {len(text["tokens"]) for text in texts} == {2, 4, 6}
    assert [token for text in texts for token in text["tokens"]] == [t for s in sentences for t in s["tokens"]]
    (text,) = example.texts_of(sentences[:2], 10**9, 0)
    assert text["heads"] == [2, 0, 0, 3]
    assert text["relations"] == ["root", "obj"] * 2


def test_a_share_of_the_training_sentences_chooses_the_epoch(tmp_path: Path) -> None:
    (tmp_path / "all.conllu").write_text(corpus(1, 20)[1], encoding="utf-8")
    files = [
        "--train_file",
        tmp_path / "all.conllu",
        "--validation_split",
        0.25,
        "--output_dir",
        tmp_path / "new" / "out",
    ]
    sizes = ["--epochs", 1, "--width", 8, "--depth", 1, "--min_label_frequency", 1]
    results = run("train_parser", "--language", "en", *files, *sizes)
    assert results["sentences"] == {"train": 15, "validation": 5}


def test_scores_by_hand() -> None:
    import spacy
    from spacy.tokens import Doc

    vocab = spacy.blank("en").vocab
    gold = Doc(vocab, ["do", "n't", "go"], tags=["A", "P", "V"], heads=[2, 2, 2], deps=["aux", "neg", "ROOT"])
    same = Doc(vocab, ["do", "n't", "go"], tags=["A", "X", "V"], heads=[2, 0, 2], deps=["aux", "neg", "ROOT"])
    cut = Doc(vocab, ["don't", "go"], tags=["A", "V"], heads=[1, 1], deps=["aux", "ROOT"])
    example = load_example("syntax-translation/train_parser.py")
    assert example.scores([gold], [gold]) == {"words": 100.0, "upos": 100.0, "uas": 100.0, "las": 100.0}
    assert example.scores([same], [gold]) == {"words": 100.0, "upos": 66.67, "uas": 66.67, "las": 66.67}
    # One of two words found is one of three words asked for: F1 = 2 * 1 / (2 + 3).
    assert example.scores([cut], [gold]) == {"words": 40.0, "upos": 40.0, "uas": 40.0, "las": 40.0}


def test_bad_treebanks_and_languages(tmp_path: Path) -> None:
    good, circle = tmp_path / "good.conllu", tmp_path / "circle.conllu"
    good.write_text(corpus(1, 3)[1], encoding="utf-8")
    circle.write_text("1\ta\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n", encoding="utf-8")
    empty = tmp_path / "empty.conllu"
    empty.write_text("# nothing\n", encoding="utf-8")
    train, dev = ["--train_file", good], ["--validation_file", good]
    assert_refused(
        lambda *arguments: run("train_parser", "--output_dir", tmp_path / "out", "--language", *arguments),
        (
            ["en", *train, *dev, "--test_file", circle],
            r"(?s)must form a tree, got a cycle above word 1.*circle\.conllu",
        ),
        (
            ["en", *train, *dev, "--segmenter", "jieba"],
            "--segmenter must be one of .* with --language zh, got 'jieba' for 'en'",
        ),
        (
            ["zh", *train, *dev, "--segmenter", "words"],
            "--segmenter must be one of .* with --language zh, got 'words' for 'zh'",
        ),
        (
            ["en", *train, "--validation_split", 1],
            r"--validation_split must leave sentences in both splits, got 1\.0 of 3",
        ),
        (
            ["en", *train, "--validation_split", 0.1],
            r"--validation_split must leave sentences in both splits, got 0\.1 of 3",
        ),
        (["en", *train, *dev, "--epochs", 0], "--epochs must be at least 1, got 0"),
        (["en", *train, *dev, "--sentences_per_text", 0], "--sentences_per_text must be at least 1, got 0"),
        (["en", *train, "--validation_file", empty], r"at least one sentence, got none in .*empty.conllu"),
    )
    with pytest.raises(ImportError, match=r"--language qq: .*--language xx splits"):
        run("train_parser", "--language", "qq", *train, *dev)


def test_languages_that_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy

    def blank(language: str, config: dict[str, Any]) -> None:
        raise ImportError("a package is missing")

    monkeypatch.setattr(spacy, "blank", blank)
    example = load_example("syntax-translation/train_parser.py")
    assert_refused(
        example.blank_pipeline,
        (("ja", None), r"--language ja: a package is missing; pip install spacy\[ja\]$"),
        (("vi", None), "--language vi: a package is missing; pip install pyvi$"),
        (("zh", "jieba"), "--language zh: a package is missing; pip install jieba$"),
        (("qq", None), "--language qq: a package is missing; --language xx splits at spaces and punctuation$"),
        error=ImportError,
    )


def write_texts(folder: Path, **parts: list[str]) -> list[object]:
    """Both sides of every part as text files, the same text on both; and the options that name them."""
    options: list[object] = []
    for name, texts in parts.items():
        paths = [folder / f"{name}.{side}" for side in ("a", "b")]
        for path in paths:
            path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        options += [f"--{name}_file", *paths]
    return options


@pytest.mark.full
def test_texts_are_parsed_into_a_folder(tmp_path: Path, trained: tuple[Path, dict[str, Any]]) -> None:
    texts = corpus(4, 12)[0]
    options = write_texts(tmp_path, train=texts[:9], validation=texts[9:])
    parsers = ["--source_parser", trained[0], "--target_parser", trained[0]]
    parts = run("prepare", *options, *parsers, "--n_process", 2, "--output_dir", tmp_path / "parsed")
    assert {name: len(part) for name, part in parts.items()} == {"train": 9, "validation": 3}
    row = parts["train"][0]
    for side in ("source", "target"):
        assert row[side] == texts[0]
        assert row[f"{side}_tokens"] == [*texts[0].removesuffix(".").split(), "."]
        for column in ("heads", "relations"):
            assert row[f"{side}_{column}"] == SyntaxParser(trained[0])(texts[0])[column]
        assert row[f"{side}_spaces"][-2:] == [False, False]
    known = json.loads((tmp_path / "parsed" / "parsers.json").read_text())
    assert known["source_parser"] == str(trained[0])
    sides = (
        [{key: row[f"{side}_{key}"] for key in ("tokens", "relations", "spaces")} for row in parts["train"]]
        for side in ("source", "target")
    )
    processor = build_syntax_processor(*sides, **known)
    encoded = encode_syntax_dataset(parts, processor)["train"][0]
    raw = processor(texts[0], texts[0])
    assert all(encoded[name] == raw[name] for name in raw)


def test_conllu_pairs_keep_their_trees(tmp_path: Path) -> None:
    texts, trees = corpus(5, 10)
    for side in ("a", "b"):
        (tmp_path / f"{side}.conllu").write_text(trees, encoding="utf-8")
    files = ["--train_file", tmp_path / "a.conllu", tmp_path / "b.conllu"]
    output = ["--output_dir", tmp_path / "parsed"]
    parts = run("prepare", *files, *output, "--validation_split", 0.2)
    assert {name: len(part) for name, part in parts.items()} == {"train": 8, "validation": 2}
    assert sorted([*parts["train"]["source"], *parts["validation"]["source"]]) == sorted(texts)
    assert parts["train"][0]["source_relations"][-1] == "punct"
    texts_beside = ["--validation_file", tmp_path / "text.a", tmp_path / "text.b"]
    assert_refused(
        lambda *arguments: run("prepare", *files, *output, *arguments),
        (["--validation_split", 0.01], r"validation_split must leave rows in both splits, got 0\.01 of 10"),
        (
            ["--source_parser", "x"],
            "--source_parser and --target_parser must be left out for CoNLL-U files, got 'x' and None",
        ),
        (texts_beside, r"must be all CoNLL-U or all text, got .*a.conllu and .*text.a"),
    )
    (tmp_path / "b.conllu").write_text(trees + sentence(random.Random(9))[1], encoding="utf-8")
    with pytest.raises(ValueError, match="train_file must be two CoNLL-U files with the same sentences"):
        run("prepare", *files, *output)
    for side, name in (("a", "s1"), ("b", "s2")):
        (tmp_path / f"{side}.conllu").write_text(f"# sent_id = {name}\n{trees}", encoding="utf-8")
    with pytest.raises(ValueError, match="train_file must be two CoNLL-U files with the same sentences"):
        run("prepare", *files, *output)


def save_parser_of_stops(folder: Path) -> Path:
    import spacy

    @spacy.Language.component("first_words", assigns=["token.dep", "token.head"])
    def first_words(doc: Any) -> Any:
        """Each sentence begins with a full stop, and its words hang on that."""
        starts = [index for index, token in enumerate(doc) if token.text == "." or index == 0]
        heads = [max(start for start in starts if start <= index) for index in range(len(doc))]
        deps = ["ROOT" if head == index else "obj" for index, head in enumerate(heads)]
        return spacy.tokens.Doc(
            doc.vocab, [t.text for t in doc], [bool(t.whitespace_) for t in doc], heads=heads, deps=deps
        )

    pipeline = spacy.blank("en")
    pipeline.add_pipe("first_words")
    pipeline.to_disk(folder)
    return folder


@pytest.mark.full
def test_texts_of_several_sentences(tmp_path: Path) -> None:
    save_parser_of_stops(tmp_path / "words")
    options = write_texts(tmp_path, train=["one two", "three . four", "five"], validation=["six"])
    options += ["--source_parser", tmp_path / "words", "--target_parser", tmp_path / "words"]
    options += ["--output_dir", tmp_path / "parsed"]
    with pytest.raises(
        ValueError, match=r"the train data, source of row 1 must be one sentence, got 2: 'three . four'"
    ):
        run("prepare", *options)
    with pytest.warns(UserWarning, match=r"1 of 3 pairs of the train data .* \(first: row 1\): joined"):
        parts = run("prepare", *options, "--sentences", "join")
    assert parts["train"]["target_relations"] == [["root", "obj"], ["root", "parataxis", "obj"], ["root"]]
    known = json.loads((tmp_path / "parsed" / "parsers.json").read_text())
    assert known["sentences"] == "join"
    assert "parataxis" in known["source_relations"]
    with pytest.warns(UserWarning, match="1 of 3 pairs .*: dropped"):
        parts = run("prepare", *options, "--sentences", "drop")
    assert parts["train"]["source"] == ["one two", "five"]


def test_bad_corpora_and_parsers(tmp_path: Path, trained: tuple[Path, dict[str, Any]]) -> None:
    texts = corpus(6, 6)[0]
    good = write_texts(tmp_path, train=texts[:4], validation=texts[4:])
    output = ["--output_dir", tmp_path / "parsed"]
    parsers = ["--source_parser", trained[0], "--target_parser", trained[0]]
    with pytest.raises(ValueError, match="--target_parser must be a spaCy pipeline for text files"):
        run("prepare", *good, *output, *parsers[:2])
    with pytest.raises(OSError, match="de_core_news_sm"):
        run("prepare", *good, *output, *parsers[:3], "de_core_news_sm")
    (tmp_path / "train.b").write_text("the dog sees the cat.\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"equally many lines, got .*train.a with 4 and .*train.b with 1"):
        run("prepare", *good, *output, *parsers)
    (tmp_path / "train.b").write_text("\n".join([texts[0], " ", *texts[2:4]]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"1 pair\(s\) of the train data have an empty side \(first: line 2\)"):
        run("prepare", *good, *output, *parsers)
    with pytest.warns(UserWarning, match="1 pair.*dropped"):
        parts = run("prepare", *good, *output, *parsers, "--empty", "drop")
    assert len(parts["train"]) == 3
    assert_refused(
        lambda *arguments: run("prepare", *good, *output, *parsers, *arguments),
        (["--sentences", "cut"], "--sentences must be error, join or drop, got 'cut'"),
        (["--n_process", 0], r"--n_process must be at least 1, or -1 .* got 0"),
    )


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory, trained: tuple[Path, dict[str, Any]]) -> Path:
    """A parsed corpus whose targets are its sources."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = corpus(7, 100)[0]
    options = write_texts(folder, train=texts[:80], validation=texts[80:90], test=texts[90:])
    parsers = ["--source_parser", trained[0], "--target_parser", trained[0]]
    run("prepare", *options, *parsers, "--output_dir", folder / "parsed")
    return folder


SMALL = ["--hidden_size", 64, "--initializer_range", 0.5, "--hidden_dropout_prob", 0.0]
SMALL += ["--learning_rate", 0.01, "--warmup_steps", 10, "--per_device_train_batch_size", 10, "--min_frequency", 1]
TWIN = ["--number_field", "real", "--use_relations", "false", "--attention_type", "luong"]


@pytest.mark.parametrize(
    "network", [pytest.param([], marks=pytest.mark.full, id="complex"), pytest.param(TWIN, id="words")]
)
def test_a_network_learns_and_translates(
    tmp_path: Path, parsed: Path, network: list[str], capsys: pytest.CaptureFixture
) -> None:
    output = ["--output_dir", tmp_path / "out"]
    results = run(
        *("run_synconmt", "--data_dir", parsed / "parsed", *SMALL, *network, *output),
        *("--num_train_epochs", 8, "--test_num_beams", 2, "--seed", 0),
    )
    assert results["rows"] == {"train": 80, "validation": 10, "test": 10}
    assert results["test_accuracy"]["word_accuracy"] > 0.7
    assert ("relation_accuracy" in results["test_accuracy"]) == (network != TWIN)
    assert results["test"]["bleu"] > 30.0
    assert sum(row["sentences"] for row in results["bleu_by_length"]) == 10
    assert 0.0 < results["dependency_shares"]["words"] < 1.0
    assert ("relations" in results["dependency_shares"]) == (network != TWIN)
    assert results == json.loads((tmp_path / "out" / "results.json").read_text())

    sources = (parsed / "test.a").read_text(encoding="utf-8").splitlines()
    translate = ("translate", "--model", tmp_path / "out", "--input_file", parsed / "test.a")
    capsys.readouterr()
    run(*translate)
    predictions = (tmp_path / "out" / "predictions.txt").read_text(encoding="utf-8")
    assert capsys.readouterr().out == predictions
    with pytest.raises(ValueError, match=r"--format must be one of .*'xml'"):
        run(*translate, "--format", "xml")
    if network == TWIN:
        with pytest.raises(
            ValueError, match=r"--format must be text or json for a model without relations, got 'relations'"
        ):
            run(*translate, "--format", "relations")
        return
    (tmp_path / "two.txt").write_text("the dog . the cat\n", encoding="utf-8")
    stops = save_parser_of_stops(tmp_path / "stops")
    two = [*translate, "--input_file", tmp_path / "two.txt", "--source_parser", stops]
    with pytest.raises(ValueError, match="text 0: source must be one sentence, got 2"):
        run(*two)
    run(*two, "--sentences", "join")
    assert len(capsys.readouterr().out.splitlines()) == 1
    maps = tmp_path / "maps"
    run(*translate, "--format", "json", "--attention_dir", maps, "--output_file", tmp_path / "out.json")
    records = [json.loads(line) for line in (tmp_path / "out.json").read_text(encoding="utf-8").splitlines()]
    assert [record["source"] for record in records] == sources
    assert [record["translation"] for record in records] == predictions.splitlines()
    assert all(record["attention"]["target_tokens"][:-1] == record["words"] for record in records)
    assert len(list(maps.glob("*.png"))) == 10
    run(*translate, "--format", "relations")
    first = capsys.readouterr().out.splitlines()[0].split()
    assert first == [f"{word}/{name}" for word, name in zip(records[0]["words"], records[0]["relations"], strict=True)]


def test_a_run_says_what_is_wrong(tmp_path: Path, parsed: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"--data_dir must be a folder of run parse-corpus, got .*none"):
        run("run_synconmt", "--data_dir", tmp_path / "none")
    arguments = ["--data_dir", parsed / "parsed", "--output_dir", tmp_path / "out"]
    with pytest.raises(
        StrictDataclassClassValidationError, match="use_relations must be True with number_field='complex', got False"
    ):
        run("run_synconmt", *arguments, "--use_relations", "false")
