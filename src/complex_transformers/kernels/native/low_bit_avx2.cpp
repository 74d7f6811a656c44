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
  static __m256i bytes(const uint8_t* from) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  }
  static Index index(__m256i bytes, int shift) {
    const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(bytes, 28 - shift), _mm256_set1_epi32(INT32_MIN));
    return {_mm256_srli_epi32(bytes, shift), _mm256_castsi256_ps(sign)};
  }
  // The instruction reads the lowest three bits of an entry.
  static Floats lookup(__m256 table, Index index) {
    return _mm256_xor_ps(_mm256_permutevar8x32_ps(table, index.entry), index.sign);
  }
};

// Both halves of a vector of bytes look up 16 rows: the lower half those of an even group, the upper half of an odd one.
struct RoundedAvx2 {
  struct Table {
    __m256i lower, upper;
  };
  struct Sum {  // int16: rows 0 to 7 and 8 to 15, each of the even and the odd groups
    __m256i first = _mm256_setzero_si256(), second = _mm256_setzero_si256();
  };
  static __m256i bytes(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static Table table(const uint8_t* from) { return {bytes(from), bytes(from + low_bit::PAIR)}; }
  static __m256i lower(__m256i bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(15)); }
  static __m256i upper(__m256i bytes) { return lower(_mm256_srli_epi16(bytes, 4)); }
  static void add(Sum& sum, const Table& table, __m256i index) {
    const __m256i low = _mm256_shuffle_epi8(table.lower, index), high = _mm256_shuffle_epi8(table.upper, index);
    sum.first = _mm256_add_epi16(sum.first, _mm256_unpacklo_epi8(low, high));
    sum.second = _mm256_add_epi16(sum.second, _mm256_unpackhi_epi8(low, high));
  }
  static void add_scaled(const Sum& sum, float scale, float* to) {
    add_half(sum.first, scale, to);
    add_half(sum.second, scale, to + 8);
  }
  static void add_half(__m256i sum, float scale, float* to) {
    const __m256i even = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sum));
    const __m256i odd = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sum, 1));
    const __m256 whole = _mm256_cvtepi32_ps(_mm256_add_epi32(even, odd));
    _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), _mm256_mul_ps(whole, _mm256_set1_ps(scale))));
  }
};

}  // namespace

void low_bit::rounded_sums_avx2(const uint8_t* signs, const uint8_t* tables, const float* scales, int64_t blocks,
                                int sets, float* sums) {
  rounded_tile_sums<RoundedAvx2>(signs, tables, scales, blocks, sets, sums);
}

void low_bit::sums_avx2(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  tile_sums<Avx2>(signs, tables, blocks, sets, sums);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
