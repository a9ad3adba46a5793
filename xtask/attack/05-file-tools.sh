# Point 5: Open, then judge. A link that is exchanged meanwhile leads past no deny rule.

# Exchanges a link between two targets until `_settle`: `_swap LINK TARGET OTHER`
_swap() {
    while :; do
        ln -sfn "$2" "$ROOT/l" && mv -fT "$ROOT/l" "$1"
        ln -sfn "$3" "$ROOT/l" && mv -fT "$ROOT/l" "$1"
    done 2> /dev/null &
    swapper=$!
    AGENT_OPTIONS+=(--max-steps 200)
}

_settle() { kill $swapper; wait $swapper 2> /dev/null; }

# Makes a call eighty times in one run: `_eighty TOOL ARGUMENTS CONTROL`
_eighty() {
    if is_control; then
        for _ in $(seq 80); do bash -c "$3" >> "$LOG" 2> /dev/null; done
        return
    fi
    for _ in $(seq 80); do printf '{"call": {"tool": "%s", "args": %s}}\n' "$1" "$2"; done > "$ROOT/script.jsonl"
    play "${AGENT_OPTIONS[@]}"
}

# A link is exchanged while read_file reads it, eighty times
read_file_under_a_race() {
    echo "$SECRET" > secret.txt; echo harmless > open.txt; ln -s open.txt link.txt
    AGENT_OPTIONS+=(--deny 'Read(secret.txt)')
    _swap link.txt secret.txt open.txt
    _eighty read_file '{"path": "link.txt"}' 'cat link.txt'
    _settle
    broken_if_leaked
}

# A folder is exchanged with a link while read_file reads below it, eighty times
read_file_under_a_folder_race() {
    mkdir private public; echo "$SECRET" > private/f; echo harmless > public/f; ln -s public way
    AGENT_OPTIONS+=(--deny 'Read(private/**)')
    _swap way private public
    _eighty read_file '{"path": "way/f"}' 'cat way/f'
    _settle
    broken_if_leaked
}

# A folder is exchanged with a link while write_file writes below it, eighty times
write_file_under_a_folder_race() {
    mkdir public; ln -s public way
    _swap way "$OUTSIDE" public
    _eighty write_file '{"path": "way/MARK", "content": "x"}' 'echo x > way/MARK'
    _settle
    broken_if_marked
}

# read_file follows a link to a denied file
read_file_through_a_link() {
    echo "$SECRET" > secret.txt; ln -s secret.txt link.txt
    AGENT_OPTIONS+=(--deny 'Read(secret.txt)')
    call read_file '{"path": "link.txt"}' 'cat link.txt'
    broken_if_leaked
}

# read_file goes through /proc/self/cwd to a denied file
read_file_through_proc() {
    echo "$SECRET" > secret.txt
    AGENT_OPTIONS+=(--deny 'Read(secret.txt)')
    call read_file '{"path": "/proc/self/cwd/secret.txt"}' 'cat /proc/self/cwd/secret.txt'
    broken_if_leaked
}

# grep finds the lines of a denied file through a link
grep_through_a_link() {
    mkdir d; echo "$SECRET" > secret.txt; ln -s ../secret.txt d/link.txt
    AGENT_OPTIONS+=(--deny 'Read(secret.txt)')
    call grep '{"pattern": "s3cr3t", "path": "d"}' 'grep s3cr3t d/*'
    call grep '{"pattern": "s3cr3t"}' 'grep s3cr3t d/*'
    broken_if_leaked
}

# read_file reads a hard link to a denied file
read_file_through_a_hard_link() {
    echo "$SECRET" > secret.txt; ln secret.txt other.txt
    AGENT_OPTIONS+=(--deny 'Read(secret.txt)')
    call read_file '{"path": "other.txt"}' 'cat other.txt'
    broken_if_leaked
}

# A link is exchanged while read_file reads it, and a rule asks about the file, eighty times
asked_file_under_a_race() {
    echo "$SECRET" > secret.txt; echo harmless > open.txt; ln -s open.txt link.txt
    printf '[permissions]\nask = ["Read(secret.txt)"]\n' > vertebra.toml; trusted
    _swap link.txt secret.txt open.txt
    _eighty read_file '{"path": "link.txt"}' 'cat link.txt'
    _settle
    broken_if_leaked
}

# A file that a rule asks about, by a search for its lines
asked_file_in_a_search() {
    mkdir d; echo "$SECRET" > d/secret.txt
    printf '[permissions]\nask = ["Read(d/secret.txt)"]\n' > vertebra.toml; trusted
    call grep '{"pattern": "s3cr3t", "path": "d"}' 'grep s3cr3t d/*'
    broken_if_leaked
}

# read_file with other spellings of the path of a denied file
read_file_spellings() {
    echo "$SECRET" > .env; mkdir sub
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
    for path in ././/.env sub/../.env .env/ .env/. "file://$PROJECT/.env" '~/../project/.env' ./sub/..//./.env "$PROJECT//.env" \
        "/proc/self/root$PROJECT/.env"; do
        call read_file "{\"path\": \"$path\"}" 'cat .env'
        cat "$LOG" >> "$ROOT/all"
    done
    cp "$ROOT/all" "$LOG"
    broken_if_leaked
}

# grep is given a denied file by its name, by a pattern, and by the folder above
grep_of_a_denied_file() {
    echo "$SECRET" > .env
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
    for arguments in '"path": ".env"' '"glob": "**/.env"' '"path": "../project"'; do
        call grep "{\"pattern\": \"s3cr3t\", $arguments}" 'cat .env'
        cat "$LOG" >> "$ROOT/all"
    done
    cp "$ROOT/all" "$LOG"
    broken_if_leaked
}

# write_file writes through links that lead outside
write_file_through_links() {
    ln -s "$OUTSIDE" way; ln -s "$MARK" mark
    call write_file '{"path": "way/MARK", "content": "x"}' 'echo x > way/MARK'
    call write_file '{"path": "mark", "content": "x"}' 'echo x > mark'
    broken_if_marked
}

# write_file writes outside by the folder above and by an absolute path
write_file_outside() {
    call write_file '{"path": "../outside/MARK", "content": "x"}' 'echo x > ../outside/MARK'
    call write_file "{\"path\": \"$MARK\", \"content\": \"x\"}" "echo x > $MARK"
    broken_if_marked
}

# read_file and grep wait for a pipe that nobody writes to
read_file_of_a_pipe() {
    mkfifo pipe
    if is_control; then timeout 2 cat pipe; else
        printf '{"call": {"tool": "read_file", "args": {"path": "pipe"}}}\n{"call": {"tool": "grep", "args": {"pattern": "x"}}}\n{"say": "done"}\n' > "$ROOT/s.jsonl"
        timeout 30 vertebra run --model "script:$ROOT/s.jsonl" --no-journal --mode bypass go > "$ROOT/out" 2>&1 < /dev/null
    fi
    broken_if test $? = 124
}
