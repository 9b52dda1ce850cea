-- Run by tests/cmd/editors.c: nvim --headless -u NONE -l nvim.lua PROGRAM RUNTIME FILE
-- Applies source.fixAll to FILE and saves it; then completes at its end, accepts, and prints.
local program, runtime, file = unpack(_G.arg)
vim.opt.runtimepath:prepend(runtime)
vim.lsp.config('hpccoder', { cmd = { program, 'lsp' } })
vim.lsp.enable('hpccoder')
require('hpccoder').setup({ delay_ms = 10 })
vim.cmd.edit(file)
vim.bo.filetype = 'c'

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
wait('diagnostic', function() return #vim.diagnostic.get(0) > 0 end)
print('diagnostic: ' .. vim.diagnostic.get(0)[1].message)
vim.lsp.buf.code_action({ apply = true, context = { only = { 'source.fixAll.hpccoder' }, diagnostics = {} } })
wait('fix', function() return vim.fn.search('#pragma omp', 'n') > 0 end)
vim.cmd('silent write')

-- Without a user interface nothing enters insert mode for long: the plugin is asked directly.
local mode = vim.api.nvim_get_mode
vim.api.nvim_get_mode = function() return { mode = 'i', blocking = false } end
vim.o.virtualedit = 'onemore' -- as in insert mode
vim.cmd('normal! G')
vim.cmd('normal! $')
vim.api.nvim_win_set_cursor(0, { vim.fn.line('$'), #vim.fn.getline('$') })
wait('suggestion', function()
  if require('hpccoder').suggestion() then return true end
  require('hpccoder').request()
  vim.wait(500, function() return require('hpccoder').suggestion() ~= nil end, 20)
  return require('hpccoder').suggestion() ~= nil
end)
local marks = vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('hpccoder'), 0, -1, {})
print('shown: ' .. #marks)
local before, line = vim.fn.line('$'), vim.fn.getline('$')
local suggestion = require('hpccoder').suggestion()
require('hpccoder').accept_line()
require('hpccoder').accept() -- the rest
vim.api.nvim_get_mode = mode
local now = table.concat(vim.api.nvim_buf_get_lines(0, before - 1, -1, false), '\n')
print('accepted: ' .. (now == line .. suggestion and 'as shown' or now))
vim.cmd('qall!')
