# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""pipeline("complex-text2text"): the model's own generations and scores, whatever the input comes in; bad input."""

import subprocess
import sys
import warnings
from itertools import chain

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch.utils.data import Dataset, IterableDataset
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PreTrainedTokenizerFast,
    pipeline,
)
from transformers.pipelines import PIPELINE_REGISTRY
from transformers.pipelines.pt_utils import KeyDataset

from complex_transformers import (
    ComplexOrderConfig,
    ComplexOrderForMaskedLM,
    SynCoNMTConfig,
    SynCoNMTForConditionalGeneration,
    TextToTextPipeline,
)
from complex_transformers.auto import register_all
from complex_transformers.models.base.hub import TEXT_TO_TEXT_TASK
from families import Case
from refusals import refused

SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
WORDS = ["the", "a", "small", "big", "old", "cat", "dog", "mat", "sat", "ran", "on", "near", "and", "bites", "man"]
TEXTS = ["the cat sat on the mat", "a dog ran", "the small dog sat on a big old mat near the cat", "man bites dog"]
VOCABULARY = [*SPECIAL.values(), *WORDS]
SIZES = {"max_position_embeddings": 24, "vocab_size": len(VOCABULARY)}
SIZES |= {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
THEIRS = {**SIZES, "d_model": 16, "init_std": 0.7, "tie_word_embeddings": False, "forced_eos_token_id": None}
for side in ("encoder", "decoder"):
    THEIRS |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 16}
OURS = {**SIZES, "encoder_layers": 1, "decoder_layers": 1, "initializer_range": 1.0, "decoder_start_token_id": 2}
COMPLEX = Case("complex_seq2seq", "learned positions")
# Models of AutoModelForSeq2SeqLM over VOCABULARY, untrained, each with a seed by which it has different answers, some
# of them finished. The decoder starts with <pad> in Marian, with </s> in BART.
MODELS = {
    "marian": (1, lambda: MarianMTModel(MarianConfig(**THEIRS, decoder_start_token_id=0))),
    "bart": (5, lambda: BartForConditionalGeneration(BartConfig(**THEIRS, decoder_start_token_id=3))),
    "complex": (3, lambda: COMPLEX.model_class(COMPLEX.config(**OURS))),
}


def build_tokenizer(**options) -> PreTrainedTokenizerFast:
    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 3)])
    return PreTrainedTokenizerFast(tokenizer_object=raw, **SPECIAL, **options)  # token_type_ids and all


def build_model(name: str):
    seed, build = MODELS[name]
    torch.manual_seed(seed)
    model = build().eval()
    model.generation_config.max_new_tokens = 8
    return model


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return build_model(request.param)


def build_pipeline(model, tokenizer=None, **options) -> TextToTextPipeline:
    model = build_model(model) if isinstance(model, str) else model
    return pipeline(TEXT_TO_TEXT_TASK, model=model, tokenizer=tokenizer or build_tokenizer(), **options)


@pytest.fixture(scope="module")
def generate(model) -> TextToTextPipeline:
    return build_pipeline(model)


def same(records, others) -> None:
    """Lists of lists of records with equal text and ids, and equal scores to rounding."""
    assert len(records) == len(others)
    for record, other in zip(chain(*records), chain(*others), strict=True):
        score, other_score = (r.get("score", 0.0) for r in (record, other))
        assert {k: v for k, v in record.items() if k != "score"} == {k: v for k, v in other.items() if k != "score"}
        assert score == pytest.approx(other_score, abs=1e-5)


def log_probability(model, text: str, token_ids: list[int]) -> float:
    """Mean log probability of the tokens after the first, by one forward pass of the whole target."""
    source = build_tokenizer()(text, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        logits = model(**source, decoder_input_ids=torch.tensor([token_ids[:-1]])).logits[0]
    return logits.log_softmax(-1).gather(1, torch.tensor(token_ids[1:])[:, None]).mean().item()


def test_one_text_and_its_model(model, generate):
    assert type(generate) is TextToTextPipeline
    tokenizer = build_tokenizer()
    inputs = tokenizer(TEXTS[0], return_tensors="pt", return_token_type_ids=False)
    expected = model.generate(**inputs)[0]
    assert generate(TEXTS[0]) == [{"generated_text": tokenizer.decode(expected, skip_special_tokens=True)}]
    for wanted in ({"return_tensors": True}, {"return_text": False}):
        assert generate(TEXTS[0], **wanted) == [{"generated_token_ids": expected.tolist()}]
    both = generate(TEXTS[0], return_tensors=True, return_text=True)[0]
    assert both.keys() == {"generated_text", "generated_token_ids"}
    assert len({generate(text)[0]["generated_text"] for text in TEXTS}) > 1  # it does look at its input


@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "num_return_sequences": 2}], ids=["greedy", "beams"])
@pytest.mark.parametrize("padding_side", ["right", "left"])
def test_batched_is_single(model, options, padding_side):
    generate = build_pipeline(model, build_tokenizer(padding_side=padding_side))
    options = {**options, "return_text": True, "return_tensors": True, "return_scores": True}
    single = [generate(text, **options) for text in TEXTS]
    for batch_size in (1, 3, 4):
        same(generate(TEXTS, batch_size=batch_size, **options), single)


def test_every_kind_of_input(generate):
    class Rows(Dataset):
        def __len__(self):
            return len(TEXTS)

        def __getitem__(self, i):
            return {"source": TEXTS[i]}

    class Stream(IterableDataset):
        def __iter__(self):
            yield from TEXTS

    expected = generate(TEXTS)
    assert generate(tuple(TEXTS)) == expected
    assert generate([]) == generate(()) == []
    for batch_size in (1, 3):
        for inputs in ((t for t in TEXTS), iter(TEXTS), map(str, TEXTS), KeyDataset(Rows(), "source"), Stream()):
            outputs = generate(inputs, batch_size=batch_size)
            assert not isinstance(outputs, list)  # one by one
            assert list(outputs) == expected
    assert len(generate(KeyDataset(Rows(), "source"), batch_size=3)) == len(TEXTS)  # texts, for progress bars


def test_beams_are_those_of_generate(model, generate):
    options = {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 0.5}
    inputs = build_tokenizer()(TEXTS[2], return_tensors="pt", return_token_type_ids=False)
    direct = model.generate(**inputs, **options, return_dict_in_generate=True, output_scores=True)
    records = generate(TEXTS[2], return_scores=True, return_text=True, return_tensors=True, **options)
    assert [len(texts) for texts in generate(TEXTS, batch_size=2, **options)] == [3] * len(TEXTS)
    assert [record["score"] for record in records] == pytest.approx(direct.sequences_scores.tolist(), abs=1e-6)
    for record, ids in zip(records, direct.sequences.tolist(), strict=True):
        own = record["generated_token_ids"]
        assert own == ids[: len(own)]
        assert set(ids[len(own) :]) <= {0, 3}  # generate() fills with the end token where the pad token is 0
        # The documented formula, from another direction.
        count = len(own) - 1
        expected = log_probability(model, TEXTS[2], own) * count / count**0.5
        assert record["score"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    "options",
    [{}, {"do_sample": True, "temperature": 2.0, "top_k": 5, "num_return_sequences": 4}, {"repetition_penalty": 3.0}],
    ids=["greedy", "sampling", "repetition penalty"],
)
def test_score_is_the_log_probability_under_the_model(model, generate, options):
    records = generate(TEXTS, batch_size=2, return_scores=True, return_tensors=True, max_new_tokens=12, **options)
    ends = set()
    for text, answers in zip(TEXTS, records, strict=True):
        assert len(answers) == options.get("num_return_sequences", 1)
        for answer in answers:
            expected = log_probability(model, text, answer["generated_token_ids"])
            assert answer["score"] == pytest.approx(expected, abs=1e-4)
            ends.add(answer["generated_token_ids"][-1] == 3)
    if options.get("do_sample"):
        assert ends == {True, False}  # finished and cut off: both are counted right
    penalised = generate(TEXTS[0], return_scores=True, return_tensors=True, max_new_tokens=5, length_penalty=0.0)[0]
    count = len(penalised["generated_token_ids"]) - 1
    expected = log_probability(model, TEXTS[0], penalised["generated_token_ids"]) * count
    assert penalised["score"] == pytest.approx(expected, abs=1e-4)


def test_arguments_of_generate(model, generate):
    tokenizer = build_tokenizer()
    at_construction = build_pipeline(model, tokenizer, max_new_tokens=3, min_new_tokens=3)

    def count(records):
        return len(records[0]["generated_token_ids"]) - 1

    assert count(at_construction(TEXTS[0], return_tensors=True)) == 3
    assert count(at_construction(TEXTS[0], return_tensors=True, max_new_tokens=5, min_new_tokens=5)) == 5
    assert count(generate(TEXTS[0], return_tensors=True)) <= 8  # of the model's generation_config
    config = GenerationConfig(max_new_tokens=2, min_new_tokens=2)
    assert count(generate(TEXTS[0], return_tensors=True, generation_config=config)) == 2
    assert (config.max_new_tokens, model.generation_config.max_new_tokens, config.eos_token_id) == (2, 8, None)
    refused("max_new_token", generate, TEXTS[0], max_new_token=5)
    refused("num_return_sequences", generate, TEXTS[0], num_return_sequences=2)
    tokenizer = build_tokenizer()
    tokenizer.decode = lambda ids, **options: (ids, options)
    cleaning = build_pipeline(model, tokenizer, clean_up_tokenization_spaces=True)
    record = cleaning(TEXTS[0], skip_special_tokens=False)[0]
    assert record["generated_text"][1] == {"skip_special_tokens": False, "clean_up_tokenization_spaces": True}


def test_stop_strings_get_the_tokenizer(model, generate, monkeypatch):
    plain, seen = model.generate, {}

    def spy(tokenizer=None, generation_config=None, **inputs):
        seen.update(tokenizer=tokenizer, stop_strings=generation_config.stop_strings)
        generation_config.stop_strings = None
        return plain(generation_config=generation_config, **inputs)

    monkeypatch.setattr(model, "generate", spy)
    generate(TEXTS[0], stop_strings=["dog"])
    assert seen == {"tokenizer": generate.tokenizer, "stop_strings": ["dog"]}


def test_length_without_a_limit_anywhere_is_that_of_the_positions():
    model = build_model("bart")
    model.generation_config.max_new_tokens = model.generation_config.max_length = None
    model.generation_config.suppress_tokens = [3]  # never an end
    generate = build_pipeline(model, return_tensors=True)
    assert len(generate(TEXTS[0])[0]["generated_token_ids"]) == 1 + SIZES["max_position_embeddings"]


def test_length_without_a_limit_leaves_room_for_what_has_begun():
    model = build_model("complex")
    model.generation_config.max_new_tokens = model.generation_config.max_length = None
    model.generation_config.suppress_tokens = [3]  # never an end
    generate = build_pipeline(model, return_tensors=True)
    for begun in ([[2, 5, 6]], [[5, 6]]):  # with the first token and without, which is then put before it
        found = generate(TEXTS[0], decoder_input_ids=torch.tensor(begun))[0]["generated_token_ids"]
        assert SIZES["max_position_embeddings"] <= len(found) <= 1 + SIZES["max_position_embeddings"]


def test_a_network_of_words_alone_needs_no_processor():
    sizes = {name: size for name, size in SIZES.items() if name != "max_position_embeddings"}
    config = SynCoNMTConfig(
        **sizes, hidden_size=16, number_field="real", use_relations=False, decoder_start_token_id=2
    )
    generate = build_pipeline(SynCoNMTForConditionalGeneration(config), max_new_tokens=4)
    assert len(generate(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ("", ValueError, "the text must have more than white space"),
        (" \t\n", ValueError, "the text must have more than white space"),
        ([TEXTS[0], "  "], ValueError, "text 1 must have more than white space, got '  '"),
        ((t for t in (TEXTS[0], TEXTS[1], "")), ValueError, "text 2 must have more than white space"),
        ([TEXTS[0], None], TypeError, "text 1 must be a string, got NoneType"),
        ([[TEXTS[0]]], TypeError, "text 0 must be a string, got list"),
        ([{"role": "user", "content": "hi"}], TypeError, "text 0 must be a string, got dict"),
        ((t for t in (TEXTS[0], 7)), TypeError, "text 1 must be a string, got int: 7"),
        (None, TypeError, "iterable of strings, got NoneType"),
        (b"bytes", TypeError, "iterable of strings, got bytes"),
        ({"text": "x"}, TypeError, "iterable of strings, got dict"),
    ],
)
def test_bad_text(inputs, error, message):
    generate = build_pipeline("marian")
    with pytest.raises(error, match=message):
        list(generate(inputs))


def test_text_without_tokens():
    tokenizer = build_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("zap", "")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", special_tokens=[])
    generate = build_pipeline("marian", tokenizer)
    with pytest.raises(ValueError, match="text 1 must have a token of the vocabulary, got 'zap'"):
        generate(["cat", "zap"])


@pytest.mark.parametrize("limit", ["tokenizer.model_max_length", "config.max_position_embeddings"])
def test_long_text_is_refused_or_cut_with_one_warning(model, limit):
    tokenizer = build_tokenizer(**({"model_max_length": 6} if "tokenizer" in limit else {}))
    most = 6 if "tokenizer" in limit else SIZES["max_position_embeddings"]
    generate = build_pipeline(model, tokenizer)
    long, longer = ("cat " * most).strip(), ("cat dog " * most).strip()
    fits = ("cat " * (most - 1)).strip()
    message = rf"must have at most {most} tokens \({limit}\), got {most + 1}. Split it or pass truncation=True"
    refused(f"the text {message}", generate, long)
    refused(f"text 1 {message}", generate, [fits, long], batch_size=2)
    texts = [long, fits, longer]
    with pytest.warns(UserWarning, match="cut to") as caught:
        outputs = generate(texts, truncation=True, batch_size=2)
    assert [str(w.message) for w in caught if "cut to" in str(w.message)] == [
        f"2 of 3 texts were cut to {most} tokens ({limit}); the longest had {2 * most + 1}"
    ]
    assert outputs[0] == generate(fits)  # the end token stays, one word less
    with pytest.warns(UserWarning, match="1 of 1 texts were cut"):
        assert generate(long, truncation=True) == outputs[0]
    with pytest.warns(UserWarning, match="2 of 3 texts were cut"):
        assert list(generate((t for t in texts), truncation=True)) == outputs
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert generate([fits], truncation=True) == [outputs[0]]


def test_models_that_cannot(tmp_path):
    tokenizer = build_tokenizer()
    encoder = ComplexOrderForMaskedLM(ComplexOrderConfig(vocab_size=20, hidden_size=16, num_attention_heads=2))
    refused(r"must be an encoder-decoder .* got ComplexOrderForMaskedLM", build_pipeline, encoder, tokenizer)
    refused("tokenizer must be given", TextToTextPipeline, model=build_model("marian"))
    model = build_model("marian")
    model.generation_config.decoder_start_token_id = model.generation_config.bos_token_id = None
    refused("decoder_start_token_id must be set", build_pipeline, model, tokenizer)
    generate = build_pipeline(model, tokenizer, decoder_start_token_id=0)
    expected = build_pipeline("marian", tokenizer)(TEXTS)
    assert generate(TEXTS) == expected
    tokenizer.pad_token = None
    assert generate(TEXTS) == expected
    refused("pad_token", generate, TEXTS, batch_size=2)


def test_a_folder_in_half_precision_and_inference_mode(generate, tmp_path):
    generate.save_pretrained(tmp_path)
    code = {path.name for path in tmp_path.glob("*.py")}
    assert code <= {"complex_transformers_hub.py"}  # nothing of the pipeline's
    assert "custom_pipelines" not in (tmp_path / "config.json").read_text()
    half = pipeline(TEXT_TO_TEXT_TASK, model=str(tmp_path), dtype=torch.bfloat16)
    assert half.model.dtype == torch.bfloat16
    for options in ({}, {"num_beams": 2}):
        records = list(chain(*half(TEXTS, batch_size=2, return_scores=True, **options)))
        assert len(records) == len(TEXTS)
        assert all(isinstance(record["score"], float) and -20 < record["score"] < 0 for record in records)
    full = pipeline(TEXT_TO_TEXT_TASK, model=str(tmp_path))
    expected = full(TEXTS, batch_size=2, return_scores=True)
    same(expected, generate(TEXTS, batch_size=2, return_scores=True))
    with torch.inference_mode():
        assert full(TEXTS, batch_size=2, return_scores=True) == expected


def test_a_processor_makes_the_features():
    class Parser:
        """A stand-in for a processor: an own preparation of the text and an own padding."""

        def __init__(self):
            self.tokenizer, self.padded = build_tokenizer(), []

        def __call__(self, text, **options):
            return self.tokenizer(text.replace("feline", "cat"), return_token_type_ids=False, **options)

        def pad(self, features, **options):
            self.padded.append(len(features))
            return self.tokenizer.pad(features, **options)

    parser = Parser()
    model = build_model("marian")
    expected = build_pipeline(model)(TEXTS)
    texts = [text.replace("cat", "feline") for text in TEXTS]
    assert TextToTextPipeline(model=model, processor=parser)(texts, batch_size=2) == expected
    assert parser.padded == [2, 2]


def test_import_leaves_the_pipelines_alone():
    code = "import sys, transformers, complex_transformers; print('transformers.pipelines' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_registered_once_under_one_name():
    register_all()
    names = [task for task, entry in PIPELINE_REGISTRY.supported_tasks.items() if entry["impl"] is TextToTextPipeline]
    assert names == [TEXT_TO_TEXT_TASK] == ["complex-text2text"]


def test_an_end_token_in_the_beginning_ends_nothing() -> None:
    generate = build_pipeline("complex")
    for beginning in ([[2, 3, 5, 6]], [[3, 5, 6]]):  # with the first token, and without
        options = {"decoder_input_ids": torch.tensor(beginning), "max_new_tokens": 3, "min_new_tokens": 3}
        (record,) = generate("the cat", return_tensors=True, return_text=True, **options)
        first = [2] if beginning[0][0] != 2 else []
        ids = record["generated_token_ids"]
        assert len(ids) == len(first + beginning[0]) + 3
        assert ids[:-3] == first + beginning[0]
        assert record["generated_text"]
