# `make` or `make help` lists what there is. Every target sets up what it needs.

SHELL    := /bin/bash
GO       ?= go
FUZZTIME ?= 1m
BIN      := $(CURDIR)/bin
GOLANGCI := $(BIN)/golangci-lint-v2.15.0

export CGO_ENABLED ?= 1

# The race detector lets every process wait a second at its end, for races of threads that still run. Tests start
# hundreds of processes and wait for each.
export GORACE ?= atexit_sleep_ms=0

.DEFAULT_GOAL := help
.PHONY: help run build test check bench fuzz prove clean

help: ## List the targets
	@echo 'Reprise makes retries safe: the same request twice, one effect, the same answer.'
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Needs Go (the version is in go.mod). `test`, `fuzz` and `prove` also need a C compiler for the'
	@echo 'race detector, and `test` and `prove` the database servers that they start; as root on Debian all that'
	@echo 'is installed, elsewhere you are told what to install.'

run: build ## Build reprise and show it at work (make run ARGS=--stay leaves it running)
	$(BIN)/reprise demo $(ARGS)

# No cgo in the binary: it runs on any machine of its kind.
build: ## Build the command into bin/reprise
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/reprise ./cmd/reprise

test: ## All tests, with the race detector, in random order; also that bench/ compiles
	@scripts/need.sh $(GO) cc servers
	cd bench && $(GO) vet ./...
	$(GO) test -race -shuffle=on -timeout 14m ./...

check: $(GOLANGCI) ## Formatting, vet, linters and the rules of the house (internal/archtest)
	@scripts/need.sh $(GO)
	@unformatted=$$(gofmt -l . bench); if [ -n "$$unformatted" ]; then echo "not gofmt'ed:" $$unformatted; exit 1; fi
	$(GO) vet ./...
	cd bench && $(GO) vet ./...
	$(GOLANGCI) run ./...
	$(GO) test -count=1 ./internal/archtest

bench: ## Ratios against the limit, in one table (takes several minutes; wants a quiet machine)
	@scripts/need.sh $(GO)
	cd bench && CGO_ENABLED=0 $(GO) run . $(ARGS)

fuzz: ## Every fuzz target for FUZZTIME each (default 1m)
	@scripts/need.sh $(GO)
	@GO=$(GO) scripts/fuzz.sh $(FUZZTIME)

prove: ## The long proofs; writes what was found to docs/proof.md (takes long)
	@scripts/need.sh $(GO) cc servers
	$(GO) run ./internal/prove -out docs/proof.md

clean: ## Remove bin/
	rm -rf $(BIN)

$(GOLANGCI): # several minutes the first time
	@scripts/need.sh $(GO)
	@mkdir -p $(BIN)
	GOBIN=$(BIN) CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(patsubst $(BIN)/golangci-lint-%,%,$@)
	mv $(BIN)/golangci-lint $@
