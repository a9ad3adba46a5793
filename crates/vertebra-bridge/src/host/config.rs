//! Where a host is told of hooks, as data.

/// Where a host is told of hooks.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// For one person: a folder below their home, or the one that a variable names.
    pub user: Option<Spot>,
    /// For one project: a path below its root.
    pub project: Option<&'static str>,
    /// The file beside it that the host may read in its place.
    pub rival: Option<&'static str>,
    /// What stands there.
    pub form: Form,
}

/// A file of a person's own.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// The variable that names the folder.
    pub variable: Option<&'static str>,
    /// The folder unless it is named, below the person's home.
    pub folder: &'static str,
    /// The file in it.
    pub file: &'static str,
}

/// What stands in a host's configuration. In entries and texts `$command` stands for our command.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// JSON with a list of entries for each event below `hooks`. A name that ends in `*.json` is every such file there, or
    /// `vertebra.json` if there is none.
    Json {
        /// What a new file says.
        empty: &'static str,
        /// The entry of a moment that must not pass without an answer.
        gate: &'static str,
        /// The entry of any other.
        entry: &'static str,
    },
    /// A folder of programs, one for each event, called as the event is.
    Programs,
    /// A program in the host's own language that calls us.
    Shim(&'static str),
}
