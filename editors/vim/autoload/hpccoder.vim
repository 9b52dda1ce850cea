" hpccoder for Vim 9 with ALE: the language server as a linter, suggestions as ghost text, and fixes
" of the whole file. Settings:
"   let g:hpccoder_executable = 'hpccoder'
"   let g:hpccoder_options = ''            " e.g. '--model /path/model.gguf'
"   let g:hpccoder_settings = {}           " e.g. {'perf': v:true}; docs/editors.md lists them
"   let g:hpccoder_delay_ms = 75
" call hpccoder#enable() shows suggestions while you type: Tab accepts one, Ctrl-L its first line.

function! hpccoder#executable(buffer) abort
    return get(g:, 'hpccoder_executable', 'hpccoder')
endfunction

function! hpccoder#command(buffer) abort
    return '%e lsp ' . get(g:, 'hpccoder_options', '')
endfunction

function! hpccoder#settings(buffer) abort
    return get(g:, 'hpccoder_settings', {})
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
    \   'initialization_options': function('hpccoder#settings'),
    \})
endfunction

" ---- fixes ----

function! s:apply_fix_all(data, items) abort
    for [l:type, l:item] in a:items
        if get(l:item, 'kind', '') is# 'source.fixAll.hpccoder'
            call ale#codefix#ApplyLSPCodeAction(a:data, l:item)
        endif
    endfor
endfunction

" Inserts the directives of all loops, as `hpccoder pragma --fix` does.
function! hpccoder#fix_all() abort
    call ale#codefix#Execute(0, function('s:apply_fix_all'))
endfunction

" ---- suggestions ----

let s:shown = {}
let s:request = 0
let s:timer = -1
let s:type = 'hpccoder_suggestion'

" The column in UTF-16 units, which ALE's servers count in.
function! s:utf16(text) abort
    let l:n = 0
    for l:c in split(a:text, '\zs')
        let l:n += char2nr(l:c) > 0xffff ? 2 : 1
    endfor
    return l:n
endfunction

function! hpccoder#clear() abort
    let s:request += 1
    call timer_stop(s:timer)
    if !empty(s:shown) && bufexists(s:shown.buffer)
        call prop_remove({'type': s:type, 'bufnr': s:shown.buffer, 'all': 1})
    endif
    let s:shown = {}
endfunction

" The suggestion that is shown, or ''.
function! hpccoder#suggestion() abort
    return get(s:shown, 'text', '')
endfunction

function! s:show(text) abort
    let s:shown = {'buffer': bufnr(''), 'line': line('.'), 'col': col('.'), 'text': a:text}
    if empty(prop_type_get(s:type))
        highlight default link HpccoderSuggestion Comment
        call prop_type_add(s:type, {'highlight': 'HpccoderSuggestion'})
    endif
    let l:lines = split(a:text, "\n", 1)
    if l:lines[0] isnot# ''
        call prop_add(line('.'), col('.'), {'type': s:type, 'text': l:lines[0]})
    endif
    for l:below in l:lines[1:]
        call prop_add(line('.'), 0, {'type': s:type, 'text': l:below is# '' ? ' ' : l:below,
        \   'text_align': 'below'})
    endfor
endfunction

function! s:answered(request, tick, response) abort
    let l:result = get(a:response, 'result', v:null)
    if a:request != s:request || a:tick != b:changedtick || type(l:result) isnot v:t_dict
        return
    endif
    let l:items = get(l:result, 'items', [])
    if !empty(l:items) && l:items[0].insertText isnot# ''
        call s:show(l:items[0].insertText)
    endif
endfunction

function! s:ask(request, linter, details) abort
    if a:request != s:request
        return
    endif
    call ale#lsp#NotifyForChanges(a:details.connection_id, bufnr(''))
    call ale#lsp_linter#SendRequest(bufnr(''), 'hpccoder', [0, 'textDocument/inlineCompletion', {
    \   'textDocument': {'uri': ale#util#ToURI(expand('%:p'))},
    \   'position': {'line': line('.') - 1,
    \                'character': s:utf16(strpart(getline('.'), 0, col('.') - 1))},
    \   'context': {'triggerKind': 2},
    \}], function('s:answered', [a:request, b:changedtick]))
endfunction

" Asks for a suggestion at the cursor. The server supersedes earlier requests of the buffer.
function! hpccoder#suggest(...) abort
    call hpccoder#clear()
    for l:linter in ale#linter#Get(&filetype)
        if l:linter.name is# 'hpccoder'
            call ale#lsp_linter#StartLSP(bufnr(''), l:linter, function('s:ask', [s:request]))
        endif
    endfor
endfunction

function! s:insert(text) abort
    let [l:line, l:at] = [s:shown.line, s:shown.col - 1]
    call hpccoder#clear()
    let l:now = getline(l:line)
    let l:lines = split(strpart(l:now, 0, l:at) . a:text, "\n", 1)
    let l:end = strlen(l:lines[-1])
    let l:lines[-1] .= strpart(l:now, l:at)
    call setline(l:line, l:lines[0])
    call append(l:line, l:lines[1:])
    call cursor(l:line + len(l:lines) - 1, l:end + 1)
endfunction

" Accepts the suggestion; without one the key keeps its meaning.
function! hpccoder#accept(...) abort
    if empty(s:shown)
        call feedkeys(get(a:000, 0, ''), 'n')
    else
        call s:insert(s:shown.text)
    endif
endfunction

" Accepts its first line, or the line break and the line after it. The rest stays shown.
function! hpccoder#accept_line(...) abort
    if empty(s:shown)
        call feedkeys(get(a:000, 0, ''), 'n')
    else
        let l:first = matchstr(s:shown.text, '^\n*[^\n]*')
        let l:rest = strpart(s:shown.text, strlen(l:first))
        call s:insert(l:first)
        if l:rest isnot# ''
            call s:show(l:rest)
        endif
    endif
endfunction

function! s:changed() abort
    if empty(s:shown) || s:shown.line != line('.') || s:shown.col != col('.')
        call hpccoder#clear()
        let s:timer = timer_start(get(g:, 'hpccoder_delay_ms', 75), 'hpccoder#suggest')
    endif
endfunction

function! hpccoder#enable() abort
    augroup hpccoder
        autocmd!
        autocmd TextChangedI,CursorMovedI,InsertEnter * call s:changed()
        autocmd InsertLeave,BufLeave * call hpccoder#clear()
    augroup END
    inoremap <silent> <Tab> <Cmd>call hpccoder#accept("\<Tab>")<CR>
    inoremap <silent> <C-L> <Cmd>call hpccoder#accept_line("\<C-L>")<CR>
endfunction
