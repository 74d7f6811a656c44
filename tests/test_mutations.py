# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The faults of ``mutations.py`` can still be made; ``make mutations`` makes them."""

import shutil

from mutations import MUTATIONS, ROOT, mutate


def test_every_fault_fits_the_code(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source)
    stale = {name: wrong for name, mutation in MUTATIONS.items() if (wrong := mutate(source, mutation))}
    assert not stale
    for mutation in MUTATIONS.values():
        path, _, name = mutation.tests.partition("::")
        assert name in (ROOT / path).read_text(encoding="utf-8"), mutation.tests
