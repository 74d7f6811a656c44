# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of ``nn`` as Triton kernels. Triton is imported when a kernel is first chosen, and may be absent.

``switch`` says where kernels may run at all; ``attention`` and ``waves`` say which inputs theirs takes, launch it
and give its gradients; the kernels themselves stand in the files ``*_kernels``.
"""
