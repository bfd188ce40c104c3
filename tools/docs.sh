#!/bin/bash
# Builds the manual as pages that are read without a network: target/docs-site/index.html.
set -eu
cd "$(dirname "$0")/.."
command -v mdbook >/dev/null || cargo install --locked mdbook
mdbook build docs --dest-dir "$PWD/target/docs-site"
