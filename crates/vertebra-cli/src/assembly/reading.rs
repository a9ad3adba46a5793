//! Allows commands that only read, such as `ls`, without asking, as the file tools do.

use vertebra::{Attach as _, BeforeToolUse, Capability, Kit, MatchCall as _, allow, proceed};
use vertebra_kit::{
    GitPaths,
    bash::{
        CWD, Reading,
        policy::{Decision, Ground, judge},
    },
};

use super::outside::leads_out;

/// Programs that never write, whatever their options.
const READ: &[&str] = &[
    "basename", "cat", "cd", "cmp", "cut", "df", "diff", "dirname", "du", "echo", "grep", "head", "ls", "nl", "pwd",
    "readlink", "realpath", "stat", "tail", "test", "tr", "true", "wc", "which",
];

/// Git subcommands that do not write without special options.
const GIT: &[&str] = &["blame", "diff", "log", "ls-files", "rev-parse", "show", "status"];

/// Git options that write files or run programs.
const GIT_MORE: &[&str] = &["--output", "--ext-diff", "--textconv", "-O"];

/// A longer command is not free, and is judged by others.
const LONGEST: usize = 1024;

/// Allows commands that only read. Ask rules, deny rules and plan mode are stronger.
pub(super) struct FreeReading {
    /// The folder in which commands run.
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

/// Returns which commands may run at the same time as others that only read.
pub(super) fn reading(ground: &Ground) -> Reading {
    let ground = ground.clone();
    Reading::by(move |command| only_reads(command, &ground))
}

/// Returns whether a command is simple enough to analyse and only reads.
fn only_reads(command: &str, ground: &Ground) -> bool {
    let plain = command.replace("2>/dev/null", "").replace("2>&1", "");
    // Cheap checks first, then the parser, then the file system.
    if command.len() > LONGEST
        || !is_plain(&plain)
        || !plain.split_whitespace().chain([&*ground.here]).all(|word| stays(word, ground))
    {
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
        && !(calls("git") && (calls("cd") || !GitPaths::of(ground.here.as_ref()).reads_safely()))
}

/// Returns whether a word names nothing outside the folder. A word that may do so counts as outside.
fn stays(word: &str, ground: &Ground) -> bool {
    let inside = |path: &str| path == ground.folder || path.starts_with(&format!("{}/", ground.folder));
    // An option may end in a path: `--file=/etc/passwd`, `-f/etc/passwd`.
    let path = word.find(['/', '~']).map_or(word, |start| &word[start..]);
    let is_named = word.starts_with(['/', '~', '"', '\'', '-']);
    let leaves = is_named && path.starts_with(['/', '~']) && !inside(path.trim_end_matches(['"', '\'']));
    !word.contains("..") && !leaves
}

/// Returns whether a command has no variables, substitutions, redirections or background jobs.
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

/// Returns whether this option makes the program follow links while it walks folders.
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
    fn git_reads_only_where_the_folder_makes_it_start_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tbare = false\n")] {
            std::fs::create_dir_all(root.join(".git/hooks")).expect("folders");
            std::fs::write(root.join(".git").join(name), text).expect("a file");
        }
        let ground = Ground::new(root.to_string_lossy(), "/home/me");
        let commands = ["git status", "git diff", "git log -p | head", "git show HEAD", "git blame a"];
        let free = || commands.iter().filter(|command| only_reads(command, &ground)).count();
        assert_eq!(free(), commands.len());
        // A hook that runs at a commit does not run here.
        std::fs::write(root.join(".git/hooks/pre-commit"), "x").expect("a file");
        assert_eq!(free(), commands.len());
        let cases: &[(&str, &str)] = &[
            (".git/hooks/post-index-change", "x"),
            (".git/config", "[core]\n\tfsmonitor = ./x\n"),
            (".git/config", "[diff \"x\"]\n\ttextconv = ./x\n"),
            (".git/config.worktree", "[core]\n\thooksPath = x\n"),
            (".git/modules/a/HEAD", "x"),
            (".git/commondir", "../elsewhere\n"),
        ];
        for (name, text) in cases {
            let path = root.join(name);
            let before = std::fs::read(&path).ok();
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(&path, text).expect("a file");
            if name.ends_with("a/HEAD") {
                std::fs::write(root.join(".git/modules/a/config"), "[core]\n\tfsmonitor = x\n").expect("a file");
            }
            if name.ends_with("commondir") {
                std::fs::create_dir_all(root.join("elsewhere")).expect("a folder");
                std::fs::write(root.join("elsewhere/config"), "[core]\n\tfsmonitor = x\n").expect("a file");
            }
            assert_eq!(free(), 0, "{name}: {text}");
            match before {
                Some(before) => std::fs::write(&path, before).expect("a file"),
                None => std::fs::remove_file(&path).expect("gone"),
            }
        }
        assert_eq!(free(), commands.len());
    }

    #[test]
    fn only_commands_that_just_read_run_without_a_question() {
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
