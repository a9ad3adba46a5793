//! The programs that are known, as data: one file per family in `tables/`.
//!
//! A line is `NAMES[ SUBCOMMANDS]: EFFECT OPTION…`. Effects say what becomes of operands:
//!
//! - `plain`: they are no paths
//! - `read`, `write`, `delete`: paths that are read, written, deleted
//! - `last`: the last is written, the others are read
//! - `build`: runs the project's own code, which the sandbox holds
//! - `wrap`, `wrap=N`: after N operands comes a command
//! - `sub`: the first is a subcommand with its own line; `*` matches all others
//! - `ask=CLASS`, `deny=CLASS`
//!
//! Options: `-x=` takes a value; `-x=write`, `-x=read` the value is a path; `-x=run` it is a command for a shell; `-x=program` it is a
//! program that receives unknown arguments; `-x=code` a file whose code runs; `-x=cd` a folder to work in; `-x!` is asked about, `-x!CLASS` is denied; so are operands that are listed
//! like this. Options that change nothing are not listed. A lone `-` says that letters behind
//! one dash are one option and not several.

use memchr::memmem;

use super::Class;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Plain,
    Read,
    Write,
    Delete,
    Last,
    Build,
    Wrap(usize),
    Sub,
    Ask(Class),
    Deny(Class),
}

/// The effect of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treat {
    Value,
    Write,
    Read,
    Run,
    Program,
    Code,
    Folder,
    Ask,
    Deny(Class),
}

impl Treat {
    pub(super) fn takes_value(self) -> bool {
        match self {
            Self::Value | Self::Write | Self::Read | Self::Run | Self::Program | Self::Code | Self::Folder => true,
            Self::Ask | Self::Deny(_) => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) effect: Effect,
    pub(super) options: Vec<(&'static str, Treat)>,
    /// Letters behind one dash are one option.
    pub(super) whole: bool,
}

/// All tables in one text. It is searched anew for each program: an index would take longer to make than most processes
/// take to judge the one command that they are started for.
const TABLES: &str = concat!(
    include_str!("tables/coreutils.txt"),
    include_str!("tables/text.txt"),
    include_str!("tables/system.txt"),
    include_str!("tables/git.txt"),
    include_str!("tables/build.txt"),
    include_str!("tables/packages.txt"),
    include_str!("tables/containers.txt"),
    include_str!("tables/wrappers.txt"),
    include_str!("tables/harm.txt"),
);

/// A line about one program or several.
#[derive(Clone, Copy)]
struct Row(&'static str);

impl Row {
    /// The row that has this byte of the tables in it; a remark is none.
    fn at(place: usize) -> Option<Self> {
        let begin = TABLES[..place].rfind('\n').map_or(0, |end| end + 1);
        TABLES[begin..].lines().next().and_then(Self::of)
    }

    fn of(line: &'static str) -> Option<Self> {
        (!line.is_empty() && !line.starts_with('#')).then_some(Self(line))
    }

    /// The programs it is about, and their subcommands, if it is about those.
    fn names(self) -> (&'static str, Option<&'static str>) {
        let names = self.0.split_once(": ").map_or("", |(names, _)| names);
        names.split_once(' ').map_or((names, None), |(tools, subs)| (tools, Some(subs)))
    }

    fn tools(self) -> impl Iterator<Item = &'static str> {
        self.names().0.split(',')
    }

    fn is_about(self, tool: &str, sub: Option<&str>) -> bool {
        let subs = match (self.names().1, sub) {
            (None, None) => true,
            (Some(subs), Some(sub)) => subs.split(',').any(|listed| listed == sub),
            (None, Some(_)) | (Some(_), None) => false,
        };
        subs && self.tools().any(|name| name == tool)
    }
}

fn rows() -> impl Iterator<Item = Row> {
    TABLES.lines().filter_map(Row::of)
}

/// A program, or `program subcommand`. `gcc-12` is `gcc`.
pub(super) fn program(name: &str) -> Option<Program> {
    let without_version = || {
        let (base, version) = name.rsplit_once('-')?;
        let is_version = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        listed(base).filter(|_| is_version)
    };
    listed(name).or_else(without_version)
}

fn listed(name: &str) -> Option<Program> {
    let (tool, sub) = name.split_once(' ').map_or((name, None), |(tool, sub)| (tool, Some(sub)));
    if tool.is_empty() {
        return None;
    }
    let byte = |place: Option<usize>| place.and_then(|place| TABLES.as_bytes().get(place));
    // A letter or two stand everywhere: only those are looked at that may be a whole name.
    let is_whole = |place: &usize| {
        matches!(byte(place.checked_sub(1)), None | Some(b'\n' | b','))
            && matches!(byte(place.checked_add(tool.len())), Some(b',' | b' ' | b':'))
    };
    let places = memmem::find_iter(TABLES.as_bytes(), tool.as_bytes()).filter(is_whole);
    let row = places.filter_map(Row::at).find(|row| row.is_about(tool, sub))?;
    line(row.0)
}

/// All names, for patterns in the place of a command.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    rows().filter(|row| row.names().1.is_none()).flat_map(Row::tools)
}

/// What a line says of its programs.
fn line(line: &'static str) -> Option<Program> {
    let (_, rest) = line.split_once(": ")?;
    let mut words = rest.split_whitespace();
    let effect = effect(words.next()?)?;
    let (whole, listed): (Vec<_>, Vec<_>) = words.partition(|word| *word == "-");
    let options = listed.into_iter().map(option).collect::<Option<_>>()?;
    Some(Program { effect, options, whole: !whole.is_empty() })
}

fn effect(word: &str) -> Option<Effect> {
    let (word, value) = word.split_once('=').unwrap_or((word, ""));
    Some(match word {
        "plain" => Effect::Plain,
        "read" => Effect::Read,
        "write" => Effect::Write,
        "delete" => Effect::Delete,
        "last" => Effect::Last,
        "build" => Effect::Build,
        "wrap" => Effect::Wrap(value.parse().unwrap_or(0)),
        "sub" => Effect::Sub,
        "ask" => Effect::Ask(Class::named(value)?),
        "deny" => Effect::Deny(Class::named(value)?),
        _ => return None,
    })
}

fn option(word: &'static str) -> Option<(&'static str, Treat)> {
    if let Some((name, value)) = word.split_once('=') {
        let treat = match value {
            "" => Treat::Value,
            "write" => Treat::Write,
            "read" => Treat::Read,
            "run" => Treat::Run,
            "program" => Treat::Program,
            "code" => Treat::Code,
            "cd" => Treat::Folder,
            _ => return None,
        };
        return Some((name, treat));
    }
    let (name, class) = word.split_once('!')?;
    Some((name, if class.is_empty() { Treat::Ask } else { Treat::Deny(Class::named(class)?) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_table_is_read() {
        for Row(text) in rows() {
            assert!(line(text).is_some(), "not understood: {text}");
        }
    }

    #[test]
    fn no_program_is_listed_twice() {
        let mut names = Vec::new();
        for row in rows() {
            let (tools, subs) = row.names();
            for tool in tools.split(',') {
                match subs {
                    None => names.push(tool.to_owned()),
                    Some(subs) => names.extend(subs.split(',').map(|sub| format!("{tool} {sub}"))),
                }
            }
        }
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
        assert_eq!(twice, Vec::<&String>::new());
    }

    #[test]
    fn a_program_and_its_subcommands_have_lines_of_their_own() {
        assert_eq!(program("git").map(|git| git.effect), Some(Effect::Sub));
        assert!(program("git status").is_some() && program("git no-such").is_none());
        assert!(program("gcc-12").is_some() && program("gcc-x").is_none() && program("").is_none());
        assert!(names().all(|name| program(name).is_some() && !name.contains(' ')));
    }
}
