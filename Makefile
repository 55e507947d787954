# Slide Write. `make help` lists what a person would type.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

VERSION ?= 0.1.0
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
SET     := -X github.com/slidewrite/slidewrite/shim/cli
LDFLAGS := -s -w $(SET).version=$(VERSION) $(SET).commit=$(COMMIT)

# Which agent's CLI "make record" records: claude or codex.
CLI ?= claude

# The versions whose transcripts are recorded here, and where npm has the CLIs.
CLAUDE_VERSIONS := 2.1.332 2.1.197
CLAUDE_PACKAGE  := @anthropic-ai/claude-code-linux-x64
CLAUDE_BIN      := node_modules/$(CLAUDE_PACKAGE)/claude
CODEX_VERSIONS  := 0.171.0
CODEX_PACKAGE   := @openai/codex
CODEX_BIN       := node_modules/$(CODEX_PACKAGE)-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex

# No part is written in C: checks, tests and program are compiled once, for all.
# (The race detector is, and compiles everything anew.)
export CGO_ENABLED := 0
# HTTP/2 needs TLS, which a server on loopback has not: half a MiB less.
export GOFLAGS += -tags=nethttpomithttp2

# Flags of every `go test` below, for example TESTFLAGS=-v.
TESTFLAGS ?=

.PHONY: build test ready e2e-deps check race offline golden bench soak demo conformance record help

build: ## build ./slidewrite, one static file
	go build -trimpath -ldflags '$(LDFLAGS)' -o slidewrite ./cmd/slidewrite

test: ready race offline ## everything that must hold: checks, race detector, no network, browser

ready: # the downloads beside the checks
	@$(MAKE) --no-print-directory -j2 e2e-deps check

e2e-deps: ## what the browser tests need: Chromium, and the sample app's modules
	@./e2e/deps.sh

# vetall checks what the compiler and go vet check, on this system and on the
# others, and compiles nothing: Go's own library three times, cold, takes longer
# than all else here. So the tests need no vet of their own (-vet=off).
check: # gofmt, types and vet on three systems, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go run ./shim/shimtest/vetall -systems linux,windows,darwin ./...
	go tool staticcheck ./...

# The packages where more goes on than one thing after another; of the shim's
# tests not those about git, texts, bad input, very long records, or processes
# of their own; of tables a sample (-short). Everything is in the round without a network.
RACE     := ./shim ./shim/history ./shim/run ./shim/server/... ./shim/sse ./shim/state ./shim/catalog ./shim/doctor ./shim/cli ./shim/agent/process
NOT_RACE := ^Test(Git|Undo|Prompts|Why|Commit|Head|Diff|Benchmarks|StateIn|MetaWith|OneStory|S1|ShimKilled|Resume|NoCredential|AutoCommit|BadInput|SoakChild|SoakMemory|AgentThat|Forget|LongPrompts|LongLine|PagesOf|Rewritten|StreamNeeds|Squash|CommitAll|EndEnds|ServerOf|Sweep)
race: # what goes on at once, with the race detector
	CGO_ENABLED=1 go test -race -vet=off -short -skip '$(NOT_RACE)' $(TESTFLAGS) $(RACE)

# A network namespace of its own has nothing but lo, and that down: the tests
# must neither reach anything nor need to. Without the right to make one the
# tests run with the network there, and say so; SLIDEWRITE_E2E=require, which
# .ci/run sets, takes that for a failure.
offline: # all tests, without a network where this user may take it away; the browser tests take long beside the others
	@go mod download
	@export GOPROXY=off GOFLAGS="$${GOFLAGS:-} -count=1 -timeout=20m"; \
	if unshare -n ip link set lo up 2>/dev/null; then \
		echo "go test ./... (no network)"; \
		unshare -n bash -c 'ip link set lo up && exec go test -vet=off $(TESTFLAGS) ./...'; \
	elif unshare -rn ip link set lo up 2>/dev/null; then \
		echo "go test ./... (no network)"; \
		unshare -rn bash -c 'ip link set lo up && exec go test -vet=off $(TESTFLAGS) ./...'; \
	elif [ "$${SLIDEWRITE_E2E:-}" = require ]; then \
		echo "this user may not take the network away: allow unshare -n or unshare -rn, and install ip" >&2; \
		exit 1; \
	else \
		echo "go test ./... (this user may not take the network away)"; \
		go test -vet=off $(TESTFLAGS) ./...; \
	fi

golden: ## rewrite the goldens and scripts, and show what changed
	@failed=; GOLDIE_UPDATE=1 go test -count=1 ./... || failed=1; \
	git --no-pager diff --stat -- '*.golden' '*.txtar'; \
	git status --short -- '*.golden' '*.txtar'; \
	[ -z "$$failed" ]

bench: ## measure what has a target; prints a table for docs/performance.md
	@go run ./shim/shimtest/benchreport

# The same tests are small in `go test`; here they have the machine to themselves.
soak: ## 1,000 runs of every kind of end, floods, clients that stall or drop
	SLIDEWRITE_SOAK=$${SLIDEWRITE_SOAK:-1000} go test -count=1 -v -parallel 1 -timeout 2h -run '^TestSoak' ./shim

demo: build ## the main job with nothing set up, in a browser where there is one
	./slidewrite demo

conformance: ## drive the real claude and codex from npm and compare with the goldens
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; bins=; \
	fetch() { \
		npm install --silent --no-audit --no-fund --no-save --prefix "$$dir/$$1-$$3" "$$2@$$3"; \
		bins="$$bins$${bins:+,}$$1@$$3=$$dir/$$1-$$3/$$4"; \
	}; \
	for v in $(CLAUDE_VERSIONS); do fetch claude $(CLAUDE_PACKAGE) $$v $(CLAUDE_BIN); done; \
	for v in $(CODEX_VERSIONS); do fetch codex $(CODEX_PACKAGE) $$v $(CODEX_BIN); done; \
	SLIDEWRITE_CONFORMANCE="$$bins" go test -count=1 -v -timeout 1h -run Conformance ./golden

record: ## re-record fixtures: make record CLI=codex BIN=/path/to/it [RUN=regexp]
	go run ./cmd/slidewrite record --agent '$(CLI)' --bin '$(BIN)' --run '$(RUN)'

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 14
