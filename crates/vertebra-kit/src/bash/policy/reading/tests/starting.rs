//! Commands that read but may start a program which the folder names.

use std::{fs, path::Path};

use super::{super::super::Ground, only_reads, project};

#[test]
fn a_tool_says_its_version_unless_a_file_of_the_folder_may_choose_the_program() {
    let (_outer, ground) = project();
    let folder = Path::new(&ground.folder);
    let is_free = || only_reads("cd src && cargo --version", &ground) && only_reads("node --version", &ground);
    assert!(is_free());
    let cases = [
        ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.90\"\n", true),
        ("rust-toolchain.toml", "[toolchain]\npath = \"tools\"\n", false),
        ("src/rust-toolchain", "/home/me/project/tools\n", false),
        ("../rust-toolchain", "/home/me/project/tools\n", false),
        ("rust-toolchain.toml", "# see https://example.org/path\n[toolchain]\nchannel = \"stable\"\n", true),
        ("rust-toolchain.toml", "[toolchain]\n\"pa\\u0074h\" = \"tools\"\n", false),
        (".nvmrc", "lts/iron\n", true),
        (".nvmrc", "lts/../../project/tools\n", false),
        (".tool-versions", "nodejs 22.1.0\nrust 1.90.0\n", true),
        (".tool-versions", "nodejs path:tools\n", false),
        ("mise.toml", "[tools]\nnode = \"{{ exec(command='./x') }}\"\n", false),
        (".python-version", "3.13.1\n", true),
        (".python-version", "../../project/tools\n", false),
    ];
    for (name, text, free) in cases {
        fs::write(folder.join(name), text).expect("a file");
        assert_eq!(is_free(), free, "{name}: {text}");
        fs::remove_file(folder.join(name)).expect("gone");
    }
}

#[test]
fn git_reads_only_where_the_folder_makes_it_start_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tbare = false\n")] {
        fs::create_dir_all(root.join(".git/hooks")).expect("folders");
        fs::write(root.join(".git").join(name), text).expect("a file");
    }
    fs::create_dir(root.join("src")).expect("a folder");
    let ground = Ground::new(root.to_string_lossy(), "/home/me");
    let commands = [
        "git status",
        "git diff",
        "git log -p | head",
        "git show HEAD",
        "git blame a",
        "cd src && git log",
        "git -C src log",
    ];
    let free = || commands.iter().filter(|command| only_reads(command, &ground)).count();
    assert_eq!(free(), commands.len());
    // A hook that runs at a commit does not run here.
    fs::write(root.join(".git/hooks/pre-commit"), "x").expect("a file");
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
        let before = fs::read(&path).ok();
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, text).expect("a file");
        if name.ends_with("a/HEAD") {
            fs::write(root.join(".git/modules/a/config"), "[core]\n\tfsmonitor = x\n").expect("a file");
        }
        if name.ends_with("commondir") {
            fs::create_dir_all(root.join("elsewhere")).expect("a folder");
            fs::write(root.join("elsewhere/config"), "[core]\n\tfsmonitor = x\n").expect("a file");
        }
        assert_eq!(free(), 0, "{name}: {text}");
        match before {
            Some(before) => fs::write(&path, before).expect("a file"),
            None => fs::remove_file(&path).expect("gone"),
        }
    }
    assert_eq!(free(), commands.len());
}
