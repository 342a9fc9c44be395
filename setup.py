"""Builds the C++ extension; everything else stands in pyproject.toml.

The extension is optional: without a compiler the installation succeeds, and the NumPy reference
runs in its place. The wheel then has the tag ``py3-none-any``, as there is nothing compiled in it.

Its source needs the vector extensions of GCC and Clang. On Windows clang-cl compiles it, with the
headers and the linker of Visual Studio; it comes with LLVM, and with Visual Studio as "C++ Clang
tools for Windows".

Environment variables, read at build time:

REJO_REQUIRE_EXTENSION=1
    Fail if the extension cannot be built. For those who build wheels.
REJO_NO_EXTENSION=1
    Leave the extension out.
REJO_SANITIZE=1
    Build it with AddressSanitizer and UndefinedBehaviorSanitizer (see ``make sanitize``).
"""

import hashlib
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError, CompileError

SOURCES = "src/rejo/solvers"
UNIX_FLAGS = [
    "-O3",
    "-g0",
    "-std=c++17",
    "-fno-math-errno",
    "-ffp-contract=fast",
    "-fvisibility=hidden",
    "-pthread",
]
SANITIZERS = ["-fsanitize=address,undefined"]
CLANG_CL_FLAGS = [
    "/O2",
    "/std:c++17",
    "/EHsc",
    "/clang:-O3",
    "/clang:-fno-math-errno",
    "/clang:-ffp-contract=fast",
]
CLANG_CL_TARGETS = {
    "win-amd64": "x86_64-pc-windows-msvc",
    "win-arm64": "aarch64-pc-windows-msvc",
    "win32": "i686-pc-windows-msvc",
}
NOT_BUILT = """
*******************************************************************************
  rejo: THE COMPILED SOLVER WAS NOT BUILT.
  {reason}
  rejo will run on NumPy, many times slower. Install GCC or Clang with C++17
  (on Windows: clang-cl), and build again. With REJO_REQUIRE_EXTENSION=1 a
  build without the compiled solver is an error.
*******************************************************************************
"""


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


def find_clang_cl(cl):
    """Return the path of clang-cl: on the path, beside Visual Studio's cl, or of LLVM; or None."""
    places = [Path(cl).parents[5] / "Llvm/x64/bin"] if len(Path(cl).parents) > 5 else []
    places += [Path(os.environ.get("PROGRAMFILES", "C:/Program Files"), "LLVM/bin")]
    return shutil.which("clang-cl") or next(
        (str(place / "clang-cl.exe") for place in places if (place / "clang-cl.exe").is_file()),
        None,
    )


class BuildExtension(build_ext):
    """Choose the compiler and its flags; say so if nothing was built."""

    def build_extensions(self):
        reason = "The compiler failed; its messages are above."
        try:
            msvc = self.compiler.compiler_type == "msvc"
            flags = self.clang_cl_flags() if msvc else self.unix_flags()
        except (BaseError, CCompilerError) as error:
            if enabled("REJO_REQUIRE_EXTENSION"):
                raise
            reason = str(error)
        else:
            for extension in self.extensions:
                extension.extra_compile_args, extension.extra_link_args = flags
            super().build_extensions()
        built = [ext for ext in self.extensions if Path(self.get_ext_fullpath(ext.name)).exists()]
        if len(built) < len(self.extensions):
            print(NOT_BUILT.format(reason=reason), file=sys.stderr, flush=True)
        if not built:
            self.leave_out()

    def build_extension(self, ext):
        try:
            super().build_extension(ext)
        except Exception:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)  # of an earlier build
            raise

    def leave_out(self):
        """Go on as with REJO_NO_EXTENSION: what has nothing compiled is for every system."""
        self.extensions = self.distribution.ext_modules = []
        if wheel := self.distribution.get_command_obj("bdist_wheel", create=False):
            wheel.root_is_pure = True

    def unix_flags(self):
        # GCC notes a change of vector argument passing that no public function here uses.
        compile_args = UNIX_FLAGS + ["-Wno-psabi"] * self.accepts("-Wno-psabi")
        if not enabled("REJO_SANITIZE"):
            return compile_args, ["-pthread"]
        # Line numbers, and no places of variables, which take as long as the code itself.
        compile_args += [*SANITIZERS, "-fno-omit-frame-pointer", "-g1", "-O1"]
        return compile_args, [*SANITIZERS, "-pthread"]

    def clang_cl_flags(self):
        """Put clang-cl in the place of cl: it has vector extensions, and takes the same words."""
        compiler = self.compiler
        if not compiler.initialized:
            compiler.initialize(self.plat_name)
        found = find_clang_cl(compiler.cc)
        if found is None:
            raise CompileError("clang-cl was not found, and MSVC's cl cannot compile the solver.")
        compiler.cc = found
        # Optimisation of the whole program is a matter between cl and its linker.
        compiler.compile_options = [flag for flag in compiler.compile_options if flag != "/GL"]
        return [*CLANG_CL_FLAGS, f"--target={CLANG_CL_TARGETS[self.plat_name]}"], []

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


def macos_target(of_python, machine):
    """Return the oldest macOS to compile for: that of this Python, or the first that can run it.

    Memory on a boundary (operator new with std::align_val_t) came with macOS 10.14, and arm64 with
    11; Pythons of python.org are for 10.9.
    """
    lowest = "11.0" if machine == "arm64" else "10.15"
    return max(of_python, lowest, key=lambda version: [*map(int, version.split("."))])


def extensions():
    """List the extension modules to build."""
    required = enabled("REJO_REQUIRE_EXTENSION")
    if enabled("REJO_NO_EXTENSION"):
        if required:
            raise SystemExit("REJO_NO_EXTENSION and REJO_REQUIRE_EXTENSION contradict each other")
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
            optional=not required,
        )
        for name in ("_embedded", "_svm", "_trees")
    ]


if __name__ == "__main__":
    if sys.platform == "darwin":
        of_python = str(sysconfig.get_config_var("MACOSX_DEPLOYMENT_TARGET") or "10.9")
        target = macos_target(of_python, platform.machine())
        os.environ.setdefault("MACOSX_DEPLOYMENT_TARGET", target)
    setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtension})
