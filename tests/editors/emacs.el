;;; emacs.el --- Run by tests/cmd/editors.c  -*- lexical-binding: t -*-
;; emacs --batch -l emacs.el PROGRAM FOLDER FILE
;; Applies source.fixAll to FILE and saves it; then completes at its end and accepts.

(let ((program (nth 0 command-line-args-left))
      (folder (nth 1 command-line-args-left))
      (file (nth 2 command-line-args-left))
      (tries 0)
      offered before)
  (setq command-line-args-left nil)
  (add-to-list 'load-path folder)
  (require 'hpccoder)
  (setq hpccoder-command (list program "lsp")
        make-backup-files nil
        eglot-connect-timeout 60
        eglot-sync-connect t)
  (find-file file)
  (apply #'eglot--connect (eglot--guess-contact))
  (while (and (< tries 600) (not (flymake-diagnostics)))
    (accept-process-output nil 0.1)
    (setq tries (1+ tries)))
  (message "diagnostic: %s" (flymake-diagnostic-text (car (flymake-diagnostics))))
  (hpccoder-fix-all)
  (save-buffer)
  (goto-char (point-max))
  (setq before (point)
        offered (let ((table (nth 2 (eglot-completion-at-point))))
                  (plist-get (plist-get (get-text-property
                                         0 'eglot--lsp-item (car (all-completions "" table)))
                                        :textEdit)
                             :newText)))
  (completion-at-point)
  (message "accepted: %s" (if (and (not (member offered '(nil "")))
                                   (equal (buffer-substring before (point)) offered))
                              "as offered"
                            (format "%S instead of %S" (buffer-substring before (point)) offered))))

;;; emacs.el ends here
