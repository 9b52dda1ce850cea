#!/usr/bin/env python3
"""adama.py DATA TOKENIZER [options] -- peak memory and time of a step of several microbatches: gradients that are
summed (accumulation) against gradients that are added to Adam's moments at once (AdamA), here and in PyTorch.

The same shape of model, AdamW and tokens a step; runs take turns. PyTorch's AdamA is a hook on each parameter that
adds its gradient to the moments and drops it. Peak: of hpccoder the most that its tensors took at once (peak_bytes
of metrics.csv), of PyTorch the growth of the resident set from the import on. Gradients: bytes that are kept from one
microbatch to the next. PyTorch is what --python finds.
"""
import argparse, csv, json, os, resource, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPE = dict(hidden=384, layers=6, heads=6, ffn=1024)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data", help="shards of hpccoder corpus pack")
    p.add_argument("tokenizer")
    for name, value in SHAPE.items():
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--vocab", type=int, default=1024, help="of the tokenizer")
    p.add_argument("--rows", type=int, default=2, help="sequences of a microbatch")
    p.add_argument("--length", type=int, default=128)
    p.add_argument("--microbatches", type=int, default=4)
    p.add_argument("--steps", type=int, default=5, help="of a turn; the first is not timed")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--hpccoder", default=os.path.join(HERE, "../../build/release/hpccoder"))
    p.add_argument("--torch-turn", choices=["accumulation", "adama"], help=argparse.SUPPRESS)
    return p.parse_args()


def fold(torch, parameters, moments, now):
    """Adds gradients to moments as backward completes them, and drops them."""

    def hook(p):
        m, v = moments[p]
        first = now["microbatch"] == 0
        m.mul_(0.9 if first else 1).add_(p.grad, alpha=0.1)
        v.mul_(0.95 if first else 1).addcmul_(p.grad, p.grad, value=0.05)
        p.grad = None

    for p in parameters:
        moments[p] = (torch.zeros_like(p), torch.zeros_like(p))
        p.register_post_accumulate_grad_hook(hook)


def apply(torch, moments, step):
    with torch.no_grad():
        for p, (m, v) in moments.items():
            p.mul_(1 - 1e-4)
            p.addcdiv_(m / (1 - 0.9**step), (v / (1 - 0.95**step)).sqrt_().add_(1e-8), value=-1e-3)


def torch_turn(o):
    import torch

    from torch_step import model

    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shape = {k: getattr(o, k) for k in [*SHAPE, "vocab"]}
    parameters, loss = model(torch, shape, o.length)
    moments, now, times = {}, {"microbatch": 0}, []
    if o.torch_turn == "adama":
        fold(torch, parameters, moments, now)
    else:
        update = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.95), fused=True)
    tokens = torch.randint(0, o.vocab, (o.microbatches, o.rows, o.length))
    for step in range(1, o.steps + 1):
        start = time.perf_counter()
        for now["microbatch"] in range(o.microbatches):
            (loss(tokens[now["microbatch"]]) / o.microbatches).backward()
        if moments:
            apply(torch, moments, step)
        else:
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            update.step()
            update.zero_grad(set_to_none=False)
        times.append((time.perf_counter() - start) * 1e3)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin) * 1024
    kept = sum(p.grad.nbytes for p in parameters if p.grad is not None)
    n = sum(p.numel() for p in parameters)
    print(json.dumps(dict(version=torch.__version__, ms=times[1:], peak=peak, gradients=kept, parameters=n)))


def theirs(o, way):
    words = [o.python, __file__, *sys.argv[1:], "--torch-turn", way]
    env = dict(os.environ, OMP_NUM_THREADS=str(o.threads))
    return json.loads(subprocess.run(words, env=env, stdout=subprocess.PIPE, check=True, text=True).stdout)


def ours(o, way, folder):
    out = os.path.join(folder, "run")
    words = [o.hpccoder, "train", "--data", o.data, "--optimizer", "adamw", "--threads", str(o.threads)]
    for k in [*SHAPE, "rows", "length"]:
        words += [f"--{k}", str(getattr(o, k))]
    words += ["--kv-heads", str(o.heads), "--accumulate", str(o.microbatches)] + ["--adama"] * (way == "adama")
    plan = json.loads(subprocess.run(words + ["--dry-run", "--json"], check=True, capture_output=True, text=True).stdout)
    words += ["-q", "--tokenizer", o.tokenizer, "--steps", str(o.steps), "--save-every", "0", "--out", out]
    subprocess.run(words, check=True, capture_output=True)
    with open(os.path.join(out, "metrics.csv")) as f:
        rows = list(csv.DictReader(f))
    subprocess.run(["rm", "-r", out], check=True)
    return dict(version="", ms=[float(r["step_ms"]) for r in rows[1:]], peak=float(rows[-1]["peak_bytes"]),
                gradients=plan["gradient_bytes"], parameters=plan["parameters"])


def main():
    o = options()
    if o.torch_turn:
        return torch_turn(o)
    found = {(who, way): [] for who in ("hpccoder", "torch") for way in ("accumulation", "adama")}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(o.turns):
            for who, way in found:
                found[who, way].append(ours(o, way, folder) if who == "hpccoder" else theirs(o, way))
    tokens = o.rows * o.length * o.microbatches
    print(f"{found['hpccoder', 'adama'][0]['parameters'] / 1e6:.1f} M parameters, {o.microbatches} microbatches of "
          f"{o.rows} x {o.length} tokens, f32, {o.threads} threads, PyTorch {found['torch', 'adama'][0]['version']}")
    print(f"{'':22} {'ms a step':>10} {'tokens/s':>9} {'peak MiB':>9} {'gradients MiB':>14}")
    for (who, way), turns in found.items():
        ms = statistics.median(m for t in turns for m in t["ms"])
        peak = max(t["peak"] for t in turns) / 2**20
        print(f"{who:9}{way:13} {ms:10.1f} {tokens / ms * 1e3:9.0f} {peak:9.1f} {turns[0]['gradients'] / 2**20:14.2f}")


if __name__ == "__main__":
    main()
