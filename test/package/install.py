#!/usr/bin/env python3
"""What `cmake --install` puts down, as others use it.

install.py CMAKE BUILD C_COMPILER CXX_COMPILER OUT [COMPONENT...]

Installs the build folder (or some components) below OUT, moves the tree, and
from there builds an external project with find_package and with pkg-config, in
C, runs it, runs the Python module and, where it is installed, the tool.
"""
import os
import pathlib
import shutil
import subprocess
import sys

cmake, build, c_compiler, cxx_compiler = sys.argv[1:5]
out = pathlib.Path(sys.argv[5]).resolve()
components = sys.argv[6:]
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLANS = ROOT / "test" / "plans"
wrong = []


def expect(good, what, detail=""):
    if not good:
        wrong.append(what)
        print(f"WRONG: {what}: {detail}", flush=True)
    return bool(good)


def run(what, *command, fails=False, **environment):
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **environment})
    text = done.stdout.decode(errors="replace")
    expect((done.returncode != 0) == fails, what,
           f"exit {done.returncode}: {text[-3000:]}")
    return text


shutil.rmtree(out, ignore_errors=True)
out.mkdir(parents=True)
for options in ([["--component", c] for c in components] or [[]]):
    run("cmake --install", cmake, "--install", build, "--prefix", out / "first",
        *options)
# An installed tree may be moved: nothing in it names its place.
prefix = out / "prefix"
(out / "first").rename(prefix)
lib = next((p.parent for p in prefix.glob("lib*/**/liblayline_runtime.so")), None)
if not expect(lib, "liblayline_runtime.so is installed"):
    sys.exit(1)
for name in ("liblayline_runtime.a", "liblayline_kv.so"):
    expect((lib / name).exists(), f"{name} is installed")
expect(sorted(p.name for p in (prefix / "include/layline").iterdir())
       == ["hooks.h", "kv.h", "runtime.h"], "the C headers are installed")

# Nothing but the C API can be seen in the shared libraries.
for name, start in (("runtime", "layline_"), ("kv", "layline_kv_")):
    symbols = run(f"nm {name}", "nm", "-D", "--defined-only",
                  lib / f"liblayline_{name}.so").split()[2::3]
    exported = [s.split("@")[0] for s in symbols if not s.startswith("LAYLINE_")]
    expect(exported and all(s.startswith(start) for s in exported),
           f"liblayline_{name}.so exports its C API only",
           [s for s in exported if not s.startswith(start)][:5])

plan = PLANS / "v1.0" / "llama-tp4" / "plan.json"
kv_plan = PLANS / "kv-v1.0" / "qwen3-30b-a3b_tp1cp4_tp4_compat.json"


def says_of_plans(what, program, **environment):
    text = run(what, program, plan, kv_plan, **environment)
    for words in ("ranks\n", "/nowhere", "kv 1."):
        expect(words in text, f"{what}: says '{words.strip()}'", text)


# find_package
project = out / "external"
configure = [cmake, "-S", HERE / "external", "-DCMAKE_BUILD_TYPE=Debug",
             f"-DCMAKE_C_COMPILER={c_compiler}", "-DCMAKE_C_STANDARD=99",
             "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror",
             f"-DCMAKE_CXX_COMPILER={cxx_compiler}",
             f"-DCMAKE_PREFIX_PATH={prefix}"]
run("find_package", *configure, "-B", project)
run("build with find_package", cmake, "--build", project)
for program in ("shared", "static"):
    says_of_plans(f"linked with find_package, {program}", project / program)
linked = run("ldd", "ldd", project / "static")
expect("liblayline_runtime" not in linked, "the static program is static")
for folder in (project / "dirs.txt").read_text().split():
    expect(os.listdir(folder), f"{folder} has files")
# Another version is refused.
text = (HERE / "external" / "CMakeLists.txt").read_text()
newer = out / "newer"
newer.mkdir()
(newer / "CMakeLists.txt").write_text(text.replace("Layline 0.1", "Layline 0.2"))
shutil.copy(HERE / "external" / "external.c", newer)
said = run("another version", *configure, "-S", newer, "-B", out / "newer-build",
           fails=True)
expect("0.1" in said and "compatible" in said.lower(),
       "another version is refused for what it is", said[-500:])

# pkg-config
environment = {"PKG_CONFIG_PATH": str(lib / "pkgconfig")}
flags = run("pkg-config", "pkg-config", "--cflags", "--libs", "layline",
            "layline_kv", **environment).split()
program = out / "with-pkg-config"
run("build with pkg-config", c_compiler, HERE / "external" / "external.c", "-o",
    program, *flags)
says_of_plans("linked with pkg-config", program, LD_LIBRARY_PATH=str(lib))
expect(run("pkg-config version", "pkg-config", "--modversion", "layline",
           **environment).startswith("0.1"), "pkg-config knows the version")

# Python, without any variable but PYTHONPATH.
python = lib / "layline" / "python"
has_numpy = subprocess.run([sys.executable, "-c", "import numpy"],
                           capture_output=True).returncode == 0
if has_numpy:
    print(run("the Python module", sys.executable, HERE / "python_module.py", ROOT,
              plan, PYTHONPATH=str(python), PYTHONDONTWRITEBYTECODE="1").strip())
    run("the KV module", sys.executable, "-c",
        f"import layline_kv; layline_kv.Plan.load({str(kv_plan)!r})",
        PYTHONPATH=str(python), PYTHONDONTWRITEBYTECODE="1")
else:
    print("not run: the Python modules; this Python has no numpy")

# The tool, from where it lies.
tool = prefix / "bin" / "layline"
if "tool" in components or not components:
    golden = ROOT / "test" / "golden" / "llama"
    run("the installed tool compiles", tool, "compile", golden / "config.json",
        "--tp", 2, "--target", "cpu", "--tokens", "1:64", "-o", out / "plan")
    run("the installed tool runs", tool, "run", out / "plan", "--weights",
        golden / "model.safetensors", "--input", golden / "golden.safetensors",
        "--check", golden / "golden.safetensors")

print("package:", "wrong: " + ", ".join(wrong) if wrong else "all right")
sys.exit(1 if wrong else (0 if has_numpy else 77))
