/*
 * modules.cc: the texts of a tree: the modules and procedures in them, and where to find those that
 * a text uses. Texts are read as lines and words here, without flang.
 */
#include "runtime/source/check.h"
#include "runtime/source/flang/priv.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

namespace hpc_flang {

bool is_fixed(const std::string &path)
{
    const size_t dot{path.rfind('.')};
    static const char *const ends[]{".f", ".for", ".ftn", ".f77", ".F", ".FOR", ".FTN", ".F77"};
    for (const char *e : ends)
        if (dot != std::string::npos && path.compare(dot, std::string::npos, e) == 0) return true;
    return false;
}

std::string lower(std::string s)
{
    for (char &c : s)
        if (c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
    return s;
}

static bool is_word(char c)
{
    return std::isalnum((unsigned char)c) || c == '_';
}

static std::string word_at(const std::string &line, size_t *at)
{
    while (*at < line.size() && std::isspace((unsigned char)line[*at])) ++*at;
    const size_t from{*at};
    while (*at < line.size() && is_word(line[*at])) ++*at;
    return line.substr(from, *at - from);
}

/* ---- texts ---- */

/* Takes the names after "use" and "module" at the begin of a line. */
void Text::add_line(const std::string &line)
{
    size_t at{0};
    const std::string first{word_at(line, &at)};
    program = program || first == "program";
    if (first != "use" && first != "module") return;
    if (const size_t colons{line.find("::", at)};
        first == "use" && colons != std::string::npos && line.find("only") > colons)
        at = colons + 2;
    const std::string name{word_at(line, &at)};
    if (name.empty() || name == "procedure" || name == "subroutine" || name == "function") return;
    (first == "use" ? uses : modules).push_back(name);
}

Text::Text(std::string given) : text{std::move(given)}
{
    for (size_t at = 0; at < text.size();) {
        const size_t end{std::min(text.find('\n', at), text.size())};
        size_t first{at};
        while (first < end && std::isspace((unsigned char)text[first])) first++;
        if (first < end && std::strchr("uUmMpP", text[first]))
            add_line(lower(text.substr(first, end - first)));
        at = end + 1;
    }
}

/* All words, and the names of procedures that the text defines. */
void Text::find_words() const
{
    std::string word, before;
    if (has_words) return;
    has_words = true;
    const std::string low{lower(text)};
    for (size_t i = 0; i < low.size();) {
        size_t end{i};
        while (end < low.size() && is_word(low[end])) end++;
        if (end > i) {
            word.assign(low, i, end - i);
            if (before == "subroutine" || before == "function") defined_.insert(word);
            before = word;
            words_.insert(std::move(word));
        }
        if (end < low.size() && low[end] != ' ') before.clear();
        i = end + 1;
    }
}

/* ---- the texts of a tree ---- */

static bool is_source(const std::string &name)
{
    const size_t dot{name.rfind('.')};
    if (dot == std::string::npos) return false;
    const std::string end{lower(name.substr(dot))};
    return end == ".f90" || end == ".f95" || end == ".f03" || end == ".f08" || is_fixed(name);
}

enum { TEXT_BYTES_MOST = 16 << 20 };

/* Opening a pipe or a device may block. */
static bool is_readable(struct stat *s, const std::string &path)
{
    return stat(path.c_str(), s) == 0 && S_ISREG(s->st_mode) && s->st_size <= TEXT_BYTES_MOST;
}

static std::string read(const std::string &path)
{
    std::ifstream in{path, std::ios::binary};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::shared_ptr<const Text> Texts::at(const std::string &path)
{
    struct stat s;
    if (!is_readable(&s, path)) return nullptr;
    File &f{file[path]};
    if (!f.text || f.size != s.st_size || f.node != s.st_ino || f.seconds != s.st_mtim.tv_sec ||
        f.nanoseconds != s.st_mtim.tv_nsec)
        f = File{std::make_shared<Text>(read(path)), s.st_size, s.st_ino, s.st_mtim.tv_sec,
                 s.st_mtim.tv_nsec};
    return f.text;
}

/* ---- modules ---- */

enum { FILES_MOST = 4000, FOLDERS_MOST = 2000, LEVELS_MOST = 8, SECONDS_MOST = 10 };

static std::string parent_of(const std::string &path)
{
    const size_t slash{path.rfind('/')};
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string canonical(const std::string &folder)
{
    char whole[PATH_MAX];
    return realpath(folder.c_str(), whole) ? whole : folder;
}

Modules::Modules(Texts &all, const std::string &file_, const std::vector<std::string> &of)
    : texts{all}, file{file_}, folders{of}, until{clock::now() + std::chrono::seconds{SECONDS_MOST}}
{
    char top[PATH_MAX];
    hpc_check_tree_root(top, file.substr(0, PATH_MAX - 1).c_str());
    root = top == folders[0] ? parent_of(folders[0]) : top;
}

/* If two files of a folder define a module, the one with its name is its source. */
void Modules::add(const std::string &name, const std::string &path)
{
    const size_t slash{path.rfind('/') + 1};
    const auto [known, added]{source.emplace(name, path)};
    if (!added && known->second.compare(0, slash, path, 0, slash) == 0 &&
        lower(path.substr(slash, path.rfind('.') - slash)) == name)
        known->second = path;
}

void Modules::read_folder(const std::string &folder)
{
    if (below.size() >= FOLDERS_MOST || clock::now() > until || below.count(folder)) return;
    std::set<std::string> names, &inside{below[folder]};
    DIR *d{opendir(folder.c_str())};
    for (const dirent *e; d && (e = readdir(d));) {
        if (e->d_type == DT_DIR && e->d_name[0] != '.') inside.insert(folder + "/" + e->d_name);
        if (is_source(e->d_name)) names.insert(e->d_name);
    }
    if (d) closedir(d);
    for (const std::string &n : names) {
        const std::string path{folder + "/" + n};
        if (text.size() >= FILES_MOST || clock::now() > until) return;
        const std::shared_ptr<const Text> found{texts.at(path)};
        if (!found) continue;
        text[path] = found;
        for (const std::string &name : found->modules) add(name, path);
    }
}

void Modules::find_in(const std::string &folder, int depth)
{
    std::set<std::string> level{folder};
    for (; depth >= 0 && !level.empty(); depth--) {
        std::set<std::string> next;
        for (const std::string &f : level) {
            read_folder(f);
            if (const auto found{below.find(f)}; found != below.end())
                next.insert(found->second.begin(), found->second.end());
        }
        level = std::move(next);
    }
}

bool Modules::widen()
{
    if (around == root) return false;
    around = around.empty() ? folders[0] : parent_of(around);
    find_in(around, LEVELS_MOST);
    return !around.empty();
}

static bool is_intrinsic(const std::string &module)
{
    return module.compare(0, 4, "iso_") == 0 || module.compare(0, 5, "ieee_") == 0 ||
           module == "omp_lib";
}

std::string Modules::source_of(const std::string &module)
{
    if (std::find(mine.begin(), mine.end(), module) != mine.end()) return file;
    auto found{source.find(module)};
    while (found == source.end() && !is_intrinsic(module) && widen()) found = source.find(module);
    return found == source.end() ? "" : found->second;
}

/* ---- macros ---- */

/* The names that the directives of a text test. */
static void add_tested(std::set<std::string> &out, const std::string &text)
{
    for (size_t at = 0; at < text.size();) {
        const size_t end{std::min(text.find('\n', at), text.size())};
        size_t first{text.find_first_not_of(" \t", at)};
        if (first < end && text[first] == '#') {
            const std::string line{text.substr(first + 1, end - first - 1)};
            for (size_t k = 0; k < line.size(); k++)
                if (const std::string w{word_at(line, &k)}; !w.empty()) out.insert(w);
        }
        at = end + 1;
    }
}

void Modules::add_macros(parser::Options &o, const std::string &own) const
{
    std::set<std::string> tested, known;
    add_tested(tested, own);
    for (const auto &t : text) add_tested(tested, t.second->text);
    for (const auto &d : o.predefinitions) known.insert(d.first);
    for (const std::string &folder : {folders[0], folders[0] + "/.."}) {
        std::set<std::string> paths;
        DIR *d{opendir(folder.c_str())};
        for (const dirent *e; d && (e = readdir(d));)
            if (lower(e->d_name).compare(0, 8, "makefile") == 0 ||
                std::string{e->d_name} == "CMakeLists.txt")
                paths.insert(folder + "/" + e->d_name);
        if (d) closedir(d);
        for (const std::string &path : paths) {
            struct stat s;
            std::istringstream lines{is_readable(&s, path) ? read(path) : ""};
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

} // namespace hpc_flang
