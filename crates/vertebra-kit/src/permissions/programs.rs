//! Programs, as far as it matters to rules what they do with the files that they name.

/// Programs that change no file. For all others, an edit rule treats every path as changed.
pub(super) const READERS: &[&str] = &[
    "cat",
    "cd",
    "cmp",
    "cut",
    "diff",
    "du",
    "echo",
    "egrep",
    "fgrep",
    "file",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "nl",
    "od",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "sha256sum",
    "stat",
    "strings",
    "tail",
    "test",
    "tree",
    "wc",
    "[",
];

/// Programs that write to the files that they name, also to new ones.
pub(super) const WRITERS: &[&str] = &[
    "cp", "dd", "ed", "ex", "gcp", "ginstall", "gsed", "install", "ln", "mv", "nano", "patch", "perl", "rsync", "scp",
    "sed", "split", "sponge", "tee", "touch", "truncate", "vi", "vim",
];

/// Programs that write files into the folder that they name last, under the names that these have.
pub(super) const COPIERS: &[&str] = &["cp", "gcp", "ginstall", "install", "ln", "mv", "rsync", "scp"];

/// Programs that move or remove a folder with all that is in it.
pub(super) const MOVERS: &[&str] = &["mv", "rm", "rmdir", "shred", "trash", "unlink"];

/// What git does to files in the work tree.
pub(super) const GIT_WRITERS: &[&str] = &["checkout", "mv", "restore", "rm"];

/// What git only shows.
const GIT_READERS: &[&str] = &[
    "blame",
    "branch",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Returns whether a command changes no file that it names.
pub(super) fn leaves_files(program: &str, words: &[&str]) -> bool {
    let has = |starts: &[&str]| words.iter().skip(1).any(|word| starts.iter().any(|start| word.starts_with(start)));
    match program {
        "find" => !has(&["-delete", "-exec", "-ok", "-fprint", "-fls"]),
        "sort" => !has(&["--o"]) && !short_options(words).any(|letters| letters.contains('o')),
        "git" => words.get(1).is_some_and(|sub| GIT_READERS.contains(sub)) && !has(&["--out", "-O", "--open"]),
        _ => READERS.contains(&program),
    }
}

/// Returns whether a copier leaves a word as it is: it copies from there.
pub(super) fn copies_from(program: &str, words: &[&str], word: &str) -> bool {
    let copies = matches!(program, "cp" | "gcp" | "install" | "ginstall" | "rsync" | "scp");
    let has = |letter: char| short_options(words).any(|letters| letters.contains(letter));
    let is_special = has('l')
        || has('d')
        || words.iter().any(|word| ["--li", "--dir", "--rem"].iter().any(|long| word.starts_with(long)));
    let target = target(program, words).or_else(|| words.iter().rfind(|word| !word.starts_with('-')).copied());
    copies && !is_special && target != Some(word)
}

/// Returns the folder that a copier is given by an option.
pub(super) fn target<'w>(program: &str, words: &[&'w str]) -> Option<&'w str> {
    // With `rsync` and `scp` it means something else.
    if matches!(program, "rsync" | "scp") {
        return None;
    }
    words.iter().enumerate().skip(1).find_map(|(at, word)| {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=')?;
            return (name.len() > 1 && "target-directory".starts_with(name)).then_some(value);
        }
        let (_, value) = word.strip_prefix('-')?.split_once('t')?;
        if value.is_empty() { words.get(at + 1).copied() } else { Some(value) }
    })
}

/// Returns the letters of short options, with what is attached to them.
pub(super) fn short_options<'w>(words: &[&'w str]) -> impl Iterator<Item = &'w str> {
    words.iter().skip(1).filter_map(|word| word.strip_prefix('-')).filter(|letters| !letters.starts_with('-'))
}

/// Programs that leave files out by an option.
const LEAVE_OUT: &[&str] =
    &["ag", "bsdtar", "diff", "egrep", "fgrep", "ggrep", "grep", "gtar", "rg", "rgrep", "rsync", "tar", "tree"];

/// Returns whether a word names what a program leaves out.
pub(super) fn names_left_out(program: &str, word: &str) -> bool {
    let is_option = ["--exclude=", "--exclude-dir="].iter().any(|option| word.starts_with(option));
    LEAVE_OUT.contains(&program)
        && (is_option || program == "rg" && word.trim_start_matches(['\'', '"']).starts_with('!'))
}
