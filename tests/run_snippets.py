# Copyright 2026 The complex_transformers authors.
# SPDX-License-Identifier: Apache-2.0
"""Run the Python blocks of pages, each page in a process forked before our package is imported.

python run_snippets.py PAGE...    the working folder takes what pages write; fails after the last page if one failed
"""

import importlib
import os
import re
import sys
from pathlib import Path

# What takes seconds to import, and what every page would import anew.
for name in ("datasets", "torch", "transformers.modeling_utils", "transformers.trainer"):
    importlib.import_module(name)


def run(page: str) -> None:
    """The blocks of one page in order, as one script."""
    blocks = re.findall(r"^```python\n(.*?)^```", Path(page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    folder = Path(re.sub(r"\W", "_", page))
    folder.mkdir()
    os.chdir(folder)
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": "__main__"})


def main() -> None:
    failed = []
    for page in sys.argv[1:]:
        print(f"== {page}", flush=True)
        if not (child := os.fork()):
            run(page)
            sys.exit()
        if os.waitpid(child, 0)[1]:
            failed.append(page)
    sys.exit(f"failed: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
