#!/usr/bin/env python3
"""Compares our rendering of chat templates with that of transformers.

    compare.py TEMPLATE.jinja...     templates, each with all conversations below
    compare.py --fixture FILE        write FILE, the cases that the test program runs by itself
    compare.py --server URL DIR      prompts and tokens of a server's /apply-template, with those of
                                     the same model's tokenizer in DIR

The Python needs jinja2; where transformers is installed, its render_jinja_template renders.
The test program renders ours: build/release/tests/template/render, or $RENDER.
"""
import datetime
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import own_templates  # noqa: E402


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_same")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def environment():
    """As transformers 4.57 makes it (utils/chat_template_utils.py)."""
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return env


def render(template, variables):
    """(text, None) or (None, error)"""
    try:
        try:
            from transformers.utils.chat_template_utils import render_jinja_template
            values = dict(variables)
            messages = values.pop("messages", [])
            tools = values.pop("tools", None)
            values.pop("documents", None)
            text = render_jinja_template([messages], tools=tools, chat_template=template,
                                         **values)[0][0]
        except ImportError:
            text = environment().from_string(template).render(**variables)
        return text, None
    except Exception as e:
        return None, f"{type(e).__name__}: {e}"


TOOL = {"type": "function",
        "function": {"name": "get_time", "description": "Time in a \"city\" <&>",
                     "parameters": {"type": "object",
                                    "properties": {"city": {"type": "string",
                                                            "description": "Name, e.g. Zürich"},
                                                   "count": {"type": "integer", "default": 3},
                                                   "unit": {"type": "string",
                                                            "enum": ["s", "ms"]}},
                                    "required": ["city"]}}}
CALL = {"type": "function", "id": "call12345",
        "function": {"name": "get_time", "arguments": {"city": "Zürich", "count": 2, "x": 0.5}}}
TEXT_CALL = {"type": "function", "id": "call12345",
             "function": {"name": "get_time", "arguments": "{\"city\": \"Bern\"}"}}


# transformers passes the lists even where there are none
GIVEN = {"bos_token": "<s>", "eos_token": "</s>", "tools": None, "documents": None}


def conversations():
    user = {"role": "user", "content": "  Hi, what's\n\"up\"? é \U0001f600 "}
    system = {"role": "system", "content": "Be brief.\n"}
    answer = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello! "}
    again = {"role": "user", "content": "for (i = 0; i < n; i++) a[i] += 1;"}
    tool = {"role": "tool", "content": "{\"time\": \"12:00\"}", "tool_call_id": "call12345",
            "name": "get_time"}
    parts = {"role": "user", "content": [{"type": "text", "text": "one"},
                                         {"type": "text", "text": "two"}]}
    calls = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    no_content = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    text_calls = {"role": "assistant", "content": "Wait.", "tool_calls": [TEXT_CALL]}
    reasoned = {"role": "assistant", "content": "4", "reasoning_content": "two and two"}
    lists = {"one": [user], "system": [system, user], "turns": [user, answer, again],
             "system_turns": [system, user, answer, again], "answered": [user, answer],
             "parts": [parts], "empty": [{"role": "user", "content": ""}], "none": [],
             "reasoned": [user, reasoned, again], "two_users": [user, again],
             "tool_turn": [system, user, calls, tool, answer, again],
             "tool_last": [user, calls, tool], "two_results": [user, calls, tool, tool],
             "no_content": [user, no_content, tool], "text_calls": [user, text_calls, tool]}
    for name, messages in lists.items():
        for prompt in (True, False):
            more = {**GIVEN, "messages": messages, "add_generation_prompt": prompt}
            yield f"{name}{'' if prompt else '/whole'}", more
            if name in ("one", "system", "tool_turn", "tool_last", "no_content", "text_calls"):
                yield f"{name}/tools{'' if prompt else '/whole'}", {**more, "tools": [TOOL]}
    yield "no_thinking", {**GIVEN, "messages": lists["turns"], "add_generation_prompt": True,
                          "enable_thinking": False}


def case_of(name, template, variables):
    text, error = render(template, variables)
    return {"name": name, "template": template, "variables": variables, "expected": text,
            "error": error}


def run(cases):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        with open(path, "w") as f:
            json.dump({"cases": cases}, f, ensure_ascii=False)
        program = os.environ.get("RENDER", "build/release/tests/template/render")
        out = subprocess.run([program], env={**os.environ, "HPC_TEMPLATE_CASES": path,
                                             "HPC_TEMPLATE_REPORT": "1"},
                             capture_output=True, text=True)
        return [line[5:] for line in out.stdout.splitlines() if line.startswith("CASE ")]


# The server changes these requests before it renders them (docs/serving.md).
CHANGED = ("parts", "text_calls")


def ask(url, body):
    """(status, object)"""
    request = urllib.request.Request(url, json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def compare_server(url, folder):
    import transformers
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    counts = {"equal": 0, "rejected": 0, "WRONG": 0}
    for name, v in conversations():
        if name.startswith(CHANGED):
            continue
        options = {k: v[k] for k in ("tools", "add_generation_prompt") if k in v}
        more = {k: v[k] for k in ("enable_thinking",) if k in v}
        status, ours = ask(url + "/apply-template",
                           {"messages": v["messages"], "return_tokens": True, **options,
                            "chat_template_kwargs": more})
        try:
            text = tokenizer.apply_chat_template(v["messages"], tokenize=False, **options, **more)
            ids = tokenizer.apply_chat_template(v["messages"], tokenize=True, **options, **more)
        except Exception:
            text = ids = None
        if status == 200 and (ours["prompt"], ours["tokens"]) == (text, list(ids or [])):
            counts["equal"] += 1
        elif status in (400, 501) and text is None:
            counts["rejected"] += 1
        else:
            counts["WRONG"] += 1
            print("WRONG", name, status, ours, "expected", text, ids)
    print(folder + ":", ", ".join(f"{n} {k}" for k, n in counts.items()))
    return 1 if counts["WRONG"] else 0


def main():
    if sys.argv[1:2] == ["--server"]:
        return compare_server(sys.argv[2], sys.argv[3])
    if sys.argv[1:2] == ["--fixture"]:
        cases = [case_of(name, text, own_templates.VARIABLES)
                 for name, text in own_templates.CASES]
        for case in cases:
            del case["variables"]
            del case["error" if case["expected"] is not None else "expected"]
            if case["template"] == own_templates.e(case["name"]):
                del case["name"]
        with open(sys.argv[2], "w") as f:
            f.write('{"variables":' + json.dumps(own_templates.VARIABLES) + ',\n"cases":[\n'
                    + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]}\n")
        return 0
    bad = 0
    for path in sys.argv[1:]:
        with open(path, newline="") as f:
            template = f.read()
        results = run([case_of(name, template, v) for name, v in conversations()])
        name = os.path.basename(path)
        counts = {}
        for line in results:
            counts[line.split(" ", 1)[0]] = counts.get(line.split(" ", 1)[0], 0) + 1
        wrong = [line for line in results if line.startswith("WRONG")]
        missing = [line for line in results if line.startswith("UNSUPPORTED")]
        bad += bool(wrong) or not results
        print(f"{name}: " + ", ".join(f"{n} {k.lower()}" for k, n in sorted(counts.items())))
        for line in wrong[:3] + missing[:1]:
            print("   ", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
