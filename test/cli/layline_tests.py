"""What the tests of the layline tool share: runs of the tool, and findings.

A test is a script `NAME.py LAYLINE OUT`. It prints what it checked and what
was wrong, and exits 1 if anything was.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "test" / "golden"
MODELS = ROOT / "data" / "models"


class Run:
    """One run of the tool. Status is negative after a signal."""

    def __init__(self, arguments, cwd=None):
        self.arguments = [str(a) for a in arguments]
        done = subprocess.run(self.arguments, cwd=cwd, stdin=subprocess.DEVNULL,
                              capture_output=True)
        self.status = done.returncode
        self.stdout = done.stdout.decode(errors="replace")
        self.stderr = done.stderr.decode(errors="replace")

    def __str__(self):
        said = self.stderr.strip() or self.stdout.strip() or "nothing"
        return f"exit {self.status}, said: {said[-400:]}"


class Test:
    def __init__(self):
        self.layline = os.path.abspath(sys.argv[1])
        self.out = pathlib.Path(sys.argv[2]).resolve()
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        self.checked = 0
        self.wrong = []

    def run(self, *arguments, cwd=None):
        return Run([self.layline, *arguments], cwd)

    def expect(self, good, what, detail=""):
        """One check; `what` is printed if it fails."""
        self.checked += 1
        if not good:
            self.wrong.append(what)
            print(f"WRONG: {what}: {detail}", flush=True)
        return bool(good)

    def refused(self, run, what, statuses, *words):
        """The run must end with one of `statuses` and say all `words`."""
        statuses = (statuses,) if isinstance(statuses, int) else statuses
        missing = [w for w in words if w not in run.stderr]
        return self.expect(
            run.status in statuses and run.stderr.strip() and not missing, what,
            f"expected exit {' or '.join(map(str, statuses))}"
            f"{' and the words ' + repr(missing) if missing else ' and a message'}; {run}")

    def compile(self, config, out, *arguments):
        run = self.run("compile", config, "-o", out, *arguments)
        self.expect(run.status == 0, f"compile {config} {' '.join(map(str, arguments))}", run)
        return pathlib.Path(out)

    def finish(self, summary):
        print(f"{summary}: {self.checked} checks, {len(self.wrong)} wrong")
        sys.exit(1 if self.wrong or not self.checked else 0)


def missing_mpi(layline):
    """What of MPI is not there to run `layline` with; "" if all is."""
    plugin = pathlib.Path(layline).resolve().parents[1] / "lib" / "liblayline_mpi.so"
    if not shutil.which("mpirun"):
        return "mpirun (Debian: openmpi-bin)"
    return "" if plugin.exists() else f"{plugin}, built with MPI (Debian: libopenmpi-dev)"


class MpiRun(Run):
    """A command under mpirun. Open MPI 4.1 with PMIx 4.2 (Debian 12) sometimes
    waits for itself in PMIx_server_finalize, when every rank has ended: such an
    mpirun is killed, and the command run again, up to three times. While a rank
    has not ended, nothing is done."""

    _PATIENCE = 30  # s for which an mpirun may be without a rank that lives

    def __init__(self, command):
        self.arguments = [str(part) for part in command]
        for _ in range(3):
            with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL,
                                           stdout=out, stderr=err)
                hung = self._wait(process)
                out.seek(0)
                err.seek(0)
                self.status = process.returncode
                self.stdout = out.read().decode(errors="replace")
                self.stderr = err.read().decode(errors="replace")
            if not hung:
                return
            print("mpirun did not end after all of its ranks had: run again", flush=True)

    def _wait(self, process):
        """Whether mpirun hung."""
        ended = None
        while True:
            try:
                process.wait(1)
                return False
            except subprocess.TimeoutExpired:
                pass
            if self._ranks(process.pid) > 0:
                ended = None
            elif ended is None:
                ended = time.monotonic()
            elif time.monotonic() - ended > self._PATIENCE:
                process.kill()
                process.wait()
                return True

    @staticmethod
    def _ranks(pid):
        """Processes below `pid` that have not ended."""
        living = 0
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = path.read_text().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue  # it has just ended
            living += int(parent) == pid and state != "Z"
        return living


def mpirun(ranks, *command):
    """`command` on so many processes, wherever this test runs."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return MpiRun(["mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none", *root, *command])


def each(work, items):
    """work(item) for all items, as many at a time as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


def snapshot(folder):
    """What is in a folder: relative path -> bytes; None if there is none."""
    folder = pathlib.Path(folder)
    if not folder.exists():
        return None
    return {str(p.relative_to(folder)): p.read_bytes()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def read_json(path):
    return json.loads(pathlib.Path(path).read_text())


def read_safetensors(path):
    """(header, bytes behind it)"""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8:8 + size]), data[8 + size:]


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)


def read_tensors(path):
    """name -> [dtype, shape, bytes], in the order of the file"""
    header, data = read_safetensors(path)
    header.pop("__metadata__", None)
    return {name: [entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]]
            for name, entry in sorted(header.items(), key=lambda e: e[1]["data_offsets"])}


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    write_safetensors(path, header, data)
