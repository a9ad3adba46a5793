//! Detects read-only commands that still reach outside, through a link out of the folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use vertebra_kit::bash::policy::Ground;

/// How many folders the words of one command may refer to.
const MAX_FOLDERS: usize = 64;

/// How many entries of a folder are checked.
const MAX_ENTRIES: usize = 10_000;

/// Characters of a glob.
const GLOB: [char; 3] = ['*', '?', '['];

/// Returns whether a word of the command may be a link that leads out of the folder. Any word may be the folder of the
/// words after it, as in `cd a && cat b`.
pub(super) fn leads_out(command: &str, ground: &Ground) -> bool {
    // A folder that does not exist has no links.
    let Ok(root) = fs::canonicalize(&ground.folder) else { return false };
    let words = words(command);
    let mut folders = vec![PathBuf::from(&ground.here)];
    for word in &words {
        // An option may end in a path.
        let behind = word.split_once('=').map_or("", |(_, path)| path);
        let glued = if word.starts_with('-') { word.get(2..).unwrap_or_default() } else { "" };
        for name in [word, behind, glued].into_iter().filter(|name| !name.is_empty()) {
            for folder in folders.clone() {
                let path = folder.join(name);
                if name.contains(GLOB) {
                    if words.iter().any(|word| word == "cd") || several_lead_out(&path, &root) {
                        return true;
                    }
                } else if let Ok(real) = path.canonicalize() {
                    if !real.starts_with(&root) || folders.len() == MAX_FOLDERS {
                        return true;
                    }
                    if real.is_dir() && !folders.contains(&real) {
                        folders.push(real);
                    }
                }
            }
        }
    }
    false
}

/// Returns whether a name that matches the pattern leads out.
fn several_lead_out(pattern: &Path, root: &Path) -> bool {
    let Some(folder) = pattern.parent().filter(|folder| !folder.to_string_lossy().contains(GLOB)) else { return true };
    let Ok(listed) = fs::read_dir(folder) else { return false };
    let leads_out = |path: PathBuf| path.canonicalize().is_ok_and(|real| !real.starts_with(root));
    listed.zip(0..).any(|(entry, number)| number == MAX_ENTRIES || entry.is_ok_and(|entry| leads_out(entry.path())))
}

/// The words of a plain command, without their quotation marks.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in command.chars() {
        match letter {
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            ' ' | '\t' | ';' | '|' | '&' if quote.is_none() => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn there(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().canonicalize().expect("a path").join("project");
        for (name, text) in files.iter().chain(&[("project/src/a.rs", ""), ("private.txt", "")]) {
            let path = outer.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        (outer, folder)
    }

    #[test]
    fn a_link_that_leads_out_is_found_wherever_it_stands_in_a_command() {
        let (outer, folder) = there(&[]);
        let ground = Ground::new(folder.to_string_lossy(), "/home/me");
        for fine in ["cat src/a.rs", "cd src && cat a.rs", "cat src/*.rs | head", "grep -rn 'fn *main' .", "ls *"] {
            assert!(!leads_out(fine, &ground), "{fine}");
        }
        symlink(outer.path().join("private.txt"), folder.join("a link")).expect("a link");
        symlink(outer.path(), folder.join("src/out")).expect("a link");
        symlink("a.rs", folder.join("src/b.rs")).expect("a link");
        assert!(!leads_out("cat src/b.rs", &ground), "it stays inside");
        for out in [
            "cat 'a link'",
            "cat src/a.rs;cat a\" link\"",
            "cat a*",
            "cat src/out/private.txt",
            "cd src && cat out/private.txt",
            "cd src && cd out && cat private.txt",
            "ls s*/out",
            "cd s* && ls out",
            "grep --file='a link' -r x",
            "grep -f'a link' x",
        ] {
            assert!(leads_out(out, &ground), "{out}");
        }
    }
}
