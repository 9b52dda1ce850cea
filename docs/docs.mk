# docs.mk: the documentation as a static site, its installation, and its check.
#
# The pages are README.md, CONTRIBUTING.md and docs/*.md. The site needs cmark-gfm and python3.
SITE := $(B)/html
PAGES := README.md $(wildcard docs/*.md) CONTRIBUTING.md
CONVERTER := $(shell command -v cmark-gfm >/dev/null && command -v python3 >/dev/null && echo yes)

UNCONFIGURED += docs docs-check install-editors install-service

docs: deps-docs ## docs: render the documentation to build/<variant>/html
	@$(MAKE) $(SITE)/index.html
docs-check: deps-docs ## docs: check links, options and commands of README and docs/
	@$(MAKE) docs-check-run
deps-docs:
	@sh config.sh --install docs

docs-check-run: all
	@python3 tests/docs/check.py --program $(B)/hpccoder

$(SITE)/index.html: $(PAGES) docs/render.py docs/pages.py docs/style.css $(wildcard docs/*/*)
	$(call say,DOCS)
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && python3 docs/render.py --out $(@D) $(PAGES)

# `make install` includes the site when it exists or the converter can make it.
install: install-docs
install-docs: $(if $(CONVERTER),$(SITE)/index.html)
	$(Q)if [ -f $(SITE)/index.html ]; then \
	    mkdir -p $(root)/share/doc/hpccoder && rm -rf $(root)/share/doc/hpccoder/html && \
	    cp -R $(SITE) $(root)/share/doc/hpccoder/html; \
	else echo 'no documentation installed: `make docs` needs cmark-gfm and python3'; fi

install: install-editors install-service
install-editors:
	$(Q)mkdir -p $(root)/share/hpccoder && rm -rf $(root)/share/hpccoder/editors && \
	    cp -R editors $(root)/share/hpccoder/editors
	$(Q)if command -v python3 >/dev/null; then \
	    python3 editors/vscode/pack.py $(root)/share/hpccoder/editors/vscode/hpccoder.vsix; fi

# The unit and the module file name the installed program.
install-service:
	$(Q)mkdir -p $(root)/lib/systemd/user $(root)/share/hpccoder/modulefiles/hpccoder
	$(Q)sed 's|^ExecStart=hpccoder|ExecStart=$(PREFIX)/bin/hpccoder|' examples/serve/hpccoder.service \
	    >$(root)/lib/systemd/user/hpccoder.service
	$(Q)sed 's|^set root .*|set root $(PREFIX)|' examples/serve/hpccoder.modulefile \
	    >$(root)/share/hpccoder/modulefiles/hpccoder/`awk -F'"' '/define HPC_VERSION / { print $$2 }' $(B)/config.h`

.PHONY: install-editors install-service docs docs-check deps-docs docs-check-run install-docs
