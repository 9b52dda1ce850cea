#!/usr/bin/env python3
"""serve_load.py [options] NAME=URL|NAME=COMMAND ... -- servers under load, one after the other, with the same requests.

A COMMAND is started with {port} replaced, and ended; of a URL, --pid NAME=PID gives the memory. All speak llama.cpp's
/completion, /infill, /tokenize and /slots. For each server:
  load      N clients for T seconds: answers that differ from the answer alone, answers lost, p50 and p95 of the first
            token and of the gaps between events, memory before and after
  streams   tokens per second of four streams, and of one
  prefill   the longest gap of a stream while a prompt of --tokens is read, and the median gap alone
  edit      first token after an edit of the line at the cursor, in a file of --tokens: /infill
  killed    milliseconds until /slots has no job after a client was killed: streaming, whole answer, reading its prompt
Exit code 1: the first server lost an answer, or gave one that differs.

  serve_load.py ours='build/release/hpccoder serve -q --requests 16 --cache-tokens 65536 --http 127.0.0.1:{port}'
"""
import argparse, http.client, json, shlex, signal, socket, statistics, struct, subprocess, sys, threading, time
import urllib.parse

TOGETHER_MS = 0.25
HEADERS = {"Content-Type": "application/json"}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("server", nargs="+")
    p.add_argument("--pid", action="append", default=[], metavar="NAME=PID")
    p.add_argument("--clients", type=int, default=16)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--tokens", type=int, default=2000, help="of the long prompts")
    p.add_argument("--predict", type=int, default=48, help="tokens of an answer under load")
    p.add_argument("--rounds", type=int, default=5, help="of each other measurement")
    p.add_argument("--source", default="tests/model/gguf_pieces.c", help="text of prompts")
    p.add_argument("--token", help="sent as Authorization: Bearer")
    p.add_argument("--json", action="store_true")
    return p.parse_args()


# ---- a server --------------------------------------------------------------------------------------

class Server:
    def __init__(self, name, where, o):
        self.name, self.process, self.token = name, None, o.token
        if where.startswith("http://"):
            self.address = urllib.parse.urlsplit(where).netloc
            self.pid = int(dict(p.split("=", 1) for p in o.pid).get(name, 0))
            return
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.address = "127.0.0.1:%d" % port
        self.process = subprocess.Popen(shlex.split(where.replace("{port}", str(port))), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.pid = self.process.pid

    def wait(self):
        for _ in range(600):
            try:
                if self.ask("GET", "/health")[0] == 200:
                    return
            except OSError:
                pass
            if self.process and self.process.poll() is not None:
                break
            time.sleep(0.1)
        sys.exit("%s does not answer" % self.name)

    def end(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def begin(self, method, path, body=None):
        c = http.client.HTTPConnection(self.address, timeout=120)
        headers = dict(HEADERS, **({"Authorization": "Bearer " + self.token} if self.token else {}))
        c.request(method, path, json.dumps(body) if body is not None else None, headers)
        return c

    def ask(self, method, path, body=None):
        c = self.begin(method, path, body)
        try:
            r = c.getresponse()
            text = r.read()
            return r.status, json.loads(text) if text.startswith((b"{", b"[")) else None
        finally:
            c.close()

    def memory(self):
        """MiB that the process uses; 0: not known."""
        try:
            for line in open("/proc/%d/status" % self.pid):
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        except OSError:
            pass
        return 0

    def tokens(self, text):
        return len(self.ask("POST", "/tokenize", {"content": text})[1]["tokens"])

    def busy(self):
        """Slots in use; None: the server does not say."""
        status, slots = self.ask("GET", "/slots")
        return sum(bool(s.get("is_processing")) for s in slots) if status == 200 else None


class Stream:
    """One streamed answer: its text, whether it ended, and when its events came."""

    def __init__(self, server, body, path="/completion"):
        self.text, self.whole, self.times, self.last = "", False, [], {}
        self.start = time.perf_counter()
        self.connection = server.begin("POST", path, dict(body, stream=True))

    def events(self):
        r = self.connection.getresponse()
        while r.status == 200:
            line = r.readline()
            if not line:
                return
            if not line.startswith(b"data: {"):
                continue
            e = json.loads(line[6:])
            if e.get("content"):
                self.times.append(time.perf_counter())
                self.text += e["content"]
            if e.get("stop"):
                self.whole, self.last = True, e
            yield e

    def run(self):
        try:
            for _ in self.events():
                pass
        except (OSError, http.client.HTTPException, ValueError):
            self.whole = False
        self.connection.close()
        return self

    def first_ms(self):
        return (self.times[0] - self.start) * 1e3 if self.times else None

    def gaps_ms(self):
        """Between steps of the model: events of one step come together."""
        gaps = [(b - a) * 1e3 for a, b in zip(self.times, self.times[1:])]
        return [x for x in gaps if x > TOGETHER_MS]


def plain(prompt, most, **more):
    return dict({"prompt": prompt, "n_predict": most, "temperature": 0, "seed": 1, "cache_prompt": True}, **more)


def percentile(values, p):
    if not values:
        return None
    return sorted(values)[min(len(values) - 1, int(p / 100 * len(values)))]


def in_threads(work, n):
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


# ---- measurements -----------------------------------------------------------------------------------

def load(s, o, text):
    """Each client has its own prompts, a part of the text each."""
    lines = text.splitlines(True)
    step = max(1, len(lines) // (2 * o.clients))
    prompts = ["".join(lines[k * step:k * step + 12]) for k in range(2 * o.clients)]
    alone = [Stream(s, plain(p, o.predict)).run().text for p in prompts]
    first, gaps, memory, lock = [], [], [s.memory()], threading.Lock()
    count = {"answers": 0, "different": 0, "lost": 0, "tokens": 0}
    end = time.perf_counter() + o.seconds

    def client(k):
        turn = 0
        while time.perf_counter() < end:
            i = 2 * k + turn % 2
            x, turn = Stream(s, plain(prompts[i], o.predict)).run(), turn + 1
            with lock:
                count["answers"] += 1
                count["lost"] += not x.whole
                count["different"] += x.whole and x.text != alone[i]
                count["tokens"] += x.last.get("tokens_predicted", 0)
                if x.times:
                    first.append(x.first_ms())
                gaps.extend(x.gaps_ms())

    def watch():
        while time.perf_counter() < end:
            time.sleep(min(1, o.seconds / 10))
            memory.append(s.memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    in_threads(client, o.clients)
    watcher.join()
    warm = memory[1 + len(memory) // 4] if len(memory) > 2 else memory[-1]
    return dict(count, tokens_s=count["tokens"] / o.seconds, first_p50_ms=percentile(first, 50),
                first_p95_ms=percentile(first, 95), gap_p50_ms=percentile(gaps, 50), gap_p95_ms=percentile(gaps, 95),
                memory_mib=[round(x, 1) for x in (memory[0], warm, max(memory), memory[-1])])


def throughput(s, o, streams):
    """Tokens per second of streams that begin at once, the median of the rounds."""
    rates = []
    for r in range(o.rounds):
        made = [0] * streams

        def one(k):
            body = plain("/* %d */\nint f%d(int n)\n{\n" % (r, k), 128, ignore_eos=True)
            made[k] = Stream(s, body).run().last.get("tokens_predicted", 0)

        begin = time.perf_counter()
        in_threads(one, streams)
        rates.append(sum(made) / (time.perf_counter() - begin))
    return statistics.median(rates)


def prefill(s, o, text):
    """A prompt that is not in the cache, beside a stream."""
    body = plain("/* words */\nint g(int n)\n{\n", 200, ignore_eos=True)
    alone = percentile(Stream(s, body).run().gaps_ms(), 50)
    worst = []
    for r in range(o.rounds):
        x = Stream(s, body)
        reader = threading.Thread(target=lambda: Stream(s, plain("/* round %d */\n%s" % (r, text), 1)).run())
        for _ in x.events():
            if len(x.times) == 16:
                reader.start()
        x.connection.close()
        if reader.ident:
            reader.join()
        worst.append(max(((b - a) * 1e3 for a, b in zip(x.times[15:], x.times[16:])), default=0))
    return {"gap_alone_ms": alone, "worst_gap_ms": percentile(worst, 50), "worst_of_all_ms": max(worst)}


def edit(s, o, text):
    """The line at the cursor, in the middle, changes. The excess is the time beyond that of the tokens that were
    computed at the rate of a prompt that is not in the cache."""
    lines = text.splitlines(True)
    half = len(lines) // 2
    before, after = "".join(lines[:half]), "".join(lines[half + 1:])
    cold = Stream(s, plain("/* cold */\n" + text, 1)).run()
    timings = cold.last.get("timings", {})
    rate = timings.get("prompt_per_second") or (s.tokens(text) / (cold.first_ms() or 1) * 1e3)
    first, excess, computed = [], [], []
    for r in range(4 * o.rounds + 1):
        body = {"input_prefix": before, "prompt": "    int edit_%d = " % r, "input_suffix": "\n" + after, "n_predict": 1,
                "temperature": 0, "cache_prompt": True}
        begin = time.perf_counter()
        status, answer = s.ask("POST", "/infill", body)
        ms = (time.perf_counter() - begin) * 1e3
        if status != 200:
            return {"status": status}
        if r == 0:
            continue
        n = answer.get("timings", {}).get("prompt_n", 0)
        first.append(ms)
        computed.append(n)
        excess.append(ms - n / rate * 1e3)
    return {"first_p50_ms": percentile(first, 50), "first_p95_ms": percentile(first, 95), "prompt_tokens_s": rate,
            "computed_tokens": percentile(computed, 50), "excess_p95_ms": percentile(excess, 95)}


def slot_free_ms(s, body, after):
    """A client that is killed `after` events, or, below 1, as many seconds after its request."""
    x = Stream(s, body) if after >= 1 else None
    connection = x.connection if x else s.begin("POST", "/completion", dict(body, stream=False))
    if x:
        for _ in x.events():
            if len(x.times) >= after:
                break
    else:
        time.sleep(after)
    began_busy = s.busy()
    if began_busy is None:
        return None
    raw = connection.sock or getattr(x, "sock", None)
    begin = time.perf_counter()
    if raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    while s.busy() and time.perf_counter() - begin < 60:
        time.sleep(0.001)
    return (time.perf_counter() - begin) * 1e3 if began_busy else None


def killed(s, o, text):
    long_answer = plain("int h(int n)\n{\n", 1500, ignore_eos=True)
    found = {"streaming": [], "whole": [], "reading": []}
    for r in range(o.rounds):
        found["streaming"].append(slot_free_ms(s, long_answer, 4))
        found["whole"].append(slot_free_ms(s, long_answer, 0.05))
        found["reading"].append(slot_free_ms(s, plain("/* killed %d */\n%s" % (r, text), 1500, ignore_eos=True), 0.01))
    return {k: max((x for x in v if x is not None), default=None) for k, v in found.items()}


# ---- together ---------------------------------------------------------------------------------------

def cut(s, text, tokens):
    """The first lines of the text with so many tokens."""
    lines, low, high = text.splitlines(True), 1, None
    while len(lines) * 20 < 4 * tokens:
        lines += lines
    high = len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if s.tokens("".join(lines[:middle])) <= tokens else (low, middle - 1)
    return "".join(lines[:low])


def measure(s, o):
    source = open(o.source).read()
    context = (s.ask("GET", "/props")[1] or {}).get("default_generation_settings", {}).get("n_ctx", 4096)
    text = cut(s, source, min(o.tokens, context - 64 - o.predict))
    Stream(s, plain("int warm(", 8)).run()
    result = {"context": context, "prompt_tokens": s.tokens(text), "load": load(s, o, source)}
    one, four = throughput(s, o, 1), throughput(s, o, 4)
    result["streams"] = {"one_tokens_s": one, "four_tokens_s": four, "ratio": four / one if one else None}
    result["prefill"] = prefill(s, o, text)
    result["edit"] = edit(s, o, text)
    result["killed_ms"] = killed(s, o, text)
    return result


def show(name, value, indent=0):
    if isinstance(value, dict):
        print("%s%s" % (" " * indent, name))
        for k, v in value.items():
            show(k, v, indent + 2)
    else:
        print("%s%-16s %s" % (" " * indent, name, round(value, 2) if isinstance(value, float) else value), flush=True)


def main():
    o = options()
    results, bad = {}, False
    for word in o.server:
        name, where = word.split("=", 1)
        s = Server(name, where, o)
        try:
            s.wait()
            results[name] = measure(s, o)
        finally:
            s.end()
        if not o.json:
            show(name, results[name])
        if len(results) == 1:
            bad = results[name]["load"]["lost"] > 0 or results[name]["load"]["different"] > 0
    names = list(results)
    for other in names[1:]:
        four = [results[n]["streams"]["four_tokens_s"] for n in (names[0], other)]
        results[names[0]]["streams"]["over_" + other] = four[0] / four[1] if four[1] else None
        if not o.json:
            print("four streams of %s over those of %s: %.2f" % (names[0], other, four[0] / four[1]))
    if o.json:
        print(json.dumps(results))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
