//! Where a host reads its hooks from, as data.

/// Where a host reads its hooks from.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Per user: a folder below the home folder, or the folder named by a variable.
    pub user: Option<Spot>,
    /// Per project: a path below its root.
    pub project: Option<&'static str>,
    /// A file next to it that the host may read instead.
    pub rival: Option<&'static str>,
    /// The format of the configuration.
    pub form: Form,
}

/// A per-user file.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// The variable that names the folder.
    pub variable: Option<&'static str>,
    /// The default folder, below the home folder.
    pub folder: &'static str,
    /// The file in it.
    pub file: &'static str,
}

/// The format of a host's configuration. `$command` in entries and texts is replaced by our command.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// JSON with a list of entries for each event below `hooks`. A name that ends in `*.json` means every such file in the
    /// folder, or `vertebra.json` if there is none.
    Json {
        /// The content of a new file.
        empty: &'static str,
        /// The entry for a moment that must not pass without an answer.
        gate: &'static str,
        /// The entry for any other moment.
        entry: &'static str,
    },
    /// A folder of programs, one for each event and named after it.
    Programs,
    /// A plugin in the host's own language that calls our program.
    Shim(&'static str),
}
