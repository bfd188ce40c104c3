#!/bin/bash
# Drop reasons of nodes that may be explained which no test has a lone packet meet: whether `explain'
# has them right is not known. Reasons that were met are those that it foretold, or the test failed.
# What no lone packet can meet is in fates.txt, each with the reason.
set -eu
cd "$(dirname "$0")/.."
file=$(mktemp)
trap 'rm -f "$file" "$file.has" "$file.met"' EXIT
FERROVIA_FATES=$file cargo test -q --workspace --test packets "$@" >&2
FERROVIA_FATES=$file cargo test -q --workspace --lib "$@" >&2
# Interfaces' own nodes and test nodes are many of a kind.
for kind in has met; do
    sort -u "$file" | sed -n "s/^$kind\t//p" |
        sed -E 's/^(pg|tap|loop|host-[a-z]+)[0-9]+-/\1N-/' | sort -u >"$file.$kind"
done
tools/fates.py "$file.has" "$file.met" <tools/fates.txt
