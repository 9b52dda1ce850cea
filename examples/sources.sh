#!/bin/sh
# sources.sh DIR: make DIR, a git repository of some of this program's own sources. The examples of
# the documentation harvest it and train a small model on it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: sources.sh DIR}
mkdir "$dir"
cd "$dir"
cp -r "$root/LICENSE" "$root/infer" "$root/train" "$root/tokenizer" .
git init -q -b main
git add -A
git -c user.name="A Developer" -c user.email=developer@example.org -c commit.gpgsign=false \
    commit -q -m "Add the sources"
