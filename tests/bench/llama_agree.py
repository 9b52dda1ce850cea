#!/usr/bin/env python3
"""llama_agree.py TEXT MODEL.gguf... -- compare the next-token distributions of hpccoder and llama.cpp.

Both programs read the first --tokens tokens of TEXT (llama.cpp's token ids) and compute the logits at each of them.
Prints for each model: the share of positions at which both have the same most likely token, the mean KL divergence
of hpccoder's distribution from llama.cpp's in nats, and the cross-entropy of both per token. With --speed also the
tokens per second of a prompt of 512 and of single tokens, in --turns turns, and the median ratio (hpccoder / llama.cpp).

Exit status 1 if a share is below --least (f16 files: --least-half; with bf16, llama.cpp rounds activations). SKIP with
status 0 if llama.cpp or numpy is not there. llama.cpp is what llama_decode.py says. Run from the top of the tree after `make`.
"""
import argparse, ctypes, os, pathlib, re, statistics, struct, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
MODULES = "model program link device tokenizer base".split()
STEP, PROMPT = 128, 512


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("text")
    p.add_argument("models", nargs="+")
    p.add_argument("--tokens", type=int, default=2000)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--least", type=float, default=0.97)
    p.add_argument("--least-half", type=float, default=0.995)
    p.add_argument("--speed", action="store_true")
    p.add_argument("--no-agreement", action="store_true")
    p.add_argument("--single", type=int, default=48, help="single tokens of --speed")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--ours", help="file that hpccoder reads in place of each MODEL, such as its exact f32 values")
    p.add_argument("--theirs", help="the same for llama.cpp")
    p.add_argument("--no-repack", action="store_true", help="llama.cpp reads weights as they are in the file")
    p.add_argument("--library")
    p.add_argument("--build", default="build/release")
    return p.parse_args()


class Llama:
    """A model in llama.cpp with its default settings, except for the lengths."""

    def __init__(self, o, model):
        import llama_decode

        c = self.c = llama_decode.library(o.library)
        pointer, whole = ctypes.c_void_p, ctypes.c_int32
        for name, result, takes in [
            ("llama_model_get_vocab", pointer, [pointer]),
            ("llama_vocab_n_tokens", whole, [pointer]),
            ("llama_tokenize", whole, [pointer, ctypes.c_char_p, whole, pointer, whole, ctypes.c_bool, ctypes.c_bool]),
            ("llama_get_logits", ctypes.POINTER(ctypes.c_float), [pointer]),
            ("llama_free", None, [pointer]),
            ("llama_model_free", None, [pointer]),
        ]:
            getattr(c, name).restype, getattr(c, name).argtypes = result, takes
        how = c.llama_model_default_params()
        if o.no_repack:  # the flags: vocab_only, check_tensors, use_extra_bufts, and so on
            at = how.at(bytes(8) + bytes([0, 0, 1, 0, 0]))
            how.byte[at + 10] = 0
        self.model = c.llama_model_load_from_file(model.encode(), how)
        if not self.model:
            sys.exit(f"{model}: llama.cpp does not load it")
        params = c.llama_context_default_params()
        params.put(params.at(struct.pack("4I", 512, 2048, 512, 1)), o.tokens + 64, PROMPT, PROMPT, 1)
        self.context = c.llama_init_from_model(self.model, params)
        c.llama_set_n_threads(self.context, o.threads, o.threads)
        self.vocab = c.llama_model_get_vocab(self.model)
        self.n = c.llama_vocab_n_tokens(self.vocab)

    def tokens(self, text, most):
        ids = (ctypes.c_int32 * (len(text) + 16))()
        n = self.c.llama_tokenize(self.vocab, text, len(text), ids, len(ids), True, False)
        return list(ids[:n])[:most]

    def decode(self, ids, all_logits):
        array = (ctypes.c_int32 * len(ids))(*ids)
        wanted = (ctypes.c_int8 * len(ids))(*[1] * len(ids))
        batch = self.c.llama_batch_get_one(ctypes.cast(array, ctypes.c_void_p), len(ids))
        if all_logits:
            batch.logits = ctypes.cast(wanted, ctypes.c_void_p)
        if self.c.llama_decode(self.context, batch):
            sys.exit("llama_decode failed")
        self.c.llama_synchronize(self.context)
        return self.c.llama_get_logits(self.context)

    def clear(self):
        self.c.llama_memory_clear(self.c.llama_get_memory(self.context), True)

    def close(self):
        self.c.llama_free(self.context)
        self.c.llama_model_free(self.model)


def normalize(x):
    """Logits less the largest, their exponentials, and the logarithm of the sum of these, for each row."""
    import numpy

    x = x - x.max(axis=1, keepdims=True)
    e = numpy.exp(x)
    return x, e, numpy.log(e.sum(axis=1, dtype=numpy.float64))


def compare(o, program, model, llama, ids, path):
    """Sums over all positions: same choice, divergence, both cross-entropies of the next token."""
    import numpy

    ours = subprocess.Popen([program, model, path, str(o.threads)], stdout=subprocess.PIPE)
    same, divergence, loss = 0, 0.0, [0.0, 0.0]
    for at in range(0, len(ids), STEP):
        some = ids[at : at + STEP]
        size = len(some) * llama.n
        theirs = numpy.ctypeslib.as_array(llama.decode(some, True), (size,)).reshape(len(some), -1)
        data = ours.stdout.read(size * 4)
        if len(data) != size * 4:
            sys.exit(f"{model}: hpccoder's side ended")
        mine = numpy.frombuffer(data, numpy.float32).reshape(len(some), -1)
        same += int((mine.argmax(axis=1) == theirs.argmax(axis=1)).sum())
        (x, _, log_x), (y, e, log_y) = normalize(mine), normalize(theirs)
        expected = numpy.einsum("ij,ij->i", e, y - x) / numpy.exp(log_y)
        divergence += float((expected - log_y + log_x).sum())
        following = ids[at + 1 : at + STEP + 1]
        rows = numpy.arange(len(following))
        for k, (logits, log_sum) in enumerate(((x, log_x), (y, log_y))):
            loss[k] += float((log_sum[rows] - logits[rows, following]).sum())
    ours.stdout.close()
    if ours.wait():
        sys.exit(f"{model}: hpccoder's side failed")
    return same / len(ids), divergence / len(ids), loss[0] / (len(ids) - 1), loss[1] / (len(ids) - 1)


def speed(o, program, model, llama, ids, folder):
    """Tokens per second, prompt and single: medians of ours, of llama.cpp's, and of the ratios of turns."""
    ids = ids[: PROMPT + o.single]
    path = pathlib.Path(folder, "timed")
    path.write_bytes(struct.pack(f"{len(ids)}i", *ids))
    turns = []
    for _ in range(o.turns):
        words = [program, model, str(path), str(o.threads), str(o.single)]
        mine = [float(x) for x in subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.split()]
        llama.clear()
        llama.decode(ids[:STEP], False)
        llama.clear()
        start = time.monotonic()
        llama.decode(ids[:PROMPT], False)
        middle = time.monotonic()
        for token in ids[PROMPT:]:
            llama.decode([token], False)
        theirs = [PROMPT / (middle - start), o.single / (time.monotonic() - middle)]
        turns.append((mine, theirs))
    return [
        (
            statistics.median(m[k] for m, _ in turns),
            statistics.median(t[k] for _, t in turns),
            statistics.median(m[k] / t[k] for m, t in turns),
        )
        for k in range(2)
    ]


def build(o, folder):
    program = os.path.join(folder, "logits")
    words = [os.environ.get("CC", "gcc"), "-std=c11", "-O2", "-D_GNU_SOURCE", "-I.", "-I" + o.build, "-pthread"]
    words += ["tests/bench/agree/logits.c", "-o", program, "-Wl,--start-group"]
    words += [f"{o.build}/libhpc-{module}.a" for module in MODULES]
    words += ["-Wl,--end-group", "-ljansson", "-lzstd", "-lpcre2-8", "-lutf8proc", "-lm", "-ldl"]
    subprocess.run(words, check=True)
    return program


def one(o, program, model, folder):
    llama = Llama(o, o.theirs or model)
    ids = llama.tokens(pathlib.Path(o.text).read_bytes(), o.tokens)
    path = pathlib.Path(folder, "tokens")
    path.write_bytes(struct.pack(f"{len(ids)}i", *ids))
    line, good = f"{pathlib.Path(model).name:32}", True
    if not o.no_agreement:
        same, divergence, ours, theirs = compare(o, program, o.ours or model, llama, ids, str(path))
        name = pathlib.Path(model).name
        good = same >= (o.least_half if re.search(r"\bf16", name) else o.least)
        line += f" {100 * same:6.2f} %  KL {divergence:.6f}  loss {ours:.4f} / {theirs:.4f}"
        line += "" if good else "  BELOW"
    if o.speed:
        for word, (mine, others, ratio) in zip(("prompt", "single"), speed(o, program, o.ours or model, llama, ids, folder)):
            line += f"  {word} {mine:.0f} / {others:.0f} = {ratio:.2f}"
    print(line, flush=True)
    llama.close()
    return good


def main():
    o = options()
    try:
        import numpy  # noqa: F401
        import llama_decode

        llama_decode.library(o.library)
    except (ImportError, OSError, SystemExit) as e:
        print(f"SKIP: {e}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        program = build(o, folder)
        results = [one(o, program, model, folder) for model in o.models]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
