//! Lists of tools as people write them: `Read, Grep, Bash(git *), Edit(src/**)`.

use std::sync::Arc;

use globset::GlobBuilder;
use vertebra::{
    events::ToolAsked,
    shell::{CommandLine, Completeness, SimpleCommand},
};

use crate::{
    front_matter::Words,
    permissions::{CommandPattern, NamePattern, named},
};

/// Tools by name, alias or pattern, some of them only for some commands or paths.
///
/// In parentheses stands what a call is about: for a call with a command a pattern in which `*` is any text
/// (`Bash(git *)`, also written `Bash(git:*)`), for others a glob over its paths (`Edit(src/**)`). A command that is
/// permitted does not permit writing its output into a file.
/// It is written as permission rules are, and read by their reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolList(Vec<Entry>);

#[derive(Debug, Clone)]
struct Entry {
    text: String,
    name: NamePattern,
    only: Option<Only>,
}

/// What stands in the parentheses: whether it is about commands or paths, a call tells.
#[derive(Debug, Clone)]
struct Only {
    command: CommandPattern,
    path: String,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Entry {}

impl ToolList {
    /// Reads the entries; the error says what to write instead.
    pub(crate) fn new<'w>(words: impl IntoIterator<Item = &'w String>) -> Result<Self, String> {
        words.into_iter().map(|word| Entry::new(word)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the list names this tool, for whatever commands or paths.
    pub(crate) fn names(&self, tool: &str, aliases: &[Arc<str>]) -> bool {
        self.0.iter().any(|entry| entry.names(tool, aliases))
    }

    /// Whether the list names this tool for everything it can do.
    pub(crate) fn names_wholly(&self, tool: &str, aliases: &[Arc<str>]) -> bool {
        self.0.iter().any(|entry| entry.only.is_none() && entry.names(tool, aliases))
    }

    /// Whether some tool is named for some commands or paths alone, so that calls have to be looked at.
    pub(crate) fn is_partial(&self) -> bool {
        self.0.iter().any(|entry| entry.only.is_some())
    }

    /// Whether the list names no tool at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the list permits all of a call: every command in it, every path.
    pub(crate) fn covers(&self, call: &ToolAsked) -> bool {
        let subjects = Subjects::of(call);
        let named: Vec<&Entry> = self.0.iter().filter(|entry| entry.names(&call.tool, &call.aliases)).collect();
        let whole = named.iter().any(|entry| entry.only.is_none());
        let partly = |subject: &String| {
            let mut parts = named.iter().filter_map(|entry| entry.only.as_ref());
            parts.any(|only| subjects.fits(only, subject))
        };
        whole || (!subjects.redirected && !subjects.all.is_empty() && subjects.all.iter().all(partly))
    }

    /// Whether the list speaks of any part of a call.
    pub(crate) fn touches(&self, call: &ToolAsked) -> bool {
        let mut subjects = Subjects::of(call);
        // A refusal also means commands that another program runs: `poetry run rm x`.
        subjects.all.extend(call.further_commands().map(str::to_owned));
        self.0.iter().filter(|entry| entry.names(&call.tool, &call.aliases)).any(|entry| match &entry.only {
            Some(only) => subjects.all.iter().any(|subject| subjects.fits_somehow(only, subject)),
            None => true,
        })
    }
}

impl std::fmt::Display for ToolList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let texts: Vec<&str> = self.0.iter().map(|entry| &*entry.text).collect();
        f.write_str(&texts.join(", "))
    }
}

impl TryFrom<&Words> for ToolList {
    type Error = String;

    fn try_from(words: &Words) -> Result<Self, String> {
        Self::new(&words.0)
    }
}

impl Entry {
    fn new(word: &str) -> Result<Self, String> {
        let (name, inside) = named(word).map_err(|error| error.to_string())?;
        let only = |inside: &str| match CommandPattern::new(inside) {
            Ok(command) => Ok(Only { command, path: inside.to_owned() }),
            Err(wrong) => Err(format!("`{word}` cannot be read: {}; {}", wrong.problem, wrong.instead)),
        };
        // `Read(**)` is the whole tool, as `Read(*)` is.
        let only = inside.filter(|inside| *inside != "**").map(only).transpose()?;
        Ok(Self { text: word.to_owned(), name: NamePattern::new(name), only })
    }

    fn names(&self, tool: &str, aliases: &[Arc<str>]) -> bool {
        std::iter::once(tool).chain(aliases.iter().map(|alias| &**alias)).any(|name| self.name.holds(name))
    }
}

/// What a call is about: its commands, or else its paths.
struct Subjects<'a> {
    all: Vec<String>,
    /// Whether the commands write into files.
    redirected: bool,
    /// The folder that paths are below; `None` if the subjects are commands.
    folder: Option<&'a str>,
}

impl<'a> Subjects<'a> {
    fn of(call: &'a ToolAsked) -> Self {
        if call.args.get("command").is_none() && call.args.get("cmd").is_none() {
            let folder = Some(&*call.at.run.working_directory);
            return Self { all: call.paths().collect(), redirected: false, folder };
        }
        let mut all: Vec<String> = call.simple_commands().map(str::to_owned).collect();
        // A list that long may leave something out, so nobody can say what the call is about.
        if call.is_beyond_reading() {
            all.clear();
        }
        Self { all, redirected: call.command_lines().iter().any(writes), folder: None }
    }

    fn fits(&self, only: &Only, subject: &str) -> bool {
        match self.folder {
            None => only.command.holds(subject),
            Some(folder) => path_fits(&only.path, folder, subject),
        }
    }

    /// Whether a refusal means this, however it is spelt.
    fn fits_somehow(&self, only: &Only, subject: &str) -> bool {
        match self.folder {
            None => only.command.holds_somehow(subject),
            Some(_) => self.fits(only, subject),
        }
    }
}

/// Returns whether a command line may write into a file other than `/dev/null`. If it is not read as a whole, every `>` counts,
/// and so it does with `[[`, which is a program to some shells.
fn writes(line: &CommandLine) -> bool {
    let mut redirects = line.commands().iter().flat_map(SimpleCommand::redirects);
    redirects.any(|to| to.writes() && to.target().known() != Some("/dev/null"))
        || ((line.completeness() != Completeness::Whole || line.text().contains("[[")) && line.text().contains('>'))
}

fn path_fits(glob: &str, folder: &str, path: &str) -> bool {
    let Ok(glob) = GlobBuilder::new(glob.trim_start_matches("./")).literal_separator(true).build() else {
        return false;
    };
    let glob = glob.compile_matcher();
    let below = path.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    glob.is_match(path) || below.is_some_and(|below| glob.is_match(below))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vertebra::testing::call;

    use super::*;
    use crate::permissions::Rule;

    fn list(text: &str) -> ToolList {
        ToolList::try_from(&Words::split(text)).expect("a list of tools")
    }

    fn asked(tool: &str, args: Value) -> ToolAsked {
        let mut asked = call(tool, args);
        asked.aliases = match tool {
            "bash" => ["Bash".into()].into(),
            "edit_file" => ["Edit".into()].into(),
            _ => [].into(),
        };
        asked
    }

    fn bash(command: &str) -> ToolAsked {
        asked("bash", json!({ "command": command }))
    }

    #[test]
    fn a_tool_is_named_by_name_alias_or_pattern_whatever_the_case() {
        for text in ["bash", "Bash", "BASH", "ba*", "Read, Bash", "Bash(*)"] {
            assert!(list(text).covers(&bash("ls")), "{text}");
        }
        for text in ["", "bas", "Bash2", "Read, Grep"] {
            assert!(!list(text).covers(&bash("ls")), "{text}");
        }
    }

    #[test]
    fn every_command_of_a_line_must_be_permitted() {
        let git = list("Bash(git *), Bash(cargo test:*)");
        for line in ["git", "git status", "git  status", "git add . && git commit -m 'x; y'", "cargo test && git push"]
        {
            assert!(git.covers(&bash(line)), "{line}");
        }
        for line in [
            "rm x",
            "gitk",
            "git status && rm x",
            "git log $(rm x)",
            "git status; rm x",
            "git status | sh",
            "sudo git push",
            "bash -c 'rm x'",
            "cargo build",
            "",
        ] {
            assert!(!git.covers(&bash(line)), "{line}");
        }
        assert!(!git.covers(&asked("bash", json!({"command": ["rm", "x"]}))), "a command as a list of words");
        assert!(!git.covers(&asked("bash", json!({}))), "a call that says nothing");
        let many: Vec<String> =
            (0..vertebra::shell::ParseLimits::default().commands).map(|number| format!("git show {number}")).collect();
        assert!(!git.covers(&bash(&many.join("; "))), "a line that is too long to be judged");
    }

    #[test]
    fn a_permitted_command_does_not_write_files() {
        let git = list("Bash(git *)");
        for line in [
            "git log 2>&1",
            "git log > /dev/null 2>&1",
            "git log >>/dev/null; git status",
            "git commit -m 'a > b' -m \"By: Me <me@example.org>\"",
            r"git log --grep a\>b",
        ] {
            assert!(git.covers(&bash(line)), "{line}");
        }
        for line in [
            "git log > x",
            "git log >x",
            "git log >> ~/.profile",
            "git log >| x",
            "git log &> x",
            "git log >& x",
            "git log 2> x",
            "git log >/dev/nullx",
            "git log > /dev/null/../x",
            "git log >&1x",
            "git log \"$(git show > x)\"",
            r"git log $'\'' > x #'",
            "git log # '\ngit show > x # '",
            "git log <<E\n'\nE\ngit show > x '",
            "git log '\\' > x '",
            "[[ a > x ]]; git log",
        ] {
            assert!(!git.covers(&bash(line)), "{line}");
        }
    }

    #[test]
    fn a_refusal_of_some_commands_touches_a_line_with_any_of_them() {
        let rm = list("Bash(rm *)");
        for line in ["ls && rm x", "rm", "/bin/rm x", "rm 2> /dev/null", "sudo /bin/rm x > log", "poetry run rm x"] {
            assert!(rm.touches(&bash(line)), "{line}");
        }
        assert!(list("Bash(git push)").touches(&bash("git push > log")));
        assert!(!rm.touches(&bash("ls")) && !rm.touches(&asked("edit_file", json!({"path": "rm"}))));
    }

    #[test]
    fn every_path_of_a_call_must_be_permitted() {
        let src = list("Edit(src/**)");
        let edit = |path: &str| asked("edit_file", json!({ "path": path }));
        for path in ["src/a.rs", "./src/x/y.rs", "/repo/src/a.rs"] {
            assert!(src.covers(&edit(path)), "{path}");
        }
        for path in ["a.rs", "src/../a.rs", "/etc/src/a.rs", "/src/a.rs"] {
            assert!(!src.covers(&edit(path)), "{path}");
        }
    }

    #[test]
    fn a_list_is_read_as_permission_rules_are() {
        for text in ["Bash(git *", "(x)", "Bash()", "Bash git", "mcp__*(x)", &format!("Bash({})", "x".repeat(2000))] {
            let rule = text.parse::<Rule>().expect_err("no rule").to_string();
            assert_eq!(ToolList::new(&[text.to_owned()]).expect_err("no tool"), rule, "{text}");
        }
        let both = ToolList::new(&["Bash(git add * && git commit *)".to_owned()]).expect_err("two commands");
        assert!(both.contains("write a rule for each: `Bash(git add *)`, `Bash(git commit *)`"), "{both}");
        let server = list("mcp__git");
        assert!(server.names("mcp__git__log", &[]) && !server.names("mcp__github__log", &[]));
    }
}
