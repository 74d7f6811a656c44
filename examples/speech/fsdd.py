#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Run ``complex-transformers run fsdd`` from a clone; ``--help`` lists the options."""

from complex_transformers.recipes.commands.fsdd import main

if __name__ == "__main__":
    main()
