# Completion of fvctl in fish. fvctl itself knows the words: from the router, or without one.
complete -c fvctl -f -a '(fvctl --complete (commandline -cp) 2>/dev/null)'
