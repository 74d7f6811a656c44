# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Diagnostic tasks of long-range attention: copying, retrieval by content and by position.

``length`` is the number of tokens of a sequence, question and answer included. Ids 0 and 1 are the same in all tasks:
the begin of the sequence, and the separator before an answer. Tests of length extrapolation need training sequences
of several lengths, since at one length a fixed distance solves most of these tasks.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .token_sequences import UNLABELLED, TokenSequences, prefix_results, with_answers

__all__ = ["copy_data", "indirect_indexing_data", "needle_data", "phase_memory_data", "selective_copy_data"]

BEGIN, ASK = 0, 1


def copy_data(num_samples: int, length: int, seed: int = 0, num_symbols: int = 16) -> TokenSequences:
    """Sample strings to be repeated after a separator: ``begin, s_1 .. s_n, separator, s_1 .. s_n``.

    The second s_1 .. s_n are labelled, n = ``length // 2 - 1``. An odd ``length`` gives one token less.

    Args:
        num_samples: number of sequences.
        length: tokens of a sequence.
        seed: seed of the sequences.
        num_symbols: symbols, ids 2 to ``num_symbols + 1``, drawn uniformly with replacement.
    """
    symbols = 2 + torch.randint(num_symbols, (num_samples, length // 2 - 1), generator=_generator(seed))
    return _copied(symbols, symbols, 2 + num_symbols)


def selective_copy_data(
    num_samples: int, length: int, seed: int = 0, num_symbols: int = 15, num_copied: int = 16
) -> TokenSequences:
    """Sample symbols among noise, to be repeated in order without the noise (Gu & Dao 2023).

    A sequence is ``begin``, a context with the symbols at random positions, ``separator``, the symbols. The symbols
    after the separator are labelled. The paper feeds markers in place of the symbols before, and has a context of
    4,096 tokens: ``length=4114``.

    Args:
        num_samples: number of sequences.
        length: tokens of a sequence.
        seed: seed of the sequences.
        num_symbols: symbols, ids 3 to ``num_symbols + 2``; the noise has id 2.
        num_copied: symbols of a sequence, drawn uniformly with replacement.
    """
    generator = _generator(seed)
    symbols = 3 + torch.randint(num_symbols, (num_samples, num_copied), generator=generator)
    noise = torch.full((num_samples, length - 2 - num_copied), 2)
    places = _distinct(num_samples, num_copied, noise.shape[1], generator).sort(dim=1).values
    return _copied(noise.scatter(1, places, symbols), symbols, 3 + num_symbols)


def indirect_indexing_data(
    num_samples: int,
    length: int,
    seed: int = 0,
    num_symbols: int = 64,
    max_shift: int = 8,
    num_questions: int = 1,
) -> TokenSequences:
    """Sample strings of distinct symbols, and ask for the symbol at a signed distance from a given one.

    This is the indirect indexing of PoPE (Gopalakrishnan et al., arXiv 2509.10534): which symbol is 3 to the left of Z
    in ABSCOPZG? A sequence is ``begin, s_1 .. s_n`` and for each question ``separator, shift, source, target``. The
    targets are labelled, n = ``length - 1 - 4 * num_questions``. Order and sizes are ours.

    Args:
        num_samples: number of sequences.
        length: tokens of a sequence.
        seed: seed of the sequences.
        num_symbols: symbols, the last ids of the vocabulary, at least n.
        max_shift: largest distance. Ids 2 to ``2 * max_shift + 1`` are the shifts ``-max_shift`` to -1 and 1 to
            ``max_shift``. Sources are drawn uniformly, shifts uniformly from those that stay in the string.
        num_questions: questions about the same string.
    """
    generator = _generator(seed)
    size = length - 1 - 4 * num_questions
    string = _distinct(num_samples, size, num_symbols, generator)
    source = torch.randint(size, (num_samples, num_questions), generator=generator)
    left = source.clamp(max=max_shift)
    allowed = left + (size - 1 - source).clamp(max=max_shift)
    rank = (torch.rand(allowed.shape, generator=generator, dtype=torch.float64) * allowed).long()
    shift = rank - left
    shift = shift + (shift >= 0)  # 0 is left out
    symbols = string + 2 + 2 * max_shift
    shift_ids = 2 + shift + max_shift - (shift > 0).long()
    parts = [torch.full_like(source, ASK), shift_ids, symbols.gather(1, source), symbols.gather(1, source + shift)]
    return with_answers(_begun(symbols), torch.stack(parts, dim=2), 1, 2 + 2 * max_shift + num_symbols)


def needle_data(
    num_samples: int,
    length: int,
    seed: int = 0,
    num_keys: int = 16,
    num_values: int = 16,
    num_noise: int = 16,
    num_needles: int = 1,
    num_questions: int = 1,
) -> TokenSequences:
    """Sample noise with key-value pairs at random depths, and ask for the values of keys at the end.

    One needle is the retrieval test of Kamradt (2023), several are the multi-key variant of RULER (Hsieh et al.,
    arXiv 2404.06654), both with generated tokens. A sequence is ``begin``, the haystack, and for each question
    ``separator, key, value``. The values are labelled.

    Args:
        num_samples: number of sequences.
        length: tokens of a sequence.
        seed: seed of the sequences.
        num_keys: keys, ids from 2, distinct within a sequence.
        num_values: values, the ids after the keys.
        num_noise: noise tokens, the ids after the values.
        num_needles: key-value pairs of a sequence; a value follows its key.
        num_questions: questions about distinct needles, at most ``num_needles``.
    """
    generator = _generator(seed)
    size = length - 1 - 3 * num_questions
    keys = 2 + _distinct(num_samples, num_needles, num_keys, generator)
    values = 2 + num_keys + torch.randint(num_values, keys.shape, generator=generator)
    noise = 2 + num_keys + num_values + torch.randint(num_noise, (num_samples, size), generator=generator)
    # A pair is one of the remaining places, then each pair before it moves it by one.
    places = _distinct(num_samples, num_needles, size - num_needles, generator).sort(dim=1).values
    places = places + torch.arange(num_needles)
    haystack = noise.scatter(1, places, keys).scatter(1, places + 1, values)
    asked = _distinct(num_samples, num_questions, num_needles, generator)
    parts = [torch.full_like(asked, ASK), keys.gather(1, asked), values.gather(1, asked)]
    return with_answers(_begun(haystack), torch.stack(parts, dim=2), 1, 2 + num_keys + num_values + num_noise)


def phase_memory_data(
    num_samples: int, length: int, seed: int = 0, num_phases: int = 8, num_stored: int = 8
) -> TokenSequences:
    """Sample phases to be recalled after a delay (phase memory of PCT, Hioki, arXiv 2605.10123, appendix).

    A sequence is ``num_stored`` phases, a delay of blanks, ``num_stored`` markers and one blank. The output at marker
    k is phase k, whose label is at the next position. Id k + 2 stands for the angle 2 pi k / ``num_phases``. The
    preprint stores 8 phases over a delay of 30 blanks (``length=47``). Its inputs are points of the unit circle, and
    blanks replace the markers, so that the delay must be fixed.

    Args:
        num_samples: number of sequences.
        length: tokens of a sequence.
        seed: seed of the sequences.
        num_phases: classes, ids 2 to ``num_phases + 1``. The blank has id 0, the marker id 1.
        num_stored: phases of a sequence, drawn uniformly with replacement.
    """
    phases = 2 + torch.randint(num_phases, (num_samples, num_stored), generator=_generator(seed))
    delay = phases.new_full((num_samples, length - 2 * num_stored - 1), BEGIN)
    unlabelled = torch.full((num_samples, length - num_stored - 1), UNLABELLED)
    symbols = torch.cat([phases, delay, torch.full_like(phases, ASK)], dim=1)
    answered = prefix_results(symbols, torch.cat([unlabelled, phases], dim=1), BEGIN)
    return answered._replace(vocab_size=2 + num_phases)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _distinct(num_samples: int, count: int, total: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` distinct numbers below ``total`` for each sample, in random order."""
    return torch.multinomial(torch.ones(num_samples, total), count, generator=generator)


def _begun(tokens: Tensor) -> Tensor:
    """Prepend the begin of the sequence."""
    return torch.cat([torch.full_like(tokens[:, :1], BEGIN), tokens], dim=1)


def _copied(context: Tensor, symbols: Tensor, vocab_size: int) -> TokenSequences:
    """Append a separator and the labelled symbols to a context."""
    question = torch.cat([torch.full_like(symbols[:, :1], ASK), symbols], dim=1)
    return with_answers(_begun(context), question.unsqueeze(1), symbols.shape[1], vocab_size)
