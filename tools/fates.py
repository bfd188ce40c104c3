#!/usr/bin/env python3
"""Compares drop reasons that nodes have with those that were met, for tools/fates.sh: the rules of
fates.txt, on standard input, say which of them no lone packet meets."""

import sys
from fnmatch import fnmatchcase


def rows(path):
    with open(path) as lines:
        return [tuple(line.rstrip("\n").split("\t")) for line in lines]


def fits(name, patterns):
    return any(fnmatchcase(name, p.replace("[", "[[]")) for p in patterns)


def read(line):
    """A rule: its kind, nodes and reasons."""
    kind, rest = line.split(" ", 1)
    nodes, _, reasons = rest.partition(": ")
    reasons = reasons.split(" -- ")[0] or "*"
    return kind, nodes.strip().split("|"), reasons.strip().split("|"), line


def main():
    has, met = rows(sys.argv[1]), set(rows(sys.argv[2]))
    lines = (line.strip() for line in sys.stdin)
    rules = [read(line) for line in lines if line and not line.startswith("#")]
    used, wrong, open_rows, counts = set(), [], [], {"met": 0, "never": 0, "later": 0}
    for node, reason in has:
        of_node = [r for r in rules if fits(node, r[1])]
        found = [r for r in of_node if (r[0] == "only") != fits(reason, r[2])]
        is_later = any(r[0] == "later" for r in found)
        used.update(r[3] for r in of_node if r[0] == "only")
        used.update(r[3] for r in found)
        if (node, reason) in met:
            counts["met"] += 1
            wrong += [f"{node}: {reason}: met, but: {r[3]}" for r in found if r[0] != "later"]
        elif found:
            counts["later" if is_later else "never"] += 1
        else:
            open_rows.append(f"{node}: {reason}")
    wrong += [f"about nothing: {r[3]}" for r in rules if r[3] not in used]
    print("\n".join(open_rows + wrong))
    print(f"{counts['met']} of {counts['met'] + len(open_rows)} drop reasons met as explained;")
    print(f"{counts['never']} that no lone packet meets, {counts['later']} of later features")
    return 1 if open_rows or wrong else 0


sys.exit(main())
