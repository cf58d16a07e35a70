#!/usr/bin/python3
"""What is installed is enough: an example compiled by pkg-config's flags against a fresh installation runs.

    install_test.py MESON BUILD_FOLDER EXAMPLE.cpp...
"""
import os
import pathlib
import subprocess
import sys
import tempfile

MESON, BUILD, *EXAMPLES = sys.argv[1:]
NO_MODULE = "has no GPU module"
# Meson's tests find the libraries of the build tree before those that were installed.
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": ":".join(
    folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder and not folder.startswith(BUILD))}


def run(*command, **environment):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**ENVIRONMENT, **environment}).stdout


def said_by(command):
    """Whether or not there is a GPU."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT,
                          text=True).stdout


def main():
    with tempfile.TemporaryDirectory(prefix="neon-install-") as root:
        subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--destdir", root], check=True,
                       stdout=subprocess.DEVNULL)
        (found,) = pathlib.Path(root).rglob("neon.pc")
        finding = {"PKG_CONFIG_PATH": str(found.parent)}
        prefix = "--define-variable=prefix=" + str(next(pathlib.Path(root).rglob("bin/neon")).parent.parent)
        flags = run("pkg-config", prefix, "--cflags", "--libs", "neon", **finding).split()
        # Nothing but what was installed: not the tree that the library was built from.
        if not all(flag.startswith(("-I" + root, "-L" + root, "-Wl,-rpath," + root, "-l")) for flag in flags):
            sys.exit(f"flags that lead out of the installation: {flags}")
        passed = 0
        for example in EXAMPLES:
            program = os.path.join(root, pathlib.Path(example).stem)
            run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", example, "-o", program, *flags)
            run(program)  # which finds the library by itself
            passed += 1
        neon = str(next(pathlib.Path(root).rglob("bin/neon")))
        for module in pathlib.Path(root).rglob("libneon_cuda.so"):
            for program in [neon, "doctor"], [os.path.join(root, pathlib.Path(EXAMPLES[0]).stem), "gpu"]:
                if NO_MODULE in said_by(program):
                    sys.exit(f"{program} does not find {module}")
                module.rename(module.with_suffix(".away"))
                if NO_MODULE not in said_by(program):
                    sys.exit(f"{program} finds a module that is not of its installation")
                module.with_suffix(".away").rename(module)
                passed += 1
        for form in "man1/neon.1", "bash-completion/completions/neon", "site-functions/_neon", "vendor_completions.d/neon.fish":
            texts = [path.read_text() for path in pathlib.Path(root).rglob("*") if str(path).endswith("/" + form)]
            if len(texts) != 1 or "predict" not in texts[0]:
                sys.exit(f"{form}: installed {len(texts)} times, or without the verbs")
            passed += 1
        version = run("pkg-config", "--modversion", "neon", **finding).strip()
        said = run(neon, "--version").strip()
        if said != "neon " + version:
            sys.exit(f"pkg-config says {version}, the program {said}")
    print(f"{passed + 1} passed, 0 failed")


if __name__ == "__main__":
    main()
