#!/bin/sh
# storm.sh: kills a rank of four at twenty moments drawn from SEED (default 1), and resumes the job
# each time; then on 4, 2, 1 and 4 ranks. Says, for each, how long the job took to end and what was
# saved. Usage: sh tests/bench/storm.sh [SEED]
set -e
cd "$(dirname "$0")/../.."
make build/release/hpccoder build/release/tests/cmd/train_storm
HPC_TEST_LONG=1 HPC_TEST_SEED=${1:-1} build/release/tests/cmd/train_storm
