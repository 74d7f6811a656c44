# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Run ``transformers serve`` on the causal language models of this package (extra ``serving``).

python -m complex_transformers.serve path/to/model --port 8000
"""

from __future__ import annotations

import transformers
import typer
from transformers.cli.serve import Serve

from .models import family_class, model_families

__all__ = ["main"]


def main() -> None:
    """Start the server with the options of ``transformers serve``.

    The server looks up model classes in the ``transformers`` module, so they are added to it first.
    """
    for family, classes in model_families().items():
        if "AutoModelForCausalLM" in classes:
            model_class = family_class(family, "AutoModelForCausalLM")
            setattr(transformers, model_class.__name__, model_class)
    typer.run(Serve)


if __name__ == "__main__":
    main()
