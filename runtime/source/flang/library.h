/*
 * library.h: texts of Fortran, and their parses by flang, which units of a process share.
 */
#ifndef HPC_SOURCE_FLANG_LIBRARY_H
#define HPC_SOURCE_FLANG_LIBRARY_H

#include <flang/Common/default-kinds.h>
#include <flang/Parser/parsing.h>
#include <flang/Semantics/scope.h>
#include <flang/Semantics/semantics.h>
#include <flang/Semantics/symbol.h>
#include <flang/Semantics/tools.h>

#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/source/flang/flang.h"

namespace parser = Fortran::parser;
namespace semantics = Fortran::semantics;
namespace evaluate = Fortran::evaluate;
namespace common = Fortran::common;

#define HPC_FLANG_TEXT_OF(macro) HPC_FLANG_TEXT_OF_(macro)
#define HPC_FLANG_TEXT_OF_(text) #text
#define HPC_FLANG_MODULES_TEXT   HPC_FLANG_TEXT_OF(HPC_FLANG_MODULES)

namespace hpc_flang {

struct Issue {
    std::string text;
    uint32_t line, column, at;
    bool inside, parse;
};

/* ---- texts (modules.cc) ---- */
bool is_fixed(const std::string &path); /* its name means fixed form */
std::string lower(std::string s);

/* A text, and what its lines and words say; names are in lower case. */
class Text {
  public:
    explicit Text(std::string given);
    const std::string text;
    std::vector<std::string> modules, uses; /* that it defines, and that it uses */
    bool program = false;                   /* it has a main program */
    const std::set<std::string> &words() const
    {
        find_words();
        return words_;
    }
    const std::set<std::string> &defined() const /* procedures */
    {
        find_words();
        return defined_;
    }

  private:
    mutable std::set<std::string> words_, defined_;
    mutable bool has_words = false;
    void add_line(const std::string &line);
    void find_words() const;
};

/* Files, each read again only after it has changed. */
class Texts {
  public:
    std::shared_ptr<const Text> at(const std::string &path); /* nullptr: not readable */

  private:
    struct File {
        std::shared_ptr<const Text> text;
        off_t size;
        ino_t node;
        time_t seconds;
        long nanoseconds;
    };
    std::map<std::string, File> file;
};

std::string canonical(const std::string &folder); /* itself if it does not exist */

/* The sources around a file, by the modules that they define: those in its folders, then those in
 * each folder above it up to the root of its tree. Nearer folders count first. */
class Modules {
  public:
    Modules(Texts &all, const std::string &file, const std::vector<std::string> &of);
    /* Adds the sources of a folder, and of those in it down to a depth. */
    void find_in(const std::string &folder, int depth);
    /* The file itself is the source of the modules that its text defines. */
    void prefer(const Text &own) { mine = own.modules; }
    /* The source of a module, in the folders of the file, else nearby in its tree; "": unknown. */
    std::string source_of(const std::string &module);
    /* -D of the makefiles in the file's folder and above it, if a text tests for the macro. The
     * first value of a name counts. */
    void add_macros(parser::Options &o, const std::string &own) const;

    std::map<std::string, std::shared_ptr<const Text>> text; /* by path */

  private:
    using clock = std::chrono::steady_clock;
    Texts &texts;
    const std::string file;
    decltype(Text::modules) mine;                       /* modules that it defines */
    const std::vector<std::string> &folders;            /* of the file, then of -I */
    std::map<std::string, std::string> source;          /* of modules */
    std::map<std::string, std::set<std::string>> below; /* folders in those that were read */
    std::string root;                                   /* the last folder that is searched */
    std::string around;                                 /* the last one that was; "": none */
    clock::time_point until;                            /* folders are read */
    bool widen();                                       /* False: all folders were searched */
    void read_folder(const std::string &folder);
    void add(const std::string &name, const std::string &path);
};

/* ---- parses (library.cc) ---- */
struct Wanted { /* a text that is parsed for a unit */
    std::string path;
    std::shared_ptr<const Text> text;
    bool is_stub;
};
struct Plan { /* what a unit parses */
    std::string path;
    std::shared_ptr<const Text> own;
    std::vector<Wanted> before, after; /* modules; files with procedures, and their modules */
    int siblings;                      /* files with procedures */
};

/* A text in a parse, and what its analysis added. */
struct Part {
    std::unique_ptr<parser::Parsing> parsing;
    std::string path;
    std::shared_ptr<const Text> text;
    bool is_stub = false, broken = false; /* broken: a module with errors */
    const parser::SourceFile *file = nullptr;
    std::set<std::string> names;        /* global ones */
    std::list<semantics::Scope> scopes; /* of its program units */
};

/* Everything that flang keeps, in the order in which it must be freed. */
struct Parse {
    parser::AllSources sources;
    parser::AllCookedSources cooked{sources};
    common::IntrinsicTypeDefaultKinds kinds;
    common::LanguageFeatureControl features;
    std::deque<Part> part; /* modules, the file, its siblings */
    size_t own = 0;        /* the file, or a module that is the file */
    size_t kept = 0;       /* parts that outlive the unit: the first ones */
    std::unique_ptr<semantics::SemanticsContext> context;
    std::string key;     /* the options */
    int units = 0;       /* that it served */
    bool spoilt = false; /* it can serve no other unit */
    bool mixed = false;  /* the unit names procedures that parts name which it does not use */
    const parser::SourceFile *file = nullptr; /* of `own` */
    std::string text;                         /* of the file */
    std::vector<Issue> issues;
    bool clean = false; /* the text without the units that have issues has none */

    const std::optional<parser::Program> &tree() const { return part[own].parsing->parseTree(); }
    /* A part without errors; nullptr: none has this path and this text. */
    const Part *find(const std::string &path, const std::string &text) const;
    std::string with_includes(const Part &x) const; /* its text, and those of its include files */
    void analyse(Part &x);
    void set_broken(Part &x);
    void retract(); /* removes what belongs to the unit */
};

/* A parse for a unit, with modules that others left, or with none. */
std::unique_ptr<Parse> take_parse(hpc_clang_kept &kept, const Plan &plan, const std::string &key);
void give_back(hpc_clang_kept &kept, std::unique_ptr<Parse> p);

} // namespace hpc_flang

struct hpc_clang_kept {
    hpc_flang::Texts texts;
    std::map<std::string, std::unique_ptr<hpc_flang::Parse>> idle; /* by key */
};
#endif
