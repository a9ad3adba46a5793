//! Reads the repository: its root, its files, the output of a program run in it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One sentence per broken promise, each beginning with where.
pub(crate) type Complaints = Vec<String>;

/// A file of the repository, by its path from the root.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Tells whether a program wrote the file. Nobody reads such a file, so its length and its first line do not matter.
    pub(crate) fn is_generated(&self) -> bool {
        self.text.starts_with("// This file is @generated")
    }

    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }
}

pub(crate) fn root() -> PathBuf {
    // Asked at run time: a target folder shared by several clones may hold a test built in another one.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells a test where its package is");
    PathBuf::from(xtask).join("..")
}

/// Every file that is or is about to be committed. Git decides, so that build products and caches stay out.
pub(crate) fn files() -> Vec<File> {
    let listed = output_of("git", &["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let root = root();
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    // A file deleted but not yet committed is still listed.
    let present = paths.filter_map(|path| Some((path, std::fs::read(root.join(path)).ok()?)));
    let files: Vec<_> = present
        .map(|(path, bytes)| File { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() })
        .collect();
    assert!(files.iter().any(File::is_rust), "no source file found: nothing would be checked");
    files
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a short command on the developer's own machine; the test has a deadline"
)]
pub(crate) fn output_of(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(root()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot start {program}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {} failed: {complaint}", args.join(" "));
    String::from_utf8(output.stdout).expect("programs we ask answer in UTF-8")
}
