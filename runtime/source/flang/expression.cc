/*
 * expression.cc: expressions, with their constants folded. A section of an array stands for one
 * element at an unknown subscript, which is a call without arguments that the analysis knows.
 */
#include "runtime/source/flang/priv.h"

namespace hpc_flang {

using parser::Expr;
using semantics::Symbol;

int32_t Walk::type_of(const Expr &e)
{
    const auto *typed{e.typedExpr.get()};
    auto type{typed && typed->v ? typed->v->GetType() : std::nullopt};
    return type ? t.scalar(*type) : t.intern(hpc_tree_type{HPC_TYPE_UNKNOWN, 0, -1, 0, -1, 0});
}

/* A value that depends on nothing that the loop changes, except for the children. */
void Walk::opaque(const char *name, parser::CharBlock where)
{
    const int32_t symbol{t.function(name, HPC_SYMBOL_PURE | HPC_SYMBOL_CONST)};
    const int32_t call{begin(HPC_TREE_CALL, where, 0, integer(), symbol)};
    end(begin(HPC_TREE_NAME, where, 0, -1, symbol));
    end(call);
}

/* ---- designators ---- */

int32_t Walk::dereference(size_t at, int32_t type, parser::CharBlock where)
{
    const int32_t to{t.type[type].to};
    end(wrap(at, HPC_TREE_UNARY, where, '*', to));
    return to;
}

/* Subscripts for each dimension that has none. An assignment may give an allocatable array another
 * shape, so its elements are not those that it had. */
int32_t Walk::sections(size_t at, int32_t type, const Symbol &s, parser::CharBlock where)
{
    const bool fixed{!semantics::IsAllocatableOrPointer(s) && !semantics::IsAssumedSizeArray(s)};
    for (int rank = s.Rank(); rank > 0 && t.type[type].to >= 0; rank--) {
        type = t.type[type].to;
        const int32_t node{wrap(at, HPC_TREE_INDEX, where, 0, type)};
        opaque(fixed ? all_elements : some_elements, where);
        end(node);
    }
    return type;
}

int32_t Walk::name_ref(const parser::Name &n, bool whole)
{
    const size_t at{t.node.size()};
    const Symbol *s{n.symbol ? &n.symbol->GetUltimate() : nullptr};
    if (!s || is_opaque(*s) || !names_storage(*s)) {
        other(n.source);
        return -1;
    }
    const int32_t v{t.variable(*s, *unit)};
    int32_t type{t.symbol[v].type};
    if (t.type[type].kind == HPC_TYPE_REFERENCE) type = t.type[type].to;
    end(begin(HPC_TREE_NAME, n.source, 0, type, v));
    if (!whole) return type;
    if (s->Rank() > 0) return sections(at, type, *s, n.source);
    return is_address(*s) ? dereference(at, type, n.source) : type;
}

void Walk::subscript(const parser::SectionSubscript &s, const Dimension &d, parser::CharBlock where)
{
    if (const auto *i{std::get_if<parser::IntExpr>(&s.u)}) {
        const Expr &e{i->thing.value()};
        const auto *typed{e.typedExpr.get()};
        if (typed && typed->v && typed->v->Rank() > 0) /* a(list): each element of a list */
            expr(e);
        else
            value(e);
        return;
    }
    const auto &bounds{std::get<parser::SubscriptTriplet>(s.u).t};
    if (is_whole(std::get<parser::SubscriptTriplet>(s.u), d)) return opaque(all_elements, where);
    const int32_t symbol{t.function(some_elements, HPC_SYMBOL_PURE | HPC_SYMBOL_CONST)};
    const int32_t call{begin(HPC_TREE_CALL, where, 0, integer(), symbol)};
    end(begin(HPC_TREE_NAME, where, 0, -1, symbol));
    const auto one{[&](const std::optional<parser::Subscript> &x) {
        if (x)
            value(x->thing.thing.value());
        else
            nothing(where);
    }};
    one(std::get<0>(bounds));
    one(std::get<1>(bounds));
    one(std::get<2>(bounds));
    end(call);
}

/* The last subscript first, because it is that of the outermost array. */
int32_t Walk::subscripts(const parser::ArrayElement &a, parser::CharBlock where, Spread spread)
{
    const size_t at{t.node.size()};
    const bool all{spread.dims == Spread::ALL};
    int32_t type{data_ref(a.base, where, false, all ? spread : Spread{})};
    const Symbol *symbol{component_of(a.base)};
    std::vector<Dimension> extents{symbol ? dimensions_of(*symbol) : std::vector<Dimension>{}};
    extents.resize(a.subscripts.size(), {INT64_MIN, Dimension::OPEN});
    int dimension{(int)a.subscripts.size()};
    for (auto s{a.subscripts.rbegin()}; s != a.subscripts.rend(); ++s) {
        if (type < 0 || t.type[type].to < 0) return -1;
        type = t.type[type].to;
        const int32_t node{wrap(at, HPC_TREE_INDEX, where, 0, type)};
        if (--dimension < spread.dims)
            opaque(spread.whole ? all_elements : some_elements, where);
        else
            subscript(*s, extents[(size_t)dimension], where);
        end(node);
    }
    return type;
}

/* The type, or -1: it cannot be expressed. `whole`: without it an array or a scalar pointer is
 * the object, not its elements or its target. */
int32_t Walk::data_ref(const parser::DataRef &d, parser::CharBlock where, bool whole, Spread spread)
{
    const size_t at{t.node.size()};
    if (const auto *n{std::get_if<parser::Name>(&d.u)}) return name_ref(*n, whole);
    if (const auto *a{std::get_if<common::Indirection<parser::ArrayElement>>(&d.u)})
        return subscripts(a->value(), where, spread);
    const auto *c{std::get_if<common::Indirection<parser::StructureComponent>>(&d.u)};
    const Symbol *s{c ? c->value().component.symbol : nullptr};
    if (!s || is_opaque(*s)) return -1;
    /* An array of structures: some element of it. A pointer to one: its target. */
    int32_t type{data_ref(c->value().base, where, true, spread)};
    if (type < 0) return -1;
    if (s->test(Symbol::Flag::ParentComp)) return type;
    const int32_t field{t.field(*s)};
    type = t.symbol[field].type;
    end(wrap(at, HPC_TREE_MEMBER, where, '.', type, field));
    if (!whole) return type;
    if (s->Rank() > 0) return sections(at, type, *s, where);
    return is_address(*s) ? dereference(at, type, where) : type;
}

void Walk::designator(const parser::Designator &d, Spread spread)
{
    const size_t at{t.node.size()}, values{t.value.size()};
    const int before{depth};
    const auto *ref{std::get_if<parser::DataRef>(&d.u)};
    if (ref && data_ref(*ref, d.source, true, spread) >= 0) return;
    t.node.resize(at);
    t.value.resize(values);
    depth = before;
    other(d.source);
}

/* ---- operators ---- */

void Walk::unary(const Expr &whole, int op, const Expr &e)
{
    const int32_t node{begin(HPC_TREE_UNARY, whole.source, op, type_of(whole))};
    expr(e);
    end(node);
}

void Walk::binary(const Expr &whole, int op, const Expr &a, const Expr &b)
{
    const int32_t node{begin(HPC_TREE_BINARY, whole.source, op, type_of(whole))};
    expr(a);
    expr(b);
    end(node);
}

void Walk::value(const Expr &e)
{
    const auto constant{semantics::GetIntValue(e)};
    if (constant)
        number(e.source, *constant, type_of(e));
    else
        expr(e);
}

namespace {
struct Operator {
    int op = 0;
    const Expr *a = nullptr, *b = nullptr;
};
template <typename X> Operator operator_of(const X &x)
{
    if constexpr (std::is_base_of_v<Expr::IntrinsicBinary, X>) {
        const int op{std::is_same_v<X, Expr::Add>        ? (int)'+'
                     : std::is_same_v<X, Expr::Subtract> ? '-'
                     : std::is_same_v<X, Expr::Multiply> ? '*'
                     : std::is_same_v<X, Expr::Divide>   ? '/'
                     : std::is_same_v<X, Expr::LT>       ? '<'
                     : std::is_same_v<X, Expr::GT>       ? '>'
                     : std::is_same_v<X, Expr::LE>       ? (int)HPC_OP_LESS_EQUAL
                     : std::is_same_v<X, Expr::GE>       ? (int)HPC_OP_GREATER_EQUAL
                     : std::is_same_v<X, Expr::EQ>       ? (int)HPC_OP_EQUAL
                     : std::is_same_v<X, Expr::NE>       ? (int)HPC_OP_NOT_EQUAL
                     : std::is_same_v<X, Expr::EQV>      ? (int)HPC_OP_EQUAL
                     : std::is_same_v<X, Expr::NEQV>     ? (int)HPC_OP_NOT_EQUAL
                     : std::is_same_v<X, Expr::AND>      ? (int)HPC_OP_AND
                     : std::is_same_v<X, Expr::OR>       ? (int)HPC_OP_OR
                                                         : (int)HPC_OP_OTHER};
        return {op, &std::get<0>(x.t).value(), &std::get<1>(x.t).value()};
    } else if constexpr (std::is_same_v<X, Expr::Negate>) {
        return {'-', &x.v.value(), nullptr};
    } else if constexpr (std::is_same_v<X, Expr::NOT>) {
        return {'!', &x.v.value(), nullptr};
    } else {
        return {};
    }
}
} // namespace

/* A defined operator is a call, which the tree does not express: the typed expression shows it. */
static bool is_call(const Expr &e)
{
    const auto *typed{e.typedExpr.get()};
    if (!typed || !typed->v) return true;
    return evaluate::UnwrapProcedureRef(*typed->v) != nullptr;
}

/* A function of the components that it names. One of its pointers would be an alias. */
void Walk::constructor(const parser::StructureConstructor &c, const Expr &whole)
{
    const auto *typed{whole.typedExpr.get()};
    const auto type{typed && typed->v ? typed->v->GetType() : std::nullopt};
    if (!type || type->category() != common::TypeCategory::Derived ||
        semantics::FindPointerComponent(type->GetDerivedTypeSpec()))
        return other(whole.source, true);
    const int32_t symbol{t.function("construct", HPC_SYMBOL_PURE | HPC_SYMBOL_CONST)};
    const int32_t call{begin(HPC_TREE_CALL, whole.source, 0, type_of(whole), symbol)};
    end(begin(HPC_TREE_NAME, whole.source, 0, -1, symbol));
    for (const auto &x : std::get<std::list<parser::ComponentSpec>>(c.t))
        expr(std::get<parser::ComponentDataSource>(x.t).v.value());
    end(call);
}

void Walk::expr(const Expr &e)
{
    if (const auto *d{std::get_if<common::Indirection<parser::Designator>>(&e.u)}) {
        const auto constant{semantics::GetIntValue(e)};
        if (constant) return number(e.source, *constant, type_of(e));
        return designator(d->value());
    }
    if (const auto *f{std::get_if<common::Indirection<parser::FunctionReference>>(&e.u)})
        return function_reference(f->value(), e);
    if (const auto *x{std::get_if<Expr::Parentheses>(&e.u)}) return expr(x->v.value());
    if (const auto *x{std::get_if<Expr::UnaryPlus>(&e.u)}) return expr(x->v.value());
    if (const auto *l{std::get_if<parser::LiteralConstant>(&e.u)}) {
        const auto constant{semantics::GetIntValue(e)};
        if (constant) return number(e.source, *constant, type_of(e));
        const bool text{std::holds_alternative<parser::CharLiteralConstant>(l->u)};
        end(begin(text ? HPC_TREE_STRING : HPC_TREE_FLOAT, e.source, 0, type_of(e)));
        return;
    }
    if (const auto *c{std::get_if<parser::StructureConstructor>(&e.u)}) return constructor(*c, e);
    const Operator op{std::visit([](const auto &x) { return operator_of(x); }, e.u)};
    if (!op.op || op.op == HPC_OP_OTHER || is_call(e)) {
        if (std::holds_alternative<Expr::Power>(e.u) && !is_call(e)) {
            const int32_t symbol{t.function("pow", HPC_SYMBOL_PURE | HPC_SYMBOL_CONST)};
            const int32_t call{begin(HPC_TREE_CALL, e.source, 0, type_of(e), symbol)};
            end(begin(HPC_TREE_NAME, e.source, 0, -1, symbol));
            expr(*op.a);
            expr(*op.b);
            return end(call);
        }
        return other(e.source);
    }
    if (op.b)
        binary(e, op.op, *op.a, *op.b);
    else
        unary(e, op.op, *op.a);
}

/* ---- functions ---- */

/* No procedure may change the variable of a DO loop that calls it. */
bool Walk::is_loop_variable(const parser::Designator &d) const
{
    const auto *ref{std::get_if<parser::DataRef>(&d.u)};
    const auto *n{ref ? std::get_if<parser::Name>(&ref->u) : nullptr};
    const Symbol *s{n && n->symbol ? &n->symbol->GetUltimate() : nullptr};
    for (const Loop &l : loops)
        if (s && l.variable == s) return true;
    return false;
}

void Walk::argument(const parser::ActualArgSpec &a, bool by_reference, Spread spread)
{
    const auto *e{std::get_if<common::Indirection<Expr>>(&std::get<parser::ActualArg>(a.t).u)};
    if (!e) return;
    const auto *d{std::get_if<common::Indirection<parser::Designator>>(&e->value().u)};
    const size_t at{t.node.size()};
    if (!d) return expr(e->value());
    designator(d->value(), spread);
    if (by_reference && !is_loop_variable(d->value())) t.node[at].flags |= HPC_TREE_BY_REFERENCE;
}

static std::string c_name(const std::string &name)
{
    static const char *const same[]{"sin",  "cos",  "tan", "asin", "acos",  "atan", "sinh",
                                    "cosh", "tanh", "exp", "log",  "log10", "sqrt", "hypot"};
    for (const char *s : same)
        if (name == s || name == std::string("d") + s) return s;
    if (name == "abs" || name == "dabs" || name == "iabs") return "fabs";
    if (name == "max" || name == "amax1" || name == "dmax1" || name == "max0") return "fmax";
    if (name == "min" || name == "amin1" || name == "dmin1" || name == "min0") return "fmin";
    if (name == "alog") return "log";
    return "";
}

/* Their result depends on the shape of an argument, never on its elements. */
static bool is_inquiry(const std::string &name)
{
    static const char *const names[]{"size",     "lbound",       "ubound",  "shape",     "kind",
                                     "present",  "allocated",    "epsilon", "huge",      "tiny",
                                     "bit_size", "associated",   "digits",  "precision", "range",
                                     "len",      "is_contiguous"};
    for (const char *s : names)
        if (name == s) return true;
    return false;
}

bool Walk::intrinsic(const parser::Call &c, const std::string &name, const Expr &whole)
{
    const auto &args{std::get<std::list<parser::ActualArgSpec>>(c.t)};
    if (name == "mod" && args.size() == 2 && t.type[type_of(whole)].kind == HPC_TYPE_INTEGER) {
        const int32_t node{begin(HPC_TREE_BINARY, whole.source, '%', type_of(whole))};
        for (const auto &a : args) argument(a, false, {});
        end(node);
        return true;
    }
    const int bitwise{name == "iand" ? '&' : name == "ior" ? '|' : name == "ieor" ? '^' : 0};
    if (bitwise && args.size() == 2) {
        const int32_t node{begin(HPC_TREE_BINARY, whole.source, bitwise, type_of(whole))};
        for (const auto &a : args) argument(a, false, {});
        end(node);
        return true;
    }
    if ((name == "real" || name == "dble" || name == "int") && !args.empty()) {
        const int32_t node{begin(HPC_TREE_CAST, whole.source, 0, type_of(whole))};
        argument(args.front(), false, {});
        end(node);
        return true;
    }
    const bool inquiry{is_inquiry(name)};
    const std::string known{args.size() <= 2 ? c_name(name) : ""};
    const int32_t symbol{
        t.function(known.empty() ? name : known, HPC_SYMBOL_PURE | HPC_SYMBOL_CONST)};
    const int32_t call{begin(HPC_TREE_CALL, whole.source, 0, type_of(whole), symbol)};
    end(begin(HPC_TREE_NAME, whole.source, 0, -1, symbol));
    for (const auto &a : args)
        if (!inquiry) argument(a, false, {});
    end(call);
    return true;
}

/* An intrinsic that has no state; those that do are subroutines, except for these. */
static bool is_pure_intrinsic(const Symbol &s)
{
    const std::string name{s.name().ToString()};
    return s.attrs().test(semantics::Attr::INTRINSIC) && name != "rand" && name != "irand" &&
           name != "etime" && name != "dtime" && name != "second" && name != "secnds" &&
           name != "time" && name != "system" && name != "getcwd" && name != "reduce";
}

void Walk::function_reference(const parser::FunctionReference &f, const Expr &whole)
{
    const auto *name{std::get_if<parser::Name>(&std::get<parser::ProcedureDesignator>(f.v.t).u)};
    const Symbol *s{name && name->symbol ? &name->symbol->GetUltimate() : nullptr};
    if (const auto constant{semantics::GetIntValue(whole)})
        return number(whole.source, *constant, type_of(whole));
    if (!s) return other(whole.source);
    if (is_pure_intrinsic(*s) && intrinsic(f.v, s->name().ToString(), whole)) return;
    const auto &arguments{std::get<std::list<parser::ActualArgSpec>>(f.v.t)};
    const auto *typed{whole.typedExpr.get()};
    const auto *ref{typed && typed->v ? evaluate::UnwrapProcedureRef(*typed->v) : nullptr};
    const Symbol *target{ref ? ref->proc().GetSymbol() : nullptr};
    Reason why;
    if (s->test(Symbol::Flag::StmtFunction))
        why.text = "is a statement function";
    else if (lower(why, target ? target->GetUltimate() : *s, arguments, whole.source,
                   type_of(whole), true))
        return;
    const int32_t symbol{t.refused(t.procedure(*s), why)};
    const bool pure{(t.symbol[symbol].flags & HPC_SYMBOL_PURE) != 0};
    const Spread spread{semantics::IsElementalProcedure(*s) ? 0 : Spread::ALL};
    const int32_t call{begin(HPC_TREE_CALL, whole.source, 0, type_of(whole), symbol)};
    end(begin(HPC_TREE_NAME, name->source, 0, -1, symbol));
    for (const auto &a : arguments) argument(a, !pure, spread);
    end(call);
}

} // namespace hpc_flang
