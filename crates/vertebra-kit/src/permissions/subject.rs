//! The properties of a call that rules match: commands, paths and hosts.

use std::{
    fs,
    path::Path,
    sync::{Arc, OnceLock},
};

use serde_json::Value;
use vertebra::{
    Args, ToolCall, ToolSpec,
    paths::absolute,
    shell::{ParseLimits, parse},
};

use super::{
    combed::Combed,
    command::{Redirection, parts},
    git::{Line, Review},
    host::host_of,
    mentions::mentioned,
    names::{MAX_COPIED, found, is_pattern, names_below},
    patch,
    path::{Base, PathPattern, Place, attached, is_name, leaves_out, path_in, real, relative},
    programs::{COPIERS, GIT_WRITERS, MOVERS, READERS, WRITERS, copies_from, leaves_files, names_left_out, target},
    rule::{NamePattern, Rule, is_edit},
};
use crate::bash::policy::{Ground, does_more, only_reads};

/// The maximum number of paths in one call.
const MAX_PLACES: usize = 2000;

/// How many names are checked to expand the globs of a command line.
const MAX_NAMES: usize = 20_000;

/// How many folders a command line can change to. Beyond that, the meaning of its paths is unknown.
const MAX_FOLDERS: usize = 32;

/// How many files are read in search of a patch.
const MAX_PATCH_FILES: usize = 50;

/// A call as rules see it.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// The tool's name and aliases.
    pub(super) names: Vec<Arc<str>>,
    /// Whether the tool only reads.
    pub(super) read_only: bool,
    /// The command line as written.
    pub(super) line: Option<String>,
    /// The simple commands.
    pub(super) commands: Vec<String>,
    /// Further commands that they may run. Only deny and ask rules look at them.
    pub(super) further: Vec<String>,
    /// A command that cannot be known before it runs.
    pub(super) hidden: Option<String>,
    /// What the call asks for beyond the sandbox.
    pub(super) needs: Option<Value>,
    /// The paths among the arguments.
    pub(super) places: Vec<Place>,
    /// The folders that a search can walk: those among the paths, and those that commands run in.
    pub(super) searched: Vec<String>,
    /// The paths in the commands.
    pub(super) touched: Vec<Touched>,
    /// How many of them are files in a folder that is copied.
    copied: usize,
    /// Folders that a command moves or removes with all that is in them.
    pub(super) moved: Vec<Place>,
    /// What its commands read or change without naming it.
    pub(super) combed: Vec<Combed>,
    /// Whether the call applies a patch whose files are not known.
    pub(super) unknown_patch: bool,
    /// The hosts among the arguments; `None` for one that is not known.
    pub(super) hosts: Vec<Option<String>>,
    /// The hosts in the commands.
    pub(super) command_hosts: Vec<Option<String>>,
    /// The base of allow rules: the folder of the agent that a person started.
    pub(super) base: Base,
    /// The base of deny and ask rules: also the folder of a subagent.
    pub(super) wide_base: Base,
    /// What its git commands can show.
    pub(super) git: Review,
    refuses_paths: bool,
    folder: String,
    /// The folders in which its commands may run: that of the shell, and those that the line changes to.
    pub(super) here: Vec<String>,
    /// Where the line runs, if there is only one.
    pub(super) ground: Option<Ground>,
    /// The simple commands that do more than read.
    more: OnceLock<Vec<String>>,
}

/// A path in a command.
#[derive(Debug, Clone)]
pub(super) struct Touched {
    pub(super) place: Place,
    /// Whether the command may change the file.
    pub(super) changes: bool,
}

/// The folders in which a call is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// The folder of the calling agent.
    pub(super) folder: String,
    /// The folder of the agent that a person started.
    pub(super) anchor: String,
    /// The current folder of the shell, if it is another one.
    pub(super) shell: Option<String>,
    /// The home folder of the user.
    pub(super) home: Option<String>,
    /// Whether an ask or deny rule is about paths. Then globs in commands are expanded.
    pub(super) refuses_paths: bool,
    /// The ask and deny rules about reading.
    pub(super) reads: Vec<Arc<Rule>>,
    /// The folders besides that commands may write.
    pub(super) writable: Vec<String>,
}

impl Standing {
    /// Returns the base of allow rules and the base of deny and ask rules.
    pub(super) fn bases(&self) -> (Base, Base) {
        let home = self.home.as_deref().map(spellings).unwrap_or_default();
        let base = Base { folders: spellings(&self.anchor), home };
        let mut wide_base = base.clone();
        wide_base.folders.extend(spellings(&self.folder));
        (base, wide_base)
    }
}

impl Subject {
    /// Analyses the call. May block, because it resolves links.
    pub(super) fn new(call: &ToolCall, spec: Option<&ToolSpec>, standing: Standing) -> Result<Self, String> {
        let (base, wide_base) = standing.bases();
        let Standing { folder, shell, home, refuses_paths, reads, writable, .. } = standing;
        let names: Vec<Arc<str>> = std::iter::once(call.tool.shared()).chain(call.aliases.iter().cloned()).collect();
        let commands = call.simple_commands().map(str::to_owned).collect();
        let mut subject = Self {
            names,
            read_only: spec.is_some_and(|spec| spec.read_only),
            line: call.command().map(str::to_owned),
            further: call.further_commands().map(str::to_owned).collect(),
            hidden: call.hidden_command(),
            needs: call.args.get("needs").filter(|needs| !needs.is_null()).cloned(),
            places: Vec::new(),
            searched: Vec::new(),
            touched: Vec::new(),
            copied: 0,
            moved: Vec::new(),
            combed: Vec::new(),
            unknown_patch: false,
            hosts: urls(&call.args).map(host_of).collect(),
            command_hosts: Vec::new(),
            commands,
            base,
            wide_base,
            git: Review::default(),
            refuses_paths,
            ground: ground(call, &folder, shell.as_deref(), home.as_deref()).map(|mut ground| {
                ground.writable.extend(writable);
                ground
            }),
            here: vec![shell.unwrap_or_else(|| folder.clone())],
            folder,
            more: OnceLock::new(),
        };
        for path in call.paths(&subject.folder) {
            let written = relative(&subject.folder, &path).unwrap_or(&path);
            subject.places.push(subject.place(written));
        }
        if subject.places.is_empty() && subject.read_only && spec.is_some_and(may_take_path) {
            subject.places.push(subject.place(""));
        }
        subject.read_commands();
        if refuses_paths {
            subject.read_mentions(&call.args);
            subject.read_patterns()?;
        }
        if subject.places.len() + subject.named() > MAX_PLACES {
            return Err(format!("the call names more than {MAX_PLACES} paths, too many to check"));
        }
        if subject.copied > 2 * MAX_COPIED {
            return Err(format!("the call copies more than {MAX_COPIED} files, too many to check: copy fewer at once"));
        }
        let touched = subject.touched.iter_mut().map(|touched| &mut touched.place);
        subject.places.iter_mut().chain(touched).chain(&mut subject.moved).for_each(Place::follow_links);
        let folders = subject.places.iter().flat_map(|place| &place.0).filter(|path| Path::new(path).is_dir());
        subject.searched = folders.cloned().collect();
        if !subject.commands.is_empty() {
            subject.searched.extend_from_slice(&subject.here);
            subject.read_git(&reads);
        }
        Ok(subject)
    }

    /// Returns the simple commands that do more than read files of the folder. Those that only read need no rule.
    ///
    /// May block, because it looks for links.
    pub(super) fn more(&self) -> &[String] {
        self.more.get_or_init(|| match (&self.line, &self.ground) {
            (Some(line), Some(ground)) => does_more(line, ground).iter().flat_map(|part| listed(part)).collect(),
            _ => self.commands.clone(),
        })
    }

    /// Returns whether the call is a command that only reads files of the folder.
    pub(super) fn is_reading_command(&self) -> bool {
        self.is_bash() && !self.commands.is_empty() && self.more().is_empty()
    }

    /// Returns whether these words of a command only read. Quotes are lost in them, so they must be plain.
    pub(super) fn only_reads(&self, words: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" ._/-=,:+@%".contains(&byte);
        words.bytes().all(is_plain) && self.ground.as_ref().is_some_and(|ground| only_reads(words, ground))
    }

    /// Returns the places that a path in a search result can mean: relative to the agent's folder or to the searched one.
    pub(super) fn found(&self, path: &str) -> impl Iterator<Item = Place> {
        let folders = std::iter::once(&self.folder).chain(&self.searched);
        folders.map(move |folder| Place::new(folder, path, &self.base))
    }

    /// Returns whether a pattern can match something that a patch changes: it is about the folders that the commands run in.
    pub(super) fn may_reach(&self, pattern: &PathPattern) -> bool {
        let (begins, _) = pattern.begins(&self.wide_base);
        let here = || self.here.iter().map(Path::new);
        pattern.holds_outside()
            || begins.iter().any(|begin| here().any(|folder| begin.starts_with(folder) || folder.starts_with(begin)))
    }

    /// Returns how a git command breaks a rule, to follow its name.
    pub(super) fn broken_by(&self, rule: &str) -> String {
        let broken = self.git.broken.iter().find(|(broken, _)| **broken == *rule);
        broken.map_or_else(String::new, |(_, why)| format!(": {why}"))
    }

    /// Returns whether the tool has this name or alias.
    pub(super) fn is_called(&self, pattern: &NamePattern) -> bool {
        self.names.iter().any(|name| pattern.holds(name))
    }

    /// Returns whether the tool is the shell.
    pub(super) fn is_bash(&self) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case("bash"))
    }

    /// Returns whether the tool only changes the files that it names.
    pub(super) fn is_edit(&self) -> bool {
        !self.read_only && self.names.iter().any(|name| is_edit(name))
    }

    /// Returns the file that a redirection opens, or `None` if only a shell could know.
    pub(super) fn target(&self, redirection: &Redirection<'_>) -> Option<Place> {
        if self.is_lost() || redirection.target.contains(['$', '`', '*', '?', '[', '{', '(', '&']) {
            return None;
        }
        let mut place = self.place_in_shell(redirection.target);
        place.follow_links();
        Some(place)
    }

    /// Returns a path as a rule would write it, relative to the base of rules.
    pub(super) fn as_rule(&self, place: &Place) -> Option<String> {
        let path = place.0.first()?;
        let below = self.base.folders.first().and_then(|folder| relative(folder, path));
        let path = match below {
            Some("") => ".".to_owned(),
            // A name alone would hold at any depth.
            Some(rest) if !rest.contains('/') => format!("./{rest}"),
            Some(rest) => rest.to_owned(),
            None => path.clone(),
        };
        let escaped = globset::escape(&path);
        (!escaped.contains(['(', ')'])).then_some(escaped)
    }

    fn place(&self, path: &str) -> Place {
        Place::new(&self.folder, path, &self.base)
    }

    fn is_lost(&self) -> bool {
        self.here.len() >= MAX_FOLDERS
    }

    /// Resolves a path in a command from each folder in which the command may run.
    fn place_in_shell(&self, path: &str) -> Place {
        let mut place = Place(Vec::new());
        for spelling in self.here.iter().flat_map(|folder| Place::new(folder, path, &self.base).0) {
            if !place.0.contains(&spelling) {
                place.0.push(spelling);
            }
        }
        place
    }

    /// Returns whether a path in a command is there, in one of the folders in which the command may run.
    pub(super) fn is_there(&self, path: &str) -> bool {
        self.place_in_shell(path).any(|path| fs::symlink_metadata(path).is_ok())
    }

    /// Records the folder that a command changes to: `cd a`, `pushd a`, `git -C a`, `tar --directory=a`.
    fn follow(&mut self, words: &[&str]) {
        let goes = matches!(words.first(), Some(&"cd" | &"pushd"));
        for (at, word) in words.iter().enumerate().skip(1) {
            let named =
                ["--directory=", "--cwd=", "--prefix=", "-C"].iter().find_map(|option| word.strip_prefix(option));
            let told = matches!(words[at - 1], "-C" | "--directory" | "--cwd" | "--prefix");
            let folder = named.filter(|folder| !folder.is_empty()).or((goes || told).then_some(*word));
            let Some(folder) = folder.filter(|folder| !folder.starts_with('-')) else { continue };
            for there in self.place_in_shell(folder).0 {
                if !self.is_lost() && !self.here.contains(&there) {
                    self.here.push(there);
                }
            }
        }
    }

    fn read_commands(&mut self) {
        let commands = std::mem::take(&mut self.commands);
        for command in &commands {
            self.follow(&parts(command).0);
        }
        for command in &commands {
            let (words, redirections) = parts(command);
            let program = words.first().map_or("", |program| program.rsplit('/').next().unwrap_or(program));
            let leaves_files = leaves_files(program, &words);
            let writes =
                WRITERS.contains(&program) || (program == "git" && words.iter().any(|word| GIT_WRITERS.contains(word)));
            self.read_copies(program, &words);
            for word in words.iter().copied() {
                let may_change = !leaves_files && !copies_from(program, &words, word);
                for path in attached(program, word) {
                    let place = self.place_in_shell(path);
                    if place.any(|path| fs::symlink_metadata(path).is_ok()) {
                        self.touched.push(Touched { changes: may_change, place });
                    }
                }
                if let Some((_, path)) = word.split_once("file://") {
                    self.touched.push(Touched { changes: may_change, place: self.place_in_shell(path) });
                } else if word.contains("://") {
                    self.command_hosts.push(host_of(word.trim_start_matches(|c| c != 'h' && c != 'H')));
                } else if let Some(path) =
                    path_in(word).filter(|_| !(names_left_out(program, word) || program == "git" && leaves_out(word)))
                {
                    let place = self.place_in_shell(path);
                    // `status` in `git status` is a path only if there is such a file.
                    let is_path = writes
                        || path.contains(['/', '~'])
                        || is_pattern(path)
                        || place.any(|path| fs::symlink_metadata(path).is_ok());
                    if MOVERS.contains(&program) && is_path {
                        self.moved.push(place.clone());
                    }
                    self.touched.push(Touched { changes: may_change && is_path, place });
                }
                // The call is denied for its size, so the rest need not be kept.
                if self.named() > MAX_PLACES {
                    break;
                }
            }
            for Redirection { target, writes } in redirections {
                self.touched.push(Touched { place: self.place_in_shell(target), changes: writes });
            }
        }
        if self.refuses_paths {
            self.combed = Combed::of(&commands, |path| self.place_in_shell(path));
        }
        self.read_patches(&commands);
        self.read_editors(&commands);
        self.read_code(&commands);
        self.commands = commands;
    }

    /// Adds the files that a copy makes in the folder that it names last.
    fn read_copies(&mut self, program: &str, words: &[&str]) {
        if !COPIERS.contains(&program) || !self.refuses_paths {
            return;
        }
        let named = |word: &&&str| !word.starts_with('-');
        let mut paths: Vec<&str> = words.iter().skip(1).filter(named).copied().collect();
        let given = target(program, words);
        // `ln -s a` makes `./a`.
        let last = if paths.len() > 1 { paths.pop() } else { Some(".").filter(|_| program == "ln") };
        let Some(target) = given.or(last) else { return };
        for source in paths {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            self.touched.push(Touched { place: self.place_in_shell(&format!("{target}/{name}")), changes: true });
            for below in self.place_in_shell(source).0.iter().flat_map(|source| names_below(source)) {
                // The call is denied for its size.
                if self.copied > 2 * MAX_COPIED {
                    return;
                }
                for path in [format!("{target}/{below}"), format!("{target}/{name}/{below}")] {
                    self.touched.push(Touched { place: self.place_in_shell(&path), changes: true });
                    self.copied += 1;
                }
            }
        }
    }

    /// How many paths the words of the commands name. A folder that is copied is one, however much is in it.
    fn named(&self) -> usize {
        self.touched.len() - self.copied
    }

    /// Adds the files that patches change. A patch is in the line, as a here-document, or in a file that the line names.
    fn read_patches(&mut self, commands: &[String]) {
        if !self.refuses_paths || !commands.iter().any(|command| patch::applies(&parts(command).0)) {
            return;
        }
        let mut texts: Vec<String> = self.line.iter().cloned().chain(commands.iter().cloned()).collect();
        texts.extend(
            self.touched
                .iter()
                .flat_map(|touched| &touched.place.0)
                .take(MAX_PATCH_FILES)
                .filter_map(|path| patch::read(path)),
        );
        let before = self.touched.len();
        for file in texts.iter().flat_map(|text| patch::files_in(text)) {
            self.touched.push(Touched { place: self.place_in_shell(file), changes: true });
        }
        self.unknown_patch = self.touched.len() == before;
    }

    /// Adds the files that the script of an editor writes: `w file` in a here-document of `ed`.
    fn read_editors(&mut self, commands: &[String]) {
        let edits = |command: &String| {
            matches!(
                parts(command).0.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word)),
                "ed" | "ex" | "vi" | "vim"
            )
        };
        let Some(line) = self.line.clone().filter(|_| commands.iter().any(edits)) else { return };
        for script in line.lines().flat_map(|line| line.split(['|', '\'', '"'])) {
            let script = script.trim().trim_start_matches([':', '%', ',', '$']);
            let script = script.trim_start_matches(|c: char| c.is_ascii_digit());
            let path =
                ["w! ", "w ", "W ", "wq ", "write ", "saveas "].iter().find_map(|start| script.strip_prefix(start));
            if let Some(path) = path.map(str::trim).filter(|path| !path.is_empty()) {
                self.touched.push(Touched { place: self.place_in_shell(path), changes: true });
            }
        }
    }

    /// Adds the files that code and loops in the line name.
    fn read_code(&mut self, commands: &[String]) {
        let Some(line) = self.line.clone().filter(|_| self.refuses_paths) else { return };
        let may_change = commands.iter().map(|command| parts(command)).any(|(words, redirections)| {
            !READERS.contains(words.first().unwrap_or(&"")) || redirections.iter().any(|to| !to.is_harmless())
        });
        for name in mentioned(&line, commands) {
            let place = self.place_in_shell(&name);
            let may_be = |path: &str| name.contains(['.', '/']) && Path::new(path).parent().is_some_and(Path::is_dir);
            if is_pattern(&name) || place.any(|path| fs::symlink_metadata(path).is_ok() || may_be(path)) {
                self.touched.push(Touched { place, changes: may_change });
            }
        }
    }

    /// Adds what git commands name and show.
    fn read_git(&mut self, reads: &[Arc<Rule>]) {
        let places = self.places.iter().chain(self.touched.iter().map(|touched| &touched.place)).collect();
        let text = self.line.as_deref().unwrap_or("|");
        let line = Line { text, commands: &self.commands, here: &self.here, base: &self.wide_base, places };
        let mut review = Review::new(&line, reads);
        let named = std::mem::take(&mut review.named);
        self.touched.extend(named.into_iter().map(|place| Touched { place, changes: false }));
        self.searched.extend(review.roots.iter().cloned());
        self.git = review;
    }

    /// Adds arguments that are existing paths, although neither their name nor their form says so.
    fn read_mentions(&mut self, args: &Args) {
        let mut texts = Vec::new();
        args.into_iter().for_each(|(_, value)| collect_texts(value, &mut texts));
        for text in texts.into_iter().filter(|text| is_name(text)) {
            let place = self.place(text);
            if place.any(|path| fs::symlink_metadata(path).is_ok()) {
                self.touched.push(Touched { place, changes: !self.read_only });
            }
        }
    }

    /// Adds the expanded globs of the commands.
    fn read_patterns(&mut self) -> Result<(), String> {
        if self.is_lost() {
            return Err(format!("the command may change to {MAX_FOLDERS} folders or more, too many to check"));
        }
        let mut left = MAX_NAMES;
        let shows_hidden = self.line.as_deref().is_some_and(|line| line.contains("dotglob"));
        for touched in &mut self.touched {
            let patterns: Vec<String> = touched.place.0.iter().filter(|path| is_pattern(path)).cloned().collect();
            for pattern in patterns {
                let found = found(&pattern, &mut left, shows_hidden).ok_or_else(|| {
                    format!("the globs in the command match more than {MAX_NAMES} names, too many to check")
                })?;
                touched.place.0.extend(found);
            }
        }
        Ok(())
    }
}

/// Returns a folder as written and with links resolved.
fn spellings(folder: &str) -> Vec<String> {
    let written = absolute("/", folder);
    let real = real(Path::new(&written)).filter(|real| *real != written);
    std::iter::once(written).chain(real).collect()
}

fn lines(call: &ToolCall) -> impl Iterator<Item = &str> {
    ["command", "cmd"].iter().filter_map(|name| call.args.text(name))
}

/// Returns the simple commands of a line.
fn listed(line: &str) -> Vec<String> {
    parse(line, ParseLimits::default()).texts().to_vec()
}

/// Returns where the command line of a call runs, if it has exactly one.
fn ground(call: &ToolCall, folder: &str, shell: Option<&str>, home: Option<&str>) -> Option<Ground> {
    if lines(call).count() != 1 {
        return None;
    }
    let mut ground = Ground::new(folder, home.unwrap_or("/"));
    if let Some(shell) = shell {
        shell.clone_into(&mut ground.here);
    }
    Some(ground)
}

fn collect_texts<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(map) => map.values().for_each(|value| collect_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn urls(args: &Args) -> impl Iterator<Item = &str> {
    let values = ["url", "urls", "uri"].into_iter().filter_map(|name| args.get(name));
    let flat = values.flat_map(|value| match value {
        Value::Array(items) => items.iter().collect(),
        value => vec![value],
    });
    flat.filter_map(Value::as_str)
}

/// Returns whether the tool takes a folder to work in.
fn may_take_path(spec: &ToolSpec) -> bool {
    has_argument(spec, &["path", "dir", "directory", "folder", "root", "cwd"])
}

pub(super) fn has_argument(spec: &ToolSpec, names: &[&str]) -> bool {
    names.iter().any(|name| spec.schema["properties"].get(name).is_some())
}
