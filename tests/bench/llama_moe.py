#!/usr/bin/env python3
"""llama_moe.py SMALL.gguf FILE.gguf TEXT [options] -- a mixture of experts of the size of --layers blocks of Qwen3-30B-A3B.

SMALL is any Qwen3-MoE in GGUF that `hpccoder export` wrote: FILE gets its tokenizer, and random blocks of q4_K (5.2 GB
for 16 blocks; a FILE that is there is used). Then, in turns on the same machine (llama_agree.py --speed): tokens per second
of a prompt of 512 and of single tokens, by hpccoder and by llama.cpp without repacking, both from the mapped file. Last, the
memory of a short completion: the bytes of the experts that tokens reached and of the program's own memory, and the most
that the process had. TEXT and --library are those of llama_agree.py. Run from the top of the tree after `make`.
"""
import argparse, os, pathlib, random, struct, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
F32, Q8_0, Q4_K = 0, 8, 12
BLOCK = {F32: (1, 4), Q8_0: (32, 34), Q4_K: (256, 144)}
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, LIST, U32 = 8, 9, 4


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("small")
    p.add_argument("file")
    p.add_argument("text")
    p.add_argument("--layers", type=int, default=16)
    p.add_argument("--experts", type=int, default=128)
    p.add_argument("--single", type=int, default=64)
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--prompt-tokens", type=int, default=4, help="of the short completion, with twice as many single tokens")
    p.add_argument("--ours", help="what hpccoder reads in place of FILE: FILE exported --to packed")
    p.add_argument("--library")
    p.add_argument("--build", default="build/release")
    return p.parse_args()


def value_end(data, at, kind):
    """Where a value of metadata ends."""
    if kind == STRING:
        return at + 8 + struct.unpack_from("<Q", data, at)[0]
    if kind != LIST:
        return at + WIDTHS[kind]
    inner, n = struct.unpack_from("<IQ", data, at)
    at += 12
    for _ in range(n):
        at = value_end(data, at, inner)
    return at


def read_keys(path):
    """Metadata as it is in the file, by key: type and bytes; and the number of rows of the embedding."""
    with open(path, "rb") as f:
        data = f.read(64 << 20)
    _, _, tensors, n = struct.unpack_from("<4sIQQ", data, 0)
    keys, at, vocab = {}, 24, 0
    for _ in range(n):
        size = struct.unpack_from("<Q", data, at)[0]
        key = data[at + 8 : at + 8 + size].decode()
        at += 8 + size
        kind = struct.unpack_from("<I", data, at)[0]
        end = value_end(data, at + 4, kind)
        keys[key], at = (kind, data[at + 4 : end]), end
    for _ in range(tensors):
        size = struct.unpack_from("<Q", data, at)[0]
        name = data[at + 8 : at + 8 + size].decode()
        rank = struct.unpack_from("<I", data, at + 8 + size)[0]
        extents = struct.unpack_from(f"<{rank}Q", data, at + 12 + size)
        at += 12 + size + 8 * rank + 12
        vocab = extents[1] if name == "token_embd.weight" else vocab
    return keys, vocab


SIZES = {"embedding_length": 2048, "feed_forward_length": 6144, "attention.head_count": 32, "attention.head_count_kv": 4,
         "attention.key_length": 128, "attention.value_length": 128, "rope.dimension_count": 128,
         "expert_used_count": 8, "expert_feed_forward_length": 768, "context_length": 4096}


def tensors(o, vocab):
    yield "token_embd.weight", (2048, vocab), Q8_0
    for k in range(o.layers):
        for name, extents, kind in [
            ("attn_norm", (2048,), F32), ("attn_q", (2048, 4096), Q4_K), ("attn_k", (2048, 512), Q4_K),
            ("attn_v", (2048, 512), Q4_K), ("attn_output", (4096, 2048), Q4_K), ("attn_q_norm", (128,), F32),
            ("attn_k_norm", (128,), F32), ("ffn_norm", (2048,), F32), ("ffn_gate_inp", (2048, o.experts), F32),
            ("ffn_gate_exps", (2048, 768, o.experts), Q4_K), ("ffn_up_exps", (2048, 768, o.experts), Q4_K),
            ("ffn_down_exps", (768, 2048, o.experts), Q4_K),
        ]:
            yield f"blk.{k}.{name}.weight", extents, kind
    yield "output_norm.weight", (2048,), F32
    yield "output.weight", (2048, vocab), Q8_0


def size_of(extents, kind):
    n = 1
    for e in extents:
        n *= e
    return n // BLOCK[kind][0] * BLOCK[kind][1]


def pool(kind, draw):
    """Random blocks: weights have a deviation of about 0.02, and a mean of about 0 with q4_K."""
    count = (8 << 20) // BLOCK[kind][1]
    if kind == F32:
        return b"".join(struct.pack("<f", draw.gauss(0, 0.02)) for _ in range(1 << 16))
    factors = struct.pack("<2e", 1e-4, 7.5e-4) if kind == Q4_K else struct.pack("<e", 2.7e-4)
    return b"".join(factors + draw.randbytes(BLOCK[kind][1] - len(factors)) for _ in range(count))


def write_tensor(f, name, extents, kind, pools, draw):
    left, block = size_of(extents, kind), BLOCK[kind][1]
    if name.endswith("norm.weight"):
        f.write(struct.pack("<f", 1) * extents[0])
        left = 0
    while left > 0:
        at = draw.randrange(len(pools[kind]) // block // 2) * block
        some = pools[kind][at : at + left]
        f.write(some)
        left -= len(some)
    f.write(bytes(-f.tell() % 32))


def write_model(o):
    keys, vocab = read_keys(o.small)
    numbers = {**SIZES, "block_count": o.layers, "expert_count": o.experts}
    for key, value in numbers.items():
        if f"qwen3moe.{key}" in keys:
            keys[f"qwen3moe.{key}"] = (U32, struct.pack("<I", value))
    draw, all_tensors, offset = random.Random(1), list(tensors(o, vocab)), 0
    pools = {kind: pool(kind, draw) for kind in BLOCK}
    with open(o.file, "wb") as f:
        f.write(struct.pack("<4sIQQ", b"GGUF", 3, len(all_tensors), len(keys)))
        for key, (kind, data) in keys.items():
            f.write(struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + data)
        for name, extents, kind in all_tensors:
            f.write(struct.pack("<Q", len(name)) + name.encode())
            f.write(struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, kind, offset))
            offset += (size_of(extents, kind) + 31) // 32 * 32
        f.write(bytes(-f.tell() % 32))
        for name, extents, kind in all_tensors:
            write_tensor(f, name, extents, kind, pools, draw)


def measure_memory(o, folder):
    import llama_agree

    program, n = llama_agree.build(o, folder), o.prompt_tokens
    draw = random.Random(2)
    ids = [draw.randrange(1000) for _ in range(3 * n)]
    path = pathlib.Path(folder, "ids")
    path.write_bytes(struct.pack(f"{len(ids)}i", *ids))
    with open(o.ours or o.file, "rb") as f:  # what was written in large pieces may be mapped 2 MiB at a time
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    words = [program, o.ours or o.file, str(path), str(o.threads), str(2 * n), "touched"]
    lines = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    reached, own, both, most = (float(x) / 1e6 for x in lines[-1].split())
    print(f"{3 * n} tokens: experts reached {reached:.0f} MB, own memory {own:.0f} MB, both {both:.0f} MB; "
          f"process {most:.0f} MB = {most / both:.3f}; file {os.path.getsize(o.ours or o.file) / 1e6:.0f} MB")


def main():
    o = options()
    if not os.path.exists(o.file):
        write_model(o)
    agree = pathlib.Path(__file__).parent / "llama_agree.py"
    words = [sys.executable, str(agree), o.text, o.file, "--speed", "--no-agreement", "--no-repack", "--single", str(o.single)]
    words += ["--turns", str(o.turns), "--threads", str(o.threads), "--build", o.build]
    words += ["--ours", o.ours] if o.ours else []
    if o.turns > 0:
        subprocess.run(words + (["--library", o.library] if o.library else []), check=True)
    with tempfile.TemporaryDirectory() as folder:
        measure_memory(o, folder)


if __name__ == "__main__":
    main()
