// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstring>

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
  static uint32x4_t bytes(const uint8_t* from) {
    uint32_t four;
    std::memcpy(&four, from, sizeof four);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
  }
  static uint8x16_t index(uint32x4_t bytes, int shift) {
    const uint32x4_t entry = vandq_u32(vshlq_u32(bytes, vdupq_n_s32(-shift)), vdupq_n_u32(15));
    return vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100), entry, 0x04040404));
  }
  static Floats lookup(uint8x16x4_t table, uint8x16_t index) {
    return vreinterpretq_f32_u8(vqtbl4q_u8(table, index));
  }
};

// A vector of bytes looks up 16 rows of one group.
struct RoundedNeon {
  struct Table {
    uint8x16x2_t lower, upper;  // of the even and of the odd group
  };
  struct Sum {  // rows 0 to 7 and 8 to 15, each of the even and the odd groups
    int16x8_t first[2] = {vdupq_n_s16(0), vdupq_n_s16(0)}, second[2] = {vdupq_n_s16(0), vdupq_n_s16(0)};
  };
  static uint8x16x2_t bytes(const uint8_t* from) { return {{vld1q_u8(from), vld1q_u8(from + 16)}}; }
  static Table table(const uint8_t* from) { return {bytes(from), bytes(from + low_bit::PAIR)}; }
  static uint8x16x2_t lower(uint8x16x2_t bytes) {
    return {{vandq_u8(bytes.val[0], vdupq_n_u8(15)), vandq_u8(bytes.val[1], vdupq_n_u8(15))}};
  }
  static uint8x16x2_t upper(uint8x16x2_t bytes) {
    return {{vshrq_n_u8(bytes.val[0], 4), vshrq_n_u8(bytes.val[1], 4)}};
  }
  static void add(Sum& sum, const Table& table, uint8x16x2_t index) {
    for (int n = 0; n < 2; ++n) {
      const uint8x16_t low = vqtbl1q_u8(table.lower.val[n], index.val[n]);
      const uint8x16_t high = vqtbl1q_u8(table.upper.val[n], index.val[n]);
      sum.first[n] = vaddq_s16(sum.first[n], vreinterpretq_s16_u8(vzip1q_u8(low, high)));
      sum.second[n] = vaddq_s16(sum.second[n], vreinterpretq_s16_u8(vzip2q_u8(low, high)));
    }
  }
  static void add_scaled(const Sum& sum, float scale, float* to) {
    add_half(sum.first, scale, to);
    add_half(sum.second, scale, to + 8);
  }
  static void add_half(const int16x8_t (&sum)[2], float scale, float* to) {
    const int32x4_t lower = vaddl_s16(vget_low_s16(sum[0]), vget_low_s16(sum[1]));
    const int32x4_t upper = vaddl_s16(vget_high_s16(sum[0]), vget_high_s16(sum[1]));
    vst1q_f32(to, vaddq_f32(vld1q_f32(to), vmulq_n_f32(vcvtq_f32_s32(lower), scale)));
    vst1q_f32(to + 4, vaddq_f32(vld1q_f32(to + 4), vmulq_n_f32(vcvtq_f32_s32(upper), scale)));
  }
};

}  // namespace

void low_bit::rounded_sums_neon(const uint8_t* signs, const uint8_t* tables, const float* scales, int64_t blocks,
                                int sets, float* sums) {
  rounded_tile_sums<RoundedNeon>(signs, tables, scales, blocks, sets, sums);
}

void low_bit::sums_neon(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  tile_sums<Neon>(signs, tables, blocks, sets, sums);
}
#endif
