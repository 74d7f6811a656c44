// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <tuple>

using ElevenTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor,
                                 at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Return y [B, n, c, R, H, P], the last state [B, H, P, N] and the states before all chunks [B, H, n, P, N].
std::tuple<at::Tensor, at::Tensor, at::Tensor> state_space_chunks(
    const at::Tensor& key, const at::Tensor& query, const at::Tensor& key_bias, const at::Tensor& query_bias,
    const at::Tensor& angles, const at::Tensor& value, const at::Tensor& decay, const at::Tensor& scale,
    const at::Tensor& own, const at::Tensor& skip, const at::Tensor& first);

// Return the gradients of these arguments in their order; those of B and C are of every head, [B, H, n, c R, N], and
// those of parameters are of every sequence, [B, ...].
ElevenTensors state_space_chunks_backward(
    const at::Tensor& grad, const at::Tensor& grad_last, const at::Tensor& key, const at::Tensor& query,
    const at::Tensor& key_bias, const at::Tensor& query_bias, const at::Tensor& angles, const at::Tensor& value,
    const at::Tensor& decay, const at::Tensor& scale, const at::Tensor& own, const at::Tensor& skip,
    const at::Tensor& last, const at::Tensor& entering);
