# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Symbols of the International Phonetic Alphabet by category, and simpler transcriptions (thesis, App. A, Table 1).

A symbol is one code point, a diacritic too. The categories of the table are extended to the whole chart of the
International Phonetic Association.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

__all__ = [
    "IPA_CATEGORIES",
    "SIMPLE_CATEGORIES",
    "ipa_category",
    "ipa_symbols",
    "is_babble",
    "outside_ipa",
    "simplify_ipa",
    "without_brackets",
]

# category -> its symbols; combining marks as escapes, for they would sit on the quotes
IPA_CATEGORIES: dict[str, str] = {
    "consonants (pulm.)": "pbtdʈɖcɟkɡqɢʔmɱnɳɲŋɴʙrʀⱱɾɽɸβfvθðszʃʒʂʐçʝxɣχʁħʕhɦɬɮʋɹɻjɰlɭʎʟɫ",
    "consonants (non-pulm.)": "ʘǀǃǂǁɓɗʄɠʛʼ",
    "vowels": "iyɨʉɯuɪʏʊeøɘɵɤoəɛœɜɞʌɔæɐaɶɑɒ",
    "additional symbols": "ʦʣʧʤʨʥ",
    "other symbols": "ʍwɥʜʢʡɕʑɺɧ",
    "diacritics": (
        "\u0325\u032c\u02b0\u0339\u031c\u031f\u0320\u0324\u0330\u033c\u032a\u033a\u033b\u0308\u033d"
        "\u0311\u030a\u0303\u031a\u02e0\u02e4\u207f\u02e1\u02b7\u02b2\u0334\u031d\u031e\u0318\u0319"
        "\u0329\u032f\u02de\u02b1"
    ),
    "suprasegmentals": "\u02c8\u02cc\u02d0\u02d1\u0306\u007c\u2016\u002e\u203f",
    "tones and word accents": (
        "\u030b\u0301\u0304\u0300\u030f\u02e5\u02e6\u02e7\u02e8\u02e9\u030c\u0302\ua71c\ua71b\u2197\u2198"
    ),
}
# What tasks b4 to b6 keep (thesis, section 5.5.3).
SIMPLE_CATEGORIES = ("consonants (pulm.)", "consonants (non-pulm.)", "vowels", "additional symbols")

_CATEGORY_OF = {symbol: category for category, symbols in IPA_CATEGORIES.items() for symbol in symbols}
# Other characters for symbols of the chart: the letter g of keyboards, and vowels with the hook of rhoticity.
_SAME = {"g": "\u0261", "\u025a": "\u0259\u02de", "\u025d": "\u025c\u02de"}
_BRACKETS = "()"
_UNVOICED = "\u0325\u030a"  # ring below, ring above
_PAUSES = "|\u2016"


def ipa_category(symbol: str) -> str | None:
    """Return the category of one code point, or None outside the chart."""
    return _CATEGORY_OF.get(symbol)


def ipa_symbols(text: str) -> str:
    """Decompose a text into symbols of one code point each, so that letters and diacritics are separate.

    Spaces, brackets and characters outside the chart stay as they are.
    """
    composed = unicodedata.normalize("NFC", text)  # c with cedilla is one symbol, composed or not
    apart = (c if c in _CATEGORY_OF else _SAME.get(c) or unicodedata.normalize("NFD", c) for c in composed)
    return "".join("".join(_SAME.get(c, c) for c in part) for part in apart)


def outside_ipa(text: str) -> set[str]:
    """Return the characters that are neither symbols of the chart nor spaces nor brackets."""
    return {c for c in ipa_symbols(text) if c not in _CATEGORY_OF and c not in _BRACKETS and not c.isspace()}


def simplify_ipa(text: str) -> str:
    """Remove diacritics, suprasegmentals, tones, word accents and other symbols; brackets and spaces stay."""
    return "".join(
        c for c in ipa_symbols(text) if c in _BRACKETS or c.isspace() or _CATEGORY_OF.get(c) in SIMPLE_CATEGORIES
    )


def without_brackets(text: str, contents: bool) -> str:
    """Remove the parentheses around unclear symbols, and unless ``contents`` these too; spaces become single.

    Raises:
        ValueError: unbalanced parentheses.
    """
    depth, kept = 0, []
    for character in text:
        if character in _BRACKETS:
            depth += 1 if character == "(" else -1
            if depth < 0:
                break
        elif contents or not depth:
            kept.append(character)
    if depth:
        raise ValueError(f"text must have balanced parentheses, got {text!r}.")
    return " ".join("".join(kept).split())


def is_babble(text: str) -> bool:
    """Return whether a vowel is next to a consonant (thesis, task b7).

    A voiceless vowel does not count and separates its neighbours, as spaces and pauses do. Other diacritics, stress,
    length and syllable breaks are skipped. Consonants of every category count.
    """
    kinds: list[str] = []
    for character in ipa_symbols(text):
        category = _CATEGORY_OF.get(character)
        if character.isspace() or character in _PAUSES:
            kinds.append("pause")
        elif category == "vowels":
            kinds.append("vowel")
        elif category in ("consonants (pulm.)", "consonants (non-pulm.)", "additional symbols", "other symbols"):
            kinds.append("consonant")
        elif character in _UNVOICED and kinds and kinds[-1] == "vowel":
            kinds[-1] = "pause"
    return any({"vowel", "consonant"} == {*pair} for pair in pairwise(kinds))
