# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""pipeline("complex-text2text") from raw text, with a parser that lies in a folder."""

from __future__ import annotations

import pytest
import torch
from datasets import Dataset, DatasetDict
from transformers import AutoProcessor, AutoTokenizer, pipeline

from complex_transformers import (
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    SynCoNMTConfig,
    SynCoNMTForConditionalGeneration,
    SyntaxParser,
    TextToTextPipeline,
)
from complex_transformers.recipes import build_syntax_processor, parse_parallel_dataset

spacy = pytest.importorskip("spacy")
TEXTS = ["dogs bark.", "old dogs see cats", "cats see old dogs."]
TARGETS = ["hunde bellen.", "alte hunde sehen katzen", "katzen sehen alte hunde."]
FIELDS = {"complex": {}, "real": {"number_field": "real"}, "words": {"number_field": "real", "use_relations": False}}
VERBS = {"bark", "see", "bellen", "sehen"}


@spacy.Language.component("verb_is_root", assigns=["token.dep", "token.head"])
def verb_is_root(doc):
    """Every word hangs on the verb; its place says by which relation. ``yes`` is a sentence, ``please`` is seldom."""
    words = [token.text for token in doc]
    verb = next((i for i, word in enumerate(words) if word in VERBS), 0)
    names = [
        "ROOT" if i == verb else "punct" if doc[i].is_punct else "nsubj" if i < verb else "obj"
        for i in range(len(doc))
    ]
    names = [{"yes": "ROOT", "please": "discourse"}.get(word, name) for word, name in zip(words, names, strict=True)]
    heads = [i if name == "ROOT" else verb for i, name in enumerate(names)]
    return spacy.tokens.Doc(doc.vocab, words, [bool(token.whitespace_) for token in doc], heads=heads, deps=names)


@pytest.fixture(scope="module", params=["complex", "words", pytest.param("real", marks=pytest.mark.full)])
def folder(request, tmp_path_factory):
    """A saved model whose processor names a saved parser."""
    folder = tmp_path_factory.mktemp("synconmt")
    language = spacy.blank("en")
    language.add_pipe("verb_is_root")
    language.to_disk(folder / "parser")
    parser = SyntaxParser(folder / "parser")
    sides = [list(parser.pipe(texts)) for texts in (TEXTS, TARGETS)]
    processor = build_syntax_processor(*sides, source_parser=folder / "parser")
    torch.manual_seed(0)
    config = SynCoNMTConfig(
        hidden_size=16, initializer_range=1.0, **processor.vocabulary_arguments(), **FIELDS[request.param]
    )
    model = SynCoNMTForConditionalGeneration(config)
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    model.generation_config.max_new_tokens = 8
    model.save_pretrained(folder / "model")
    processor.save_pretrained(folder / "model")
    return folder


@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "num_return_sequences": 2}], ids=["greedy", "beams"])
def test_raw_text_in_text_out(folder, options):
    translate = pipeline("complex-text2text", model=str(folder / "model"))
    model, processor = translate.model, translate.processor
    for text, records in zip(TEXTS, translate(TEXTS, **options), strict=True):
        inputs = processor(text, return_tensors="pt", padding=True)
        if not model.config.use_relations:
            inputs.pop("relation_ids")
        output = model.generate(**inputs, **options, return_dict_in_generate=True)
        expected = processor.tokenizer.batch_decode(output.sequences, skip_special_tokens=True)
        assert [record["generated_text"] for record in records] == expected
        if model.config.use_relations:
            (with_relations,) = translate([text], **options, return_relations=True)
            decoded = processor.decode_with_relations(output.sequences, output.relations)
            assert with_relations == [
                {"generated_text": t, "generated_words": d["tokens"], "generated_relations": d["relations"]}
                for t, d in zip(expected, decoded, strict=True)
            ]
    batched = translate(TEXTS, batch_size=3, **options)
    assert batched == translate(TEXTS, **options)


def test_what_has_no_relations_refuses_them(folder):
    translate = pipeline("complex-text2text", model=str(folder / "model"))
    if not translate.model.config.use_relations:
        with pytest.raises(ValueError, match="return_relations must be False for SynCoNMT"):
            translate(TEXTS, return_relations=True)
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    sizes = {"hidden_size": 8, "intermediate_size": 8, "encoder_layers": 1, "decoder_layers": 1}
    other = ComplexSeq2SeqForConditionalGeneration(
        ComplexSeq2SeqConfig(vocab_size=len(tokenizer), num_attention_heads=1, decoder_start_token_id=3, **sizes)
    )
    with pytest.raises(ValueError, match="return_relations must be False for ComplexSeq2Seq"):
        TextToTextPipeline(model=other, tokenizer=tokenizer)("dogs", return_relations=True)


BAD_TEXTS = {
    "split": ("dogs bark yes", {}, ValueError, "text 1: source must be one sentence, got 2: 'dogs bark yes'"),
    "relation": ("dogs bark please", {}, ValueError, r"text 1: source must have .*, got 'discourse' at word 3"),
    "no parser": (
        "dogs bark",
        {"source_parser": None},
        ValueError,
        "source_parser must be .*, got None",
    ),
    "parser gone": ("dogs bark", {"source_parser": "absent"}, OSError, "Can't find model 'absent'"),
}


@pytest.mark.parametrize(("text", "options", "kind", "message"), BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_a_text_that_cannot_be_read_is_named(folder, text, options, kind, message):
    processor = AutoProcessor.from_pretrained(folder / "model", **options)
    translate = pipeline("complex-text2text", model=str(folder / "model"), processor=processor)
    for texts in ([TEXTS[0], text], iter([TEXTS[0], text])):
        with pytest.raises(kind, match=message):
            list(translate(texts, batch_size=2))


def test_data_sets_that_cannot_be_parsed(folder):
    parser = SyntaxParser(folder / "parser", "join")
    parts = DatasetDict(train=Dataset.from_dict({"source": ["dogs bark yes"], "target": ["cats"]}))
    with pytest.warns(UserWarning, match="1 of 1 pairs"):
        parsed = parse_parallel_dataset(parts, parser, parser)
    with pytest.raises(ValueError, match=r"duplicated columns but columns \['source_tokens'\]"):
        parse_parallel_dataset(parsed, parser, parser)
    with pytest.raises(ValueError, match=r"Column .target. doesn.t exist"):
        parse_parallel_dataset(parts.rename_column("target", "german"), parser, parser)
    with pytest.warns(UserWarning, match="dropped"):
        assert not len(parse_parallel_dataset(parts, parser, parser, drop_joined=True)["train"])


def test_long_text_is_refused_or_cut(folder):
    translate = pipeline("complex-text2text", model=str(folder / "model"))
    translate.tokenizer.model_max_length = 4
    with pytest.raises(ValueError, match=r"must have at most 4 tokens \(tokenizer\.model_max_length\), got 5"):
        translate("old dogs see cats")
    with pytest.warns(UserWarning, match="1 of 1 texts were cut to 4 tokens"):
        cut = translate("old dogs see cats", truncation=True)
    assert len(cut) == 1
