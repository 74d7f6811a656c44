// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// The loops of all instruction sets. A type V describes the vectors of one set: LANES rows per vector, SETS sets of
// signs whose sums fit into the registers, and loads, lookups and sums.
#pragma once

#include "low_bit.h"

namespace {

// Sum the sets [first, first + N) of LANES rows.
template <class V, int N>
inline void add_up(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  using namespace low_bit;
  typename V::Floats sum[N][SUMS];
  for (int n = 0; n < N; ++n)
    for (int k = 0; k < SUMS; ++k) sum[n][k] = V::zero();
  for (int64_t block = 0; block < blocks; ++block, signs += sets * ROWS) {
#pragma GCC unroll 4
    for (int group = 0; group < COLUMNS / GROUP; ++group, tables += 2 * ENTRIES) {
      const auto a = V::table(tables), b = V::table(tables + ENTRIES);
#pragma GCC unroll 6
      for (int n = 0; n < N; ++n) {
        const auto words = V::words(signs + n * ROWS);
        const auto p = V::index(words, 8 * group), q = V::index(words, 8 * group + 4);
        sum[n][0] = V::add(sum[n][0], V::lookup(a, p));
        sum[n][1] = V::add(sum[n][1], V::lookup(b, p));
        sum[n][2] = V::add(sum[n][2], V::lookup(a, q));
        sum[n][3] = V::add(sum[n][3], V::lookup(b, q));
      }
    }
  }
  for (int n = 0; n < N; ++n)
    for (int k = 0; k < SUMS; ++k) V::store(sums + (n * SUMS + k) * ROWS, sum[n][k]);
}

template <class V, int N>
inline void add_up_rows(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  for (int row = 0; row < low_bit::ROWS; row += V::LANES) add_up<V, N>(signs + row, tables, blocks, sets, sums + row);
}

template <class V, int N = V::SETS>
inline void tile_sums(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums, int first = 0) {
  using namespace low_bit;
  for (; first + N <= sets; first += N)
    add_up_rows<V, N>(signs + first * ROWS, tables, blocks, sets, sums + first * SUMS * ROWS);
  if constexpr (N > 1) {
    if (first < sets) tile_sums<V, N - 1>(signs, tables, blocks, sets, sums, first);
  }
}

}  // namespace
