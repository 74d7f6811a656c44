# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Models, tokenizers, processors and data sets pushed to a stand-in of the Hub and loaded: ``hub_client.py``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hub_stand_in import TOKEN, hub

CLIENT = Path(__file__).parent / "hub_client.py"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return the hub after all pushes, and the finished process of the client."""
    home = tmp_path_factory.mktemp("home")
    with hub() as server:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE"))
        }
        environment |= {"HF_ENDPOINT": server.url, "HF_HOME": str(home), "HF_TOKEN": TOKEN, "NO_PROXY": "127.0.0.1"}
        environment |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        client = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CLIENT)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    return server, client


@pytest.mark.slow
def test_pushed_and_loaded(done):
    server, client = done
    assert client.returncode == 0, client.stdout
    assert server.unknown == []


@pytest.mark.slow
def test_shim_and_card_are_uploaded_with_the_weights(done):
    server, _ = done
    everything = {"config.json", "model.safetensors", "README.md", "complex_transformers_hub.py"}
    for name in ("saved", "complex_order", "private"):
        repository = server.repositories["models", f"us/{name}"]
        assert set(repository.files) == everything
        assert repository.private == (name == "private")


@pytest.mark.slow
def test_pull_requests_and_branches_leave_the_main_branch(done):
    server, _ = done
    reviewed, proposed = (server.repositories["models", f"us/{name}"] for name in ("reviewed", "proposed"))
    assert reviewed.branches.keys() == {"refs/pr/1", "next"}
    for files in reviewed.branches.values():
        changed = {name for name in files.keys() | reviewed.files if files.get(name) != reviewed.files.get(name)}
        assert changed == {"model.safetensors"}
    assert len(reviewed.commits) == 3  # an empty one, the card, the model
    assert proposed.files == {}
    assert "complex_transformers_hub.py" in proposed.branches["refs/pr/1"]
