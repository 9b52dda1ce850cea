#!/bin/sh
# selftest.sh: every lint passes on a small clean tree and fails on each violation planted in it,
# naming it. A lint that nobody has seen fail is not known to work.
set -u
unset MAKEFLAGS MFLAGS MAKELEVEL
tree=$(mktemp -d) || exit 1
trap 'cd / && rm -rf "$tree"' EXIT
mkdir -p "$tree/tests/docs" "$tree/docs" && cp tests/docs/same_json.py "$tree/tests/docs" &&
    cp Makefile config.sh .clang-format .gitignore "$tree" && cp docs/docs.mk "$tree/docs" &&
    cp tests/tests.mk "$tree/tests" && mkdir -p "$tree/runtime/device/cuda" &&
    cp runtime/device/cuda/cuda.mk "$tree/runtime/device/cuda" &&
    cp -r tests/lint "$tree/tests" && cd "$tree" && git init -q . || exit 1
build=build/selftest
scratch=$tree/build/scratch
mkdir -p "$scratch"

put() { # file; text on standard input
    mkdir -p "$(dirname "$1")"
    cat >"$1"
}
rebuild() {
    make VARIANT=selftest CFLAGS_selftest=-O1 CC=gcc "$build/libhpc-base.a" "$build/libhpc-device.a" \
        >"$scratch/build.log" 2>&1 || { cat "$scratch/build.log" && exit 1; }
}
flunk() {
    echo "selftest: $*"
    touch "$scratch/failed" # a file: some of these run at the end of a pipe
}
clean() { # lint
    sh "tests/lint/$1.sh" "$build" >"$scratch/log" 2>&1 && return
    flunk "$1 refuses a clean tree:"
    cat "$scratch/log"
}
# Plants a file, wants the lint to fail with a message that matches, takes the file away.
planted() { # lint file message; text on standard input
    [ ! -f "$2" ] || cp "$2" "$scratch/saved"
    put "$2"
    case $1 in link | globals | circles | symbols) rebuild ;; esac
    if sh "tests/lint/$1.sh" "$build" >"$scratch/log" 2>&1; then
        flunk "$1 does not see what is wrong with $2 (expected: $3)"
    elif ! grep -qE "$3" "$scratch/log"; then
        flunk "$1 fails on $2, but does not say: $3"
        cat "$scratch/log"
    fi
    if [ -f "$scratch/saved" ]; then mv "$scratch/saved" "$2"; else rm "$2"; fi
}

put runtime/base/base.h <<'END'
/* base.h: the lowest room of a small tree. */
#ifndef HPC_BASE_H
#define HPC_BASE_H
#include <errno.h>
int hpc_error_set(const char *file, int line, int code, int os, const char *format, ...);
int hpc_base_answer(void);
#endif
END
put runtime/base/base.c <<'END'
/* base.c: its one function, a constant table and a thread-local record. */
#include "runtime/base/base.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const name[] = {"one", "two"};
static _Thread_local int last;

int hpc_error_set(const char *file, int line, int code, int os, const char *format, ...)
{
    (void)file, (void)line, (void)os, (void)format;
    return last = code;
}

/* Says "fopen(" and printf( where it does no harm. */
int hpc_base_answer(void)
{
    char text[32];
    return snprintf(text, sizeof text, "printf(%s)", name[last & 1]);
}
END
put runtime/device/device.h <<'END'
/* device.h: the room above. */
#ifndef HPC_DEVICE_H
#define HPC_DEVICE_H
#include "runtime/base/base.h"
int hpc_device_answer(void);
#endif
END
put runtime/device/device.c <<'END'
/* device.c: calls downward, as it may. */
#include "runtime/device/device.h"

int hpc_device_answer(void)
{
    return hpc_base_answer() + 1;
}
END
# A module in the folder of another one.
echo 'inner runtime/base/inner -' >>tests/lint/rooms
# No offences are left to this tree, and its subjects count from its first commit on.
: >tests/lint/words_left.txt
echo 'runtime/base includes calls' >tests/lint/circle_free
commit() { # subject
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m "$1"
}
commit 'Begin' && git rev-parse HEAD >tests/lint/subjects_since
rebuild
for lint in format layers circles symbols link globals sizes tree headers words tidy arm; do clean $lint; done

planted format runtime/base/bad.c 'bad.c:2' <<'END'
/* bad.c: badly laid out. */
int   hpc_bad ( void ) ;
END

planted layers runtime/base/bad.c 'base may not know device' <<'END'
#include "runtime/device/device.h"
END
planted layers runtime/link/bad.c 'link may not know program' <<'END'
#include "runtime/program/program.h"
END
planted layers runtime/git/bad.c 'git may not know source' <<'END'
#include "runtime/source/source.h"
END
planted layers infer/pragma/bad.c 'infer-pragma may not know infer-complete' <<'END'
#include "infer/complete/complete.h"
END
planted layers infer/engine/bad.c 'infer-engine may not know infer-pragma' <<'END'
#include "infer/pragma/pragma.h"
END
planted layers infer/bad.c 'is in no room' <<'END'
#include "runtime/base/base.h"
END
planted layers runtime/base/inner/bad.c 'inner may not know base' <<'END'
#include "runtime/base/base.h"
END
planted layers runtime/device/bad.c 'path from the root' <<'END'
#include "device.h"
END
planted layers runtime/device/bad.c 'private to runtime/base' <<'END'
#include "runtime/base/priv.h"
END
planted layers somewhere/bad.c 'is in no room' <<'END'
#include "runtime/base/base.h"
END
planted layers runtime/device/bad.c 'vendor header' <<'END'
#include <jansson.h>
END
planted layers runtime/device/cpu/bad.c 'vendor header' <<'END'
#include <oneapi/dnnl/dnnl.h>
END
planted layers runtime/device/cpu/bad.c 'vendor header' <<'END'
#include <cblas.h>
END
planted layers runtime/source/bad.c 'vendor header' <<'END'
#include <clang-c/Index.h>
END
for call in 'FILE *f = fopen(p, "r");' 'int fd = open(p, 0);' 'printf("x");' 'exit(1);' \
    'fprintf(stderr, "x");' 'fflush(stdout);' 'char *v = getenv("X");' 'abort();'; do
    printf 'void hpc_bad(const char *p)\n{\n    %s\n}\n' "$call" |
        planted layers runtime/device/bad.c 'bad.c:3:.*only in'
done
planted layers runtime/device/bad.c 'always 0 or 1' <<'END'
#ifdef HPC_HAVE_DNNL
#endif
END
planted layers runtime/device/bad.c 'always 0 or 1' <<'END'
#if defined(HPC_HAVE_DNNL)
#endif
END

planted link runtime/base/bad.c "undefined reference to .hpc_device_answer'" <<'END'
int hpc_device_answer(void);
int hpc_bad(void);
int hpc_bad(void) { return hpc_device_answer(); }
END
put runtime/base/bad.h <<'END'
/* bad.h: includes its user. */
#include "runtime/base/base.h"
END
cp runtime/base/base.h "$scratch/base.h" && sed -i '3a #include "runtime/base/bad.h"' runtime/base/base.h
planted circles runtime/base/bad.c 'runtime/base: circle by includes: (bad base|base bad)' <<'END'
#include "runtime/base/bad.h"
END
rm runtime/base/bad.h && mv "$scratch/base.h" runtime/base/base.h
put runtime/base/bad.c <<'END'
#include "runtime/base/base.h"
int hpc_bad(void);
int hpc_bad(void) { return hpc_base_answer(); }
END
planted circles runtime/base/base.c 'runtime/base: circle by calls: (bad base|base bad)' <<'END'
#include "runtime/base/base.h"
int hpc_bad(void);
int hpc_base_answer(void) { return hpc_bad(); }
END
rm runtime/base/bad.c
put runtime/base/bad.c <<'END'
int bad(void);
int bad(void) { return 1; }
END
planted symbols runtime/device/bad.c 'bad is used by .* and does not begin with hpc_' <<'END'
int bad(void);
int hpc_bad(void);
int hpc_bad(void) { return bad(); }
END
rm runtime/base/bad.c
planted symbols runtime/base/bad.c 'bad is used in no other object' <<'END'
int bad(void);
int bad(void) { return 1; }
END
planted symbols runtime/base/bad.c 'hpc_base_answer is also defined in base ba(se|d).o' <<'END'
int hpc_base_answer(void);
int hpc_base_answer(void) { return 1; }
END
planted globals runtime/device/bad.c 'bad.o: hpc_bad_n in .bss' <<'END'
extern int hpc_bad_n;
int hpc_bad_n;
END
planted globals runtime/base/bad.c 'bad.o: calls.* in .data' <<'END'
int hpc_bad(void);
int hpc_bad(void) { static int calls = 3; return calls++; }
END

yes 'int hpc_bad(void);' | head -n 600 | sed '1i /* bad.c: long. */' |
    planted sizes runtime/base/bad.c '601 lines, at most 600'
yes 'int hpc_bad(void);' | head -n 300 | sed '1i /* bad.h: long. */' |
    planted sizes runtime/base/bad.h '301 lines, at most 300'
yes 'int hpc_bad(void);' | head -n 300 | sed '1i /* bad.c: a long command. */' |
    planted sizes cmd/bad.c '301 lines, at most 300'
yes '# nothing' | head -n 251 | planted sizes Makefile '251 lines, at most 250'
yes 'A line.' | head -n 201 | planted sizes README.md '201 lines, at most 200'
printf '%014001d' 0 | planted sizes README.md '14001 bytes, at most 14000'
yes 'A line.' | head -n 301 | planted sizes docs/bad.md '301 lines, at most 300'
{
    printf '/* bad.c: a long function. */\nint hpc_bad(int x)\n{\n'
    yes '    x++;' | head -n 79
    printf '}\n'
} >"$scratch/long.c"
planted sizes runtime/base/bad.c 'hpc_bad has 81 lines, at most 80' <"$scratch/long.c"
mkdir -p runtime/device/cpu/kernels
sed '4,42p' "$scratch/long.c" >runtime/device/cpu/kernels/long.c # 120 lines
clean sizes
rm runtime/device/cpu/kernels/long.c
sed '4,43p' "$scratch/long.c" |
    planted sizes runtime/device/cpu/kernels/bad.c 'hpc_bad has 121 lines, at most 120'
printf '/* bad.c: wide. */\n/* %099d */\n' 0 | planted sizes runtime/base/bad.c '105 columns'
echo 'int hpc_bad(void);' | planted sizes runtime/base/bad.c 'not what it is for'

head -c 32000000 /dev/zero | planted tree data/bad.bin 'tree: 32[0-9]* bytes.*data/bad.bin 32000000'
echo 'int hpc_bad(size_t n);' | planted headers runtime/base/bad.h 'alone as C11'
printf '#include <stddef.h>\nint hpc_bad(char *new);\n' |
    planted headers runtime/link/link.h 'alone as C\+\+17'
echo 'double hpc_base_answer(void);' | planted headers runtime/link/link.h 'public headers as C11'

echo '/* see /'work/main */ | planted words runtime/base/bad.c 'path of one machine'
echo 'char *p = "/'tmp/x'";' | planted words runtime/base/bad.c 'use a folder'
echo '/* from pypi''.org */' | planted words runtime/base/bad.c 'package registry'
echo '/* TO''DO: later */' | planted words runtime/base/bad.c 'names no issue'

echo '/* bad.c: what is told of a change. */' | planted words runtime/base/bad.c '": what is": start with the subject'
echo '/* bad.c: a file. */ const char *bad = "the words be" "hind it";' |
    planted words runtime/base/bad.c 'bad.c:1: " behind ": write after'
printf '/* bad.h: a file. */\n/* Frees it, as\n * it is. */\n' | planted words runtime/base/bad.h 'bad.h:2: .*unchanged'
printf '/* bad.c: a file. */\nint x; /* rests on it */\n' | planted words runtime/base/bad.c "1 offences in kind 'comment'"
printf '# Title\n\nNobody reads\nthis.\n' | planted words docs/bad.md 'bad.md:3: .*name the actor'
printf '# Title\n\nA sentence%s.\n' "$(yes ' and more' | head -n 20 | tr -d '\n')" |
    planted words docs/bad.md 'a sentence of 42 words, at most 40'
printf '/* bad.h: a file\n * of%s. */\n' "$(yes ' many words' | head -n 20 | tr -d '\n')" |
    planted words runtime/base/bad.h 'a sentence of 44 words'
printf '# Title\n\n`behind` is code, %s.\n' 'and so is `anew`' >good.md
clean words
rm good.md
commit "Add $(yes a | head -n 69 | tr -d '\n')" # 73 characters
echo 'int hpc_bad(void);' | planted words runtime/base/fine.h '73 characters'
commit 'Count' && git rev-parse HEAD >tests/lint/subjects_since
echo 'docs doc 2' >tests/lint/words_left.txt && git add -f tests/lint/words_left.txt && commit 'Two'
echo 'docs doc 1' >tests/lint/words_left.txt && git add tests/lint/words_left.txt && commit 'One'
clean words
printf 'docs doc 2\n' | planted words tests/lint/words_left.txt 'docs doc rises from 1 to 2'

planted tidy runtime/base/bad.c 'core.NullDereference' <<'END'
int hpc_bad(int x);
int hpc_bad(int x)
{
    int *p = 0;
    return x ? *p : 0;
}
END
planted arm runtime/base/bad.c 'immintrin' <<'END'
#include <immintrin.h>
END

python3 tests/lint/same_code.py --self-test || flunk 'same_code.py misses a planted change'
python3 tests/docs/same_json.py --self-test || flunk 'same_json.py misses a planted difference'

[ ! -f "$scratch/failed" ]
