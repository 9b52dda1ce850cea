#!/bin/sh
# fortran_equal.sh HPCCODER: what --fix writes into tests/pragma/fortran compiles with gfortran, and
# drive.f90 gives the results of the serial program on 1, 2 and 4 threads.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp tests/pragma/fortran/*.f90 tests/pragma/fortran/*.f "$folder"
program=$(realpath "$1")
cd "$folder"
sources='fill.f90 drive.f90 scalars.f90 affine.f90'
gfortran -O1 $sources -o serial
./serial >serial.out
"$program" pragma --fix -q *.f90 *.f >directives
for file in *.f90 *.f; do gfortran -w -fopenmp -c "$file" -o "$file.o"; done
gfortran -O1 -fopenmp $sources -o parallel
for threads in 1 2 4; do
    OMP_NUM_THREADS=$threads ./parallel >parallel.out
    cmp serial.out parallel.out
done
[ "$(wc -l <directives)" -ge 30 ]
