#!/usr/bin/env python3
"""graph_peer.py [options] -- sums over edges of hpccoder, of torch and of PyTorch Geometric, on the same machine.

Runs `hpccoder bench graph` for GCN and GAT, and then the same layers with PyTorch Geometric (GCNConv, GATConv)
and the product of a sparse CSR matrix with the rows (torch), on a graph of the same kind, vertices and edges.
Turns alternate; prints medians in milliseconds, edges times features per second, and ratios. A ratio above 1
means that hpccoder is faster. PyTorch Geometric gets GCN as a list of edges sorted by destination and as a
CSR matrix, with its normalization cached, and the faster one counts. Without torch_geometric only the product
is compared.

PyTorch Geometric's GAT, and its GCN of a list of edges, store two rows for each edge. Where these would take more
than --memory, they are left out: GCN gets the matrix alone, and only hpccoder's GAT is measured. The last columns are those of `bench graph`: the bandwidth of Gather as a share of that of
reading the same rows at random, and memory in addition to graph, inputs and results as a share of one row of
features for each edge.
"""
import argparse, json, os, statistics, subprocess, sys, time


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--vertices", type=int, default=100000)
    p.add_argument("--edges", type=int, default=2000000)
    p.add_argument("--features", type=int, nargs="+", default=[16, 128])
    p.add_argument("--graph", nargs="+", default=["power-law", "mesh"])
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--memory", type=float, default=8, help="GiB that PyTorch Geometric may use for rows of edges")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


def ours(o, graph, width):
    """Milliseconds by layer, and of Gather alone; shares of read bandwidth and of memory by layer; edges."""
    command = [o.hpccoder, "bench", "graph", "-q", "--json", "--model", "gcn", "--model", "gat", "--graph", graph]
    for name in "vertices", "edges", "heads", "rounds", "threads":
        command += ["--" + name, str(getattr(o, name))]
    layers = json.loads(subprocess.check_output(command + ["--features", str(width)]))["layers"]
    ms = {r["model"]: r["ms"] for r in layers}
    ms["sum"] = next(r["phases"]["gather"]["ms"] for r in layers if r["model"] == "gcn")
    share = {r["model"]: (r["gather_of_read"], r["extra_bytes"] / r["edge_bytes"]) for r in layers}
    share["sum"] = (share["gcn"][0], 0)
    return ms, share, layers[0]["edges"]


def make(torch, o, graph):
    """edge_index of a graph like that of `bench graph`, with self-loops."""
    n, e = o.vertices, o.edges
    g = torch.Generator().manual_seed(1)
    if graph == "power-law":
        ends = (torch.rand(2, e, generator=g, dtype=torch.float64) ** 3 * n).long()
        ends = (ends * 2654435761 + 1) % n
    else:
        side = int(n**0.5)
        step = torch.tensor([1, side, -1, -side, side + 1, 1 - side, side - 1, -side - 1])
        degree = e // n
        v = torch.arange(n).repeat_interleave(degree)
        k = torch.arange(degree).repeat(n)
        ends = torch.stack([(v + (1 + k // 8) * step[k % 8]) % n, v])
    loops = torch.arange(n).repeat(2, 1)
    return torch.cat([ends[:, ends[0] != ends[1]], loops], 1)


def timed(fn, rounds):
    fn()
    ms = []
    for _ in range(rounds):
        begin = time.perf_counter()
        fn()
        ms.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(ms)


def theirs(torch, o, graph, width):
    edges = make(torch, o, graph)
    x = torch.randn(o.vertices, width)
    order = torch.argsort(edges[1] * o.vertices + edges[0])
    to, source = edges[1][order], edges[0][order]
    start = torch.zeros(o.vertices + 1, dtype=torch.long)
    start[1:] = torch.cumsum(torch.bincount(to, minlength=o.vertices), 0)
    matrix = torch.sparse_csr_tensor(start, source, torch.ones(len(source)), (o.vertices, o.vertices))
    cases = {"sum": lambda: matrix @ x}
    try:
        from torch_geometric.nn import GATConv, GCNConv

        # A list of edges by destination, and the matrix that PyTorch Geometric multiplies without messages.
        forms = {"list": torch.stack([source, to]), "matrix": matrix}
        fits = 2 * len(source) * width * 4 <= o.memory * 2**30
        for form, graph_of in forms.items():
            if form == "list" and not fits:
                continue
            gcn = GCNConv(width, width, add_self_loops=False, cached=True)
            cases["gcn", form] = lambda layer=gcn, g=graph_of: torch.relu(layer(x, g))
        gat = GATConv(width, width // o.heads, o.heads, add_self_loops=False)
        if fits:
            cases["gat"] = lambda: torch.relu(gat(x, forms["list"]))
    except ImportError:
        pass
    with torch.no_grad():
        ms = {name: timed(fn, o.rounds) for name, fn in cases.items()}
    gcn = [name for name in ms if name[0] == "gcn"]
    if gcn:
        ms["gcn"] = min(ms.pop(name) for name in gcn)
    return ms


def main():
    o = options()
    try:
        import torch
    except ImportError:
        sys.exit("graph_peer.py: torch is missing; install it with pip")
    torch.set_num_threads(o.threads)
    print(f"torch {torch.__version__}, {o.threads} threads, {o.vertices} vertices, {o.edges} edges")
    print("graph      features  case      ours ms     peer ms   edges x F/s    ratio  of reads  memory")
    for graph in o.graph:
        for width in o.features:
            mine, other = {}, {}
            for _ in range(o.turns):
                ms, share, edges = ours(o, graph, width)
                for name, t in ms.items():
                    mine.setdefault(name, []).append(t)
                for name, t in theirs(torch, o, graph, width).items():
                    other.setdefault(name, []).append(t)
            for name in mine:
                a = statistics.median(mine[name])
                rate = edges * width / a * 1e3
                b = statistics.median(other[name]) if name in other else None
                peer = f"{b:10.2f}" if b else f"{'-':>10}"
                ratio = f"{b / a:7.2f}" if b else f"{'-':>7}"
                print(f"{graph:10} {width:8}  {name:6} {a:10.2f}  {peer}  {rate:12.3g}  {ratio}"
                      f"  {share[name][0]:8.2f}  {share[name][1]:6.3f}", flush=True)


if __name__ == "__main__":
    main()
