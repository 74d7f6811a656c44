# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import torch

from complex_transformers.recipes import quadrant_data, xor_data


@pytest.mark.parametrize("kind", ["complex", "real"])
@pytest.mark.parametrize("radius", [None, 1.0])
def test_classes_follow_from_the_sum(kind, radius):
    numbers, labels = quadrant_data(20_000, 9, kind, std=0.5, radius=radius, seed=3)
    values = numbers.double().numpy()
    real, imag = np.split(values, 2, axis=1) if kind == "complex" else (values, 0 * values)
    total = real.sum(1) + 1j * imag.sum(1)
    assert np.mean(np.abs(real + 1j * imag) ** 2) == pytest.approx(0.25, rel=0.02)
    if radius is None:
        shares = np.bincount(labels) / len(labels)
        assert np.abs(shares - shares.mean()).max() < 0.015
    near = labels.numpy() == 0
    assert np.abs(total[near]).max() < np.abs(total[~near]).min()
    if radius == 1.0:
        assert np.abs(total[near]).max() == pytest.approx(0.5 * 3, rel=0.01)
    signs = {
        "complex": {1: (1, 1), 2: (-1, 1), 3: (-1, -1), 4: (1, -1)},
        "real": {1: (1, 0), 2: (-1, 0)},
    }[kind]
    for label, (horizontal, vertical) in signs.items():
        mine = total[labels.numpy() == label]
        assert (np.sign(mine.real) == horizontal).all()
        assert (np.sign(mine.imag) == vertical).all()


def test_numbers_follow_from_the_seed():
    assert torch.equal(quadrant_data(10, seed=1).numbers, quadrant_data(10, seed=1).numbers)
    assert not torch.equal(quadrant_data(10, seed=1).numbers, quadrant_data(10, seed=2).numbers)


def test_another_kind_is_rejected():
    with pytest.raises(ValueError, match=r"kind must be one of \['complex', 'real'\], got 'quaternion'"):
        quadrant_data(kind="quaternion")


def test_xor():
    bits, labels = xor_data()
    assert labels.tolist() == [int(a) ^ int(b) for a, b in bits.tolist()]
    phases, same = xor_data(phases=True)
    assert torch.equal(same, labels)
    z = torch.complex(*phases.chunk(2, dim=1))
    torch.testing.assert_close(z, torch.polar(torch.ones(4, 2), torch.pi * bits), atol=1e-6, rtol=0)
    # One product of phases is parity: no real layer of the bits without a bend can say it.
    assert torch.equal(z.prod(dim=1).real < 0, labels == 1)
