# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The console command: listings without torch, one entry per script, and each verb on a tiny model."""

from __future__ import annotations

import ast
import csv
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from complex_transformers import (
    ComplexMambaConfig,
    ComplexMambaForCausalLM,
    ComplexOrderConfig,
    ComplexOrderForSequenceClassification,
    ComplexOrderModel,
    ComplexSeq2SeqConfig,
    ComplexSeq2SeqForConditionalGeneration,
    build_tokenizer,
    cli,
)

ROOT = Path(__file__).parents[1]
TEXTS = ["a fine film", "a poor film", "the film was fine", "the film was poor"]
LISTING = """
import sys, time
start = time.perf_counter()
from complex_transformers import cli
try:
    cli.main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0
seconds = time.perf_counter() - start
loaded = [name for name in ("torch", "transformers", "numpy") if name in sys.modules]
assert not loaded, loaded
assert seconds < 1, seconds
"""


def commands(group: cli.Group = cli.COMMANDS, *words: str) -> Iterator[tuple[str, ...]]:
    for word, entry in group.commands.items():
        if isinstance(entry, cli.Group):
            yield from commands(entry, *words, word)
        else:
            yield (*words, word)


@pytest.fixture(autouse=True)
def command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest"])  # which commands replace


def refused(capsys: pytest.CaptureFixture[str], message: str, *words: str | Path) -> None:
    """Assert that a command ends with status 2 and one error without a traceback."""
    capsys.readouterr()
    assert cli.main([*map(str, words)]) == 2
    assert re.search(f"^complex-transformers: error: .*{message}", capsys.readouterr().err, re.MULTILINE)


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes)).save_pretrained(tmp_path / "llama")
    build_tokenizer(TEXTS, "word", vocab_size=64).save_pretrained(tmp_path / "llama")
    return tmp_path / "llama"


@pytest.mark.parametrize("words", [[], ["run"], ["convert"]])
def test_listings_take_less_than_a_second(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LISTING, *words, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    group = cli.COMMANDS
    for word in words:
        group = group.commands[word]
    assert all(name in done.stdout for name in group.commands)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_is_a_module_with_a_main(words: tuple[str, ...]) -> None:
    spec = find_spec(cli.module_of(words))
    assert spec is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


def test_every_command_has_a_short_script() -> None:
    scripts = [
        path.read_text(encoding="utf-8")
        for folder in ("examples", "conversion")
        for path in (ROOT / folder).rglob("*.py")
    ]
    for module in map(cli.module_of, commands()):
        (text,) = [text for text in scripts if f"from {module} import main\n" in text]
        assert text.count("\n") <= 10


def test_what_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words, error in (([], "required: COMMAND"), (["run", "tea"], "invalid choice: 'tea'")):
        with pytest.raises(SystemExit, match="2"):
            cli.main(words)
        assert error in capsys.readouterr().err
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(name: str) -> None:
        raise ModuleNotFoundError("No module named 'datasets'", name="datasets")

    monkeypatch.setattr(cli, "import_module", fail)
    refused(capsys, "complex-transformers run ctc needs datasets. Install it: pip install", "run", "ctc")


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError])
def test_errors_of_files_and_options_are_one_line(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main() -> None:
        failure = error("a.csv must have rows")
        failure.add_note("while reading a.csv")
        raise failure

    monkeypatch.setattr(cli, "import_module", lambda name: SimpleNamespace(main=main))
    assert cli.main(["evaluate"]) == 2
    assert capsys.readouterr().err == "complex-transformers: error: a.csv must have rows\nwhile reading a.csv\n"


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def main() -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(cli, "import_module", lambda name: SimpleNamespace(main=main))
    with pytest.raises(RuntimeError, match="out of memory"):
        cli.main(["evaluate"])


def test_a_recipe_records_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    with open("train.csv", "w", newline="") as file:
        rows = [(f"{text} {number}", text.split()[-1] == "fine") for text in TEXTS for number in range(5)]
        csv.writer(file).writerows([("text", "label"), *rows])
    options = "--train_file train.csv --hidden_size 8 --num_attention_heads 1 --max_steps 1 --output_dir out"
    assert cli.main(["run", "classification", *options.split()]) == 0
    results = json.loads(Path("out/results.json").read_text())
    assert results["command"] == f"complex-transformers run classification {options}"


def test_lift_quantize_and_evaluate(llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lifted, packed, text = (str(tmp_path / name) for name in ("lifted", "packed", "text.txt"))
    Path(text).write_text(" . ".join(TEXTS * 4))
    file = tmp_path / "scores.json"
    compressed = f"{text}.gz"
    Path(compressed).write_bytes(gzip.compress(Path(text).read_bytes()))
    cli.main(["lift", "--model", str(llama), "--output", lifted])
    options = ["--calibration_file", compressed, "--segment", "8", "--module_stages", "down_proj=3", "q_proj=1"]
    cli.main(["quantize", "--model", lifted, "--output", packed, *options])
    model = AutoModelForCausalLM.from_pretrained(packed)
    assert model.config.quantization_config.stages == 2
    layer = model.model.layers[0]
    stages = (layer.mlp.down_proj.stages, layer.self_attn.q_proj.stages, layer.mlp.up_proj.stages)
    assert stages == (3, 1, 2)
    assert "2 stages, 3 in down_proj, 1 in q_proj (calibrated rounding)" in (Path(packed) / "README.md").read_text()
    scores = {}
    for folder in (str(llama), lifted, packed):
        cli.main(
            ["evaluate", "--model", folder, "--eval_file", compressed, "--segment", "9", "--output_file", str(file)]
        )
        scores[folder] = json.loads(file.read_text())
    assert scores[str(llama)]["perplexity"] == pytest.approx(scores[lifted]["perplexity"], rel=1e-4)
    assert scores[packed]["tokens"] == scores[lifted]["tokens"] > 50
    plot = tmp_path / "plot.png"
    options = ["--segment", "9", "--output_file", str(file), "--plot_file", str(plot)]
    cli.main(["evaluate", "--model", lifted, "--eval_file", compressed, *options])
    assert list(json.loads(file.read_text())["perplexity_by_position"]) == ["1", "2", "4", "8"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "perplexity: " in capsys.readouterr().out
    again, onnx = tmp_path / "again", tmp_path / "onnx"
    message = "--model must not be quantized already"
    refused(capsys, message, "quantize", "--model", packed, "--output", again, "--stages", "3")
    for item in ("down_proj", "=3", "down_proj=all"):
        message = f"--module_stages must be like down_proj=3, got {item}"
        refused(capsys, message, "quantize", "--model", lifted, "--output", again, "--module_stages", item)
    message = "--model must not be quantized, .*dequantize"
    refused(capsys, message, "export", "--model", packed, "--output_dir", onnx)
    Path(text).write_text("")
    refused(capsys, "--eval_file must contain text", "evaluate", "--model", lifted, "--eval_file", text)


def test_the_perplexity_by_position_of_any_causal_model(llama: Path, tmp_path: Path) -> None:
    text, mamba, file = tmp_path / "text.txt", tmp_path / "mamba", tmp_path / "scores.json"
    text.write_text(" . ".join(TEXTS * 4))
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 8, "head_dim": 8, "intermediate_size": None}
    ComplexMambaForCausalLM(ComplexMambaConfig(vocab_size=64, **sizes)).save_pretrained(mamba)
    build_tokenizer(TEXTS, "word", vocab_size=64).save_pretrained(mamba)
    for folder in (llama, mamba):
        options = ["--segment", "9", "--by_position", "--output_file", str(file)]
        cli.main(["evaluate", "--model", str(folder), "--eval_file", str(text), *options])
        scores = json.loads(file.read_text())
        by_position = scores["perplexity_by_position"]
        assert list(by_position) == ["1", "2", "4", "8"]  # the last one is of a single position
        assert min(by_position.values()) < scores["perplexity"] < max(by_position.values())


def test_a_real_model_is_not_quantized(llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "lift", "quantize", "--model", llama, "--output", tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


def test_a_classifier_is_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = build_tokenizer(TEXTS, "word")
    config = ComplexOrderConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_attention_heads=1, num_hidden_layers=1, id2label={0: "a", 1: "b"}
    )
    model = ComplexOrderForSequenceClassification(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with torch.no_grad():
        classes = [model(**tokenizer(text, return_tensors="pt")).logits.argmax().item() for text in TEXTS]
    rows = [(text, "ab"[label]) for text, label in zip(TEXTS, classes, strict=True)]
    rows[0] = (TEXTS[0], "ba"[classes[0]])
    with (tmp_path / "test.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    output = tmp_path / "scores.json"
    cli.main(
        ["evaluate", "--model", str(tmp_path), "--eval_file", str(tmp_path / "test.csv"), "--output_file", str(output)]
    )
    assert json.loads(output.read_text()) == {"accuracy": 0.75, "rows": 4}
    table = tmp_path / "wrong.csv"
    for lines, message in (
        ("good,1\n", r"must be labels of the model, \['a', 'b'\], got \['1'\]"),
        ("good\n", "label must be a string or number, got '' in row 0"),
        ("", "must have rows, got the empty table"),
    ):
        table.write_text("text,label\n" + lines)
        refused(capsys, message, "evaluate", "--model", tmp_path, "--eval_file", table)


def test_translations_are_evaluated(tmp_path: Path) -> None:
    tokenizer = build_tokenizer(TEXTS, "word")
    sizes = {"hidden_size": 8, "num_attention_heads": 1, "num_hidden_layers": 1, "intermediate_size": 8}
    config = ComplexSeq2SeqConfig(vocab_size=len(tokenizer), decoder_start_token_id=tokenizer.pad_token_id, **sizes)
    model = ComplexSeq2SeqForConditionalGeneration(config)
    model.generation_config.max_length = 8
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "test.tsv").write_text("source\ttarget\n" + "".join(f"{text}\t{text}\n" for text in TEXTS))
    output = tmp_path / "scores.json"
    options = ["--model", tmp_path, "--eval_file", tmp_path / "test.tsv", "--output_file", output]
    cli.main(["evaluate", *map(str, options)])
    assert {"bleu", "chrf", "rows"} <= json.loads(output.read_text()).keys()


def test_what_cannot_be_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {"hidden_size": 8, "num_attention_heads": 1, "num_hidden_layers": 1}
    ComplexOrderModel(ComplexOrderConfig(vocab_size=9, **sizes)).save_pretrained(tmp_path)
    message = "model must be a text model .*got ComplexOrderModel"
    refused(capsys, message, "evaluate", "--model", tmp_path, "--eval_file", "text.txt")
