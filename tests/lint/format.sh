#!/bin/sh
# format.sh: every C file is as the pinned formatter would write it.
. tests/lint/lib.sh
files '*.c' '*.h' | xargs clang-format-14 --dry-run --Werror --ferror-limit=3 2>&1
