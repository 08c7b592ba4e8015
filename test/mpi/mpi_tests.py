"""What the tests of ranks as processes share with those of the tool."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from layline_tests import *  # noqa: E402,F401,F403
from layline_tests import missing_mpi  # noqa: E402


def skip_without_mpi(layline):
    """Ends the test, as skipped, where there is no MPI to test with."""
    if missing := missing_mpi(layline):
        print(f"skipped: no {missing}")
        sys.exit(77)


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path
