-- Inline completions of `hpccoder lsp` as ghost text, for Neovim 0.11.
--
--   vim.lsp.enable('hpccoder')
--   require('hpccoder').setup({ accept = '<Tab>', accept_line = '<C-l>', delay_ms = 75 })
--
-- A key that accepts keeps its usual meaning while no suggestion is shown.
local M = {}
local namespace = vim.api.nvim_create_namespace('hpccoder')
local options = { accept = '<Tab>', accept_line = '<C-l>', delay_ms = 75 }
local timer = vim.uv.new_timer()
local shown -- { buffer, row, column, text, tick, note }

local function clear()
  if shown and vim.api.nvim_buf_is_valid(shown.buffer) then
    vim.api.nvim_buf_clear_namespace(shown.buffer, namespace, 0, -1)
  end
  shown = nil
end

local function cursor()
  local position = vim.api.nvim_win_get_cursor(0)
  return position[1] - 1, position[2]
end

-- note: the source and licence of copied code, or nil; a line below the text.
local function show(buffer, row, column, text, note)
  clear()
  local lines = vim.split(text, '\n', { plain = true })
  local below = {}
  for k = 2, #lines do
    below[#below + 1] = { { lines[k], 'Comment' } }
  end
  if note then
    below[#below + 1] = { { note, 'DiagnosticInfo' } }
  end
  vim.api.nvim_buf_set_extmark(buffer, namespace, row, column, {
    virt_text = { { lines[1], 'Comment' } },
    virt_text_pos = 'inline',
    virt_lines = #below > 0 and below or nil,
  })
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  shown = { buffer = buffer, row = row, column = column, text = text, tick = tick, note = note }
end

-- Asks for a suggestion at the cursor. The server supersedes earlier requests of the buffer.
function M.request()
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.get_clients({ bufnr = buffer, name = 'hpccoder' })[1]
  if not client or not client.initialized then
    return
  end
  local row, column = cursor()
  local tick = vim.api.nvim_buf_get_changedtick(buffer)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = 2 }
  client:request('textDocument/inlineCompletion', params, function(failure, result)
    if failure or not result or vim.api.nvim_get_current_buf() ~= buffer then
      return
    end
    local now_row, now_column = cursor()
    local moved = now_row ~= row or now_column ~= column
    if moved or vim.api.nvim_buf_get_changedtick(buffer) ~= tick then
      return
    end
    local item = (result.items or result)[1]
    if item and item.insertText ~= '' and vim.api.nvim_get_mode().mode:sub(1, 1) == 'i' then
      show(buffer, row, column, item.insertText, item.attribution)
    end
  end, buffer)
end

local function insert(text)
  local buffer, row, column = shown.buffer, shown.row, shown.column
  clear()
  local lines = vim.split(text, '\n', { plain = true })
  vim.api.nvim_buf_set_text(buffer, row, column, row, column, lines)
  local last = #lines == 1 and column + #lines[1] or #lines[#lines]
  vim.api.nvim_win_set_cursor(0, { row + #lines, last })
end

-- Accepts all of the suggestion. False: none is shown.
function M.accept()
  if not shown then
    return false
  end
  insert(shown.text)
  return true
end

-- Accepts its first line, or the line break and the line after it. The rest stays shown.
function M.accept_line()
  if not shown then
    return false
  end
  local first = shown.text:match('^\n*[^\n]*')
  local buffer, rest, note = shown.buffer, shown.text:sub(#first + 1), shown.note
  insert(first)
  if rest ~= '' then
    local row, column = cursor()
    show(buffer, row, column, rest, note)
  end
  return true
end

-- The suggestion that is shown, or nil.
function M.suggestion()
  return shown and shown.text
end

local function map(key, action)
  vim.keymap.set('i', key, function()
    if not shown then
      return key
    end
    vim.schedule(action)
    return ''
  end, { expr = true, replace_keycodes = true, desc = 'hpccoder: accept the suggestion' })
end

function M.setup(given)
  options = vim.tbl_extend('force', options, given or {})
  map(options.accept, M.accept)
  map(options.accept_line, M.accept_line)
  local group = vim.api.nvim_create_augroup('hpccoder', {})
  vim.api.nvim_create_autocmd({ 'TextChangedI', 'CursorMovedI', 'InsertEnter' }, {
    group = group,
    callback = function()
      local row, column = cursor()
      local tick = vim.api.nvim_buf_get_changedtick(0)
      if shown and shown.row == row and shown.column == column and shown.tick == tick then
        return
      end
      clear()
      timer:start(options.delay_ms, 0, vim.schedule_wrap(M.request))
    end,
  })
  vim.api.nvim_create_autocmd({ 'InsertLeave', 'BufLeave' }, {
    group = group,
    callback = function()
      timer:stop()
      clear()
    end,
  })
end

return M
