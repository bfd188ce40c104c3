# Completion of fvctl in bash. fvctl itself knows the words: from the router, or without one.
_fvctl() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT}
    local current=${line##*[[:space:]]}
    local broken=${COMP_WORDS[COMP_CWORD]}
    local words=() word
    while IFS=$'\t' read -r word _; do
        # What bash has cut off at a colon stands already.
        words+=("${word:$((${#current} > ${#broken} ? ${#current} - ${#broken} : 0))}")
    done < <("${COMP_WORDS[0]}" --complete "$line" 2>/dev/null)
    COMPREPLY=("${words[@]}")
}
complete -o default -F _fvctl fvctl
