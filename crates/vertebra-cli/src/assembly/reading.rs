//! Commands that only read are free, as reading with the file tools is: nobody wants to be asked about `ls`.

use vertebra::{Attach as _, BeforeToolUse, Capability, Kit, MatchCall as _, allow, proceed};
use vertebra_kit::bash::{
    CWD,
    policy::{Decision, Ground, judge},
};

use super::outside::{git_starts_programs, leads_out};

/// Programs that write nothing, whatever they are told.
const READ: &[&str] = &[
    "basename", "cat", "cd", "cmp", "cut", "df", "diff", "dirname", "du", "echo", "grep", "head", "ls", "nl", "pwd",
    "readlink", "realpath", "stat", "tail", "test", "tr", "true", "wc", "which",
];

/// What git does without writing, unless one of its options says so.
const GIT: &[&str] = &["blame", "diff", "log", "ls-files", "rev-parse", "show", "status"];

/// Options of git that write files or run programs.
const GIT_MORE: &[&str] = &["--output", "--ext-diff", "--textconv", "-O"];

/// Says yes to commands that only read. Rules that ask or deny are stronger, and so is a mode that only plans.
pub(super) struct FreeReading {
    /// Where commands run.
    pub(super) ground: Ground,
}

impl Capability for FreeReading {
    fn install(self, kit: &mut Kit) {
        let ground = std::sync::Arc::new(self.ground);
        // After hooks that rewrite, before the permissions.
        kit.on(BeforeToolUse.tool("bash"), async move |cx| {
            let mut ground = (*ground).clone();
            if let Ok(Some(here)) = cx.state().metadata().read(CWD) {
                ground.here = here;
            }
            match cx.command() {
                Some(command) if only_reads(command, &ground) => allow(),
                Some(_) | None => proceed(),
            }
        })
        .named("reading/free")
        .priority(900)
        .fail_open();
    }
}

/// Whether a command is plain to see and does nothing but read.
fn only_reads(command: &str, ground: &Ground) -> bool {
    let plain = command.replace("2>/dev/null", "").replace("2>&1", "");
    // What is dear comes last: the parse, then the file system.
    if !is_plain(&plain) || !plain.split_whitespace().chain([&*ground.here]).all(|word| stays(word, ground)) {
        return false;
    }
    let judged = judge(command, ground);
    let commands = judged.outline.iter().filter(|line| line.what == "command");
    let commands: Vec<&str> = commands.map(|line| line.text.as_str()).collect();
    let calls = |program: &str| commands.iter().any(|command| command.split_whitespace().next() == Some(program));
    judged.decision == Decision::Allow
        && !commands.is_empty()
        && commands.iter().all(|command| reads(command))
        && !leads_out(&plain, ground)
        && !(calls("git") && (calls("cd") || git_starts_programs(ground.here.as_ref())))
}

/// Whether a word names nothing outside the folder. One that only looks as if it did is asked about.
fn stays(word: &str, ground: &Ground) -> bool {
    let inside = |path: &str| path == ground.folder || path.starts_with(&format!("{}/", ground.folder));
    // An option may end in a path: `--file=/etc/passwd`, `-f/etc/passwd`.
    let path = word.find(['/', '~']).map_or(word, |start| &word[start..]);
    let is_named = word.starts_with(['/', '~', '"', '\'', '-']);
    let leaves = is_named && path.starts_with(['/', '~']) && !inside(path.trim_end_matches(['"', '\'']));
    !word.contains("..") && !leaves
}

/// No variables, no substitutions, no redirections, nothing in the background.
fn is_plain(command: &str) -> bool {
    let sets = |word: &str| word.contains('=') && !word.starts_with('-');
    !command.contains(['$', '`', '<', '>', '(', ')', '{', '}', '\\', '\n', '\r', '…'])
        && !command.replace("&&", "").contains('&')
        && !command.split_whitespace().any(sets)
}

fn reads(command: &str) -> bool {
    let mut words = command.split_whitespace();
    match (words.next(), words.next()) {
        (Some("git"), Some(what)) => {
            GIT.contains(&what) && !words.any(|word| GIT_MORE.iter().any(|more| word.starts_with(more)))
        }
        (Some(program), _) => READ.contains(&program) && !command.split_whitespace().any(|word| follows(program, word)),
        (None, _) => false,
    }
}

/// Whether with this option a program goes through folders and follows the links in them.
fn follows(program: &str, word: &str) -> bool {
    let short = |letter: char| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
    match program {
        "grep" => short('R') || word.starts_with("--d"),
        "diff" => short('r') || word.starts_with("--r"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_reads_is_free_and_nothing_else_is() {
        let ground = Ground::new("/home/me/project", "/home/me");
        for free in [
            "ls -la src && git status | head -3",
            "cd src; pwd 2>&1",
            "git log --oneline --format=%h -n 5",
            "grep -rn 'fn main' . 2>/dev/null | wc -l",
            "cat 'a b.txt' || true",
            "cat /home/me/project/src/main.rs src/lib.rs",
        ] {
            assert!(only_reads(free, &ground), "{free}");
        }
        for asked in [
            "cargo test",
            "touch a",
            "cat a > b",
            "GIT_EXTERNAL_DIFF=./x git diff",
            "ls;A=1 git log",
            "git diff --output=x",
            "git -c core.pager=x log",
            "git diff --ext-diff",
            "git push",
            "ls & rm x",
            "echo $(rm x)",
            "echo `rm x`",
            "diff <(rm a) b",
            "env ls",
            "ls\nrm x",
            "find . -delete",
            "./ls",
            "sort -o a b",
            "f() { rm x; }; f",
            "cat ~/.ssh/id_rsa",
            "cat /home/me/other/notes.txt",
            "cat ../notes.txt",
            "grep -f/home/me/words a",
            "cat '/home/me/a b'",
            "cd .. && ls",
            "ls ~",
            "grep -Rn x .",
            "grep --dereference-recursive x .",
            "diff -ru a b",
            "cd src && git log",
            "",
        ] {
            assert!(!only_reads(asked, &ground), "{asked}");
        }
    }
}
