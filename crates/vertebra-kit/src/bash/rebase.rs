//! Rebases that run commands: the sandbox lets no list of steps name one, so such a rebase would stop half-way.

use vertebra::shell::{ParseLimits, parse};

/// Why such a command is not run, and what to do instead.
pub(super) const WHY: &str = "not run: the steps of a rebase stay closed whatever a person answers, because git would run \
    the commands in them outside of the sandbox later. Run the command yourself after each step: begin with \
    `GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -i` and the base, and at each stop run the command, then \
    `git rebase --continue`";

/// Returns whether a command line visibly rebases with commands between the steps.
pub(super) fn runs_commands(line: &str) -> bool {
    if !line.contains("rebase") {
        return false;
    }
    parse(line, ParseLimits::default()).texts().iter().any(|command| {
        let words: Vec<&str> = command.split(' ').collect();
        let git = words.iter().position(|word| *word == "git" || word.ends_with("/git"));
        let rebase = words.iter().position(|word| *word == "rebase");
        let Some((git, rebase)) = git.zip(rebase).filter(|(git, rebase)| git < rebase) else { return false };
        let runs = |word: &&str| {
            let is_short = word.starts_with("-x") || matches!(*word, "-ix" | "-qx" | "-qix" | "-iqx");
            is_short || *word == "--exec" || word.starts_with("--exec=")
        };
        // Before `git` and between it and `rebase`, an editor of the steps may add some.
        let editor = words[..rebase].join(" ");
        let is_editor = editor.contains("GIT_SEQUENCE_EDITOR=") || editor.contains("sequence.editor=");
        let is_option = |pair: &[&str]| pair[1].starts_with('-') || matches!(pair[0], "-C" | "-c");
        let is_rebase = words[git..rebase].windows(2).all(is_option);
        words[rebase + 1..].iter().any(runs) && is_rebase || is_editor && editor.contains("exec ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebase_with_commands_is_told_from_one_without() {
        for line in [
            "git rebase --exec 'cargo build -q' HEAD~1",
            "git fetch && git -C sub rebase -i -x 'make test' main",
            "git rebase --exec=make main",
            "cd a; /usr/bin/git rebase -ix make main 2>&1 | tail -3",
            "GIT_SEQUENCE_EDITOR=\"sed -i '1a exec make'\" git rebase -i HEAD~3",
            "git -c sequence.editor=\"sed -i '1a exec make'\" rebase -i HEAD~3",
        ] {
            assert!(runs_commands(line), "{line}");
        }
        for line in [
            "git rebase main",
            "git rebase --continue",
            "git log --grep rebase -x",
            "git commit -m 'rebase -x later'",
            "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2",
            "grep -rn 'git rebase' docs | xargs -x echo",
            "git pull --rebase -X ours",
        ] {
            assert!(!runs_commands(line), "{line}");
        }
    }
}
