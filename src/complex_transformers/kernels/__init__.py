# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of ``nn`` with hand-written gradients that need less time or memory than autograd.

``nn`` holds the plain formulas and chooses (``is_plain_cpu``). This package imports torch only, and Triton in
``accelerator``.
"""
