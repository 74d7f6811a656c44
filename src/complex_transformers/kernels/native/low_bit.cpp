// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// The operators complex_transformers::low_bit_signs and low_bit_linear; see low_bit.h for the method.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "low_bit_loops.h"

namespace {

struct Scalar {
  static constexpr int LANES = 1, SETS = 2;
  using Floats = float;
  static float zero() { return 0.0f; }
  static float add(float x, float y) { return x + y; }
  static void store(float* to, float x) { *to = x; }
  static const float* table(const float* from) { return from; }
  static uint32_t words(const uint32_t* from) { return *from; }
  static uint32_t index(uint32_t words, int shift) { return (words >> shift) & 15; }
  static float lookup(const float* table, uint32_t index) { return table[index]; }
};

}  // namespace

void low_bit::sums_portable(const uint32_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
  tile_sums<Scalar>(signs, tables, blocks, sets, sums);
}

namespace {

using namespace low_bit;

constexpr int64_t LOOKUPS_PER_TASK = 1 << 15; // about 20 microseconds
constexpr int64_t TILE_BYTES = 8 << 20;       // of unpacked weights, which should stay in the cache
constexpr int64_t TILE_ROWS = 128;            // at least: matrix products with fewer rows are slow

struct Path {
  std::string name;
  TileSums sums;
  int64_t few;  // inputs up to which lookups are faster than unpacking (NEON: estimated)
};

// Return the paths that this processor runs, the fastest first.
const std::vector<Path>& paths() {
  static const std::vector<Path> found = [] {
    std::vector<Path> list;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) list.push_back({"avx512", sums_avx512, 24});
    if (__builtin_cpu_supports("avx2")) list.push_back({"avx2", sums_avx2, 16});
#elif defined(__aarch64__)
    list.push_back({"neon", sums_neon, 8});
#endif
    list.push_back({"portable", sums_portable, 2});
    return list;
  }();
  return found;
}

std::vector<std::string> path_names() {
  std::vector<std::string> names;
  for (const Path& path : paths()) names.push_back(path.name);
  return names;
}

struct Layer {
  const uint32_t* signs;  // [tiles][blocks][sets][ROWS]
  const float* scales;    // [tiles][sets][real, imaginary axis][ROWS]
  int64_t rows, columns, tiles, blocks;
  int sets, first_conjugate;  // sets from this one on are multiplied with conj(z)

  Layer(const at::Tensor& x, const at::Tensor& signs, const at::Tensor& scales, int64_t rows, int64_t first_conjugate)
      : signs(static_cast<const uint32_t*>(signs.const_data_ptr())),
        scales(scales.const_data_ptr<float>()),
        rows(rows),
        columns(x.size(-1) / 2),
        tiles(signs.size(0)),
        blocks(signs.size(1)),
        sets(signs.size(2)),
        first_conjugate(first_conjugate) {
    TORCH_CHECK(x.size(-1) % 2 == 0 && tiles * ROWS >= rows && blocks * COLUMNS >= columns && sets <= MOST_SETS,
                "signs must fit x and rows");
    TORCH_CHECK(signs.is_contiguous() && scales.is_contiguous() && scales.numel() == tiles * sets * 2 * ROWS,
                "signs and scales must be contiguous and of one layer");
  }
  const uint32_t* tile_signs(int64_t tile) const { return signs + tile * blocks * sets * ROWS; }
  const float* tile_scales(int64_t tile, int set) const { return scales + (tile * sets + set) * 2 * ROWS; }
};

// Return the index bits of four sign bits, see low_bit.h.
constexpr uint8_t index_of(uint8_t signs) { return signs & 8 ? signs ^ 7 : signs; }

// Return both indices (p in the lower half) of each byte of four codes.
constexpr std::array<uint8_t, 256> byte_indices() {
  std::array<uint8_t, 256> found{};
  for (int byte = 0; byte < 256; ++byte) {
    uint8_t p = 0, q = 0;
    for (int k = 0; k < GROUP; ++k) {
      const int code = byte >> 2 * k & 3;
      p |= (code >> 1) << k;
      q |= ((code ^ code >> 1) & 1) << k;
    }
    found[byte] = index_of(p) | index_of(q) << 4;
  }
  return found;
}

// Reorder packed codes uint8 [sets, rows, bytes] to signs int32 [tiles, blocks, sets, ROWS].
at::Tensor order(const at::Tensor& codes) {
  static constexpr std::array<uint8_t, 256> INDICES = byte_indices();
  const int64_t sets = codes.size(0), rows = codes.size(1), bytes = codes.size(2);
  const int64_t tiles = (rows + ROWS - 1) / ROWS, blocks = (bytes + 3) / 4;
  const at::Tensor packed = codes.contiguous();
  at::Tensor out = at::empty({tiles, blocks, sets, ROWS}, codes.options().dtype(at::kInt));
  const uint8_t* from = packed.const_data_ptr<uint8_t>();
  uint32_t* to = static_cast<uint32_t*>(out.mutable_data_ptr());
  std::fill(to, to + out.numel(), 0);
  for (int64_t set = 0; set < sets; ++set)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t byte = 0; byte < bytes; ++byte)
        to[((row / ROWS * blocks + byte / 4) * sets + set) * ROWS + row % ROWS] |=
            uint32_t(INDICES[*from++]) << 8 * (byte % 4);
  return out;
}

// Fill the tables of one part (a or b) of z; tables of a and b lie side by side.
void fill_tables(const float* part, int64_t columns, float* tables) {
  for (int64_t column = 0; column < columns; column += GROUP, tables += 2 * ENTRIES) {
    float x[GROUP] = {0.0f, 0.0f, 0.0f, 0.0f};
    std::copy(part + column, part + std::min(column + GROUP, columns), x);
    for (int entry = 0; entry < ENTRIES / 2; ++entry) {
      float sum = x[3];
      for (int k = 0; k < GROUP - 1; ++k) sum += entry >> k & 1 ? -x[k] : x[k];
      tables[entry] = sum;
      tables[entry + ENTRIES / 2] = -sum;
    }
  }
}

// Add the sets of one tile to both parts of its outputs.
void scale_sums(const Layer& layer, int64_t tile, const float* sums, float* real, float* imag) {
  for (int set = 0; set < layer.sets; ++set, sums += SUMS * ROWS) {
    const float* scale = layer.tile_scales(tile, set);
    const float sign = set < layer.first_conjugate ? 0.5f : -0.5f;  // of b
    for (int row = 0; row < ROWS; ++row) {
      const float pa = sums[row], pb = sums[ROWS + row], qa = sums[2 * ROWS + row], qb = sums[3 * ROWS + row];
      real[row] += 0.5f * scale[row] * (pa + qa) - sign * scale[ROWS + row] * (pb - qb);
      imag[row] += sign * scale[row] * (pb + qb) + 0.5f * scale[ROWS + row] * (pa - qa);
    }
  }
}

// Compute one output, float [2 rows], by lookups.
void look_up(const Layer& layer, const float* x, TileSums tile_sums, std::vector<float>& tables, float* y) {
  fill_tables(x, layer.columns, tables.data());
  fill_tables(x + layer.columns, layer.columns, tables.data() + ENTRIES);
  const int64_t lookups = layer.blocks * layer.sets * (COLUMNS / GROUP) * SUMS;
  at::parallel_for(0, layer.tiles, LOOKUPS_PER_TASK / lookups + 1, [&](int64_t begin, int64_t end) {
    float sums[MOST_SETS * SUMS * ROWS];
    for (int64_t tile = begin; tile < end; ++tile) {
      float real[ROWS] = {}, imag[ROWS] = {};
      tile_sums(layer.tile_signs(tile), tables.data(), layer.blocks, layer.sets, sums);
      scale_sums(layer, tile, sums, real, imag);
      const int64_t row = tile * ROWS, count = std::min<int64_t>(ROWS, layer.rows - row);
      std::copy(real, real + count, y + row);
      std::copy(imag, imag + count, y + layer.rows + row);
    }
  });
}

at::Tensor by_lookups(const Layer& layer, const at::Tensor& x, TileSums tile_sums) {
  const at::Tensor wide = x.to(at::kFloat).contiguous();
  at::Tensor out = at::empty({x.size(0), 2 * layer.rows}, wide.options());
  std::vector<float> tables(layer.blocks * (COLUMNS / GROUP) * 2 * ENTRIES, 0.0f);
  for (int64_t n = 0; n < x.size(0); ++n)
    look_up(layer, wide.const_data_ptr<float>() + n * 2 * layer.columns, tile_sums, tables,
            out.mutable_data_ptr<float>() + n * 2 * layer.rows);
  return out.to(x.scalar_type());
}

typedef float Four __attribute__((vector_size(GROUP * sizeof(float))));  // weights of one group

// The real and imaginary parts of four units, for both indices of a byte.
struct Units {
  Four real[256], imag[256];
  Units() {
    for (int byte = 0; byte < 256; ++byte) {
      const int p = index_of(byte & 15), q = index_of(byte >> 4);  // index_of is its own inverse
      for (int k = 0; k < GROUP; ++k) {
        const int positive = p >> k & 1 ? -1 : 1, other = q >> k & 1 ? -1 : 1;
        real[byte][k] = 0.5f * (positive + other);
        imag[byte][k] = 0.5f * (positive - other);
      }
    }
  }
};
const Units units;

// Add the sets [begin, end) of one group of one row; words and scales are those of the first set.
inline void add_units(const uint32_t* words, const float* scales, int begin, int end, int shift, Four& real, Four& imag) {
  for (int set = begin; set < end; ++set) {
    const uint8_t byte = words[set * ROWS] >> shift;
    real += scales[set * 2 * ROWS] * units.real[byte];
    imag += scales[set * 2 * ROWS + ROWS] * units.imag[byte];
  }
}

// Unpack one row to two rows of the real matrix, [[A + C, D - B], [B + D, A - C]] for U = A + iB and V = C + iD.
void unpack_row(const Layer& layer, int64_t row, float* upper, float* lower) {
  const int64_t tile = row / ROWS, lane = row % ROWS, columns = layer.columns;
  const float* scales = layer.tile_scales(tile, 0) + lane;
  for (int64_t column = 0; column < columns; column += GROUP) {
    const uint32_t* words = layer.tile_signs(tile) + column / COLUMNS * layer.sets * ROWS + lane;
    const int shift = 8 * (column % COLUMNS / GROUP);
    Four a = {}, b = {}, c = {}, d = {};
    add_units(words, scales, 0, layer.first_conjugate, shift, a, b);
    add_units(words, scales, layer.first_conjugate, layer.sets, shift, c, d);
    const Four blocks[] = {a + c, d - b, b + d, a - c};
    float* const places[] = {upper, upper + columns, lower, lower + columns};
    for (int n = 0; n < 4; ++n)
      if (column + GROUP <= columns)
        std::memcpy(places[n] + column, &blocks[n], sizeof(Four));  // of a constant size: no call
      else
        std::memcpy(places[n] + column, &blocks[n], (columns - column) * sizeof(float));
  }
}

// Multiply with some rows of the weight at a time, unpacked to the dtype of x.
at::Tensor by_tiles(const Layer& layer, const at::Tensor& x) {
  const int64_t width = 2 * layer.columns;
  const int64_t most = std::max<int64_t>(TILE_ROWS, TILE_BYTES / std::max<int64_t>(1, 2 * width * sizeof(float)));
  const at::Tensor buffer = at::empty({2, std::min(most, layer.rows), width}, x.options().dtype(at::kFloat));
  at::Tensor out = at::empty({x.size(0), 2 * layer.rows}, x.options());
  for (int64_t first = 0; first < layer.rows; first += most) {
    const int64_t count = std::min(most, layer.rows - first);
    float* upper = buffer.mutable_data_ptr<float>();
    float* lower = upper + buffer.stride(0);
    at::parallel_for(0, count, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        unpack_row(layer, first + row, upper + row * width, lower + row * width);
    });
    const at::Tensor weight = buffer.to(x.scalar_type());
    for (int part = 0; part < 2; ++part) {
      at::Tensor to = out.narrow(1, part * layer.rows + first, count);
      at::mm_out(to, x, weight.select(0, part).narrow(0, 0, count).t());
    }
  }
  return out;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& signs, const at::Tensor& scales, int64_t rows,
                  int64_t first_conjugate, int64_t path) {
  const Path& used = paths().at(path);
  const Layer layer(x, signs, scales, rows, first_conjugate);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = 2 * rows;
  const at::Tensor inputs = x.reshape({-1, x.size(-1)});
  return (inputs.size(0) > used.few ? by_tiles(layer, inputs) : by_lookups(layer, inputs, used.sums)).view(shape);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(complex_transformers, m) {
  m.def("low_bit_paths() -> str[]", path_names);
  m.def("low_bit_signs(Tensor codes) -> Tensor");
  m.def("low_bit_linear(Tensor x, Tensor signs, Tensor scales, int rows, int first_conjugate, int path=0) -> Tensor");
}

TORCH_LIBRARY_IMPL(complex_transformers, CPU, m) {
  m.impl("low_bit_signs", order);
  m.impl("low_bit_linear", linear);
}
