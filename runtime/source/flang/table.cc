/*
 * table.cc: types, symbols and names of the tree from those of flang.
 */
#include "runtime/source/flang/priv.h"

namespace hpc_flang {

using semantics::Attr;
using semantics::Symbol;

/* ---- variables ---- */

static bool is_target_dummy(const Symbol &s)
{
    return s.attrs().test(Attr::TARGET) && semantics::IsDummy(s);
}

bool is_address(const Symbol &s)
{
    return s.attrs().test(Attr::POINTER) || (is_target_dummy(s) && s.Rank() > 0);
}

bool is_opaque(const Symbol &s)
{
    const auto *type{s.GetType()};
    if (!s.has<semantics::ObjectEntityDetails>() || !type || s.Corank() > 0) return true;
    if (s.test(Symbol::Flag::CrayPointee) || s.test(Symbol::Flag::CrayPointer)) return true;
    if (semantics::FindEquivalenceSet(s)) return true;
    return type->category() == semantics::DeclTypeSpec::Character || type->IsUnlimitedPolymorphic();
}

/* ---- names and types ---- */

uint32_t Table::intern(const std::string &text)
{
    if (text.empty()) return 0;
    auto [it, added]{names.try_emplace(text, (uint32_t)name.size())};
    if (added) name.append(text).push_back('\0');
    return it->second;
}

int32_t Table::intern(const hpc_tree_type &x)
{
    for (size_t i = 0; i < type.size(); i++) {
        const hpc_tree_type &y{type[i]};
        if (x.kind == y.kind && x.flags == y.flags && x.to == y.to && x.n == y.n &&
            x.bytes == y.bytes && x.name == y.name)
            return (int32_t)i;
    }
    type.push_back(x);
    return (int32_t)type.size() - 1;
}

static hpc_tree_type plain(hpc_type_kind kind, int64_t bytes)
{
    return {(uint8_t)kind, 0, -1, 0, bytes, 0};
}

int32_t Table::scalar(const evaluate::DynamicType &x)
{
    hpc_tree_type r{plain(HPC_TYPE_UNKNOWN, -1)};
    if (x.IsUnlimitedPolymorphic()) return intern(r);
    switch (x.category()) {
    case common::TypeCategory::Integer:
        if (!x.IsTypelessIntrinsicArgument()) r = plain(HPC_TYPE_INTEGER, x.kind());
        break;
    case common::TypeCategory::Real: r = plain(HPC_TYPE_FLOAT, x.kind()); break;
    case common::TypeCategory::Complex: r = plain(HPC_TYPE_FLOAT, 2 * x.kind()); break;
    case common::TypeCategory::Logical: r = plain(HPC_TYPE_BOOL, x.kind()); break;
    case common::TypeCategory::Derived: {
        const Symbol &s{x.GetDerivedTypeSpec().typeSymbol()};
        const auto *scope{s.owner().symbol()};
        r = plain(HPC_TYPE_RECORD, -1);
        r.name = intern((scope ? scope->name().ToString() + "::" : "") + s.name().ToString());
        break;
    }
    default: break;
    }
    return intern(r);
}

int32_t Table::bare(const Symbol &s)
{
    const auto *declared{s.GetType()};
    auto x{declared ? evaluate::DynamicType::From(*declared) : std::nullopt};
    hpc_tree_type r{x ? type[scalar(*x)] : plain(HPC_TYPE_UNKNOWN, -1)};
    if (s.attrs().test(Attr::VOLATILE) || s.attrs().test(Attr::ASYNCHRONOUS))
        r.flags |= HPC_TYPE_VOLATILE;
    return intern(r);
}

int32_t Table::array(int32_t element, int rank)
{
    for (; rank > 0; rank--) element = intern(hpc_tree_type{HPC_TYPE_ARRAY, 0, element, -1, -1, 0});
    return element;
}

int32_t Table::pointer(int32_t to)
{
    return intern(hpc_tree_type{HPC_TYPE_POINTER, 0, to, 0, 8, 0});
}

int32_t Table::object(const Symbol &s)
{
    const int32_t element{bare(s)};
    const int rank{s.Rank()};
    if (is_address(s)) return pointer(array(element, rank > 0 ? rank - 1 : 0));
    if (is_target_dummy(s)) return intern(hpc_tree_type{HPC_TYPE_REFERENCE, 0, element, 0, -1, 0});
    return array(element, rank);
}

/* ---- symbols ---- */

/* Variables of modules and of common blocks, and those of a host. */
static bool is_outside(const Symbol &s, const semantics::Scope &unit)
{
    return semantics::FindCommonBlockContaining(s) ||
           &semantics::GetProgramUnitContaining(s) != &unit;
}

static bool outlives(const Symbol &s, const semantics::Scope &unit)
{
    return semantics::IsDummy(s) || semantics::IsFunctionResult(s) || semantics::IsSaved(s) ||
           s.test(Symbol::Flag::InNamelist) || is_outside(s, unit);
}

int32_t Table::variable(const Symbol &s, const semantics::Scope &unit)
{
    const bool shared{outlives(s, unit)};
    auto found{symbols.find(&s)};
    if (found != symbols.end()) {
        if (shared) share(s);
        if (is_outside(s, unit)) {
            outside[found->second] = true;
            symbol[found->second].flags |= HPC_SYMBOL_STATIC;
        }
        return found->second;
    }
    outside.resize(symbol.size() + 1);
    outside.back() = is_outside(s, unit);
    hpc_symbol r{};
    r.kind = HPC_SYMBOL_VARIABLE;
    r.flags = HPC_SYMBOL_IN_FILE;
    if (!s.attrs().test(Attr::TARGET)) r.flags |= shared ? HPC_SYMBOL_INTERNAL : HPC_SYMBOL_LOCAL;
    if (outside.back()) r.flags |= HPC_SYMBOL_STATIC;
    if (semantics::IsAssumedSizeArray(s)) r.flags |= HPC_SYMBOL_UNSIZED;
    r.type = object(s);
    r.node = -1;
    r.name = intern(s.name().ToString());
    symbol.push_back(r);
    source[(int32_t)symbol.size() - 1] = &s;
    return symbols[&s] = (int32_t)symbol.size() - 1;
}

void Table::share(const Symbol &s)
{
    auto found{symbols.find(&s)};
    if (found == symbols.end()) return;
    hpc_symbol &r{symbol[found->second]};
    if (r.flags & HPC_SYMBOL_LOCAL) r.flags ^= HPC_SYMBOL_LOCAL | HPC_SYMBOL_INTERNAL;
}

int32_t Table::field(const Symbol &s)
{
    auto found{symbols.find(&s)};
    if (found != symbols.end()) return found->second;
    const auto *of{s.owner().symbol()};
    hpc_symbol r{};
    r.kind = HPC_SYMBOL_FIELD;
    r.flags = HPC_SYMBOL_IN_FILE;
    r.type = object(s);
    r.node = -1;
    r.name = intern(s.name().ToString());
    r.scope = intern(of ? of->name().ToString() : "");
    symbol.push_back(r);
    return symbols[&s] = (int32_t)symbol.size() - 1;
}

int32_t Table::function(const std::string &text, uint32_t flags)
{
    auto [it, added]{functions.try_emplace(text, (int32_t)symbol.size())};
    if (!added) return it->second;
    hpc_symbol r{};
    r.kind = HPC_SYMBOL_FUNCTION;
    r.flags = flags;
    r.type = r.node = -1;
    r.name = intern(text);
    symbol.push_back(r);
    return it->second;
}

/* An internal procedure and a statement function read variables of their host. */
static bool is_pure(const Symbol &s)
{
    const auto kind{s.owner().kind()};
    return semantics::IsPureProcedure(s) && !s.test(Symbol::Flag::StmtFunction) &&
           (kind == semantics::Scope::Kind::Module || kind == semantics::Scope::Kind::Global);
}

int32_t Table::impure(int32_t procedure)
{
    auto [it, added]{impures.try_emplace(procedure, (int32_t)symbol.size())};
    if (added) {
        symbol.push_back(symbol[procedure]);
        symbol.back().flags &= ~(uint32_t)HPC_SYMBOL_PURE;
    }
    return it->second;
}

int32_t Table::refused(int32_t procedure, const Reason &why)
{
    if (why.text.empty()) return procedure;
    auto [it, added]{refusals.try_emplace({procedure, why.text, why.line}, (int32_t)symbol.size())};
    if (added) {
        hpc_symbol r{symbol[procedure]};
        r.why = intern(why.text);
        r.line = why.line;
        symbol.push_back(r);
    }
    return it->second;
}

int32_t Table::called(const Symbol &s, const std::set<int32_t> &scalars)
{
    hpc_symbol r{};
    r.kind = HPC_SYMBOL_FUNCTION;
    r.flags = HPC_SYMBOL_PURE | HPC_SYMBOL_CONST;
    r.type = r.node = -1;
    r.name = intern(s.name().ToString());
    r.scope = intern("called");
    symbol.push_back(r);
    reads[(int32_t)symbol.size() - 1] = scalars;
    return (int32_t)symbol.size() - 1;
}

int32_t Table::procedure(const Symbol &s)
{
    auto found{symbols.find(&s)};
    if (found != symbols.end()) return found->second;
    hpc_symbol r{};
    r.kind = HPC_SYMBOL_FUNCTION;
    r.type = r.node = -1;
    r.name = intern(s.name().ToString());
    r.scope = intern("fortran"); /* it is not the function of that name in C's library */
    if (is_pure(s)) r.flags |= HPC_SYMBOL_PURE;
    symbol.push_back(r);
    return symbols[&s] = (int32_t)symbol.size() - 1;
}

} // namespace hpc_flang
