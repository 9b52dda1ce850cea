/*
 * common.cc: storage of common blocks, which each unit names by variables of its own. Two
 * declarations of a block agree up to a member if all members until then have equal types and
 * shapes; their names do not matter. Offsets are not compared, because compilers pad differently.
 */
#include "runtime/source/flang/priv.h"

namespace hpc_flang {

using semantics::Symbol;

static bool is_equal_bound(const semantics::Bound &a, const semantics::Bound &b)
{
    const auto x{evaluate::ToInt64(a.GetExplicit())}, y{evaluate::ToInt64(b.GetExplicit())};
    return x && y ? *x == *y : a.isColon() && b.isColon();
}

static bool is_alike(const Symbol &a, const Symbol &b)
{
    const auto *x{a.GetType()}, *y{b.GetType()};
    const auto *u{a.detailsIf<semantics::ObjectEntityDetails>()};
    const auto *v{b.detailsIf<semantics::ObjectEntityDetails>()};
    if (!x || !y || !(*x == *y) || !u || !v || u->shape().size() != v->shape().size()) return false;
    for (const auto attr : {semantics::Attr::POINTER, semantics::Attr::TARGET,
                            semantics::Attr::VOLATILE, semantics::Attr::ASYNCHRONOUS})
        if (a.attrs().test(attr) != b.attrs().test(attr)) return false;
    for (size_t k = 0; k < u->shape().size(); k++)
        if (!is_equal_bound(u->shape()[k].lbound(), v->shape()[k].lbound()) ||
            !is_equal_bound(u->shape()[k].ubound(), v->shape()[k].ubound()))
            return false;
    return true;
}

/* The member of another declaration of the block of `s` that has the same storage; nullptr: there
 * is none, or they disagree. */
static const Symbol *member_at(const Symbol &s, const Symbol &block)
{
    const auto &mine{
        semantics::FindCommonBlockContaining(s)->get<semantics::CommonBlockDetails>().objects()};
    const auto &theirs{block.get<semantics::CommonBlockDetails>().objects()};
    for (size_t k = 0; k < mine.size() && k < theirs.size(); k++) {
        const Symbol &a{mine[k]->GetUltimate()}, &b{theirs[k]->GetUltimate()};
        if (!is_alike(a, b)) return nullptr;
        if (&a == &s) return &b;
    }
    return nullptr;
}

/* Both are members of common blocks. */
static bool may_overlap(const Symbol &a, const Symbol &b)
{
    const Symbol &x{*semantics::FindCommonBlockContaining(a)};
    const Symbol &y{*semantics::FindCommonBlockContaining(b)};
    if (x.name() != y.name() || (&x == &y && &a != &b)) return false;
    const Symbol *same{member_at(a, y)};
    return !same || same == &b;
}

bool Walk::names_storage(const Symbol &s)
{
    if (!semantics::FindCommonBlockContaining(s) || commons.count(&s)) return true;
    for (const Symbol *x : commons)
        if (may_overlap(*x, s)) return false;
    commons.insert(&s);
    return true;
}

int32_t Walk::own_name(int32_t v)
{
    const Symbol &s{t.source.at(v)->GetUltimate()}, *found{&s};
    const Symbol *block{semantics::FindCommonBlockContaining(s)}, *own{nullptr};
    if (!block) return v;
    for (const auto *x{unit}; !own && !x->IsTopLevel(); x = &x->parent())
        own = x->FindCommonBlock(block->name());
    const Symbol *member{own ? member_at(s, *own) : nullptr};
    if (member && !is_opaque(*member)) found = member;
    for (const Symbol *x : commons) {
        const Symbol &other{*semantics::FindCommonBlockContaining(*x)};
        if (other.name() == block->name() && member_at(s, other) == x) found = x;
    }
    return names_storage(*found) ? t.variable(*found, *unit) : -1;
}

} // namespace hpc_flang
