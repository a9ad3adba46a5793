//! How much a file tool takes on: nothing that a model asks for is without a limit.

use std::time::Duration;

/// How much a file tool takes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Lines that `read_file` shows unless it is asked for more or fewer.
    pub read_lines: usize,
    /// The most lines or names that one call may show.
    pub max_read_lines: usize,
    /// Bytes that one call shows unless `read_file` is asked for more or fewer.
    pub output_bytes: usize,
    /// The most bytes that `read_file` may be asked for.
    pub max_output_bytes: usize,
    /// The largest file that is written or edited. Larger ones can be read.
    pub file_bytes: u64,
    /// The largest file that `grep` looks into.
    pub search_bytes: u64,
    /// Names that `list_dir` shows unless it is asked for more or fewer.
    pub list_entries: usize,
    /// Results that `search_files` and `grep` show unless they are asked for more or fewer.
    pub results: usize,
    /// The most results that they may be asked for.
    pub max_results: usize,
    /// How many names a search looks at.
    pub walk_entries: usize,
    /// How many folders deep a search goes.
    pub walk_depth: usize,
    /// How long one call may take.
    pub time: Duration,
    /// How many files a session remembers to have been seen.
    pub seen: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            read_lines: 2000,
            max_read_lines: 4000,
            output_bytes: 48 * 1024,
            max_output_bytes: 64 * 1024,
            file_bytes: 16 * 1024 * 1024,
            search_bytes: 10 * 1024 * 1024,
            list_entries: 200,
            results: 100,
            max_results: 1000,
            walk_entries: 200_000,
            walk_depth: 64,
            time: Duration::from_secs(30),
            seen: 500,
        }
    }
}
