# make run   builds hux and shows it on embedded defaults
# make test  checks and tests everything, and installs what that needs
# make help  lists the rest

SHELL := /bin/bash
.DEFAULT_GOAL := help
GOLANGCI := v2.15.0
MODULES := . tests/load
LINTER := .cache/bin/golangci-lint-$(GOLANGCI)

.PHONY: help lines run build check fmt vet lint types types-generate test test-go test-schemathesis test-browser test-keycloak test-agent test-webui contract-accept fuzz crash load deps clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

run: build ## build hux and start the demo
	@exec bin/hux demo

build: ## build bin/hux
	@go build -buildvcs=auto -o bin/hux ./router

check: fmt vet lint types ## formatting, vet, linter, types of the browser's scripts

fmt:
	@out=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$out" ] || { echo "gofmt these:"; echo "$$out"; exit 1; }

vet:
	@for m in $(MODULES); do go -C $$m vet ./... || exit 1; done

lint: $(LINTER)
	@for m in $(MODULES); do (cd $$m && $(abspath $(LINTER)) run ./...) || exit 1; done

$(LINTER):
	@echo "building the linter, once"
	@mkdir -p $(@D) && GOBIN=$(abspath $(@D)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@mv $(@D)/golangci-lint $@

types: tests/node_modules
	@go run ./hux/schema/typegen -check
	@cd tests && node_modules/.bin/tsc -p tsconfig.json && node_modules/.bin/tsc -p tsconfig.node.json

types-generate: ## write the types that are made from schemas/
	@go run ./hux/schema/typegen

tests/node_modules: tests/package-lock.json
	@cd tests && npm ci --no-audit --no-fund && touch node_modules

deps: ## install what the tests need: Chromium, Java, schemathesis, agents
	@tests/deps.sh

test: deps check test-go test-schemathesis test-browser test-keycloak test-agent test-webui ## everything

test-go: ## Go tests, the black-box ones included, with the race detector
	go test -race -count=1 -timeout 25m ./...
	go -C tests/load test -race -count=1 ./...

test-schemathesis: ## generated requests against the OpenAPI document of the running binary
	@tests/python.sh schemathesis
	cd tests && node --test --test-concurrency=1 --test-timeout=300000 schemathesis/*.test.mjs

test-browser: build tests/node_modules ## the demo in Chromium
	cd tests && node --test --test-concurrency=1 --test-timeout=240000 browser/*.test.mjs

test-keycloak: build tests/node_modules ## hux with a real Keycloak
	cd tests && node --test --test-concurrency=1 --test-timeout=240000 keycloak/*.test.mjs

test-agent: build tests/node_modules ## hux with real agents
	@tests/python.sh agent-0.19 agent-0.20 agent-0.22
	cd tests && node --test --test-concurrency=2 --test-timeout=300000 agent/*.test.mjs

# Needs a checkout of the real WebUI; without one there is nothing to run.
test-webui: build tests/node_modules ## hux with the real WebUI in HUX_WEBUI_DIR
ifdef HUX_WEBUI_DIR
	@tests/python.sh agent-0.22
	cd tests && node --test --test-concurrency=1 --test-timeout=240000 webui/*.test.mjs
else
	@echo "HUX_WEBUI_DIR names no checkout of the WebUI: its tests are not part of this run"
endif

contract-accept: ## accept how the contract has changed; CHANGELOG.md must say it
	@go test -count=1 -run '^TestContractIsKept$$' . -accept

FUZZTIME ?= 30s
fuzz: ## run every fuzz target for FUZZTIME
	@grep -rnoE 'func Fuzz\w+' --include='*_test.go' . | sed -E 's/^(.*)\/[^/]+:[0-9]+:func (Fuzz\w+)/\1 \2/' | while read -r dir name; do \
		echo "$$dir $$name"; go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$dir" || exit 1; done

CRASHES ?= 200
crash: ## kill hux in the middle of writing, CRASHES times
	CRASHES=$(CRASHES) go test -count=1 -timeout 30m -v -run TestKilledWhileWriting ./tests/crash

load: build ## the figures of docs/performance.md, such as ARGS="-case append"
	go -C tests/load run . $(ARGS)

lines: ## how many lines of code there are, by folder
	@tests/lines.sh

clean:
	rm -rf bin .cache tests/node_modules
