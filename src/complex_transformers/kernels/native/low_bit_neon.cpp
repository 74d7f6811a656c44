// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#include <arm_neon.h>

#include "low_bit_loops.h"

namespace {

// A table is 64 bytes, and an index selects four of them.
struct Neon {
  static constexpr int LANES = 4, SETS = 2;
  using Floats = float32x4_t;
  static Floats zero() { return vdupq_n_f32(0.0f); }
  static Floats add(Floats x, Floats y) { return vaddq_f32(x, y); }
  static void store(float* to, Floats x) { vst1q_f32(to, x); }
  static uint8x16x4_t table(const float* from) { return vld1q_u8_x4(reinterpret_cast<const uint8_t*>(from)); }
  static uint32x4_t words(const uint32_t* from) { return vld1q_u32(from); }
  static uint8x16_t index(uint32x4_t words, int shift) {
    const uint32x4_t entry = vandq_u32(vshlq_u32(words, vdupq_n_s32(-shift)), vdupq_n_u32(15));
    return vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100), entry, 0x04040404));
  }
  static Floats lookup(uint8x16x4_t table, uint8x16_t index) {
    return vreinterpretq_f32_u8(vqtbl4q_u8(table, index));
  }
};

}  // namespace

void low_bit::sums_neon(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  tile_sums<Neon>(signs, tables, blocks, sets, sums);
}
#endif
