# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Speech and its phonetic transcription from espeak-ng, through its C library."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pickle
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

SPEEDS = range(80, 451)  # words per minute; espeak-ng clips other values without warning
PITCHES = range(100)

# Constants of speak_lib.h
_SYNCHRONOUS, _DONT_EXIT = 2, 0x8000
_RATE, _PITCH = 1, 3
_IPA, _UTF8, _POSITION_CHARACTER = 2, 1, 1

_LANGUAGE_SWITCH = re.compile(r"\([a-z]{2,3}(?:-[a-z0-9]+)*\)")
# Removed: "_", which separates phonemes, and zero-width characters. Replaced: symbols outside the IPA chart.
_SPELLING = str.maketrans(
    {
        **dict.fromkeys("_\u200b\u200c\u200d\u2060\ufeff", ""),
        "\u025a": "\u0259\u02de",
        "\u025d": "\u025c\u02de",
        "\u1d7b": "\u026a\u0308",
        ":": "\u02d0",
    }
)
_Wave = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
_Phonemes = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)


class _Voice(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_void_p),  # pairs of a priority byte and a code string, then a zero
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("private", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    ]


def _load() -> tuple[ctypes.CDLL, bytes | None]:
    """Return the library and its data folder, None for the default one."""
    try:
        import espeakng_loader
    except ImportError:
        name = ctypes.util.find_library("espeak-ng")
        if name is None:
            raise ImportError(
                'espeak-ng is missing: pip install -e ".[synthesis]", or the package espeak-ng of the operating system'
            ) from None
        return ctypes.CDLL(name), None
    return ctypes.CDLL(str(espeakng_loader.get_library_path())), os.fsencode(espeakng_loader.get_data_path())


def clean_ipa(clauses: Sequence[str]) -> str:
    """Return one line of IPA from the transcription of each clause by espeak-ng.

    Stress, length and spaces between words stay. Language switches such as ``(en)``, ``_`` and zero-width characters
    are removed. Symbols outside the IPA chart are replaced: the hook of rhoticity becomes a separate symbol, and the
    barred small capital i becomes that letter with a diaeresis.
    """
    return " ".join(_LANGUAGE_SWITCH.sub("", " ".join(clauses)).translate(_SPELLING).split())


def _in_child(function: Callable[[], Any]) -> Any:
    """Run ``function`` in a forked process and return its result or raise its exception.

    Raises:
        RuntimeError: the process ended without a result.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            try:
                result, error = function(), None
            except Exception as raised:
                result, error = None, raised
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump((result, error), pipe)
            status = 0
        finally:
            os._exit(status)  # without the clean-up handlers of the parent
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise RuntimeError(f"espeak-ng ended without a result, exit status {status}")
    result, error = pickle.loads(data)
    if error is not None:
        raise error
    return result


class Espeak:
    """espeak-ng with reproducible output: the speech for a text does not depend on earlier texts.

    The library has state that no function resets, such as random numbers. Each text is therefore spoken in a forked
    process, which needs an operating system with ``fork``.

    Raises:
        ImportError: the library is missing (extra ``synthesis``).
        RuntimeError: the operating system has no ``fork``, or the library does not start.
    """

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise RuntimeError("espeak-ng needs os.fork. Run it on Linux, macOS or the Linux subsystem of Windows.")
        self._library, data = _load()
        self.sampling_rate: int = self._library.espeak_Initialize(_SYNCHRONOUS, 0, data, _DONT_EXIT)
        if self.sampling_rate <= 0:
            raise RuntimeError(f"espeak-ng does not start (status {self.sampling_rate}) with the data folder {data!r}")
        self._library.espeak_Info.restype = ctypes.c_char_p
        self.version: str = self._library.espeak_Info(None).decode()
        self._library.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(_Voice))
        self._names = self._voice_names()
        self._variants = {variant.lower(): variant for variant in self._variant_names()}

    def _list(self, languages: bytes | None) -> list[tuple[str, str, list[tuple[int, str]]]]:
        """Return name, identifier and ``(priority, language)`` of voices; the lowest priority is preferred."""
        wanted = ctypes.create_string_buffer(languages) if languages is not None else None
        spec = _Voice(languages=ctypes.cast(wanted, ctypes.c_void_p)) if wanted is not None else None
        found = self._library.espeak_ListVoices(None if spec is None else ctypes.byref(spec))
        voices = []
        for pointer in found:
            if not pointer:
                break
            codes, place = [], pointer.contents.languages
            while priority := ctypes.string_at(place, 1)[0]:
                code = ctypes.string_at(place + 1)
                codes.append((priority, code.decode()))
                place += len(code) + 2
            voices.append((pointer.contents.name.decode(), pointer.contents.identifier.decode(), codes))
        return voices

    def _voice_names(self) -> dict[str, str]:
        """Return lower-case name -> identifier of voices; language codes precede file names and names."""
        # MBROLA voices are listed even without MBROLA.
        voices = [voice for voice in self._list(None) if not voice[1].startswith("mb/")]
        codes = sorted((priority, code, identifier) for _, identifier, codes in voices for priority, code in codes)
        names: dict[str, str] = {}
        for _, code, identifier in codes:
            names.setdefault(code.lower(), identifier)
        for name, identifier, _ in voices:
            for each in (identifier.rsplit("/", 1)[-1], identifier, name):
                names.setdefault(each.lower(), identifier)
        return names

    def _variant_names(self) -> list[str]:
        return [identifier.rsplit("/", 1)[-1] for _, identifier, _ in self._list(b"variant")]

    def resolve(self, voice: str) -> str:
        """Return the identifier of a voice, with its variant: ``gmw/en-US+f3`` for ``en-us+f3``.

        Raises:
            ValueError: unknown voice or variant; the error lists similar ones.
        """
        name, plus, variant = voice.partition("+")
        if name.lower() not in self._names:
            raise ValueError(f"unknown voice {voice!r}; {_close(name, self._names)}")
        if plus and variant.lower() not in self._variants:
            raise ValueError(f"unknown variant {variant!r} of voice {voice!r}; {_close(variant, self._variants)}")
        return self._names[name.lower()] + (f"+{self._variants[variant.lower()]}" if plus else "")

    def say(self, text: str, voice: str = "en-us", speed: int = 160, pitch: int = 50) -> tuple[np.ndarray, str]:
        """Return 16-bit samples ``[samples]`` at ``sampling_rate``, and the transcription.

        Args:
            text: one sentence or more; not read as SSML.
            voice: a language, file or name of espeak-ng, optionally with a variant: ``en-us+f3``.
            speed: words per minute, 80 to 450.
            pitch: 0 to 99.

        Raises:
            ValueError: a text that is empty, has a null character or yields no speech; unknown voice; speed or pitch
                out of range.
            RuntimeError: an error of espeak-ng.
        """
        if not text.strip() or "\0" in text:
            raise ValueError(f"text must not be empty or have null characters, got {text!r}")
        for name, value, allowed in (("speed", speed, SPEEDS), ("pitch", pitch, PITCHES)):
            if value not in allowed:
                raise ValueError(f"{name} must lie in [{allowed.start}, {allowed.stop - 1}], got {value}")
        identifier = self.resolve(voice)
        samples, clauses = _in_child(lambda: self._say(text, identifier, speed, pitch))
        ipa = clean_ipa(clauses)
        if not ipa or not samples:
            raise ValueError(f"text must have letters or digits for voice {voice!r}, which says nothing for {text!r}")
        return np.frombuffer(samples, dtype=np.int16), ipa

    def _say(self, text: str, identifier: str, speed: int, pitch: int) -> tuple[bytes, list[str]]:
        chunks: list[bytes] = []
        clauses: list[str] = []

        def on_wave(wave: Any, number: int, _: Any) -> int:
            if wave and number:
                chunks.append(ctypes.string_at(wave, 2 * number))
            return 0

        def on_phonemes(phonemes: bytes) -> int:
            clauses.append(phonemes.decode())
            return 0

        library, c = self._library, ctypes.CDLL(None)
        wave, phonemes = _Wave(on_wave), _Phonemes(on_phonemes)
        library.espeak_SetSynthCallback(wave)
        library.espeak_SetPhonemeCallback(phonemes)
        # espeak-ng also prints the phonemes: discard that output.
        c.fopen.restype = ctypes.c_void_p
        library.espeak_SetPhonemeTrace(_IPA, ctypes.c_void_p(c.fopen(os.fsencode(os.devnull), b"w")))
        if hasattr(library, "espeak_ng_SetRandSeed"):  # since 1.52; the default seed is the time
            library.espeak_ng_SetRandSeed(ctypes.c_long(1))
        c.srand(1)  # random numbers of some variants and of older versions
        data = text.encode() + b"\0"
        statuses = {
            "SetVoiceByName": library.espeak_SetVoiceByName(identifier.encode()),
            "SetParameter(rate)": library.espeak_SetParameter(_RATE, speed, 0),
            "SetParameter(pitch)": library.espeak_SetParameter(_PITCH, pitch, 0),
            "Synth": library.espeak_Synth(
                *(data, ctypes.c_size_t(len(data)), 0, _POSITION_CHARACTER, 0, _UTF8), None, None
            ),
        }
        if failed := {name: status for name, status in statuses.items() if status}:
            raise RuntimeError(f"espeak-ng failed: {failed}")
        return b"".join(chunks), clauses


def _close(name: str, known: dict[str, str]) -> str:
    """Return a hint with similar names, and names with the same first two letters."""
    close = get_close_matches(name.lower(), known, n=5, cutoff=0.5)
    alike = sorted(each for each in known if not {" ", "/"} & {*each} and each.startswith(name.lower()[:2]))
    names = list(dict.fromkeys([*close, *alike]))
    return f"similar: {', '.join(names)}" if names else f"known: {', '.join(sorted(known))}"
