# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of ``nn`` with gradients of their own: faster or smaller than what autograd makes of the formula.

``nn`` holds the formula and chooses (``is_plain_cpu``); nothing here imports more than torch.
"""
