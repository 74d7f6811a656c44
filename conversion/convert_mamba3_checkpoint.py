#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Convert a Mamba-3 checkpoint into a model of this library; see ``--help``."""

from complex_transformers.conversion.convert_mamba3_checkpoint import main

if __name__ == "__main__":
    main()
