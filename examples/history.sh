#!/bin/sh
# history.sh DIR: make DIR, a git repository of twelve commits to a small heat-conduction program.
# The examples of the documentation measure and predict them. One commit makes the program slower,
# a later one makes it faster. Commit ids are the same on every machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: history.sh DIR}
mkdir "$dir"
cd "$dir"
git init -q -b main
git config user.name "A Developer"
git config user.email developer@example.org
git config commit.gpgsign false
day=10

commit() { # SUBJECT: commit everything, a day after the commit before
    git add -A
    GIT_AUTHOR_DATE="2026-11-${day}T12:00:00Z" GIT_COMMITTER_DATE="2026-11-${day}T12:00:00Z" \
        git commit -q -m "$1"
    day=$((day + 1))
}

edit() { # SUBJECT SED-COMMAND: change heat.c and commit
    sed -i "$2" heat.c
    commit "$1"
}

cp "$here/heat.c" heat.c
cp "$here/../LICENSE" LICENSE
printf 'heat: heat.c\n\tcc -O2 -g heat.c -o heat -lm\n' >Makefile
commit "Add the heat solver"
edit "Print a comma after the steps" 's/"%d steps: last/"%d steps, last/'
edit "Mark scale as inline" 's/^static void scale(/static inline void scale(/'
edit "Name the default number of steps" 's/^enum { N = 400 };/enum { N = 400, STEPS = 20 };/; s/: 20;/: STEPS;/'
edit "Rename kelvin" 's/kelvin/scaled/g'
edit "Let the weight depend on the position" \
    's/0\.25 \* (\(.*\));/(\1) \/ sqrt(16.0 + 1e-9 * i * j);/'
edit "Print seven digits" 's/%\.6f/%.7f/'
edit "Say which row is summed" 's/heat of row 1 /heat of the first row /'
edit "Describe the edge" 's|^    for (int j = 0; j < N; j++) {|    /* the upper edge is hot */\n&|'
edit "Return to the constant weight" 's|(\(.*\)) / sqrt(16.0 + 1e-9 \* i \* j);|0.25 * (\1);|'
edit "Accept a negative number of steps" 's/s < steps;/s < abs(steps);/'
edit "Rename change" 's/double change = 0;/double last = 0;/; s/ change = largest/ last = largest/; s/steps, change,/steps, last,/'
