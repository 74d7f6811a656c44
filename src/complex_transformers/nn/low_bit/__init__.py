# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Complex weights of few bits: rounding, calibration, packed layers."""
