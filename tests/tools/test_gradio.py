# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Gradio's pages of pipelines, asked over HTTP on this machine."""

import pytest
from tool_models import TEXTS, classifier, complex_llama, tokenizer
from transformers import pipeline

gradio = pytest.importorskip("gradio", reason="optional: make test-tools")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "False")


def answer(page, text):
    """Return the answer of the page to the text."""
    from gradio_client import Client

    _, url, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    try:
        return Client(url, verbose=False).predict(text, fn_index=0)
    finally:
        page.close()


@pytest.mark.tool("gradio", "`Interface` around a `text-generation` pipeline")
def test_page_of_generated_text():
    pipe = pipeline("text-generation", model=complex_llama(), tokenizer=tokenizer(), do_sample=False, max_new_tokens=4)

    def generate(prompt):
        return pipe(prompt)[0]["generated_text"]

    found = answer(gradio.Interface(generate, "text", "text"), TEXTS[0])
    assert found == generate(TEXTS[0])
    assert len(found) > len(TEXTS[0])


REASON = "Gradio looks for `transformers.pipelines.text2text_generation`, which Transformers 5 does not have"


@pytest.mark.tool("gradio", "`Interface.from_pipeline` of `text-classification`")
@pytest.mark.xfail(reason=REASON, strict=True)
def test_page_of_a_pipeline():
    pipe = pipeline("text-classification", model=classifier(), tokenizer=tokenizer())
    found = answer(gradio.Interface.from_pipeline(pipe), TEXTS[0])
    assert {"LABEL_0", "LABEL_1"} == {each["label"] for each in found["confidences"]}
