#!/bin/sh
# llama_vim.sh [PATH]: the unmodified plugin llama.vim, at PATH, against `hpccoder serve`.
#
# Neovim and Vim open a file, text is typed at the end of a function, and the ghost text that the
# plugin shows is printed. Then the suggestion is accepted with <Tab>. An editor that is not
# installed is a SKIP.
#
# HPCCODER  the program (build/release/hpccoder)
# NVIM      Neovim 0.10 or newer (nvim)
# VIM       Vim 9 (vim)
# PORT      the plugin's default (8012)
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
plugin=${1:-}
HPCCODER=${HPCCODER:-$root/build/release/hpccoder}
NVIM=${NVIM:-nvim}
VIM_PROGRAM=${VIM:-vim}
PORT=${PORT:-8012}
unset VIM
passed=0 failed=0

skip() {
    echo "SKIP: $*"
    exit 0
}
[ -n "$plugin" ] || skip "no path of llama.vim was given"
[ -f "$plugin/autoload/llama.vim" ] || skip "$plugin has no autoload/llama.vim"
plugin=$(cd "$plugin" && pwd)
command -v curl >/dev/null || skip "curl is not installed"

folder=$(mktemp -d) || exit 1
server='' editor=''
finish() {
    [ -z "$editor" ] || kill "$editor" 2>/dev/null
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

"$HPCCODER" serve --http "127.0.0.1:$PORT" --unix none -m "$root/share/pilot.gguf" -j 1 \
    >"$folder/listening" 2>"$folder/requests" &
server=$!

# Waits up to 20 seconds until a command succeeds.
until_true() { # command...
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || return 1
        sleep 0.1
    done
}
until_true grep -qs listening "$folder/listening" || { cat "$folder/requests" >&2; exit 1; }

code() {
    printf '#include <stdio.h>\n\nint sum(int n, const int *x)\n{\n    int s = 0;\n\n    return s;\n}\n'
}
check() { # name, command...
    name=$1
    shift
    if "$@"; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name"
        failed=$((failed + 1))
    fi
}

# The file has more code than before and the typed text alone.
has_suggestion() { # file, ghost text
    grep -qF "    for (int i$2" "$1"
}

config="{'endpoint_fim': 'http://127.0.0.1:$PORT/infill', 'show_info': 0}"
cat >"$folder/init.vim" <<END
set nocompatible noswapfile nomore shortmess+=I
let g:llama_config = $config
set runtimepath^=$plugin
filetype on
runtime plugin/llama.vim
END

# ---- Neovim -------------------------------------------------------------------------------------

ask() { "$NVIM" --server "$folder/nvim" --remote-expr "$1" 2>>"$folder/nvim.log"; }
# The text of virtual marks: first the rest of the line, then further lines.
cat >"$folder/ghost.lua" <<'END'
local first, rest = {}, {}
for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) do
  for _, chunk in ipairs(m[4].virt_text or {}) do first[#first + 1] = chunk[1] end
  for _, line in ipairs(m[4].virt_lines or {}) do
    for _, chunk in ipairs(line) do rest[#rest + 1] = '\n' .. chunk[1] end
  end
end
return table.concat(first) .. table.concat(rest)
END
nvim_shows() {
    ghost=$(ask "luaeval('dofile(_A)', '$folder/ghost.lua')") && [ -n "$ghost" ]
}

try_neovim() {
    code >"$folder/n.c"
    "$NVIM" --headless --clean -u "$folder/init.vim" --listen "$folder/nvim" "$folder/n.c" \
        >"$folder/nvim.log" 2>&1 </dev/null &
    editor=$!
    until_true ask 1 >/dev/null || return 1
    "$NVIM" --server "$folder/nvim" --remote-send '6GS    for (int i' >/dev/null
    until_true nvim_shows || return 1
    printf 'Neovim shows: %s\n' "$ghost"
    first=$(printf '%s\n' "$ghost" | head -n 1)
    [ -n "$first" ] || return 1
    "$NVIM" --server "$folder/nvim" --remote-send '<Tab><Esc>:w<CR>' >/dev/null
    until_true has_suggestion "$folder/n.c" "$first"
}
if "$NVIM" --version >/dev/null 2>&1; then
    check "Neovim: ghost text is shown and accepted" try_neovim
    [ -z "$editor" ] || { kill "$editor" && wait "$editor"; } 2>/dev/null
    editor=''
else
    echo "SKIP: Neovim is not installed"
fi

# ---- Vim ----------------------------------------------------------------------------------------

# Vim needs a terminal: `script` gives it one. A timer writes the ghost text and accepts it.
cat >"$folder/drive.vim" <<END
let s:tries = 0
" What the screen has after the text of the cursor's line, and the lines below.
function! Ghost()
  let rows = []
  for row in range(screenrow(), screenrow() + 12)
    let cells = map(range(1, &columns), {_, column -> screenstring(row, column)})
    call add(rows, substitute(join(cells, ''), '\s*\$', '', ''))
  endfor
  let rows[0] = strpart(rows[0], strlen(getline('.')))
  return rows[0] == '' ? [] : rows[0 : index(rows, '    return s;') - 1]
endfunction
function! Look(timer)
  let text = Ghost()
  let s:tries += 1
  if !empty(text)
    call timer_stop(a:timer)
    call writefile(text, '$folder/ghost')
    call feedkeys("\<Tab>\<Esc>:wq!\<CR>", 't')
  elseif s:tries > 200
    call feedkeys("\<Esc>:cq!\<CR>", 't')
  endif
endfunction
call timer_start(100, 'Look', {'repeat': -1})
call feedkeys("6GS    for (int i", 't')
END

try_vim() {
    code >"$folder/v.c"
    # VIMRUNTIME may be Neovim's.
    env -u VIMRUNTIME timeout 60 script -qec "$VIM_PROGRAM -u '$folder/init.vim' -S '$folder/drive.vim' '$folder/v.c'" \
        "$folder/vim.log" >/dev/null 2>&1 </dev/null
    [ -s "$folder/ghost" ] || return 1
    printf 'Vim shows: %s\n' "$(cat "$folder/ghost")"
    has_suggestion "$folder/v.c" "$(head -n 1 "$folder/ghost")"
}
if ! command -v script >/dev/null; then
    echo "SKIP: there is no program script"
elif env -u VIMRUNTIME "$VIM_PROGRAM" -u NONE -es -c 'if has("textprop") && has("job") && has("patch-9.0.185") | qa! | endif' \
    -c cq </dev/null 2>/dev/null; then
    check "Vim: ghost text is shown and accepted" try_vim
else
    echo "SKIP: Vim 9 with text properties is not installed"
fi

grep -q ' /infill 200 ' "$folder/requests" || failed=$((failed + 1))
[ "$failed" = 0 ] || tail -n 20 "$folder/requests" "$folder"/*.log
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
