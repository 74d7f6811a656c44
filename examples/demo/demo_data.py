# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic training data of the demo: sentences, numbers, stories and sounds, drawn from a seed.

Each data set follows a rule that a network learns in half a minute; in most of them order decides.
"""

from __future__ import annotations

import random
from itertools import product
from typing import NamedTuple

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

RATE = 8000  # Hz
NOTES = {"c": 523.25, "e": 659.26, "g": 783.99, "b": 987.77}
TIMBRES = ("sawtooth", "sine", "square")
KINDS = ("question", "shuffled", "statement")
ROLES = ("O", "who", "does", "whom")

_NOUNS = [
    f"{size} {animal}" for size in ("old", "small", "young") for animal in ("bird", "cat", "dog", "fox", "horse")
]
_PLACES = ("above", "behind", "below", "near")
_VERBS = {"chases": "chased", "follows": "followed", "helps": "helped", "sees": "seen", "washes": "washed"}
_PEOPLE, _ROOMS = ("Ann", "John", "Mary", "Paul"), ("garden", "hall", "kitchen", "office")
_MOVES = ("goes to", "runs to", "walks to")
_ONES = dict(
    zip(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
        ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"],
        strict=True,
    )
)
_TEENS = [
    *("ten", "eleven", "twelve"),
    *(f"{name}teen" for name in ("thir", "four", "fif", "six", "seven", "eigh", "nine")),
]
_TENS = dict(
    zip(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
        ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"],
        strict=True,
    )
)


class Tagged(NamedTuple):
    """A sentence, word by word, with the role of each word."""

    words: list[str]
    roles: list[str]


class Story(NamedTuple):
    """Sentences, a question about them, and its answer."""

    sentences: tuple[str, ...]
    question: str
    answer: str


class Clip(NamedTuple):
    """A waveform at ``RATE`` and its label or transcription."""

    wave: np.ndarray
    label: str


def kinds_of_sentences(seed: int = 0) -> list[tuple[str, str]]:
    """Return statements, the questions with the same words, and the same words shuffled, each with its kind.

    The three orders of a sentence are adjacent, so that splits cut at a multiple of three share no sentence.
    """
    generator = random.Random(seed)
    statements = [f"the {a} is {where} the {b}" for a, where, b in product(_NOUNS, _PLACES, _NOUNS) if a != b]
    orders = set(statements) | {_question(text) for text in statements}
    pairs: list[tuple[str, str]] = []
    for text in generator.sample(statements, len(statements)):
        shuffled = text
        while shuffled in orders:  # must not be a statement or a question
            shuffled = " ".join(generator.sample(text.split(), len(text.split())))
        pairs += zip((_question(text), shuffled, text), KINDS, strict=True)
    return pairs


def _question(statement: str) -> str:
    the, size, animal, verb, *rest = statement.split()
    return " ".join([verb, the, size, animal, *rest])


def tagged_sentences(seed: int = 0) -> list[Tagged]:
    """Return active and passive sentences such as ``the cat is chased by the dog``, each once, with roles."""
    sentences = [
        _tagged(first, verb, second, passive)
        for first, verb, second, passive in product(_NOUNS, _VERBS, _NOUNS, (False, True))
        if first != second
    ]
    random.Random(seed).shuffle(sentences)
    return sentences


def _tagged(first: str, verb: str, second: str, passive: bool) -> Tagged:
    middle = ["is", _VERBS[verb], "by"] if passive else [verb]
    roles = ["whom", "O", "does", "O"] if passive else ["who", "does"]
    words = ["the", *first.split(), *middle, "the", *second.split()]
    return Tagged(words, ["O", "O", *roles, "O", "O", "who" if passive else "whom"])


def counts(length: int = 8, seed: int = 0) -> list[list[str]]:
    """Return runs of ``length`` numbers from one to ninety nine, up or down, each once."""
    names = [*_ONES, *_TEENS, *(f"{ten} {one}".strip() for ten in _TENS for one in ("", *_ONES))]
    runs = [names[start : start + length] for start in range(len(names) - length + 1)]
    runs += [run[::-1] for run in runs]
    random.Random(seed).shuffle(runs)
    return runs


def translated_numbers(seed: int = 0) -> list[tuple[str, str]]:
    """Return numbers in English and in German, which swaps tens and ones, shuffled."""
    pairs = [(f"{t} {o}", f"{_ONES[o]} und {_TENS[t]}") for t in _TENS for o in _ONES]
    pairs += [(f"{a} and {b}", f"{_TENS[a]} und {_TENS[b]}") for a in _TENS for b in _TENS if a != b]
    random.Random(seed).shuffle(pairs)
    return pairs


def stories(rows: int, seed: int = 0) -> list[Story]:
    """Return distinct stories of people who move through a house, with a question about the last place of one."""
    generator = random.Random(seed)
    told: dict[Story, None] = {}
    while len(told) < rows:
        told[_story(generator)] = None
    return list(told)


def _story(generator: random.Random) -> Story:
    places: dict[str, str] = {}
    sentences = []
    for _ in range(generator.randint(2, 6)):
        who, where = generator.choice(_PEOPLE), generator.choice(_ROOMS)
        places[who] = where
        sentences.append(f"{who} {generator.choice(_MOVES)} the {where}.")
    who = generator.choice(list(places))
    return Story(tuple(sentences), f"Where is {who}?", places[who])


def melodies(rows: int, seed: int = 0) -> list[Clip]:
    """Return melodies of four notes of 60 to 100 ms, with pauses, random phases and noise."""
    generator = np.random.default_rng(seed)
    names = ["".join(generator.choice(list(NOTES), size=4)) for _ in range(rows)]
    return [Clip(_noisy(np.concatenate([_note(note, generator) for note in name]), generator), name) for name in names]


def _note(name: str, generator: np.random.Generator) -> np.ndarray:
    length = int(generator.integers(480, 800))
    wave = np.sin(2 * np.pi * (NOTES[name] * np.arange(length) / RATE + generator.random()))
    return np.concatenate([wave * np.hanning(length), np.zeros(160)])


def tones(rows: int, seed: int = 0) -> list[Clip]:
    """Return tones of half a second and random pitch: a sine, or with all or with the odd harmonics."""
    generator = np.random.default_rng(seed)
    labels = [TIMBRES[number % len(TIMBRES)] for number in range(rows)]
    return [Clip(_noisy(_tone(label, generator), generator), label) for label in labels]


def _tone(timbre: str, generator: np.random.Generator) -> np.ndarray:
    phase = 2 * np.pi * (generator.uniform(200, 600) * np.arange(RATE // 2) / RATE + generator.random())
    step = {"sine": 6, "sawtooth": 1, "square": 2}[timbre]
    harmonics = [np.sin(number * phase) / number for number in range(1, 7, step)]
    return 0.5 * np.sum(harmonics, axis=0) * np.hanning(len(phase))


def _noisy(wave: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    return (wave + generator.normal(0, 0.05, len(wave))).astype(np.float32)


def digits(seed: int = 0) -> list[tuple[Image.Image, int]]:
    """Return the handwritten digits of scikit-learn as images of 96 x 96 pixels, with their labels."""
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    pictures = [Image.fromarray(image).resize((96, 96), Image.Resampling.NEAREST) for image in images]
    pairs = list(zip(pictures, labels.tolist(), strict=True))
    random.Random(seed).shuffle(pairs)
    return pairs
