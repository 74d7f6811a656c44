// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <tuple>

// Loops are compiled for several instruction sets; the loader selects one.
#if defined(__x86_64__) && defined(__linux__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

inline __attribute__((always_inline)) float dot(const float* x, const float* y, int64_t size) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += x[i] * y[i];
  return sum;
}

using ElevenTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor,
                                 at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Return y [B, n, c, R, H, P], the last state [B, H, P, N] and the states before all chunks [B, H, n, P, N].
std::tuple<at::Tensor, at::Tensor, at::Tensor> state_space_chunks(
    const at::Tensor& key, const at::Tensor& query, const at::Tensor& key_bias, const at::Tensor& query_bias,
    const at::Tensor& angles, const at::Tensor& value, const at::Tensor& log_decay, const at::Tensor& scale,
    const at::Tensor& own, const at::Tensor& skip, const at::Tensor& first);

// Return the gradients of these arguments in their order; those of B and C are of every head, [B, H, n, c R, N], and
// those of parameters are of every sequence, [B, ...].
ElevenTensors state_space_chunks_backward(
    const at::Tensor& grad, const at::Tensor& grad_last, const at::Tensor& key, const at::Tensor& query,
    const at::Tensor& key_bias, const at::Tensor& query_bias, const at::Tensor& angles, const at::Tensor& value,
    const at::Tensor& log_decay, const at::Tensor& scale, const at::Tensor& own, const at::Tensor& skip,
    const at::Tensor& entering);
