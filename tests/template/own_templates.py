"""Templates of our own, one for each construct, and the variables that they get."""

VARIABLES = {
    "messages": [{"role": "system", "content": " Be brief. "},
                 {"role": "user", "content": "Hi 'you' \"two\"\n\u00e9\U0001f600 "},
                 {"role": "assistant", "content": "a</think>b", "tool_calls": [
                     {"function": {"name": "f", "arguments": {"x": 1, "y": [0.5, None, True],
                                                              "z": {"b": "\u00e9\t", "a": {}}}}}]},
                 {"role": "tool", "content": "{}"}],
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
    "n": 3,
    "r": 0.1,
    "words": ["b", "A", "c", "a"],
    "table": {"b": 2, "A": 1, "items": [1]},
    "nothing": None,
}


def e(expression):
    return "{{ " + expression + " }}"


EXPRESSIONS = [
    "1 + 2 * 3 - 4 // 3 % 2", "7 / 2", "-7 // 2", "-7 % 3", "7 % -3", "2 * 'ab'", "'a' ~ 1 ~ none",
    "'a' 'b' \"c\"", "not n", "n and 'x' or 'y'", "n == 3 and n != 4", "1 < n <= 3 < 5",
    "'x' if n > 5", "'x' if n > 5 else 'y' if n > 3 else 'z'", "n in [1, 2, 3]", "n not in (1, 2)",
    "'a' in 'abc'", "'b' in table", "missing", "missing is defined", "missing is not defined",
    "missing or 'd'", "missing | default('d')", "'' | default('d')", "'' | default('d', true)",
    "nothing", "true", "[1, 'a', 2.0, none, true, (1,), {}]", "{'a': [1], \"it's\": 'q\"q'}",
    "'\\n\\t\\\\\\'x\\x41\\u00e9'", "words[0] ~ words[-1] ~ words[1:3] ~ words[::-1]",
    "'h\u00e9llo'[1:3] ~ 'h\u00e9llo'[-1] ~ 'h\u00e9llo'[::-1] ~ 'hello'[:-2]", "table.b",
    "table['items']", "table.items is callable", "table.missing is defined", "table['b']",
    "table.get('b') ~ table.get('q') ~ table.get('q', 5)", "messages[0].role",
    "messages[0]['content'] | trim", "messages | length", "'h\u00e9' | length", "1.0", "100000000000000000000.0",
    "0.1 + 0.2", "r", "3.0 * 1", "n | string + 'x'", "'5' | int + 1", "'x' | int(7)", "'1.5' | float",
    "3.9 | int", "-3 | abs", "words | join(', ')", "words | sort | join", "words | sort(reverse=true) | join",
    "words | sort(case_sensitive=true) | join", "words | first ~ words | last", "words | reverse | join",
    "'abc' | reverse", "words | map('upper') | join", "messages | map(attribute='role') | join(' ')",
    "messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list",
    "nothing | selectattr('x') | list ~ nothing | map('upper') | list", "messages | rejectattr('role', 'in', ['user', 'tool']) | list | length",
    "messages | selectattr('tool_calls', 'defined') | list | length", "[0, 1, none, 2] | select | list",
    "[1, 2, 3] | reject('odd') | list", "table | dictsort", "table | items | list", "table.keys() | list",
    "{'b': 2, 'a': 3} | dictsort(by='value', reverse=true)", "[3, 1, 2] | max ~ [3, 1, 2] | min",
    "['a', 'A', 'b'] | unique | list", "'a b' | upper ~ 'A B' | lower ~ 'ab CD' | capitalize",
    "'ab cd'.title()", "'aXbXc' | replace('X', '-')", "'aXbXc'.replace('X', '-', 1)",
    "'a\nb\n\nc' | indent", "'a\nb' | indent(2, true)", "'a,b,,c'.split(',')", "' a  b '.split()",
    "'a,b,c'.split(',', 1)", "'a,b,c'.rsplit(',', 1)", "'a</think>b'.split('</think>')[-1].lstrip('\\n')",
    "'xxaxx'.strip('x') ~ 'xxa'.lstrip('x') ~ 'axx'.rstrip('x')", "' \u00a0a\u2003 '.strip()",
    "'abc'.startswith('ab') ~ 'abc'.endswith(('x', 'c'))", "'abcabc'.find('c') ~ 'abcabc'.rfind('c') ~ 'abc'.find('q')",
    "'abcabc'.count('b')", "'{} and {a}{{'.format(1, a=3)",
    "'a\nb'.splitlines()", "'-'.join(words)", "'12'.isdigit()", "messages[2].tool_calls | tojson",
    "messages[2].tool_calls | tojson(indent=2)", "messages[1].content | tojson(ensure_ascii=true)",
    "table | tojson(sort_keys=true, separators=(',', ':'))", "[] | tojson ~ {} | tojson(indent=4)",
    "'<' + ('&' | safe) + \"'\\\"\"", "'<' ~ ('&' | safe) ~ '>'", "['<', '>' | safe] | join('&')", "1.0 | tojson ~ none | tojson ~ true | tojson", "'<b>' | tojson | safe", "range(3) | list",
    "range(5, 0, -2) | list", "dict(a=1, b=2)", "namespace(a=1).a", "n is number ~ n is string ~ r is float",
    "true is number ~ true is integer ~ true is boolean", "words is iterable ~ words is sequence ~ words is mapping",
    "table is mapping ~ 'a' is sequence ~ 3 is iterable", "nothing is none ~ n is odd ~ n is even ~ 6 is divisibleby 3",
    "n is eq(3) ~ n is gt(2) ~ n is in([3])", "true is true ~ 1 is true ~ false is false", "'a' is lower ~ 'A' is upper",
    "[1, 2] == [1, 2] ~ {'a': 1} == {'a': 1.0}", "(1, 2) < (1, 3)", "[1] + [2]", "not missing and not nothing",
    "missing == none", "missing | length", "missing | list", "[missing] | tojson", "missing.a", "missing + 'a'",
    "n.a", "'a' + 1", "nothing + 'a'", "table.pop('b')", "words | map(attribute='x') | list | length", "1 if n else missing.x",
    "words | map('upper') | reverse | tojson", "-n", "-(0 | float)", "words | sort(attribute='x') | join", "messages[0] in table", "missing | int", "2.0 is even ~ 3.0 is odd", "-(n | abs)", "n * n", "1_000", "'a' * 0", "messages[9]", "messages[9].role",
    "(words | selectattr('x')) is string", "loop is defined", "'%' ~ 5", "'\u00e9' ~ '\\'' ", "['\u00e9', '\\n', \"'\"]",
]

STATEMENTS = {
    "if": "{% if n == 1 %}a{% elif n == 3 %}b{% else %}c{% endif %}",
    "for": "{% for w in words %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}"
           "{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}"
           "{{ loop.cycle('x', 'y') }}{{ loop.changed(loop.index // 2) }};{% endfor %}",
    "for_else": "{% for w in [] %}a{% else %}none{% endfor %}{% for w in missing %}a{% endfor %}",
    "for_if": "{% for w in words if w != 'A' %}{{ loop.index }}{{ w }}{% endfor %}",
    "for_pairs": "{% for k, v in table.items() %}{{ k }}={{ v }};{% endfor %}"
                 "{% for k, v in table | items %}{{ k }}={{ v }};{% endfor %}",
    "for_text": "{% for c in 'h\u00e9' %}[{{ c }}]{% endfor %}{% for k in table %}{{ k }}{% endfor %}",
    "nested_for": "{% for a in [1, 2] %}{% for b in 'xy' %}{{ loop.index }}{{ a }}{{ b }}"
                  "{% endfor %}{{ loop.index }}{% endfor %}",
    "break": "{% for a in [1, 2, 3, 4] %}{% if a == 2 %}{% continue %}{% endif %}"
             "{% if a == 4 %}{% break %}{% endif %}{{ a }}{% endfor %}",
    "set": "{% set a = 1 %}{% set a, b = 2, 3 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}",
    "set_scope": "{% set a = 1 %}{% for k in [1, 2] %}{{ a }}{% set a = a + 5 %}{{ a }}{% endfor %}"
                 "{{ a }}{% if true %}{% set a = 9 %}{% endif %}{{ a }}",
    "set_block": "{% set a %}x{{ n }}\n{% endset %}[{{ a }}]{% set b | upper | trim %} y {% endset %}"
                 "[{{ b }}]",
    "namespace": "{% set ns = namespace(found=false, k=0) %}{% for w in words %}"
                 "{% set ns.k = ns.k + 1 %}{% if w == 'c' %}{% set ns.found = true %}{% endif %}"
                 "{% endfor %}{{ ns.found }}{{ ns.k }}{{ ns.other is defined }}",
    "macro": "{% macro f(a, b='x', c=a) %}({{ a }}{{ b }}{{ c }}{{ n }}){% endmacro %}"
             "{{ f(1) }}{{ f(1, 2) }}{{ f(b=3, a=4) }}{{ f() }}{{ f is callable }}",
    "macro_recursion": "{% macro f(k) %}{{ k }}{% if k > 0 %}{{ f(k - 1) }}{% endif %}"
                       "{% endmacro %}{{ f(3) | trim }}",
    "macro_scope": "{% macro f() %}{{ a }}{% endmacro %}{% set a = 7 %}{{ f() }}",
    "macro_bad": "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}",
    "macro_keyword": "{% macro f(a) %}{% endmacro %}{{ f(q=2) }}",
    "filter_block": "{% filter upper %}a{{ n }}b{% endfilter %}",
    "with": "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "generation": "{% generation %}a{{ n }}{% endgeneration %}",
    "raw": "{% raw %}\n{{ a }}{% b %}{% endraw %}\nx{%- raw -%} {{ y }} {%- endraw -%} z",
    "comment": "a {# {{ b }} #} c\n  {# d #}\ne\n{#- f -#}\n g",
    "trim_blocks": "a\n{% if true %}\nb\n{% endif %}\n\nc\n",
    "lstrip_blocks": "  {% if true %}\n    x\n  {% endif %}  \n  {{ n }}\n y {% if true %}z{% endif %}",
    "minus": "a \n {%- if true -%} \n b \n {%- endif %} c {{- n -}} \n d {{ n -}} \n",
    "plus": "  {%+ if true %}a\n{%+ endif +%}\nb",
    "trailing_newlines": "a\n\n",
    "crlf": "a\r\n{% if true %}\r\nb\r{% endif %}\r\nc\r\n",
    "wide_blanks": "a\u00a0\u2003{%- if true -%}\u3000b {{- 'c' -}} \u00a0{% endif %}",
    "comment_at_end": "a{#",
    "braces": "{{ {'a': {'b': 1}}['a'] }}{{ {'a': '}}'} }}",
    "raise": "{{ raise_exception('no ' ~ n) }}",
    "raise_unused": "{% if false %}{{ raise_exception('no') }}{% endif %}ok",
    "unpack_bad": "{% set a, b = [1] %}",
    "date": "{{ strftime_now('%Y') | length }}{% if strftime_now is defined %}y{% endif %}",
    "generator_once": "{% set g = words | map('upper') %}{{ g | list }}{{ g | list }}"
                      "{% if words | select('string') %}t{% endif %}",
    "tuple_print": "{{ 1, 2 }}",
    "chat_marks": "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + "
                  "'<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}"
                  "{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "chat_system": "{%- if messages[0].role == 'system' %}\n    {%- set system = messages[0].content"
                   " | trim %}\n    {%- set rest = messages[1:] %}\n{%- else %}\n    {%- set rest = "
                   "messages %}\n{%- endif %}\n{{- bos_token }}\n{%- for m in rest %}\n    {%- if "
                   "(m.role == 'user') != (loop.index0 % 2 == 0) and m.role != 'tool' %}\n        "
                   "{{- raise_exception('order') }}\n    {%- endif %}\n    {%- if loop.first and "
                   "system is defined %}\n        {{- '[S]' ~ system ~ '[/S]\\n' }}\n    {%- endif "
                   "%}\n    {%- if m.tool_calls %}\n        {%- for c in m.tool_calls %}\n            "
                   "{{- '<call>' }}{{- c.function.name }}: {{ c.function.arguments | tojson }}\n"
                   "        {%- endfor %}\n    {%- else %}\n        {{- m.role + ': ' + m.content }}"
                   "\n    {%- endif %}\n{%- endfor %}\n",
}

CASES = [(t, e(t)) for t in EXPRESSIONS] + list(STATEMENTS.items())
