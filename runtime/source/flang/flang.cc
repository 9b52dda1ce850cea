/*
 * flang.cc: the function table over flang's libraries. Modules that the file uses are parsed
 * before it from the sources that define them, because a .mod file of another compiler does not
 * load. Nothing is written: module files would go into a folder that does not exist.
 */
#include "runtime/source/flang/priv.h"

#include <algorithm>
#include <set>
#include <thread>
#include <unistd.h>

#include <llvm/Support/raw_ostream.h>

using namespace hpc_flang;

struct hpc_clang_unit {
    hpc_clang_kept *kept;
    std::string path;
    std::vector<std::string> folders; /* of the file, then of -I */
    parser::Options options;
    bool form_given = false;
    std::unique_ptr<Parse> parse;
    std::unique_ptr<Table> table;
    ~hpc_clang_unit() { give_back(*kept, std::move(parse)); }
};

/* ---- places ---- */

bool hpc_flang::offset_of(uint32_t *at, const Parse &p, const char *character)
{
    const auto range{p.cooked.GetProvenanceRange(parser::CharBlock{character, 1})};
    std::size_t offset{0};
    *at = 0;
    if (!range) return false;
    const bool own{p.sources.GetSourceFile(range->start()) == p.file};
    if (p.sources.GetSourceFile(range->start(), &offset, true) != p.file) return false;
    const std::size_t mark{p.text.compare(0, 3, "\xef\xbb\xbf") == 0 ? 3u : 0u};
    *at = (uint32_t)std::min(offset + mark, p.text.empty() ? 0 : p.text.size() - 1);
    return own;
}

/* True if one is an error. Module files cannot be written, which is none. */
static bool take_messages(Parse &p, parser::Messages &messages, bool of_parser, bool own)
{
    bool any{false};
    for (const parser::Message &m : messages.messages()) {
        const std::string text{m.ToString()};
        if (!m.IsFatal() || text.compare(0, 13, "Error writing") == 0) continue;
        any = true;
        Issue i{text, 0, 0, 0, false, of_parser};
        const auto range{m.GetProvenanceRange(p.cooked)};
        if (range && own) {
            std::size_t offset{0};
            i.inside = p.sources.GetSourceFile(range->start()) == p.file;
            if (p.sources.GetSourceFile(range->start(), &offset, true) == p.file) {
                i.at = (uint32_t)std::min(offset, p.text.size());
                i.line = 1 + (uint32_t)std::count(p.text.begin(), p.text.begin() + i.at, '\n');
                i.column = i.at + 1 - (uint32_t)(p.text.rfind('\n', i.at ? i.at - 1 : 0) + 1);
            }
        }
        if (own) p.issues.push_back(i);
    }
    messages.clear();
    return any;
}

/* ---- texts ---- */

/* flang reads a text from descriptor 0; a thread writes it. */
static const parser::SourceFile *prescan(parser::Parsing &parsing, const parser::Options &options,
                                         const std::string &text)
{
    int ends[2];
    const int kept{dup(0)};
    if (pipe(ends) < 0) return nullptr;
    dup2(ends[0], 0);
    close(ends[0]);
    std::thread writer{[&] {
        for (size_t at = 0; at < text.size();) {
            const ssize_t n{write(ends[1], text.data() + at, text.size() - at)};
            if (n <= 0) break;
            at += (size_t)n;
        }
        close(ends[1]);
    }};
    const parser::SourceFile *file{parsing.Prescan("-", options)};
    if (kept >= 0) {
        dup2(kept, 0);
        close(kept);
    } else {
        close(0);
    }
    writer.join();
    return file;
}

/* ---- include files without a source ---- */

/* True if a folder has the file. */
static bool is_found(const hpc_clang_unit &u, const std::string &name)
{
    for (const std::string &folder : u.folders)
        if (access((folder + "/" + name).c_str(), R_OK) == 0) return true;
    return false;
}

/* Where a line includes mpif.h or netcdf.inc, and no folder has them, it includes a stub by the
 * name of its descriptor. The text keeps its length. Returns the descriptors. */
static std::vector<int> stub_includes(const hpc_clang_unit &u, std::string &text)
{
    static const char *const names[]{"mpif.h", "netcdf.inc"};
    std::vector<int> out;
    for (const char *name : names) {
        const std::string want{name}, low{lower(text)};
        if (low.find(want) == std::string::npos || is_found(u, want)) continue;
        for (size_t at = 0; (at = low.find(want, at)) != std::string::npos; at++) {
            const char quote{at > 0 ? low[at - 1] : ' '};
            const size_t line{at < 2 ? 0 : low.rfind('\n', at) + 1};
            const bool include{low.find("include", line) < at};
            if (!include || (quote != '\'' && quote != '"') || low[at + want.size()] != quote)
                continue;
            const int file{stub_file(stub_include(want))};
            if (file < 0) break;
            const std::string number{std::to_string(file)};
            text.replace(at, want.size() + 1,
                         number + quote + std::string(want.size() - number.size(), ' '));
            out.push_back(file);
        }
    }
    return out;
}

static bool is_fatal(parser::Parsing &parsing)
{
    for (const parser::Message &m : parsing.messages().messages())
        if (m.IsFatal()) return true;
    return !parsing.parseTree() || !parsing.consumedWholeFile();
}

/* Parses a text. Names that mean fixed form may hold free form. False: it cannot be read. */
static bool parse_form(hpc_clang_unit &u, Part &x)
{
    Parse &p{*u.parse};
    parser::Options o{u.options};
    o.searchDirectories.insert(o.searchDirectories.begin(), x.path.substr(0, x.path.rfind('/')));
    o.searchDirectories.push_back("/proc/self/fd");
    if (!u.form_given) o.isFixedForm = is_fixed(x.path);
    for (int turn = u.form_given || !o.isFixedForm; turn < 3; turn++) { /* fixed, free, fixed */
        x.parsing = std::make_unique<parser::Parsing>(p.cooked);
        if (turn > 0 && !u.form_given) o.isFixedForm = turn == 2;
        std::string whole{x.text->text};
        const std::vector<int> stubs{stub_includes(u, whole)};
        x.file = prescan(*x.parsing, o, whole);
        for (int s : stubs) close(s);
        if (!x.file) return false;
        x.parsing->Parse(llvm::nulls());
        if (!is_fatal(*x.parsing) || turn == 2 || u.form_given || !is_fixed(x.path)) break;
    }
    return true;
}

/* Appends one text, with its messages if it is the file. */
static void parse_text(hpc_clang_unit &u, const Wanted &w, bool own)
{
    Parse &p{*u.parse};
    p.part.emplace_back();
    Part &x{p.part.back()};
    x.path = w.path;
    x.text = w.text;
    x.is_stub = w.is_stub;
    const bool read{parse_form(u, x)};
    if (own) p.file = x.file;
    if (!own && (!read || is_fatal(*x.parsing))) { /* flang may crash on what uses such a module */
        p.part.pop_back();
        return;
    }
    if (!read) return;
    const bool whole{x.parsing->parseTree() && x.parsing->consumedWholeFile()};
    take_messages(p, x.parsing->messages(), true, own);
    if (!whole) {
        if (own && p.issues.empty())
            p.issues.push_back({"the parser stops in this file", 1, 1, 0, true, true});
        return;
    }
    p.analyse(x);
    if (!take_messages(p, p.context->messages(), false, own)) return;
    p.spoilt = true;
    if (!own) p.set_broken(x);
}

/* ---- the plan of a unit ---- */

/* Adds the modules that a text uses, each after those that it uses itself. */
static void want_modules(std::vector<Wanted> &out, Modules &m, std::set<std::string> &done,
                         const Text &text, const std::string &own)
{
    for (const std::string &name : text.uses) {
        const std::string path{m.source_of(name)};
        const std::string stub{path.empty() ? stub_module(name) : ""};
        if (!stub.empty() && done.insert(name).second)
            out.push_back({name + ".f90", std::make_shared<Text>(stub), true});
        if (path.empty() || !done.insert(path).second) continue;
        const std::shared_ptr<const Text> found{m.text[path]};
        if (found->text == own) continue;
        want_modules(out, m, done, *found, own);
        out.push_back({path, found, false});
    }
}

/* Adds files of the folder that define external procedures which the text names, but no procedure
 * that the text or another file of the folder defines too: the one that is linked is not known. */
static void want_siblings(Plan &plan, Modules &m, std::set<std::string> &done,
                          const std::string &own)
{
    enum { SIBLINGS_MOST = 6 };
    const std::set<std::string> &named{plan.own->words()}, &mine{plan.own->defined()};
    std::map<std::string, int> definitions;
    std::vector<Wanted> files;
    const std::string folder{plan.path.substr(0, plan.path.rfind('/'))};
    m.find_in(folder, 0);
    for (const auto &[path, other] : m.text) {
        if (path.rfind('/') != folder.size() || path.find(folder) != 0) continue;
        if (path == plan.path || other->text == own || !other->modules.empty() || other->program)
            continue;
        files.push_back({path, other, false});
        for (const std::string &name : other->defined()) definitions[name]++;
    }
    for (const Wanted &w : files) {
        const std::set<std::string> &theirs{w.text->defined()};
        const bool wanted{std::any_of(theirs.begin(), theirs.end(), [&](const std::string &name) {
            return named.count(name) && !mine.count(name);
        })};
        const bool twice{std::any_of(theirs.begin(), theirs.end(), [&](const std::string &name) {
            return mine.count(name) || definitions[name] > 1;
        })};
        if (plan.siblings == SIBLINGS_MOST || !wanted || twice || !done.insert(w.path).second)
            continue;
        want_modules(plan.after, m, done, *w.text, own);
        plan.after.push_back(w);
        plan.siblings++;
    }
}

static Plan plan_of(const hpc_clang_unit &u, Modules &m, const std::string &whole,
                    const std::string &text)
{
    Plan plan{u.path, std::make_shared<Text>(text), {}, {}, 0};
    std::set<std::string> done{u.path};
    m.prefer(*plan.own);
    if (!plan.own->uses.empty()) {
        if (m.text.empty())
            for (const std::string &folder : u.folders) m.find_in(folder, 0);
        want_modules(plan.before, m, done, *plan.own, whole);
    }
    want_siblings(plan, m, done, whole);
    return plan;
}

/* ---- the table ---- */

/* Two units with equal keys parse equal texts equally. */
static std::string key_of(const hpc_clang_unit &u)
{
    std::string out{u.form_given ? u.options.isFixedForm ? "fixed" : "free" : ""};
    out += '\n' + std::to_string(u.options.fixedFormColumns);
    for (const std::string &folder : u.folders) out += "\n-I" + folder;
    for (const auto &[name, value] : u.options.predefinitions)
        out += "\n-D" + name + "=" + value.value_or("");
    return out;
}

/* True if all units of the file are modules, which other files may use. */
static bool is_library(const std::optional<parser::Program> &tree)
{
    if (!tree) return false;
    return std::all_of(tree->v.begin(), tree->v.end(), [](const parser::ProgramUnit &x) {
        return std::holds_alternative<common::Indirection<parser::Module>>(x.u);
    });
}

/* Parses a text of the file after the modules that it uses. */
static void parse_once(hpc_clang_unit &u, Modules &m, const std::string &whole,
                       const std::string &text)
{
    const Plan plan{plan_of(u, m, whole, text)};
    u.table.reset();
    give_back(*u.kept, std::move(u.parse));
    u.parse = take_parse(*u.kept, plan, key_of(u));
    Parse &p{*u.parse};
    p.text = whole;
    for (const Wanted &w : plan.before)
        if (!p.find(w.path, w.text->text)) parse_text(u, w, false);
    p.kept = p.part.size();
    if (const Part * x{p.find(u.path, text)}; x) {
        while (&p.part[p.own] != x) p.own++;
        p.file = x->file;
    } else {
        p.own = p.kept;
        parse_text(u, {u.path, plan.own, false}, true);
        if (p.issues.empty() && is_library(p.tree())) p.kept++;
    }
    if (!p.issues.empty() && p.mixed) return parse_once(u, m, whole, text); /* alone */
    if (!p.issues.empty()) return;
    for (const Wanted &w : plan.after)
        if (!p.find(w.path, w.text->text)) parse_text(u, w, false);
}

/* Units with errors are left out of the text until the rest has none. */
static void parse_all(hpc_clang_unit &u, const hpc_clang_text &text)
{
    enum { ROUNDS_MOST = 8 };
    const std::string whole{text.text, text.n};
    std::string rest{whole};
    std::vector<Issue> all;
    Modules m{u.kept->texts, u.path, u.folders};
    parse_once(u, m, whole, rest);
    if (!u.parse->issues.empty()) { /* the macros of the build may be missing */
        const size_t before{u.options.predefinitions.size()}, issues{u.parse->issues.size()};
        m.add_macros(u.options, whole);
        if (u.options.predefinitions.size() > before) parse_once(u, m, whole, rest);
        if (u.parse->issues.size() > issues) {
            u.options.predefinitions.resize(before);
            parse_once(u, m, whole, rest);
        }
    }
    for (int round = 0; round < ROUNDS_MOST && !u.parse->issues.empty(); round++) {
        all.insert(all.end(), u.parse->issues.begin(), u.parse->issues.end());
        if (!blank_units(rest, *u.parse)) break;
        parse_once(u, m, whole, rest);
    }
    u.parse->clean = u.parse->issues.empty();
    if (u.parse->clean) u.parse->issues = all;
}

static void take_flags(hpc_clang_unit &u, const char *const *flags)
{
    for (int k = 0; flags[k]; k++) {
        const std::string f{flags[k]};
        const std::string rest{f.size() > 2 ? f.substr(2) : flags[k + 1] ? flags[k + 1] : ""};
        if (f == "-ffixed-form" || f == "-ffree-form") {
            u.options.isFixedForm = f == "-ffixed-form";
            u.form_given = true;
        } else if (f == "-ffixed-line-length-132" || f == "-ffixed-line-length-none") {
            u.options.fixedFormColumns = 132;
        } else if (f.compare(0, 2, "-I") == 0) {
            u.folders.push_back(canonical(rest));
        } else if (f.compare(0, 2, "-D") == 0) {
            const size_t equal{rest.find('=')};
            u.options.predefinitions.emplace_back(
                rest.substr(0, equal), equal == std::string::npos ? "1" : rest.substr(equal + 1));
        }
    }
    u.options.searchDirectories = u.folders;
}

static int open_unit(hpc_clang_unit **out, hpc_clang_kept **kept, const hpc_clang_text *texts,
                     size_t, const char *const *flags, bool, bool, char *)
{
    if (!*kept) *kept = new hpc_clang_kept{};
    auto u{std::make_unique<hpc_clang_unit>()};
    u->kept = *kept;
    u->path = texts[0].path;
    if (u->path.find('/') == std::string::npos) u->path = "./" + u->path;
    const size_t slash{u->path.rfind('/')};
    u->folders.push_back(canonical(u->path.substr(0, slash)));
    u->path = u->folders[0] + u->path.substr(slash);
    take_flags(*u, flags);
    parse_all(*u, texts[0]);
    *out = u.release();
    return 0;
}

static int parse_unit(hpc_clang_unit *u, const hpc_clang_text *texts, size_t, size_t own,
                      char error[HPC_CLANG_ERROR_BYTES])
{
    if (own > 0) {
        std::snprintf(error, HPC_CLANG_ERROR_BYTES, "flang has no included texts");
        return -1;
    }
    parse_all(*u, texts[0]);
    return 0;
}

static void suspend_unit(hpc_clang_unit *u)
{
    u->table.reset();
    give_back(*u->kept, std::move(u->parse));
}

static void issues(const hpc_clang_unit *u, bool (*report)(const hpc_clang_issue *, void *),
                   void *user)
{
    for (const Issue &i : u->parse->issues) {
        const hpc_clang_issue x{i.parse, i.inside, i.line, i.column, i.at, i.text.c_str(), "", 0};
        if (!report(&x, user)) return;
    }
}

static void tree(hpc_clang_tree *out, hpc_clang_unit *u)
{
    u->table = std::make_unique<Table>();
    Table &t{*u->table};
    Walk walk{t, *u->parse};
    walk.has_errors = !u->parse->clean;
    if (!u->parse->part.empty() && u->parse->tree() && !walk.has_errors) {
        walk.program();
    } else {
        hpc_clang_node file{};
        file.kind = HPC_TREE_FILE;
        file.end = 1;
        file.type = file.symbol = -1;
        file.to = (uint32_t)u->parse->text.size();
        t.node.push_back(file);
    }
    *out = hpc_clang_tree{t.node.data(),   t.value.data(), t.type.data(),  t.symbol.data(),
                          t.name.data(),   t.node.size(),  t.value.size(), t.type.size(),
                          t.symbol.size(), t.name.size(),  false};
}

static void close_unit(hpc_clang_unit *u)
{
    delete u;
}

/* In the order of the members: C++17 has no designated initialisers. */
extern "C" const hpc_clang hpc_flang_table = {open_unit, parse_unit, suspend_unit,
                                              issues,    tree,       close_unit};
