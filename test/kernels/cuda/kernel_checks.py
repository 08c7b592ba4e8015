"""What is demanded of compiled kernels, read from PTX text and ptxas' log.

The log says registers, stack and spills of each kernel; the PTX says which
memory operations it is made of. Both are written beside each fat binary by
cmake/LaylineCuda.cmake.
"""
import re

#: Architectures of cmake/LaylineCuda.cmake, as files name them.
ARCHITECTURES = ["90", "90a", "100", "100a"]

#: Registers a thread may have: two blocks of 256 threads, or one of 512, on a
#: multiprocessor with 65,536.
MOST_REGISTERS = 128

V4 = r"\.v4\.(?:u32|b32|f32)"
FORMS = {
    "release": r"\bst\.release\.sys\.global\.u32",
    "acquire": r"\bld\.acquire\.sys\.global\.u32",
    "vector load": r"\bld\.global(?:\.\w+)*" + V4,
    "vector store": r"\bst\.global(?:\.\w+)*" + V4,
    "relaxed vector load": r"\bld\.relaxed\.sys\.global" + V4,
    "relaxed vector store": r"\bst\.relaxed\.sys\.global" + V4,
    "system fence": r"\bfence\.acq_rel\.sys",
    "switch sum": r"\bmultimem\.ld_reduce\.relaxed\.sys\.global\.add",
    "switch store": r"\bmultimem\.st\.relaxed\.sys\.global" + V4,
    "switch store of 8 bytes": r"\bmultimem\.st\.relaxed\.sys\.global\.u64",
    "switch store of 4 bytes": r"\bmultimem\.st\.relaxed\.sys\.global\.u32",
    "any switch store": r"\bmultimem\.st\b",
    "wait for the launch before": r"\bgriddepcontrol\.wait",
    "let the next launch begin": r"\bgriddepcontrol\.launch_dependents",
    "double": r"\.f64\b",
}

#: Never, in any kernel. A flag of gpu scope is not seen by another card; a
#: volatile access orders nothing. Words that only the own card looks at, and no
#: data hangs on, may be of gpu scope: what atom_cas_relaxed_gpu,
#: ld_relaxed_gpu and the count of blocks (atom.acq_rel.gpu) are for.
FORBIDDEN = {
    "a flag released at gpu scope": r"\b(?:st|red)\.release\.(?:gpu|cta|cluster)",
    "a flag acquired at gpu scope": r"\bld\.acquire\.(?:gpu|cta|cluster)",
    "a relaxed store at gpu scope": r"\b(?:st|red)\.relaxed\.(?:gpu|cta|cluster)",
    "a volatile access": r"\b(?:ld|st)\.volatile",
    "a fence of old": r"\bmembar\.",
    "memory on the stack": r"\.local\b",
}


class Rule:
    """Kernels whose symbol matches have these forms and not those. Several may
    match: all count, of the budgets the smallest."""

    def __init__(self, symbol, required=(), absent=(), registers=MOST_REGISTERS):
        self.symbol = re.compile(symbol)
        self.required = required
        self.absent = absent
        self.registers = registers


def entries(ptx):
    """Text of each kernel by its symbol."""
    found = {}
    for match in re.finditer(r"^\.visible \.entry (\w+)\(.*?^\}", ptx,
                             re.MULTILINE | re.DOTALL):
        found[match.group(1)] = match.group(0)
    return found


def resources(log):
    """[(symbol, architecture, registers, stack, spills)] of what ptxas said."""
    found, symbol, arch, stack, spills = [], None, None, None, None
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)' for 'sm_(\w+)'",
                              line):
            symbol, arch = match.groups()
            stack = spills = None
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill "
                                r"stores, (\d+) bytes spill loads", line):
            # The last before the registers is the kernel's; those of functions
            # that it calls come first, and count as well.
            stack = (stack or 0) + int(match.group(1))
            spills = (spills or 0) + int(match.group(2)) + int(match.group(3))
        elif (match := re.search(r"Used (\d+) registers", line)) and symbol:
            found.append((symbol, arch, int(match.group(1)), stack, spills))
            symbol = None
    return found


def check_resources(log, rules, where):
    findings = []
    seen = resources(log)
    if not seen:
        return [f"{where}: ptxas says nothing of any kernel"]
    for symbol, arch, registers, stack, spills in seen:
        name = f"{where}, {symbol}, sm_{arch}"
        if stack is None:
            findings.append(f"{name}: ptxas does not say what stack it has")
            continue
        if stack:
            findings.append(f"{name}: {stack} bytes of stack; none is expected")
        if spills:
            findings.append(f"{name}: {spills} bytes are spilled; none is expected")
        most = min((r.registers for r in rules if r.symbol.search(symbol)),
                   default=MOST_REGISTERS)
        if registers > most:
            findings.append(f"{name}: {registers} registers; at most {most} are "
                            "expected")
    return findings


def check_ptx(ptx, rules, where):
    findings = []
    found = entries(ptx)
    if not found:
        return [f"{where}: no kernel"]
    for symbol, text in found.items():
        for what, form in FORBIDDEN.items():
            if match := re.search(form, text):
                findings.append(f"{where}, {symbol}: {what}: {match.group(0)}")
        ruled = [r for r in rules if r.symbol.search(symbol)]
        if not ruled:
            findings.append(f"{where}, {symbol}: no rule says what it is made of")
        for rule in ruled:
            for form in rule.required:
                if not re.search(FORMS[form], text):
                    findings.append(f"{where}, {symbol}: no {form} "
                                    f"({FORMS[form]})")
            for form in rule.absent:
                if match := re.search(FORMS[form], text):
                    findings.append(f"{where}, {symbol}: {form}: {match.group(0)}")
    return findings
