#!/bin/bash
# Drop reasons of nodes that may be explained which no test has a lone packet meet: whether `explain'
# has them right is not known. Reasons that were met are those that it foretold, or the test failed.
set -eu
cd "$(dirname "$0")/.."
file=$(mktemp)
trap 'rm -f "$file" "$file.has" "$file.met"' EXIT
FERROVIA_FATES=$file cargo test -q --workspace --test packets "$@" >&2
FERROVIA_FATES=$file cargo test -q --workspace --lib "$@" >&2
# Interfaces' own nodes and test nodes are many of a kind.
sort -u "$file" | sed -n 's/^has\t//p' | sed -E 's/^(pg|tap|loop|host-[a-z]+)[0-9]+-/\1N-/' | sort -u >"$file.has"
sort -u "$file" | sed -n 's/^met\t//p' | sed -E 's/^(pg|tap|loop|host-[a-z]+)[0-9]+-/\1N-/' | sort -u >"$file.met"
comm -23 "$file.has" "$file.met"
echo "$(comm -12 "$file.has" "$file.met" | wc -l) of $(wc -l <"$file.has") drop reasons met as explained"
