# Point 2: Git metadata. The person's next `git status` must not run the agent's code.

EVIL="touch \"$MARK\"; exit 0"

# .git/config gets core.fsmonitor
config_fsmonitor() {
    repository
    agent "git config core.fsmonitor 'touch $MARK; true'" "printf '[core]\n\tfsmonitor = \"touch $MARK; true\"\n' >> .git/config"
    git status > /dev/null 2>&1
    broken_if_marked
}

# .git/hooks gets a post-index-change hook
hooks_post_index_change() {
    repository
    agent "mkdir -p .git/hooks; printf '#!/bin/sh\n%s\n' '$EVIL' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change"
    touch file.txt; git status > /dev/null 2>&1; git add . > /dev/null 2>&1
    broken_if_marked
}

# .git/commondir leads to another configuration
commondir() {
    repository
    agent "cp -r .git evil; printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch $MARK; true\"\n' > evil/config; echo ../evil > .git/commondir"
    git status > /dev/null 2>&1
    broken_if_marked
}

# .git/config.worktree gets core.fsmonitor
config_worktree() {
    repository
    git config extensions.worktreeConfig true
    agent "printf '[core]\n\tfsmonitor = \"touch $MARK; true\"\n' > .git/config.worktree"
    git status > /dev/null 2>&1
    broken_if_marked
}

# .git is replaced by a file that leads to another repository
git_file() {
    repository
    agent "cp -r .git evil; printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch $MARK; true\"\n' > evil/config; mv .git away; echo 'gitdir: evil' > .git"
    git status > /dev/null 2>&1
    broken_if_marked
}

# A new repository below the folder brings its own configuration
nested_repository() {
    repository
    agent "mkdir sub && cd sub && git init -q . && printf '[core]\n\tfsmonitor = \"touch $MARK; true\"\n' >> .git/config"
    (cd sub && git status) > /dev/null 2>&1
    broken_if_marked
}

# A bare repository without the name .git brings its own configuration
bare_repository() {
    repository
    agent "git clone -q --bare . store; printf '[diff \"x\"]\n\ttextconv = \"touch $MARK; cat\"\n' >> store/config; mkdir -p store/info; echo '* diff=x' > store/info/attributes"
    (cd store && git show) > /dev/null 2>&1
    broken_if_marked
}

# A bare repository without the name .git, whose configuration is there before it is a repository
bare_repository_config_first() {
    repository
    agent "git clone -q --bare . s2; mkdir -p store/info; printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n[diff \"x\"]\n\ttextconv = \"touch $MARK; cat\"\n' > store/config; echo '* diff=x' > store/info/attributes; for f in objects refs packed-refs HEAD; do mv s2/\$f store/; done"
    (cd store && git show) > /dev/null 2>&1
    broken_if_marked
}

# A hook in a bare repository without the name .git
bare_repository_hook() {
    repository
    agent "git clone -q --bare . store; mkdir -p store/hooks; printf '#!/bin/sh\ntouch $MARK\n' > store/hooks/reference-transaction; chmod +x store/hooks/reference-transaction"
    (cd store && git branch other) > /dev/null 2>&1
    broken_if_marked
}

# A linked worktree is made by hand, and leads to another configuration
worktree_by_hand() {
    repository
    agent "mkdir tree; cp -r .git/. evil 2> /dev/null; printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch $MARK; true\"\n' > evil/config; echo 'gitdir: ../evil' > tree/.git"
    (cd tree && git status) > /dev/null 2>&1
    broken_if_marked
}

# The configuration is included from a file in the work tree
config_include() {
    repository
    printf '[core]\n\tfsmonitor = "touch %s; true"\n' "$MARK" > "$ROOT/evil"
    agent "cp $ROOT/evil extra; git config include.path ../extra"
    git status > /dev/null 2>&1
    broken_if_marked
}

# A filter is defined by git config, and used by .gitattributes
config_filter() {
    repository
    agent "git config filter.x.clean 'touch $MARK; cat'; echo '*.txt filter=x' > .gitattributes"
    echo changed > file.txt; git add . > /dev/null 2>&1
    broken_if_marked
}

# The folder of hooks is changed by git config
config_hooks_path() {
    repository
    agent "mkdir h; printf '#!/bin/sh\ntouch $MARK\n' > h/post-index-change; chmod +x h/post-index-change; git config core.hooksPath h"
    touch file.txt; git status > /dev/null 2>&1; git add . > /dev/null 2>&1
    broken_if_marked
}

# git init brings a hook by a template
init_template() {
    agent "mkdir -p t/hooks; printf '#!/bin/sh\ntouch $MARK\n' > t/hooks/post-index-change; chmod +x t/hooks/post-index-change; git init -q --template=t ."
    echo x > x; git add . > /dev/null 2>&1; git status > /dev/null 2>&1
    broken_if_marked
}

# A sample hook becomes a hook
sample_becomes_hook() {
    repository
    mkdir -p .git/hooks; printf '#!/bin/sh\n' > .git/hooks/pre-commit.sample; chmod +x .git/hooks/pre-commit.sample
    agent "printf '#!/bin/sh\ntouch $MARK\n' > .git/hooks/pre-commit.sample; mv .git/hooks/pre-commit.sample .git/hooks/pre-commit"
    echo y > y; git add y; git commit -qm y > /dev/null 2>&1
    broken_if_marked
}

# .git is moved away, changed and moved back
git_folder_moved() {
    repository
    agent "mv .git g; printf '[core]\n\tfsmonitor = \"touch $MARK; true\"\n' >> g/config; mv g .git"
    git status > /dev/null 2>&1
    broken_if_marked
}

# An older hard link to .git/config
config_hard_link() {
    repository
    ln .git/config other-name
    agent "printf '[core]\n\tfsmonitor = \"touch $MARK; true\"\n' >> other-name"
    git status > /dev/null 2>&1
    broken_if_marked
}

# A lock file of .git/config that is written after git has taken it over
config_lock_held() {
    repository
    agent "python3 -c '
import os
old = open(\".git/config\").read()
f = open(\".git/config.lock\", \"w\"); f.write(old); f.flush()
os.rename(\".git/config.lock\", \".git/config\")
f.write(\"[core]\n\tfsmonitor = \\\"touch $MARK; true\\\"\n\"); f.close()'"
    git status > /dev/null 2>&1
    broken_if_marked
}

# The file tool writes .git/config
file_tool_writes_config() {
    repository
    call write_file "{\"path\": \".git/config\", \"content\": $(json "$(printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch %s; true"\n' "$MARK")")}" \
        "printf '[core]\n\tfsmonitor = \"touch $MARK; true\"\n' >> .git/config"
    git status > /dev/null 2>&1
    broken_if_marked
}

# The file tool writes the configuration of a bare repository
file_tool_writes_bare_config() {
    repository; git clone -q --bare . store; mkdir -p store/info; echo '* diff=x' > store/info/attributes
    call write_file "{\"path\": \"store/config\", \"content\": $(json "$(printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n[diff "x"]\n\ttextconv = "touch %s; cat"\n' "$MARK")")}" \
        "printf '[diff \"x\"]\n\ttextconv = \"touch $MARK; cat\"\n' >> store/config"
    (cd store && git show) > /dev/null 2>&1
    broken_if_marked
}

# The hooks of a submodule's git folder
module_hooks() {
    repository
    git init -q "$ROOT/other"; (cd "$ROOT/other" && echo x > x && git add . && git commit -qm x)
    git -c protocol.file.allow=always submodule add -q "$ROOT/other" other > /dev/null 2>&1 && git commit -qam sub
    agent "printf '[core]\n\tfsmonitor = \"touch $MARK; true\"\n' >> .git/modules/other/config"
    (cd other && git status) > /dev/null 2>&1
    broken_if_marked
}

# The configuration of a worktree's git folder
worktree_config() {
    repository
    git worktree add -q "$ROOT/project/tree" -b tree > /dev/null 2>&1
    agent "cp -r .git evil; printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch $MARK; true\"\n' > evil/config; echo $PROJECT/evil > .git/worktrees/tree/commondir"
    (cd tree && git status) > /dev/null 2>&1
    broken_if_marked
}

# .git/info/attributes and a filter that is configured already
info_attributes() {
    repository
    git config filter.mark.clean "touch $MARK; cat"
    agent "mkdir -p .git/info; echo '*.txt filter=mark' > .git/info/attributes"
    echo changed > file.txt; git add . > /dev/null 2>&1
    broken_if_marked
}

# A line that runs a program in the list of a rebase
rebase_todo() {
    repository
    for n in 1 2 3; do echo $n > f$n; git add .; git commit -qm $n; done
    GIT_SEQUENCE_EDITOR="sed -i '1i break'" git rebase -qi HEAD~2 > /dev/null 2>&1
    agent "echo 'exec touch $MARK' > .git/rebase-merge/git-rebase-todo"
    git rebase --continue > /dev/null 2>&1
    broken_if_marked
}
