# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The data sets of ComplexOrder Table 2 in disjoint splits: train, validation, test."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from benchmarks.reporting import ROOT
from datasets import Dataset, DatasetDict, concatenate_datasets
from sklearn.model_selection import StratifiedGroupKFold

from complex_transformers.recipes import load_text_dataset
from complex_transformers.recipes.datasets.text_files import split_by_label, text_key

__all__ = ["DATASETS", "FOLDS", "data_folder", "load_parts"]

# Training and test file; a data set without a test split is cut into FOLDS folds, and one fold is the test split.
DATASETS: dict[str, tuple[str, str | None]] = {
    "trec": ("trec/train.tsv.gz", "trec/test.tsv.gz"),
    "subj": ("subj/all.tsv.gz", None),
    "mr": ("mr/all.tsv.gz", None),
    "sst2": ("sst2/train-sentences.tsv.gz", "sst2/test.tsv.gz"),
}
FOLDS = 10


def data_folder() -> Path:
    """Return ``COMPLEX_TRANSFORMERS_DATA``, or by default the folder beside the repository."""
    folder = Path(os.environ.get("COMPLEX_TRANSFORMERS_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise FileNotFoundError(f"COMPLEX_TRANSFORMERS_DATA must be the data folder, got {folder}")
    return folder


@cache
def load_parts(name: str, fold: int = 0) -> DatasetDict:
    """Load disjoint splits with the columns ``text`` and ``label``; a tenth of the training split is for validation.

    Training rows whose text is also in the test split are dropped. ``fold`` chooses the test split of a data set
    without one: stratified by label, copies of a text together.
    """
    if name not in DATASETS:
        raise ValueError(f"name must be one of {sorted(DATASETS)}, got {name!r}")
    folder = data_folder() / "classification"
    train_file, test_file = DATASETS[name]
    if test_file is not None:
        if fold:
            raise ValueError(f"fold must be 0 for {name}, which has a test split, got {fold}")
        return load_text_dataset(str(folder / train_file), test_file=str(folder / test_file), overlap="drop")
    loaded = load_text_dataset(str(folder / train_file))
    rows = concatenate_datasets([loaded["train"], loaded["validation"]])
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    groups = [text_key(text) for text in rows["text"]]
    rest, test = list(folds.split(rows["text"], rows["label"], groups))[fold]
    train, validation = split_by_label(rows.select(rest), 0.1, seed=0)
    parts = {"train": train, "validation": validation, "test": rows.select(test)}
    check_disjoint(parts)
    return DatasetDict(parts)


def check_disjoint(parts: dict[str, Dataset]) -> None:
    """Raise ValueError if a text is in two splits."""
    seen: dict[str, str] = {}
    for name, part in parts.items():
        for key in {text_key(text) for text in part["text"]}:
            if (other := seen.setdefault(key, name)) != name:
                raise ValueError(f"splits must be disjoint, got {key!r} in {other} and {name}")
