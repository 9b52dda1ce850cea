#!/usr/bin/env python3
"""Draw docs/pictures/neovim.svg, vim.svg and emacs.svg: editors with a suggestion and verdicts.

Usage: docs/pictures/editor.py HPCCODER [EDITOR...]
Runs the real editors (nvim, vim, emacs) in tmux and draws what their terminals show. Needs tmux,
and Neovim 0.11, Vim 9 with ALE, or Emacs 28 with eglot.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import make

CODE = """#include <omp.h>

void clear(int n, double *x)
{
    for (int i = 0; i < n; i++) {
        x[i] = 0.0;
    }
}

/* y = a x + y, in double precision */
void daxpy(int n, double a, const double *x, double *y)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

/* y = a x + y, in single precision */
void saxpy(int n, float a, const float *x, float *y)
{
"""
NVIM = """vim.opt.runtimepath:prepend('{editors}/nvim')
vim.lsp.config('hpccoder', {{ cmd = {{ '{program}', 'lsp' }} }})
vim.lsp.enable('hpccoder')
require('hpccoder').setup({{ delay_ms = 10 }})
vim.o.number, vim.o.ruler, vim.o.laststatus = true, false, 0
vim.o.termguicolors = true
vim.diagnostic.config({{ virtual_lines = true, severity_sort = true }})
vim.o.swapfile = false
"""
VIM = """set nocompatible number noruler laststatus=0 noswapfile termguicolors encoding=utf-8
set runtimepath^={editors}/vim
packadd! ale
let g:hpccoder_executable = '{program}'
let g:hpccoder_delay_ms = 10
let g:ale_linters = {{'c': ['hpccoder']}}
let g:ale_linters_explicit = 1
let g:ale_virtualtext_cursor = 'all'
let g:ale_virtualtext_prefix = '  '
let g:ale_sign_info = 'i'
let g:ale_sign_warning = 'w'
filetype plugin indent on
syntax on
set background=dark
highlight Normal guifg=#d5dae0 guibg=NONE
highlight HpccoderSuggestion guifg=#8b949e
highlight SignColumn guibg=NONE
highlight LineNr guifg=#6e7681
highlight EndOfBuffer guifg=#6e7681
highlight Comment guifg=#7ee787
highlight Type guifg=#79c0ff
highlight PreProc guifg=#d2a8ff
highlight Statement guifg=#e3b341
highlight Constant guifg=#ff9a8d
highlight ALEVirtualTextInfo guifg=#79c0ff
highlight ALEVirtualTextWarning guifg=#e3b341
call hpccoder#enable()
"""
EMACS = """(setq inhibit-startup-screen t make-backup-files nil auto-save-default nil create-lockfiles nil)
(setq warning-minimum-level :error native-comp-async-report-warnings-errors nil)
(menu-bar-mode -1)
(load-theme 'wombat t)
(set-face-foreground 'default "#d5dae0")
(add-to-list 'load-path "{editors}/emacs")
(require 'hpccoder)
(setq hpccoder-command '("{program}" "lsp") eglot-sync-connect 30)
(setq flymake-no-changes-timeout 0.1 completions-format 'one-column)
(find-file "blas.c")
(eglot-ensure)
(defun show ()
  (interactive)
  (goto-line 5)
  (flymake-show-buffer-diagnostics)
  (fit-window-to-buffer (get-buffer-window (flymake--diagnostics-buffer-name)) 4))
(global-set-key (kbd "<f5>") #'show)
"""
EDITORS = {  # name -> settings file, start, keys with pauses, rows, title
    "nvim": ("init.lua", NVIM, "{program} -u init.lua blas.c", [(3, ["G", "A"]), (12, [])], 28,
             "Neovim: ghost text of a function body, and the verdict on a loop"),
    "vim": ("vimrc", VIM, "env -u VIMRUNTIME {program} -u vimrc -i NONE blas.c",
            [(4, ["G", "A"]), (12, [])], 28,
            "Vim with ALE: virtual text of a function body, and the verdict on a loop"),
    "emacs": ("init.el", EMACS, "{program} -nw -q -l init.el",
              [(8, ["F5"]), (3, [])], 27,
              "Emacs with eglot: verdicts on loops in Flymake"),
}


def tmux(*words):
    return subprocess.run(["tmux", "-L", "hpccoder-picture", *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def indexed(n):
    """Colour n of a terminal with 256 colours."""
    basic = ["#6e7681", "#ff9a8d", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d5dae0"]
    if n < 16:
        return basic[n % 8]
    if n >= 232:
        return "#%02x%02x%02x" % ((8 + 10 * (n - 232),) * 3)
    levels = [0, 95, 135, 175, 215, 255]
    return "#%02x%02x%02x" % tuple(levels[(n - 16) // step % 6] for step in (36, 6, 1))


def colour_of(code, colour):
    """The foreground after an SGR sequence."""
    direct, index = re.search(r"38;2;(\d+);(\d+);(\d+)", code), re.search(r"38;5;(\d+)", code)
    if direct:
        return "#%02x%02x%02x" % tuple(map(int, direct.groups()))
    if index:
        return indexed(int(index.group(1)))
    for part in code.split(";"):
        if part in ("", "0", "39"):
            colour = "text"
        elif re.fullmatch("[39][0-7]", part):
            colour = indexed(int(part) % 10)
    return colour


def spans(line, colour):
    """(colour, text) of a line with SGR sequences, and the colour at its end."""
    out = []
    for code, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
        if code:
            colour = colour_of(code, colour)
            make.COLOURS.setdefault(colour, colour)
        if text:
            out.append((colour, text.replace("\x0e", "").replace("\x0f", "")))
    return out, colour


def draw(name, program):
    settings, text, start, keys, rows, title = EDITORS[name]
    with tempfile.TemporaryDirectory() as at:
        folder = pathlib.Path(at)
        (folder / "blas.c").write_text(CODE)
        (folder / settings).write_text(text.format(editors=make.ROOT / "editors", program=program))
        command = start.format(program=name)
        tmux("new-session", "-d", "-x", "98", "-y", str(rows),
             f"cd {folder} && COLORTERM=truecolor {command}")
        try:
            for pause, words in keys:
                time.sleep(pause)
                for word in words:
                    tmux("send-keys", word)
            shown = tmux("capture-pane", "-e", "-p").rstrip("\n").split("\n")
        finally:
            tmux("kill-server")
    lines, colour = [], "text"
    for line in shown:
        line, colour = spans(line, colour)
        lines.append(line)
    make.terminal({"nvim": "neovim"}.get(name, name) + ".svg", title, lines)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    for name in sys.argv[2:] or EDITORS:
        draw(name, program)


if __name__ == "__main__":
    os.environ["TERM"] = "xterm-256color"
    main()
