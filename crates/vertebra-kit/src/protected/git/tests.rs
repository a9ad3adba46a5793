//! The rules for git directories, and the reader of configuration files against git's own.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    super::{Protection, Protection::*},
    *,
};

fn of(path: &str) -> Protection {
    let bare = ["/p/store", "/p/.git/refs/remotes/origin"];
    super::protection(Path::new(path), &|folder| bare.iter().any(|bare| folder == Path::new(bare)))
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn every_path_that_decides_what_git_executes_is_ruled() {
    let cases: &[(Protection, &[&str])] = &[
        (GitEntry, &["/p/.git", "/p/sub/.GIT", "/p/a/b/.git", "/p/store/main/.git"]),
        (
            Kept,
            &[
                "/p/.git/hooks",
                "/p/.git/Hooks",
                "/p/.git/info",
                "/p/.git/modules",
                "/p/.git/modules/a",
                "/p/.git/modules/a/b",
                "/p/.git/modules/a/hooks",
                "/p/.git/modules/a/modules/b/hooks",
                "/p/.git/worktrees",
                "/p/.git/worktrees/w",
                "/p/.git/worktrees/w/hooks",
                "/p/.git/branches",
                "/p/.git/rebase-merge",
                "/p/.git/worktrees/w/rebase-merge",
                "/p/store/hooks",
            ],
        ),
        (
            Hooks,
            &[
                "/p/.git/hooks/post-index-change",
                "/p/.git/modules/a/b/hooks/pre-commit",
                "/p/.git/modules/hooks/hooks/pre-commit",
                "/p/.git/worktrees/w/hooks/x",
                "/p/store/HOOKS/x",
            ],
        ),
        (
            GitConfig,
            &[
                "/p/.git/config",
                "/p/.git/CONFIG.worktree",
                "/p/.git/modules/a/b/config",
                "/p/.git/modules/config/config",
                "/p/.git/worktrees/w/config.worktree",
                "/p/store/config",
                "/p/nested/.git/config",
            ],
        ),
        (GitLink, &["/p/.git/commondir", "/p/.git/worktrees/w/commondir", "/p/.git/modules/a/commondir"]),
        (
            Denied,
            &[
                "/p/.git/info/attributes",
                "/p/.git/modules/a/info/attributes",
                "/p/.git/remotes/origin",
                "/p/.git/branches/origin",
                "/p/.git/config/x",
                "/p/.git/commondir/x",
            ],
        ),
        (
            GitTodo,
            &[
                "/p/.git/rebase-merge/git-rebase-todo",
                "/p/.git/sequencer/todo",
                "/p/.git/worktrees/w/rebase-merge/git-rebase-todo",
            ],
        ),
        (
            GitIndex,
            &[
                "/p/.git/index",
                "/p/.git/sharedindex.1234",
                "/p/.git/worktrees/w/index",
                "/p/.git/modules/a/b/index",
                "/p/store/index",
            ],
        ),
        (GitHead, &["/p/new/HEAD", "/p/new/head"]),
        (
            Free,
            &[
                "/p/config",
                "/p/hooks/x",
                "/p/store",
                "/p/store/main/src/config",
                "/p/.git/HEAD",
                "/p/.git/config.lock",
                "/p/.git/index.lock",
                "/p/.git/COMMIT_EDITMSG",
                "/p/.git/objects/info/alternates",
                "/p/.git/refs/heads/config",
                "/p/.git/refs/heads/hooks/x",
                "/p/.git/refs/remotes/origin/HEAD",
                "/p/.git/refs/remotes/origin/config",
                "/p/.git/logs/HEAD",
                "/p/.git/info/exclude",
                "/p/.git/info/sparse-checkout",
                "/p/.git/modules/a/HEAD",
                "/p/.git/modules/a/refs/heads/config",
                "/p/.git/worktrees/w/HEAD",
                "/p/.git/worktrees/w/gitdir",
                "/p/.git/rebase-merge/done",
                "/p/.git/rebase-merge/git-rebase-todo.lock",
                "/p/.github/workflows/ci.yml",
                "/p/.gitmodules",
            ],
        ),
    ];
    for (expected, paths) in cases {
        for path in *paths {
            assert_eq!(of(path), *expected, "{path}");
        }
    }
}

#[test]
fn a_rebase_may_have_every_step_but_a_command() {
    let todo = |content: &[u8]| todo(Path::new("/p/.git/rebase-merge/git-rebase-todo"), content);
    assert_eq!(
        todo(b"pick 1234 one\nf 12 # two\n\n# exec is explained here\nupdate-ref refs/heads/x\nmerge -C 1 x\n"),
        Ok(())
    );
    for bad in ["exec ./x", "  exec ./x", "\tx touch y", "pick 1\nx\ttouch y", "nonsense"] {
        assert!(todo(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn the_state_of_a_rebase_names_no_program() {
    let at = |name: &str, content: &str| todo(&Path::new("/p/.git/x").with_file_name(name), content.as_bytes());
    for (name, good) in [
        ("strategy", "ort\n"),
        ("strategy", ""),
        ("opts", "[options]\n\tstrategy = recursive\n\tmainline = 1\n"),
        ("apply-opt", " '-p1' '--whitespace=fix'"),
    ] {
        assert_eq!(at(name, good), Ok(()), "{name}: {good}");
    }
    for (name, bad) in [
        ("strategy", "x/evil\n"),
        ("strategy", "mine"),
        ("opts", "[options]\n\tstrategy = x/evil\n"),
        ("opts", "[core]\n\tfsmonitor = x\n"),
        ("apply-opt", "'--unsafe-paths'"),
    ] {
        assert!(at(name, bad).is_err(), "{name}: {bad}");
    }
}

#[test]
fn a_link_leads_to_a_worktree_or_a_submodule_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    for made in
        [".git/worktrees/w", ".git/modules/a/b", ".git/refs/x", "evil", "wt", "bare/worktrees/w", "loose/worktrees/w"]
    {
        std::fs::create_dir_all(root.join(made)).expect("a folder");
    }
    std::fs::write(root.join("bare/HEAD"), "x").expect("a file");
    std::os::unix::fs::symlink("../evil", root.join(".git/modules/link")).expect("a link");
    let at =
        |file: &str, content: &str| link(&root.join(file), content.replace("ROOT", &root.to_string_lossy()).as_bytes());
    for good in ["gitdir: ROOT/.git/worktrees/w\n", "gitdir: ../.git/modules/a/b\n", "gitdir: ../bare/worktrees/w"] {
        assert_eq!(at("wt/.git", good), Ok(()), "{good}");
    }
    assert_eq!(at(".git/worktrees/w/commondir", "../..\n"), Ok(()));
    for bad in [
        "gitdir: ../evil",
        "gitdir: ROOT/.git",
        "gitdir: ../.git/refs/x",
        "gitdir: ../.git/modules",
        "gitdir: ../.git/modules/link",
        "gitdir: ../.git/modules/absent",
        "gitdir: ../loose/worktrees/w",
        "gitdir: ../.git/worktrees/w\nx",
        "../.git/worktrees/w",
        "",
    ] {
        assert!(at("wt/.git", bad).is_err(), "{bad}");
    }
    for (file, bad) in [
        (".git/commondir", "../.."),
        (".git/worktrees/w/commondir", "../../../evil"),
        (".git/worktrees/w/commondir", "/tmp"),
    ] {
        assert!(at(file, bad).is_err(), "{file}: {bad}");
    }
}

#[test]
fn a_folder_becomes_a_git_directory_only_if_nothing_in_it_starts_a_program() {
    let cases: &[(&str, &str, bool)] = &[
        ("readme", "x", true),
        ("config", "[core]\n\tbare = true\n", true),
        ("hooks/pre-commit.sample", "x", true),
        ("info/exclude", "x", true),
        ("config", "[core]\n\tfsmonitor = ./x\n", false),
        ("Config", "[core]\n\thooksPath = x\n", false),
        ("hooks/pre-commit", "x", false),
        ("info/attributes", "x", false),
        ("commondir", "../x", false),
        ("modules/a/config", "", false),
        ("remotes/origin", "URL: x", false),
    ];
    for (file, content, may) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
        assert_eq!(may_become_git_dir(folder.path()).is_ok(), *may, "{file}: {content}");
    }
}

fn change(old: &str, new: &str) -> Result<(), Refused> {
    config_change(Path::new("/p/.git/config"), old.as_bytes(), new.as_bytes())
}

#[test]
fn ordinary_changes_of_a_configuration_pass() {
    let core = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";
    let mine = "[core]\n\thooksPath = .husky/_\n[alias]\n\tx = !make\n\ty = !a\n\ty = !b\n";
    for (old, new) in [
        ("", core.to_owned()),
        (
            core,
            format!(
                "{core}[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
            ),
        ),
        (core, format!("{core}[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n")),
        (core, format!("{core}[user]\n\tname = Jörg \\\"x\\\" # no\n\temail = a@b.c\n")),
        (
            core,
            format!("{core}[submodule \"lib/a\"]\n\tactive = true\n\turl = git@example.com:a/b.git\n\tupdate = none\n"),
        ),
        (mine, format!("{mine}{core}")),
        (mine, "[core]\n\thooksPath = .husky/_\n".to_owned()),
        (mine, String::new()),
        (mine, mine.replace("\thooks", "  ; comment\n hooks")),
    ] {
        assert_eq!(change(old, &new), Ok(()), "{old}\n→\n{new}");
    }
    let module = Path::new("/p/.git/modules/a/b/config");
    assert_eq!(config_change(module, b"", b"[core]\n\tworktree = ../../../../lib/x\n"), Ok(()));
}

#[test]
fn nothing_that_starts_a_program_is_added_or_brought_to_life() {
    let old = "[core]\n\tfsmonitor = ./mine\n\tfsmonitor = false\n[x]\n\tlong = a \\\nfsmonitor = ./x\n[alias]\n\ta = !a\n\ta = !b\n";
    for new in [
        "[core]\n\tfsmonitor = ./evil\n",
        "[core]\nfsmonitor\n",
        "[core] fsmonitor = true\n",
        "[CORE]\n\tFsMonitor=\"./e\"vil\n",
        "[core]\n\thooksPath = x\n",
        "[core]\n\tsshCommand = x\n",
        "[core]\n\tpager = x\n",
        "[core]\n\tworktree = ../../x\n",
        "[core]\n\tworktree = /home/me\n",
        "[include]\n\tpath = x\n",
        "[includeIf \"gitdir:/\"]\n\tpath = x\n",
        "[filter \"x\"]\n\tclean = x\n",
        "[diff \"x\"]\n\ttextconv = x\n",
        "[diff]\n\texternal = x\n",
        "[alias]\n\tst = !x\n",
        "[credential]\n\thelper = x\n",
        "[remote \"o\"]\n\turl = ext::sh -c x\n",
        "[remote \"o\"]\n\turl = -x\n",
        "[remote \"o\"]\n\tuploadpack = x\n",
        "[remote \"o\"]\n\tvcs = x\n",
        "[submodule \"a\"]\n\tupdate = !x\n",
        "[url \"ext::x\"]\n\tinsteadOf = https://\n",
        "[merge \"x\"]\n\tdriver = x\n",
        "[gpg]\n\tprogram = x\n",
        "[commit]\n\tgpgsign = true\n",
        "[branch \"main\"]\n\tremote = ext::x\n",
        "[protocol \"ext\"]\n\tallow = always\n",
        // Of what was there, the value in force or what a line means would become another.
        "[core]\n\tfsmonitor = ./mine\n",
        "[core]\n\tfsmonitor = false\n\tfsmonitor = ./mine\n",
        "[x]\nfsmonitor = ./x\n",
        "[core]\n\tlong = a \\\nfsmonitor = ./x\n",
        "[alias]\n\ta = !a\n",
        "[alias]\n\ta = !b\n\ta = !a\n",
        "[user]\n\tname = a\u{0}b\n",
        "[user]\n\tname = \"open\n",
    ] {
        assert!(change(old, new).is_err(), "{new}");
    }
}

/// A small generator of numbers, the same ones in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % below
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

/// A configuration file that is nearly right, or right in an unusual way.
fn made_up(dice: &mut Dice) -> String {
    const BITS: &[&str] = &[
        " ", "\t", "\n", "\r\n", "\r", "\\\n", "\\\r\n", "\\", "\"", "'", "#", ";", "=", "[", "]", ".", "-",
        "\u{feff}", "!x", "\\n", "\\\"", "\\t", "\\b", "\\q", "\u{b}", "\u{c}", "é", "1", "_", "\u{a0}", "\u{1}",
    ];
    const HEADS: &[&str] = &[
        "[core]",
        "[CORE]",
        "[core ]",
        "[core \"\"]",
        "[user]",
        "[alias]",
        "[remote \"origin\"]",
        "[remote.origin]",
        "[include]",
        "[ core]",
        "[core",
        "[re\\mote \"o\"]",
        "[remote \"o\\\"x\"]",
        "[remote \"a\\\\b\"]",
        "[remote  \"o\" ]",
        "[branch \"a]b\"]",
        "[a.b.c]",
        "[submodule \"x\ny\"]",
        "[remote\"o\"]",
        "[1core]",
        "[remote 'o']",
        "[user \"core\"]",
        "[remote \"o\"] url = x",
    ];
    const KEYS: &[&str] = &[
        "name",
        "email",
        "bare",
        "fsmonitor",
        "hooksPath",
        "url",
        "fetch",
        "path",
        "update",
        "x",
        "sshCommand",
        "n-a",
        "name2",
        "2x",
        "pager",
        "remote",
        "merge",
        "a.b",
        "filemode",
    ];
    const VALUES: &[&str] = &[
        "true",
        "x",
        "\"a b\"",
        "a b  ",
        "\"a",
        "a \"b\" c",
        "a;b",
        "\"a;b\"",
        "a # b",
        "ext::sh",
        "a\\\nb",
        "a \\\n fsmonitor = ./x",
        "./evil",
        "",
        "\"\"",
        "a\\\"b",
        "\" a \" b",
        "a\tb",
        "a  b",
    ];
    let mut text = String::new();
    for _ in 0..=dice.roll(6) {
        match dice.roll(12) {
            0..=3 => text.push_str(dice.pick(HEADS)),
            4..=8 => {
                text.push_str(dice.pick(&["", "\t", "  "]));
                text.push_str(dice.pick(KEYS));
                if dice.roll(8) > 0 {
                    text.push_str(dice.pick(&[" = ", "=", " =", "\t=\t", " "]));
                    text.push_str(dice.pick(VALUES));
                }
            }
            9 => text.push_str(dice.pick(&["# c", "; c \\", "#"])),
            _ => {}
        }
        for _ in 0..[0, 0, 0, 1, 2][dice.roll(5)] {
            text.push_str(dice.pick(BITS));
        }
        text.push_str(dice.pick(&["\n", "\n", "\n", "\n", "\r\n", " "]));
    }
    if dice.roll(3) > 0 { format!("[core]\n{text}") } else { text }
}

/// What git itself reads in a file, as `key` and `key\nvalue`; `None` if it cannot.
#[expect(clippy::disallowed_methods, reason = "git ends by itself and prints little")]
fn git_reads(file: &Path) -> Option<Vec<Vec<u8>>> {
    let said =
        Command::new("git").args(["config", "-z", "--list", "--no-includes", "-f"]).arg(file).output().expect("git");
    said.status
        .success()
        .then(|| said.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
}

#[test]
fn made_up_files_are_read_as_git_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file: PathBuf = folder.path().join("config");
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut accepted, mut keys) = (0, 0, BTreeSet::new());
    let rounds = std::env::var("VERTEBRA_FUZZ").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2500);
    for _ in 0..rounds {
        let text = made_up(&mut dice);
        std::fs::write(&file, &text).expect("a file");
        let Ok(ours) = parse::parse(text.as_bytes()) else { continue };
        read += 1;
        // Git may well be stricter: then nothing starts at all.
        let Some(gits) = git_reads(&file) else { continue };
        let ours: Vec<Vec<u8>> = ours
            .iter()
            .map(|entry| {
                let subsection =
                    entry.subsection.iter().flat_map(|name| [&b"."[..], name].concat()).collect::<Vec<u8>>();
                let value = entry.value.iter().flat_map(|value| [&b"\n"[..], value].concat()).collect::<Vec<u8>>();
                [entry.section.as_bytes(), &subsection, b".", entry.key.as_bytes(), &value].concat()
            })
            .collect();
        // Older versions of git read a tab or a carriage return outside of quotes as a space.
        let lossy = |lines: &[Vec<u8>]| -> Vec<String> {
            lines.iter().map(|line| String::from_utf8_lossy(line).replace(['\t', '\r'], " ")).collect()
        };
        assert_eq!(lossy(&ours), lossy(&gits), "{text:?}");
        if change("", &text).is_ok() {
            accepted += 1;
            keys.extend(
                lossy(&gits).into_iter().map(|line| line.split('\n').next().unwrap_or_default().to_ascii_lowercase()),
            );
        }
    }
    assert!(read > rounds / 10 && accepted > rounds / 100, "too few of them mean anything: {read}, {accepted}");
    for key in keys {
        let last = key.rsplit('.').next().unwrap_or_default();
        assert!(!["hookspath", "sshcommand", "pager", "path", "x"].contains(&last), "{key} was accepted");
    }
}
