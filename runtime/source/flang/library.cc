/*
 * library.cc: modules that stay parsed between the units of a process, so that each is parsed once.
 *
 * A unit must see what it would see alone. Its own file and the files after it are removed when it
 * ends. Modules that it does not use remain in the global scope by their names, so a parse fits a
 * unit only if no text that is new in it contains one of these names. The names of external
 * procedures remain too. A text may name them as well, but not define them; what flang finds wrong
 * then is found again in a parse without them.
 */
#include "runtime/source/flang/priv.h"

#include <algorithm>
#include <iterator>

namespace hpc_flang {

enum { UNITS_MOST = 500, PARTS_MOST = 1000, IDLE_MOST = 4 };

const Part *Parse::find(const std::string &path, const std::string &text) const
{
    for (const Part &x : part)
        if (x.path == path && !x.broken && x.text->text == text) return &x;
    return nullptr;
}

std::string Parse::with_includes(const Part &x) const
{
    std::string out{x.text->text};
    if (!x.text->words().count("include") || !x.parsing->parseTree()) return out;
    const parser::CharBlock all{x.parsing->cooked().AsCharBlock()};
    std::set<const parser::SourceFile *> seen{x.file};
    for (const char *c = all.begin(); c < all.end(); c++) {
        if (c > all.begin() && c[-1] != '\n') continue;
        const auto range{cooked.GetProvenanceRange(parser::CharBlock{c, 1})};
        const parser::SourceFile *f{range ? sources.GetSourceFile(range->start()) : nullptr};
        if (!f || !seen.insert(f).second) continue;
        out += '\n';
        out.append(f->content().data(), f->content().size());
    }
    return out;
}

static std::set<std::string> names_of(const semantics::Scope &global)
{
    std::set<std::string> out;
    for (const auto &symbol : global) out.insert(lower(symbol.first.ToString()));
    return out;
}

/* Earlier parts are out of sight of the checks, which would repeat them for each part. */
void Parse::analyse(Part &x)
{
    semantics::Scope &global{context->globalScope()};
    const std::set<std::string> before{names_of(global)};
    const auto broken{(std::ptrdiff_t)global.children().size()};
    semantics::Semantics{*context, *x.parsing->parseTree()}.Perform();
    for (const std::string &name : names_of(global))
        if (!before.count(name)) x.names.insert(name);
    auto &children{global.children()};
    x.scopes.splice(x.scopes.end(), children, std::next(children.begin(), broken), children.end());
}

void Parse::set_broken(Part &x)
{
    auto &children{context->globalScope().children()};
    x.broken = spoilt = true;
    children.splice(children.end(), x.scopes); /* its messages come again with each part */
}

/* True if the analysis of a text has effects outside its scopes and names. */
static bool is_wide(const Text &text)
{
    return text.words().count("common") || text.words().count("submodule");
}

/* Removes the parts of a unit, and decides whether the rest may serve another one. */
void Parse::retract()
{
    semantics::Scope &global{context->globalScope()};
    for (const Part &x : part) spoilt = spoilt || (!x.is_stub && is_wide(*x.text));
    for (size_t k = kept; k < part.size(); k++)
        for (size_t i = 0; i < kept; i++)
            for (const std::string &name : part[i].names)
                spoilt = spoilt || part[k].text->defined().count(name);
    for (; part.size() > kept; part.pop_back())
        for (const std::string &name : part.back().names)
            for (auto s{global.begin()}; s != global.end(); ++s)
                if (lower(s->first.ToString()) == name) {
                    global.erase(s->first);
                    break;
                }
    issues.clear();
    mixed = false;
    file = nullptr;
    own = 0;
    clean = false;
    spoilt = spoilt || ++units > UNITS_MOST || part.size() > PARTS_MOST;
}

/* The conditions under which a parse serves a unit. */
class Need {
  public:
    Need(const Parse &p, const Plan &plan) : parse{p}
    {
        if (!p.find(plan.path, plan.own->text)) add_words(*plan.own);
        own = plan.path;
        for (const Wanted &w : plan.before) add(w);
        for (const Wanted &w : plan.after) add(w);
    }
    bool is_met(Texts &texts, bool *mixed) const
    {
        for (const Part &x : parse.part) {
            if (!x.is_stub) {
                const std::shared_ptr<const Text> now{texts.at(x.path)};
                if (!now || (now != x.text && now->text != x.text->text)) return false;
            }
            if (paths.count(x.path) || (x.path == own && parse.find(own, x.text->text))) continue;
            if (includes) return false;
            for (const std::string &name : x.names) {
                const auto &modules{x.text->modules};
                if (!words.count(name)) continue;
                if (defined.count(name)) return false;
                if (std::find(modules.begin(), modules.end(), name) != modules.end()) return false;
                *mixed = true;
            }
        }
        return true;
    }

  private:
    const Parse &parse;
    std::string own;
    std::set<std::string> words, defined, paths;
    bool includes = false; /* words that are not in the texts */
    void add(const Wanted &w)
    {
        paths.insert(w.path);
        if (!parse.find(w.path, w.text->text)) add_words(*w.text);
    }
    void add_words(const Text &t)
    {
        words.insert(t.words().begin(), t.words().end());
        defined.insert(t.defined().begin(), t.defined().end());
        includes = includes || t.words().count("include");
    }
};

std::unique_ptr<Parse> take_parse(hpc_clang_kept &kept, const Plan &plan, const std::string &key)
{
    auto found{kept.idle.find(key)};
    if (found != kept.idle.end()) {
        std::unique_ptr<Parse> out{std::move(found->second)};
        kept.idle.erase(found);
        if (Need{*out, plan}.is_met(kept.texts, &out->mixed)) return out;
    }
    auto out{std::make_unique<Parse>()};
    out->key = key;
    out->context =
        std::make_unique<semantics::SemanticsContext>(out->kinds, out->features, out->cooked);
    out->context->set_intrinsicModuleDirectories({HPC_FLANG_MODULES_TEXT});
    out->context->set_moduleDirectory("/dev/null/modules");
    out->context->set_searchDirectories({});
    return out;
}

void give_back(hpc_clang_kept &kept, std::unique_ptr<Parse> p)
{
    if (!p) return;
    p->retract();
    if (p->spoilt || p->part.empty()) return;
    if (kept.idle.size() >= IDLE_MOST) kept.idle.clear();
    const std::string key{p->key};
    kept.idle[key] = std::move(p);
}

} // namespace hpc_flang
