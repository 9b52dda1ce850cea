/*
 * units.cc: the program units of a file that contain errors. Without them the rest of the file is
 * analysed: flang checks no expression of a file in which it does not understand a name.
 */
#include <algorithm>

#include "runtime/source/flang/priv.h"

namespace hpc_flang {

namespace {

struct Span { /* bytes of the file */
    uint32_t from, to;
};

template <typename A> void add_span(std::vector<Span> &out, const Parse &p, const A &unit)
{
    Span s{};
    const auto &first{std::get<0>(unit.t).source};
    const auto &last{
        std::get<std::tuple_size_v<std::decay_t<decltype(unit.t)>> - 1>(unit.t).source};
    if (first.size() == 0 || last.size() == 0) return;
    if (!offset_of(&s.from, p, first.begin()) || !offset_of(&s.to, p, last.end() - 1)) return;
    if (s.from <= s.to) out.push_back(s);
}

template <typename Module> void add_module(std::vector<Span> &out, const Parse &p, const Module &m)
{
    add_span(out, p, m);
    const auto &part{std::get<std::optional<parser::ModuleSubprogramPart>>(m.t)};
    if (!part) return;
    for (const auto &s : std::get<std::list<parser::ModuleSubprogram>>(part->t))
        std::visit(
            [&](const auto &x) {
                using X = std::decay_t<decltype(x)>;
                if constexpr (!std::is_same_v<X, common::Indirection<parser::CompilerDirective>>)
                    add_span(out, p, x.value());
            },
            s.u);
}

std::vector<Span> spans_of(const Parse &p, const parser::Program &program)
{
    std::vector<Span> out;
    for (const auto &u : program.v)
        std::visit(
            [&](const auto &x) {
                using X = std::decay_t<decltype(x)>;
                if constexpr (std::is_same_v<X, common::Indirection<parser::Module>> ||
                              std::is_same_v<X, common::Indirection<parser::Submodule>>)
                    add_module(out, p, x.value());
                else if constexpr (std::is_same_v<
                                       X, common::Indirection<parser::FunctionSubprogram>> ||
                                   std::is_same_v<
                                       X, common::Indirection<parser::SubroutineSubprogram>>)
                    add_span(out, p, x.value());
            },
            u.u);
    return out;
}

/* The smallest unit around a byte; NULL: none. */
const Span *span_around(const std::vector<Span> &spans, uint32_t at)
{
    const Span *best{nullptr};
    for (const Span &s : spans)
        if (s.from <= at && at <= s.to && (!best || s.to - s.from < best->to - best->from))
            best = &s;
    return best;
}

} // namespace

bool blank_units(std::string &text, const Parse &p)
{
    if (p.part.empty() || !p.tree()) return false;
    const auto &tree{p.tree()};
    const std::vector<Span> spans{spans_of(p, *tree)};
    for (const Issue &i : p.issues) {
        const Span *s{i.line > 0 && i.inside ? span_around(spans, i.at) : nullptr};
        if (!s || s->to >= text.size()) return false;
        for (uint32_t k = s->from; k <= s->to; k++)
            if (text[k] != '\n') text[k] = ' ';
    }
    return !p.issues.empty();
}

} // namespace hpc_flang
