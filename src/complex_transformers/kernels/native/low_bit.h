// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// Products of 2-bit complex weights with one vector, by table lookup.
//
// A code c stands for the unit i^c = R + i I. Its signs p = R + I and q = R - I are 1 or -1, and
//     R = (p + q) / 2, I = (p - q) / 2.
// For z = a + i b, the four sums of p a, p b, q a and q b over the columns of a row therefore give R z and I z.
// The sum over four columns is one of 16 values, which a table holds: the signs of four columns are its index.
// Bit 3 of an index is the sign of column 3; bit k < 3 is the sign of column k relative to it, so that the second half
// of a table is the negative of the first.
#pragma once

#include <cstdint>

namespace low_bit {

constexpr int ROWS = 16;     // rows of a tile, which lie side by side
constexpr int COLUMNS = 16;  // columns of a block: the signs of one row fill a 32-bit word, p and q by turns
constexpr int GROUP = 4;     // columns of one table
constexpr int ENTRIES = 16;  // entries of one table
constexpr int SUMS = 4;      // p a, p b, q a, q b
constexpr int MOST_SETS = 6; // U and V, three stages each

// Compute the sums [sets][SUMS][ROWS] of one tile from its signs [blocks][sets][ROWS] and the tables
// [blocks][COLUMNS / GROUP][a, b][ENTRIES].
using TileSums = void (*)(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums);

void sums_portable(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
#if defined(__x86_64__)
void sums_avx2(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
void sums_avx512(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
#elif defined(__aarch64__)
void sums_neon(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
#endif

}  // namespace low_bit
