// Copyright 2026 The complex_transformers authors.
// SPDX-License-Identifier: Apache-2.0
//
// The recurrence of Mamba-3 in chunks, in float32, and its gradients. Equations and notation as in
// nn.recurrent.state_space. Tensors are computed by their methods: the headers of functions take long to compile.
//
// A task is one head of one sequence, so that its queries, keys and scores stay in the cache. It computes some chunks
// at once, of c steps of rank R each; a row is one rank of one step, and a chunk has L = c R rows. With M the matrix of
// a chunk, y = M v + f (q h^T). The backward pass needs no gradient of each decay: the gradient of the sum of all log
// decays up to step t is q_t . dq_t - k_t . dk_t, and h . dh of the last state is added at the end of a chunk.
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

#include "state_space_chunks.h"

// Loops are compiled for several instruction sets; the loader selects one.
#if defined(__x86_64__) && defined(__linux__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

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
  Tensor decay, scale, own, skip;           // [B, H, n, c] and [H]; scale is the weight of a key in later steps
};

// A chunk of a block: decays of its steps, and scores [L, L].
struct Chunk {
  int64_t steps, rank;
  const float *decay, *scale, *own;
  float skip, *scores, *from_start, *to_end, *lines;  // lines [3, L] is for weights and decays of a row, and for sums
  // Only for gradients: of the scores [L, L], of scale and own [c], and of the skip, which adds up.
  float *of_scores = nullptr, *of_scale = nullptr, *of_own = nullptr, *of_skip = nullptr;
};

// Compute the decays to and from all steps, and turn the scores into the matrix of values to outputs. With gradients of
// that matrix, compute the gradients of the scores in their place.
FOR_EACH_PROCESSOR void weigh(const Chunk& x) {
  const int64_t steps = x.steps, rank = x.rank, rows = steps * rank;
  float *decays = x.to_end, *weights = x.lines, *repeated = weights + rows, *sums = repeated + rows;
  float from_start = 1.0f;
  if (x.of_scores) std::fill(sums, sums + rows, 0.0f);
  for (int64_t i = 0; i < steps; ++i) {
    const float decay = x.decay[i];
    x.from_start[i] = from_start *= decay;
    if (i) decays[i - 1] = 1.0f;
    for (int64_t j = 0; j < i; ++j) decays[j] *= decay;
    for (int64_t j = 0; j < i; ++j)
      for (int64_t r = 0; r < rank; ++r) {
        repeated[j * rank + r] = decays[j];
        weights[j * rank + r] = decays[j] * x.scale[j];
      }
    const int64_t seen = i * rank, end = seen + rank;
    std::fill(weights + seen, weights + end, x.own[i]);
    float of_own = 0.0f;
    for (int64_t row = seen; row < end; ++row) {
      float* scores = x.scores + row * rows;
      if (x.of_scores) {
        float* grads = x.of_scores + row * rows;
        for (int64_t j = 0; j < seen; ++j) sums[j] += grads[j] * scores[j] * repeated[j];
        for (int64_t j = seen; j < end; ++j) of_own += grads[j] * scores[j];
        *x.of_skip += grads[row];
        for (int64_t j = 0; j < end; ++j) grads[j] *= weights[j];
        std::fill(grads + end, grads + rows, 0.0f);
      }
      for (int64_t j = 0; j < end; ++j) scores[j] *= weights[j];
      std::fill(scores + end, scores + rows, 0.0f);
      scores[row] += x.skip;
    }
    if (x.of_scores) x.of_own[i] = of_own;
  }
  decays[steps - 1] = 1.0f;
  if (!x.of_scores) return;
  for (int64_t i = 0; i < steps; ++i) {
    float sum = 0.0f;
    for (int64_t r = 0; r < rank; ++r) sum += sums[i * rank + r];
    x.of_scale[i] = sum;
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

FOR_EACH_PROCESSOR float dot(const float* x, const float* y, int64_t size) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += x[i] * y[i];
  return sum;
}

float* data(const Tensor& x) { return x.mutable_data_ptr<float>(); }

// Some chunks of one task at a time, in buffers of one thread.
class Block {
 public:
  Block(const Inputs& inputs, bool with_gradients) : in(inputs), s(inputs.sizes), most(most_chunks(inputs.sizes)) {
    const int64_t rows = s.rows(), states = s.states, features = s.features;
    query = make(rows, states), key = make(rows, states), value = make(rows, features), scaled = make(rows, features);
    scores = make(rows, rows), y = make(rows, features), updates = make(features, states);
    cos = make(s.steps, s.angles), sin = make(s.steps, s.angles);
    from_start = make(1, s.steps), to_end = make(1, s.steps), lines = in.decay.new_empty({3, rows});
    if (!with_gradients) return;
    grad = make(rows, features), of_scores = make(rows, rows), after = make(features, states);
    of_scale = make(1, s.steps), of_own = make(1, s.steps);
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
    product(y, some(query), entering.narrow(0, first, size).mT());
    for (int64_t row = 0; row < size * s.rows(); ++row) {
      float* to = data(y) + row * s.features;
      multiply(to, data(from_start)[row / s.rank], s.features, to);
    }
    some(y).baddbmm_(some(scores), some(value));
    write(y, out);
  }

  struct Gradients {
    Tensor key, query;            // of the rotated ones of every head, then of B and C, [B, H, n, L, N]
    Tensor key_bias, query_bias;  // [B, H, R, N]
    Tensor angles, value;         // [B, H, n, c, S] and [B, n, c, R, H, P]
    Tensor log_decay, scale, own;  // [B, H, n, c]
    Tensor skip, first;            // [B, H] and [B, H, P, N]; first is of the last state before the first call
  };

  // Compute the gradients, from the gradient of the outputs and, in its place, of the state after these chunks.
  void backward(const Tensor& entering, const float* last, const Tensor& of_out, const Gradients& to) {
    const int64_t area = s.features * s.states, rows = s.rows();
    const Tensor of_query = to.query.flatten(0, 2).narrow(0, at, size);
    const Tensor of_key = to.key.flatten(0, 2).narrow(0, at, size);
    copy(of_out, data(grad));
    product(of_scores, some(grad), some(value).mT());
    for (int64_t i = 0; i < size; ++i) weigh(chunk(i, data(to.skip) + sample * s.heads + head));
    product(y, some(scores).mT(), some(grad));
    of_query.baddbmm_(some(of_scores), some(key), 0.0);
    of_key.baddbmm_(some(of_scores).mT(), some(query), 0.0);

    for (int64_t row = 0; row < size * rows; ++row)
      multiply(data(grad) + row * s.features, data(from_start)[row / s.rank], s.features,
               data(scaled) + row * s.features);
    of_query.baddbmm_(some(scaled), entering.narrow(0, first, size));
    product(updates, some(scaled).mT(), some(query));
    float* state = data(to.first) + (sample * s.heads + head) * area;
    for (int64_t i = size - 1; i >= 0; --i) {
      std::copy(state, state + area, data(after) + i * area);
      add_scaled(data(updates) + i * area, whole(i), data(after) + i * area, area, state);
    }
    scale_values();
    of_key.baddbmm_(some(scaled), some(after));
    product(grad, some(key), some(after).mT());  // of the scaled values
    for (int64_t row = 0; row < size * rows; ++row) {
      const int64_t step = row / s.rank;
      const float *of_scaled = data(grad) + row * s.features, decay = data(to_end)[step];
      float* of_value = data(y) + row * s.features;
      add_scaled(of_value, decay * scale(step), of_scaled, s.features, of_value);
      data(of_scale)[step] += decay * dot(of_scaled, data(value) + row * s.features, s.features);
    }
    write(y, to.value);
    for (int64_t i = 0; i < size; ++i) {
      const float* next = first + i + 1 < s.chunks ? data(entering) + (first + i + 1) * area : last;
      rates(i, dot(next, data(after) + i * area, area), data(of_query), data(of_key), to);
    }
    rotate_back(data(query), data(of_query), to.angles, to.query_bias);
    rotate_back(data(key), data(of_key), to.angles, to.key_bias);
  }

 private:
  Tensor make(int64_t rows, int64_t columns) const { return in.decay.new_empty({most, rows, columns}); }
  Tensor some(const Tensor& buffer) const { return buffer.narrow(0, 0, size); }
  void product(const Tensor& buffer, const Tensor& x, const Tensor& y) const { some(buffer).baddbmm_(x, y, 0.0); }
  float whole(int64_t i) const { return data(from_start)[(i + 1) * s.steps - 1]; }
  float scale(int64_t step) const { return data(in.scale)[at * s.steps + step]; }

  Chunk chunk(int64_t i, float* of_skip = nullptr) const {
    const int64_t step = i * s.steps, own = at * s.steps + step, area = s.rows() * s.rows();
    Chunk x{s.steps, s.rank, data(in.decay) + own, data(in.scale) + own, data(in.own) + own, data(in.skip)[head],
            data(scores) + i * area, data(from_start) + step, data(to_end) + step, data(lines)};
    if (of_skip) {
      x.of_scores = data(of_scores) + i * area, x.of_skip = of_skip;
      x.of_scale = data(of_scale) + step, x.of_own = data(of_own) + step;
    }
    return x;
  }

  // Copy values or gradients [B, H, n, c, R, P] of this block to rows.
  void copy(const Tensor& x, float* to) const {
    const float* base = data(x) + sample * x.stride(0) + head * x.stride(1) + first * x.stride(2);
    for (int64_t row = 0; row < size * s.rows(); ++row, to += s.features) {
      const int64_t chunk = row / s.rows(), step = row / s.rank % s.steps, rank = row % s.rank;
      const float* from = base + chunk * x.stride(2) + step * x.stride(3) + rank * x.stride(4);
      std::copy(from, from + s.features, to);
    }
  }

  // Write rows to [B, n, c, R, H, P].
  void write(const Tensor& buffer, const Tensor& out) const {
    const float* from = data(buffer);
    float* to = data(out) + (((sample * s.chunks + first) * s.rows()) * s.heads + head) * s.features;
    for (int64_t row = 0; row < size * s.rows(); ++row, from += s.features)
      std::copy(from, from + s.features, to + row * s.heads * s.features);
  }

  // Compute queries or keys: add the bias and rotate.
  void side(const Tensor& x, const Tensor& bias, float* to) const {
    const int64_t group = head / (s.heads / s.groups), row_size = s.groups * s.states;
    const float* from = data(x) + (sample * s.chunks + first) * s.rows() * row_size + group * s.states;
    const float* biases = data(bias) + head * s.rank * s.states;
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
      multiply(data(value) + row * s.features, scale(step) * data(to_end)[step], s.features,
               data(scaled) + row * s.features);
    }
  }

  // Write the gradients of decays and weights of one chunk.
  void rates(int64_t i, float of_last, const float* of_query, const float* of_key, const Gradients& to) const {
    float sum = of_last;
    for (int64_t step = (i + 1) * s.steps - 1; step >= i * s.steps; --step) {
      const int64_t shift = step * s.rank * s.states, many = s.rank * s.states, found = at * s.steps + step;
      sum += dot(data(query) + shift, of_query + shift, many) - dot(data(key) + shift, of_key + shift, many);
      data(to.log_decay)[found] = sum;
      data(to.scale)[found] = data(of_scale)[step];
      data(to.own)[found] = data(of_own)[step];
    }
  }

  // Turn gradients of rotated queries or keys into those of B or C, and add those of the angles and the bias.
  void rotate_back(const float* x, float* grads, const Tensor& of_angles, const Tensor& of_bias) const {
    float* angles = data(of_angles) + at * s.steps * s.angles;
    float* bias = data(of_bias) + (sample * s.heads + head) * s.rank * s.states;
    for (int64_t row = 0; row < size * s.rows(); ++row, x += s.states, grads += s.states) {
      const int64_t angle = row / s.rank * s.angles, own = row % s.rank * s.states;
      add_of_angles(x, grads, s.states / 2, s.angles, angles + angle);
      rotate(grads, grads + s.states / 2, data(cos) + angle, data(sin) + angle, -1.0f, s.angles);
      add(bias + own, grads, s.states, bias + own);
    }
  }

  const Inputs& in;
  const Sizes& s;
  const int64_t most;
  int64_t sample = 0, head = 0, first = 0, size = 0, at = 0;
  Tensor query, key, value, scaled, scores, y, updates, cos, sin, from_start, to_end, lines;
  Tensor grad, of_scores, after, of_scale, of_own;
};

// Check the shapes that every index relies on.
Inputs inputs_of(const Tensor& key, const Tensor& query, const Tensor& key_bias, const Tensor& query_bias,
                 const Tensor& angles, const Tensor& value, const Tensor& decay, const Tensor& scale,
                 const Tensor& own, const Tensor& skip) {
  const Sizes s{key.size(0), value.size(1), key.size(4), key.size(1), key.size(2), key.size(3), key.size(5),
                value.size(5), angles.size(4)};
  const std::vector<int64_t> bias{s.heads, s.rank, s.states}, rates{s.batch, s.heads, s.chunks, s.steps};
  TORCH_CHECK(query.sizes() == key.sizes() && key_bias.sizes() == bias &&
                  query_bias.sizes() == bias && value.sizes().slice(0, 4) == rates &&
                  value.size(4) == s.rank && angles.sizes().slice(0, 4) == rates && decay.sizes() == rates &&
                  scale.sizes() == rates && own.sizes() == rates && skip.numel() == s.heads &&
                  s.heads % s.groups == 0 && 2 * s.angles <= s.states,
              "all tensors must be of the same heads and chunks");
  return {s, key.contiguous(), query.contiguous(), key_bias.contiguous(), query_bias.contiguous(), angles.contiguous(),
          value.stride(5) == 1 ? value : value.contiguous(), decay.contiguous(), scale.contiguous(), own.contiguous(),
          skip.contiguous()};
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
    const Tensor& value, const Tensor& decay, const Tensor& scale, const Tensor& own, const Tensor& skip,
    const Tensor& first) {
  const Inputs in = inputs_of(key, query, key_bias, query_bias, angles, value, decay, scale, own, skip);
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
    const Tensor& query_bias, const Tensor& angles, const Tensor& value, const Tensor& decay, const Tensor& scale,
    const Tensor& own, const Tensor& skip, const Tensor& last, const Tensor& entering) {
  const Inputs in = inputs_of(key, query, key_bias, query_bias, angles, value, decay, scale, own, skip);
  const Sizes& s = in.sizes;
  const Tensor of_out = grad.stride(5) == 1 ? grad : grad.contiguous();
  const std::vector<int64_t> sides{s.batch, s.heads, s.chunks, s.rows(), s.states};
  const std::vector<int64_t> bias{s.batch, s.heads, s.rank, s.states};
  const at::IntArrayRef rates = in.decay.sizes();
  const Block::Gradients to{last.new_empty(sides), last.new_empty(sides), last.new_zeros(bias),
                            last.new_zeros(bias), last.new_zeros(angles.sizes()),
                            last.new_empty({s.batch, s.chunks, s.steps, s.rank, s.heads, s.features}),
                            last.new_empty(rates), last.new_empty(rates), last.new_empty(rates),
                            last.new_zeros({s.batch, s.heads}), grad_last.clone(at::MemoryFormat::Contiguous)};
  for_each_task(in, true, [&](Block& block, int64_t task) {
    const Tensor states = entering.flatten(0, 1).select(0, task);
    const int64_t most = Block::most_chunks(s);
    for (int64_t begin = (s.chunks - 1) / most * most; begin >= 0; begin -= most) {
      block.load(task, begin, std::min(begin + most, s.chunks));
      block.backward(states, data(last) + task * s.features * s.states, of_out, to);
    }
  });
  return {to.key, to.query, to.key_bias, to.query_bias, to.angles, to.value, to.log_decay, to.scale, to.own, to.skip,
          to.first};
}
