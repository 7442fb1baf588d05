"""The array API standard's own tests, on arrays of a format.

    git clone --recursive https://github.com/data-apis/array-api-tests
    git -C array-api-tests checkout --recurse-submodules 55fcc60
    python tests/arrays/standard_suite.py array-api-tests --format lists --max-examples 20

By default kernels run on the interpreter as they are lowered; ``--backend c`` compiles them, with
the passes over assembly. The checkout needs ``pip install -r requirements.txt``. ``--format`` is
``dense``, or what creation functions make arrays as (``standard_namespace.py``). What follows
``--`` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from standard_namespace import FORMATS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--format", choices=FORMATS, default="dense")
    parser.add_argument("--max-examples", type=int, default=20)
    parser.add_argument("--backend", default="interpreter")
    options, rest = parser.parse_known_args()
    rest = [word for word in rest if word != "--"]
    plain = options.backend == "interpreter"
    script = (
        "from standard_namespace import namespace; "
        f'xp = namespace("{options.format}", plain={plain})'
    )
    search = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ, "FINCH_BACKEND": options.backend, "PYTHONPATH": search,
        "ARRAY_API_TESTS_MODULE": f"exec('{script}')", "ARRAY_API_TESTS_VERSION": "2025.12",
    }  # fmt: skip
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-extension",
        "fft",
        "--hypothesis-max-examples", str(options.max_examples), "--hypothesis-disable-deadline",
    ]  # fmt: skip
    wanted = rest if any(word.startswith("array_api_tests") for word in rest) else [
        "array_api_tests", *rest
    ]  # fmt: skip
    return subprocess.run([*command, *wanted], cwd=options.checkout, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
