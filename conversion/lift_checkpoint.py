#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Lift a Llama- or BERT-like checkpoint into a complex model of the same function; see ``--help``."""

from complex_transformers.conversion.lift_checkpoint import main

if __name__ == "__main__":
    main()
