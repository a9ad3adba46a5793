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
