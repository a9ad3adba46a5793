//! Takes a shell command line apart, so that a policy about `rm` also sees the `rm` inside `$( … )` or `sh -c '…'`.
//!
//! The reader is our own and not a grammar from a crate, for one reason: it runs on text that a model wrote, before any
//! decision is taken. It is total, linear in time and bounded in depth, and finds *something* in lines that no shell would
//! accept. Where a shell and this reader could disagree it lists both readings: a matcher sees more, not less.
//!
//! [`parse`] returns a [`CommandLine`]: simple commands with their words and redirections, wrappers such as `sudo`
//! unwrapped, nested scripts read, and pieces of unknown value as a type. It does no I/O, and decides nothing.

mod braces;
mod carrier;
mod further;
mod hidden;
mod line;
mod quote;
mod read;
mod simple;
mod word;
mod wrapper;

#[cfg(test)]
mod tests;

pub use braces::expand_braces;
pub use line::{CommandLine, Completeness, Document};
pub use quote::{quote, quote_line};
pub use simple::{Joint, Redirect, SimpleCommand, Via};
pub use word::{Piece, UnknownKind, Word};
pub use wrapper::only_starts;

/// How much of a line is read. What is beyond is reported: see [`CommandLine::completeness`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseLimits {
    /// A longer line is cut at separators instead of being read.
    pub bytes: usize,
    /// How deep substitutions, subshells and scripts in arguments are followed.
    pub depth: usize,
    /// The most commands that are listed.
    pub commands: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { bytes: 64 * 1024, depth: 16, commands: 1000 }
    }
}

/// Reads a command line. Never fails: what cannot be read is cut at everything that could separate commands, and the
/// [completeness](CommandLine::completeness) says so. The time is in proportion to the length.
///
/// ```
/// use vertebra_shell::{Completeness, Joint, ParseLimits, Via, parse};
///
/// let line = parse("cd src && sudo sh -c 'rm -rf x' > log", ParseLimits::default());
/// assert_eq!(line.texts(), ["cd src", "sudo sh -c rm -rf x > log", "sh -c rm -rf x > log", "rm -rf x"]);
/// assert_eq!(line.completeness(), Completeness::Whole);
/// let [_, outer, .., inner] = line.commands() else { panic!("four commands") };
/// assert_eq!((outer.via(), outer.joint()), (Via::Line, Joint::And));
/// assert!(outer.redirects()[0].writes());
/// assert_eq!(inner.via(), Via::Script);
/// ```
pub fn parse(line: &str, limits: ParseLimits) -> CommandLine {
    read::read(line, limits)
}
