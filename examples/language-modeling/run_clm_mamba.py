#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Run ``complex-transformers run state-space-lm`` from a clone; ``--help`` lists the options."""

from complex_transformers.recipes.commands.state_space_lm import main

if __name__ == "__main__":
    main()
