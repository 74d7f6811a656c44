// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operators of Mamba-3 in float32: for one step, complex_transformers::vector_product for the two projections of a
// single sequence, which reads the weight faster than MKL, and complex_transformers::state_space_step for what is
// between them; for sequences, those of state_space_chunks.h. Equations and notation as in nn.recurrent.mamba. A task
// is one head of one sequence; it reads and writes its state once. Layouts: biases, mimo_x, mimo_z and mimo_o
// [heads, rank, ...]; B and C [rank, groups, states]; states [batch, heads, ...], also without axes after the batch.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <tuple>
#include <vector>

#include "state_space_chunks.h"

namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

constexpr double TWO_PI = 2.0 * std::numbers::pi;
constexpr int64_t ELEMENTS_PER_TASK = 1 << 15;  // of states or weights, about 10 microseconds

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float softplus(float x) { return x > 20.0f ? x : std::log1p(std::exp(x)); }
float heavy_tail(float x) { return x >= 0.0f ? 1.0f + x : 1.0f / (1.0f - x); }

float inverse_rms(const float* x, int64_t size, double eps) {
  return 1.0f / std::sqrt(dot(x, x, size) / size + float(eps));
}

// A state h [features, states] of rank R, and its update by values [2 R, features] and keys of two steps [R, states].
struct Update {
  int64_t rank, features, states;
  float decay;
  const float *before, *keys_before, *keys, *queries, *values;
  float *after, *y;  // y [R, features]
};

// Compute after = decay before + sum_r values_r keys_before_r + values_(R + r) keys_r, and y_r = after queries_r.
FOR_EACH_PROCESSOR void update(const Update& u) {
  const int64_t states = u.states;
  for (int64_t p = 0; p < u.features; ++p) {
    float* after = u.after + p * states;
    for (int64_t r = 0; r < u.rank; ++r) {
      const float* before = r ? after : u.before + p * states;
      const float decay = r ? 1.0f : u.decay;
      const float *old_key = u.keys_before + r * states, *key = u.keys + r * states;
      const float old_value = u.values[r * u.features + p], value = u.values[(u.rank + r) * u.features + p];
      for (int64_t n = 0; n < states; ++n) after[n] = decay * before[n] + old_value * old_key[n] + value * key[n];
    }
    for (int64_t r = 0; r < u.rank; ++r) u.y[r * u.features + p] = dot(after, u.queries + r * states, states);
  }
}

// Compute some products of the rows of a weight and x.
FOR_EACH_PROCESSOR void products(const float* weight, const float* x, int64_t size, int64_t rows, float* out) {
  for (int64_t row = 0; row < rows; ++row) out[row] = dot(weight + row * size, x, size);
}

// Return W x, [..., rows], of one vector x [..., columns].
Tensor vector_product(const Tensor& x, const Tensor& weight) {
  const Tensor vector = x.contiguous(), rows = weight.contiguous();
  const int64_t size = weight.size(1);
  TORCH_CHECK(x.numel() == size, "x must be one vector of as many elements as weight has columns");
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = weight.size(0);
  const Tensor out = x.new_empty(shape);
  const float *from = rows.const_data_ptr<float>(), *factors = vector.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  at::parallel_for(0, weight.size(0), std::max<int64_t>(1, ELEMENTS_PER_TASK / size), [&](int64_t begin, int64_t end) {
    products(from + begin * size, factors, size, end - begin, to + begin);
  });
  return out;
}

struct Step {
  int64_t heads, groups, rank, features, states, angles, width;
  double floor, eps;
  bool is_softplus;
  const float *projected, *ssm, *key, *value, *dt_bias, *B_bias, *C_bias, *B_gain, *C_gain, *D, *norm;
  const float *mimo_x, *mimo_z, *mimo_o;
  const double* angle;
  float *out, *new_ssm, *new_key, *new_value;
  double* new_angle;

  int64_t inner() const { return heads * features; }
  int64_t shared() const { return rank * groups * states; }
  float scale(const float* mimo, int64_t head, int64_t i) const {
    return mimo ? mimo[head * rank * features + i] : 1.0f;
  }

  // Add the rotations of this step to the angles of a head, and compute cos and sin [2, angles].
  void rotate(int64_t head, int64_t at, float step, const float* inputs, float* factors) const {
    for (int64_t s = 0; s < angles; ++s) {
      const double sum = angle[at * angles + s] + double(std::numbers::pi_v<float> * std::tanh(inputs[s]) * step);
      const double theta = sum - TWO_PI * std::floor(sum / TWO_PI);
      new_angle[at * angles + s] = theta;
      factors[s] = std::cos(float(theta));
      factors[angles + s] = std::sin(float(theta));
    }
  }

  // Compute queries or keys [rank, states] of a head: norm, bias, rotation.
  void side(const float* x, const float* gain, const float* bias, int64_t head, const float* factors, float* to) const {
    for (int64_t r = 0; r < rank; ++r, to += states) {
      const float* from = x + (r * groups + head / (heads / groups)) * states;
      const float inverse = inverse_rms(from, states, eps);
      for (int64_t n = 0; n < states; ++n) to[n] = from[n] * inverse * gain[n] + bias[(head * rank + r) * states + n];
      float* imag = to + states / 2;
      for (int64_t s = 0; s < angles; ++s) {
        const float re = to[s], im = imag[s], cos = factors[s], sin = factors[angles + s];
        to[s] = re * cos - im * sin;
        imag[s] = re * sin + im * cos;
      }
    }
  }

  // Norm y [rank, features], multiply by the gate, and add up the ranks.
  void gate(int64_t head, const float* z, float* y, float* to) const {
    for (int64_t r = 0; r < rank; ++r) {
      float* row = y + r * features;
      const float inverse = norm ? inverse_rms(row, features, eps) : 1.0f;
      for (int64_t p = 0; p < features; ++p) {
        const float gate = z[p] * scale(mimo_z, head, r * features + p);
        const float normed = norm ? row[p] * inverse * norm[head * features + p] : row[p];
        const float gated = normed * gate * sigmoid(gate) * scale(mimo_o, head, r * features + p);
        to[p] = r ? to[p] + gated : gated;
      }
    }
  }

  // Compute one head of one sequence; ``at`` is the index of both.
  void run(int64_t at, std::vector<float>& buffer) const {
    const int64_t head = at % heads;
    const float* z = projected + at / heads * width;
    const float *x = z + inner(), *B = x + inner(), *C = B + shared(), *dt = C + shared();
    const float a = dt[heads + head], trapezoid = dt[2 * heads + head];
    const float step = softplus(dt[head] + dt_bias[head]), own = sigmoid(trapezoid) * step;
    const float damping = std::max(is_softplus ? softplus(a) : heavy_tail(a), float(floor));
    const float decay = std::exp(-damping * step), before = decay * (step - own);

    buffer.resize(rank * states + 3 * rank * features + 2 * angles);
    float *query = buffer.data(), *values = query + rank * states, *y = values + 2 * rank * features;
    float *factors = y + rank * features, *keys = new_key + at * rank * states;
    rotate(head, at, step, dt + 3 * heads, factors);
    side(B, B_gain, B_bias, head, factors, keys);
    side(C, C_gain, C_bias, head, factors, query);
    const float *old_value = value + at * features, *feature = x + head * features;
    std::copy(feature, feature + features, new_value + at * features);
    for (int64_t i = 0; i < rank * features; ++i) {
      const float scaled = scale(mimo_x, head, i);
      values[i] = old_value[i % features] * scaled * before;
      values[rank * features + i] = feature[i % features] * scaled * own;
    }
    const int64_t state = at * features * states;
    update({rank, features, states, decay, ssm + state, key + at * rank * states, keys, query, values,
            new_ssm + state, y});
    for (int64_t i = 0; i < rank * features; ++i) y[i] += D[head] * feature[i % features] * scale(mimo_x, head, i);
    gate(head, z + head * features, y, out + at * features);
  }
};

using States = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

// Return the gated output [B, 1, inner] and the states after the step: angle (empty if none rotates), ssm, key, value.
States state_space_step(const Tensor& projected, const MaybeTensor& angle, const Tensor& ssm, const Tensor& key,
                        const Tensor& value, const Tensor& dt_bias, const Tensor& B_bias, const Tensor& C_bias,
                        const Tensor& D, const Tensor& B_gain, const Tensor& C_gain, const MaybeTensor& norm,
                        const MaybeTensor& mimo_x, const MaybeTensor& mimo_z, const MaybeTensor& mimo_o,
                        int64_t groups, double floor, double eps, bool is_softplus) {
  std::vector<Tensor> kept;  // contiguous copies, until the end of this function
  const auto floats = [&kept](const MaybeTensor& x) -> const float* {
    return x ? kept.emplace_back(x->contiguous()).const_data_ptr<float>() : nullptr;
  };
  const int64_t batch = projected.size(0), heads = B_bias.size(0), rank = B_bias.size(1), states = B_bias.size(2);
  const int64_t features = value.numel() / (batch * heads), angles = angle ? angle->numel() / (batch * heads) : 0;
  const int64_t width = 2 * heads * features + 2 * rank * groups * states + 3 * heads + angles;
  TORCH_CHECK(projected.numel() == batch * width && ssm.numel() == batch * heads * features * states &&
                  key.numel() == batch * heads * rank * states,
              "projected and states must be of one layer and one step");
  const Tensor old_angle = angle ? angle->contiguous() : ssm.new_empty({batch, 0}, at::kDouble);
  const Tensor out = ssm.new_empty({batch, 1, heads * features});
  const States found{out, old_angle.new_empty(old_angle.sizes()), ssm.new_empty(ssm.sizes()),
                     key.new_empty(key.sizes()), value.new_empty(value.sizes())};
  const Step step{
      heads, groups, rank, features, states, angles, width, floor, eps, is_softplus,
      floats(projected), floats(ssm), floats(key), floats(value), floats(dt_bias), floats(B_bias), floats(C_bias),
      floats(B_gain), floats(C_gain), floats(D), floats(norm), floats(mimo_x), floats(mimo_z), floats(mimo_o),
      old_angle.const_data_ptr<double>(), out.mutable_data_ptr<float>(), std::get<2>(found).mutable_data_ptr<float>(),
      std::get<3>(found).mutable_data_ptr<float>(), std::get<4>(found).mutable_data_ptr<float>(),
      std::get<1>(found).mutable_data_ptr<double>()};
  const int64_t tasks = std::max<int64_t>(1, ELEMENTS_PER_TASK / (features * states * rank));
  at::parallel_for(0, batch * heads, tasks, [&](int64_t begin, int64_t end) {
    std::vector<float> buffer;
    for (int64_t at = begin; at < end; ++at) step.run(at, buffer);
  });
  return found;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(complex_transformers, m) {
  m.def("vector_product(Tensor x, Tensor weight) -> Tensor");
  m.def(
      "state_space_step(Tensor projected, Tensor? angle, Tensor ssm, Tensor key, Tensor value, Tensor dt_bias, "
      "Tensor B_bias, Tensor C_bias, Tensor D, Tensor B_gain, Tensor C_gain, Tensor? norm, Tensor? mimo_x, "
      "Tensor? mimo_z, Tensor? mimo_o, int groups, float floor, float eps, bool is_softplus) "
      "-> (Tensor, Tensor, Tensor, Tensor, Tensor)");
  m.def(
      "state_space_chunks(Tensor key, Tensor query, Tensor key_bias, Tensor query_bias, Tensor angles, Tensor value, "
      "Tensor log_decay, Tensor scale, Tensor own, Tensor skip, Tensor first) -> (Tensor, Tensor, Tensor)");
  m.def(
      "state_space_chunks_backward(Tensor grad, Tensor grad_last, Tensor key, Tensor query, Tensor key_bias, "
      "Tensor query_bias, Tensor angles, Tensor value, Tensor log_decay, Tensor scale, Tensor own, Tensor skip, "
      "Tensor entering) "
      "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(complex_transformers, CPU, m) {
  m.impl("vector_product", vector_product);
  m.impl("state_space_step", state_space_step);
  m.impl("state_space_chunks", state_space_chunks);
  m.impl("state_space_chunks_backward", state_space_chunks_backward);
}
