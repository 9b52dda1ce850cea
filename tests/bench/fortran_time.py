#!/usr/bin/env python3
"""fortran_time.py: CPU time of `hpccoder pragma` on Fortran files beside `flang -fsyntax-only`.

flang reads each file once, in the order of the modules, into a folder of module files; a module
mpi is written for it if no file defines one. hpccoder gets the same files in one run. The two
alternate, and the smallest time of each counts. Files that flang refuses are counted too.
"""

import argparse
import os
import re
import resource
import subprocess
import tempfile

MPI = """module mpi
  integer, parameter :: mpi_comm_world = 0, mpi_success = 0, mpi_status_size = 6
  integer, parameter :: mpi_integer = 1, mpi_double_precision = 2, mpi_logical = 3, mpi_real = 4
  integer, parameter :: mpi_character = 5, mpi_double_complex = 6, mpi_sum = 1, mpi_max = 2
  integer, parameter :: mpi_min = 3, mpi_request_null = 0, mpi_any_source = -1, mpi_any_tag = -2
  integer, parameter :: mpi_comm_null = 1, mpi_proc_null = -3, mpi_thread_serialized = 2
  integer, parameter :: mpi_thread_multiple = 3, mpi_thread_single = 0, mpi_thread_funneled = 1
  integer, parameter :: mpi_offset_kind = 8, mpi_address_kind = 8, mpi_undefined = -4
  integer :: mpi_status_ignore(6), mpi_statuses_ignore(6, 1), mpi_in_place
  double precision, external :: mpi_wtime
end module
"""


def names(path, keyword):
    text = open(path, errors="replace").read()
    found = re.findall(r"^\s*%s\b[\s,\w:]*?(?:::)?\s*(\w+)\s*(?:,|$|!)" % keyword, text, re.I | re.M)
    return [name.lower() for name in found if name.lower() != "procedure"]


def in_order(paths):
    """The files, each after those whose modules it uses."""
    source = {m: path for path in paths for m in names(path, "module")}
    out, seen = [], set()

    def add(path):
        if path in seen:
            return
        seen.add(path)
        for name in names(path, "use"):
            if name in source:
                add(source[name])
        out.append(path)

    for path in paths:
        add(path)
    return out, source


def cpu_of(commands, **options):
    """CPU seconds of commands that run one after another, and how many of them failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    failed = 0
    for command in commands:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        failed += done.returncode != 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, failed


def flang(program, paths, flags):
    paths, source = in_order(paths)
    with tempfile.TemporaryDirectory() as folder:
        modules = ["-module-dir", folder, "-I", folder]
        if "mpi" not in source:
            stub = os.path.join(folder, "mpi.f90")
            open(stub, "w").write(MPI)
            cpu_of([[program, "-fsyntax-only", *modules, stub]])
        return cpu_of([program, "-fsyntax-only", *modules, *flags, path] for path in paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hpccoder", default="build/release/hpccoder")
    parser.add_argument("--flang", default="flang-new-19")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flags", default="-fopenmp", help="for both")
    parser.add_argument("files", nargs="+")
    o = parser.parse_args()
    flags = o.flags.split()
    ours = [o.hpccoder, "pragma", "-q", "-j1", "--json", *o.files, "--", *flags]
    best = [1e9, 1e9]
    for _ in range(o.rounds):
        theirs, failed = flang(o.flang, o.files, flags)
        best = [min(best[0], theirs), min(best[1], cpu_of([ours])[0])]
    print("%d files: flang %.2f s (%d refused), hpccoder %.2f s of CPU: %.2f times"
          % (len(o.files), best[0], failed, best[1], best[1] / best[0]))


main()
