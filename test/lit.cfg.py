import os

import lit.formats
from lit.llvm import llvm_config

config.name = "Layline"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "golden", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.layline_obj_root, "test")

llvm_config.use_default_substitutions()  # FileCheck, not, count
# At the start of a line `not` is no substitution: the shell has to find it.
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.add_tool_substitutions(
    ["layline", "layline-opt", "layline-translate", "split-file"],
    [os.path.join(config.layline_obj_root, "bin"), config.llvm_tools_dir],
)
config.substitutions += [
    ("%golden", os.path.join(config.layline_src_root, "test", "golden")),
    ("%models", os.path.join(config.layline_src_root, "data", "models")),
    ("%examples", os.path.join(config.layline_src_root, "examples")),
    ("%shared", config.layline_shared),
]

# Data too large for the repository; `REQUIRES: shared` shows up as UNSUPPORTED
# where it is missing.
if os.path.isdir(config.layline_shared):
    config.available_features.add("shared")
