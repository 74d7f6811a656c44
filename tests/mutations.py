# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Break the package on purpose, one fault at a time in a copy, and demand that tests of the default set notice.

python tests/mutations.py [--all] [NAME...]    all faults, or those named; each against its tests, or the default set
"""

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).parents[1]

# What takes seconds to import, and what every copy of the package would import anew.
HEAVY = ("datasets", "hypothesis", "scipy.stats", "torch", "transformers.modeling_utils", "transformers.trainer")


@dataclass(frozen=True)
class Mutation:
    """A text that stands once in the whole of ``src``, what replaces it, and the tests that must fail then."""

    old: str
    new: str
    tests: str


MUTATIONS = {
    "a sign in the gradient of three products": Mutation(
        "addmm_(grad_real, a + b, alpha=-1)",
        "addmm_(grad_real, a + b)",
        "tests/nn/test_functional.py::test_linear_gradients",
    ),
    "a mask that blocked attention forgets": Mutation(
        "out.view(mask.shape).add_(mask)", "pass", "tests/nn/test_attention.py::test_blocks_give_what_the_whole_gives"
    ),
    "a sign in the three products of blocked attention": Mutation(
        "torch.baddbmm(common, imag, k_sum[:, :n], alpha=-1)",
        "torch.baddbmm(common, imag, k_sum[:, :n])",
        "tests/nn/test_attention.py::test_blocks_give_what_the_whole_gives",
    ),
    "a layer that drops its bias": Mutation(
        "real.weight, imag.weight, self.bias)",
        "real.weight, imag.weight, None)",
        "tests/nn/test_linear.py::test_layer_is_w_z_plus_b",
    ),
    "a gate that reads another product": Mutation(
        "self._read((torch.cat([a, -b], dim=1)",
        "self._read((torch.cat([a, b], dim=1)",
        "tests/nn/test_recurrent.py::test_gates_read_from_the_weights_are_those_of_the_products",
    ),
    "a packed layer that computes with the weights before the last change": Mutation(
        "if found != self._ordered_from[1]:",
        "if not self._ordered_from[1]:",
        "tests/kernels/test_low_bit.py::test_weights_that_change_are_ordered_anew",
    ),
    "a kernel of packed layers that drops gradients": Mutation(
        "(x.requires_grad or (bias is not None and bias.requires_grad))",
        "False",
        "tests/kernels/test_low_bit.py::test_gradients_take_the_unpacked_weights",
    ),
    "a gradient of a product without the conjugate": Mutation(
        "_product(grad, other, -1.0)",
        "_product(grad, other, 1.0)",
        "tests/nn/test_functional.py::test_gradients_of_products",
    ),
    "a phase without position": Mutation(
        'wave_phase(self._rows("frequency", input_ids), positions)',
        'wave_phase(self._rows("frequency", input_ids), torch.ones_like(positions))',
        "tests/nn/test_embedding.py::test_formula_of_every_scheme",
    ),
    "heads of the real twin merged as halves": Mutation(
        "return x.flatten(-2)",
        "return x.unflatten(-1, (2, -1)).transpose(-2, -3).flatten(-3)",
        "tests/nn/test_attention_masks.py::test_real_layer_is_torch_multihead_attention",
    ),
    "a mask of torch read as one of Transformers": Mutation(
        "return ~mask if mask.dtype == torch.bool else mask",
        "return mask",
        "tests/nn/test_attention_masks.py::test_real_layer_is_torch_multihead_attention",
    ),
    "a transposed convolution by the conjugate kernel": Mutation(
        "CF.block_matrix(real, -imag, dtype=product_dtype(real))",
        "CF.block_matrix(real, imag, dtype=product_dtype(real))",
        "tests/nn/test_convolution.py::test_transposed_layer_spreads_the_kernel",
    ),
    "an initializer of twice the variance": Mutation(
        "gain**2 * 2.0 / (fan_in + fan_out)",
        "gain**2 * 4.0 / (fan_in + fan_out)",
        "tests/nn/test_initialization.py::test_real_variance",
    ),
    "a head that is not tied": Mutation(
        '{"lm_head.projection.weight": f"{embedding}.{table}"}',
        "{}",
        "tests/models/complex_order/test_complex_order_vocabulary.py::test_tied_tables_are_one_parameter_and_train_together",
    ),
    "labels shifted to the wrong side": Mutation(
        "F.pad(labels[:, :-1], (1, 0), value=start_token_id)",
        "F.pad(labels[:, 1:], (0, 1), value=start_token_id)",
        "tests/models/complex_seq2seq/test_complex_seq2seq_oracle.py::test_loss_is_the_cross_entropy_of_the_labels_and_smoothed_only_while_training",
    ),
    "a pooling that reads padding": Mutation(
        "padding_mask(attention_mask)) if pooled is None",
        "None) if pooled is None",
        "tests/invariants/test_batches.py::test_padding_changes_nothing",
    ),
    "a memory that forgets the latest tokens": Mutation(
        "[..., -self.mem_len :, :]",
        "[..., : self.mem_len, :]",
        "tests/models/complex_transfo_xl/test_complex_transfo_xl_memory.py::test_with_the_same_length_a_short_memory_is_enough",
    ),
    "a stream whose labels are its inputs": Mutation(
        "following = lanes[:, :-1], lanes[:, 1:].clone()",
        "following = lanes[:, :-1], lanes[:, :-1].clone()",
        "tests/data/test_stream.py",
    ),
    "bits that are nats": Mutation(
        "total / math.log(2) / num_characters", "total / num_characters", "tests/metrics/test_language_modeling.py"
    ),
    "a coherence without its conjugate": Mutation(
        "numpy.outer(state, state.conj())",
        "numpy.outer(state, state)",
        "tests/semantics/test_states.py::test_a_mixture_is_a_density_matrix",
    ),
    "a bias of sigmoids that learns from a mean": Mutation(
        "self.total += grad.sum()",
        "self.total += grad.mean()",
        "tests/nn/test_phase_coherent.py::test_blocks_give_what_the_whole_gives",
    ),
    "weight decay on angles": Mutation(
        "[name for name in names if name not in _marked(model)]",
        "list(names)",
        "tests/test_training.py::test_angles_norms_and_biases_are_not_decayed",
    ),
    "pairs of Mamba-3 weights that stay neighbours": Mutation(
        "order = torch.arange(mixer.state_size).view(-1, 2).T.flatten()",
        "order = torch.arange(mixer.state_size)",
        "tests/conversion/test_convert_mamba3.py::test_a_module",
    ),
}


def mutate(source: Path, mutation: Mutation) -> str | None:
    """Write the fault into the copy; what is wrong with the mutation itself, if anything."""
    texts = {path: path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    if (found := sum(text.count(mutation.old) for text in texts.values())) != 1:
        return f"stale: its text stands {found} times in src"
    for path, text in texts.items():
        if mutation.old in text:
            path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    return None


def run_tests(source: Path, tests: list[str]) -> tuple[int, str]:
    """Exit status of pytest on the package in ``source``, in a process forked before any of it is imported."""
    output = source.parent / "output.txt"
    if not (child := os.fork()):
        sys.path.insert(0, str(source))
        os.environ["PYTHONPATH"] = f"{source}{os.pathsep}{ROOT}"  # of the processes that tests start
        os.chdir(ROOT)
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not full and not slow", *tests])
        sys.stdout.flush()
        os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = output.read_text(encoding="utf-8").splitlines()
    return status, next((line for line in lines if line.startswith(("FAILED ", "ERROR"))), lines[-1])


def try_mutation(mutation: Mutation | None, tests: list[str]) -> tuple[int, str]:
    """``run_tests`` with the fault in a fresh copy of the package; status -1 for a stale mutation."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        if mutation is not None and (stale := mutate(source, mutation)):
            return -1, stale
        return run_tests(source, tests)


def main() -> None:
    """Print a row for each fault; fail unless every one of them is caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to try, default all")
    parser.add_argument("--all", action="store_true", help="against the whole default set, not the tests of the fault")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(MUTATIONS):
        parser.error(f"unknown {sorted(unknown)}, the faults are {list(MUTATIONS)}")
    chosen = {name: MUTATIONS[name] for name in arguments.names or MUTATIONS}

    # Some of these may import Triton, and tests interpret it: tests/interpreter.py.
    with mock.patch.dict(os.environ, TRITON_INTERPRET="1"):
        for module in HEAVY:
            importlib.import_module(module)
    tests = ["tests"] if arguments.all else sorted({mutation.tests for mutation in chosen.values()})
    if (status := try_mutation(None, tests))[0]:
        sys.exit(f"the tests do not pass without a fault: {status[1]}")
    missed = 0
    for name, mutation in chosen.items():
        begin = time.perf_counter()
        status, line = try_mutation(mutation, ["tests"] if arguments.all else [mutation.tests])
        caught = status == 1  # any other status: the tests did not run
        missed += not caught
        print(f"{'caught' if caught else 'MISSED':6} {time.perf_counter() - begin:4.0f} s  {name}: {line}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults caught")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
