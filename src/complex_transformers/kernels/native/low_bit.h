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
//
// Rounded tables hold integers of 16 bits. Each span of 64 columns is rounded to multiples of its largest |a| (or |b|)
// divided by 1023. Instructions look up 16 or 32 bytes at a time, the lower and the upper bytes of entries separately.
// Even and odd groups of a span are summed separately, so that sums fit into 16 bits: 8 groups * 4 columns * 1023.
#pragma once

#include <cstdint>

namespace low_bit {

constexpr int ROWS = 16;     // rows of a tile, which lie side by side
constexpr int COLUMNS = 16;  // columns of a block
constexpr int GROUP = 4;     // columns of one table
constexpr int GROUPS = COLUMNS / GROUP;
constexpr int ENTRIES = 16;  // entries of one table
constexpr int SUMS = 4;      // p a, p b, q a, q b
constexpr int MOST_SETS = 6; // U and V, three stages each

constexpr int SPAN = 4;      // blocks with one scale in rounded tables
constexpr int LARGEST = 1023;  // integer of the largest value of a span
constexpr int PAIR = 2 * ENTRIES;  // entries of two groups, side by side

// Compute the sums [sets][SUMS][ROWS] of one tile from its signs [blocks][sets][GROUPS][ROWS], p in the lower half of
// a byte and q in the upper one, and the tables [blocks][GROUPS][a, b][ENTRIES].
using TileSums = void (*)(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums);

// Compute these sums from the bytes of rounded tables [blocks][GROUPS / 2][a, b][lower, upper][PAIR] and their scales
// [spans][a, b].
using RoundedSums = void (*)(const uint8_t* signs, const uint8_t* tables, const float* scales, int64_t blocks, int sets,
                             float* sums);

void sums_portable(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
#if defined(__x86_64__)
void sums_avx2(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
void sums_avx512(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
void rounded_sums_avx2(const uint8_t* signs, const uint8_t* tables, const float* scales, int64_t blocks, int sets,
                       float* sums);
#elif defined(__aarch64__)
void sums_neon(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums);
void rounded_sums_neon(const uint8_t* signs, const uint8_t* tables, const float* scales, int64_t blocks, int sets,
                       float* sums);
#endif

}  // namespace low_bit
