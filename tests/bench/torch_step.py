#!/usr/bin/env python3
"""torch_step.py [options] -- a training step of hpccoder and of PyTorch, in turns on the same machine.

The same model (Llama's shape: RMS norms, rotary positions, SwiGLU, tied head), batch, AdamW and clipping at
norm 1, random tokens. PyTorch is what `python3 -c 'import torch'` finds (Debian: python3-torch; or run this
with another interpreter's path as --python), tuned: scaled-dot-product attention where it has it, fused
AdamW where it has it, one OpenMP thread a core, OpenBLAS for OpenMP where Debian's is installed and told of AVX-512 where there is some, malloc told to keep its memory.
Prints the medians of a step, peak memory, and their ratio; above 1 hpccoder is faster.
"""
import argparse, glob, json, os, resource, statistics, subprocess, sys, time

SHAPES = {
    "124m": dict(hidden=768, layers=12, heads=12, ffn=2048, vocab=50304),
    "5m": dict(hidden=256, layers=4, heads=4, ffn=672, vocab=8192),
}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shape", choices=SHAPES, default="124m")
    for name in SHAPES["124m"]:
        p.add_argument("--" + name, type=int, help="other than the shape's")
    p.add_argument("--rows", type=int, default=4, help="sequences in a step")
    p.add_argument("--length", type=int, default=256, help="tokens in a sequence")
    p.add_argument("--dtype", choices=["f32", "bf16"], default="f32", help="bf16: torch.autocast there")
    p.add_argument("--steps", type=int, default=3, help="timed steps of a turn, after one that is not")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--compile", action="store_true", help="torch.compile")
    p.add_argument("--device", default="cpu", help="cpu, cuda, or a device of hpccoder for tests; exit 77 without CUDA in torch")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--torch-turn", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


def shape_of(o):
    """That of the name, but for what was said of it."""
    return {k: v if getattr(o, k) is None else getattr(o, k) for k, v in SHAPES[o.shape].items()}


def model(torch, c, length):
    """The parameters and the loss of a batch, written for speed."""
    F, n = torch.nn.functional, c["hidden"]
    d = n // c["heads"]

    def matrix(rows, cols):
        return torch.nn.Parameter(torch.randn(rows, cols) * 0.02)

    def ones():
        return torch.nn.Parameter(torch.ones(n))

    embedding = matrix(c["vocab"], n)
    blocks = [
        dict(n1=ones(), qkv=matrix(3 * n, n), o=matrix(n, n), n2=ones(), up=matrix(2 * c["ffn"], n), down=matrix(n, c["ffn"]))
        for _ in range(c["layers"])
    ]
    last = ones()
    angle = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, d, 2).float() / d))
    cos, sin = torch.cat([angle, angle], 1).cos(), torch.cat([angle, angle], 1).sin()
    later = torch.full((length, length), float("-inf")).triu(1)

    def norm(x, w):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * w

    if hasattr(F, "rms_norm"):
        def norm(x, w):  # noqa: F811
            return F.rms_norm(x, (n,), w, 1e-5)

    def turn(x):
        half = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1)
        return x * cos.to(x.dtype) + half * sin.to(x.dtype)

    def attend(q, k, v):
        if hasattr(F, "scaled_dot_product_attention"):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return torch.softmax(q @ k.transpose(-1, -2) * d**-0.5 + later, -1) @ v

    def loss(tokens):
        rows = tokens.shape[0]
        x = F.embedding(tokens, embedding)
        for b in blocks:
            qkv = F.linear(norm(x, b["n1"]), b["qkv"]).view(rows, length, 3, c["heads"], d)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            a = attend(turn(q), turn(k), v).transpose(1, 2).reshape(rows, length, n)
            x = x + F.linear(a, b["o"])
            gate, up = F.linear(norm(x, b["n2"]), b["up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, b["down"])
        logits = F.linear(norm(x, last), embedding)
        targets = torch.roll(tokens, -1, 1)
        return F.cross_entropy(logits.view(-1, c["vocab"]).float(), targets.reshape(-1))

    return [embedding, last] + [p for b in blocks for p in b.values()], loss


def torch_turn(o):
    import torch

    torch.set_num_threads(o.threads)
    gpu = o.device.startswith("cuda")
    torch.set_default_device("cuda" if gpu else "cpu")
    torch.manual_seed(1)
    parameters, loss = model(torch, shape_of(o), o.length)
    if o.compile:
        loss = torch.compile(loss)
    try:
        update = torch.optim.AdamW(parameters, lr=1e-3, fused=True)
    except (RuntimeError, TypeError):
        update = torch.optim.AdamW(parameters, lr=1e-3, foreach=True)
    tokens = torch.randint(0, shape_of(o)["vocab"], (o.rows, o.length))
    half = torch.autocast("cuda" if gpu else "cpu", dtype=torch.bfloat16, enabled=o.dtype == "bf16")
    times = []
    for _ in range(o.steps + (3 if o.compile else 1)):
        start = time.perf_counter()
        with half:
            value = loss(tokens)
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        update.step()
        update.zero_grad(set_to_none=True)
        value.item()
        times.append((time.perf_counter() - start) * 1e3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(dict(version=torch.__version__, ms=times[-o.steps :], peak=peak)))


def ours(o):
    c = shape_of(o)
    words = [o.hpccoder, "bench", "step", "--json", "--tied", "--kv-heads", str(c["heads"])]
    for k, v in dict(c, length=o.length, sequences=o.rows, steps=o.steps + 1, threads=o.threads).items():
        words += [f"--{k}", str(v)]
    words += ["--dtype", o.dtype, "--device", o.device]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in child.stdout if line.startswith("{")]
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("hpccoder failed")
    return [line["step_ms"] for line in lines[1:]], usage.ru_maxrss / 1024


def theirs(o):
    keep = {"MALLOC_TOP_PAD_": "268435456", "MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824"}
    env = dict(os.environ, OMP_NUM_THREADS=str(o.threads), OMP_PROC_BIND="true", **keep)
    if "avx512f" in open("/proc/cpuinfo").read():
        env["OPENBLAS_CORETYPE"] = "SkylakeX"
    openmp = glob.glob("/usr/lib/*/openblas-openmp")  # Debian: beside OpenMP threads that of pthreads waits for itself
    if openmp:
        env["LD_LIBRARY_PATH"] = openmp[0]
    words = [o.python, __file__, "--torch-turn"] + [w for w in sys.argv[1:] if w != "--torch-turn"]
    out = json.loads(subprocess.run(words, env=env, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()[-1])
    return out["ms"], out["peak"], out["version"]


def skip_without_cuda(o):
    """On a GPU, PyTorch must have one."""
    check = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    if o.device != "cpu" and subprocess.run([o.python, "-c", check], stderr=subprocess.DEVNULL).returncode:
        print("SKIP: no PyTorch with CUDA")
        sys.exit(77)


def main():
    o = options()
    if o.torch_turn:
        return torch_turn(o)
    skip_without_cuda(o)
    a, b, peaks = [], [], [0, 0]
    for _ in range(o.turns):
        ms, peak = ours(o)
        a, peaks[0] = a + ms, max(peaks[0], peak)
        ms, peak, version = theirs(o)
        b, peaks[1] = b + ms, max(peaks[1], peak)
    x, y, tokens = statistics.median(a), statistics.median(b), o.rows * o.length
    print(f"{shape_of(o)}, {o.rows} x {o.length} tokens, {o.dtype}, {o.threads} threads")
    print(f"hpccoder        {x:9.1f} ms  {tokens / x * 1e3:8.0f} tokens/s  {peaks[0]:7.0f} MiB")
    print(f"torch {version:9.9s} {y:9.1f} ms  {tokens / y * 1e3:8.0f} tokens/s  {peaks[1]:7.0f} MiB")
    print(f"ratio           {y / x:9.2f}")


if __name__ == "__main__":
    main()
