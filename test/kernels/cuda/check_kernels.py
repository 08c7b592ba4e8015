#!/usr/bin/env python3
"""The kernels as nvcc compiles them for sm_90, sm_90a, sm_100 and sm_100a.

check_kernels.py SOURCE OUT [IMAGES NVCC]

IMAGES: what the build compiled, with NVCC. Without them (there was no CUDA
toolkit) the compiler's wheels are installed from PyPI beside OUT, and the kernels
are compiled here. Ends with 77, and says why, where neither can be had.

No warning (nvcc treats them as errors), no stack, no spill, registers within the
budget; the memory operations that the protocols need and none that break them.
"""
import pathlib
import re
import subprocess
import sys

import kernel_checks as checks
from kernel_checks import Rule

#: What a compiler is made of, in PyPI's pieces (278 MB installed).
WHEELS = ["nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88",
          "nvidia-cuda-crt==13.0.88", "nvidia-cuda-runtime==13.0.96"]

MEETS = ["release", "acquire"]
#: Programmatic launches: as every kernel of the catalogue.
LAUNCHES = ["wait for the launch before", "let the next launch begin"]
ROWS = r"^layline_fused_rows_\w+?_"

RULES = [
    # Rows of groups meet the peers at the entry and at the exit.
    Rule(ROWS + r"x[2-8]_", required=MEETS + LAUNCHES, registers=120),
    Rule(ROWS + r"x1_", required=LAUNCHES, absent=MEETS, registers=96),
    Rule(ROWS + r"x\d_(Own|Owed)_", required=["vector load"],
         absent=["switch sum"]),
    Rule(ROWS + r"x\d_\w+?_(Own|Everyone)_", required=["vector store"],
         absent=["any switch store"]),
    Rule(ROWS + r"x\d_OwedMulticast_", required=["switch sum"]),
    Rule(ROWS + r"x\d_\w+?_EveryoneMulticast_", required=["switch store"]),
    # FP8 of eight numbers, and their scales.
    Rule(ROWS + r"x\d_\w+?_EveryoneMulticast_\w+_(Row|Group)$",
         required=["switch store of 8 bytes", "switch store of 4 bytes"]),
    Rule(ROWS + r"x\d_\w+?_EveryoneMulticast_\w+_None$",
         absent=["switch store of 8 bytes", "switch store of 4 bytes"]),
    # Words of mailboxes are their own flags.
    Rule(r"^layline_fused_one_shot_",
         required=["relaxed vector load", "relaxed vector store",
                   "system fence"] + LAUNCHES,
         absent=MEETS, registers=128),
    Rule(r"^layline_fused_broadcast_",
         required=MEETS + LAUNCHES + ["vector load", "vector store"],
         registers=80),
    Rule(r"^layline_fused_gather_rows_", required=MEETS + LAUNCHES,
         registers=80),
    Rule(r"^layline_fused_gather_rows_x\d_by_vector$",
         required=["vector load", "vector store"]),
    Rule(r"^layline_fused_pages_Pack$", required=["release", "vector store"],
         absent=["acquire"], registers=80),
    Rule(r"^layline_fused_pages_Scatter$", required=["acquire", "vector store"],
         absent=["release"], registers=80),
    Rule(r"^layline_fused_rope_", required=["double"] + LAUNCHES, absent=MEETS,
         registers=80),
    Rule(r"^layline_fused_rope_\w+_by8$",
         required=["vector load", "vector store"]),
    Rule(r"^layline_fused_(sort_by_expert|permute_rows|merge_experts)",
         required=LAUNCHES, absent=MEETS, registers=80),
    # Local kernels look at nobody else's flags.
    Rule(r"^layline_(?!group_barrier|fused_)", absent=["release", "acquire"],
         registers=96),
    Rule(r"^layline_rope$", required=["double"]),
    Rule(r"^layline_group_barrier$", required=["release", "acquire"],
         registers=64),
]

#: Each breaks one rule, and must be found out by that one alone.
CONTROLS = {
    "control_spills": ("resources", r"\d+ bytes are spilled"),
    "control_stack": ("resources", r"\d+ bytes of stack"),
    "control_relaxed": ("ptx", r"no release"),
    "control_scope": ("ptx", r"a flag released at gpu scope: st\.release\.gpu"),
    "control_volatile": ("ptx", r"a volatile access: ld\.volatile"),
    "control_scalar": ("ptx", r"no vector load"),
    "control_words": ("ptx", r"no vector store"),
    "control_plain_mailbox": ("ptx", r"no relaxed vector load"),
    "control_gpu_fence": ("ptx", r"no system fence"),
    "control_own_sum": ("ptx", r"no switch sum"),
    "control_own_payload": ("ptx", r"no switch store of 8 bytes"),
    "control_registers": ("resources", r"registers; at most 24 are"),
}
CONTROL_RULES = [
    Rule(r"^control_(relaxed|scope|volatile)$", required=["release", "acquire"]),
    Rule(r"^control_(scalar|words)$", required=["vector load", "vector store"]),
    Rule(r"^control_plain_mailbox$",
         required=["relaxed vector load", "system fence"]),
    Rule(r"^control_gpu_fence$",
         required=["relaxed vector load", "system fence"]),
    Rule(r"^control_own_sum$", required=["switch sum"]),
    Rule(r"^control_own_payload$",
         required=["switch store of 8 bytes", "switch store of 4 bytes"]),
    Rule(r"^control_(spills|stack)$"),
    Rule(r"^control_registers$", registers=24),
]


def run(*command, **options):
    return subprocess.run([str(c) for c in command], text=True,
                          capture_output=True, **options)


def install(folder):
    """nvcc from PyPI; ends with 77 where it cannot be had."""
    nvcc = list(folder.glob("lib/python*/site-packages/nvidia/cu13/bin/nvcc"))
    if not nvcc:
        made = run(sys.executable, "-m", "venv", folder)
        if made.returncode == 0:
            made = run(folder / "bin/pip", "install", "--quiet", "--no-deps",
                       "--disable-pip-version-check", *WHEELS)
        nvcc = list(folder.glob("lib/python*/site-packages/nvidia/cu13/bin/nvcc"))
        if made.returncode or not nvcc:
            print("SKIPPED: there is no CUDA toolkit, and its compiler cannot be "
                  "installed from PyPI:\n" + made.stdout + made.stderr)
            sys.exit(77)
    return nvcc[0]


def compile_all(source, out, nvcc):
    """What a build with this toolkit would do."""
    root = nvcc.parent.parent
    for command in (
            ["cmake", "-S", source / "runtime/kernels/cuda", "-B", out, "-G",
             "Ninja", f"-DCUDAToolkit_ROOT={root}"],
            ["cmake", "--build", out]):
        done = run(*command)
        if done.returncode:
            sys.exit("FAILED: " + " ".join(map(str, command)) + "\n" +
                     done.stdout + done.stderr)
    return out / "images"


def controls(source, out, nvcc):
    """Findings of the kernels that must not pass: every one of them, by its own
    rule. Returns what is wrong."""
    out.mkdir(parents=True, exist_ok=True)
    text = source / "test/kernels/cuda/controls.cu"
    ptx, cubin = out / "controls.ptx", out / "controls.cubin"
    first = run(nvcc, "-std=c++17", "-O3", "-arch=sm_90", f"-I{source}/runtime",
                "-ptx", text, "-o", ptx)
    second = run(nvcc, "-std=c++17", "-O3", "-arch=sm_90", f"-I{source}/runtime",
                 "-cubin", "-Xptxas", "-v", text, "-o", cubin)
    for done in (first, second):
        if done.returncode:
            return ["controls.cu does not compile:\n" + done.stderr]
    log = second.stdout + second.stderr
    found = {"resources": checks.check_resources(log, CONTROL_RULES, "control"),
             "ptx": checks.check_ptx(ptx.read_text(), CONTROL_RULES, "control")}
    wrong = []
    for symbol, (where, text) in CONTROLS.items():
        own = [f for f in found[where] if f"{symbol}" in f]
        if not any(re.search(text, f) for f in own):
            wrong.append(f"{symbol} passed: '{text}' was not found in {own}")
        else:
            print(f"  {symbol}: found out ({own[0].split(': ', 1)[1]})")
    return wrong


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 3:
        images, nvcc = pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    else:
        nvcc = install(out / "toolkit")
        images = compile_all(source, out / "build", nvcc)

    findings, kernels, most = [], {}, (0, "")
    logs = sorted(images.glob("*.log"))
    if not logs:
        findings.append(f"{images}: nothing was compiled")
    for log in logs:
        text = log.read_text()
        if "warning" in text:
            findings.append(f"{log.name}: a warning")
        findings += checks.check_resources(text, RULES, log.stem)
        compiled = {}
        for symbol, arch, registers, _, _ in checks.resources(text):
            compiled.setdefault(symbol, []).append(arch)
            most = max(most, (registers, f"{symbol}, sm_{arch}"))
        for symbol, archs in compiled.items():
            if sorted(archs) != sorted(checks.ARCHITECTURES):
                findings.append(f"{log.stem}, {symbol}: compiled for {archs}; "
                                f"{checks.ARCHITECTURES} are expected")
        kernels[log.stem] = len(compiled)
        ptx = images / f"{log.stem}.ptx"
        if not ptx.exists():
            findings.append(f"{ptx}: is not there")
            continue
        found = checks.entries(ptx.read_text())
        if sorted(found) != sorted(compiled):
            findings.append(f"{ptx.name}: kernels {sorted(found)}; ptxas "
                            f"compiled {sorted(compiled)}")
        findings += checks.check_ptx(ptx.read_text(), RULES, ptx.stem)
    print(f"{sum(kernels.values())} kernels ({kernels}) for "
          f"{', '.join('sm_' + a for a in checks.ARCHITECTURES)}: no warning, "
          f"stack or spill asked for; most registers {most[0]} ({most[1]})")
    seconds = sum(float(m) for log in logs
                  for m in re.findall(r"^compiled in (\S+) s of CPU time$",
                                      log.read_text(), re.MULTILINE))
    print(f"compiled in {seconds:.0f} s of CPU time")
    findings += controls(source, out / "controls", nvcc)
    for finding in findings:
        print("FAILED: " + finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
