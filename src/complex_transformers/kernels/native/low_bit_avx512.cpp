// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif
#include "low_bit_loops.h"

namespace {

struct Avx512 {
  static constexpr int LANES = 16, SETS = 6;
  using Floats = __m512;
  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats add(Floats x, Floats y) { return _mm512_add_ps(x, y); }
  static void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
  static __m512 table(const float* from) { return _mm512_loadu_ps(from); }
  static __m512i bytes(const uint8_t* from) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static __m512i index(__m512i bytes, int shift) { return _mm512_srli_epi32(bytes, shift); }
  // The instruction reads the lowest four bits of an index.
  static Floats lookup(__m512 table, __m512i index) { return _mm512_permutexvar_ps(index, table); }
};

}  // namespace

void low_bit::sums_avx512(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  tile_sums<Avx512>(signs, tables, blocks, sets, sums);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
