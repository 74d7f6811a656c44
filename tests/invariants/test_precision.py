# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""The same result by other means: low precision, autocast, sdpa, checkpointing, the compiler."""

import functools

import pytest
import torch
from laws import DEFAULT, LOW, as_dtype, assert_same, flat, gradients, law, loss_of, narrow

from families import CASES
from family_inputs import batch, checkpoint, embedded, numbers_of, results, rows

# A graph takes half a minute: the default variants, and all those of the encoder, which compile as one.
COMPILED = [case for case in CASES if case.is_default or case.family == "complex_order"]
law_of_default = functools.partial(law, cases=DEFAULT)
law_of_compiled = functools.partial(law, cases=COMPILED)
NEAR = {torch.bfloat16: 0.15, torch.float16: 0.03}


@law
def test_low_precision_is_near_and_says_what_it_is(case):
    for dtype in LOW:
        low = narrow(case, dtype)
        exact = case.own()
        exact.load_state_dict(low.state_dict())  # the same rounded weights
        inputs = as_dtype(batch(rows(low, labels=True)), dtype)
        expected = results(exact, as_dtype(inputs, torch.float32))
        for found, want in zip(results(low, inputs), expected, strict=True):
            for name, value in found.items():
                assert value.dtype == dtype, name
                assert (value.float() - want[name]).abs().max() < NEAR[dtype] * want[name].abs().max(), name
        assert all(value.isfinite().all() for value in gradients(low.train(), inputs).values())


@law
def test_autocast_is_near_float32(case):
    model = case.own()
    inputs = batch(rows(model, labels=True), "left")
    exact, expected = loss_of(model, inputs), results(model, inputs)
    want = flat(gradients(model, inputs))
    for dtype in LOW:
        with torch.autocast("cpu", dtype=dtype):  # its copies of the weights know no gradient, where none is asked for
            for found, row in zip(results(model, inputs), expected, strict=True):
                for name, value in found.items():
                    assert (value.float() - row[name]).abs().max() < NEAR[dtype] * row[name].abs().max(), name
        model.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            loss = loss_of(model, inputs)
        loss.backward()
        got = flat({name: p.grad for name, p in model.named_parameters() if p.grad is not None})
        torch.testing.assert_close(loss.float(), exact, rtol=NEAR[dtype], atol=0.02)
        assert got.isfinite().all()
        # Rounding moves a few units over the kink of a ReLU, or from one maximum to the next.
        assert torch.cosine_similarity(got, want, dim=0) > 0.9


@law
def test_numbers_of_any_size_have_finite_gradients(case):
    model = case.own()
    given = embedded(model, batch(rows(model, labels=True), "left"))
    # The gradient of a score has three such factors, which no batch norm makes smaller in evaluation.
    for size in (0.0, 1e-30, 1e10):
        inputs = {n: (size * v).requires_grad_() if n in numbers_of(given) else v for n, v in given.items()}
        assert all(value.isfinite().all() for row in results(model, inputs) for value in row.values())
        assert all(value.isfinite().all() for value in gradients(model, inputs).values())
        assert all(inputs[name].grad.isfinite().all() for name in numbers_of(inputs))


@law_of_default
def test_float16_at_the_ends_of_its_range(case):
    model = narrow(case, torch.float16)
    given = embedded(case.model(), batch(rows(model), "left"))
    for size in (2.0**10, 2.0**-20):  # layers without a norm before them make numbers larger; scores are squares
        inputs = {n: v.clamp(-2, 2) * size if n in numbers_of(given) else v for n, v in given.items()}
        for row in results(model, as_dtype(inputs, torch.float16)):
            assert all(value.isfinite().all() for name, value in row.items() if "hidden" in name), row


@law
def test_eager_equals_sdpa(case):
    eager, sdpa = (case.trained(attn_implementation=name) for name in ("eager", "sdpa"))
    assert eager.config._attn_implementation == "eager"
    assert sdpa.config._attn_implementation == "sdpa"
    inputs = batch(rows(eager, labels=True), "left")
    for found, expected in zip(results(sdpa, inputs), results(eager, inputs), strict=True):
        assert_same(found, expected, 1e-5)
    want = gradients(eager, inputs)
    for name, value in gradients(sdpa, inputs).items():
        torch.testing.assert_close(value, want[name], rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.parametrize("reentrant", [False, pytest.param(True, marks=pytest.mark.full)])
@law
def test_checkpointing_gives_the_same_gradients(case, reentrant):
    dropout = {} if case.family == "spectral_transformer" else {"hidden_dropout_prob": 0.3}
    model = case.trained(**dropout).train()
    inputs = batch(rows(model, labels=True))

    def learn(model=model, inputs=inputs):
        torch.manual_seed(1)  # dropout must be replayed
        return gradients(model, inputs)

    plain = learn()
    checkpoint(model, {"use_reentrant": reentrant})
    layers = [m for m in model.modules() if getattr(m, "gradient_checkpointing", False) and m is not model]
    assert layers
    calls = []
    inner = next(m for m in layers[-1].children() if any(True for _ in m.parameters()))
    inner.register_forward_pre_hook(lambda *args, calls=calls: calls.append(1))
    model.enable_input_require_grads()
    for name, value in learn().items():
        torch.testing.assert_close(value, plain[name], rtol=1e-5, atol=1e-5, msg=name)
    assert len(calls) == 2  # forward, and once more in the backward pass


@pytest.mark.slow
@law_of_compiled
def test_compiled_equals_eager(case):
    torch._dynamo.reset()
    model = case.without_dropout().eval()
    labels = not type(model).__name__.endswith("ForCTC")  # torch's loss of paths is no part of a graph
    inputs = batch(rows(model, labels=labels))
    want = gradients(model, inputs)
    model.zero_grad()
    exact = loss_of(model, inputs).detach()
    loss = loss_of(torch.compile(model, fullgraph=bool(model._can_compile_fullgraph)), inputs)
    loss.backward()
    torch.testing.assert_close(loss, exact, rtol=1e-5, atol=1e-5)
    for name, value in want.items():  # a sum of large terms is as exact as the largest of them
        exactly = 1e-5 + 1e-6 * value.abs().max().item()
        torch.testing.assert_close(model.get_parameter(name).grad, value, rtol=1e-4, atol=exactly, msg=name)
