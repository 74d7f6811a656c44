# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""``python -m complex_transformers.serve``: HTTP requests on loopback, streaming, and the chat client."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from complex_transformers import build_tokenizer, lift
from families import Case

for package in ("fastapi", "uvicorn", "rich"):
    pytest.importorskip(package, reason="optional: make test-tools")
openai = pytest.importorskip("openai", reason="optional: make test-tools")
pytestmark = pytest.mark.tool(
    "transformers serve", "`python -m complex_transformers.serve`: answers, streamed answers, `transformers chat`"
)

CHAT_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
MESSAGES = [{"role": "user", "content": "the dog bit"}]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_DISABLE_UPDATE_CHECK": "1"}


def make_tokenizer():
    texts = ["user: the dog bit the man", "assistant: a man ran from the dog"]
    tokenizer = build_tokenizer(texts, "character", special_tokens="causal")
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def lifted_model(vocab_size):
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    return lift(LlamaForCausalLM(LlamaConfig(vocab_size=vocab_size, initializer_range=0.5, **sizes)))


def recurrent_model(vocab_size):
    return Case("complex_recurrent_lm", "lstm").trained(vocab_size=vocab_size)


def state_space_model(vocab_size):
    return Case("complex_mamba", "complex").trained(vocab_size=vocab_size)


def segment_model(vocab_size):
    return Case("complex_transfo_xl", "modulus").trained(vocab_size=vocab_size)


@pytest.fixture(scope="module", params=[lifted_model, recurrent_model, state_space_model, segment_model])
def saved(request, tmp_path_factory):
    """A saved model with a chat template, its folder and its tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    model = request.param(len(tokenizer)).eval()
    model.generation_config.update(pad_token_id=0, eos_token_id=4, suppress_tokens=[0, 1, 2, 3, 4], do_sample=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer, str(folder)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


def wait_until_healthy(url: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{url}/health").close()
            return
        except urllib.error.URLError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.5)
    pytest.fail(log.read_text())


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """The address of a running server, and its log."""
    port, log = free_port(), tmp_path_factory.mktemp("server") / "log"
    command = [sys.executable, "-m", "complex_transformers.serve", "--port", str(port)]
    with (
        log.open("w") as file,
        subprocess.Popen(command, env=ENVIRONMENT, stdout=file, stderr=subprocess.STDOUT) as process,
    ):
        try:
            wait_until_healthy(f"http://localhost:{port}", process, log)
            yield f"http://localhost:{port}", log
        finally:
            process.terminate()


def generated(saved, prompt: str, count: int) -> str:
    model, tokenizer, _ = saved
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    return tokenizer.decode(model.generate(ids, max_new_tokens=count)[0, ids.shape[1] :])


def chat_prompt(tokenizer) -> str:
    return tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)


def test_a_chat_is_answered_at_once_and_streamed(server, saved):
    client = openai.OpenAI(base_url=f"{server[0]}/v1", api_key="none", max_retries=0)
    expected = generated(saved, chat_prompt(saved[1]), 8)
    assert len(expected) == 8
    options = {"model": saved[2], "messages": MESSAGES, "max_tokens": 8}
    whole = client.chat.completions.create(**options)
    assert whole.choices[0].message.content == expected
    assert whole.usage.completion_tokens == 8
    pieces = [chunk.choices[0].delta.content for chunk in client.chat.completions.create(**options, stream=True)]
    pieces = [piece for piece in pieces if piece]
    assert "".join(pieces) == expected
    assert len(pieces) > 1


def test_a_text_is_completed_up_to_a_stop_string(server, saved):
    client = openai.OpenAI(base_url=f"{server[0]}/v1", api_key="none", max_retries=0)
    expected = generated(saved, "the dog", 8)
    options = {"model": saved[2], "prompt": "the dog", "max_tokens": 8}
    assert client.completions.create(**options).choices[0].text == expected
    stopped = client.completions.create(**options, stop=[expected[2:4]]).choices[0].text
    assert stopped == expected[: expected.index(expected[2:4]) + 2]
    assert saved[2] in [model.id for model in client.models.list()]


def test_the_chat_client_shows_the_answer(server, saved):
    url, _ = server
    command = [sys.executable, "-m", "transformers.cli.transformers", "chat", saved[2], url, "max_new_tokens=8"]
    done = subprocess.run(
        [*command, "do_sample=false"],
        env=ENVIRONMENT,
        input=f"{MESSAGES[0]['content']}\nn\n!exit\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer = " ".join(generated(saved, chat_prompt(saved[1]), 8).split())
    assert answer in " ".join(done.stdout.split())


def test_the_server_listens_on_loopback(server):
    assert "Uvicorn running on http://localhost:" in server[1].read_text()
