"""experts_clauses.py: whether two OpenMP directives of one loop say the same of its data.

What is compared is what each variable becomes, not how it is written: a private of what is declared in the
loop, of its counter or of what it never names says nothing; neither do shared, default, and a firstprivate of
what the loop never assigns; a lastprivate of what nobody reads behind the loop is a private. A reduction must
have its operator and its variable; "-" is "+". What is about speed (schedule, collapse, simd, nowait, if,
num_threads, proc_bind) is kept apart. There is no syntax tree here: names are looked for in the text of the
loop, of its function and of the parallel region around it, with comments and strings taken out.
"""
import re

DATA = ("private", "firstprivate", "lastprivate", "linear", "reduction")
SPEED = ("schedule", "collapse", "num_threads", "if", "nowait", "proc_bind", "simd", "safelen", "simdlen",
         "aligned", "ordered", "dist_schedule", "num_teams", "thread_limit", "target", "teams", "map", "device")


def blank(text):
    """The text without comments and strings, each line where it was."""
    def away(m):
        return re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', away, text, flags=re.S)


def split(text, by=","):
    """At `by`, outside of brackets."""
    out, depth, last = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([{"
        depth -= c in ")]}"
        if c == by and depth == 0:
            out.append(text[last:i])
            last = i + 1
    return [x.strip() for x in out + [text[last:]] if x.strip()]


def parse(directive):
    """[(clause, argument or None)] in their order, the directive's words among them."""
    s = re.sub(r"^\s*#\s*pragma\s+omp\b|^\s*_Pragma\s*\(", "", directive)
    out, i = [], 0
    for m in iter(lambda: re.compile(r"[\s,]*([A-Za-z_]\w*)\s*").match(s, i), None):
        i = m.end()
        arg = None
        if i < len(s) and s[i] == "(":
            depth, j = 0, i
            while j < len(s):
                depth += s[j] == "("
                depth -= s[j] == ")"
                j += 1
                if depth == 0:
                    break
            arg, i = s[i + 1:j - 1].strip(), j
        out.append((m.group(1), arg))
    return out


def variables(arg):
    """Names of a clause's list, sections cut off."""
    names = [re.sub(r"\s*\[.*$", "", x) for x in split(arg or "")]
    return [re.sub(r"^this->|^.*::", "", x) for x in names]


def data_of(directive):
    """{variable: (clause, operator)}, {clause of speed: argument}, default: None, none, private..."""
    data, speed, default = {}, {}, None
    for word, arg in parse(directive):
        if word == "reduction":
            op, _, rest = (arg or "").partition(":")
            op = op.split(",")[-1].strip().replace("-", "+")
            for v in variables(rest):
                data[v] = ("reduction", op)
        elif word == "lastprivate":
            for v in variables((arg or "").split(":")[-1]):
                data[v] = ("lastprivate", "")
        elif word in ("private", "firstprivate", "linear"):
            for v in variables((arg or "").split(":")[0]):
                both = {word, data.get(v, ("",))[0]} == {"firstprivate", "lastprivate"}
                data[v] = ("lastprivate" if both else word, "")
        elif word == "default":
            default = arg
        elif word in SPEED:
            speed[word] = re.sub(r"\s+", "", arg or "")
    if speed.get("schedule", "").startswith("static"):
        del speed["schedule"]
    return data, speed, default


def assigned(name, text):
    """Whether the text assigns it as a whole, or takes its address."""
    n = r"(?<![\w.>])" + re.escape(name)
    return re.search(n + r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)", text) or re.search(n + r"\s*(?:\+\+|--)", text) \
        or re.search(r"(?:\+\+|--)\s*" + re.escape(name) + r"\b", text) \
        or re.search(r"(?<!&)&\s*" + re.escape(name) + r"\b(?!\s*\[)", text)


def declared(name, text):
    """Whether it looks to be declared in the text: a type stands right before it."""
    pattern = r"[\w>\]][\s*&]+(?:\w+\s*(?:=[^;,]*)?,\s*\*?\s*)*" + re.escape(name) + r"\s*(?:[=;,\[{(:]|$)"
    for m in re.finditer(pattern, text, re.M):
        if not re.search(r"\b(return|else|goto|case|delete|throw)\b", m.group(0)):
            return True
    return False


class Place:
    """A loop in its file: its text, what follows in the function, and the parallel region around it."""

    def __init__(self, lines, loop, directive):
        """lines: of the blanked file."""
        self.text = "\n".join(lines[loop["line"] - 1:loop["end_line"]])
        self.head = self.text.split("{")[0]
        m = re.search(r"\bfor\s*\(\s*(?:[\w:<>*&\s]*?[\s*&])?(\w+)\s*[=:{(]", self.head)
        self.counter = m.group(1) if m else ""
        self.counters = re.findall(r"\bfor\s*\(\s*(?:[\w:<>*&\s]*?[\s*&])?(\w+)\s*=", self.text)
        depth, behind = 0, []
        for line in lines[loop["end_line"]:]:
            behind.append(line)
            depth += line.count("{") - line.count("}")
            if line.startswith("}"):
                break
        self.behind = "\n".join(behind)
        self.region, self.between = "", ""
        if not re.search(r"\bparallel\b", directive):
            for k in range(loop["line"] - 1, max(0, loop["line"] - 400), -1):
                if re.match(r"\s*#\s*pragma\s+omp\s+parallel\b(?!.*\bfor\b)", lines[k - 1]):
                    self.region, self.between = lines[k - 1], "\n".join(lines[k:loop["line"] - 1])
                    break

    def dead(self, name):
        """Whether what is named first behind the loop assigns it, or nothing does."""
        m = re.search(r"(?<![\w.>])" + re.escape(name) + r"\b", self.behind)
        return not m or bool(re.match(re.escape(name) + r"\s*=(?!=)", self.behind[m.start():]))


def normal(data, place, collapse):
    """What is left of the clauses when what says nothing is taken out."""
    out = {}
    for v, (clause, op) in data.items():
        nothing = v == place.counter or not re.search(r"\b" + re.escape(v) + r"\b", place.text)
        if collapse and v in place.counters[:collapse]:
            nothing = True
        if clause in ("private", "lastprivate", "linear") and nothing and place.dead(v):
            continue
        if clause == "private" and declared(v, place.text):
            continue
        if clause == "firstprivate" and not assigned(v, place.text):
            continue
        if clause == "firstprivate":
            clause = "private"
        if clause == "lastprivate" and place.dead(v):
            clause = "private"
        out[v] = (clause, op)
    return out


def compare(ours, experts, place):
    """(data differ: list of texts, speed alike: bool)"""
    a, speed_a, _ = data_of(ours)
    b, speed_b, default = data_of(experts)
    around = data_of(place.region)[0] if place.region else {}
    for v in around:
        b.setdefault(v, around[v])
    deep = int(speed_b["collapse"]) if speed_b.get("collapse", "").isdigit() else 0
    a, b = normal(a, place, deep), normal(b, place, deep)
    differ = []
    for v in sorted(set(a) | set(b)):
        x, y = a.get(v), b.get(v)
        if x == y:
            continue
        if x and not y and x[0] == "private" and (default == "private" or declared(v, place.between)):
            continue
        if not y and v in place.between and place.region and x[0] == "lastprivate" and declared(v, place.between):
            continue
        if not x and v in around and y[0] != "reduction":
            continue
        say = ["%s(%s%s)" % (c[0], c[1] + ":" if c[1] else "", v) if c else "none" for c in (x, y)]
        differ.append(f"{v}: {say[0]}, the expert {say[1]}")
    return differ, speed_a == speed_b
