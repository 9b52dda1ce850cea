"""byte_level.py FILE TOKENIZER.JSON: our encoder beside the `tokenizers` package, one thread each.

Alternating, medians of RUNS (5). The package is measured the two ways in which it is used, the
whole text at once and by lines in a batch, and the faster counts; loading is in neither time. Ours
is the command, whose start and loading are in its time; a run on an empty file is subtracted.
Also says whether the ids are equal.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402

program = os.environ.get("HPCCODER", "build/release/hpccoder")
runs = int(os.environ.get("RUNS", "5"))
path, model = sys.argv[1], sys.argv[2]
text = open(path, encoding="utf-8", newline="").read()
lines = text.splitlines(keepends=True)
theirs = tokenizers.Tokenizer.from_file(model)


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def ours(file, *more):
    command = [program, "tokenizer", "encode", file, "--model", model, "--threads", "1", "--specials"]
    return subprocess.run(command + list(more), check=True, capture_output=True).stdout


with tempfile.NamedTemporaryFile() as empty:
    table = {"ours": [], "whole": [], "batch": []}
    for _ in range(runs):
        start, _unused = timed(lambda: ours(empty.name, "--count"))
        seconds, _unused = timed(lambda: ours(path, "--count"))
        table["ours"].append(seconds - start)
        table["whole"].append(timed(lambda: theirs.encode(text, add_special_tokens=False))[0])
        table["batch"].append(
            timed(lambda: theirs.encode_batch_fast(lines, add_special_tokens=False))[0]
        )
size = len(text.encode()) / 1e6
median = {name: statistics.median(values) for name, values in table.items()}
for name, seconds in median.items():
    print(f"{name:6s} {seconds:8.3f} s  {size / seconds:7.1f} MB/s")
best = min(median["whole"], median["batch"])
print(f"ours over the faster of theirs: {best / median['ours']:.2f}")
ids = [int(word) for word in ours(path).split()]
equal = ids == theirs.encode(text, add_special_tokens=False).ids
print("ids equal:", equal)
sys.exit(0 if equal else 1)
