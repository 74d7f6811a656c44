# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Released checkpoints of other code as models of this package, one ``convert_<model>_checkpoint`` module each."""
