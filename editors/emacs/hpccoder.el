;;; hpccoder.el --- Completions and OpenMP directives by hpccoder  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "28.1") (eglot "1.9"))

;;; Commentary:

;; M-x eglot starts `hpccoder lsp' for C, C++ and Fortran buffers.  Completions appear where other
;; completions do, verdicts on loops in Flymake, fixes under M-x eglot-code-actions.
;; M-x hpccoder-fix-all inserts all directives that `hpccoder pragma --fix' inserts.

;;; Code:

(require 'eglot)

(defgroup hpccoder nil "Completions and OpenMP directives by hpccoder." :group 'tools)

(defcustom hpccoder-command '("hpccoder" "lsp")
  "Command that starts the language server."
  :type '(repeat string))

(add-to-list 'eglot-server-programs
             `((c-mode c++-mode cuda-mode f90-mode fortran-mode)
               . ,(lambda (&rest _) hpccoder-command)))

(defun hpccoder-fix-all ()
  "Insert the directives that the loops of this buffer get."
  (interactive)
  (eglot-code-actions (point-min) (point-max) "source.fixAll.hpccoder" t))

(provide 'hpccoder)
;;; hpccoder.el ends here
