"""Builds the programs of this directory in the ways that lay out DWARF differently.

In: a directory to build in. Out: `build(dir, say)` yields (name, path of a finished program); a missing tool is said.
Never: leaves anything beside the sources, or fetches.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import model as M

HERE = os.path.dirname(os.path.abspath(__file__))
ARANGES = ("-gdwarf-aranges",)          # clang leaves them out, and elfutils finds units by nothing else
LLD = ("-fuse-ld=lld", "-Wl,--gc-sections")

# name: (compiler, its options, what is done to the program afterwards)
WAYS = {
    "gcc-O2": ("g++", ("-O2",), None),
    "gcc-O0": ("g++", ("-O0",), None),
    "gcc-dwarf4-gc": ("g++", ("-O2", "-gdwarf-4", "-ffunction-sections", "-Wl,--gc-sections"), None),
    "gcc-lto": ("g++", ("-O2", "-flto"), None),
    "gcc-split": ("g++", ("-O2", "-gsplit-dwarf"), None),
    "gcc-split4": ("g++", ("-O2", "-gdwarf-4", "-gsplit-dwarf"), None),
    "gcc-dwp": ("g++", ("-O2", "-gsplit-dwarf"), "pack"),
    "gcc-zlib": ("g++", ("-O2", "-gz=zlib"), None),
    "gcc-zstd": ("g++", ("-O2",), "zstd"),
    "gcc-dwz": ("g++", ("-O2",), "dwz"),
    "gcc-debuglink": ("g++", ("-O2",), "debuglink"),
    "gcc-g1": ("g++", ("-O2", "-g1"), None),
    "clang-O2": ("clang++", (*ARANGES, "-O2"), None),
    "clang-dwarf4": ("clang++", ("-O2", "-gdwarf-4"), None),
    "clang-icf": ("clang++", (*ARANGES, "-O2", "-ffunction-sections", "-fdata-sections", *LLD, "-Wl,--icf=all"), None),
    "clang-lto": ("clang++", (*ARANGES, "-O2", "-flto", *LLD), None),
    "clang-split": ("clang++", (*ARANGES, "-O2", "-gdwarf-5", "-gsplit-dwarf"), None),
    "clang-split4": ("clang++", (*ARANGES, "-O2", "-gdwarf-4", "-gsplit-dwarf"), None),
    "clang-dwp": ("clang++", (*ARANGES, "-O2", "-gdwarf-5", "-gsplit-dwarf"), "pack"),
    "clang-gmlt": ("clang++", (*ARANGES, "-O2", "-gline-tables-only"), None),
    "clang-dwz": ("clang++", ("-O2", "-gdwarf-4"), "dwz"),
    "rust-lto": ("rustc", ("-Clto=fat",), None),
    "rust-split": ("rustc", ("-Csplit-debuginfo=unpacked", "-Zunstable-options"), None),
    "rust-packed": ("rustc", ("-Csplit-debuginfo=packed",), None),
}


def run(where, *command):
    done = subprocess.run(command, cwd=where, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")


def tool(name):
    found = shutil.which(M.llvm(name)) or shutil.which(name)
    if not found:
        raise RuntimeError(f"{name} is not installed")
    return found


def compile_one(where, compiler, options):
    out = os.path.join(where, "program")
    if compiler == "rustc":
        options = [o for o in options if not o.startswith("-Z")]
        run(where, tool(compiler), "--edition=2021", "-Copt-level=3", "-Cdebuginfo=2", *options, "-o", out, os.path.join(HERE, "chains.rs"))
        return out
    objects = []
    for source in ("program.cpp", "library.cpp"):
        shutil.copy(os.path.join(HERE, source), where)
        objects.append(source[:-4] + ".o")
        run(where, tool(compiler), "-std=c++17", "-g", *[o for o in options if not o.startswith(("-Wl,", "-fuse"))], "-I", HERE, "-c", source, "-o", objects[-1])
    run(where, tool(compiler), "-g", *options, *objects, "-pthread", "-o", out)
    return out


def pack(where, out):
    run(where, tool("llvm-dwp"), "-e", out, "-o", out + ".dwp")
    for name in os.listdir(where):
        if name.endswith(".dwo"):
            os.remove(os.path.join(where, name))


def zstd(where, out):
    run(where, tool("llvm-objcopy"), "--compress-debug-sections=zstd", out)


def dwz(where, out):
    shutil.copy(out, out + "2")
    run(where, tool("dwz"), "-m", os.path.join(where, "common.debug"), "-M", "common.debug", out, out + "2")


def debuglink(where, out):
    run(where, tool("objcopy"), "--only-keep-debug", out, out + ".debug")
    run(where, tool("strip"), out)
    run(where, tool("objcopy"), "--add-gnu-debuglink=" + out + ".debug", out)


AFTER = {"pack": pack, "zstd": zstd, "dwz": dwz, "debuglink": debuglink}


def build(base, say, only=()):
    for name, (compiler, options, after) in WAYS.items():
        if only and name not in only:
            continue
        where = os.path.join(base, name)
        os.makedirs(where)
        try:
            out = compile_one(where, compiler, options)
            if after:
                AFTER[after](where, out)
            run(where, out)
        except RuntimeError as error:
            say(f"SKIPPED {name}: {error}")
            continue
        yield name, out


if __name__ == "__main__":
    for name, out in build(sys.argv[1], print, sys.argv[2:]):
        print(name, out, os.path.getsize(out))
