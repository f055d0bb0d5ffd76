# `make` lists the targets; the workflow and a developer run the same ones.
.PHONY: help check test lint bench sandbox doc deny setup deb image

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

check: lint test deny ## everything that must pass before a merge

lint: ## formatting and clippy, warnings denied
	cargo fmt --all --check
	cargo clippy --locked --all-targets -- -D warnings

test: setup ## all tests, on SQLite and on a throw-away PostgreSQL
	cargo test --locked

setup: ## install what the tests need, if it is absent
	@tests/setup.sh

bench: ## the figures of docs/performance.md, as ratios within one run
	cargo bench --locked

sandbox: ## watch the whole story on a simulated GitHub
	cargo run --locked --release -- sandbox

doc: ## the API documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items

deny: ## licences and advisories (fetches the advisory database)
	cargo deny --locked check

deb: ## a Debian package, with man page and completions (needs cargo-deb)
	cargo build --locked --release
	rm -rf target/packaging && mkdir -p target/packaging
	target/release/redeliverd man --dir target/packaging/man
	target/release/redeliverd completions bash > target/packaging/redeliverd.bash
	target/release/redeliverd completions zsh > target/packaging/_redeliverd
	target/release/redeliverd completions fish > target/packaging/redeliverd.fish
	cargo deb --locked --no-build

image: ## a container image
	docker build -t redeliverd .
