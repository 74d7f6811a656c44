# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Everything between two products of a recurrent step, for every gate with states of ``split_tanh``, and its gradient.

Pre-activations are ``[B, 2, gates, d]``, states ``[B, 2, d]``, learned parameters of the gates
``[count, gates - 1, d]``, all contiguous. A program computes N units of the batch. The imaginary part of a real gate
is 0.
"""

import triton
import triton.language as tl

# Codes of gates, as the launcher passes them.
REAL_PART, PROJECTED, MODULUS, BIASED, AMPLITUDE, SPLIT = (
    tl.constexpr(0),
    tl.constexpr(1),
    tl.constexpr(2),
    tl.constexpr(3),
    tl.constexpr(4),
    tl.constexpr(5),
)
LARGEST = tl.constexpr(1.7e38)


@triton.jit
def pair(pointer, place, step, inside):
    """Load the real and the imaginary part in float32."""
    real = tl.load(pointer + place, mask=inside, other=0.0).to(tl.float32)
    return real, tl.load(pointer + place + step, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def put(pointer, place, step, inside, real, imag):
    """Store both parts in the dtype of the tensor."""
    tl.store(pointer + place, real.to(pointer.dtype.element_ty), mask=inside)
    tl.store(pointer + place + step, imag.to(pointer.dtype.element_ty), mask=inside)


@triton.jit
def tanh(x):
    """Compute tanh x from the sigmoid."""
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def times(a, b, c, d):
    """Compute (a + ib)(c + id)."""
    return a * c - b * d, a * d + b * c


@triton.jit
def conj_times(a, b, c, d):
    """Compute conj(a + ib)(c + id)."""
    return a * c + b * d, a * d - b * c


@triton.jit
def learned(weight, number, unit, d, inside, GATES: tl.constexpr, GATE: tl.constexpr):
    """Load the parameters of a gate: alpha and beta, or the bias."""
    first = tl.zeros([unit.shape[0]], tl.float32)
    second = first
    if GATE == PROJECTED:
        first, second = pair(weight, number * d + unit, GATES * d, inside)
    if GATE == BIASED:
        first = tl.load(weight + number * d + unit, mask=inside, other=0.0).to(tl.float32)
    return first, second


@triton.jit
def gate(real, imag, first, second, GATE: tl.constexpr):
    """Compute a gate from its pre-activation."""
    other = tl.zeros([real.shape[0]], tl.float32)
    if GATE == SPLIT:
        value, other = tl.sigmoid(real), tl.sigmoid(imag)
    elif GATE == REAL_PART:
        value = tl.sigmoid(real)
    elif GATE == PROJECTED:
        value = tl.sigmoid(first * real + second * imag)
    elif GATE == AMPLITUDE:
        size = tl.minimum(real * real + imag * imag, LARGEST)
        value = size / (1.0 + size)
    else:
        value = tl.sigmoid(real * real + imag * imag + first)
    return value, other


@triton.jit
def gate_gradient(real, imag, first, second, value, value_imag, grad, grad_imag, GATE: tl.constexpr):
    """Return the gradients of both parts of a pre-activation and of both parameters from the gate's gradient."""
    slope = value * (1.0 - value) * grad
    zero = tl.zeros([real.shape[0]], tl.float32)
    of_first, of_second = zero, zero
    if GATE == SPLIT:
        of_real, of_imag = slope, value_imag * (1.0 - value_imag) * grad_imag
    elif GATE == REAL_PART:
        of_real, of_imag = slope, zero
    elif GATE == PROJECTED:
        of_real, of_imag = first * slope, second * slope
        of_first, of_second = real * slope, imag * slope
    else:
        if GATE == AMPLITUDE:
            slope = (1.0 - value) * (1.0 - value) * grad
        of_real, of_imag, of_first = 2.0 * real * slope, 2.0 * imag * slope, slope
    return of_real, of_imag, of_first, of_second


@triton.jit
def store_learned(
    pointer, row, number, unit, d, batch, inside, first, second, GATES: tl.constexpr, GATE: tl.constexpr
):
    """Store the gradients of the parameters for each row of the batch, ``[count, B, gates, d]``."""
    place = row * GATES * d + number * d + unit
    if GATE == PROJECTED:
        put(pointer, place, batch * GATES * d, inside, first, second)
    if GATE == BIASED:
        tl.store(pointer + place, first.to(pointer.dtype.element_ty), mask=inside)


@triton.jit
def lstm_forward(v, c, weight, h_new, c_new, count, d, limit, GATE: tl.constexpr, N: tl.constexpr):
    """Compute c' = f c + i tanh(g) and h' = o tanh(c') from v of the gates i, f, g, o."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    row, unit = element // d, element % d
    place, step = row * 8 * d + unit, 4 * d
    i_re, i_im = pair(v, place, step, inside)
    f_re, f_im = pair(v, place + d, step, inside)
    g_re, g_im = pair(v, place + 2 * d, step, inside)
    o_re, o_im = pair(v, place + 3 * d, step, inside)
    w, x = learned(weight, 0, unit, d, inside, 3, GATE)
    i_re, i_im = gate(i_re, i_im, w, x, GATE)
    w, x = learned(weight, 1, unit, d, inside, 3, GATE)
    f_re, f_im = gate(f_re, f_im, w, x, GATE)
    w, x = learned(weight, 2, unit, d, inside, 3, GATE)
    o_re, o_im = gate(o_re, o_im, w, x, GATE)
    before_re, before_im = pair(c, row * 2 * d + unit, d, inside)
    kept_re, kept_im = times(f_re, f_im, before_re, before_im)
    new_re, new_im = times(i_re, i_im, tanh(g_re), tanh(g_im))
    c_re = tl.minimum(tl.maximum(kept_re + new_re, -limit), limit)
    c_im = tl.minimum(tl.maximum(kept_im + new_im, -limit), limit)
    h_re, h_im = times(o_re, o_im, tanh(c_re), tanh(c_im))
    put(c_new, row * 2 * d + unit, d, inside, c_re, c_im)
    put(h_new, row * 2 * d + unit, d, inside, h_re, h_im)


@triton.jit
def lstm_backward(
    v, c, weight, c_new, grad_h, grad_c, grad_v, grad_before, grad_weight, count, d, batch, limit,
    GATE: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of v, of the cell before and of the gates' parameters."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    row, unit = element // d, element % d
    place, step, state = row * 8 * d + unit, 4 * d, row * 2 * d + unit
    i_re, i_im = pair(v, place, step, inside)
    f_re, f_im = pair(v, place + d, step, inside)
    g_re, g_im = pair(v, place + 2 * d, step, inside)
    o_re, o_im = pair(v, place + 3 * d, step, inside)
    w_i, x_i = learned(weight, 0, unit, d, inside, 3, GATE)
    w_f, x_f = learned(weight, 1, unit, d, inside, 3, GATE)
    w_o, x_o = learned(weight, 2, unit, d, inside, 3, GATE)
    in_re, in_im = gate(i_re, i_im, w_i, x_i, GATE)
    keep_re, keep_im = gate(f_re, f_im, w_f, x_f, GATE)
    out_re, out_im = gate(o_re, o_im, w_o, x_o, GATE)
    phi_re, phi_im = tanh(g_re), tanh(g_im)
    before_re, before_im = pair(c, state, d, inside)
    c_re, c_im = pair(c_new, state, d, inside)
    dh_re, dh_im = pair(grad_h, state, d, inside)
    dc_re, dc_im = pair(grad_c, state, d, inside)

    of_c_re, of_c_im = tanh(c_re), tanh(c_im)
    do_re, do_im = conj_times(of_c_re, of_c_im, dh_re, dh_im)
    dphi_re, dphi_im = conj_times(out_re, out_im, dh_re, dh_im)
    dc_re = tl.where(tl.abs(c_re) < limit, dc_re + dphi_re * (1.0 - of_c_re * of_c_re), 0.0)
    dc_im = tl.where(tl.abs(c_im) < limit, dc_im + dphi_im * (1.0 - of_c_im * of_c_im), 0.0)
    df_re, df_im = conj_times(before_re, before_im, dc_re, dc_im)
    di_re, di_im = conj_times(phi_re, phi_im, dc_re, dc_im)
    back_re, back_im = conj_times(keep_re, keep_im, dc_re, dc_im)
    put(grad_before, state, d, inside, back_re, back_im)
    dg_re, dg_im = conj_times(in_re, in_im, dc_re, dc_im)
    put(grad_v, place + 2 * d, step, inside, dg_re * (1.0 - phi_re * phi_re), dg_im * (1.0 - phi_im * phi_im))

    a, b, p, q = gate_gradient(i_re, i_im, w_i, x_i, in_re, in_im, di_re, di_im, GATE)
    put(grad_v, place, step, inside, a, b)
    store_learned(grad_weight, row, 0, unit, d, batch, inside, p, q, 3, GATE)
    a, b, p, q = gate_gradient(f_re, f_im, w_f, x_f, keep_re, keep_im, df_re, df_im, GATE)
    put(grad_v, place + d, step, inside, a, b)
    store_learned(grad_weight, row, 1, unit, d, batch, inside, p, q, 3, GATE)
    a, b, p, q = gate_gradient(o_re, o_im, w_o, x_o, out_re, out_im, do_re, do_im, GATE)
    put(grad_v, place + 3 * d, step, inside, a, b)
    store_learned(grad_weight, row, 2, unit, d, batch, inside, p, q, 3, GATE)


@triton.jit
def gru_forward(x, y, h, weight, h_new, count, d, limit, GATE: tl.constexpr, N: tl.constexpr):
    """Compute h' = n + z (h - n), n = tanh(x_n + r y_n), with the gates r and z of x + y."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    row, unit = element // d, element % d
    place, step, state = row * 6 * d + unit, 3 * d, row * 2 * d + unit
    a, b = pair(x, place, step, inside)
    p, q = pair(y, place, step, inside)
    w, u = learned(weight, 0, unit, d, inside, 2, GATE)
    r_re, r_im = gate(a + p, b + q, w, u, GATE)
    a, b = pair(x, place + d, step, inside)
    p, q = pair(y, place + d, step, inside)
    w, u = learned(weight, 1, unit, d, inside, 2, GATE)
    z_re, z_im = gate(a + p, b + q, w, u, GATE)
    a, b = pair(x, place + 2 * d, step, inside)
    p, q = pair(y, place + 2 * d, step, inside)
    s, t = times(r_re, r_im, p, q)
    n_re, n_im = tanh(a + s), tanh(b + t)
    h_re, h_im = pair(h, state, d, inside)
    s, t = times(z_re, z_im, h_re - n_re, h_im - n_im)
    s = tl.minimum(tl.maximum(n_re + s, -limit), limit)
    t = tl.minimum(tl.maximum(n_im + t, -limit), limit)
    put(h_new, state, d, inside, s, t)


@triton.jit
def gru_backward(
    x, y, h, weight, h_new, grad, grad_x, grad_y, grad_before, grad_weight, count, d, batch, limit,
    GATE: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of x, y, of the state before and of the gates' parameters."""
    element = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    inside = element < count
    row, unit = element // d, element % d
    place, step, state = row * 6 * d + unit, 3 * d, row * 2 * d + unit
    a, b = pair(x, place, step, inside)
    p, q = pair(y, place, step, inside)
    of_r_re, of_r_im = a + p, b + q
    w_r, u_r = learned(weight, 0, unit, d, inside, 2, GATE)
    r_re, r_im = gate(of_r_re, of_r_im, w_r, u_r, GATE)
    a, b = pair(x, place + d, step, inside)
    p, q = pair(y, place + d, step, inside)
    of_z_re, of_z_im = a + p, b + q
    w_z, u_z = learned(weight, 1, unit, d, inside, 2, GATE)
    z_re, z_im = gate(of_z_re, of_z_im, w_z, u_z, GATE)
    a, b = pair(x, place + 2 * d, step, inside)
    p, q = pair(y, place + 2 * d, step, inside)
    s, t = times(r_re, r_im, p, q)
    n_re, n_im = tanh(a + s), tanh(b + t)
    h_re, h_im = pair(h, state, d, inside)
    new_re, new_im = pair(h_new, state, d, inside)
    d_re, d_im = pair(grad, state, d, inside)
    d_re = tl.where(tl.abs(new_re) < limit, d_re, 0.0)
    d_im = tl.where(tl.abs(new_im) < limit, d_im, 0.0)

    back_re, back_im = conj_times(z_re, z_im, d_re, d_im)
    put(grad_before, state, d, inside, back_re, back_im)
    dz_re, dz_im = conj_times(h_re - n_re, h_im - n_im, d_re, d_im)
    dn_re = (d_re - back_re) * (1.0 - n_re * n_re)
    dn_im = (d_im - back_im) * (1.0 - n_im * n_im)
    put(grad_x, place + 2 * d, step, inside, dn_re, dn_im)
    dr_re, dr_im = conj_times(p, q, dn_re, dn_im)
    s, t = conj_times(r_re, r_im, dn_re, dn_im)
    put(grad_y, place + 2 * d, step, inside, s, t)

    a, b, p, q = gate_gradient(of_r_re, of_r_im, w_r, u_r, r_re, r_im, dr_re, dr_im, GATE)
    put(grad_x, place, step, inside, a, b)
    put(grad_y, place, step, inside, a, b)
    store_learned(grad_weight, row, 0, unit, d, batch, inside, p, q, 2, GATE)
    a, b, p, q = gate_gradient(of_z_re, of_z_im, w_z, u_z, z_re, z_im, dz_re, dz_im, GATE)
    put(grad_x, place + d, step, inside, a, b)
    put(grad_y, place + d, step, inside, a, b)
    store_learned(grad_weight, row, 1, unit, d, batch, inside, p, q, 2, GATE)
