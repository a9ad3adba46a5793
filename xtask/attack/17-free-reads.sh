# Point 17: Free reads. Reading in an untrusted folder starts none of the folder's code.

_untrusted() {
    repository
    AGENT_OPTIONS=()
    mkdir -p "$HOME/.config/vertebra"; printf '[sandbox]\nneed = "%s"\n' "$1" > "$HOME/.config/vertebra/vertebra.toml"
}

_ran() { broken_if test -e "$PROJECT/RAN"; }

# core.fsmonitor by git status
status_fsmonitor() {
    _untrusted if_available
    git config core.fsmonitor "touch $PROJECT/RAN; true"
    agent 'git status'
    _ran
}

# core.fsmonitor by git status, without a sandbox
status_fsmonitor_without_sandbox() {
    _untrusted off
    git config core.fsmonitor "touch $PROJECT/RAN; true"
    agent 'git status'
    _ran
}

# A post-index-change hook by git status
status_post_index_change() {
    _untrusted if_available
    mkdir -p .git/hooks; printf '#!/bin/sh\ntouch %s/RAN\n' "$PROJECT" > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change
    touch -d '2020-01-01' file.txt
    agent 'git status'
    _ran
}

# An external diff by git diff
diff_external() {
    _untrusted if_available
    git config diff.external "touch $PROJECT/RAN; true"; echo changed > file.txt
    agent 'git diff'
    _ran
}

# A text conversion by git diff
diff_textconv() {
    _untrusted if_available
    git config diff.x.textconv "touch $PROJECT/RAN; cat"; echo '*.txt diff=x' > .gitattributes; echo changed > file.txt
    agent 'git diff' 'git log -p' 'git show'
    _ran
}

# A clean filter by git status
status_filter() {
    _untrusted if_available
    git config filter.x.clean "touch $PROJECT/RAN; cat"; echo '*.txt filter=x' > .gitattributes; touch file.txt; echo changed > file.txt
    agent 'git status' 'git diff'
    _ran
}

# A nested repository by git status
status_nested() {
    _untrusted if_available
    git init -q sub; (cd sub && echo x > x && git add . && git commit -qm x && git config core.fsmonitor "touch $PROJECT/RAN; true")
    git add sub 2> /dev/null; git commit -qm sub > /dev/null
    agent 'git status' 'cd sub && git status' 'git -C sub status'
    _ran
}

# A pager by git log
log_pager() {
    _untrusted if_available
    git config core.pager "touch $PROJECT/RAN; cat"; git config pager.log "touch $PROJECT/RAN; cat"
    if is_control; then script -qec 'git log' /dev/null > /dev/null 2>&1; fi
    agent 'git log' 'git --paginate log'
    _ran
}

# An alias that shadows nothing, by its name
alias_by_name() {
    _untrusted if_available
    git config alias.st "!touch $PROJECT/RAN"
    agent 'git st'
    _ran
}

# A program for signatures by git log
free_read_signature() {
    no_control && return
    repository; printf '#!/bin/sh\ntouch %s\n' "$MARK" > gpg; chmod +x gpg
    git config gpg.program "$PROJECT/gpg"; git config log.showSignature true; git config format.pretty '%G?'
    local command outcome
    for command in 'git log' 'git log --format=%G?' 'git show --show-signature' 'git shortlog'; do
        outcome=$(vertebra explain-command --json -- "$command" 2> /dev/null | grep -o '"outcome": *"[a-z]*"' | cut -d'"' -f4)
        [ "$outcome" = allowed ] && broken_if true && return
    done
    broken_if_marked
}

# Git passes over an empty .git, and finds the repository around it
status_around_empty_git() {
    _untrusted off
    git config core.fsmonitor "touch $PROJECT/RAN; true"; mkdir -p sub/.git/objects sub/.git/refs; cd sub || exit 2
    agent 'git status'
    echo garbage > .git/HEAD
    agent 'git status'
    _ran
}

# Makes another configuration for the repository that lies in the folder of this name
_common() {
    git clone -q --bare . ".git/$1" 2> /dev/null
    git --git-dir=".git/$1" config core.fsmonitor "touch $PROJECT/RAN; true"; git --git-dir=".git/$1" config core.bare false
}

# The name of the common directory is no text, is followed by many line ends, or ends at a zero
status_odd_commondir() {
    _untrusted off
    _common "$(printf 'c\xff')"; printf 'c\xff\n' > .git/commondir
    agent 'git status'
    _common d; { printf d; printf '\n%.0s' $(seq 6000); } > .git/commondir
    agent 'git status'
    printf 'd\0junk' > .git/commondir
    agent 'git status'
    _ran
}

# The file .git names a directory with a blank at its end, or one that ends at a zero
status_odd_git_file() {
    _untrusted off
    git clone -q --separate-git-dir good . w 2> /dev/null; cp -r good 'good '
    git --git-dir='good ' config core.fsmonitor "touch $PROJECT/RAN; true"; cd w || exit 2
    printf 'gitdir: ../good \n' > .git
    agent 'git status'
    printf 'gitdir: ../good \0junk' > .git
    agent 'git status'
    _ran
}

# Makes a repository `sub` whose program runs when git shows or looks at it, in the commit before the last and not in the index
_past_submodule() {
    git init -q sub; (cd sub && echo x > x && git add . && git commit -qm x)
    git add sub 2> /dev/null; git commit -qm sub
    (cd sub && echo y > x && git commit -qam y); git add sub 2> /dev/null; git commit -qm sub2
    git rm -q --cached sub
}

# A submodule that only commits have, by a diff that goes into submodules
submodule_of_commits() {
    _untrusted off
    _past_submodule > /dev/null; git commit -qm gone
    printf '#!/bin/sh\ntouch %s/RAN\n' "$PROJECT" > e.sh; chmod +x e.sh; (cd sub && git config diff.external "$PROJECT/e.sh")
    agent 'git diff --submodule=diff HEAD~2 HEAD~1' 'git log -p --submodule=diff -3' 'git show --submodule=diff HEAD~1'
    _ran
}

# A submodule whose entry is in the other part of a split index
submodule_of_split_index() {
    _untrusted off
    git init -q sub; (cd sub && echo x > x && git add . && git commit -qm x && git config core.fsmonitor "touch $PROJECT/RAN; true")
    git add sub 2> /dev/null; git commit -qm sub > /dev/null; git update-index --split-index; touch file.txt sub/x
    agent 'git status'
    _ran
}

# A nested repository, named by two options that count from each other
status_nested_twice() {
    _untrusted off
    git init -q a/n; (cd a/n && echo x > x && git add . && git commit -qm x && git config core.fsmonitor "touch $PROJECT/RAN; true")
    agent 'git -C a -C n status' 'git -C a/n -C . status'
    _ran
}
