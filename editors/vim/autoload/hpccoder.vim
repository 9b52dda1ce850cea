" The language server of hpccoder for ALE. Settings:
"   let g:hpccoder_executable = 'hpccoder'
"   let g:hpccoder_options = ''            " e.g. '--model /path/model.gguf'

function! hpccoder#executable(buffer) abort
    return get(g:, 'hpccoder_executable', 'hpccoder')
endfunction

function! hpccoder#command(buffer) abort
    return '%e lsp ' . get(g:, 'hpccoder_options', '')
endfunction

function! hpccoder#root(buffer) abort
    let l:git = ale#path#FindNearestDirectory(a:buffer, '.git')
    return empty(l:git) ? expand('#' . a:buffer . ':p:h') : fnamemodify(l:git, ':h:h')
endfunction

function! hpccoder#define(language) abort
    call ale#linter#Define(a:language, {
    \   'name': 'hpccoder',
    \   'lsp': 'stdio',
    \   'executable': function('hpccoder#executable'),
    \   'command': function('hpccoder#command'),
    \   'project_root': function('hpccoder#root'),
    \})
endfunction
