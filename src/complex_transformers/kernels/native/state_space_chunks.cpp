// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// The recurrence of Mamba-3 in chunks, in float32, and its gradients. Equations and notation as in
// nn.recurrent.state_space. Tensors are computed by their methods: the headers of functions take long to compile.
//
// A task is one head of one sequence, so that its queries, keys and scores stay in the cache. It computes some chunks
// at once, of c steps of rank R each; a row is one rank of one step, and a chunk has L = c R rows. With M the matrix of
// a chunk and f its decays from the state before it, y = M v + f (q h^T). The backward pass needs no gradient of each
// decay: that of the sum of all log decays up to step t is q_t . dq_t - k_t . dk_t. Products of a step with itself are
// left out of it, because they cancel.
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

#include "state_space_chunks.h"

namespace {

using at::Tensor;

constexpr int64_t ROWS_AT_ONCE = 512;  // of some chunks: queries and keys of 128 numbers then take 512 KiB

struct Sizes {
  int64_t batch, heads, groups, chunks, steps, rank, states, features, angles;
  int64_t rows() const { return steps * rank; }
};

// The inputs of all tasks.
struct Inputs {
  Sizes sizes;
  Tensor key, query, key_bias, query_bias;  // [B, n, c, R, G, N] and [H, R, N]
  Tensor angles, value;                     // [B, H, n, c, S] and [B, H, n, c, R, P]
  Tensor log_decay, scale, own, skip;       // [B, H, n, c] and [H]; scale is the weight of a key in later steps
};

// Compute log decays from the state before a chunk to each step [c], and to each step from earlier ones [c, c].
// Sums are in double precision, so that rounding does not add up over steps.
FOR_EACH_PROCESSOR void add_up(const float* log_decay, int64_t steps, double* sums, float* from_start, float* between) {
  double sum = 0.0;
  for (int64_t i = 0; i < steps; ++i, between += steps) {
    sums[i] = sum += log_decay[i];
    from_start[i] = float(sum);
    for (int64_t j = 0; j < i; ++j) between[j] = float(sum - sums[j]);
    std::fill(between + i, between + steps, 0.0f);
  }
}

// The scores [L, L] of a chunk, with the decays [c, c] between its steps and the weights [c] of their keys.
struct Chunk {
  int64_t steps, rank;
  const float *decays, *scale, *own;
  float skip, *scores, *lines;  // lines [3, L] is for the weights and decays of a row, and for sums over rows
  // Only for gradients: of the scores [L, L], of scale, own and sums of log decays [c], and of the skip, which adds up.
  float *of_scores = nullptr, *of_scale = nullptr, *of_own = nullptr, *of_sums = nullptr, *of_skip = nullptr;
};

// Turn the scores into the matrix of values to outputs. With gradients of that matrix, compute the gradients of the
// scores in their place.
FOR_EACH_PROCESSOR void weigh(const Chunk& x) {
  const int64_t steps = x.steps, rank = x.rank, rows = steps * rank;
  float *weights = x.lines, *repeated = weights + rows, *columns = repeated + rows;
  if (x.of_scores) std::fill(columns, columns + rows, 0.0f);
  for (int64_t i = 0; i < steps; ++i) {
    const float* decays = x.decays + i * steps;
    for (int64_t j = 0; j < i; ++j)
      for (int64_t r = 0; r < rank; ++r) {
        repeated[j * rank + r] = decays[j];
        weights[j * rank + r] = decays[j] * x.scale[j];
      }
    const int64_t seen = i * rank, end = seen + rank;
    std::fill(weights + seen, weights + end, x.own[i]);
    float of_own = 0.0f, of_sum = 0.0f;
    for (int64_t row = seen; row < end; ++row) {
      float* scores = x.scores + row * rows;
      if (x.of_scores) {
        float* grads = x.of_scores + row * rows;
#pragma omp simd reduction(+ : of_sum)
        for (int64_t j = 0; j < seen; ++j) {
          const float product = grads[j] * scores[j];
          columns[j] += product * repeated[j];
          of_sum += product * weights[j];
        }
        for (int64_t j = seen; j < end; ++j) of_own += grads[j] * scores[j];
        *x.of_skip += grads[row];
        for (int64_t j = 0; j < end; ++j) grads[j] *= weights[j];
        std::fill(grads + end, grads + rows, 0.0f);
      }
      for (int64_t j = 0; j < end; ++j) scores[j] *= weights[j];
      std::fill(scores + end, scores + rows, 0.0f);
      scores[row] += x.skip;
    }
    if (x.of_scores) x.of_own[i] = of_own, x.of_sums[i] = of_sum;
  }
  if (!x.of_scores) return;
  for (int64_t i = 0; i < steps; ++i) {
    x.of_scale[i] = 0.0f;
    for (int64_t r = 0; r < rank; ++r) x.of_scale[i] += columns[i * rank + r];
    x.of_sums[i] -= x.scale[i] * x.of_scale[i];
  }
}

FOR_EACH_PROCESSOR void add(const float* x, const float* bias, int64_t size, float* to) {
  for (int64_t n = 0; n < size; ++n) to[n] = x[n] + bias[n];
}

// Rotate the first ``size`` complex features of a row by angles times ``sign``, in place.
FOR_EACH_PROCESSOR void rotate(float* re, float* im, const float* cos, const float* sin, float sign, int64_t size) {
  for (int64_t s = 0; s < size; ++s) {
    const float x = re[s], y = im[s], turn = sign * sin[s];
    re[s] = x * cos[s] - y * turn;
    im[s] = y * cos[s] + x * turn;
  }
}

// Add the gradient of the angles from a rotated row and its gradient.
FOR_EACH_PROCESSOR void add_of_angles(const float* x, const float* grad, int64_t half, int64_t size, float* to) {
  for (int64_t s = 0; s < size; ++s) to[s] += grad[half + s] * x[s] - grad[s] * x[half + s];
}

FOR_EACH_PROCESSOR void multiply(const float* x, float factor, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) to[i] = factor * x[i];
}

// Compute x + factor y.
FOR_EACH_PROCESSOR void add_scaled(const float* x, float factor, const float* y, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) to[i] = x[i] + factor * y[i];
}

FOR_EACH_PROCESSOR float inner(const float* x, const float* y, int64_t size) { return dot(x, y, size); }

const float* read(const Tensor& x) { return x.const_data_ptr<float>(); }
float* data(const Tensor& x) { return x.mutable_data_ptr<float>(); }

// Some chunks of one task at a time, in buffers of one thread.
class Block {
 public:
  Block(const Inputs& inputs, bool with_gradients) : in(inputs), s(inputs.sizes), most(most_chunks(inputs.sizes)) {
    const int64_t rows = s.rows(), states = s.states, features = s.features;
    query = make(rows, states), key = make(rows, states), value = make(rows, features), scaled = make(rows, features);
    scores = make(rows, rows), result = make(rows, features), updates = make(features, states);
    cos = make(s.steps, s.angles), sin = make(s.steps, s.angles);
    from_start = make(1, s.steps), decays = make(s.steps, s.steps), lines = in.log_decay.new_empty({3, rows});
    sums = in.log_decay.new_empty({s.steps}, at::kDouble);
    if (!with_gradients) return;
    grad = make(rows, features), of_scores = make(rows, rows), after = make(features, states);
    of_scale = make(1, s.steps), of_own = make(1, s.steps), of_sums = make(1, s.steps);
  }

  static int64_t most_chunks(const Sizes& s) { return std::clamp<int64_t>(ROWS_AT_ONCE / s.rows(), 1, s.chunks); }

  // Compute the queries, keys, values and scores of the chunks from ``begin`` to ``end`` of a task.
  void load(int64_t task, int64_t begin, int64_t end) {
    sample = task / s.heads, head = task % s.heads, first = begin, size = end - begin, at = task * s.chunks + first;
    if (s.angles) {
      const Tensor angles = in.angles.flatten(0, 2).narrow(0, at, size);
      some(cos).copy_(angles).cos_();
      some(sin).copy_(angles).sin_();
    }
    side(in.query, in.query_bias, data(query));
    side(in.key, in.key_bias, data(key));
    copy(in.value, data(value));
    product(scores, some(query), some(key).mT());
    for (int64_t i = 0; i < size; ++i)
      add_up(read(in.log_decay) + (at + i) * s.steps, s.steps, sums.mutable_data_ptr<double>(),
             data(from_start) + i * s.steps, data(decays) + i * s.steps * s.steps);
    some(from_start).exp_();
    some(decays).exp_();
  }

  // Compute the outputs, and the states before every chunk [n, P, N] from the first one of them; return the last state.
  void forward(const Tensor& entering, float* state, const Tensor& out) {
    const int64_t area = s.features * s.states;
    float* states = data(entering) + first * area;
    for (int64_t i = 0; i < size; ++i) weigh(chunk(i));
    scale_values();
    product(updates, some(scaled).mT(), some(key));
    for (int64_t i = 0; i < size; ++i) {
      std::copy(state, state + area, states + i * area);
      add_scaled(data(updates) + i * area, whole(i), states + i * area, area, state);
    }
    product(result, some(query), entering.narrow(0, first, size).mT());
    for (int64_t row = 0; row < size * s.rows(); ++row) {
      float* to = data(result) + row * s.features;
      multiply(to, data(from_start)[row / s.rank], s.features, to);
    }
    some(result).baddbmm_(some(scores), some(value));
    write(result, out);
  }

  struct Gradients {
    Tensor key, query;            // of the rotated ones of every head, then of B and C, [B, H, n, L, N]
    Tensor key_bias, query_bias;  // [B, H, R, N]
    Tensor angles, value;         // [B, H, n, c, S] and [B, n, c, R, H, P]
    Tensor log_decay, scale, own;  // [B, H, n, c]
    // [B, H] and [B, H, P, N]. At first ``state`` is the gradient of the last state, at last that of the first one.
    Tensor skip, state;
  };

  // Compute the gradients, from the gradient of the outputs and, in its place, of the state after these chunks.
  void backward(const Tensor& entering, const Tensor& of_out, const Gradients& to) {
    const int64_t area = s.features * s.states, rows = s.rows();
    const Tensor of_query = to.query.flatten(0, 2).narrow(0, at, size);
    const Tensor of_key = to.key.flatten(0, 2).narrow(0, at, size);
    copy(of_out, data(grad));
    product(of_scores, some(grad), some(value).mT());
    for (int64_t i = 0; i < size; ++i) weigh(chunk(i, data(to.skip) + sample * s.heads + head));
    product(result, some(scores).mT(), some(grad));
    of_key.baddbmm_(some(of_scores).mT(), some(query), 0.0);

    for (int64_t row = 0; row < size * rows; ++row)
      multiply(data(grad) + row * s.features, data(from_start)[row / s.rank], s.features,
               data(scaled) + row * s.features);
    of_query.baddbmm_(some(scaled), entering.narrow(0, first, size), 0.0);
    for (int64_t step = 0; step < size * s.steps; ++step) {
      const int64_t shift = step * s.rank * s.states;
      data(of_sums)[step] += inner(read(query) + shift, read(of_query) + shift, s.rank * s.states);
    }
    of_query.baddbmm_(some(of_scores), some(key));
    product(updates, some(scaled).mT(), some(query));
    float* state = data(to.state) + (sample * s.heads + head) * area;
    for (int64_t i = size - 1; i >= 0; --i) {
      std::copy(state, state + area, data(after) + i * area);
      add_scaled(data(updates) + i * area, whole(i), data(after) + i * area, area, state);
    }
    scale_values();
    of_key.baddbmm_(some(scaled), some(after));
    product(grad, some(key), some(after).mT());  // of the scaled values
    for (int64_t row = 0; row < size * rows; ++row) {
      const int64_t step = row / s.rank, end = (step / s.steps + 1) * s.steps - 1;
      const float *of_scaled = read(grad) + row * s.features, decay = to_end(step);
      float* of_value = data(result) + row * s.features;
      add_scaled(of_value, decay * scale(step), of_scaled, s.features, of_value);
      const float found = decay * inner(of_scaled, read(value) + row * s.features, s.features);
      data(of_scale)[step] += found;
      if (step == end) continue;  // to the end there is no decay
      data(of_sums)[step] -= scale(step) * found;
      data(of_sums)[end] += scale(step) * found;
    }
    write(result, to.value);
    for (int64_t i = 0; i < size; ++i)
      rates(i, whole(i) * inner(read(entering) + (first + i) * area, read(after) + i * area, area), to);
    rotate_back(data(query), data(of_query), to.angles, to.query_bias);
    rotate_back(data(key), data(of_key), to.angles, to.key_bias);
  }

 private:
  Tensor make(int64_t rows, int64_t columns) const { return in.log_decay.new_empty({most, rows, columns}); }
  Tensor some(const Tensor& buffer) const { return buffer.narrow(0, 0, size); }
  void product(const Tensor& to, const Tensor& x, const Tensor& y) const { some(to).baddbmm_(x, y, 0.0); }
  float whole(int64_t i) const { return data(from_start)[(i + 1) * s.steps - 1]; }
  float scale(int64_t step) const { return read(in.scale)[at * s.steps + step]; }
  float to_end(int64_t step) const {
    return read(decays)[(step / s.steps * s.steps + s.steps - 1) * s.steps + step % s.steps];
  }

  Chunk chunk(int64_t i, float* of_skip = nullptr) const {
    const int64_t step = i * s.steps, found = at * s.steps + step, area = s.rows() * s.rows();
    Chunk x{s.steps, s.rank, read(decays) + step * s.steps, read(in.scale) + found, read(in.own) + found,
            read(in.skip)[head], data(scores) + i * area, data(lines)};
    if (of_skip) {
      x.of_scores = data(of_scores) + i * area, x.of_skip = of_skip;
      x.of_scale = data(of_scale) + step, x.of_own = data(of_own) + step, x.of_sums = data(of_sums) + step;
    }
    return x;
  }

  // Copy values or gradients [B, H, n, c, R, P] of this block to rows.
  void copy(const Tensor& x, float* to) const {
    const float* base = read(x) + sample * x.stride(0) + head * x.stride(1) + first * x.stride(2);
    for (int64_t row = 0; row < size * s.rows(); ++row, to += s.features) {
      const int64_t chunk = row / s.rows(), step = row / s.rank % s.steps, rank = row % s.rank;
      const float* from = base + chunk * x.stride(2) + step * x.stride(3) + rank * x.stride(4);
      std::copy(from, from + s.features, to);
    }
  }

  // Write rows to [B, n, c, R, H, P].
  void write(const Tensor& buffer, const Tensor& out) const {
    const float* from = read(buffer);
    float* to = data(out) + (((sample * s.chunks + first) * s.rows()) * s.heads + head) * s.features;
    for (int64_t row = 0; row < size * s.rows(); ++row, from += s.features)
      std::copy(from, from + s.features, to + row * s.heads * s.features);
  }

  // Compute queries or keys: add the bias and rotate.
  void side(const Tensor& x, const Tensor& bias, float* to) const {
    const int64_t group = head / (s.heads / s.groups), row_size = s.groups * s.states;
    const float* from = read(x) + (sample * s.chunks + first) * s.rows() * row_size + group * s.states;
    const float* biases = read(bias) + head * s.rank * s.states;
    for (int64_t row = 0; row < size * s.rows(); ++row, to += s.states) {
      const int64_t angle = row / s.rank * s.angles;
      add(from + row * row_size, biases + row % s.rank * s.states, s.states, to);
      rotate(to, to + s.states / 2, data(cos) + angle, data(sin) + angle, 1.0f, s.angles);
    }
  }

  // Scale values for the state after their chunk.
  void scale_values() const {
    for (int64_t row = 0; row < size * s.rows(); ++row) {
      const int64_t step = row / s.rank;
      multiply(data(value) + row * s.features, scale(step) * to_end(step), s.features,
               data(scaled) + row * s.features);
    }
  }

  // Write the gradients of decays and weights of one chunk.
  void rates(int64_t i, float of_state, const Gradients& to) const {
    float sum = of_state;
    for (int64_t step = (i + 1) * s.steps - 1; step >= i * s.steps; --step) {
      const int64_t found = at * s.steps + step;
      data(to.log_decay)[found] = sum += read(of_sums)[step];
      data(to.scale)[found] = read(of_scale)[step];
      data(to.own)[found] = read(of_own)[step];
    }
  }

  // Turn gradients of rotated queries or keys into those of B or C, and add those of the angles and the bias.
  void rotate_back(const float* x, float* grads, const Tensor& of_angles, const Tensor& of_bias) const {
    float* angles = data(of_angles) + at * s.steps * s.angles;
    float* bias = data(of_bias) + (sample * s.heads + head) * s.rank * s.states;
    for (int64_t row = 0; row < size * s.rows(); ++row, x += s.states, grads += s.states) {
      const int64_t angle = row / s.rank * s.angles, rank = row % s.rank * s.states;
      add_of_angles(x, grads, s.states / 2, s.angles, angles + angle);
      rotate(grads, grads + s.states / 2, data(cos) + angle, data(sin) + angle, -1.0f, s.angles);
      add(bias + rank, grads, s.states, bias + rank);
    }
  }

  const Inputs& in;
  const Sizes& s;
  const int64_t most;
  int64_t sample = 0, head = 0, first = 0, size = 0, at = 0;
  Tensor query, key, value, scaled, scores, result, updates, cos, sin, from_start, decays, sums, lines;
  Tensor grad, of_scores, after, of_scale, of_own, of_sums;
};

// Check the shapes that every index relies on.
Inputs inputs_of(const Tensor& key, const Tensor& query, const Tensor& key_bias, const Tensor& query_bias,
                 const Tensor& angles, const Tensor& value, const Tensor& log_decay, const Tensor& scale,
                 const Tensor& own, const Tensor& skip, const Tensor& state) {
  const Sizes s{key.size(0), value.size(1), key.size(4), key.size(1), key.size(2), key.size(3), key.size(5),
                value.size(5), angles.size(4)};
  const std::vector<int64_t> bias{s.heads, s.rank, s.states}, rates{s.batch, s.heads, s.chunks, s.steps};
  const std::vector<int64_t> sizes_of_state{s.batch, s.heads, s.features, s.states};
  TORCH_CHECK(query.sizes() == key.sizes() && key_bias.sizes() == bias &&
                  query_bias.sizes() == bias && value.sizes().slice(0, 4) == rates &&
                  value.size(4) == s.rank && angles.sizes().slice(0, 4) == rates && log_decay.sizes() == rates &&
                  scale.sizes() == rates && own.sizes() == rates && skip.numel() == s.heads &&
                  s.heads % s.groups == 0 && 2 * s.angles <= s.states && value.numel() > 0 &&
                  state.sizes() == at::IntArrayRef(sizes_of_state),
              "all tensors must be of the same heads and chunks");
  return {s, key.contiguous(), query.contiguous(), key_bias.contiguous(), query_bias.contiguous(), angles.contiguous(),
          value.stride(5) == 1 ? value : value.contiguous(), log_decay.contiguous(), scale.contiguous(),
          own.contiguous(), skip.contiguous()};
}

// Call f(block, task) for all heads of all sequences.
template <typename Function>
void for_each_task(const Inputs& in, bool with_gradients, const Function& f) {
  at::parallel_for(0, in.sizes.batch * in.sizes.heads, 1, [&](int64_t begin, int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView no_gradients;
    Block block(in, with_gradients);
    for (int64_t task = begin; task < end; ++task) f(block, task);
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> state_space_chunks(
    const Tensor& key, const Tensor& query, const Tensor& key_bias, const Tensor& query_bias, const Tensor& angles,
    const Tensor& value, const Tensor& log_decay, const Tensor& scale, const Tensor& own, const Tensor& skip,
    const Tensor& first) {
  const Inputs in = inputs_of(key, query, key_bias, query_bias, angles, value, log_decay, scale, own, skip, first);
  const Sizes& s = in.sizes;
  const Tensor last = first.clone(at::MemoryFormat::Contiguous);
  const Tensor y = last.new_empty({s.batch, s.chunks, s.steps, s.rank, s.heads, s.features});
  const Tensor entering = last.new_empty({s.batch, s.heads, s.chunks, s.features, s.states});
  for_each_task(in, false, [&](Block& block, int64_t task) {
    const Tensor states = entering.flatten(0, 1).select(0, task);
    const int64_t most = Block::most_chunks(s);
    for (int64_t begin = 0; begin < s.chunks; begin += most) {
      block.load(task, begin, std::min(begin + most, s.chunks));
      block.forward(states, data(last) + task * s.features * s.states, y);
    }
  });
  return {y, last, entering};
}

ElevenTensors state_space_chunks_backward(
    const Tensor& grad, const Tensor& grad_last, const Tensor& key, const Tensor& query, const Tensor& key_bias,
    const Tensor& query_bias, const Tensor& angles, const Tensor& value, const Tensor& log_decay, const Tensor& scale,
    const Tensor& own, const Tensor& skip, const Tensor& entering) {
  const Inputs in = inputs_of(key, query, key_bias, query_bias, angles, value, log_decay, scale, own, skip, grad_last);
  const Sizes& s = in.sizes;
  TORCH_CHECK(grad.sizes() == value.sizes() && entering.is_contiguous() &&
                  entering.numel() == grad_last.numel() * s.chunks,
              "gradients and states must be of the same call");
  const Tensor of_out = grad.stride(5) == 1 ? grad : grad.contiguous();
  const std::vector<int64_t> sides{s.batch, s.heads, s.chunks, s.rows(), s.states};
  const std::vector<int64_t> bias{s.batch, s.heads, s.rank, s.states};
  const at::IntArrayRef rates = in.log_decay.sizes();
  const Block::Gradients to{grad_last.new_empty(sides), grad_last.new_empty(sides), grad_last.new_zeros(bias),
                            grad_last.new_zeros(bias), grad_last.new_zeros(angles.sizes()),
                            grad_last.new_empty({s.batch, s.chunks, s.steps, s.rank, s.heads, s.features}),
                            grad_last.new_empty(rates), grad_last.new_empty(rates), grad_last.new_empty(rates),
                            grad_last.new_zeros({s.batch, s.heads}), grad_last.clone(at::MemoryFormat::Contiguous)};
  for_each_task(in, true, [&](Block& block, int64_t task) {
    const Tensor states = entering.flatten(0, 1).select(0, task);
    const int64_t most = Block::most_chunks(s);
    for (int64_t begin = (s.chunks - 1) / most * most; begin >= 0; begin -= most) {
      block.load(task, begin, std::min(begin + most, s.chunks));
      block.backward(states, of_out, to);
    }
  });
  return {to.key, to.query, to.key_bias, to.query_bias, to.angles, to.value, to.log_decay, to.scale, to.own, to.skip,
          to.state};
}
