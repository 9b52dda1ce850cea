/*
 * walk.cc: nodes of the tree, and code that the tree does not express.
 */
#include "runtime/source/flang/priv.h"

#include <cctype>

namespace hpc_flang {

enum { DEPTH_MOST = HPC_TREE_DEPTH_MOST - 64 };

int32_t Walk::begin(hpc_tree_kind kind, parser::CharBlock where, int op, int32_t type,
                    int32_t symbol)
{
    hpc_clang_node n{};
    n.kind = depth < DEPTH_MOST ? kind : HPC_TREE_OTHER;
    n.op = (uint8_t)op;
    n.type = type;
    n.symbol = symbol;
    if (has_errors) n.flags |= HPC_TREE_ERRORS;
    if (!where.empty()) {
        if (!offset_of(&n.at, p, where.begin())) n.flags |= HPC_TREE_MACRO;
        offset_of(&n.to, p, where.end() - 1);
        n.to++;
    }
    if (n.to < n.at) n.to = n.at;
    t.node.push_back(n);
    depth++;
    return (int32_t)t.node.size() - 1;
}

void Walk::number(parser::CharBlock where, int64_t value, int32_t type)
{
    end(begin(HPC_TREE_NUMBER, where, 0, type));
    t.value.push_back(value);
}

/* The node reaches to the end of another part of the text. */
void Walk::cover(int32_t node, parser::CharBlock last)
{
    uint32_t to{0};
    if (last.empty()) return;
    offset_of(&to, p, last.end() - 1);
    if (to + 1 > t.node[node].at) t.node[node].to = to + 1;
}

/* Puts a node above those from `at` on; what follows becomes its next children. */
int32_t Walk::wrap(size_t at, hpc_tree_kind kind, parser::CharBlock where, int op, int32_t type,
                   int32_t symbol)
{
    const int32_t made{begin(kind, where, op, type, symbol)};
    hpc_clang_node n{t.node[made]};
    t.node.pop_back();
    for (size_t i = at; i < t.node.size(); i++) t.node[i].end++;
    t.node.insert(t.node.begin() + (std::ptrdiff_t)at, n);
    return (int32_t)at;
}

void Walk::names_in(parser::CharBlock where, bool shared)
{
    if (where.empty() || !unit) return;
    const semantics::Scope &scope{p.context->FindScope(where)};
    for (const char *c = where.begin(); c < where.end();) {
        const char *from{c};
        while (c < where.end() && (std::isalnum((unsigned char)*c) || *c == '_')) c++;
        if (c == from) {
            c++;
            continue;
        }
        const parser::CharBlock word{from, c};
        const semantics::Symbol *found{std::isdigit((unsigned char)*from) ? nullptr
                                                                          : scope.FindSymbol(word)};
        if (!found) continue;
        const semantics::Symbol &s{found->GetUltimate()};
        if (!s.has<semantics::ObjectEntityDetails>()) continue;
        const int32_t v{t.variable(s, *unit)};
        if (shared) t.share(s);
        const int32_t node{begin(HPC_TREE_NAME, word, 0, t.symbol[v].type, v)};
        t.node[node].flags |= HPC_TREE_BY_REFERENCE;
        end(node);
    }
}

void Walk::other(parser::CharBlock where, bool shared)
{
    const int32_t node{begin(HPC_TREE_OTHER, where)};
    names_in(where, shared);
    end(node);
}

} // namespace hpc_flang
