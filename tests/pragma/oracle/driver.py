"""Writes the C that calls each function of a file with inputs by chance: its parameters, the
file's globals, what is declared and not defined there, and what is shown afterwards."""
import re
import syntax as s

SIZES = re.compile(r"^(n|m|l|nx|ny|nz|rows?|cols?|columns|count|len|length|size|w|h|width|height|"
                   r"ld|bins|steps|bytes|words|\w+_n|n_\w*|n\d)$")
LIKE_SIZES = re.compile(r"^n|num|size|dim|count|rows|cols|len|width|height|total|max|end|last|"
                        r"upper", re.I)
DEFINED_BY_LIBRARY = re.compile(r"^(__|printf|malloc|free)")


def size_kind(t):
    """The letter of a number's kind in inputs.c and its name, or None."""
    name = re.sub(r"\b(const|volatile|restrict|unsigned|signed) ?", "", t.name()).strip() or "int"
    atomic = re.match(r"_Atomic\((.*)\)", name)
    if t.kind == s.BOOL or name == "_Bool":
        return "B:bool"
    if t.kind == s.COMPLEX:
        return ("z:" if "double" in name else "c:") + "complex"
    letters = {s.FLOAT: "f", s.DOUBLE: "d", s.LONG_DOUBLE: "e"}
    if t.kind in letters:
        return f"{letters[t.kind]}:{name}"
    if atomic or t.kind in s.INTEGERS or t.kind == s.ENUM_TYPE:
        letter = {1: "b", 2: "s", 4: "i", 8: "l"}[t.size()]
        return letter + ":" + (atomic.group(0) if atomic else name)
    return None


class Driver:
    def __init__(self, unit, source, headers=False, without=(), cpp=False):
        """headers: it is a file of somebody's program: functions of that program's headers get
        bodies as well (but for those in `without`), records within records are few, and members
        that cannot be filled are left as zero."""
        self.unit, self.source, self.headers, self.without = unit, source, headers, without
        self.before, self.records, self.stubs = [], {}, 0
        self.cpp = cpp

    # ---- values ----
    def record(self, t):
        """The number of a record's fill and show functions."""
        name = t.name().replace("const ", "").replace("volatile ", "")
        if name in self.records:
            return self.records[name]
        number = self.records[name] = len(self.records)
        fill, show = [], []
        for f in t.declaration().children():
            if f.kind != s.FIELD:
                continue
            place, kind = f"p->{f.name()}", f.type().canonical()
            if t.declaration().kind == s.UNION and fill:
                break
            if kind.kind == s.POINTER and kind.pointee().canonical().name() == name:
                fill.append(f"{place} = i + 1 < n && i % 7 < 6 ? p + 1 : 0;")
                continue
            try:
                self.fill(kind, place, fill, f.name(), inner=True)
                self.show(kind, place, show)
            except ValueError:
                if not self.headers:
                    raise
        if self.headers:  # records may lead to each other in a circle
            fill = ["static int depth; if (depth > 1) return; depth++;", *fill, "depth--;"]
        self.before.append(f"static void fill_{number}({name} *p, long i, long n);\n"
                           f"static void show_{number}(void *q);")
        self.before.append(f"static void fill_{number}({name} *p, long i, long n)\n{{\n"
                           f"    (void)i, (void)n, (void)p;\n    {' '.join(fill)}\n}}\n"
                           f"static void show_{number}(void *q)\n{{\n    {name} *p = q;\n"
                           f"    (void)p;\n    {' '.join(show)}\n}}")
        return number

    def function(self, t):
        """A function of a type, for a parameter that points to one."""
        self.stubs += 1
        name = f"oracle_stub_{self.stubs}"
        self.stub(name, t.result(), t.arguments(), "static ")
        return name

    def stub(self, name, result, arguments, how="", fresh=False):
        """A function that depends on its arguments alone, and on what they point to."""
        terms, at = ["1.5"], "0"
        for i, a in enumerate(arguments):
            if size_kind(a.canonical()) and a.canonical().kind != s.COMPLEX:
                terms.append(f"0.5 * (double)a{i}")
                if a.canonical().kind in s.INTEGERS: at = f"(a{i} & 7)"
        for i, a in enumerate(arguments):
            to = a.canonical().pointee()
            if a.canonical().kind == s.POINTER and size_kind(to):
                terms.append(f"(double)a{i}[{at}]")
        spelled = ", ".join(f"{a.name()} a{i}" for i, a in enumerate(arguments)) or "void"
        if "(" in spelled or "[" in spelled:
            return
        body = []
        kind = result.canonical()
        for i in range(len(arguments)):
            body.append(f"(void)a{i};")
        if size_kind(kind):
            body.append(f"return ({result.name()})({' + '.join(terms)});")
        elif kind.kind == s.POINTER:
            body.append(f"{result.name()} r;")
            self.fill(kind, "r", body, "r", fresh=fresh)
            body.append("return r;")
        elif kind.kind != s.VOID:
            body.append(f"static {result.name()} r; return r;")
        self.before.append(f"{how}{result.name()} {name}({spelled})\n{{\n    {' '.join(body)}\n}}")

    def pointer(self, t, place, out, restrict, inner, fresh):
        to = t.pointee() if t.kind == s.POINTER else t.element()
        to = to.canonical()
        while to.kind in (s.CONSTANT_ARRAY, s.OPEN_ARRAY, s.VARIABLE_ARRAY):
            to = to.element().canonical()
        alone = int(bool(restrict or t.restrict() or fresh))
        lo, hi = (1, 7) if self.headers and inner else (8, 40)
        room = "60, 500" if inner else "400, 6000"
        name = to.name().replace("const ", "").replace("volatile ", "")
        if to.kind in (s.PROTO, s.NO_PROTO):
            out.append(f"{place} = {self.function(to)};")
        elif to.kind == s.VOID:
            out.append(f'{place} = oracle_buffer("d:double", 8, {room}, {alone});')
        elif size_kind(to):
            out.append(f'{place} = oracle_buffer("{size_kind(to)}", sizeof({name}), {room}, '
                       f"{alone});")
            if self.headers and to.kind in s.INTEGERS and to.size() >= 4:  # often it is one number
                out.append(f"if (oracle_is_new() && oracle_int(0) > 0) *({name} *){place} = "
                           "oracle_int(0) > 2 ? 1 : oracle_int(1);")
        elif "pthread_mutex" in name:
            out.append(f"{place} = calloc(48, sizeof({name}));")
        elif "_IO_FILE" in name:
            out.append(f'{place} = fopen("/dev/null", "r+");')
        elif to.kind == s.POINTER:
            inside = []
            self.fill(to, "q[k]", inside, "", inner=True, fresh=fresh)
            name = to.name()
            out.append(f'{{ void *v = oracle_buffer("p:{name}", sizeof(void *), {lo}, {hi}, '
                       f"{alone}); {place} = v; "
                       f"if (oracle_is_new()) {{ void **q = (void **)v - {lo}; "
                       f"for (int k = 0; k < {lo + hi}; k++) {{ {' '.join(inside)} }} }} }}")
        elif to.kind == s.RECORD:
            if to.declaration().definition().null():
                if not self.headers:
                    raise ValueError("a pointer to what is not known")
                out.append(f"{place} = calloc(1, 4096);")  # MPI_Comm and the like
                return
            n = self.record(to)
            out.append(f'{{ {name} *q = oracle_buffer("r:{name}", sizeof({name}), {lo}, {hi}, '
                       f"{alone}); {place} = q; if (oracle_is_new()) {{ "
                       f"oracle_records(show_{n}, q - {lo}, sizeof *q, {lo + hi}); "
                       f"for (int k = -{lo}; k < {hi}; k++) fill_{n}(q + k, k, {hi}); }} }}")
        else:
            raise ValueError(f"a pointer to {name}")

    def fill(self, t, place, out, name, restrict=False, inner=False, fresh=False):
        """Statements that give a place of a type a value."""
        t = t.canonical()
        if t.kind in (s.FLOAT, s.DOUBLE, s.LONG_DOUBLE, s.COMPLEX):
            out.append(f"{place} = oracle_real();")
        elif size_kind(t):
            hint = int(bool(SIZES.match(name) or self.headers and LIKE_SIZES.search(name)))
            below = " & 1" if t.kind == s.BOOL or t.kind == s.ENUM_TYPE else ""
            out.append(f"{place} = oracle_int({hint}){below};")
        elif t.kind == s.POINTER or t.kind in (s.OPEN_ARRAY, s.VARIABLE_ARRAY):
            self.pointer(t, place, out, restrict, inner, fresh)
        elif t.kind == s.CONSTANT_ARRAY:
            inside, k = [], f"k{len(place)}"
            self.fill(t.element(), f"{place}[{k}]", inside, "", inner=True, fresh=fresh)
            out.append(f"for (int {k} = 0; {k} < {t.count()}; {k}++) {{ {' '.join(inside)} }}")
        elif t.kind == s.RECORD and t.declaration().anonymous():
            for f in t.declaration().children():
                if f.kind == s.FIELD:
                    self.fill(f.type(), f"{place}.{f.name()}", out, f.name(), inner=True)
        elif t.kind == s.RECORD and "pthread" in t.name():
            pass
        elif t.kind == s.RECORD:
            out.append(f"fill_{self.record(t)}(&{place}, 0, 1);")
        else:
            raise ValueError(f"a value of {t.name()}")

    def show(self, t, place, out):
        t = t.canonical()
        if t.kind == s.COMPLEX:
            out.append(f"oracle_shown((double)__real__ {place});")
            out.append(f"oracle_shown((double)__imag__ {place});")
        elif size_kind(t):
            out.append(f"oracle_shown((double){place});")
        elif t.kind == s.CONSTANT_ARRAY:
            inside, k = [], f"k{len(place)}"
            self.show(t.element(), f"{place}[{k}]", inside)
            out.append(f"for (int {k} = 0; {k} < {t.count()}; {k}++) {{ {' '.join(inside)} }}")
        elif t.kind == s.RECORD and t.declaration().anonymous():
            for f in t.declaration().children():
                if f.kind == s.FIELD: self.show(f.type(), f"{place}.{f.name()}", out)
        elif t.kind == s.RECORD and "pthread" not in t.name():
            out.append(f"show_{self.record(t)}(&{place});")

    # ---- the file ----
    def globals(self):
        fill, show, seen = [], [], set()
        if self.cpp:
            return fill, show
        defined = {v.name() for v in self.unit.children()
                   if v.kind == s.VAR and v.here() and not v.extern()}
        for v in self.unit.children():
            t = v.type().canonical() if v.kind == s.VAR and v.here() else None
            if not t or v.name() in seen or t.const():
                continue
            if v.extern() and v.name() in defined:
                continue
            seen.add(v.name())
            if v.extern() and not v.defined():
                name = t.name()
                if t.kind == s.OPEN_ARRAY:
                    self.before.append(f"{t.element().name()} {v.name()}[3000];")
                    kind = size_kind(t.element().canonical())
                    fill.append(f'oracle_adopt("{kind}", {v.name()}, sizeof {v.name()}[0], 3000);')
                    continue
                if t.kind != s.CONSTANT_ARRAY:
                    self.before.append(f"{name} {v.name()};")
            element = t
            while element.kind == s.CONSTANT_ARRAY: element = element.element().canonical()
            if element.const(): continue
            place = v.name()
            if t.kind == s.CONSTANT_ARRAY and size_kind(element):
                one = f"sizeof({element.name()})"
                fill.append(f'oracle_adopt("{size_kind(element)}", &{place}, {one}, '
                            f"sizeof {place} / {one});")
            else:
                self.fill(t, place, fill, place)
                self.show(t, place, show)
        return fill, show

    def undefined(self):
        """Functions that are declared in this file and defined nowhere."""
        all_ = [] if self.cpp else [f for f in self.unit.children() if f.kind == s.FUNCTION]
        done = {f.name() for f in all_ if f.defined()} | set(self.without)
        called = {k.name() for f in all_ if self.headers and f.here() for k in f.walk()
                  if k.kind == s.CALL}
        for f in all_:
            name = f.name()
            if name in done or not (f.here() or (
                    name in called and not f.of_system() and not f.static())):
                continue
            done.add(name)
            arguments = [a.type() for a in f.children() if a.kind == s.PARM]
            if f.here():
                start, end, _ = f.extent()
                self.stub(name, f.result(), arguments,
                          fresh="malloc" in self.source[start - 40:end])
                continue
            try:  # without a body a call of it ends the run, which then counts for nothing
                if not f.type().name().endswith("...)"):
                    self.stub(name, f.result(), arguments, fresh="alloc" in name.lower())
            except ValueError:
                pass

    def qualified(self, f):
        name, p = f.name(), f.parent()
        if self.cpp and f.kind != s.FUNCTION:
            raise ValueError("a function of a class, or a template")
        while self.cpp and p.kind == s.NAMESPACE:
            name = f"{p.name()}::{name}" if p.name() else name
            p = p.parent()
        return name

    def vector(self, t, name, out, hint):
        """A std::vector of numbers."""
        m = re.match(r"(?:const )?std::(?:__1::|__cxx11::)?vector<([\w :]+?)(?:,.*)?>( const)?$",
                     t.name())
        letter = {"float": "f:float", "double": "d:double"}.get(m and m.group(1)) or (
            m and re.search(r"\bbool\b", m.group(1)) is None and
            re.search(r"long", m.group(1)) and "l:long" or
            m and re.search(r"\bint$", m.group(1)) and "i:int")
        if not letter:
            raise ValueError(f"a value of {t.name()}")
        out.append(f"static std::vector<{m.group(1)}> {name}; {name}.assign(600, 0); "
                   f'oracle_fill("{letter}", {name}.data(), sizeof {name}[0], 600);')

    def call(self, f):
        out, names = [], []
        start, end, _ = f.extent()
        body = self.source[start:end].partition("{")[2]
        # What is copied into such a pointer may not overlap either.
        apart = re.search(r"\*restrict ", body)
        for i, a in enumerate(k for k in f.children() if k.kind == s.PARM):
            t = a.type().canonical()
            name = f"a{i}"
            if t.kind in (s.LREF, s.RREF):
                t = t.pointee().canonical()
            if t.kind == s.RECORD and "vector<" in t.name():
                self.vector(t, name, out, a.name())
            elif t.kind in (s.POINTER, s.OPEN_ARRAY, s.VARIABLE_ARRAY, s.CONSTANT_ARRAY):
                restrict = t.restrict() or "restrict" in a.type().name() or apart
                out.append(f"void *{name};")
                if t.kind == s.POINTER and t.pointee().canonical().kind in (s.PROTO, s.NO_PROTO):
                    out[-1] = f"__typeof__({t.pointee().name()}) *{name};"
                self.pointer(t, name, out, restrict, False, False)
            else:
                out.append(f"static {t.name().replace('const ', '')} {name};")
                self.fill(t, name, out, a.name())
            names.append(name)
        call = f"{self.qualified(f)}({', '.join(names)})"
        if size_kind(f.result().canonical()):
            out.append(f"{f.result().name()} result = {call};")
            self.show(f.result(), "result", out)
        else:
            out.append(f"{call};")
        return out

    def text(self, functions):
        """Of (number, function cursor) pairs; and why some cannot be called."""
        calls, refused = [], {}
        self.undefined()
        fill, show = self.globals()
        for number, f in functions:
            try:
                body = self.call(f)
                calls.append(f"static void call_{number}(void)\n{{\n    " +
                             "\n    ".join(body) + "\n}")
            except ValueError as why:
                refused[number] = str(why)
        cases = [f"    case {n}: call_{n}(); break;" for n, _ in functions if n not in refused]
        return "\n".join(
            ["#include <stdio.h>\n#include <stdlib.h>"] + self.before +
            ["void oracle_globals(void)\n{\n    " + "\n    ".join(fill) + "\n}",
             "void oracle_show_globals(void)\n{\n    " + "\n    ".join(show) + "\n}"] + calls +
            ["void oracle_call(int function)\n{\n    switch (function) {"] + cases +
            ["    default: break;\n    }\n}\n"]), refused
