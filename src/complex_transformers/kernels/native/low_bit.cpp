// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// The operators complex_transformers::low_bit_signs and low_bit_linear; see low_bit.h for the method.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
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
  static uint32_t bytes(const uint8_t* from) { return *from; }
  static uint32_t index(uint32_t bytes, int shift) { return (bytes >> shift) & 15; }
  static float lookup(const float* table, uint32_t index) { return table[index]; }
};

}  // namespace

void low_bit::sums_portable(const uint8_t* signs, const float* tables, int64_t blocks, int sets, float* sums) {
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
  int64_t few;                    // inputs up to which lookups are faster than unpacking (NEON: estimated)
  RoundedSums rounded = nullptr;  // null without rounded tables
  int64_t few_rounded = 0;        // the limit for rounded tables
};

// Return the paths that this processor runs, the fastest first.
const std::vector<Path>& paths() {
  static const std::vector<Path> found = [] {
    std::vector<Path> list;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) list.push_back({"avx512", sums_avx512, 24});
    if (__builtin_cpu_supports("avx2")) list.push_back({"avx2", sums_avx2, 16, rounded_sums_avx2, 32});
#elif defined(__aarch64__)
    list.push_back({"neon", sums_neon, 8, rounded_sums_neon, 16});
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
  const uint8_t* signs;   // [tiles][blocks][sets][GROUPS][ROWS]
  const float* scales;    // [tiles][sets][real, imaginary axis][ROWS]
  int64_t rows, columns, tiles, blocks;
  int sets, first_conjugate;  // sets from this one on are multiplied with conj(z)

  Layer(const at::Tensor& x, const at::Tensor& signs, const at::Tensor& scales, int64_t rows, int64_t first_conjugate)
      : signs(signs.const_data_ptr<uint8_t>()),
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
  const uint8_t* tile_signs(int64_t tile) const { return signs + tile * blocks * sets * GROUPS * ROWS; }
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

// Reorder packed codes uint8 [sets, rows, bytes] to signs uint8 [tiles, blocks, sets, GROUPS, ROWS].
at::Tensor order(const at::Tensor& codes) {
  static constexpr std::array<uint8_t, 256> INDICES = byte_indices();
  const int64_t sets = codes.size(0), rows = codes.size(1), bytes = codes.size(2);
  const int64_t tiles = (rows + ROWS - 1) / ROWS, blocks = (bytes + GROUPS - 1) / GROUPS;
  const at::Tensor packed = codes.contiguous();
  at::Tensor out = at::zeros({tiles, blocks, sets, GROUPS, ROWS}, codes.options());
  const uint8_t* from = packed.const_data_ptr<uint8_t>();
  uint8_t* to = out.mutable_data_ptr<uint8_t>();
  for (int64_t set = 0; set < sets; ++set)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t byte = 0; byte < bytes; ++byte)
        to[(((row / ROWS * blocks + byte / GROUPS) * sets + set) * GROUPS + byte % GROUPS) * ROWS + row % ROWS] =
            INDICES[*from++];
  return out;
}

// Call ``store(entry, sum)`` for the first half of the sums of four values.
template <class Number, class Store>
inline void half_table(const Number* x, const Store& store) {
  for (int entry = 0; entry < ENTRIES / 2; ++entry) {
    Number sum = x[3];
    for (int k = 0; k < GROUP - 1; ++k) sum += entry >> k & 1 ? -x[k] : x[k];
    store(entry, sum);
  }
}

// Tables of float32 for some inputs.
class ExactTables {
 public:
  ExactTables(const Layer& layer, int64_t inputs, TileSums sums)
      : sums_(sums), size_(layer.blocks * GROUPS * 2 * ENTRIES), tables_(inputs * size_, 0.0f) {}

  // Fill the tables of both parts of z = a + i b.
  void fill(int64_t input, const float* z, int64_t columns) {
    for (int part = 0; part < 2; ++part, z += columns) {
      float* table = tables_.data() + input * size_ + part * ENTRIES;
      for (int64_t column = 0; column < columns; column += GROUP, table += 2 * ENTRIES) {
        float x[GROUP] = {};
        std::copy(z + column, z + std::min(column + GROUP, columns), x);
        half_table(x, [&](int entry, float sum) {
          table[entry] = sum;
          table[entry + ENTRIES / 2] = -sum;
        });
      }
    }
  }
  void sums(int64_t input, const Layer& layer, int64_t tile, float* sums) const {
    sums_(layer.tile_signs(tile), tables_.data() + input * size_, layer.blocks, layer.sets, sums);
  }

 private:
  TileSums sums_;
  int64_t size_;
  std::vector<float> tables_;
};

// Tables of 16-bit integers for some inputs.
class RoundedTables {
 public:
  RoundedTables(const Layer& layer, int64_t inputs, RoundedSums sums)
      : sums_(sums),
        size_(layer.blocks * GROUPS * 4 * ENTRIES),
        spans_((layer.blocks + SPAN - 1) / SPAN),
        tables_(inputs * size_, 0),
        scales_(inputs * spans_ * 2, 0.0f) {}

  // Round both parts of z = a + i b and fill their tables.
  void fill(int64_t input, const float* z, int64_t columns) {
    for (int part = 0; part < 2; ++part, z += columns) {
      uint8_t* table = tables_.data() + input * size_ + part * 2 * PAIR;
      float* scale = scales_.data() + input * spans_ * 2 + part;
      for (int64_t first = 0; first < columns; first += SPAN * COLUMNS, scale += 2) {
        const int64_t count = std::min<int64_t>(SPAN * COLUMNS, columns - first);
        int16_t x[SPAN * COLUMNS] = {};
        *scale = round(z + first, count, x);
        for (int64_t group = 0; group * GROUP < count; ++group) fill_group(x + group * GROUP, group, table);
        table += SPAN * GROUPS / 2 * 4 * PAIR;
      }
    }
  }
  void sums(int64_t input, const Layer& layer, int64_t tile, float* sums) const {
    sums_(layer.tile_signs(tile), tables_.data() + input * size_, scales_.data() + input * spans_ * 2, layer.blocks,
          layer.sets, sums);
  }

 private:
  // Return the scale s of integers x = z / s; values that are not finite make it NaN.
  static float round(const float* z, int64_t count, int16_t* x) {
    float largest = 0.0f;
    for (int64_t n = 0; n < count; ++n) {
      if (!std::isfinite(z[n])) return NAN;
      largest = std::max(largest, std::abs(z[n]));
    }
    if (largest < LARGEST * FLT_MIN) return 0.0f;
    const float inverse = LARGEST / largest;
    for (int64_t n = 0; n < count; ++n) x[n] = std::lrint(z[n] * inverse);
    return largest / LARGEST;
  }
  static void fill_group(const int16_t* x, int64_t group, uint8_t* table) {
    uint8_t* lower = table + group / 2 * 4 * PAIR + group % 2 * ENTRIES;
    half_table(x, [&](int entry, int16_t sum) {
      for (const auto& [place, value] : {std::pair{entry, sum}, std::pair{entry + ENTRIES / 2, int16_t(-sum)}}) {
        lower[place] = value & 255;
        lower[place + PAIR] = value >> 8;
      }
    });
  }

  RoundedSums sums_;
  int64_t size_, spans_;
  std::vector<uint8_t> tables_;
  std::vector<float> scales_;
};

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

// Compute the outputs by lookups; the signs of a tile are read once for all inputs.
template <class Tables>
at::Tensor by_lookups(const Layer& layer, const at::Tensor& x, Tables tables) {
  const at::Tensor wide = x.to(at::kFloat).contiguous();
  const int64_t inputs = x.size(0);
  at::Tensor out = at::empty({inputs, 2 * layer.rows}, wide.options());
  const float* z = wide.const_data_ptr<float>();
  float* y = out.mutable_data_ptr<float>();
  for (int64_t input = 0; input < inputs; ++input) tables.fill(input, z + input * 2 * layer.columns, layer.columns);
  const int64_t lookups = inputs * layer.blocks * layer.sets * GROUPS * SUMS;
  at::parallel_for(0, layer.tiles, LOOKUPS_PER_TASK / std::max<int64_t>(1, lookups) + 1, [&](int64_t begin, int64_t end) {
    float sums[MOST_SETS * SUMS * ROWS];
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t row = tile * ROWS, count = std::min<int64_t>(ROWS, layer.rows - row);
      for (int64_t input = 0; input < inputs; ++input) {
        float real[ROWS] = {}, imag[ROWS] = {};
        tables.sums(input, layer, tile, sums);
        scale_sums(layer, tile, sums, real, imag);
        float* to = y + input * 2 * layer.rows + row;
        std::copy(real, real + count, to);
        std::copy(imag, imag + count, to + layer.rows);
      }
    }
  });
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

// Add the sets [begin, end) of one group of one row; signs and scales are those of the first set.
inline void add_units(const uint8_t* signs, const float* scales, int begin, int end, Four& real, Four& imag) {
  for (int set = begin; set < end; ++set) {
    const uint8_t byte = signs[set * GROUPS * ROWS];
    real += scales[set * 2 * ROWS] * units.real[byte];
    imag += scales[set * 2 * ROWS + ROWS] * units.imag[byte];
  }
}

// Unpack one row to two rows of the real matrix, [[A + C, D - B], [B + D, A - C]] for U = A + iB and V = C + iD.
void unpack_row(const Layer& layer, int64_t row, float* upper, float* lower) {
  const int64_t tile = row / ROWS, lane = row % ROWS, columns = layer.columns;
  const float* scales = layer.tile_scales(tile, 0) + lane;
  for (int64_t column = 0; column < columns; column += GROUP) {
    const int64_t block = column / COLUMNS, group = column % COLUMNS / GROUP;
    const uint8_t* signs = layer.tile_signs(tile) + (block * layer.sets * GROUPS + group) * ROWS + lane;
    Four a = {}, b = {}, c = {}, d = {};
    add_units(signs, scales, 0, layer.first_conjugate, a, b);
    add_units(signs, scales, layer.first_conjugate, layer.sets, c, d);
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

// Return whether a product may be less precise than float32, as torch.set_float32_matmul_precision allows.
bool may_round(const at::Tensor& x) {
  if (x.scalar_type() != at::kFloat) return true;
  try {
    return at::globalContext().float32MatmulPrecision() != at::Float32MatmulPrecision::HIGHEST;
  } catch (const c10::Error&) {  // less precise products are allowed by torch.backends for some devices only
    return true;
  }
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& signs, const at::Tensor& scales, int64_t rows,
                  int64_t first_conjugate, int64_t path) {
  const Path& used = paths().at(path);
  const Layer layer(x, signs, scales, rows, first_conjugate);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = 2 * rows;
  const at::Tensor inputs = x.reshape({-1, x.size(-1)});
  const int64_t count = inputs.size(0);
  const bool rounds = used.rounded && may_round(x);
  at::Tensor out;
  if (count > (rounds ? used.few_rounded : used.few))
    out = by_tiles(layer, inputs);
  else if (rounds)
    out = by_lookups(layer, inputs, RoundedTables(layer, count, used.rounded));
  else
    out = by_lookups(layer, inputs, ExactTables(layer, count, used.sums));
  return out.view(shape);
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
