/*
 * options_completion.c: the shell completion script of a program. It completes commands
 * of one or two words, options, values of choices, and otherwise file names. It is a
 * bash script; zsh loads it with bashcompinit.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/priv.h"

/* Bash splits "--name=value" at the "=", other shells may not. */
static const char head[] = "{\n"
                           "    local cur prev cmd words\n"
                           "    cur=${COMP_WORDS[COMP_CWORD]}\n"
                           "    prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                           "    if [[ $cur == '=' ]]; then\n"
                           "        cur=''\n"
                           "    elif [[ $prev == '=' ]] && (( COMP_CWORD > 1 )); then\n"
                           "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                           "    fi\n"
                           "    COMPREPLY=()\n";

static size_t first_word(const char *name)
{
    return strcspn(name, " ");
}

static bool same_group(const hpc_command *a, const hpc_command *b)
{
    size_t n = first_word(a->name);
    return n == first_word(b->name) && memcmp(a->name, b->name, n) == 0;
}

/* True if no earlier command has the same first word. */
static bool opens_group(const hpc_command *const *commands, int i)
{
    for (int k = 0; k < i; k++) {
        if (same_group(commands[k], commands[i])) return false;
    }
    return true;
}

static void function_name(char *out, size_t size, const char *program)
{
    snprintf(out, size, "_%s", program);
    for (char *p = out; *p; p++) {
        if (!isalnum((unsigned char)*p)) *p = '_';
    }
}

/* Completes the first word, and in a group the second one. */
static void write_commands(hpc_buf *out, const hpc_command *const *commands)
{
    const char *gap = "";
    hpc_buf_text(out, "    if (( COMP_CWORD == 1 )); then\n        words='");
    for (int i = 0; commands[i]; i++) {
        if (!opens_group(commands, i)) continue;
        hpc_buf_printf(out, "%s%.*s", gap, (int)first_word(commands[i]->name), commands[i]->name);
        gap = " ";
    }
    hpc_buf_text(out, "'\n        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                      "        return\n    fi\n    cmd=${COMP_WORDS[1]}\n");
}

static void write_group(hpc_buf *out, const hpc_command *const *commands, int first)
{
    const char *name = commands[first]->name, *gap = "";
    bool alone = false; /* the first word is a command by itself as well */
    hpc_buf words = {0};
    for (int i = first; commands[i]; i++) {
        size_t n = first_word(commands[i]->name);
        if (!same_group(commands[i], commands[first])) continue;
        if (commands[i]->name[n] == '\0') {
            alone = true;
            continue;
        }
        hpc_buf_printf(&words, "%s%s", gap, commands[i]->name + n + 1);
        gap = " ";
    }
    if (words.n > 0) {
        hpc_buf_printf(out,
                       "    %.*s)\n"
                       "        words='%s'\n"
                       "        if (( COMP_CWORD == 2 ))%s; then\n"
                       "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                       "            return\n"
                       "        fi\n"
                       "        [[ \" $words \" != *\" ${COMP_WORDS[2]} \"* ]] || "
                       "cmd=\"$cmd ${COMP_WORDS[2]}\"\n"
                       "        ;;\n",
                       (int)first_word(name), name, words.data,
                       alone ? " && [[ $cur != -* ]]" : "");
    }
    if (words.failed) out->failed = words.failed;
    hpc_buf_release(&words);
}

static void write_values(hpc_buf *out, const hpc_option *o)
{
    const char *gap = "";
    if (o->kind == HPC_FLAG) return;
    hpc_buf_printf(out, "        --%s", o->name);
    if (o->letter) hpc_buf_printf(out, "|-%c", o->letter);
    hpc_buf_text(out, ") ");
    if (o->kind == HPC_CHOICE) {
        hpc_buf_text(out, "COMPREPLY=($(compgen -W '");
        for (int i = 0; o->choices[i]; i++) {
            hpc_buf_printf(out, "%s%s", gap, o->choices[i]);
            gap = " ";
        }
        hpc_buf_text(out, "' -- \"$cur\")); ");
    }
    hpc_buf_text(out, "return ;;\n");
}

static void write_command(hpc_buf *out, const hpc_command *c)
{
    hpc_buf_printf(out, "    '%s')\n        words='", c->name);
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o)) {
        hpc_buf_printf(out, "--%s ", o->name);
        if (hpc_option_is_on(o)) hpc_buf_printf(out, "--no-%s ", o->name);
    }
    hpc_buf_text(out, "--help'\n");
    if (c->options && c->options->name) {
        hpc_buf_text(out, "        case $prev in\n");
        for (const hpc_option *o = c->options; o->name; o = hpc_option_next(o))
            write_values(out, o);
        hpc_buf_text(out, "        esac\n");
    }
    hpc_buf_text(out, "        ;;\n");
}

int hpc_options_completion(hpc_buf *out, const hpc_command *const *commands, const char *program)
{
    char function[80];
    function_name(function, sizeof function, program);
    hpc_buf_printf(out,
                   "# bash completion for %s; zsh reads it through bashcompinit\n"
                   "if [[ -n ${ZSH_VERSION-} ]]; then\n"
                   "    autoload -U +X bashcompinit && bashcompinit\n"
                   "fi\n"
                   "%s()\n%s",
                   program, function, head);
    write_commands(out, commands);
    hpc_buf_text(out, "    case $cmd in\n");
    for (int i = 0; commands[i]; i++) {
        if (opens_group(commands, i)) write_group(out, commands, i);
    }
    hpc_buf_text(out, "    esac\n    words=''\n    case $cmd in\n");
    for (int i = 0; commands[i]; i++) write_command(out, commands[i]);
    hpc_buf_printf(out,
                   "    esac\n"
                   "    [[ $cur != -* ]] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                   "}\n"
                   "complete -o default -F %s %s\n",
                   function, program);
    return out->failed;
}
