# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Words and relations out of text, and text out of words and relations."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from datasets import Dataset, DatasetDict
from transformers import AutoProcessor, AutoTokenizer

from complex_transformers import SynCoNMTConfig, SynCoNMTForConditionalGeneration, SynCoNMTProcessor, build_tokenizer
from complex_transformers.recipes import SyntaxTranslationCollator, build_syntax_processor, encode_syntax_dataset

PAD, UNK, START, END = 0, 1, 3, 4


def parsed(text: str, relations: str, spaces: str) -> dict:
    """Words and relations divided by spaces; 1 for a word with a space behind it."""
    return {"tokens": text.split(), "relations": relations.split(), "spaces": [s == "1" for s in spaces]}


SOURCE = [
    parsed("Dogs don't bark .", "nsubj aux root punct", "1100"),
    parsed("( Cats ) sleep .", "punct nsubj:pass punct root punct", "00100"),
]
TARGET = [
    parsed("Hunde bellen nicht .", "nsubj root advmod punct", "1100"),
    parsed("Katzen , die schlafen .", "root punct nsubj acl punct", "01100"),
]
TEXTS = ["Hunde bellen nicht.", "Katzen, die schlafen."]


@pytest.fixture
def processor() -> SynCoNMTProcessor:
    return build_syntax_processor(SOURCE, TARGET)


def small_model(processor: SynCoNMTProcessor, **options) -> SynCoNMTForConditionalGeneration:
    torch.manual_seed(0)
    config = SynCoNMTConfig(hidden_size=16, **processor.vocabulary_arguments(), **options)
    return SynCoNMTForConditionalGeneration(config).eval()


def test_one_pair(processor):
    features = processor(SOURCE[0], TARGET[0])
    words = processor.source_tokenizer.convert_ids_to_tokens(features["input_ids"])
    assert words == ["Dogs", "don't", "bark", "￭.", "</s>"]  # the mark of a word without a space before it
    assert processor.tokenizer.convert_ids_to_tokens(features["labels"]) == ["Hunde", "bellen", "nicht", "￭.", "</s>"]
    names = processor.source_relation_tokenizer.convert_ids_to_tokens(features["relation_ids"])
    assert names == ["nsubj", "aux", "root", "punct", "</s>"]
    names = processor.relation_tokenizer.convert_ids_to_tokens(features["relation_labels"])
    assert names == ["nsubj", "root", "advmod", "punct", "</s>"]
    assert features["attention_mask"] == [1] * 5
    assert set(processor(text_target=TARGET[0])) == {"labels", "relation_labels"}
    assert processor(SOURCE)["input_ids"][0] == features["input_ids"]


def test_text_comes_back(processor):
    batch = processor(text_target=TARGET, padding=True, return_tensors="pt")
    decoded = processor.decode_with_relations(batch["labels"], batch["relation_labels"])
    assert [row["text"] for row in decoded] == TEXTS
    assert [row["tokens"] for row in decoded] == [sentence["tokens"] for sentence in TARGET]
    assert [row["relations"] for row in decoded] == [sentence["relations"] for sentence in TARGET]
    ids = [row[row >= 0] for row in batch["labels"]]
    assert processor.batch_decode(ids, skip_special_tokens=True) == TEXTS
    # As generate() gives them: a first word, and padding behind the end.
    ids = torch.tensor([[START, *ids[0], PAD, PAD]])
    relations = torch.tensor([[START, *batch["relation_labels"][0][:5], PAD, PAD]])
    assert processor.decode_with_relations(ids, relations) == decoded[:1]


def test_without_spaces_words_stand_apart():
    sentences = [{key: row[key] for key in ("tokens", "relations")} for row in TARGET]
    processor = build_syntax_processor(sentences, sentences)
    assert not processor.mark_joins
    batch = processor(text_target=TARGET)
    (decoded,) = processor.decode_with_relations(batch["labels"][:1], batch["relation_labels"][:1])
    assert decoded["text"] == "Hunde bellen nicht ."


def test_words_the_vocabulary_does_not_know_keep_their_relations(processor):
    features = processor(parsed("Dogs ￭ <pad> </s> bark", "nsubj aux aux aux root", "11111"))
    assert features["input_ids"][1:4] == [UNK] * 3  # never the padding or the end, however they are spelled
    assert (
        features["relation_ids"] == processor(parsed("a b c d e", "nsubj aux aux aux root", "11111"))["relation_ids"]
    )
    rare = build_syntax_processor([*SOURCE, *SOURCE[:1]], TARGET, min_frequency=2)
    assert rare(SOURCE[1])["input_ids"] == [UNK, UNK, UNK, UNK, rare(SOURCE[0])["input_ids"][3], END]
    lower = build_syntax_processor(SOURCE, TARGET, lowercase=True)
    assert (
        lower(SOURCE)["input_ids"]
        == lower([{**s, "tokens": [t.upper() for t in s["tokens"]]} for s in SOURCE])["input_ids"]
    )
    assert UNK not in lower(SOURCE[0])["input_ids"]


def test_relations_the_vocabulary_does_not_know(processor):
    sentence = parsed("Dogs bark", "nsubj:pass parataxis", "11")
    message = (
        r"source 1 must have relations of \['aux', .*'root'\], got 'parataxis' at word 2 \('bark'\).*source_relations="
    )
    with pytest.raises(ValueError, match=message):
        processor([SOURCE[0], sentence])
    with pytest.raises(ValueError, match=r"source must have relations of .*, got '<pad>'"):
        processor(parsed("Dogs", "<pad>", "1"))
    more = build_syntax_processor(SOURCE, TARGET, source_relations=["parataxis"])
    assert more.source_relation_tokenizer.convert_ids_to_tokens(more(sentence)["relation_ids"])[1] == "parataxis"
    simple = build_syntax_processor(SOURCE, TARGET, relation_subtypes=False)
    names = simple(parsed("Dogs bark", "nsubj:outer root", "11"))["relation_ids"]
    assert simple.source_relation_tokenizer.convert_ids_to_tokens(names) == ["nsubj", "root", "</s>"]


def test_shared_vocabularies():
    processor = build_syntax_processor(SOURCE, TARGET, share_vocabularies=True)
    features = processor(TARGET[0], TARGET[0])
    assert features["input_ids"] == features["labels"]
    assert features["relation_ids"] == features["relation_labels"]
    assert small_model(processor, share_embeddings=True).config.num_words[0] == len(processor.tokenizer)


def test_padding_and_cutting(processor):
    rows = [processor(source, target) for source, target in zip(SOURCE, TARGET, strict=True)]
    batch = processor.pad(rows, padding_side="left", pad_to_multiple_of=4, return_tensors="pt")
    assert {name: tuple(value.shape) for name, value in batch.items()} == {
        "input_ids": (2, 8),
        "relation_ids": (2, 8),
        "attention_mask": (2, 8),
        "labels": (2, 8),
        "relation_labels": (2, 8),
    }
    for name in ("input_ids", "relation_ids", "attention_mask"):
        assert batch[name][0].tolist() == [0, 0, 0, *rows[0][name]]
    for name in ("labels", "relation_labels"):
        assert batch[name][0].tolist() == [*rows[0][name], -100, -100, -100]
    assert processor(SOURCE, padding="max_length", max_length=9)["input_ids"][1][-3:] == [PAD] * 3
    cut = processor(SOURCE[1], truncation=True, max_length=3)
    assert (cut["input_ids"], cut["relation_ids"]) == tuple(
        [*rows[1][name][:2], END] for name in ("input_ids", "relation_ids")
    )
    with pytest.raises(ValueError, match="max_length must be at least 2 with truncation=True, got None"):
        processor(SOURCE[1], truncation=True)
    assert processor([])["input_ids"] == []
    with pytest.raises(ValueError, match="input_ids must have at most max_length=5 entries, got 6"):
        processor(SOURCE, padding="max_length", max_length=5)


def test_bad_sentences(processor):
    for sentence, message in (
        ({"tokens": [], "relations": []}, "got 0 tokens, 0 relations"),
        ({"tokens": ["a"], "relations": ["root", "dep"]}, "got 1 tokens, 2 relations"),
        ({"tokens": ["a"], "relations": ["root"], "spaces": [True, True]}, "2 spaces"),
        ("raw text", "source_parser must be a spaCy pipeline, got None"),
    ):
        with pytest.raises(ValueError, match=message):
            processor(sentence, TARGET[0])
    with pytest.raises(ValueError, match=r"must have the same length, got \[1, 2\]"):
        processor(SOURCE, TARGET[:1])
    with pytest.raises(ValueError, match="text or text_target must be given, got neither"):
        processor()
    pieces = build_tokenizer(["a b"] * 9, "bpe", vocab_size=300, append_eos=True)
    tokenizers = [getattr(processor, name) for name in SynCoNMTProcessor.get_attributes()]
    with pytest.raises(ValueError, match="source_tokenizer must be a WordLevel tokenizer, got BPE"):
        SynCoNMTProcessor(tokenizers[0], pieces, *tokenizers[2:])
    moved = copy.deepcopy(tokenizers[1])
    moved.pad_token = "<mask>"
    with pytest.raises(ValueError, match=r"must have the same pad_token_id, got \[0, 2\]"):
        SynCoNMTProcessor(tokenizers[0], moved, *tokenizers[2:])
    endless = build_tokenizer(["a b"], "token")
    with pytest.raises(ValueError, match=r"^bos_token of tokenizer must be set"):
        SynCoNMTProcessor(endless, *tokenizers[1:])


def test_errors_count_all_rows():
    spacy = pytest.importorskip("spacy")

    @spacy.Language.component("every_word_a_root", assigns=["token.dep", "token.head"])
    def every_word_a_root(doc):
        heads, relations = list(range(len(doc))), ["ROOT"] * len(doc)
        return spacy.tokens.Doc(doc.vocab, [token.text for token in doc], heads=heads, deps=relations)

    language = spacy.blank("en")
    language.add_pipe("every_word_a_root")
    processor = build_syntax_processor(SOURCE, TARGET, source_parser=language)
    for text, message in ((" ", "source 2 must not be blank"), ("Dogs bark", "source 2 must be one sentence, got 2")):
        with pytest.raises(ValueError, match=message):
            processor([*SOURCE, text])
    with pytest.raises(ValueError, match="source must not be blank"):
        processor(" ")


def test_saved_with_the_model_and_loaded(processor, tmp_path):
    processor.save_pretrained(tmp_path)
    small_model(processor).save_pretrained(tmp_path)
    loaded = AutoProcessor.from_pretrained(tmp_path)
    assert type(loaded) is SynCoNMTProcessor
    assert loaded(SOURCE, TARGET) == processor(SOURCE, TARGET)
    assert loaded.vocabulary_arguments() == processor.vocabulary_arguments()
    assert loaded.decode(processor(text_target=TARGET[0])["labels"], skip_special_tokens=True) == TEXTS[0]
    # The folder's own tokenizer is that of the target, which decodes what the model writes.
    assert AutoTokenizer.from_pretrained(tmp_path).get_vocab() == processor.tokenizer.get_vocab()
    # A parser is remembered by its name, and asked for when there is a text to parse.
    named = AutoProcessor.from_pretrained(tmp_path, source_parser="absent_parser", sentences="join")
    named.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "processor_config.json").read_text())["source_parser"] == "absent_parser"
    assert "parser" not in (tmp_path / "tokenizer_config.json").read_text()
    again = AutoProcessor.from_pretrained(tmp_path, trust_remote_code=True)
    assert (again.source_parser.name, again.source_parser.sentences) == ("absent_parser", "join")
    assert again(SOURCE) == processor(SOURCE)
    pytest.importorskip("spacy")
    with pytest.raises(OSError, match="Can't find model 'absent_parser'"):
        again("Dogs bark.")


def dataset() -> DatasetDict:
    columns = {f"source_{key}": [row[key] for row in SOURCE] for key in SOURCE[0]}
    columns |= {f"target_{key}": [row[key] for row in TARGET] for key in TARGET[0]}
    return DatasetDict(train=Dataset.from_dict({**columns, "target": TEXTS}))


def test_data_sets_are_encoded(processor):
    rows = encode_syntax_dataset(dataset(), processor)["train"]
    assert rows["length"] == [5, 6]
    features = processor(SOURCE, TARGET)
    assert all(rows[name] == features[name] for name in features)
    assert rows["target"] == TEXTS
    texts = DatasetDict(train=Dataset.from_dict({"source": ["a"], "target": ["b"]}))
    with pytest.raises(ValueError, match=r"the train data must have the columns \['source_relations', .* Parse it"):
        encode_syntax_dataset(texts, processor)


def test_batches_for_training(processor):
    rows = list(encode_syntax_dataset(dataset(), processor)["train"])
    model = small_model(processor)
    batch = SyntaxTranslationCollator(processor, model)(rows)
    assert batch["decoder_input_ids"][0].tolist() == [START, *rows[0]["labels"][:-1], END]
    assert batch["decoder_input_ids"][1].tolist() == [START, *rows[1]["labels"][:-1]]
    assert batch["decoder_relation_ids"][0].tolist() == [START, *rows[0]["relation_labels"][:-1], END]
    plain = SyntaxTranslationCollator(processor)(rows)
    assert set(batch) - set(plain) == {"decoder_input_ids", "decoder_relation_ids"}
    assert torch.equal(model(**batch).loss, model(**plain).loss)
    twin = small_model(processor, number_field="real", use_relations=False)
    words = SyntaxTranslationCollator(processor, twin)(rows)
    assert set(words) == {"input_ids", "attention_mask", "labels", "decoder_input_ids"}
    assert twin(**words).loss.isfinite()


def test_a_name_out_of_a_checkpoint_is_not_loaded_without_consent(processor, tmp_path, monkeypatch):
    spacy = pytest.importorskip("spacy")
    loaded = []
    monkeypatch.setattr(spacy, "load", lambda name: loaded.append(name) or pytest.fail("a package was imported"))
    processor.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "processor_config.json").read_text())
    for name in ("evil_package", "../source_parser", str(tmp_path)):
        (tmp_path / "processor_config.json").write_text(json.dumps({**config, "source_parser": name}))
        for options in ({}, {"trust_remote_code": False}, {"target_parser": "mine"}):
            named = AutoProcessor.from_pretrained(tmp_path, **options)
            with pytest.raises(ValueError, match=f"source_parser={name!r}, or with trust_remote_code=True"):
                named("Dogs bark.")
            assert named(SOURCE) == processor(SOURCE)
    assert loaded == []
    for options in ({"trust_remote_code": True}, {"source_parser": str(tmp_path)}):
        with pytest.raises(pytest.fail.Exception, match="a package was imported"):
            AutoProcessor.from_pretrained(tmp_path, **options)("Dogs bark.")
    assert loaded == [str(tmp_path)] * 2


def test_the_folder_of_a_parser_goes_with_the_processor(processor, tmp_path):
    spacy = pytest.importorskip("spacy")
    spacy.blank("en").to_disk(tmp_path / "parser")
    given = build_syntax_processor(SOURCE, TARGET, source_parser=tmp_path / "parser")
    given.save_pretrained(tmp_path / "first")
    assert str(tmp_path) not in (tmp_path / "first/processor_config.json").read_text()
    AutoProcessor.from_pretrained(tmp_path / "first").save_pretrained(tmp_path / "second")
    (tmp_path / "first").rename(tmp_path / "gone")
    moved = AutoProcessor.from_pretrained(tmp_path / "second")
    assert moved.source_parser.name == str(tmp_path / "second/source_parser")
    with pytest.raises(ValueError, match="pipeline must have a parser"):  # loaded: it is a blank one
        moved("Dogs bark.")
