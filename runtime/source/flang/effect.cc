/*
 * effect.cc: effects of called procedures. A call of a procedure with a body is expressed by its
 * effects: a function of all that the body reads, and an assignment for each object that it may
 * write. Bodies lie in the file or in the modules that it uses.
 *
 * Storage of common blocks is taken for the unit's own variables (common.cc).
 *
 * Without effects, but with a reason, remain procedures that write scalars from outside, that are
 * recursive, do input or output, or contain code that the tree does not express.
 */
#include <algorithm>

#include "runtime/source/flang/priv.h"

namespace hpc_flang {

using parser::CharBlock;
using semantics::Symbol;

/* ---- bodies ---- */

static std::vector<const Symbol *> dummies_of(const Symbol &s)
{
    std::vector<const Symbol *> out;
    if (const auto *d{s.detailsIf<semantics::SubprogramDetails>()})
        for (const Symbol *a : d->dummyArgs()) out.push_back(a);
    return out;
}

template <typename Subprogram> void Walk::add_body(const Subprogram &s)
{
    const Symbol *symbol{name_of(std::get<0>(s.t).statement).symbol};
    if (!symbol || !symbol->scope()) return;
    bodies[symbol] = {&std::get<parser::ExecutionPart>(s.t).v, symbol->scope(),
                      std::get<0>(s.t).source, dummies_of(*symbol)};
    if (symbol->owner().IsGlobal()) externals[symbol->name().ToString()] = symbol;
    if (const auto &i{std::get<std::optional<parser::InternalSubprogramPart>>(s.t)})
        for (const auto &x : std::get<std::list<parser::InternalSubprogram>>(i->t)) add_body_of(x);
}

template <typename Part> void Walk::add_body_of(const Part &part)
{
    std::visit(
        [&](const auto &x) {
            using X = std::decay_t<decltype(x)>;
            if constexpr (std::is_same_v<X, common::Indirection<parser::FunctionSubprogram>> ||
                          std::is_same_v<X, common::Indirection<parser::SubroutineSubprogram>>)
                add_body(x.value());
            else if constexpr (std::is_same_v<X, common::Indirection<parser::Module>> ||
                               std::is_same_v<X, common::Indirection<parser::Submodule>>)
            {
                const auto &m{std::get<std::optional<parser::ModuleSubprogramPart>>(x.value().t)};
                if (!m) return;
                for (const auto &y : std::get<std::list<parser::ModuleSubprogram>>(m->t))
                    add_body_of(y);
            } else if constexpr (std::is_same_v<X, common::Indirection<parser::MainProgram>>) {
                const auto &m{std::get<std::optional<parser::InternalSubprogramPart>>(x.value().t)};
                if (!m) return;
                for (const auto &y : std::get<std::list<parser::InternalSubprogram>>(m->t))
                    add_body_of(y);
            }
        },
        part.u);
}

void Walk::find_bodies()
{
    for (const Part &part : p.part) {
        const auto &tree{part.parsing->parseTree()};
        if (!tree || part.broken) continue;
        for (const auto &u : tree->v) add_body_of(u);
    }
}

/* ---- the effects of a body, from its nodes ---- */

namespace {

const char not_expressed[]{"contains a construct that is not analysed"};
const char bad_argument[]{"is called with an argument that is not analysed"};
const char pointer_access[]{"accesses memory through a pointer"};
const char volatile_access[]{"accesses a volatile object"};

class Summary {
  public:
    /* Nodes and numbers of the body begin at `nodes` and `values`. */
    Summary(Effect &effect, const Table &table, const std::vector<const Symbol *> &dummies,
            size_t nodes, size_t values)
        : e{effect}, t{table}
    {
        e.argument.resize(dummies.size());
        for (size_t k = 0; k < dummies.size(); k++) {
            const auto found{dummies[k] ? t.symbols.find(dummies[k]) : t.symbols.end()};
            if (found != t.symbols.end()) dummy[found->second] = k;
            fills.emplace_back(dummies[k]);
        }
        for (size_t i = nodes; i < t.node.size(); i++)
            if (t.node[i].kind == HPC_TREE_NUMBER) number[i] = t.value[values++];
        visit(nodes, true);
        for (size_t k = 0; k < fills.size(); k++) e.argument[k].filled = fills[k].first_n();
    }
    size_t failed = 0; /* a node: of the reason why the effects are unknown */

  private:
    Effect &e;
    const Table &t;
    std::map<int32_t, size_t> dummy;
    std::map<size_t, int64_t> number; /* by node */
    bool jumped = false;

    struct Counter {
        int32_t symbol;
        Range range;
    };
    struct Write {
        size_t dummy;
        std::vector<Range> ranges;
    };
    std::vector<Fill> fills;       /* by dummy */
    std::vector<Counter> counters; /* of the loops around, which run from constant to constant */
    std::vector<Write> writes;     /* in these loops */

    /* `sure`: each call runs it, unless a jump came before. */
    void visit(size_t i, bool sure);

    /* `why` completes "The procedure ...", at a node. */
    void fail(size_t i, const std::string &why)
    {
        if (e.state == Effect::UNKNOWN) return;
        e.state = Effect::UNKNOWN;
        e.why.text = why;
        failed = i;
    }
    void children(size_t i, bool sure)
    {
        for (size_t c = i + 1; c < (size_t)t.node[i].end; c = t.node[c].end) visit(c, sure);
    }
    void lvalue(size_t i, bool write, bool sure);
    void of_dummy(size_t k, const Access &a, size_t i, bool write, bool sure);
    bool is_number(size_t i, int64_t *value) const;
    bool ranges_of(std::vector<Range> &out, size_t k, size_t i) const;
    bool counts(Counter *out, size_t loop) const;
    void loop(size_t i, bool sure);
    void of_outside(size_t i, const Access &a, bool write);
    void assign(size_t i, bool sure);
    void call(size_t i, bool sure);
    int subscript(size_t i) const;
};

/* A dummy that is never written counts as its actual argument; else any element. */
int Summary::subscript(size_t i) const
{
    if (t.node[i].kind != HPC_TREE_NAME) return Access::ANY;
    const auto found{dummy.find(t.node[i].symbol)};
    return found == dummy.end() ? (int)Access::ANY : (int)found->second;
}

void Summary::lvalue(size_t i, bool write, bool sure)
{
    Access a;
    const size_t whole{i};
    bool pointer{false};
    while (t.node[i].kind != HPC_TREE_NAME) {
        const hpc_clang_node &n{t.node[i]};
        if (i + 1 >= (size_t)n.end) return fail(i, not_expressed);
        if (n.type >= 0 && (t.type[n.type].flags & HPC_TYPE_VOLATILE))
            return fail(i, volatile_access);
        int at{Access::ANY};
        if (n.kind == HPC_TREE_INDEX) {
            const size_t s{(size_t)t.node[i + 1].end};
            visit(s, sure);
            at = subscript(s);
        } else if (n.kind != HPC_TREE_MEMBER && !(n.kind == HPC_TREE_UNARY && n.op == '*')) {
            return fail(i, not_expressed);
        }
        const int32_t below{t.node[i + 1].type};
        pointer = pointer || (below >= 0 && t.type[below].kind == HPC_TYPE_POINTER);
        a.step.insert(a.step.begin(), {n.kind, n.op, n.type, n.symbol, at});
        i++;
    }
    a.root = t.node[i].symbol;
    a.type = t.node[i].type;
    if (a.root < 0 || t.symbol[a.root].kind != HPC_SYMBOL_VARIABLE) return fail(i, not_expressed);
    if (a.type >= 0 && (t.type[a.type].flags & HPC_TYPE_VOLATILE)) return fail(i, volatile_access);
    const auto found{dummy.find(a.root)};
    const auto from{t.source.find(a.root)};
    if (from == t.source.end()) return fail(i, not_expressed);
    const Symbol &s{*from->second};
    if (found != dummy.end()) {
        if (pointer || s.attrs().test(semantics::Attr::TARGET)) return fail(i, pointer_access);
        of_dummy(found->second, a, whole, write, sure);
    } else if (t.outside[a.root] || semantics::IsSaved(s) || s.test(Symbol::Flag::InNamelist)) {
        of_outside(i, a, write);
    } else if (pointer || s.attrs().test(semantics::Attr::TARGET)) {
        fail(i, pointer_access); /* a local pointer */
    }
}

void Summary::of_dummy(size_t k, const Access &a, size_t i, bool write, bool sure)
{
    Effect::Argument &x{e.argument[k]};
    const bool whole{a.step.empty()};
    std::vector<Range> ranges;
    const bool known{!whole && ranges_of(ranges, k, i)};
    if (!write) {
        x.read = x.read || !(x.kill || (known && fills[k].has(ranges)));
        return;
    }
    x.kill = x.kill || (whole && sure && !jumped && !x.read);
    x.write = true;
    if (!known || !sure || jumped || x.read) return;
    if (counters.empty())
        fills[k].add(ranges);
    else
        writes.push_back({k, ranges});
}

bool Summary::is_number(size_t i, int64_t *value) const
{
    const auto found{number.find(i)};
    if (found == number.end()) return false;
    *value = found->second;
    return true;
}

/* The elements of a dummy that a node names while the loops around run. A counter in two subscripts
 * does not reach all pairs. */
bool Summary::ranges_of(std::vector<Range> &out, size_t k, size_t i) const
{
    std::set<int32_t> used;
    for (; t.node[i].kind == HPC_TREE_INDEX; i++) {
        const hpc_clang_node &s{t.node[t.node[i + 1].end]};
        int64_t value;
        if (is_number((size_t)t.node[i + 1].end, &value)) {
            out.push_back({value, value});
        } else if (s.kind == HPC_TREE_CALL && s.symbol >= 0 &&
                   std::strcmp(&t.name[t.symbol[s.symbol].name], all_elements) == 0)
        {
            out.push_back(fills[k].whole(out.size()));
        } else {
            const auto c{std::find_if(counters.begin(), counters.end(), [&](const Counter &x) {
                return s.kind == HPC_TREE_NAME && x.symbol == s.symbol;
            })};
            if (c == counters.end() || !used.insert(c->symbol).second) return false;
            out.push_back(c->range);
        }
    }
    return t.node[i].kind == HPC_TREE_NAME && out.size() == fills[k].rank();
}

/* A loop from a constant to a constant that is not less, by one. */
bool Summary::counts(Counter *out, size_t loop) const
{
    const size_t first{loop + 1}, last{(size_t)t.node[first].end}, step{(size_t)t.node[last].end};
    const auto operand{[&](size_t i) { return (size_t)t.node[i + 1].end; }};
    int64_t by{0};
    if (step >= (size_t)t.node[loop].end || t.node[first].kind != HPC_TREE_ASSIGN ||
        t.node[last].kind != HPC_TREE_BINARY || t.node[step].kind != HPC_TREE_ASSIGN)
        return false;
    out->symbol = t.node[first + 1].kind == HPC_TREE_NAME ? t.node[first + 1].symbol : -1;
    return out->symbol >= 0 && is_number(operand(first), &out->range.lo) &&
           is_number(operand(last), &out->range.hi) && is_number(operand(step), &by) && by == 1 &&
           out->range.lo <= out->range.hi;
}

/* Elements count when all iterations of the outermost loop are over. */
void Summary::loop(size_t i, bool sure)
{
    Counter c;
    if (!sure || !counts(&c, i)) return children(i, false);
    counters.push_back(c);
    children(i, true);
    counters.pop_back();
    if (!counters.empty()) return;
    for (const Write &w : writes)
        if (!jumped && !e.argument[w.dummy].read) fills[w.dummy].add(w.ranges);
    writes.clear();
}

void Summary::of_outside(size_t i, const Access &a, bool write)
{
    const bool scalar{std::none_of(a.step.begin(), a.step.end(),
                                   [](const Access::Step &s) { return s.kind == HPC_TREE_INDEX; })};
    if (write && scalar)
        return fail(i, t.outside[a.root] ? "changes a variable that outlives it"
                                         : "keeps a saved variable");
    if (!write && scalar) e.scalars.insert(a.root);
    std::vector<Access> &list{write ? e.writes : e.reads};
    if (std::find(list.begin(), list.end(), a) == list.end()) list.push_back(a);
    if (list.size() > 64) fail(i, "accesses too many variables");
}

void Summary::assign(size_t i, bool sure)
{
    const size_t left{i + 1}, right{(size_t)t.node[left].end};
    if (right < (size_t)t.node[i].end) visit(right, sure);
    if (t.node[i].op != '=') lvalue(left, false, sure);
    lvalue(left, true, sure && t.node[i].op == '=');
}

/* Why a procedure that calls this one is not analysed. */
std::string reason_of(const Table &t, int32_t v)
{
    if (v < 0) return not_expressed;
    const hpc_symbol &s{t.symbol[v]};
    const std::string name{&t.name[s.name]};
    if (s.why) return &t.name[s.why];
    if (!s.scope) return name == "exit" ? "may terminate the program" : "reads or writes files";
    return "calls " + name + ", which is not defined in this file";
}

void Summary::call(size_t i, bool sure)
{
    const int32_t v{t.node[i].symbol};
    const bool known{v >= 0 && (t.symbol[v].flags & HPC_SYMBOL_PURE) &&
                     (t.symbol[v].flags & HPC_SYMBOL_CONST)};
    if (!known || i + 1 >= (size_t)t.node[i].end) return fail(i, reason_of(t, v));
    for (size_t c = t.node[i + 1].end; c < (size_t)t.node[i].end; c = t.node[c].end) {
        if (t.node[c].flags & HPC_TREE_BY_REFERENCE) return fail(c, not_expressed);
        visit(c, sure);
    }
}

void Summary::visit(size_t i, bool sure)
{
    if (e.state == Effect::UNKNOWN) return;
    const hpc_clang_node &n{t.node[i]};
    switch (n.kind) {
    case HPC_TREE_NAME:
    case HPC_TREE_INDEX:
    case HPC_TREE_MEMBER: return lvalue(i, false, sure);
    case HPC_TREE_UNARY:
        if (n.op == '*') return lvalue(i, false, sure);
        return children(i, sure);
    case HPC_TREE_ASSIGN: return assign(i, sure);
    case HPC_TREE_CALL: return call(i, sure);
    case HPC_TREE_IF:
        visit(i + 1, sure);
        for (size_t c = t.node[i + 1].end; c < (size_t)n.end; c = t.node[c].end) visit(c, false);
        return;
    case HPC_TREE_FOR: return loop(i, sure);
    case HPC_TREE_WHILE: return children(i, false);
    case HPC_TREE_RETURN:
    case HPC_TREE_GOTO:
    case HPC_TREE_BREAK:
    case HPC_TREE_CONTINUE: jumped = true; return;
    case HPC_TREE_BLOCK:
    case HPC_TREE_BINARY:
    case HPC_TREE_CAST:
    case HPC_TREE_NUMBER:
    case HPC_TREE_FLOAT:
    case HPC_TREE_STRING:
    case HPC_TREE_NOTHING: return children(i, sure);
    default: fail(i, not_expressed);
    }
}

} // namespace

/* A subscript by a dummy that is written, or that has no single value, may be any element. */
static void settle(std::vector<Access> &list, const Effect &e,
                   const std::vector<const Symbol *> &dummies)
{
    for (Access &a : list)
        for (Access::Step &s : a.step)
            if (s.subscript != Access::ANY &&
                (e.argument[s.subscript].write || dummies[s.subscript]->Rank() > 0))
                s.subscript = Access::ANY;
}

static Effect unknown(const char *why)
{
    Effect e;
    e.state = Effect::UNKNOWN;
    e.why.text = why;
    return e;
}

uint32_t Walk::line_of(const hpc_clang_node &n) const
{
    if (n.flags & HPC_TREE_MACRO) return 0;
    return 1 + (uint32_t)std::count(p.text.begin(), p.text.begin() + n.at, '\n');
}

/* The body becomes nodes at the end of the table, for as long as its effects are found. */
Effect Walk::effect_of(const Symbol &s)
{
    enum { NESTED_MOST = 24 };
    const auto body{bodies.find(&s)};
    if (semantics::IsDummy(s)) return unknown("is a dummy procedure");
    if (semantics::IsPointer(s)) return unknown("is a procedure pointer");
    if (body == bodies.end()) return unknown("");
    if (nested >= NESTED_MOST) return unknown("is called through too many procedures");
    const auto [it, added]{effects.try_emplace(&s)};
    Effect &e{it->second};
    if (!added) return e.state == Effect::BUSY ? unknown("is recursive") : e;
    const Body &b{body->second};
    const Kept kept{unit, std::move(loops), std::move(commons), depth, jumps, lost};
    const size_t nodes{t.node.size()}, values{t.value.size()};
    unit = b.scope;
    loops.clear();
    commons.clear();
    jumps = lost = false;
    nested++;
    for (const Symbol *d : b.dummies)
        if (d && !is_opaque(*d)) t.variable(*d, *unit);
    block(*b.block, b.first);
    nested--;
    Effect found{unknown(lost ? not_expressed : "has an ENTRY or an alternate return")};
    if (!lost && !jumps) {
        found = Effect{};
        found.state = Effect::KNOWN;
        const Summary summary{found, t, b.dummies, nodes, values};
        if (found.state == Effect::UNKNOWN) found.why.line = line_of(t.node[summary.failed]);
    }
    if (found.state == Effect::KNOWN) {
        settle(found.reads, found, b.dummies);
        settle(found.writes, found, b.dummies);
    }
    t.node.resize(nodes);
    t.value.resize(values);
    unit = kept.unit;
    loops = kept.loops;
    commons = kept.commons;
    depth = kept.depth;
    jumps = kept.jumps;
    lost = kept.lost;
    return e = found;
}

/* ---- a call by its effects ---- */

/* The procedure that a name stands for: with its body, if one is known. */
const Symbol &Walk::called(const Symbol &s) const
{
    if (bodies.count(&s) || semantics::IsDummy(s) || semantics::IsPointer(s)) return s;
    const auto found{externals.find(s.name().ToString())};
    const bool outside{s.has<semantics::ProcEntityDetails>() || s.owner().IsGlobal()};
    return outside && found != externals.end() ? *found->second : s;
}

/* False: they do not match the dummies, or an argument is not one that the effects cover. */
static bool match(std::vector<const parser::ActualArgSpec *> &out, const Arguments &arguments,
                  const std::vector<const Symbol *> &dummies)
{
    size_t at{0};
    out.assign(dummies.size(), nullptr);
    for (const auto &a : arguments) {
        const auto &keyword{std::get<std::optional<parser::Keyword>>(a.t)};
        size_t k{keyword ? 0 : at++};
        if (keyword)
            while (k < dummies.size() && !(dummies[k] && dummies[k]->name() == keyword->v.source))
                k++;
        if (k >= dummies.size() || !dummies[k]) return false;
        const auto &actual{std::get<parser::ActualArg>(a.t).u};
        if (!std::holds_alternative<common::Indirection<parser::Expr>>(actual)) return false;
        out[k] = &a;
    }
    return true;
}

void Walk::access(const Access &a, const Actuals &actuals, CharBlock where)
{
    const size_t at{t.node.size()};
    end(begin(HPC_TREE_NAME, where, 0, a.type, a.root));
    for (const Access::Step &s : a.step) {
        const int32_t node{wrap(at, (hpc_tree_kind)s.kind, where, s.op, s.type, s.symbol)};
        if (s.kind == HPC_TREE_INDEX) {
            const auto *actual{s.subscript == Access::ANY ? nullptr : actuals[s.subscript]};
            if (actual)
                value(value_of(*actual));
            else
                opaque(some_elements, where);
        }
        end(node);
    }
}

/* `write` makes the left side. `sure`: it is written in each call. */
template <typename Write> void Walk::written(CharBlock where, bool sure, const Write &write)
{
    const int32_t around{sure ? -1 : begin(HPC_TREE_IF, where)};
    if (!sure) opaque("called", where);
    const int32_t node{begin(HPC_TREE_ASSIGN, where, '=')};
    write();
    t.node[node].type = t.node[node + 1].type;
    opaque("called", where);
    end(node);
    if (sure) return;
    nothing(where);
    end(around);
}

int32_t Walk::reads(const Symbol &s, const Effect &e, const Actuals &actuals,
                    const std::vector<const Symbol *> &dummies, CharBlock where, int32_t type)
{
    const int32_t symbol{t.called(s, e.scalars)};
    const int32_t call{begin(HPC_TREE_CALL, where, 0, type, symbol)};
    end(begin(HPC_TREE_NAME, where, 0, -1, symbol));
    for (size_t k = 0; k < actuals.size(); k++) {
        if (!actuals[k]) continue;
        const bool object{std::holds_alternative<common::Indirection<parser::Designator>>(
            value_of(*actuals[k]).u)};
        if (!object || e.argument[k].read)
            argument(*actuals[k], false, spread_of(actuals, dummies, k, 0));
    }
    for (const Access &a : e.reads) access(a, actuals, where);
    end(call);
    return call;
}

bool Walk::take_names(Effect &e)
{
    std::set<int32_t> scalars;
    for (std::vector<Access> *list : {&e.reads, &e.writes})
        for (Access &a : *list)
            if ((a.root = own_name(a.root)) < 0) return false;
    for (int32_t v : e.scalars) scalars.insert(own_name(v));
    e.scalars = scalars;
    return true;
}

bool Walk::lower(Reason &why, const Symbol &symbol, const Arguments &arguments, CharBlock where,
                 int32_t type, bool is_function)
{
    const Symbol &s{called(symbol)};
    Effect e{effect_of(s)};
    Actuals actuals;
    why = e.why;
    if (e.state != Effect::KNOWN) return false;
    const auto &dummies{bodies[&s].dummies};
    const bool writes{!e.writes.empty() ||
                      std::any_of(e.argument.begin(), e.argument.end(),
                                  [](const Effect::Argument &x) { return x.write; })};
    if (is_function && writes) why.text = "is a function that changes its caller's variables";
    if (!match(actuals, arguments, dummies)) why.text = bad_argument;
    if (!take_names(e)) why.text = "uses a common block that this procedure declares differently";
    if (!why.text.empty()) return false;
    const size_t from{t.node.size()}, values{t.value.size()};
    const int before{depth};
    const int32_t around{is_function ? -1 : begin(HPC_TREE_BLOCK, where)};
    reads(s, e, actuals, dummies, where, type);
    for (size_t k = 0; k < actuals.size(); k++) {
        if (!actuals[k] || !e.argument[k].write) continue;
        const auto *d{
            std::get_if<common::Indirection<parser::Designator>>(&value_of(*actuals[k]).u)};
        if (!d) continue; /* a value in parentheses: the procedure may not change it */
        const Effect::Argument &x{e.argument[k]};
        const Spread spread{spread_of(actuals, dummies, k, x.filled)};
        const bool sure{dummies[k]->Rank() == 0
                            ? x.kill
                            : spread.whole || fills(*actuals[k], *dummies[k], x.filled)};
        written(where, sure, [&] { designator(d->value(), spread); });
    }
    for (const Access &a : e.writes) written(where, false, [&] { access(a, actuals, where); });
    if (!is_function) end(around);
    const bool lost_part{
        std::any_of(t.node.begin() + (std::ptrdiff_t)from, t.node.end(),
                    [](const hpc_clang_node &n) { return n.kind == HPC_TREE_OTHER; })};
    if (!lost_part) return true;
    why.text = bad_argument;
    t.node.resize(from);
    t.value.resize(values);
    depth = before;
    return false;
}

/* A procedure reads a variable from outside by its name, and that is not the copy which a clause
 * makes private. Where the unit assigns such a variable, the calls are unknown. */
void Walk::distrust_called(int32_t from)
{
    std::set<int32_t> assigned;
    for (size_t i = (size_t)from; i + 1 < t.node.size(); i++)
        if (t.node[i].kind == HPC_TREE_ASSIGN && t.node[i + 1].symbol >= 0)
            assigned.insert(t.node[i + 1].symbol);
    for (size_t i = (size_t)from; i < t.node.size(); i++) {
        const int32_t v{t.node[i].symbol};
        const auto found{v >= 0 ? t.reads.find(v) : t.reads.end()};
        if (found == t.reads.end()) continue;
        for (int32_t x : found->second)
            if (assigned.count(x)) {
                const std::string name{&t.name[t.symbol[x].name]};
                t.symbol[v].flags &= ~(uint32_t)(HPC_SYMBOL_PURE | HPC_SYMBOL_CONST);
                t.symbol[v].why = t.intern("reads " + name + ", which this procedure assigns");
            }
    }
}

} // namespace hpc_flang
