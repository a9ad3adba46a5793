# Point 15: Edit rules and commands. What an Edit rule denies, no command changes.

_edits() {
    printf 'one\ntwo\n' > locked.txt; printf 'x\n' > other.txt
    AGENT_OPTIONS+=(--deny 'Edit(locked.txt)')
    printf -- '--- a/locked.txt\n+++ b/locked.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n' > p.diff
    agent "$@"
    broken_if test "$(cat locked.txt 2> /dev/null)" != "$(printf 'one\ntwo')"
}

# a redirection
edit_redirect() {
    _edits 'echo x > locked.txt'
}

# an appending redirection
edit_append() {
    _edits 'echo x >> locked.txt'
}

# a here-document
edit_heredoc() {
    _edits $'cat > locked.txt <<END\nx\nEND'
}

# tee
edit_tee() {
    _edits 'echo x | tee locked.txt'
}

# sed -i
edit_sed() {
    _edits 'sed -i s/one/ONE/ locked.txt'
}

# perl -i
edit_perl() {
    _edits 'perl -pi -e s/one/ONE/ locked.txt'
}

# ed by its script
edit_ed() {
    _edits $'python3 -c "print(1)"; ex -s locked.txt <<END\n1d\nwq\nEND' $'ed -s locked.txt <<END\n1d\nw\nq\nEND' 'dd if=other.txt of=locked.txt'
}

# patch
edit_patch() {
    _edits 'patch -p1 < p.diff' 'git apply --unsafe-paths p.diff'
}

# git apply
edit_git_apply() {
    _edits 'git init -q .; git apply p.diff'
}

# dd of=
edit_dd() {
    _edits 'dd if=other.txt of=locked.txt'
}

# install
edit_install() {
    _edits 'install other.txt locked.txt'
}

# cp
edit_cp() {
    _edits 'cp other.txt locked.txt'
}

# mv onto it
edit_mv() {
    _edits 'mv other.txt locked.txt'
}

# mv of it
edit_mv_away() {
    _edits 'mv locked.txt away.txt'
}

# rm
edit_rm() {
    _edits 'rm locked.txt'
}

# truncate
edit_truncate() {
    _edits 'truncate -s 0 locked.txt'
}

# ln -f
edit_ln() {
    _edits 'ln -f other.txt locked.txt'
}

# Python
edit_python() {
    _edits "python3 -c 'open(\"lock\" + \"ed.txt\", \"w\").write(\"x\")'"
}

# a script file
edit_script() {
    _edits "echo 'echo x > locked.txt' > s.sh; bash s.sh"
}

# a name that is put together
edit_variable() {
    _edits 'f=locked; echo x > $f.txt'
}

# a link to it
edit_link() {
    _edits 'ln -s locked.txt l; echo x > l'
}

# xargs
edit_xargs() {
    _edits "echo locked.txt | xargs sed -i s/one/ONE/"
}

# find -exec
edit_find() {
    _edits "find . -name 'locked*' -exec sed -i s/one/ONE/ {} \\;"
}


# Ends a probe: another agent, which has no sandbox of ours, may run one of these commands.
_others_edit() {
    printf 'one\n' > locked.txt; echo x > other.txt
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Edit(locked.txt)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    local command
    for command; do [ "$(verdict "$command")" = allow ] && echo "$command" && broken_if true && return; done
    broken_if false
}

# another agent: the name behind the letter of an option
other_agent_edit_attached() {
    _others_edit 'sort -olocked.txt other.txt' 'curl -olocked.txt http://localhost:1' 'curl -sSolocked.txt http://localhost:1' \
        'wget -qOlocked.txt http://localhost:1' 'gcc -olocked.txt x.c' 'shuf -olocked.txt other.txt' 'iconv -olocked.txt other.txt'
}

# another agent: the name in a script of sed
other_agent_edit_sed() {
    _others_edit "sed 's/x/y/wlocked.txt' other.txt" "sed -n '1wlocked.txt' other.txt" "sed -n 'w locked.txt' other.txt"
}

# another agent: names from a pipe
other_agent_edit_xargs() {
    _others_edit 'echo locked.txt | xargs rm' 'ls | xargs rm' 'ls *.txt | sort | xargs -n 1 sed -i s/a/b/' \
        'printf lock%s ed.txt | xargs rm' 'cat other.txt | xargs -I{} rm {}' 'git ls-files | xargs sed -i s/a/b/'
}

# another agent: find and a removal
other_agent_edit_find() {
    _others_edit 'find . -type f -delete' 'find . -name "lock*" -exec rm {} +' 'find . -type f -exec truncate -s 0 {} \;' \
        'find . -name other.txt -o -delete'
}

# another agent: archives, compressed files and downloads that have the name
other_agent_edit_unpacked() {
    _others_edit 'tar xf a.tar' 'tar -C . -xzf a.tgz' 'unzip -o a.zip' '7z x a.zip' 'cpio -idu < a.cpio' 'gunzip -f locked.txt.gz' \
        'zstd -d locked.txt.zst' 'curl -sSLO http://localhost:1/locked.txt' 'wget -q http://localhost:1/locked.txt' \
        'wget -P . http://localhost:1/locked.txt' 'fd -x rm' 'fd txt -X rm' 'cp -ft . d/locked.txt' 'rsync -t d/locked.txt .'
}

# another agent: git changes it without its name
other_agent_edit_by_git() {
    git init -q .; echo before > locked.txt; git add .; git commit -qm one; echo one > locked.txt; git add .; git commit -qm two
    git branch other HEAD~1; git stash -q 2> /dev/null
    _others_edit 'git checkout HEAD~1' 'git checkout HEAD~1 -- .' 'git switch other' 'git restore -s HEAD~1 .' 'git reset --hard HEAD~1' \
        'git revert HEAD' 'git -c core.abbrev=7 checkout -q other' 'git rm -r .' 'git rm -rf ./'
}

# another agent: what only reads the file, or leaves it out, is free
other_agent_edit_spares_readers() {
    no_control && return
    git init -q .
    printf 'one\n' > locked.txt; echo x > .env
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Edit(locked.txt)", "Read(**/.env)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    local command held
    for command in 'sort locked.txt > sorted.txt' 'find . -name "*.txt" | head' 'git log -p locked.txt' \
        'git diff locked.txt' 'grep -rn --exclude=.env x .' 'tar cf x.tar --exclude=.env .'; do
        [ "$(verdict "$command")" = allow ] || held=$command
    done
    broken_if test -n "${held:-}"
}
