# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The demo: its data, a model for each task that its page answers with, and the page itself in a browser."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from example_runs import EXAMPLES, load_example
from matplotlib.figure import Figure
from PIL import Image

from complex_transformers.pipelines import PIPELINES, RESAMPLED

FOLDER = EXAMPLES / "demo"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TASKS = [
    *("text-classification", "token-classification", "fill-mask", "text-generation", "complex-text2text"),
    *("complex-question-answering", "image-classification", "audio-classification"),
    *("automatic-speech-recognition", "complex-speech2text"),
]
LIKE_ANOTHER = ("token-classification", "complex-speech2text")
SMALL = {"steps": 2}
FEW = {"rows": 12, **SMALL}  # where data are drawn one by one


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """The three files, as a script beside them sees them."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(str(FOLDER))
        yield {name: load_example(f"demo/{name}.py") for name in ("demo_data", "train_demo_models", "demo")}


@pytest.fixture(scope="module")
def models(modules: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the models of this module are trained."""
    return tmp_path_factory.mktemp("models")


def first_inputs(demo: ModuleType, page: Any, folder: Path) -> list[Any]:
    """Those of the first example, and the middle of each slider."""
    inputs = demo.examples_of(page, folder)[0]
    if page.task == "image-classification":
        return [Image.open(inputs[0])]
    return [*inputs, 3] if page.task in ("text-generation", "complex-text2text") else inputs


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[pytest.mark.full] if task in LIKE_ANOTHER else []) for task in TASKS]
)
def test_a_model_is_trained_and_its_tab_answers(
    task: str, modules: dict[str, ModuleType], models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, demo = modules["train_demo_models"], modules["demo"]
    assert set(training.TASKS) == set(TASKS)
    monkeypatch.setattr(training, "HELD_OUT", 3)
    drawn = re.search("question|audio|speech", task)
    folder = models / task
    folder.mkdir()
    share = training.TASKS[task](folder, **(FEW if drawn else SMALL))
    said = re.search(r"on 3 held-out items \| (\S+) \|", (folder / "README.md").read_text(encoding="utf-8"))
    assert float(said[1]) == pytest.approx(share, abs=1e-3)
    assert 3 * share == pytest.approx(round(3 * share))
    for page in demo.PAGES:
        if demo.FOLDERS.get(page.task, page.task) == task:
            answer = page.answer(demo.loaded(page.task, models), *first_inputs(demo, page, models))
            parts = answer if isinstance(answer, tuple) else (answer,)
            assert all(isinstance(part, (dict, str, list, Figure)) for part in parts)


def test_every_pipeline_of_the_package_has_a_tab(modules: dict[str, ModuleType]) -> None:
    tabs = {page.task for page in modules["demo"].PAGES}
    assert tabs == {*TASKS, "feature-extraction"}
    assert tabs >= {*PIPELINES, *RESAMPLED}
    rows = modules["demo"].SECTIONS.values()
    assert sorted(task for row in rows for task in row) == sorted(tabs)
    assert max(map(len, rows)) <= 4  # as many as a row shows without a menu


def test_without_gradio_or_models_it_is_said_what_to_run(
    modules: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo = modules["demo"]
    monkeypatch.setattr(sys, "argv", ["demo.py", "--models", str(tmp_path)])
    monkeypatch.setattr(demo, "gr", None)
    with pytest.raises(SystemExit, match=r"needs gradio.*run `make demo`"):
        demo.main()
    monkeypatch.setattr(demo, "gr", demo)
    with pytest.raises(
        SystemExit, match=r"no model for text-classification .*run python examples/demo/train_demo_models"
    ):
        demo.main()
    monkeypatch.setattr(sys, "argv", ["train_demo_models.py", "--tasks", "chess"])
    with pytest.raises(ValueError, match=r"--tasks must be among .*got chess"):
        modules["train_demo_models"].main()


def test_order_alone_tells_the_sentences_apart(modules: dict[str, ModuleType]) -> None:
    data = modules["demo_data"]
    pairs = data.kinds_of_sentences()
    assert len({text for text, _ in pairs}) == len(pairs) == 2520
    for start in range(0, len(pairs), 3):
        texts, kinds = zip(*pairs[start : start + 3], strict=True)
        assert len({tuple(sorted(text.split())) for text in texts}) == 1
        assert kinds == data.KINDS


def test_sentences_numbers_and_stories_say_what_they_should(modules: dict[str, ModuleType]) -> None:
    data = modules["demo_data"]
    tagged = {" ".join(row.words): dict(zip(row.words, row.roles, strict=True)) for row in data.tagged_sentences()}
    assert len(tagged) == 2100
    active, passive = tagged["the old dog chases the small cat"], tagged["the small cat is chased by the old dog"]
    assert (active["dog"], active["chases"], active["cat"]) == ("who", "does", "whom")
    assert (passive["dog"], passive["chased"], passive["cat"]) == ("who", "does", "whom")
    runs = data.counts()
    assert len({tuple(run) for run in runs}) == len(runs) == 2 * 92
    assert ["nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"] in runs
    assert [
        "thirty one",
        "thirty",
        *(f"twenty {one}" for one in ("nine", "eight", "seven", "six", "five", "four")),
    ] in runs
    assert dict(data.translated_numbers())["twenty three"] == "drei und zwanzig"
    told = data.stories(200)
    assert len(set(told)) == 200
    for story in told:
        who = story.question.removeprefix("Where is ").removesuffix("?")
        last = [sentence for sentence in story.sentences if sentence.startswith(who)][-1]
        assert last.endswith(f" the {story.answer}.")


def test_sounds_have_the_pitches_and_harmonics_of_their_labels(modules: dict[str, ModuleType]) -> None:
    data = modules["demo_data"]

    def spectrum(wave: np.ndarray) -> np.ndarray:
        """Moduli of 1 Hz each."""
        return np.abs(np.fft.rfft(wave, data.RATE))

    for clip in data.melodies(3):
        loud = np.convolve(np.abs(clip.wave), np.ones(160) / 160, "same") > 0.2
        edges = np.flatnonzero(np.diff(loud.astype(int)))
        assert len(edges) == 8  # four notes with pauses between
        heard = [spectrum(clip.wave[start:end]).argmax() for start, end in edges.reshape(4, 2)]
        assert heard == pytest.approx([data.NOTES[note] for note in clip.label], abs=20)
    for clip in data.tones(6):
        moduli = spectrum(clip.wave)
        pitch = moduli.argmax()
        assert 199 <= pitch <= 601
        heights = [moduli[number * pitch - 8 : number * pitch + 9].max() / moduli[pitch] for number in (2, 3)]
        assert [round(height * 6) for height in heights] == {"sine": [0, 0], "square": [0, 2], "sawtooth": [3, 2]}[
            clip.label
        ]


@pytest.fixture(scope="module")
def trained(modules: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """All models as ``make demo`` trains them, and the share of held-out items that each gets right: two minutes."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "argv", ["train_demo_models.py", "--output_dir", str(folder)])
        shares = modules["train_demo_models"].main()
        assert modules["train_demo_models"].main() == {}  # they are there now
    return folder, shares


@pytest.mark.slow
def test_the_models_have_learned_their_tasks(trained: tuple[Path, dict[str, float]]) -> None:
    shares = trained[1]
    assert set(shares) == set(TASKS)
    assert min(shares.values()) > 0.9, shares


@pytest.fixture(scope="module")
def address(trained: tuple[Path, dict[str, float]]) -> Iterator[str]:
    """The page, opened by its script in another process."""
    pytest.importorskip("gradio", reason="the page needs gradio: make test-demo")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, FOLDER / "demo.py", "--models", trained[0], "--port", str(port)]
    server = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + 240
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait()


# task -> what its first example is answered with, and the pictures beside it
SHOWN = {
    "text-classification": ("statement", 1),
    "token-classification": (r"dog\s*who\s*chases\s*does\s*the small\s*cat\s*whom", 0),
    "fill-mask": ("above|behind|below|near", 0),
    "feature-extraction": ("", 1),
    "text-generation": ("twenty seven, twenty eight, twenty nine, thirty, thirty one", 0),
    "complex-text2text": ("neun und sechzig", 1),
    "complex-question-answering": ("garden", 1),
    "image-classification": ("{label}", 0),
    "audio-classification": ("{label}", 1),
    "automatic-speech-recognition": ("{label}", 1),
    "complex-speech2text": ("{label}", 1),
}
# What is written or drawn in the answer of a task, fields of text included, when its pictures have been loaded.
ANSWER = """([task, pattern, count]) => {
    const answer = document.querySelector(`#answer-${task}`);
    const pictures = [...answer.querySelectorAll("img")].filter((picture) => picture.naturalWidth > 100);
    const texts = [answer.innerText, ...[...answer.querySelectorAll("textarea")].map((field) => field.value)];
    return pictures.length == count && new RegExp(pattern, "i").test(texts.join("\\n").replace(/\\n/g, " "));
}"""


def open_tab(demo: ModuleType, page: Any, task: str, narrow: bool = False) -> None:
    """Click a tab, which a narrow window alone has in a menu."""
    (number,) = (number for number, tasks in enumerate(demo.SECTIONS.values()) if task in tasks)
    section = page.locator(f"#section-{number}")
    tab = section.get_by_role("tab", name=task, exact=True)
    if tab.count() and tab.first.is_visible():
        tab.first.click()
    else:
        assert narrow, f"the tab {task} is hidden"
        section.locator(".overflow-menu > button").first.click()
        section.locator(".overflow-dropdown button", has_text=task).first.click()
    page.locator(f"#run-{task}").wait_for(state="visible")


def ask_until_answered(page: Any, task: str, pattern: str, pictures: int) -> None:
    """Nothing on the page says when the inputs of an example are there: a run that came too early is repeated."""
    for half_seconds in range(2, 100):
        page.wait_for_timeout(500)
        if half_seconds % 30 == 3:
            page.locator(f"#run-{task}").click()
        if page.evaluate(ANSWER, [task, pattern, pictures]):
            return
    pytest.fail(f"{task} has not answered {pattern!r} with {pictures} pictures")


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_every_tab_answers_its_example(
    width: int,
    address: str,
    browser: Any,
    modules: dict[str, ModuleType],
    trained: tuple[Path, dict[str, float]],
    tmp_path: Path,
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="networkidle")
    for task, (pattern, pictures) in SHOWN.items():
        open_tab(modules["demo"], page, task, narrow=width < 1000)
        page.locator(f"#examples-{task}").locator("tbody tr, .gallery-item").first.click()
        files = sorted(trained[0].glob(f"{task}/example-*"))
        label = files[0].stem.removeprefix("example-") if files else ""
        ask_until_answered(page, task, pattern.format(label=label), pictures)
        page.screenshot(path=tmp_path / f"{task}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), task
    assert all(url.startswith((address, "data:", "blob:")) for url in asked)  # nothing is fetched from elsewhere
    page.close()


@pytest.mark.slow
def test_what_is_refused_is_said_on_the_page(address: str, browser: Any, modules: dict[str, ModuleType]) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 844})
    page.goto(address, wait_until="networkidle")
    for task, text, reason in (
        ("text-classification", "", "the input is empty"),
        ("text-classification", "a " * 600, "the text has 1200 characters"),
        ("fill-mask", "the old dog", "No mask_token (<mask>) found"),
        ("text-generation", " ", "the prompt must not be empty"),
        ("complex-text2text", "one " * 40, "tokenizer.model_max_length is 32"),
        ("complex-question-answering", "", "story is empty"),
        ("image-classification", None, "an image is required"),
        ("audio-classification", None, "a sound is required"),
    ):
        open_tab(modules["demo"], page, task)
        if text is not None:
            page.get_by_role("tabpanel").filter(visible=True).get_by_role("textbox").first.fill(text)
        page.locator(f"#run-{task}").click()
        said = page.get_by_text(reason).first
        said.wait_for(timeout=15_000)
        assert said.is_visible(), (task, reason)
    page.close()
