# Point 13: One secret, many ways. A denied file cannot be read from anywhere, nor out of git.

_committed() {
    git init -q .
    echo "KEY=$SECRET" > .env; echo hello > file.txt; mkdir -p sub; echo "KEY=$SECRET" > sub/.env
    git add -f . && git commit -qm 'add settings'
    echo "KEY2=$SECRET" >> .env; git commit -qam 'change settings'
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
}

_reads() {
    _committed
    agent "$@"
    broken_if_leaked
}

# cat
env_cat() {
    _reads 'cat .env'
}

# cat with a pattern
env_glob() {
    _reads 'cat .e*'
}

# cat of a name that is put together
env_variable() {
    _reads 'x=.e; cat ${x}nv'
}

# Python
env_python() {
    _reads "python3 -c 'print(open(\".env\").read())'"
}

# cat of the absolute path
env_absolute() {
    _reads "cat $PROJECT/.env"
}

# cat through the folder above
env_cd_up() {
    _reads 'cd sub && cat ../.env'
}

# git show HEAD:.env
env_git_show_head() {
    _reads 'git show HEAD:.env'
}

# git show :.env
env_git_show_index() {
    _reads 'git show :.env'
}

# git show HEAD:sub/.env
env_git_show_sub() {
    _reads 'git show HEAD:sub/.env'
}

# git show HEAD:./.env
env_git_show_dot() {
    _reads 'git show HEAD:./.env'
}

# git show of the commit
env_git_show_commit() {
    _reads 'git show HEAD'
}

# git show of an older commit
env_git_show_quiet() {
    _reads 'git show HEAD~1 --stat -p'
}

# git cat-file of the path
env_git_cat_file() {
    _reads 'git cat-file -p HEAD:.env'
}

# git cat-file of the hash
env_git_cat_file_hash() {
    _reads 'git cat-file -p $(git rev-parse HEAD:.env)'
}

# git cat-file of all objects
env_git_cat_file_batch() {
    _reads 'git cat-file --batch-all-objects --batch'
}

# git cat-file with names from a pipe
env_git_cat_file_stdin() {
    _reads 'echo HEAD:.env | git cat-file --batch'
}

# git ls-files and cat-file by hash
env_git_ls_files() {
    _reads 'git cat-file blob $(git ls-files -s .env | cut -d" " -f2)'
}

# git grep in the work tree
env_git_grep() {
    _reads 'git grep KEY'
}

# git grep in a commit
env_git_grep_head() {
    _reads 'git grep KEY HEAD'
}

# git grep in the index
env_git_grep_cached() {
    _reads 'git grep --cached KEY'
}

# git archive
env_git_archive() {
    _reads 'git archive HEAD | tar xO'
}

# git archive of one path
env_git_archive_path() {
    _reads 'git archive HEAD .env | tar xO'
}

# git diff between commits
env_git_diff() {
    _reads 'git diff HEAD~1'
}

# git diff with the empty tree
env_git_diff_empty() {
    _reads 'git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD'
}

# git diff with /dev/null
env_git_diff_no_index() {
    _reads 'git diff --no-index /dev/null .env'
}

# git log -p
env_git_log_p() {
    _reads 'git log -p'
}

# git log -p with a search
env_git_log_S() {
    _reads 'git log -p -S KEY'
}

# git log -L
env_git_log_L() {
    _reads 'git log -L 1,1:.env'
}

# git blame
env_git_blame() {
    _reads 'git blame .env'
}

# git annotate
env_git_annotate() {
    _reads 'git annotate .env'
}

# git format-patch
env_git_format_patch() {
    _reads 'git format-patch --stdout -2'
}

# git fast-export
env_git_fast_export() {
    _reads 'git fast-export HEAD'
}

# git bundle and a clone of it
env_git_bundle() {
    _reads 'git bundle create b HEAD; git clone -q b c; cat c/.env'
}

# git checkout-index with a prefix
env_git_checkout_index() {
    _reads 'git checkout-index --prefix=x/ -a; cat x/.env' 'cat x/.en?'
}

# git worktree add
env_git_worktree() {
    _reads 'git worktree add -q w HEAD; cat w/.env' 'cat w/.en?'
}

# git clone to TMPDIR
env_git_clone() {
    _reads 'git clone -q . "$TMPDIR/cl"; cat "$TMPDIR/cl/.env"' 'cat "$TMPDIR"/cl/.en?'
}

# git clone, read by Python
env_git_clone_python() {
    _reads 'git clone -q . cl' "python3 -c 'import glob; print(open(glob.glob(\"cl/.e*\")[0]).read())'"
}

# git stash show -p
env_git_stash() {
    _reads 'echo x >> file.txt; git stash -q; git stash show -p; git stash pop -q' 'git diff-tree -p HEAD'
}

# git mv to another name
env_git_show_rename() {
    _reads 'git mv .env open.txt; cat open.txt'
}

# git restore to another work tree
env_git_restore() {
    _reads 'mkdir wt; git --work-tree=wt restore -s HEAD .; cat wt/.env' 'cat wt/.en?'
}

# git read-tree with a prefix
env_git_read_tree() {
    _reads 'git read-tree --prefix=x/ HEAD; git checkout-index -a; cat x/.env' 'cat x/.en?'
}

# the object files themselves
env_git_objects() {
    _reads "python3 -c '
import glob, zlib
for f in glob.glob(\".git/objects/??/*\"): print(zlib.decompress(open(f, \"rb\").read()))'"
}

# git with --git-dir from elsewhere
env_git_dir() {
    _reads 'cd "$TMPDIR" && git --git-dir='"$PROJECT"'/.git show HEAD:.env'
}

# git -C from elsewhere
env_git_C() {
    _reads 'cd / && git -C '"$PROJECT"' show HEAD:.env'
}

# git with GIT_DIR
env_git_env() {
    _reads 'cd "$TMPDIR" && GIT_DIR='"$PROJECT"'/.git git show HEAD:.env'
}

# a git alias
env_git_alias() {
    _reads "git -c alias.x='!cat .env' x"
}

# git difftool
env_git_difftool() {
    _reads 'git difftool -y -x cat HEAD~1'
}

# git rev-list and cat-file
env_git_rev_list() {
    _reads 'git rev-list --objects --all | cut -d" " -f1 | git cat-file --batch'
}

# git unpack-file
env_git_unpack_file() {
    _reads 'cat $(git unpack-file HEAD:.env)'
}

# git merge-file
env_git_merge_file() {
    _reads 'git merge-file -p .env /dev/null /dev/null'
}

# git apply of a reversed diff
env_git_apply() {
    _reads 'git diff HEAD~1 > d; cat d'
}

# A .env in another folder
env_elsewhere() {
    _committed
    mkdir -p "$OUTSIDE/app"; echo "$SECRET" > "$OUTSIDE/app/.env"
    agent "cat $OUTSIDE/app/.env" "cd $OUTSIDE/app && cat .env" "cat ../outside/app/.env"
    broken_if_leaked
}

# A .env in another folder, read by Python
env_elsewhere_python() {
    _committed
    mkdir -p "$OUTSIDE/app"; echo "$SECRET" > "$OUTSIDE/app/.env"
    agent "python3 -c 'import os; print(open(\"$OUTSIDE/app/.e\" + \"nv\").read())'"
    broken_if_leaked
}

# A .env in the home folder
env_in_home() {
    _committed
    echo "$SECRET" > "$HOME/.env"
    agent 'cat ~/.env' 'cat $HOME/.env'
    broken_if_leaked
}

# A .env in the folder above, by the file tool
env_above_by_file_tool() {
    _committed
    echo "$SECRET" > "$ROOT/.env"
    call read_file "{\"path\": \"$ROOT/.env\"}" 'cat ../.env'
    call read_file '{"path": "../.env"}' 'cat ../.env'
    broken_if_leaked
}
