#!/usr/bin/env python3
"""Draw docs/pictures/neovim.svg: Neovim with a suggestion and a verdict of hpccoder.

Usage: docs/pictures/editor.py HPCCODER [NVIM]
Runs the real editor in tmux and draws what its terminal shows. Needs tmux and Neovim 0.11.
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

void zero(int n, double *x)
{
    for (int i = 0; i < n; i++) x[i] = 0;
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
SETUP = """vim.opt.runtimepath:prepend('{runtime}')
vim.lsp.config('hpccoder', {{ cmd = {{ '{program}', 'lsp' }} }})
vim.lsp.enable('hpccoder')
require('hpccoder').setup({{ delay_ms = 10 }})
vim.o.number, vim.o.ruler, vim.o.laststatus = true, false, 0
vim.o.termguicolors = true
vim.diagnostic.config({{ virtual_lines = true, severity_sort = true }})
vim.o.swapfile = false
"""


def tmux(*words):
    return subprocess.run(["tmux", "-L", "hpccoder-picture", *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def spans(line):
    """(colour, text) of a line with SGR sequences."""
    out, colour = [], "text"
    for code, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
        if code is not None and code != "":
            found = re.search(r"38;2;(\d+);(\d+);(\d+)", code)
            if found:
                colour = "#%02x%02x%02x" % tuple(map(int, found.groups()))
                make.COLOURS[colour] = colour
            elif code.split(";")[0] in ("0", "39"):
                colour = "text"
        if text:
            out.append((colour, text))
    return out


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    nvim = sys.argv[2] if len(sys.argv) > 2 else "nvim"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "blas.c").write_text(CODE)
        (folder / "init.lua").write_text(SETUP.format(runtime=make.ROOT / "editors/nvim", program=program))
        tmux("new-session", "-d", "-x", "98", "-y", "27", f"cd {folder} && COLORTERM=truecolor {nvim} -u init.lua blas.c")
        try:
            time.sleep(3)
            tmux("send-keys", "G", "A")
            time.sleep(12)
            lines = [spans(line) for line in tmux("capture-pane", "-e", "-p").rstrip("\n").split("\n")]
        finally:
            tmux("kill-server")
    make.terminal("neovim.svg", "Neovim: ghost text of a function body, and the verdict on a loop", lines)


if __name__ == "__main__":
    os.environ["TERM"] = "xterm-256color"
    main()
