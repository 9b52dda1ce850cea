" Run by tests/cmd/editors.c: vim -N -u NONE -es -S ale.vim, with PROGRAM, RUNTIME, FILE and RESULT
" in the environment. Writes the diagnostics that ALE shows for FILE to RESULT.
let &runtimepath = $RUNTIME . ',' . &runtimepath
packadd! ale
let g:hpccoder_executable = $PROGRAM
let g:ale_linters = {'c': ['hpccoder']}
let g:ale_linters_explicit = 1
let g:ale_lint_delay = 0
filetype plugin on
runtime! plugin/ale.vim
execute 'edit' fnameescape($FILE)
setfiletype c
call ale#Queue(0, 'lint_file')
let s:tries = 0
while empty(ale#engine#GetLoclist(bufnr(''))) && s:tries < 600
    sleep 100m
    let s:tries += 1
endwhile
call writefile(map(copy(ale#engine#GetLoclist(bufnr(''))), 'v:val.text'), $RESULT)
qall!
