"""What the tests of ranks as processes share."""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from layline_tests import Run, Test  # noqa: E402,F401


def skip_without_mpi(layline):
    """Ends the test, as skipped, where there is no MPI to test with."""
    plugin = pathlib.Path(layline).resolve().parents[1] / "lib" / "liblayline_mpi.so"
    for there, what in ((shutil.which("mpirun"), "mpirun (Debian: openmpi-bin)"),
                        (plugin.exists(), f"{plugin}, built with MPI (Debian: libopenmpi-dev)")):
        if not there:
            print(f"skipped: no {what}")
            sys.exit(77)


def mpirun(ranks, *command):
    """`command` on so many processes, wherever this test runs."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return Run(["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none", *root, *command])


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path
