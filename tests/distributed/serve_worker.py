# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Answer texts with a saved model by the pipeline, on this process or as one of torchrun's: each writes its answers.

python serve_worker.py FOLDER DTYPE TEXTS OUTPUT_PREFIX
"""

import json
import os
import sys
from pathlib import Path

from transformers import pipeline

import complex_transformers  # noqa: F401 - registers the task


def main() -> None:
    """TEXTS is a file with one text a line."""
    folder, dtype, source, prefix = sys.argv[1:]
    texts = Path(source).read_text(encoding="utf-8").splitlines()
    answers = pipeline("complex-text2text", model=folder, dtype=dtype, device="cpu")(texts, batch_size=4, num_beams=3)
    rank = os.environ.get("RANK", "0")
    Path(f"{prefix}{rank}.json").write_text(json.dumps([answer[0]["generated_text"] for answer in answers]))


if __name__ == "__main__":
    main()
