"""Builds the C++ extension; everything else stands in pyproject.toml.

The extension is optional: without a compiler the installation succeeds, and the NumPy reference
runs in its place.

Environment variables, read at build time:

REJO_NO_EXTENSION=1
    Leave the extension out.
REJO_SANITIZE=1
    Build it with AddressSanitizer and UndefinedBehaviorSanitizer (see ``make sanitize``).
"""

import hashlib
import os
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

SOURCES = "src/rejo/solvers"
UNIX_FLAGS = [
    "-O3",
    "-g0",
    "-std=c++17",
    "-fno-math-errno",
    "-ffp-contract=fast",
    "-fvisibility=hidden",
]
SANITIZERS = ["-fsanitize=address,undefined"]
MSVC_FLAGS = ["/O2", "/std:c++17", "/EHsc"]


def enabled(name):
    """Return whether an environment variable is set to something other than 0."""
    return os.environ.get(name, "") not in ("", "0")


def digest(sources):
    """Name the contents of source files in 12 hexadecimal digits, whatever ends their lines."""
    found = hashlib.sha256()
    for path in sorted(map(Path, sources), key=lambda path: path.name):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        found.update(f"{path.name} {len(text)}\n".encode() + text)
    return found.hexdigest()[:12]


class BuildExtension(build_ext):
    """Choose the flags once the compiler is known."""

    def build_extensions(self):
        compile_args, link_args = MSVC_FLAGS, []
        if self.compiler.compiler_type != "msvc":
            # GCC notes a change of vector argument passing that no public function here uses.
            compile_args = UNIX_FLAGS + ["-Wno-psabi"] * self.accepts("-Wno-psabi")
            if enabled("REJO_SANITIZE"):
                # Line numbers, and no places of variables, which take as long as the code itself.
                compile_args = [*compile_args, *SANITIZERS, "-fno-omit-frame-pointer", "-g1", "-O1"]
                link_args = SANITIZERS
        for extension in self.extensions:
            extension.extra_compile_args = compile_args
            extension.extra_link_args = link_args
        super().build_extensions()

    def accepts(self, flag):
        """Return whether the compiler takes a flag without complaint."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.cpp")
            source.write_text("int main() { return 0; }\n")
            try:
                self.compiler.compile(
                    [str(source)], output_dir=folder, extra_postargs=["-Werror", flag]
                )
            except CompileError:
                return False
        return True


def extensions():
    """List the extension modules to build."""
    if enabled("REJO_NO_EXTENSION"):
        return []
    import pybind11

    sources = [*Path(SOURCES).glob("*.cpp"), *Path(SOURCES).glob("*.hpp")]
    return [
        Extension(
            f"rejo.solvers.{name}",
            sources=[f"{SOURCES}/{name}.cpp"],
            depends=sorted(map(str, sources)),  # all of them: each extension has the digest
            define_macros=[("REJO_SOURCES", digest(sources))],
            include_dirs=[pybind11.get_include(), SOURCES],
            language="c++",
            optional=True,
        )
        for name in ("_embedded", "_svm", "_trees")
    ]


if __name__ == "__main__":
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtension})
