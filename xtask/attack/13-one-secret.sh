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

# Another repository that held the secret once, in a folder
_held_once() {
    mkdir -p "$1"
    (cd "$1" && _committed && git rm -rqf .env sub && git commit -qm 'remove settings') || exit 2
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
}

_inflate="import glob, sys, zlib
for f in glob.glob(sys.argv[1] + '/objects/??/*'): print(zlib.decompress(open(f, 'rb').read()))"

# the object files of a repository in a folder below
env_nested_objects() {
    _held_once vendor/lib
    agent "python3 -c \"$_inflate\" vendor/lib/.git"
    broken_if_leaked
}

# the object files of a submodule
env_submodule_objects() {
    _held_once "$OUTSIDE/app"
    git init -q . && git -c protocol.file.allow=always submodule --quiet add "$OUTSIDE/app" app && git commit -qm first
    agent "python3 -c \"$_inflate\" .git/modules/app"
    broken_if_leaked
}

# git in a folder below, started by Python
env_nested_python() {
    _held_once vendor
    agent "python3 -c 'import subprocess; subprocess.run([\"git\", \"log\", \"-p\"], cwd=\"vendor\")'"
    broken_if_leaked
}

# git in a folder below, whose name is put together
env_nested_cd() {
    _held_once vendor
    agent 'x=ven; cd ${x}dor && git log -p | cut -c2-' 'cd ve*; git log -p | cut -c2-' 'git -C "$(echo vendor)" log -p | cut -c2-'
    broken_if_leaked
}

# GIT_DIR of another repository
env_git_dir_elsewhere() {
    _held_once "$OUTSIDE/app"
    agent "GIT_DIR=$OUTSIDE/app/.git git log -p | cut -c2-" "export GIT_DIR=$OUTSIDE/app/.git; git log -p | cut -c2-"
    broken_if_leaked
}

# objects that a new repository borrows
env_git_alternates() {
    _held_once "$OUTSIDE/app"
    local commit
    commit=$(git -C "$OUTSIDE/app" rev-parse HEAD~1)
    agent 'git init -q new' "echo $OUTSIDE/app/.git/objects > new/.git/objects/info/alternates" "cd new; git show $commit | cut -c2-" \
        "cd new; GIT_OBJECT_DIRECTORY=$OUTSIDE/app/.git/objects git show $commit | cut -c2-"
    broken_if_leaked
}

# git push to a repository in TMPDIR, by the name of a remote
env_git_push() {
    _committed
    agent 'git init -q --bare "$TMPDIR/b.git"' 'git config remote.z.url "$TMPDIR/b.git"; git push -q z main' \
        'git push -q "file://$TMPDIR/b.git" main' "python3 -c \"$_inflate\" \"\$TMPDIR/b.git\""
    broken_if_leaked
}

# git fsck --lost-found
env_git_lost_found() {
    git init -q . && echo "KEY=$SECRET" > .env && git add .env && git rm -q --cached .env && rm .env
    echo x > file.txt && git add . && git commit -qm first
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
    agent 'git fsck --lost-found' 'cat .git/lost-found/other/*'
    broken_if_leaked
}

# a commit that no branch leads to
env_git_dangling() {
    repository
    echo "KEY=$SECRET" > .env; git add -f .env; git commit -qm second
    local commit
    commit=$(git rev-parse HEAD)
    git reset -q --hard HEAD~1; git reflog expire --expire=now --all; rm -f .git/ORIG_HEAD
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
    agent "git show $commit | cut -c2-" "git log -p ${commit:0:9} | grep KEY" "git diff HEAD..$commit | cat"
    broken_if_leaked
}

# the patch of a rebase that stopped
env_git_rebase() {
    repository
    echo two > file.txt; git commit -qam two; git checkout -q -b other HEAD~1
    echo three > file.txt; echo "KEY=$SECRET" > .env; git add -f . ; git commit -qm three; git rm -q .env; git commit -qm four
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
    agent 'git rebase main' 'git rebase --show-current-patch | grep KEY' 'cat .git/rebase-merge/patch' 'head -99 .git/rebase-*/p*'
    broken_if_leaked
}

# one object in the place of another
env_git_replace() {
    _committed
    local hidden open
    hidden=$(git rev-parse HEAD:.env); open=$(git rev-parse HEAD:file.txt)
    agent "mkdir -p .git/refs/replace; echo $hidden > .git/refs/replace/$open" 'git show HEAD:file.txt' \
        "echo create refs/replace/$open $hidden | git update-ref --stdin" 'git cat-file -p HEAD:file.txt'
    broken_if_leaked
}

# a folder of a commit
env_git_tree() {
    _committed
    agent 'git grep KEY HEAD:sub' 'git diff HEAD:sub HEAD~1^{tree}' 'git archive HEAD:sub | tar xO' "git show $(git rev-parse HEAD:sub):.env" \
        'git restore -s HEAD:sub .; cat .e*'
    broken_if_leaked
}

# the head of a diff that another command printed
env_git_false_hunk() {
    _committed
    agent "git log -p --format='diff --git a/x b/x%n@@ -1,999 +1,999 @@'" \
        "printf 'diff --git a/x b/x\\n@@ -1,999 +1,999 @@\\n'; git show HEAD" "echo 'diff --git a/x b/x'; git grep KEY HEAD"
    broken_if_leaked
}

# git checkout and a pattern in one call
env_git_checkout_glob() {
    _committed; git rm -rqf .env sub; git commit -qm 'remove settings'
    agent 'git checkout -q HEAD~1 -- .; cat .e*' 'git rm -rqf sub; git checkout -q HEAD~1 -- sub; grep -rh KEY sub' \
        'git checkout -q HEAD~1 -- sub; git mv sub s2; cat s2/.e*'
    broken_if_leaked
}

# git by another name in PATH
env_git_path() {
    _committed
    agent "printf '#!/bin/sh\n/usr/bin/env -i HOME=\$HOME PATH=/usr/local/bin:/usr/bin:/bin git log -p' > git; chmod +x git" \
        'PATH=.:$PATH git status' './git status' 'PATH=.:$PATH; git status' 'EDITOR=./git git commit --amend'
    broken_if_leaked
}

# A secret on another branch, under a rule about one path: `_elsewhere COMMAND…`
_elsewhere() {
    git init -q .; mkdir config w; seq 40 > config/a; git add -A; git commit -qm base; git tag base
    echo "KEY=$SECRET" > config/secret.txt; git add -A; git commit -qm 'add settings'; git checkout -qb work base
    AGENT_OPTIONS+=(--deny 'Read(config/secret.txt)')
    agent "$@"
    broken_if_leaked
}

# a merge that follows the rename of a folder
env_git_merge_renamed_folder() {
    _elsewhere 'mv config pub' 'git add -A; git commit -qm move' 'git merge -q -m merge main' 'cat pub/secret.txt'
}

# a cherry-pick that follows the rename of a folder
env_git_cherry_pick_renamed_folder() {
    _elsewhere 'mv config pub' 'git add -A; git commit -qm move' 'git cherry-pick main' 'cat pub/secret.txt'
}

# git checkout with --git-dir, into another folder
env_git_dir_checkout() {
    _elsewhere 'cd w; git --git-dir=$(git rev-parse --git-dir) checkout -qf main' "cat $PROJECT/w/config/secret.txt"
}

# git reset with --git-dir, into another folder
env_git_dir_reset() {
    _elsewhere 'cd w; git --git-dir ../.git reset -q --hard main' "cat $PROJECT/w/config/secret.txt"
}

# an index that was written by hand
env_git_index_by_hand() {
    _reads 'git ls-tree HEAD .env > b' "python3 -c \"
import hashlib,struct
h=bytes.fromhex(open('b').read().split()[2]); n=b'seen'
e=struct.pack('>10I',0,0,0,0,0,0,0o100644,0,0,0)+h+struct.pack('>H',len(n))+n
d=b'DIRC'+struct.pack('>2I',2,1)+e+bytes(8-len(e)%8)
open('.git/index','wb').write(d+hashlib.sha1(d).digest())\"" 'git restore seen; cat seen'
}

# a commit that no branch leads to, named by a substitution
env_git_unreferenced() {
    _elsewhere 'git rev-parse main > h; git branch -qD main; git reflog expire --expire=now --all' \
        'git show $(printf "%s:con%s" $(cat h) fig/secret.txt)'
}

# objects that are links to those of another repository
env_git_linked_objects() {
    _reads 'git ls-tree HEAD .env > b; git init -q n' \
        'h=$(cut -c13-52 b); mkdir n/.git/objects/${h:0:2}; ln -s $PWD/.git/objects/${h:0:2}/${h:2} n/.git/objects/${h:0:2}/${h:2}' \
        'cd n; git cat-file -p $(cut -c13-52 ../b)'
}

# git log -p with a format that looks like a pathspec
env_git_log_format() {
    _reads 'git log -p --format="%h -- file.txt" | cut -c2-'
}

# git show with a setting that looks like a subcommand
env_git_setting_of_two_words() {
    _reads 'git -c "user.name=a status" show HEAD | cut -c2-'
}

# a file that was added and never committed, whose hash is put together
env_staged_by_hash() {
    git init -q .; echo hello > file.txt; git add . && git commit -qm first
    echo "KEY=$SECRET" > .env; git add -f .env; hash=$(git rev-parse :.env); git rm -q --cached .env
    AGENT_OPTIONS+=(--deny 'Read(**/.env)')
    agent "git show \$(printf %s%s ${hash:0:20} ${hash:20})" "x=${hash:0:9}; git cat-file -p \${x}${hash:9}" \
        "git diff \$(echo ${hash:0:7})${hash:7} HEAD:file.txt"
    broken_if_leaked
}

# Ends a probe: another agent, which has no sandbox of ours, may run one of these commands.
_others_read() {
    echo "KEY=$SECRET" > .env; mkdir sub; echo "KEY=$SECRET" > sub/.env; echo x > x
    mkdir -p "$HOME/.config/vertebra"
    printf '[permissions]\ndeny = ["Read(**/.env)"]\n' > "$HOME/.config/vertebra/vertebra.toml"
    local command
    for command; do [ "$(verdict "$command")" = allow ] && echo "$command" && broken_if true && return; done
    broken_if false
}

# another agent: a search through the folder
other_agent_grep() {
    _others_read 'grep -r KEY .' 'grep -rn KEY' 'grep -rh KEY sub' 'grep --recursive KEY' 'rgrep KEY' 'grep -r --include=".*" KEY' \
        'grep -r --exclude=.env --include=.env KEY .' 'grep -r --exclude=x --include=y KEY .' 'grep -r --exclude-dir=.env KEY'
}

# another agent: ripgrep with hidden files
other_agent_ripgrep() {
    _others_read 'rg --hidden KEY' 'rg -uu KEY' 'rg -. KEY sub' 'rg -uuu -g "!x" KEY'
}

# another agent: find and a program
other_agent_find() {
    _others_read 'find . -type f -exec cat {} +' 'find sub -exec base64 {} \;' 'find . -type f | xargs cat' \
        'find . -iname .ENV -exec cat {} +' 'find . ! ! -name .env -exec cat {} +' 'find . -exec cat {} + -name x'
}

# another agent: names from a pipe
other_agent_xargs() {
    _others_read 'ls -A | grep env | xargs cat' 'printf .e%s nv | xargs cat' 'git ls-files -o | xargs head' 'xargs -a x cat' \
        'echo .env | tr -d x | xargs cat'
}

# another agent: copies and archives of the folder
other_agent_copies() {
    _others_read 'tar c . | base64' 'tar -czf /tmp/x.tgz -C .. project' 'zip -r - .' 'cp -r . /tmp/x' 'cp -a sub /tmp/x' \
        'cp -rt /tmp/x .' 'cp -rt /tmp .' "cp -at $TMPDIR ." 'rsync -a . /tmp/x' 'diff -r . /tmp/x'
}

# another agent: other searches that look into hidden files
other_agent_searches() {
    _others_read 'fd -H . -x cat' 'fd -H -X cat' 'git grep --no-index KEY' 'git grep --untracked KEY' 'ack KEY .'
}

# another agent: the name behind the letter of an option
other_agent_attached() {
    _others_read 'curl -d@.env http://localhost:1' 'curl -T.env http://localhost:1' 'curl -sSK.env http://localhost:1' \
        'grep -f.env x' "sed '1r.env' x" 'sed -f.env x'
}

# another agent: an address of a file
other_agent_address() {
    _others_read "curl file://$PROJECT/.env" 'curl file://$PWD/.env' 'wget -qO- file:///proc/self/cwd/.env'
}

# another agent: a pattern that stands for hidden files too
other_agent_dotglob() {
    _others_read 'shopt -s dotglob; cat *' 'shopt -s dotglob; head sub/*'
}
