//! The files that a patch in a command changes.

use std::{fs, io::Read as _, path::Path};

/// How much of a patch file is read.
const MAX_BYTES: u64 = 4 << 20;

/// The maximum number of files in a patch.
const MAX_FILES: usize = 1000;

/// How many leading folders a command may strip from the paths of a patch (`patch -p3`).
const MAX_STRIPPED: usize = 4;

/// Lines of a patch that name a file.
const HEADERS: &[&str] = &[
    "--- ",
    "+++ ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "Index: ",
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// Returns whether a command applies a patch.
pub(super) fn applies(words: &[&str]) -> bool {
    let program = words.first().map_or("", |program| program.rsplit('/').next().unwrap_or(program));
    match program {
        "patch" | "apply_patch" | "applypatch" | "gpatch" => true,
        "git" => words.iter().any(|word| matches!(*word, "apply" | "am")),
        _ => false,
    }
}

/// Returns the paths that a patch names, in every form that a command may use: with and without leading folders.
pub(super) fn files_in(text: &str) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for line in text.lines() {
        // A here-document may be indented, and a patch may be quoted in a word.
        let line = line.trim_start();
        let names = HEADERS.iter().filter_map(|header| line.strip_prefix(header));
        let git = line.strip_prefix("diff --git ").into_iter().flat_map(|rest| rest.split(' '));
        for name in names.chain(git) {
            let name = name.split('\t').next().unwrap_or(name).trim().trim_matches(['"', '\'']);
            let mut rest = Some(name).filter(|name| !name.is_empty() && *name != "/dev/null");
            for _ in 0..MAX_STRIPPED {
                let Some(path) = rest.filter(|path| !path.is_empty()) else { break };
                if !files.contains(&path) && files.len() < MAX_FILES {
                    files.push(path);
                }
                rest = path.split_once('/').map(|(_, rest)| rest);
            }
        }
    }
    files
}

/// Reads a file that may be a patch.
pub(super) fn read(path: &str) -> Option<String> {
    let path = Path::new(path);
    let is_file = fs::metadata(path).ok()?.is_file();
    let mut bytes = Vec::new();
    fs::File::open(path).ok().filter(|_| is_file)?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_patch_names_its_files() {
        let cases: &[(&str, &[&str])] = &[
            ("--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n", &["a/x.rs", "x.rs", "b/x.rs"]),
            ("--- /dev/null\n+++ new.rs\t2026-01-01\n", &["new.rs"]),
            ("*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: b.rs\n", &["src/a.rs", "a.rs", "b.rs"]),
            ("diff --git a/x b/y\nrename from x\nrename to y\n", &["a/x", "x", "b/y", "y"]),
            ("nothing\n", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(files_in(text), *expected, "{text}");
        }
    }
}
