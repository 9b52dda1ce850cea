/*
 * statement.cc: program units, constructs and statements. SELECT CASE is a chain of IF, WHERE an
 * IF for one element. What ends the flow of control is a jump; input and output are calls.
 */
#include "runtime/source/flang/priv.h"

#include <cctype>
#include <cstring>

namespace hpc_flang {

using parser::CharBlock;
using parser::Expr;

template <typename A> static CharBlock first_of(const A &construct)
{
    return std::get<0>(construct.t).source;
}
template <typename A> static CharBlock last_of(const A &construct)
{
    return std::get<std::tuple_size_v<decltype(construct.t)> - 1>(construct.t).source;
}
template <typename A> static CharBlock span_of(const A &construct)
{
    const CharBlock a{first_of(construct)}, b{last_of(construct)};
    return b.begin() >= a.begin() ? CharBlock{a.begin(), b.end()} : a;
}

/* ---- loops ---- */

void Walk::head(const parser::Name &name, const Expr &lower, const Expr &upper, const Expr *step)
{
    const auto by{step ? semantics::GetIntValue(*step) : std::optional<std::int64_t>{1}};
    const CharBlock at{name.source};
    int32_t node{begin(HPC_TREE_ASSIGN, at, '=')};
    name_ref(name, true);
    value(lower);
    end(node);
    cover(node, lower.source);
    if (!by || *by == 0) {
        other(upper.source);
        other(step ? step->source : at);
        return;
    }
    node = begin(HPC_TREE_BINARY, upper.source, *by > 0 ? HPC_OP_LESS_EQUAL : HPC_OP_GREATER_EQUAL);
    name_ref(name, true);
    value(upper);
    end(node);
    node = begin(HPC_TREE_ASSIGN, step ? step->source : at, '+');
    name_ref(name, true);
    number(step ? step->source : at, *by, integer());
    end(node);
}

/* Nested loops over the index names, which live in an iteration. */
void Walk::concurrent(const parser::LoopControl::Concurrent &c, const parser::DoConstruct &d)
{
    const auto &header{std::get<parser::ConcurrentHeader>(c.t)};
    const auto &mask{std::get<std::optional<parser::ScalarLogicalExpr>>(header.t)};
    std::vector<int32_t> open;
    for (const auto &control : std::get<std::list<parser::ConcurrentControl>>(header.t)) {
        const auto &step{std::get<3>(control.t)};
        open.push_back(begin(HPC_TREE_FOR, span_of(d)));
        head(std::get<0>(control.t), std::get<1>(control.t).thing.thing.value(),
             std::get<2>(control.t).thing.thing.value(),
             step ? &step->thing.thing.value() : nullptr);
    }
    if (mask) {
        open.push_back(begin(HPC_TREE_IF, span_of(d)));
        expr(mask->thing.thing.value());
    }
    block(std::get<parser::Block>(d.t), span_of(d));
    if (mask) nothing(span_of(d));
    for (; !open.empty(); open.pop_back()) end(open.back());
}

/* The label of the CONTINUE that ends a block; 0: none. */
static std::uint64_t last_label(const parser::Block &b)
{
    const auto *x{b.empty() ? nullptr : std::get_if<parser::ExecutableConstruct>(&b.back().u)};
    const auto *s{x ? std::get_if<parser::Statement<parser::ActionStmt>>(&x->u) : nullptr};
    const bool idle{s && std::holds_alternative<parser::ContinueStmt>(s->statement.u)};
    return idle && s->label ? *s->label : 0;
}

void Walk::do_construct(const parser::DoConstruct &d)
{
    const auto &name{std::get<0>(std::get<0>(d.t).statement.t)};
    const auto &control{d.GetLoopControl()};
    const CharBlock where{span_of(d)};
    const auto *bounds{control ? std::get_if<parser::LoopControl::Bounds>(&control->u) : nullptr};
    const semantics::Symbol *variable{bounds ? bounds->name.thing.symbol : nullptr};
    loops.push_back({name ? &*name : nullptr, variable ? &variable->GetUltimate() : nullptr,
                     last_label(std::get<parser::Block>(d.t))});
    const auto *all{control ? std::get_if<parser::LoopControl::Concurrent>(&control->u) : nullptr};
    if (all) {
        concurrent(*all, d);
    } else if (bounds) {
        const int32_t node{begin(HPC_TREE_FOR, where)};
        head(bounds->name.thing, bounds->lower.thing.value(), bounds->upper.thing.value(),
             bounds->step ? &bounds->step->thing.value() : nullptr);
        block(std::get<parser::Block>(d.t), where);
        end(node);
    } else {
        const int32_t node{begin(HPC_TREE_WHILE, where)};
        if (control)
            expr(std::get<parser::ScalarLogicalExpr>(control->u).thing.thing.value());
        else
            number(first_of(d), 1, integer());
        block(std::get<parser::Block>(d.t), where);
        end(node);
    }
    loops.pop_back();
}

/* GO TO the CONTINUE that ends the innermost loop. */
bool Walk::ends_iteration(const parser::ActionStmt &a) const
{
    const auto *x{std::get_if<common::Indirection<parser::GotoStmt>>(&a.u)};
    return x && !loops.empty() && loops.back().last != 0 && x->value().v == loops.back().last;
}

/* EXIT and CYCLE of another construct than the innermost loop are jumps like GO TO. */
void Walk::jump(const std::optional<parser::Name> &name, hpc_tree_kind kind, CharBlock where)
{
    const bool own{!loops.empty() &&
                   (!name || (loops.back().name && loops.back().name->source == name->source))};
    leaf(own ? kind : HPC_TREE_GOTO, where);
}

/* ---- branches ---- */

void Walk::if_construct(const parser::IfConstruct &c)
{
    const CharBlock where{span_of(c)};
    std::vector<int32_t> open{begin(HPC_TREE_IF, where)};
    expr(std::get<parser::ScalarLogicalExpr>(std::get<0>(c.t).statement.t).thing.thing.value());
    block(std::get<parser::Block>(c.t), where);
    for (const auto &e : std::get<2>(c.t)) {
        const auto &statement{std::get<0>(e.t)};
        open.push_back(begin(HPC_TREE_IF, statement.source));
        expr(std::get<parser::ScalarLogicalExpr>(statement.statement.t).thing.thing.value());
        block(std::get<parser::Block>(e.t), statement.source);
    }
    const auto &last{std::get<3>(c.t)};
    if (last)
        block(std::get<parser::Block>(last->t), std::get<0>(last->t).source);
    else
        nothing(where);
    for (; !open.empty(); open.pop_back()) end(open.back());
}

void Walk::case_construct(const parser::CaseConstruct &c)
{
    const CharBlock where{span_of(c)};
    std::vector<int32_t> open;
    const int32_t outer{begin(HPC_TREE_BLOCK, where)};
    const parser::Block *otherwise{nullptr};
    for (const auto &k : std::get<1>(c.t)) {
        const auto &statement{std::get<0>(k.t)};
        const auto &selector{std::get<parser::CaseSelector>(statement.statement.t)};
        if (std::holds_alternative<parser::Default>(selector.u)) {
            otherwise = &std::get<parser::Block>(k.t);
            continue;
        }
        open.push_back(begin(HPC_TREE_IF, statement.source));
        const int32_t symbol{t.function("case", HPC_SYMBOL_PURE | HPC_SYMBOL_CONST)};
        const int32_t call{begin(HPC_TREE_CALL, statement.source, 0,
                                 t.intern(hpc_tree_type{HPC_TYPE_BOOL, 0, -1, 0, 4, 0}), symbol)};
        end(begin(HPC_TREE_NAME, statement.source, 0, -1, symbol));
        expr(std::get<1>(std::get<0>(c.t).statement.t).thing);
        end(call);
        block(std::get<parser::Block>(k.t), statement.source);
    }
    if (otherwise)
        block(*otherwise, where);
    else if (!open.empty())
        nothing(where);
    for (; !open.empty(); open.pop_back()) end(open.back());
    end(outer);
}

void Walk::where_bodies(const std::list<parser::WhereBodyConstruct> &l, CharBlock where)
{
    const int32_t node{begin(HPC_TREE_BLOCK, where)};
    for (const auto &b : l) where_body(b);
    end(node);
}

void Walk::where_body(const parser::WhereBodyConstruct &b)
{
    if (const auto *a{std::get_if<parser::Statement<parser::AssignmentStmt>>(&b.u)})
        return assignment(a->statement, a->source);
    if (const auto *c{std::get_if<common::Indirection<parser::WhereConstruct>>(&b.u)})
        return where_construct(c->value());
    const auto &s{std::get<parser::Statement<parser::WhereStmt>>(b.u)};
    const int32_t node{begin(HPC_TREE_IF, s.source)};
    expr(std::get<parser::LogicalExpr>(s.statement.t).thing.value());
    assignment(std::get<parser::AssignmentStmt>(s.statement.t), s.source);
    nothing(s.source);
    end(node);
}

/* Every part reads the mask, and no part is sure to run. */
void Walk::where_construct(const parser::WhereConstruct &c)
{
    const CharBlock where{span_of(c)};
    const Expr &mask{std::get<parser::LogicalExpr>(std::get<0>(c.t).statement.t).thing.value()};
    const int32_t outer{begin(HPC_TREE_BLOCK, where)};
    const auto part{[&](const Expr &condition, const std::list<parser::WhereBodyConstruct> &l) {
        const int32_t node{begin(HPC_TREE_IF, where)};
        expr(condition);
        where_bodies(l, where);
        nothing(where);
        end(node);
    }};
    part(mask, std::get<1>(c.t));
    for (const auto &m : std::get<2>(c.t))
        part(std::get<parser::LogicalExpr>(std::get<0>(m.t).statement.t).thing.value(),
             std::get<1>(m.t));
    if (const auto &e{std::get<3>(c.t)}) part(mask, std::get<1>(e->t));
    end(outer);
}

/* ---- statements ---- */

void Walk::assignment(const parser::AssignmentStmt &a, CharBlock where)
{
    const auto &variable{std::get<parser::Variable>(a.t)};
    const auto *d{std::get_if<common::Indirection<parser::Designator>>(&variable.u)};
    const auto *typed{a.typedAssignment.get()};
    /* Not an intrinsic assignment: a defined one is a call. */
    if (!d || !typed || !typed->v ||
        !std::holds_alternative<evaluate::Assignment::Intrinsic>(typed->v->u))
        return other(where);
    const int32_t node{begin(HPC_TREE_ASSIGN, where, '=')};
    designator(d->value());
    t.node[node].type = t.node[node + 1].type;
    expr(std::get<Expr>(a.t));
    end(node);
}

/* p => x: the value has no arithmetic, and x has an alias from here on. */
void Walk::pointer_assignment(const parser::PointerAssignmentStmt &a, CharBlock where)
{
    const auto &to{std::get<parser::DataRef>(a.t)};
    const auto *n{std::get_if<parser::Name>(&to.u)};
    if (!n || !n->symbol || is_opaque(n->symbol->GetUltimate())) return other(where, true);
    const int32_t node{begin(HPC_TREE_ASSIGN, where, '=')};
    name_ref(*n, false);
    other(std::get<Expr>(a.t).source, true);
    end(node);
}

void Walk::call(const parser::CallStmt &c, CharBlock where)
{
    const auto *name{std::get_if<parser::Name>(&std::get<parser::ProcedureDesignator>(c.call.t).u)};
    const auto *typed{c.typedCall.get()};
    const semantics::Symbol *target{typed ? typed->proc().GetSymbol() : nullptr};
    if (!name || !name->symbol) return other(where, true);
    const auto &arguments{std::get<std::list<parser::ActualArgSpec>>(c.call.t)};
    if (!target) target = name->symbol;
    Reason why;
    if (lower(why, target->GetUltimate(), arguments, where, -1, false)) return;
    const int32_t symbol{t.refused(t.procedure(name->symbol->GetUltimate()), why)};
    t.symbol[symbol].flags &= ~(uint32_t)HPC_SYMBOL_PURE; /* it writes through its arguments */
    const int32_t node{begin(HPC_TREE_CALL, where, 0, -1, symbol)};
    end(begin(HPC_TREE_NAME, name->source, 0, -1, symbol));
    for (const auto &a : arguments) {
        const auto &u{std::get<parser::ActualArg>(a.t).u};
        jumps = jumps || std::holds_alternative<parser::AltReturnSpec>(u);
        argument(a, true, {Spread::ALL});
    }
    end(node);
}

/* Input and output, and what ends the program: a call that the analysis knows by name. */
static const char *known_statement(const parser::ActionStmt &a)
{
    return std::visit(
        [](const auto &x) -> const char * {
            using X = std::decay_t<decltype(x)>;
            if constexpr (std::is_same_v<X, common::Indirection<parser::StopStmt>> ||
                          std::is_same_v<X, common::Indirection<parser::PauseStmt>> ||
                          std::is_same_v<X, parser::FailImageStmt>)
                return "exit";
            else if constexpr (std::is_same_v<X, common::Indirection<parser::ReadStmt>>)
                return "read";
            else if constexpr (std::is_same_v<X, common::Indirection<parser::PrintStmt>> ||
                               std::is_same_v<X, common::Indirection<parser::WriteStmt>>)
                return "write";
            else if constexpr (std::is_same_v<X, common::Indirection<parser::OpenStmt>>)
                return "open";
            else if constexpr (std::is_same_v<X, common::Indirection<parser::CloseStmt>> ||
                               std::is_same_v<X, common::Indirection<parser::BackspaceStmt>> ||
                               std::is_same_v<X, common::Indirection<parser::EndfileStmt>> ||
                               std::is_same_v<X, common::Indirection<parser::FlushStmt>> ||
                               std::is_same_v<X, common::Indirection<parser::InquireStmt>> ||
                               std::is_same_v<X, common::Indirection<parser::RewindStmt>>)
                return "close";
            return nullptr;
        },
        a.u);
}

static bool is_jump(const parser::ActionStmt &a)
{
    return std::holds_alternative<common::Indirection<parser::GotoStmt>>(a.u) ||
           std::holds_alternative<common::Indirection<parser::ComputedGotoStmt>>(a.u) ||
           std::holds_alternative<common::Indirection<parser::ArithmeticIfStmt>>(a.u) ||
           std::holds_alternative<common::Indirection<parser::AssignedGotoStmt>>(a.u);
}

void Walk::action(const parser::ActionStmt &a, CharBlock where)
{
    if (const auto *x{std::get_if<common::Indirection<parser::AssignmentStmt>>(&a.u)})
        return assignment(x->value(), where);
    if (const auto *x{std::get_if<common::Indirection<parser::PointerAssignmentStmt>>(&a.u)})
        return pointer_assignment(x->value(), where);
    if (const auto *x{std::get_if<common::Indirection<parser::CallStmt>>(&a.u)})
        return call(x->value(), where);
    if (const auto *x{std::get_if<common::Indirection<parser::CycleStmt>>(&a.u)})
        return jump(x->value().v, HPC_TREE_CONTINUE, where);
    if (const auto *x{std::get_if<common::Indirection<parser::ExitStmt>>(&a.u)})
        return jump(x->value().v, HPC_TREE_BREAK, where);
    if (std::holds_alternative<parser::ContinueStmt>(a.u)) return nothing(where);
    if (const auto *x{std::get_if<common::Indirection<parser::IfStmt>>(&a.u)}) {
        const auto &then{std::get<1>(x->value().t)};
        const int32_t node{begin(HPC_TREE_IF, where)};
        expr(std::get<0>(x->value().t).thing.thing.value());
        action(then.statement, then.source);
        nothing(where);
        return end(node);
    }
    if (const auto *x{std::get_if<common::Indirection<parser::WhereStmt>>(&a.u)}) {
        const int32_t node{begin(HPC_TREE_IF, where)};
        expr(std::get<parser::LogicalExpr>(x->value().t).thing.value());
        assignment(std::get<parser::AssignmentStmt>(x->value().t), where);
        nothing(where);
        return end(node);
    }
    if (std::holds_alternative<common::Indirection<parser::ReturnStmt>>(a.u)) {
        const int32_t node{begin(HPC_TREE_RETURN, where)};
        nothing(where);
        return end(node);
    }
    if (const char *name{known_statement(a)}) {
        const int32_t symbol{t.function(name, std::strcmp(name, "exit") ? 0 : HPC_SYMBOL_NORETURN)};
        const int32_t node{begin(HPC_TREE_CALL, where, 0, -1, symbol)};
        end(begin(HPC_TREE_NAME, where, 0, -1, symbol));
        names_in(where, false);
        return end(node);
    }
    if (ends_iteration(a)) return leaf(HPC_TREE_CONTINUE, where);
    if (is_jump(a)) {
        const int32_t node{begin(HPC_TREE_BLOCK, where)};
        other(where);
        leaf(HPC_TREE_GOTO, where);
        return end(node);
    }
    other(where, true);
}

void Walk::construct(const parser::ExecutionPartConstruct &c)
{
    const auto *x{std::get_if<parser::ExecutableConstruct>(&c.u)};
    if (!x) {
        jumps = true; /* ENTRY and the like */
        return;
    }
    std::visit(
        [&](const auto &y) {
            using Y = std::decay_t<decltype(y)>;
            if constexpr (std::is_same_v<Y, parser::Statement<parser::ActionStmt>>) {
                action(y.statement, y.source);
            } else if constexpr (std::is_same_v<Y, common::Indirection<parser::DoConstruct>>)
                do_construct(y.value());
            else if constexpr (std::is_same_v<Y, common::Indirection<parser::IfConstruct>>)
                if_construct(y.value());
            else if constexpr (std::is_same_v<Y, common::Indirection<parser::CaseConstruct>>)
                case_construct(y.value());
            else if constexpr (std::is_same_v<Y, common::Indirection<parser::WhereConstruct>>)
                where_construct(y.value());
            else if constexpr (std::is_same_v<Y, common::Indirection<parser::AssociateConstruct>>) {
                other(first_of(y.value()), true);
                block(std::get<parser::Block>(y.value().t), span_of(y.value()));
            } else if constexpr (
                std::is_same_v<Y, common::Indirection<parser::BlockConstruct>> ||
                std::is_same_v<Y, common::Indirection<parser::SelectTypeConstruct>> ||
                std::is_same_v<Y, common::Indirection<parser::ForallConstruct>> ||
                std::is_same_v<Y, common::Indirection<parser::CriticalConstruct>> ||
                std::is_same_v<Y, common::Indirection<parser::SelectRankConstruct>> ||
                std::is_same_v<Y, common::Indirection<parser::ChangeTeamConstruct>>)
                other(span_of(y.value()), true);
            else if constexpr (!std::is_same_v<Y, common::Indirection<parser::CompilerDirective>>)
                lost = true; /* a construct without a position */
        },
        x->u);
}

void Walk::block(const parser::Block &b, CharBlock where)
{
    const int32_t node{begin(HPC_TREE_BLOCK, where)};
    for (const auto &c : b) construct(c);
    end(node);
}

/* ---- units ---- */

/* A jump may go back, and then a variable is live where no text after the loop names it. */
static bool has_jump(const Table &t, int32_t from)
{
    for (size_t i = (size_t)from; i < t.node.size(); i++)
        if (t.node[i].kind == HPC_TREE_GOTO) return true;
    return false;
}

void Walk::function(const semantics::Symbol *symbol, const semantics::Scope *scope, CharBlock first,
                    CharBlock last, const parser::Block &body)
{
    if (!scope) return;
    unit = scope;
    commons.clear();
    jumps = lost = false;
    const CharBlock where{first.begin(), last.end() > first.begin() ? last.end() : first.end()};
    const int32_t node{begin(HPC_TREE_FUNCTION, where, 0, -1, symbol ? t.procedure(*symbol) : -1)};
    block(body, where);
    end(node);
    distrust_pure(node);
    distrust_called(node);
    if (has_jump(t, node) || jumps)
        for (int32_t i = node; i < (int32_t)t.node.size(); i++)
            if (t.node[i].kind == HPC_TREE_NAME && t.node[i].symbol >= 0) {
                hpc_symbol &s{t.symbol[t.node[i].symbol]};
                if (s.flags & HPC_SYMBOL_LOCAL) s.flags ^= HPC_SYMBOL_LOCAL | HPC_SYMBOL_INTERNAL;
            }
    if (lost)
        for (int32_t i = node; i < (int32_t)t.node.size(); i++) t.node[i].flags |= HPC_TREE_ERRORS;
    unit = nullptr;
}

void Walk::internal(const std::optional<parser::InternalSubprogramPart> &part)
{
    if (!part) return;
    for (const auto &s : std::get<std::list<parser::InternalSubprogram>>(part->t))
        std::visit(
            [&](const auto &x) {
                using X = std::decay_t<decltype(x)>;
                if constexpr (!std::is_same_v<X, common::Indirection<parser::CompilerDirective>>)
                    subprogram(x.value());
            },
            s.u);
}

void Walk::module_part(const std::optional<parser::ModuleSubprogramPart> &part)
{
    if (!part) return;
    for (const auto &s : std::get<std::list<parser::ModuleSubprogram>>(part->t))
        std::visit(
            [&](const auto &x) {
                using X = std::decay_t<decltype(x)>;
                if constexpr (!std::is_same_v<X, common::Indirection<parser::CompilerDirective>>)
                    subprogram(x.value());
            },
            s.u);
}

template <typename Subprogram> void Walk::subprogram(const Subprogram &s)
{
    const auto &name{name_of(std::get<0>(s.t).statement)};
    const semantics::Symbol *symbol{name.symbol};
    function(symbol, symbol ? symbol->scope() : nullptr, first_of(s), last_of(s),
             std::get<parser::ExecutionPart>(s.t).v);
    internal(std::get<std::optional<parser::InternalSubprogramPart>>(s.t));
}

void Walk::main_program(const parser::MainProgram &m)
{
    const auto &statement{std::get<0>(m.t)};
    const CharBlock last{last_of(m)};
    const parser::Block &body{std::get<parser::ExecutionPart>(m.t).v};
    CharBlock first{statement ? statement->source : last};
    const semantics::Scope *scope{&p.context->FindScope(last)};
    if (!statement && scope->GetSymbol() == nullptr && scope->sourceRange().size() > 0)
        first = scope->sourceRange();
    function(nullptr, scope, first, last, body);
    internal(std::get<std::optional<parser::InternalSubprogramPart>>(m.t));
}

/* A pure procedure may read variables of its module. Where the unit assigns a variable from
 * outside, its calls of pure procedures are unknown. */
void Walk::distrust_pure(int32_t from)
{
    bool writes{false};
    const size_t n{t.node.size()};
    t.outside.resize(t.symbol.size());
    for (size_t i = (size_t)from; i + 1 < n && !writes; i++) {
        if (t.node[i].kind != HPC_TREE_ASSIGN) continue;
        size_t k{i + 1};
        while (t.node[k].kind == HPC_TREE_INDEX || t.node[k].kind == HPC_TREE_MEMBER ||
               t.node[k].kind == HPC_TREE_UNARY)
            k++;
        writes = t.node[k].symbol >= 0 && t.outside[t.node[k].symbol];
    }
    const uint32_t fortran{t.intern("fortran")};
    for (size_t i = (size_t)from; i < n && writes; i++) {
        const int32_t v{t.node[i].symbol};
        if (v >= 0 && t.symbol[v].kind == HPC_SYMBOL_FUNCTION && t.symbol[v].scope == fortran)
            t.node[i].symbol = t.impure(v);
    }
}

/* The module that declares a variable; "": none does. */
static std::string module_of(const semantics::Symbol &s)
{
    const semantics::Scope &owner{s.GetUltimate().owner()};
    return owner.IsModule() && owner.symbol() ? lower(owner.symbol()->name().ToString()) : "";
}

/* Adds the names in the threadprivate directives of a text: variables and common blocks. "": a
 * directive has no list. */
static void add_threadprivate(std::set<std::string> &out, const std::string &text)
{
    const std::string low{lower(text)};
    for (size_t at = 0; (at = low.find("threadprivate", at)) != std::string::npos; at++) {
        const size_t line{at == 0 ? 0 : low.rfind('\n', at) + 1};
        const size_t open{low.find('(', at)}, close{low.find(')', at)};
        if (low.find("$omp", line) > at) continue;
        if (close == std::string::npos || open > close) {
            out.insert("");
            continue;
        }
        for (size_t i = open; i < close; i++) {
            size_t end{i};
            while (std::isalnum((unsigned char)low[end]) || low[end] == '_') end++;
            if (end > i) out.insert(low.substr(i, end - i));
            i = end;
        }
    }
}

static bool is_named(const std::set<std::string> &names, const semantics::Symbol &s)
{
    const semantics::Symbol *common{semantics::FindCommonBlockContaining(s)};
    return names.count("") || names.count(lower(s.name().ToString())) ||
           (common && names.count(lower(common->name().ToString())));
}

/* Marks variables from outside that a directive names: in the text of their module, in the file, or
 * in a file whose procedures it calls. */
void Walk::mark_threadprivate()
{
    std::set<std::string> here;
    std::map<std::string, std::set<std::string>> there; /* by module */
    add_threadprivate(here, p.text);
    for (size_t k = 0; k < p.part.size(); k++) {
        const Text &text{*p.part[k].text};
        std::set<std::string> names;
        if (!text.words().count("threadprivate") && !text.words().count("include")) continue;
        add_threadprivate(names, p.with_includes(p.part[k]));
        for (const std::string &m : text.modules) there[m].insert(names.begin(), names.end());
        if (k == p.own || k >= p.kept) here.insert(names.begin(), names.end());
    }
    t.outside.resize(t.symbol.size());
    for (const auto &[i, s] : t.source) {
        const semantics::Symbol &x{s->GetUltimate()};
        if (!t.outside[i] && !(t.symbol[i].flags & HPC_SYMBOL_INTERNAL)) continue;
        if (is_named(here, x) || is_named(there[module_of(x)], x))
            t.symbol[i].flags |= HPC_SYMBOL_THREAD;
    }
}

void Walk::program()
{
    const int32_t file{begin(HPC_TREE_FILE, CharBlock{})};
    t.node[file].to = (uint32_t)p.text.size();
    find_bodies();
    for (const auto &u : p.tree()->v)
        std::visit(
            [&](const auto &x) {
                using X = std::decay_t<decltype(x)>;
                if constexpr (std::is_same_v<X, common::Indirection<parser::MainProgram>>)
                    main_program(x.value());
                else if constexpr (std::is_same_v<X, common::Indirection<parser::Module>> ||
                                   std::is_same_v<X, common::Indirection<parser::Submodule>>)
                    module_part(std::get<std::optional<parser::ModuleSubprogramPart>>(x.value().t));
                else if constexpr (std::is_same_v<
                                       X, common::Indirection<parser::FunctionSubprogram>> ||
                                   std::is_same_v<
                                       X, common::Indirection<parser::SubroutineSubprogram>>)
                    subprogram(x.value());
            },
            u.u);
    end(file);
    mark_threadprivate();
}

} // namespace hpc_flang
