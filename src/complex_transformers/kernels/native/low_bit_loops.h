// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// The loops of all instruction sets. A type V describes the vectors of one set: LANES rows per vector, SETS sets of
// signs whose sums fit into the registers, and loads, lookups and sums. A type for rounded tables has Sum, the sums of
// ROWS rows.
#pragma once

#include "low_bit.h"

namespace {

// Sum the sets [first, first + N) of LANES rows.
template <class V, int N>
inline void add_up(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  using namespace low_bit;
  typename V::Floats sum[N][SUMS];
  for (int n = 0; n < N; ++n)
    for (int k = 0; k < SUMS; ++k) sum[n][k] = V::zero();
  for (int64_t block = 0; block < blocks; ++block, signs += sets * GROUPS * ROWS) {
#pragma GCC unroll 1  // unrolled, not all sums stay in registers
    for (int group = 0; group < GROUPS; ++group, tables += 2 * ENTRIES) {
      const auto a = V::table(tables), b = V::table(tables + ENTRIES);
#pragma GCC unroll 6
      for (int n = 0; n < N; ++n) {
        const auto bytes = V::bytes(signs + (n * GROUPS + group) * ROWS);
        const auto p = V::index(bytes, 0), q = V::index(bytes, 4);
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
inline void add_up_rows(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  for (int row = 0; row < low_bit::ROWS; row += V::LANES) add_up<V, N>(signs + row, tables, blocks, sets, sums + row);
}

template <class V, int N = V::SETS>
inline void tile_sums(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums, int first = 0) {
  using namespace low_bit;
  for (; first + N <= sets; first += N)
    add_up_rows<V, N>(signs + first * GROUPS * ROWS, tables, blocks, sets, sums + first * SUMS * ROWS);
  if constexpr (N > 1) {
    if (first < sets) tile_sums<V, N - 1>(signs, tables, blocks, sets, sums, first);
  }
}

// Sum rounded tables.
template <class V>
inline void rounded_tile_sums(const uint8_t* signs, const uint8_t* tables, const float* scales, int64_t blocks,
                              int sets, float* sums) {
  using namespace low_bit;
  for (int n = 0; n < sets * SUMS * ROWS; ++n) sums[n] = 0.0f;
  for (int64_t first = 0; first < blocks; first += SPAN, scales += 2) {
    const int64_t end = first + SPAN < blocks ? first + SPAN : blocks;
    for (int set = 0; set < sets; ++set) {
      typename V::Sum pa{}, pb{}, qa{}, qb{};
      for (int64_t block = first; block < end; ++block) {
        const uint8_t* bytes = signs + (block * sets + set) * GROUPS * ROWS;
        const uint8_t* pairs = tables + block * (GROUPS / 2) * 4 * PAIR;
        for (int pair = 0; pair < GROUPS / 2; ++pair, bytes += 2 * ROWS, pairs += 4 * PAIR) {
          const auto signs_of_pair = V::bytes(bytes);
          const auto p = V::lower(signs_of_pair), q = V::upper(signs_of_pair);
          const auto a = V::table(pairs);
          V::add(pa, a, p);
          V::add(qa, a, q);
          const auto b = V::table(pairs + 2 * PAIR);
          V::add(pb, b, p);
          V::add(qb, b, q);
        }
      }
      float* to = sums + set * SUMS * ROWS;
      V::add_scaled(pa, scales[0], to);
      V::add_scaled(pb, scales[1], to + ROWS);
      V::add_scaled(qa, scales[0], to + 2 * ROWS);
      V::add_scaled(qb, scales[1], to + 3 * ROWS);
    }
  }
}

}  // namespace
