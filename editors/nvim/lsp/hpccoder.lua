-- Neovim 0.11 and later: vim.lsp.enable('hpccoder') starts `hpccoder lsp` for these files.
return {
  cmd = { 'hpccoder', 'lsp' },
  filetypes = { 'c', 'cpp', 'cuda', 'fortran' },
  root_markers = { 'compile_commands.json', 'build/compile_commands.json', '.git' },
}
