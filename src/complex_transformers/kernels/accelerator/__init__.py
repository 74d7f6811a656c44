# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of ``nn`` as Triton kernels. Triton is optional and imported when a kernel is first used.

``switch`` says where kernels may run; ``attention`` says which inputs it supports; ``attention_launch`` launches its
kernels and defines their gradients; the kernels are in the files ``*_kernels``.
"""
