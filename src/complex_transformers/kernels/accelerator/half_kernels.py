# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions of ``[real | imag]`` halves: the complex product, its gradients, and dropout."""

import triton
import triton.language as tl


@triton.jit
def places(element, sizes, strides, features):
    """Return the offsets of complex elements of a tensor ``[..., 2 features]`` with four axes."""
    feature = element % features
    row = element // features
    third = row % sizes[2]
    row = row // sizes[2]
    second = row % sizes[1]
    first = row // sizes[1]
    return first * strides[0] + second * strides[1] + third * strides[2] + feature * strides[3]


@triton.jit
def number(pointer, place, strides, features, inside):
    """Load the real and the imaginary part in float32."""
    real = tl.load(pointer + place, mask=inside, other=0.0).to(tl.float32)
    imag = tl.load(pointer + place + features * strides[3], mask=inside, other=0.0).to(tl.float32)
    return real, imag


@triton.jit
def put(pointer, place, strides, features, inside, real, imag):
    """Store both parts in the dtype of the tensor."""
    tl.store(pointer + place, real.to(pointer.dtype.element_ty), mask=inside)
    tl.store(pointer + place + features * strides[3], imag.to(pointer.dtype.element_ty), mask=inside)


@triton.jit
def product(x, y, out, x_strides, y_strides, strides, sizes, features, count, N: tl.constexpr):
    """Compute (a + ib)(c + id) element by element."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    a, b = number(x, places(element, sizes, x_strides, features), x_strides, features, inside)
    c, d = number(y, places(element, sizes, y_strides, features), y_strides, features, inside)
    put(out, places(element, sizes, strides, features), strides, features, inside, a * c - b * d, a * d + b * c)


@triton.jit
def product_backward(
    x, y, grad, grad_x, grad_y, x_strides, y_strides, grad_strides, strides, sizes, features, count,
    X: tl.constexpr, Y: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Compute the gradients grad conj(y) of x and grad conj(x) of y, those that are needed."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    real, imag = number(grad, places(element, sizes, grad_strides, features), grad_strides, features, inside)
    target = places(element, sizes, strides, features)
    if X:
        c, d = number(y, places(element, sizes, y_strides, features), y_strides, features, inside)
        put(grad_x, target, strides, features, inside, real * c + imag * d, imag * c - real * d)
    if Y:
        a, b = number(x, places(element, sizes, x_strides, features), x_strides, features, inside)
        put(grad_y, target, strides, features, inside, real * a + imag * b, imag * a - real * b)


@triton.jit
def number_of(seed):
    """Load a seed that is a tensor on the device, as in CUDA graphs."""
    if seed.dtype.is_ptr():
        seed = tl.load(seed)
    return seed


@triton.jit(do_not_specialize=["seed"])
def dropout(x, out, x_strides, strides, sizes, features, count, p, seed, N: tl.constexpr):
    """Zero both parts of an element with probability p and divide the others by 1 - p."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    real, imag = number(x, places(element, sizes, x_strides, features), x_strides, features, inside)
    drawn = tl.rand(number_of(seed) + (element >> 31), (element & 0x7FFFFFFF).to(tl.int32))  # 64-bit offsets are slow
    keep = (drawn >= p).to(tl.float32) / (1.0 - p)
    put(out, places(element, sizes, strides, features), strides, features, inside, real * keep, imag * keep)


@triton.jit
def size_of(real, imag, LARGEST: tl.constexpr):
    """Compute |z| at most ``LARGEST``, without overflow of the squares."""
    a, b = tl.abs(real), tl.abs(imag)
    large, small = tl.maximum(a, b), tl.minimum(a, b)
    ratio = small / tl.where(large > 0.0, large, 1.0)
    size = tl.minimum(large * tl.sqrt(1.0 + ratio * ratio), LARGEST)
    return tl.where((real == real) & (imag == imag), size, float("nan"))


@triton.jit
def modulus(x, out, x_strides, sizes, features, count, LARGEST: tl.constexpr, N: tl.constexpr):
    """Compute |z|, contiguous ``[..., features]``."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    real, imag = number(x, places(element, sizes, x_strides, features), x_strides, features, inside)
    tl.store(out + element, size_of(real, imag, LARGEST).to(out.dtype.element_ty), mask=inside)


@triton.jit
def modulus_backward(x, grad, grad_x, x_strides, strides, sizes, features, count, N: tl.constexpr):
    """Compute grad z / |z|, 0 at z = 0, from a contiguous ``grad [..., features]``."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    real, imag = number(x, places(element, sizes, x_strides, features), x_strides, features, inside)
    size = size_of(real, imag, 3.4028234663852886e38)
    factor = tl.load(grad + element, mask=inside, other=0.0).to(tl.float32)
    factor = tl.where(size == 0.0, 0.0, factor)
    size = tl.where(size == 0.0, 1.0, size)
    target = places(element, sizes, strides, features)
    put(grad_x, target, strides, features, inside, real / size * factor, imag / size * factor)
