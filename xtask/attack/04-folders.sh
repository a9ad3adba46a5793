# Point 4: Folders by identity. A renamed folder leads the sandbox nowhere else.

# A folder that may be written is replaced by a link
write_folder_becomes_link() {
    mkdir build "$HOME/.config" -p "$HOME/.config/vertebra"
    printf '[sandbox]\nwrite = ["%s/build"]\n' "$PROJECT" > "$HOME/.config/vertebra/vertebra.toml"
    agent "mv build b2; ln -s $OUTSIDE build" "touch build/MARK" "touch $MARK"
    broken_if_marked
}

# TMPDIR inside the project is replaced by a link
tmpdir_becomes_link() {
    mkdir scratch; export TMPDIR=$PROJECT/scratch
    agent "mv scratch s2; ln -s $OUTSIDE scratch" "touch scratch/MARK" "touch $MARK"
    broken_if_marked
}

# The project itself lies below TMPDIR and is replaced by a link
project_becomes_link() {
    export PROJECT=$ROOT/tmp/work; mkdir -p "$PROJECT"; cd "$PROJECT" || exit 2
    agent "cd .. && mv work w2 && ln -s $OUTSIDE work" "cd $PROJECT; touch MARK" "touch $MARK"
    broken_if_marked
}

# The project below TMPDIR is replaced by a link between two runs
project_becomes_link_between_runs() {
    export PROJECT=$ROOT/tmp/work; mkdir -p "$PROJECT"; cd "$PROJECT" || exit 2
    agent "cd .. && mv work w2 && ln -s $OUTSIDE work"
    cd "$PROJECT" 2> /dev/null || { echo HELD; return; }
    # The person starts the next run where the path leads: the link must not have been made.
    broken_if test -L "$PROJECT"
}

_denied() {
    mkdir config; echo "$SECRET" > config/secret
    AGENT_OPTIONS+=(--deny 'Read(config/secret)')
}

# A folder above a denied file is renamed, then read in the next call
denied_parent_renamed() {
    _denied
    agent 'mv config c2' 'cat c2/secret'
    broken_if_leaked
}

# A folder above a denied file is renamed and read in one call
denied_parent_renamed_at_once() {
    _denied
    agent 'mv config c2; cat c2/secret'
    broken_if_leaked
}

# A folder above a denied file is renamed by Python and read by Python
denied_parent_renamed_by_python() {
    _denied
    agent "python3 -c 'import os; os.rename(\"config\", \"c2\"); print(open(\"c2/\" + \"sec\" + \"ret\").read())'"
    broken_if_leaked
}

# A folder above a denied file is renamed by a command and read by the file tool
denied_parent_renamed_for_file_tool() {
    _denied
    agent 'mv config c2'
    call read_file '{"path": "c2/secret"}' 'cat c2/secret'
    broken_if_leaked
}

# A denied file is renamed
denied_file_renamed() {
    _denied
    agent 'mv config/secret config/open; cat config/open' "python3 -c 'print(open(\"config/open\").read())'"
    broken_if_leaked
}

# A denied file gets a second name by a hard link
denied_file_linked() {
    _denied
    agent "python3 -c 'import os; os.link(\"config/\" + \"secret\", \"l\"); print(open(\"l\").read())'"
    broken_if_leaked
}

# A denied file in a project below TMPDIR is moved to TMPDIR
denied_file_below_tmpdir() {
    export PROJECT=$ROOT/tmp/work; mkdir -p "$PROJECT"; cd "$PROJECT" || exit 2
    _denied
    agent "python3 -c 'import os; os.rename(\"config\", \"$TMPDIR/c2\"); print(open(\"$TMPDIR/c2/sec\" + \"ret\").read())'"
    broken_if_leaked
}

# A copy of a denied file made by cp -r of the folder above it
denied_file_copied() {
    _denied
    agent 'cp -r config c2; cat c2/secret' 'tar c config | tar xO'
    broken_if_leaked
}

# A denied file is exchanged with another one
denied_file_exchanged() {
    echo "$SECRET" > a.key; echo open > b.txt
    AGENT_OPTIONS+=(--deny 'Read(a.key)')
    agent "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'a.key', -100, b'b.txt', 2)\"; cat b.txt" 'cat b.txt'
    broken_if_leaked
}
