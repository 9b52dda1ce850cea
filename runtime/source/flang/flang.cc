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

static void take_messages(Parse &p, parser::Messages &messages, bool of_parser, bool own)
{
    for (const parser::Message &m : messages.messages()) {
        const std::string text{m.ToString()};
        if (!m.IsFatal() || text.compare(0, 13, "Error writing") == 0) continue;
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

/* Names of MPI for files whose tree does not define its module. Procedures have no interface. */
static const char mpi_module[]{R"(module mpi
  implicit none
  integer, parameter :: mpi_comm_world = 0, mpi_comm_self = 1, mpi_comm_null = 2, mpi_success = 0
  integer, parameter :: mpi_integer = 1, mpi_real = 2, mpi_double_precision = 3, mpi_logical = 4
  integer, parameter :: mpi_character = 5, mpi_complex = 6, mpi_double_complex = 7, mpi_byte = 8
  integer, parameter :: mpi_real4 = 9, mpi_real8 = 10, mpi_integer4 = 11, mpi_integer8 = 12
  integer, parameter :: mpi_packed = 13, mpi_2integer = 14, mpi_2double_precision = 15
  integer, parameter :: mpi_sum = 1, mpi_max = 2, mpi_min = 3, mpi_prod = 4, mpi_land = 5
  integer, parameter :: mpi_lor = 6, mpi_band = 7, mpi_bor = 8, mpi_maxloc = 9, mpi_minloc = 10
  integer, parameter :: mpi_status_size = 6, mpi_source = 1, mpi_tag = 2, mpi_error = 3
  integer, parameter :: mpi_any_source = -1, mpi_any_tag = -2, mpi_proc_null = -3
  integer, parameter :: mpi_undefined = -4, mpi_request_null = 0, mpi_datatype_null = 0
  integer, parameter :: mpi_info_null = 0, mpi_max_processor_name = 256
  integer, parameter :: mpi_thread_single = 0, mpi_thread_funneled = 1
  integer, parameter :: mpi_thread_serialized = 2, mpi_thread_multiple = 3
  integer, parameter :: mpi_order_fortran = 1, mpi_mode_rdonly = 1, mpi_mode_wronly = 2
  integer, parameter :: mpi_mode_create = 4, mpi_address_kind = 8, mpi_offset_kind = 8
  integer :: mpi_bottom, mpi_in_place, mpi_status_ignore(6), mpi_statuses_ignore(6, 1)
  double precision, external :: mpi_wtime, mpi_wtick
end module
)"};

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
    if (!u.form_given) o.isFixedForm = is_fixed(path);
    for (int turn = u.form_given || !o.isFixedForm; turn < 3; turn++) { /* fixed, free, fixed */
        p.parsing.push_back(std::make_unique<parser::Parsing>(p.cooked));
        parser::Parsing &parsing{*p.parsing.back()};
        if (turn > 0 && !u.form_given) o.isFixedForm = turn == 2;
        if (!prescan(p, parsing, o, text)) return false;
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
    const bool whole{parsing.parseTree() && parsing.consumedWholeFile()};
    take_messages(p, parsing.messages(), true, own);
    if (!whole) {
        if (own && p.issues.empty())
            p.issues.push_back({"the parser stops in this file", 1, 1, 0, true, true});
        return;
    }
    semantics::Semantics{*p.context, *parsing.parseTree()}.Perform();
    take_messages(p, p.context->messages(), false, own);
}

static void parse_used(hpc_clang_unit &u, Modules &m, const std::string &text)
{
    for (const std::string &name : names_after(text, "use")) {
        const std::string path{source_of(m, u, name)};
        if (path.empty() && name == "mpi" && m.done.insert(name).second)
            parse_text(u, "mpi.f90", mpi_module, false);
        if (path.empty() || !m.done.insert(path).second) continue;
        if (m.text[path] == u.parse->text) continue;
        parse_used(u, m, m.text[path]);
        parse_text(u, path, m.text[path], false);
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
    if (u->parse->parsing.back()->parseTree() && !walk.has_errors) {
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
