/*
 * flang.cc: the function table over flang's libraries. Modules that the file uses are parsed
 * before it from the sources that define them, because a .mod file of another compiler does not
 * load. Nothing is written: module files would go into a folder that does not exist.
 */
#include "runtime/source/flang/priv.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <llvm/Support/raw_ostream.h>

using namespace hpc_flang;

#define TEXT_OF(macro) TEXT_OF_(macro)
#define TEXT_OF_(text) #text

struct hpc_clang_unit {
    std::string path;
    std::vector<std::string> folders; /* of the file, then of -I */
    parser::Options options;
    bool form_given = false;
    std::unique_ptr<Parse> parse;
    std::unique_ptr<Table> table;
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
static bool prescan(Parse &p, parser::Parsing &parsing, const parser::Options &options,
                    const std::string &text)
{
    int ends[2];
    const int kept{dup(0)};
    if (pipe(ends) < 0) return false;
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
    p.file = file;
    return file != nullptr;
}

static bool is_fixed(const std::string &path)
{
    const size_t dot{path.rfind('.')};
    static const char *const ends[]{".f", ".for", ".ftn", ".f77", ".F", ".FOR", ".FTN", ".F77"};
    for (const char *e : ends)
        if (dot != std::string::npos && path.compare(dot, std::string::npos, e) == 0) return true;
    return false;
}

/* ---- modules ---- */

static std::string lower(std::string s)
{
    for (char &c : s) c = (char)std::tolower((unsigned char)c);
    return s;
}

static std::string word_at(const std::string &line, size_t *at)
{
    while (*at < line.size() && std::isspace((unsigned char)line[*at])) ++*at;
    const size_t from{*at};
    while (*at < line.size() && (std::isalnum((unsigned char)line[*at]) || line[*at] == '_')) ++*at;
    return line.substr(from, *at - from);
}

/* The names after `keyword` ("use", "module") at the begin of a line. */
static std::vector<std::string> names_after(const std::string &text, const std::string &keyword)
{
    std::vector<std::string> out;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        size_t at{0};
        line = lower(line);
        if (word_at(line, &at) != keyword) continue;
        if (const size_t colons{line.find("::", at)};
            keyword == "use" && colons != std::string::npos && line.find("only") > colons)
            at = colons + 2;
        const std::string name{word_at(line, &at)};
        if (!name.empty() && name != "procedure" && name != "subroutine" && name != "function")
            out.push_back(name);
    }
    return out;
}

static bool is_source(const std::string &name)
{
    const size_t dot{name.rfind('.')};
    if (dot == std::string::npos) return false;
    const std::string end{lower(name.substr(dot))};
    return end == ".f90" || end == ".f95" || end == ".f03" || end == ".f08" || is_fixed(name);
}

struct Modules { /* the sources of the folders, by the module that they define */
    std::map<std::string, std::string> path;
    std::map<std::string, std::string> text; /* by path */
    std::set<std::string> done;
    int files = 0, directories = 0; /* that were read */
    bool wide = false;              /* folders nearby were searched */
};

static std::string read(const std::string &path)
{
    std::ifstream in{path, std::ios::binary};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

enum { FILES_MOST = 2000, FOLDERS_MOST = 500, LEVELS_MOST = 3 };

/* The sources of a folder, and of those in it down to a depth. */
static void find_in(Modules &m, const std::string &folder, int depth)
{
    std::vector<std::string> below;
    DIR *d{m.directories++ < FOLDERS_MOST ? opendir(folder.c_str()) : nullptr};
    for (const dirent *e; d && (e = readdir(d)) && m.files < FILES_MOST;) {
        const std::string path{folder + "/" + e->d_name};
        if (depth > 0 && e->d_type == DT_DIR && e->d_name[0] != '.') below.push_back(path);
        if (!is_source(e->d_name) || m.text.count(path)) continue;
        m.files++;
        m.text[path] = read(path);
        for (const std::string &name : names_after(m.text[path], "module"))
            m.path.emplace(name, path);
    }
    if (d) closedir(d);
    std::sort(below.begin(), below.end());
    for (const std::string &b : below) find_in(m, b, depth - 1);
}

static bool is_intrinsic(const std::string &module)
{
    return module.compare(0, 4, "iso_") == 0 || module.compare(0, 5, "ieee_") == 0 ||
           module == "omp_lib";
}

/* The source of a module, in the folders of the file, else nearby in its tree; "": unknown. */
static std::string source_of(Modules &m, const hpc_clang_unit &u, const std::string &module)
{
    auto found{m.path.find(module)};
    if (found == m.path.end() && !m.wide && !is_intrinsic(module)) {
        m.wide = true;
        find_in(m, u.folders[0], LEVELS_MOST);
        find_in(m, u.folders[0] + "/..", LEVELS_MOST);
        found = m.path.find(module);
    }
    return found == m.path.end() ? "" : found->second;
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

/* Appends the parse of a text. Names that mean fixed form may hold free form. False: the text
 * cannot be read. */
static bool parse_form(hpc_clang_unit &u, const std::string &path, const std::string &text)
{
    Parse &p{*u.parse};
    parser::Options o{u.options};
    o.searchDirectories.push_back("/proc/self/fd");
    if (!u.form_given) o.isFixedForm = is_fixed(path);
    for (int turn = u.form_given || !o.isFixedForm; turn < 3; turn++) { /* fixed, free, fixed */
        p.parsing.push_back(std::make_unique<parser::Parsing>(p.cooked));
        parser::Parsing &parsing{*p.parsing.back()};
        if (turn > 0 && !u.form_given) o.isFixedForm = turn == 2;
        std::string whole{text};
        const std::vector<int> stubs{stub_includes(u, whole)};
        const bool read{prescan(p, parsing, o, whole)};
        for (int s : stubs) close(s);
        if (!read) return false;
        parsing.Parse(llvm::nulls());
        if (!is_fatal(parsing) || turn == 2 || u.form_given || !is_fixed(path)) break;
        p.parsing.pop_back();
    }
    return true;
}

/* Parses one text, with its messages if it is the file. */
static void parse_text(hpc_clang_unit &u, const std::string &path, const std::string &text,
                       bool own)
{
    Parse &p{*u.parse};
    if (!parse_form(u, path, text)) return;
    parser::Parsing &parsing{*p.parsing.back()};
    if (!own && is_fatal(parsing)) { /* flang may crash on what uses such a module */
        p.parsing.pop_back();
        return;
    }
    const bool whole{parsing.parseTree() && parsing.consumedWholeFile()};
    take_messages(p, parsing.messages(), true, own);
    if (!whole) {
        if (own && p.issues.empty())
            p.issues.push_back({"the parser stops in this file", 1, 1, 0, true, true});
        return;
    }
    semantics::Semantics{*p.context, *parsing.parseTree()}.Perform();
    if (take_messages(p, p.context->messages(), false, own) && !own)
        p.broken.insert(p.parsing.size() - 1);
}

static void parse_used(hpc_clang_unit &u, Modules &m, const std::string &text)
{
    for (const std::string &name : names_after(text, "use")) {
        const std::string path{source_of(m, u, name)};
        const std::string stub{path.empty() ? stub_module(name) : ""};
        if (!stub.empty() && m.done.insert(name).second) parse_text(u, name + ".f90", stub, false);
        if (path.empty() || !m.done.insert(path).second) continue;
        if (m.text[path] == u.parse->text) continue;
        parse_used(u, m, m.text[path]);
        parse_text(u, path, m.text[path], false);
    }
}

/* ---- external procedures ---- */

/* The names of the procedures that a text defines, and all words of a text. */
static std::set<std::string> words_of(const std::string &text, bool definitions)
{
    std::set<std::string> out;
    std::string word, before;
    for (size_t i = 0; i <= text.size(); i++) {
        const char c{i < text.size() ? (char)std::tolower((unsigned char)text[i]) : ' '};
        if (std::isalnum((unsigned char)c) || c == '_') {
            word += c;
            continue;
        }
        if (!word.empty() && (!definitions || before == "subroutine" || before == "function"))
            out.insert(word);
        if (!word.empty()) before = word;
        if (c != ' ') before.clear();
        word.clear();
    }
    return out;
}

/* Parses files of the folder that define external procedures which the text names. */
static void parse_siblings(hpc_clang_unit &u, Modules &m, const std::string &text)
{
    enum { SIBLINGS_MOST = 6 };
    const std::set<std::string> named{words_of(text, false)}, own{words_of(text, true)};
    int parsed{0};
    find_in(m, u.folders[0], 0);
    const std::map<std::string, std::string> texts{m.text};
    for (const auto &[path, other] : texts) {
        if (parsed == SIBLINGS_MOST) return;
        if (path == u.path || other == u.parse->text || m.done.count(path)) continue;
        if (!names_after(other, "module").empty() || !names_after(other, "program").empty()) continue;
        bool wanted{false}, twice{false};
        for (const std::string &name : words_of(other, true)) {
            wanted = wanted || (named.count(name) && !own.count(name));
            twice = twice || own.count(name);
        }
        if (!wanted || twice) continue;
        m.done.insert(path);
        parse_used(u, m, other);
        parse_text(u, path, other, false);
        parsed++;
    }
}

/* ---- the table ---- */

/* Parses a text of the file after the modules that it uses. */
static void parse_once(hpc_clang_unit &u, Modules &m, const std::string &whole,
                       const std::string &text)
{
    u.table.reset();
    u.parse = std::make_unique<Parse>();
    Parse &p{*u.parse};
    p.text = whole;
    p.context = std::make_unique<semantics::SemanticsContext>(p.kinds, p.features, p.cooked);
    p.context->set_intrinsicModuleDirectories({TEXT_OF(HPC_FLANG_MODULES)});
    p.context->set_moduleDirectory("/dev/null/modules");
    p.context->set_searchDirectories({});
    if (!names_after(text, "use").empty()) {
        if (m.text.empty())
            for (const std::string &folder : u.folders) find_in(m, folder, 0);
        m.done = {u.path};
        parse_used(u, m, text);
    }
    parse_text(u, u.path, text, true);
    p.own = p.parsing.empty() ? 0 : p.parsing.size() - 1;
    if (p.issues.empty()) {
        const parser::SourceFile *file{p.file};
        parse_siblings(u, m, text);
        p.file = file;
    }
}

/* -D of the makefiles in the file's folder and above it, if a text tests for the macro. The first
 * value of a name counts. */
static void add_macros(parser::Options &o, const hpc_clang_unit &u, const Modules &m,
                       const std::string &whole)
{
    std::set<std::string> tested, known;
    const auto find{[&](const std::string &text) {
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            size_t at{line.find_first_not_of(" \t")};
            if (at == std::string::npos || line[at] != '#') continue;
            for (at++; at < line.size(); at++) {
                const std::string w{word_at(line, &at)};
                if (!w.empty()) tested.insert(w);
            }
        }
    }};
    find(whole);
    for (const auto &t : m.text) find(t.second);
    for (const auto &d : o.predefinitions) known.insert(d.first);
    for (const std::string &folder : {u.folders[0], u.folders[0] + "/.."}) {
        std::set<std::string> files;
        DIR *d{opendir(folder.c_str())};
        for (const dirent *e; d && (e = readdir(d));)
            if (lower(e->d_name).compare(0, 8, "makefile") == 0 ||
                std::string{e->d_name} == "CMakeLists.txt")
                files.insert(folder + "/" + e->d_name);
        if (d) closedir(d);
        for (const std::string &path : files) {
            std::istringstream lines{read(path)};
            for (std::string line; std::getline(lines, line);) {
                line.resize(std::min(line.find('#'), line.size()));
                for (size_t at = 0; (at = line.find("-D", at)) != std::string::npos;) {
                    const std::string name{word_at(line, &(at += 2))};
                    if (!tested.count(name) || !known.insert(name).second) continue;
                    const bool value{at + 1 < line.size() && line[at] == '='};
                    at += value;
                    o.predefinitions.emplace_back(name, value ? word_at(line, &at) : "1");
                }
            }
        }
    }
}

/* Units with errors are left out of the text until the rest has none. */
static void parse_all(hpc_clang_unit &u, const hpc_clang_text &text)
{
    enum { ROUNDS_MOST = 8 };
    const std::string whole{text.text, text.n};
    std::string rest{whole};
    std::vector<Issue> all;
    Modules m;
    parse_once(u, m, whole, rest);
    if (!u.parse->issues.empty()) { /* the macros of the build may be missing */
        const size_t before{u.options.predefinitions.size()}, issues{u.parse->issues.size()};
        add_macros(u.options, u, m, whole);
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
            u.folders.push_back(rest);
        } else if (f.compare(0, 2, "-D") == 0) {
            const size_t equal{rest.find('=')};
            u.options.predefinitions.emplace_back(
                rest.substr(0, equal), equal == std::string::npos ? "1" : rest.substr(equal + 1));
        }
    }
    u.options.searchDirectories = u.folders;
}

static int open_unit(hpc_clang_unit **out, const hpc_clang_text *texts, size_t,
                     const char *const *flags, bool, bool, char *)
{
    auto u{std::make_unique<hpc_clang_unit>()};
    u->path = texts[0].path;
    const size_t slash{u->path.rfind('/')};
    u->folders.push_back(slash == std::string::npos ? "." : u->path.substr(0, slash));
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
    u->parse.reset();
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
    if (!u->parse->parsing.empty() && u->parse->tree() && !walk.has_errors) {
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
