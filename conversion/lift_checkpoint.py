#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Turn a checkpoint of the shape of Llama or BERT into a complex model of the same function; ``--help`` tells how."""

from complex_transformers.conversion.lift_checkpoint import main

if __name__ == "__main__":
    main()
