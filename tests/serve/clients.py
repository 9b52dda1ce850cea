#!/usr/bin/env python3
"""clients.py [PROGRAM]: the Python packages openai and ollama against `hpccoder serve`.

Prints a line for each check and the count. A package that cannot be imported is a SKIP.
"""
import json
import os
import re
import subprocess
import sys
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/release/hpccoder")
MODEL = os.path.join(ROOT, "share/pilot.gguf")
PREFIX = "double dot(int n, const double *x, const double *y)\n{\n    double s = "
SUFFIX = ";\n    return s;\n}\n"


def start():
    server = subprocess.Popen(
        [PROGRAM, "serve", "--http", "127.0.0.1:0", "-m", MODEL, "-j", "1", "-q",
         "--alias", "pilot"],
        stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+", line)
    if not found:
        server.kill()
        sys.exit("the server did not start: %r" % line)
    return server, found.group(0)


def infill(address, most):
    body = {"input_prefix": PREFIX, "input_suffix": SUFFIX, "n_predict": most}
    request = urllib.request.Request(address + "/infill", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["content"]


def check(name, good):
    print("%s %s" % ("ok  " if good else "FAIL", name))
    return bool(good)


def use_openai(address):
    import openai

    client = openai.OpenAI(base_url=address + "/v1", api_key="none")
    ask = client.completions.create
    models = client.models.list().data
    yield check("openai: models", [m.id for m in models] == ["pilot"])
    yield check("openai: model", client.models.retrieve("pilot").id == "pilot")
    whole = ask(model="pilot", prompt="int main(", max_tokens=12, temperature=0)
    yield check("openai: text", whole.choices[0].text and whole.usage.completion_tokens == 12)
    yield check("openai: reason", whole.choices[0].finish_reason == "length")
    pieces, usage = [], None
    for chunk in ask(model="pilot", prompt="int main(", max_tokens=12, temperature=0, stream=True,
                     stream_options={"include_usage": True}):
        pieces += [c.text for c in chunk.choices]
        usage = chunk.usage or usage
    yield check("openai: stream equals text", "".join(pieces) == whole.choices[0].text)
    yield check("openai: several events", len(pieces) > 3)
    yield check("openai: usage of a stream", usage and usage.completion_tokens == 12)
    two = ask(model="pilot", prompt=["int main(", "int main("], max_tokens=12, temperature=0)
    yield check("openai: list of prompts",
                [c.text for c in two.choices] == [whole.choices[0].text] * 2)
    yield check("openai: usage of a list",
                two.usage.prompt_tokens == 2 * whole.usage.prompt_tokens)
    fim = ask(model="pilot", prompt=PREFIX, suffix=SUFFIX, max_tokens=16)
    yield check("openai: suffix", fim.choices[0].text and fim.choices[0].text == infill(address, 16))
    digits = ask(model="pilot", prompt="int", max_tokens=8, extra_body={"grammar": "root ::= [0-9]{3}"})
    yield check("openai: grammar", re.fullmatch("[0-9]{3}", digits.choices[0].text))
    try:
        ask(model="pilot", prompt="int", echo=True)
        yield check("openai: error", False)
    except openai.APIStatusError as e:
        yield check("openai: error", e.status_code == 501 and "echo" in e.message)
    try:
        ask(model="pilot", prompt="int", presence_penalty=1)
        yield check("openai: bad request", False)
    except openai.BadRequestError as e:
        yield check("openai: bad request", "presence_penalty" in e.message)


def use_ollama(address):
    import ollama

    client = ollama.Client(host=address)
    options = {"num_predict": 12, "temperature": 0}
    models = client.list().models
    yield check("ollama: list", [m.model for m in models] == ["pilot"])
    yield check("ollama: size", models[0].size == os.path.getsize(MODEL))
    shown = client.show("pilot")
    yield check("ollama: show", ".Suffix" in shown.template and "insert" in shown.capabilities)
    yield check("ollama: details", shown.details.family == "llama"
                and shown.modelinfo["general.parameter_count"] > 0)
    whole = client.generate(model="pilot", prompt="int main(", options=options, raw=True)
    yield check("ollama: generate", whole.response and whole.eval_count == 12 and whole.done)
    parts = list(client.generate(model="pilot", prompt="int main(", options=options, stream=True))
    yield check("ollama: stream equals text",
                "".join(p.response for p in parts) == whole.response and len(parts) > 3)
    loaded = client.generate(model="pilot", keep_alive="5m")
    yield check("ollama: load", loaded.done and loaded.done_reason == "load")
    fim = client.generate(model="pilot", prompt=PREFIX, suffix=SUFFIX, options=options)
    yield check("ollama: suffix", fim.response and fim.response == infill(address, 12))
    shaped = client.generate(model="pilot", prompt="int", options={"num_predict": 40, "temperature": 0},
                             format={"type": "array", "items": {"enum": [1, 2]}, "maxItems": 2})
    yield check("ollama: format", set(json.loads(shaped.response)) <= {1, 2})
    try:
        client.generate(model="pilot", prompt="int", system="Be brief.")
        yield check("ollama: error", False)
    except ollama.ResponseError as e:
        yield check("ollama: error", e.status_code == 501 and "system" in str(e))


def main():
    server, address = start()
    results = []
    try:
        for name, use in (("openai", use_openai), ("ollama", use_ollama)):
            try:
                __import__(name)
            except ImportError:
                print("SKIP: the Python package %s is not installed" % name)
                continue
            results += list(use(address))
    finally:
        server.terminate()
        server.wait()
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
