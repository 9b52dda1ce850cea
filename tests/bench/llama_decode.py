#!/usr/bin/env python3
"""llama_decode.py [options] -- a prompt and single tokens by hpccoder and by llama.cpp, in turns on the same machine.

The same model: `hpccoder bench decode --save` writes the numbers that it draws as the GGUF that llama.cpp reads, and
a cache of bf16 has as many bytes as llama.cpp's f16. llama.cpp is a shared library that has its C interface: --library PATH
(libllama.so), or what PyPI's xllamacpp brings (`pip install xllamacpp`; run this with that interpreter, or
name it by --python). It decides for itself about flash attention and about repacking weights. Prints medians
of tokens a second and their ratio; above 1 hpccoder is faster.
"""
import argparse, ctypes, importlib.util, json, os, pathlib, random, statistics, struct, subprocess, sys, tempfile, time


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shape", choices=["134m", "1.1b", "5m"], default="134m")
    p.add_argument("--weights", default="q8_0", help="bf16, f16, f32, q8_0, q4_0 or q4_K")
    p.add_argument("--prompt", type=int, default=512)
    p.add_argument("--tokens", type=int, default=128)
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--isa", default="", help="hpccoder's, to be held to what the library was built for")
    p.add_argument("--library")
    p.add_argument("--model", help="a file to be kept; one that is there must be of this shape and these weights")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--llama-turn", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


class Batch(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int32)] + [(name, ctypes.c_void_p) for name in "token embd pos n_seq seq logits".split()]


class Opaque(ctypes.Structure):
    """Parameters, whose members change from version to version: larger than any, and found by their defaults."""

    _fields_ = [("byte", ctypes.c_uint8 * 1024)]

    def at(self, pattern):
        found = bytes(self.byte).find(pattern)
        if found < 0:
            sys.exit("the library's parameters begin with none of the defaults that are known")
        return found

    def put(self, offset, *words):
        ctypes.memmove(ctypes.addressof(self) + offset, struct.pack(f"{len(words)}I", *words), 4 * len(words))


def library(path):
    if not path:
        spec = importlib.util.find_spec("xllamacpp")
        found = list(pathlib.Path(spec.origin).parent.glob("*.so")) if spec else []
        if not found:
            sys.exit("no library: name one by --library, or pip install xllamacpp")
        path = str(found[0])
    c = ctypes.CDLL(path)
    pointer, whole, text = ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, text, pointer)(lambda level, line, user: None)
    for name, result, takes in [
        ("llama_log_set", None, [type(quiet), pointer]),
        ("llama_model_default_params", Opaque, []),
        ("llama_context_default_params", Opaque, []),
        ("llama_model_load_from_file", pointer, [text, Opaque]),
        ("llama_init_from_model", pointer, [pointer, Opaque]),
        ("llama_set_n_threads", None, [pointer, whole, whole]),
        ("llama_get_memory", pointer, [pointer]),
        ("llama_memory_clear", None, [pointer, ctypes.c_bool]),
        ("llama_batch_get_one", Batch, [pointer, whole]),
        ("llama_decode", whole, [pointer, Batch]),
        ("llama_synchronize", None, [pointer]),
        ("llama_print_system_info", text, []),
    ]:
        getattr(c, name).restype, getattr(c, name).argtypes = result, takes
    c.llama_log_set(quiet, None)
    c.quiet = quiet  # it must live as long as the library
    return c


def llama_turn(o):
    """One turn for each line on stdin; the first one answers what the library can."""
    c = library(o.library)
    c.llama_backend_init()
    model = c.llama_model_load_from_file(o.model.encode(), c.llama_model_default_params())
    params = c.llama_context_default_params()
    params.put(params.at(struct.pack("4I", 512, 2048, 512, 1)), o.prompt + o.tokens, o.prompt, o.prompt, 1)
    context = c.llama_init_from_model(model, params) if model else None
    if not context:
        sys.exit(f"llama.cpp does not load {o.model}")
    c.llama_set_n_threads(context, o.threads, o.threads)
    print(c.llama_print_system_info().decode().strip(), flush=True)

    def decode(tokens):
        some = (ctypes.c_int32 * len(tokens))(*tokens)
        if c.llama_decode(context, c.llama_batch_get_one(some, len(tokens))) != 0:
            sys.exit("llama_decode failed")
        c.llama_synchronize(context)

    for _ in sys.stdin:
        c.llama_memory_clear(c.llama_get_memory(context), True)
        draw = [random.randrange(8192) for _ in range(o.prompt + o.tokens)]
        start = time.monotonic()
        decode(draw[: o.prompt])
        middle = time.monotonic()
        for token in draw[o.prompt :]:
            decode([token])
        print(o.prompt / (middle - start), o.tokens / (time.monotonic() - middle), flush=True)


def our_turn(o):
    words = [o.hpccoder, "bench", "decode", "--shape", o.shape, "--weights", o.weights, "--turns", "1", "--json"]
    words += ["--prompt", str(o.prompt), "--tokens", str(o.tokens), "-j", str(o.threads), "--cache", "bf16"]
    words += ["--isa", o.isa] if o.isa else []
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def save_model(o):
    words = [o.hpccoder, "bench", "decode", "--shape", o.shape, "--weights", o.weights, "--prompt", "1"]
    subprocess.run(words + ["--tokens", "1", "--turns", "1", "--json", "--save", o.model], check=True, stdout=subprocess.DEVNULL)


def run(o):
    words = [o.python, __file__, "--llama-turn", "--model", o.model, "--threads", str(o.threads)]
    words += ["--prompt", str(o.prompt), "--tokens", str(o.tokens)] + (["--library", o.library] if o.library else [])
    environment = {"OMP_PROC_BIND": "true", **os.environ}  # the best of what OpenMP can be told
    peer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    about, ours, theirs = peer.stdout.readline().strip(), [], []
    for turn in range(o.turns + 1):
        if not about:
            sys.exit("llama.cpp's side ended")
        peer.stdin.write("go\n")
        peer.stdin.flush()
        theirs.append([float(x) for x in peer.stdout.readline().split()])
        if len(theirs[-1]) != 2:
            sys.exit("llama.cpp's side ended")
        ours.append(our_turn(o))
    peer.stdin.close()
    peer.wait()
    last = ours[-1]
    print(f"{o.shape}, {o.weights}, {last['threads']} threads; ours: {last['isa']}; llama.cpp: {about}")
    for k, name, key in [(0, f"prompt of {o.prompt}", "prompt"), (1, f"decode of {o.tokens}", "decode")]:
        mine = statistics.median(x[key + "_tokens_per_s"] for x in ours[1:])
        other = statistics.median(x[k] for x in theirs[1:])
        part = statistics.median(x[key + "_fraction"] for x in ours[1:])
        print(f"{name:16} {mine:8.1f} tokens/s, llama.cpp {other:8.1f}: {mine / other:.2f}  ({100 * part:.0f} % of the limit)")


def main():
    o = options()
    if o.llama_turn:
        llama_turn(o)
    elif o.model:
        if not os.path.exists(o.model):
            save_model(o)
        run(o)
    else:
        with tempfile.TemporaryDirectory() as folder:
            o.model = os.path.join(folder, "model.gguf")
            save_model(o)
            run(o)


if __name__ == "__main__":
    main()
