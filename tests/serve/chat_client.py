#!/usr/bin/env python3
"""Chats of the Python client `openai` with a running server: chat_client.py http://HOST:PORT

The model needs a chat template. Exits 77 if the client is not installed.
"""
import sys

try:
    import openai
except ImportError:
    print("SKIP: the Python package openai is not installed")
    sys.exit(77)

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
messages = [{"role": "system", "content": "You are brief."},
            {"role": "user", "content": "What is the capital of France?"}]
common = {"model": model, "messages": messages, "temperature": 0, "max_tokens": 24}


def check(condition, *what):
    if not condition:
        print("FAILED:", *what)
        sys.exit(1)


def raises(kind, **more):
    try:
        client.chat.completions.create(**{**common, **more})
    except kind as e:
        return str(e)
    check(False, more, "should fail with", kind)


whole = client.chat.completions.create(**common)
text = whole.choices[0].message.content
check(whole.choices[0].message.role == "assistant" and text, whole)
check(whole.choices[0].finish_reason in ("stop", "length"), whole)
check(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, whole)
check("<|" not in text, text)

parts, usage, finish = [], None, None
for chunk in client.chat.completions.create(**common, stream=True,
                                            stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        parts.append(choice.delta.content or "")
        finish = choice.finish_reason or finish
check("".join(parts) == text, parts, text)
check((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
      == (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens),
      usage, whole.usage)  # the second prompt is in the cache
check(finish == whole.choices[0].finish_reason, finish)

with client.chat.completions.stream(**common) as stream:  # joins the deltas itself
    for _ in stream:
        pass
    final = stream.current_completion_snapshot
check(final.choices[0].message.content == text, final)
check(final.choices[0].message.role == "assistant", final)

several = client.chat.completions.create(**{**common, "temperature": 1}, n=3, seed=1)
check([c.index for c in several.choices] == [0, 1, 2], several)
cut = client.chat.completions.create(**common, stop=[" "])
check(cut.choices[0].message.content == text.split(" ")[0], cut, text)
check(cut.choices[0].finish_reason == "stop", cut)
check(client.chat.completions.create(**{**common, "max_tokens": 1}).choices[0].finish_reason
      == "length", "max_tokens")

raises(openai.BadRequestError, messages=[])
raises(openai.BadRequestError, messages=[{"role": "user", "content": 3}])
raises(openai.InternalServerError, tools=[{"type": "function", "function": {"name": "f"}}])
print("openai", openai.__version__, "chats:", repr(text))
