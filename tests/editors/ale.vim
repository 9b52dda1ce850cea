" Run by tests/cmd/editors.c: vim -N -u NONE -es -S ale.vim, with PROGRAM, RUNTIME, FILE and RESULT
" in the environment. Applies all fixes to FILE and saves it; then completes at its end and accepts.
" Writes the diagnostics that ALE shows and what was inserted to RESULT.
set encoding=utf-8
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
let s:said = []

function! s:wait(what, Ready) abort
    let l:tries = 0
    while !a:Ready() && l:tries < 1200
        sleep 50m
        let l:tries += 1
    endwhile
    if !a:Ready()
        call writefile(s:said + ['no ' . a:what], $RESULT)
        cquit
    endif
endfunction

call ale#Queue(0, 'lint_file')
call s:wait('diagnostic', {-> !empty(ale#engine#GetLoclist(bufnr('')))})
let s:said += map(copy(ale#engine#GetLoclist(bufnr(''))), "'diagnostic: ' . v:val.text")
call hpccoder#fix_all()
call s:wait('fix', {-> search('#pragma omp', 'n') > 0})
silent write

call cursor(line('$'), 1)
set virtualedit=onemore
normal! $l
call hpccoder#suggest()
call s:wait('suggestion', {-> hpccoder#suggestion() isnot# ''})
let s:said += ['shown: ' . len(prop_list(line('.'))) . ' texts']
let s:before = line('$')
let s:suggestion = hpccoder#suggestion()
let s:line = getline('.')
call hpccoder#accept_line()
if hpccoder#suggestion() isnot# ''
    call hpccoder#accept()
endif
let s:now = join(getline(s:before, '$'), "\n")
let s:said += ['accepted: ' . (s:now ==# s:line . s:suggestion ? 'as shown' : s:now)]
call writefile(s:said, $RESULT)
qall!
