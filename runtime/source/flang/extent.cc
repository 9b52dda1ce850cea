/*
 * extent.cc: extents of arrays, and the elements of a dummy array that a procedure assigns.
 * Elements count in the order of storage, because an argument may have another shape than its
 * dummy.
 */
#include "runtime/source/flang/priv.h"

#include <algorithm>

namespace hpc_flang {

using semantics::Symbol;

std::vector<Dimension> dimensions_of(const Symbol &s)
{
    std::vector<Dimension> out;
    const auto *object{s.detailsIf<semantics::ObjectEntityDetails>()};
    if (!object || !object->shape().IsExplicitShape()) {
        if (!object || !semantics::IsAssumedSizeArray(s)) return out;
    }
    for (const semantics::ShapeSpec &x : object->shape()) {
        const auto &lower{x.lbound().GetExplicit()}, &upper{x.ubound().GetExplicit()};
        const auto lo{lower ? evaluate::ToInt64(*lower) : std::nullopt};
        const auto hi{upper ? evaluate::ToInt64(*upper) : std::nullopt};
        Dimension d{lo.value_or(INT64_MIN), Dimension::OPEN};
        if (lo && hi && hi.value_or(0) >= d.lower) d.n = hi.value_or(0) - d.lower + 1;
        out.push_back(d);
    }
    if (!out.empty() && out.back().n == 1 && semantics::IsDummy(s)) out.back().n = Dimension::OPEN;
    return out;
}

/* ---- elements of a dummy ---- */

enum { ELEMENTS_MOST = 4096 };

Fill::Fill(const Symbol *dummy) : rank_{dummy ? (size_t)dummy->Rank() : 0}
{
    int64_t n{1};
    if (rank_ == 0) return;
    dimension = dimensions_of(*dummy);
    for (size_t k = 0; k < dimension.size(); k++) {
        const Dimension &d{dimension[k]};
        const bool last{k + 1 == dimension.size()};
        n *= d.n == Dimension::OPEN && last ? ELEMENTS_MOST / n : d.n;
        if (d.lower != INT64_MIN && n > 0 && n <= ELEMENTS_MOST) continue;
        dimension.clear();
        return;
    }
    if (!dimension.empty()) done.resize((size_t)n);
}

Range Fill::whole(size_t subscript) const
{
    if (subscript >= dimension.size()) return {INT64_MIN, INT64_MAX};
    const Dimension &d{dimension[subscript]};
    if (d.n == Dimension::OPEN) return {1, 0};
    return {d.lower, d.lower + d.n - 1};
}

/* False: `add` is false, and an element is not in it. */
bool Fill::visit(const std::vector<Range> &ranges, bool add)
{
    std::vector<int64_t> at;
    if (all) return true;
    if (dimension.empty()) {
        for (const Range &r : ranges)
            if (r.lo != INT64_MIN || r.hi != INT64_MAX) return false;
        return (all = add);
    }
    int64_t n{1};
    for (const Range &r : ranges) {
        at.push_back(r.lo);
        if (r.lo > r.hi || r.hi - r.lo >= ELEMENTS_MOST) return false;
        n *= r.hi - r.lo + 1;
        if (n > ELEMENTS_MOST) return false;
    }
    for (;;) {
        int64_t element{0}, stride{1};
        for (size_t k = 0; k < at.size(); stride *= dimension[k++].n)
            element += (at[k] - dimension[k].lower) * stride;
        const bool known{element >= 0 && element < (int64_t)done.size()};
        if (!add && (!known || !done[(size_t)element])) return false;
        if (known) done[(size_t)element] = true;
        size_t k{0};
        while (k < at.size() && at[k] == ranges[k].hi) {
            at[k] = ranges[k].lo;
            k++;
        }
        if (k == at.size()) return true;
        at[k]++;
    }
}

int64_t Fill::first_n() const
{
    if (all) return EVERYTHING;
    return std::find(done.begin(), done.end(), false) - done.begin();
}

/* ---- arguments ---- */

const Symbol *component_of(const parser::DataRef &d)
{
    if (const auto *n{std::get_if<parser::Name>(&d.u)})
        return n->symbol ? &n->symbol->GetUltimate() : nullptr;
    const auto *c{std::get_if<common::Indirection<parser::StructureComponent>>(&d.u)};
    return c && c->value().component.symbol ? &c->value().component.symbol->GetUltimate() : nullptr;
}

bool is_whole(const parser::SubscriptTriplet &x, const Dimension &d)
{
    const auto is{[](const std::optional<parser::Subscript> &bound, int64_t value) {
        const auto found{bound ? semantics::GetIntValue(bound->thing.thing) : std::nullopt};
        return !bound || (found && *found == value);
    }};
    const bool none{!std::get<0>(x.t) && !std::get<1>(x.t)};
    if (!none && (d.n == Dimension::OPEN || d.lower == INT64_MIN)) return false;
    return is(std::get<0>(x.t), d.lower) && is(std::get<1>(x.t), d.lower + d.n - 1) &&
           is(std::get<2>(x.t), 1);
}

static const parser::DataRef *designator_of(const parser::ActualArgSpec &a)
{
    const auto *d{std::get_if<common::Indirection<parser::Designator>>(&value_of(a).u)};
    return d ? std::get_if<parser::DataRef>(&d->value().u) : nullptr;
}

/* True if an upper bound is the value of a variable. */
static bool is_value_of(const semantics::Bound &bound, const Symbol &s)
{
    const auto &upper{bound.GetExplicit()};
    const std::string text{upper ? upper->AsFortran() : ""}, name{s.name().ToString()};
    return text == name || text == "int(" + name + ",kind=8)";
}

/* Elements of a dummy; OPEN: not known. Its extents may be the values of other dummies. */
static int64_t elements_of(const Symbol &dummy, const Actuals &actuals,
                           const std::vector<const Symbol *> &dummies)
{
    int64_t n{1};
    const std::vector<Dimension> dimension{dimensions_of(dummy)};
    for (size_t k = 0; k < dimension.size(); k++) {
        int64_t extent{dimension[k].n};
        const auto &spec{dummy.get<semantics::ObjectEntityDetails>().shape()[k]};
        for (size_t m = 0; m < dummies.size() && extent == Dimension::OPEN; m++) {
            if (!dummies[m] || !actuals[m] || !is_value_of(spec.ubound(), *dummies[m])) continue;
            const auto value{semantics::GetIntValue(value_of(*actuals[m]))};
            if (value && dimension[k].lower != INT64_MIN && *value >= dimension[k].lower)
                extent = *value - dimension[k].lower + 1;
        }
        if (extent <= 0 || extent > INT32_MAX || n > INT32_MAX) return Dimension::OPEN;
        n *= extent;
    }
    return dimension.empty() ? (int64_t)Dimension::OPEN : n;
}

/* An argument that begins at an element: the dummy has that element and those after it. */
Spread Walk::spread_of(const Actuals &actuals, const std::vector<const Symbol *> &dummies, size_t k,
                       int64_t filled)
{
    const Spread every{Spread::ALL, false};
    const auto *typed{value_of(*actuals[k]).typedExpr.get()};
    if (dummies[k]->Rank() == 0 || (typed && typed->v && typed->v->Rank() > 0)) return {};
    const auto *ref{designator_of(*actuals[k])};
    const auto *a{ref ? std::get_if<common::Indirection<parser::ArrayElement>>(&ref->u) : nullptr};
    const Symbol *s{a ? component_of(a->value().base) : nullptr};
    const int64_t n{elements_of(*dummies[k], actuals, dummies)};
    if (!s || n == Dimension::OPEN || t.bare(*s) != t.bare(*dummies[k])) return every;
    const std::vector<Dimension> dimension{dimensions_of(*s)};
    int64_t first{0}, inside{1};
    int dims{0};
    auto x{a->value().subscripts.begin()};
    for (; first + n > inside; dims++, ++x) {
        if (dims == (int)dimension.size() || x == a->value().subscripts.end()) return every;
        const Dimension &d{dimension[(size_t)dims]};
        const auto *i{std::get_if<parser::IntExpr>(&x->u)};
        const auto at{i ? semantics::GetIntValue(i->thing.value()) : std::nullopt};
        if (!at || d.n == Dimension::OPEN || d.lower == INT64_MIN || *at < d.lower) return every;
        first += (*at - d.lower) * inside;
        inside *= d.n;
    }
    return {dims, first == 0 && inside <= filled};
}

/* True if the elements of an argument are among those that the procedure assigns first. */
bool Walk::fills(const parser::ActualArgSpec &a, const Symbol &dummy, int64_t filled)
{
    const auto *ref{designator_of(a)};
    const Symbol *s{ref ? component_of(*ref) : nullptr};
    const auto *typed{value_of(a).typedExpr.get()};
    if (!typed || !typed->v || typed->v->Rank() == 0) return false;
    if (filled == Fill::EVERYTHING) return true;
    if (!s || typed->v->Rank() != s->Rank() || t.bare(*s) != t.bare(dummy)) return false;
    int64_t n{1};
    const std::vector<Dimension> dimension{dimensions_of(*s)};
    for (const Dimension &d : dimension) {
        if (d.n == Dimension::OPEN || n > filled) return false;
        n *= d.n;
    }
    return !dimension.empty() && n <= filled;
}

} // namespace hpc_flang
