# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Dependency trees out of CoNLL-U files and out of spaCy pipelines."""

from __future__ import annotations

import copy
import pickle
import time
from pathlib import Path

import pytest

from complex_transformers import SyntaxParser, read_conllu
from complex_transformers.data.syntax import _contract, _depths
from refusals import refused
from table_files import write_text

pytest.importorskip("conllu")


def line(number: object, form: str, head: object, relation: str = "dep", misc: str = "_") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t{head}\t{relation}\t_\t{misc}\n"


SENTENCES = """\
# newdoc id = letters
# sent_id = letters-1
# text = Je vais au marché
1\tJe\tje\tPRON\t_\tNumber=Sing\t2\tnsubj\t2:nsubj\t_
2\tvais\taller\tVERB\t_\t_\t0\troot\t0:root\t_
3-4\tau\t_\t_\t_\t_\t_\t_\t_\t_
3\tà\tà\tADP\t_\t_\t5\tcase\t5:case\t_
4\tle\tle\tDET\t_\t_\t5\tdet\t5:det\t_
5\tmarché\tmarché\tNOUN\t_\t_\t2\tobl\t2:obl\t_
5.1\tva\taller\tVERB\t_\t_\t_\t_\t2:conj\t_

# sent_id = letters-2
1\t#\t#\tSYM\t_\t_\t0\troot\t_\t_
2\t1 000\t1 000\tNUM\t_\t_\t1\tnummod\t_\t_
"""

# "Er geht zum alten Haus, don't!": zum is zu + dem, don't is do + n't.
CONTRACTED = "".join(
    [
        "# sent_id = a\n",
        line(1, "Er", 2, "nsubj"),
        line(2, "geht", 0, "root"),
        line("3-4", "zum", "_", "_"),
        line(3, "zu", 6, "case"),
        line(4, "dem", 6, "det"),
        line(5, "alten", 6, "amod"),
        line(6, "Haus", 2, "obl", "SpaceAfter=No"),
        line(7, ",", 8, "punct"),
        line("8-9", "don't", "_", "_", "SpaceAfter=No"),
        line(8, "do", 2, "conj"),
        line(9, "n't", 8, "advmod"),
        line("9.1", "empty", "_", "_"),
        line(10, "!", 2, "punct"),
    ]
)


def write(folder, text: str, name: str = "text.conllu"):
    return write_text(folder / name, text)


@pytest.mark.parametrize("ending", ["conllu", "conllu.gz"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_words_heads_and_comments_of_a_file(tmp_path, ending, line_end):
    path = write(tmp_path, SENTENCES.replace("\n", line_end), f"text.{ending}")
    first, second = read_conllu(path)
    assert first == {
        "tokens": ["Je", "vais", "à", "le", "marché"],
        "heads": [2, 0, 5, 5, 2],
        "relations": ["nsubj", "root", "case", "det", "obl"],
        "upos": ["PRON", "VERB", "ADP", "DET", "NOUN"],
        "spaces": [True] * 5,
        "metadata": {"newdoc id": "letters", "sent_id": "letters-1", "text": "Je vais au marché"},
    }
    assert (second["tokens"], second["heads"]) == (["#", "1 000"], [0, 1])
    assert list(read_conllu(Path(path))) == [first, second]


def test_files_without_sentences(tmp_path):
    assert list(read_conllu(write(tmp_path, ""))) == []
    (comment,) = read_conllu(write(tmp_path, "# sent_id = 7\n\n"))
    assert comment.pop("metadata") == {"sent_id": "7"}
    assert set(map(tuple, comment.values())) == {()}


def test_sentences_come_one_by_one(tmp_path):
    sentences = read_conllu(write(tmp_path, SENTENCES + "\n" + line(1, "word", 9)))
    assert [len(next(sentences)["tokens"]) for _ in range(2)] == [5, 2]  # before the broken one is read
    refused("sentence 3", next, sentences)


def test_contractions_stay_apart(tmp_path):
    (sentence,) = read_conllu(write(tmp_path, CONTRACTED))
    assert sentence["tokens"] == ["Er", "geht", "zu", "dem", "alten", "Haus", ",", "do", "n't", "!"]
    assert sentence["heads"] == [2, 0, 6, 6, 6, 2, 8, 2, 8, 2]
    assert sentence["upos"] == ["X"] * 10
    # Words that spell out their range stand together, as in the text; the others are written apart.
    assert [t for t, space in zip(sentence["tokens"], sentence["spaces"], strict=True) if not space] == [
        *("Haus", "do", "n't")
    ]


def test_contractions_that_are_not_spelled_out_become_one_word(tmp_path):
    (sentence,) = read_conllu(write(tmp_path, CONTRACTED), contractions="merge")
    assert sentence["tokens"] == ["Er", "geht", "zum", "alten", "Haus", ",", "do", "n't", "!"]
    assert sentence["heads"] == [2, 0, 5, 5, 2, 7, 2, 7, 2]
    assert sentence["relations"] == ["nsubj", "root", "case", "amod", "obl", "punct", "conj", "advmod", "punct"]
    assert sentence["spaces"] == [True, True, True, True, False, True, False, False, True]


def test_a_merged_word_keeps_the_tree(tmp_path):
    # The first word of the range hangs below the second by way of a third: only the highest can stand for both.
    text = line("1-2", "ab", "_", "_") + line(1, "x", 3) + line(2, "y", 0, "root") + line(3, "z", 2, "obj")
    (sentence,) = read_conllu(write(tmp_path, text), contractions="merge")
    assert (sentence["tokens"], sentence["heads"]) == (["ab", "z"], [0, 1])
    assert sentence["relations"] == ["root", "obj"]


def test_time_is_linear_in_a_chain_of_heads():
    # Each word hangs on the next one; of every four words the first two are one range. Quadratic code takes minutes.
    size = 50_000
    heads = [*range(2, size + 1), 0]
    columns = {"tokens": ["w"] * size, "spaces": [True] * size, "heads": heads}
    ranges = [{"id": (first, "-", first + 1), "form": "xy", "misc": None} for first in range(1, size, 4)]
    start = time.process_time()
    depths = _depths(heads)
    merged = _contract(columns, ranges, depths, merge=True)
    refused("must form a tree, got a cycle above word 1", _depths, [*heads[:-2], 2, 0])
    assert time.process_time() - start < 1
    assert depths == list(range(size, 0, -1))
    assert merged["heads"] == [*range(2, size * 3 // 4 + 1), 0]
    assert merged["tokens"] == ["xy", "w", "w"] * (size // 4)


BROKEN = {
    "circle": (line(1, "a", 0) + line(2, "b", 3) + line(3, "c", 2), "must form a tree, got a cycle above word 2"),
    "no root": (line(1, "a", 2) + line(2, "b", 1), "must form a tree, got a cycle above word 1"),
    "no head": (line(1, "a", 0) + line(2, "b", "_"), r"heads must be 2 other .* got \[0, None\]"),
    "far head": (line(1, "a", 0) + line(2, "b", 7), r"heads must be 2 other .* got \[0, 7\]"),
    "head of itself": (line(1, "a", 0) + line(2, "b", 2), r"heads must be 2 other .* got \[0, 2\]"),
    "wrong number": (line(1, "a", 0) + line(5, "b", 1), "word 2 must have the ID 2"),
    "no relation": (line(1, "a", 0) + line(2, "b", 1, "_"), "word 2 must have the ID 2 and a relation"),
    "long range": (line("1-9", "ab", "_") + line(1, "a", 0) + line(2, "b", 1), r"of the 2 words, got \[1, 9\]"),
    "ranges that overlap": (
        line("1-2", "ab", "_") + line(1, "a", 0) + line("2-3", "xy", "_") + line(2, "b", 1) + line(3, "c", 1),
        r"disjoint ranges of the 3 words, got \[1, 2, 2, 3\]",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_errors_name_the_sentence_and_the_file(tmp_path, text, message):
    path = write(tmp_path, line(1, "a", 0) + "\n" + text)
    refused(rf"(?s){message}.*sentence 2.*while reading .*text\.conllu", list, read_conllu(path))


def test_other_files(tmp_path):
    import conllu

    words = write(tmp_path, "A\ttext\n")
    refused("(?s)'A' is not a valid ID.*text.conllu", list, read_conllu(words), error=conllu.exceptions.ParseException)
    refused("absent", list, read_conllu(tmp_path / "absent.conllu"), error=FileNotFoundError)


def test_encodings(tmp_path):
    path = tmp_path / "text.conllu"
    (sentence,) = read_conllu(write(tmp_path, "\ufeff" + line(1, "M\u00fchle", 0)))
    assert sentence["tokens"] == ["M\u00fchle"]
    path.write_text(line(1, "a", 0) + "\n" + line(1, "b", 0) + line(2, "M\u00fchle", 1), encoding="latin-1")
    refused(r"(?s)'utf-8' codec.*text\.conllu", list, read_conllu(path), error=UnicodeDecodeError)


def test_unknown_contractions(tmp_path):
    path = write(tmp_path, CONTRACTED)
    refused(r"contractions must be one of \['merge', 'split'\], got 'cut'", read_conllu, path, contractions="cut")


TREE: dict[str, list] = {}  # spaCy keeps the first component of a name, so the tree is not the component's own


def with_heads(heads: list[int], relations: list[str]):
    """A blank English pipeline whose parser gives every text this tree; heads from 0."""
    spacy = pytest.importorskip("spacy")
    TREE.update(heads=heads, deps=relations)

    @spacy.Language.component("fixed_tree", assigns=["token.dep", "token.head"])
    def fixed_tree(doc):
        spaces = [bool(token.whitespace_) for token in doc]
        return spacy.tokens.Doc(doc.vocab, [token.text for token in doc], spaces, **TREE)

    pipeline = spacy.blank("en")
    pipeline.add_pipe("fixed_tree")
    return pipeline


def test_a_text_is_parsed():
    parser = SyntaxParser(with_heads([1, 1, 1, 1], ["nsubj", "ROOT", "dep", "punct"]))
    assert parser(" Dogs  bark\tloudly. ") == {
        "tokens": ["Dogs", "bark", "loudly", "."],
        "heads": [2, 0, 2, 2],
        "relations": ["nsubj", "root", "dep", "punct"],
        "spaces": [True, True, False, False],
        "sentences": 1,
    }
    assert list(parser.pipe(["Dogs bark loudly."] * 3)) == [parser("Dogs bark loudly.")] * 3


def test_several_sentences_in_a_text():
    pipeline = with_heads([1, 1, 3, 3], ["nsubj", "ROOT", "nsubj", "ROOT"])
    message = "text 0 must be one sentence, got 2: 'Dogs bark cats meow'.*sentences='join' .* from_pretrained"
    refused(message, list, SyntaxParser(pipeline).pipe(["Dogs bark cats meow"]))
    joined = SyntaxParser(pipeline, "join")("Dogs bark cats meow")
    assert joined["heads"] == [2, 0, 4, 2]
    assert joined["relations"] == ["nsubj", "root", "nsubj", "parataxis"]
    assert joined["sentences"] == 2


def test_texts_that_cannot_be_parsed():
    parser = SyntaxParser(with_heads([0], ["ROOT"]))
    for name, words in (("line", "line 1"), (["the first", "the second"], "the second")):
        refused(f"{words} must not be blank, got ' '", list, parser.pipe(["a", " "], name=name))


def test_words_without_a_relation():
    refused(
        "pipeline must have a parser, .* no relations in the text: 'a b'",
        SyntaxParser(with_heads([0, 0], ["ROOT", ""])),
        "a b",
    )


@pytest.fixture
def blank(tmp_path):
    """A folder with a pipeline that has no parser."""
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.to_disk(tmp_path / "blank")
    return tmp_path / "blank"


def test_pipelines_that_cannot_be_used(blank):
    refused(
        "must have a parser, got '.*blank', which finds no relations in the text: 'a text'",
        SyntaxParser(blank),
        "a text",
    )
    refused("xx_absent_sm", SyntaxParser("xx_absent_sm"), "a text", error=OSError)
    refused(r"sentences must be one of \['error', 'join'\], got 'cut'", SyntaxParser, "en_core_web_sm", "cut")


def test_a_component_need_not_say_that_it_parses():
    with_heads([0], ["ROOT"])  # the component fixed_tree
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("fixed_tree")
    pipeline.get_pipe_meta("fixed_tree").assigns.clear()
    assert SyntaxParser(pipeline)("word")["relations"] == ["root"]


def test_copies_hold_the_name_alone(tmp_path):
    pipeline = with_heads([0], ["ROOT"])
    unnamed = copy.deepcopy(SyntaxParser(pipeline))
    refused("must be a name or folder to load in another process, got an object. Save it with to_disk", unnamed, "a")
    pipeline.to_disk(tmp_path / "fixed")
    named = SyntaxParser(str(tmp_path / "fixed"), "join")
    assert named("a")["relations"] == ["root"]
    again = pickle.loads(pickle.dumps(named))
    assert (again.name, again.sentences) == (named.name, "join")
    assert again("a") == named("a")
