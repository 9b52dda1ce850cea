-- Run by tests/cmd/editors.c: nvim --headless -u NONE -l perf.lua PROGRAM RUNTIME FILE
-- Saves FILE, which differs from HEAD, and prints the performance hints; then adds a line above.
local program, runtime, file = unpack(_G.arg)
vim.opt.runtimepath:prepend(runtime)
vim.lsp.config('hpccoder', {
  cmd = { program, 'lsp', '--no-complete' },
  settings = { hpccoder = { perf = true } },
})
vim.lsp.enable('hpccoder')
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event) print('progress: ' .. event.data.params.value.kind) end,
})
vim.cmd.edit(file)
vim.bo.filetype = 'c'

local function hint()
  return vim.tbl_filter(function(d) return d.code == 'slower' end, vim.diagnostic.get(0))[1]
end
local function wait(what, ready)
  if not vim.wait(60000, ready, 20) then
    io.stderr:write('no ' .. what .. '\n')
    vim.cmd('cquit')
  end
end

wait('client', function()
  local client = vim.lsp.get_clients({ name = 'hpccoder' })[1]
  return client and client.initialized
end)
wait('verdicts', function() return #vim.diagnostic.get(0) > 0 end)
vim.cmd('silent write')
wait('hint', hint)
local found = hint()
print(('hint: line %d, severity %d: %s'):format(found.lnum + 1, found.severity, found.message))
vim.api.nvim_buf_set_lines(0, 0, 0, false, { '// above' })
wait('moved hint', function() return hint() and hint().lnum == found.lnum + 1 end)
print('moved')
vim.cmd('qall!')
