# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of ``nn`` in C++ for the CPU, compiled on first use. Without a compiler, ``nn`` computes in plain torch.

``build`` compiles and loads operators, ``low_bit`` calls the operators of packed layers, ``state_space`` the operators
of Mamba-3.
"""
