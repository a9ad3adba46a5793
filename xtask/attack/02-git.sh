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
    agent "git init -q --bare store; printf '[core]\n\tbare = false\n\tworktree = /tmp\n\tfsmonitor = \"touch $MARK; true\"\n' > store/config"
    (cd store && git status) > /dev/null 2>&1
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
