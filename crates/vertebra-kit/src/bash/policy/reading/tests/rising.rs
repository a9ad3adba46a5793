//! Paths with `..`: free as long as they stay in the folder, wherever the shell is.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{super::super::Ground, does_more, only_reads, project};

/// A project in which an earlier command changed to `a/b`.
fn below() -> (tempfile::TempDir, Ground) {
    let (outer, ground) = project();
    let folder = Path::new(&ground.folder);
    fs::create_dir_all(folder.join("a/b")).expect("folders");
    fs::write(folder.join("README.md"), "").expect("a file");
    let here = folder.join("a/b").to_string_lossy().into_owned();
    (outer, Ground { here, ..ground })
}

#[test]
fn paths_that_go_up_within_the_folder_are_free() {
    let (_outer, ground) = below();
    for free in [
        "cd ..",
        "cd ../..",
        "cd ../.. && cat README.md",
        "cd .. && cat ../README.md",
        "cd ../../src; ls ..",
        "cat ../../README.md",
        "grep -rn x ../../src | head -3",
        "find .. -name '*.md' | sort",
        "ls ../../src/../src",
        "diff ../../README.md ../../src/a.rs",
        "cat ../../README.md && cd ../../src && ls && cd .. && cat README.md",
        "(cd ../../src && ls)",
        "(cd ../.. && ls); cat ../../README.md",
        "(cd ../.. && ls) | head -3",
        "for f in a b; do cat ../../$f; done",
        "if [ -f ../../README.md ]; then cat ../../README.md; fi",
    ] {
        assert!(only_reads(free, &ground), "{free}");
    }
    assert_eq!(does_more("cd ../.. && npm test | tail -3", &ground), ["npm test"]);
}

#[test]
fn paths_that_go_up_and_out_are_not() {
    let (_outer, ground) = below();
    let folder = Path::new(&ground.folder);
    symlink("../src", folder.join("a/short")).expect("a link");
    for out in [
        "cd ../../..",
        "cd ../../.. && ls",
        "cat ../../../private.txt",
        "cd .. && cat ../../private.txt",
        "cd ..; cd ../..; ls",
        "cd ../.. && cd .. && ls",
        // The link leads to a folder that is less deep than the path says.
        "cat ../short/../../private.txt",
        "cd ../short && cat ../../private.txt",
        // Names that begin with `..` mean something else in another folder.
        "for f in $(find ../.. -name '*.md'); do (cd .. && cat $f); done",
        "find .. -name '*.txt' | xargs cat",
        "for f in $(ls); do cat ../../$f; done",
        // How often the folder is changed is not known.
        "while true; do cat ../../README.md; cd ..; done",
        "for i in 1 2; do cd ..; done; cat ../../private.txt",
        "false || cd ..; cat ../../private.txt",
        "cd missing; cat ../../README.md",
        "true && cd ..; cat ../../README.md",
        "if ls; then cd ..; fi; cat ../../README.md",
        "false || cd .. && cat ../../private.txt",
        "for d in .. ../..; do cd $d; cat ../../README.md; done",
        "cd ../.. | cat ../../../private.txt",
        "git show HEAD:../../private.txt",
    ] {
        assert!(!only_reads(out, &ground), "{out}");
    }
    // What runs before may put another folder there.
    assert_eq!(does_more("make && cat ../README.md", &ground), ["make", "cat ../README.md"]);
}
