#!/usr/bin/env python
# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Turn a checkpoint of Fairy2i into a model of this library; ``--help`` tells how."""

from complex_transformers.conversion.convert_fairy2i_checkpoint import main

if __name__ == "__main__":
    main()
