//! Takes a shell command line apart, so that a policy about `rm` also sees the `rm` inside `$( … )` or `sh -c '…'`.
//!
//! The reader is our own and not a grammar from a crate, for one reason: it runs on text that a model wrote, before any
//! decision is taken. It has to be linear in time, bounded in depth, and to find *something* in lines that no shell
//! would accept. Where a shell and this reader could disagree it lists both readings: a matcher sees more, not less.

mod scan;

mod braces;
mod carrier;
mod command;
mod document;
mod expansion;
mod further;
mod hidden;
mod rough;
mod spread;
mod word;
mod wrapper;

#[cfg(test)]
mod tests;

use scan::Scan;

pub use braces::expand_braces;
pub use further::further_commands;
pub use hidden::hidden_command;

/// Lines longer than this are cut at separators instead of being read.
const MAX_LINE: usize = 64 * 1024;
/// How deep substitutions, subshells and scripts in arguments are followed.
const MAX_DEPTH: usize = 16;
/// How many bytes are read in all, where arguments are read again as scripts: in proportion to the line, up to a limit.
/// Without it, `eval` within substitutions within `eval` would double the work at each level.
const MAX_READ: usize = 4 * MAX_LINE;
const READ_AGAIN: usize = 16;
const SMALL_LINE: usize = 1024;

/// The most commands that [`simple_commands`] lists. A line with more of them [is beyond reading](is_beyond_reading).
pub const MAX_COMMANDS: usize = 1000;

/// Lists every simple command inside a shell command line, as plain text, in the order of the source.
///
/// Quotes and escapes are removed where they are literal, blanks and line breaks become one space, redirections move to the
/// end. Lists, pipelines, compound commands, functions, substitutions, here-documents, scripts given to a shell or to `eval`,
/// and commands behind wrappers such as `sudo` or leading assignments are followed; of the latter both forms are listed. A
/// command that occurs twice is listed once. A line that is not valid is also cut at every separator.
///
/// The list is **empty** when the line is one plain command that would be listed as it stands: match the line itself
/// too, always. Use it where a pattern is compared with what a shell would run.
///
/// ```
/// use vertebra::shell::simple_commands;
///
/// assert_eq!(simple_commands(r#"cd /tmp && r\m -r"f" /"#), ["cd /tmp", "rm -rf /"]);
/// assert_eq!(simple_commands("sudo rm x"), ["sudo rm x", "rm x"]);
/// assert!(simple_commands("cargo test --workspace").is_empty());
/// ```
pub fn simple_commands(line: &str) -> Vec<String> {
    listed(line).commands
}

/// Whether a line has more to it than [`simple_commands`] reads: it is too long, runs too much, or hides scripts within
/// scripts. A policy that must not miss anything refuses such a line.
pub fn is_beyond_reading(line: &str) -> bool {
    !listed(line).is_whole
}

/// What was found in a line.
pub(crate) struct Listed {
    /// The commands.
    pub(crate) commands: Vec<String>,
    /// Whether these are all of them.
    pub(crate) is_whole: bool,
}

/// The commands of a line, and whether there may be more.
pub(crate) fn listed(line: &str) -> Listed {
    let found = read(line);
    Listed { is_whole: !found.gave_up && !found.is_full(), commands: found.commands }
}

fn read(line: &str) -> Found {
    let left = (READ_AGAIN * line.len() + SMALL_LINE).min(MAX_READ);
    let mut found =
        Found { commands: Vec::new(), left, roughly: left.max(2 * line.len()), gave_up: false, hidden: Vec::new() };
    if is_plain(line) {
        return found;
    }
    if line.len() > MAX_LINE {
        found.gave_up = true;
        rough::split(line, &mut found);
    } else {
        Scan::new(line, 0, &mut found).script();
    }
    found
}

/// Whether the line is one command of plain words, each separated by one space, that runs no other command.
fn is_plain(line: &str) -> bool {
    let mut before = b' ';
    for &byte in line.as_bytes() {
        let plain = PLAIN[usize::from(byte)] || (byte == b' ' && before != b' ');
        if !plain {
            return false;
        }
        before = byte;
    }
    let program = line.split_once(' ').map_or(line, |(program, _)| program);
    before != b' '
        && !program.contains(['=', '*', '?', '['])
        && !rough::is_keyword(program)
        && !wrapper::runs_others(program)
}

/// Bytes that mean themselves wherever they stand. Globs are among them: they choose words and separate nothing.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let special = b" \t\n\r\0;&|<>(){}$`\\\"'#!";
    let mut at = 0;
    while at < special.len() {
        plain[special[at] as usize] = false;
        at += 1;
    }
    plain
};

/// What has been found so far, and what may still be spent on finding more.
struct Found {
    commands: Vec<String>,
    /// How many bytes may still be read.
    left: usize,
    /// How many bytes may still be cut at separators.
    roughly: usize,
    /// Whether something was left unread.
    gave_up: bool,
    /// Commands that cannot be known before they run.
    hidden: Vec<String>,
}

impl Found {
    fn is_full(&self) -> bool {
        self.commands.len() >= MAX_COMMANDS
    }

    /// Lists a command at `place`, or at the end when fewer are listed by now.
    fn insert(&mut self, place: usize, command: String) -> usize {
        // Comparing with all of them would make long lists slow, and only short ones are read by people.
        let known = self.commands.len() < 64 && self.commands.contains(&command);
        if command.is_empty() || known || self.is_full() {
            return place;
        }
        let place = place.min(self.commands.len());
        // A line break inside of a word is one to the program, and to whoever compares a pattern it is a blank.
        let command = if command.contains('\n') { command.replace('\n', " ") } else { command };
        self.commands.insert(place, command);
        place + 1
    }

    fn push(&mut self, command: String) {
        self.insert(self.commands.len(), command);
    }

    /// Whether `text` may be read (again) as a script.
    fn may_read(&mut self, text: &str) -> bool {
        let enough = text.len() <= self.left;
        self.left = self.left.saturating_sub(text.len());
        self.gave_up |= !enough;
        enough && !self.is_full()
    }
}
