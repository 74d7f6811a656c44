// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#include "low_bit_loops.h"

namespace {

// A vector holds the first half of a table; bit 3 of an index is a sign.
struct Avx2 {
  static constexpr int LANES = 8, SETS = 2;
  using Floats = __m256;
  struct Index {
    __m256i entry;
    __m256 sign;
  };
  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats add(Floats x, Floats y) { return _mm256_add_ps(x, y); }
  static void store(float* to, Floats x) { _mm256_storeu_ps(to, x); }
  static __m256 table(const float* from) { return _mm256_loadu_ps(from); }
  static __m256i words(const uint32_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static Index index(__m256i words, int shift) {
    const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(words, 28 - shift), _mm256_set1_epi32(INT32_MIN));
    return {_mm256_srli_epi32(words, shift), _mm256_castsi256_ps(sign)};
  }
  // The instruction reads the lowest three bits of an entry.
  static Floats lookup(__m256 table, Index index) {
    return _mm256_xor_ps(_mm256_permutevar8x32_ps(table, index.entry), index.sign);
  }
};

}  // namespace

void low_bit::sums_avx2(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  tile_sums<Avx2>(signs, tables, blocks, sets, sums);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
