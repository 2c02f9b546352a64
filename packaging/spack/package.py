# The recipe of Sluice for Spack: copy this folder to packages/sluice of a repository of recipes.
from spack.package import *


class Sluice(CMakePackage):
    """Parallel I/O for arrays larger than memory: sections, collective two-phase I/O, layouts, traces, MPI-IO."""

    git = "https://example.org/sluice.git"
    maintainers = []
    license("BSD-3-Clause")

    version("main", branch="main")

    variant("uring", default=True, description="Many cold reads in flight, by io_uring")

    depends_on("c", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3.1:")
    depends_on("jansson")
    depends_on("liburing", when="+uring")

    # What is built but not installed: tests, fuzzers, benches and examples.
    build_targets = ["installed"]

    def cmake_args(self):
        return [self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc)]
