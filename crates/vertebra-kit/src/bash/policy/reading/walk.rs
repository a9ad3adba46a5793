//! Walks the syntax tree of a command that may only read. Whatever it does not know, it does not accept.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    path::{Path, PathBuf},
};

use tree_sitter::Node;
use vertebra::paths::absolute;

use super::{
    super::{
        Ground,
        chain::{Pipeline, Stage, chain},
        rules,
        walk::children,
    },
    words::{Names, Word},
};

/// How many values of a loop are tried one by one.
const MAX_TURNS: usize = 32;
/// How deep substitutions and compound commands are followed.
const MAX_DEPTH: usize = 24;
/// How many commands are looked at.
const MAX_COMMANDS: usize = 400;

/// What a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Names of files in the folder, one on each line.
    Names,
    /// Numbers, hashes and words without characters of a glob.
    Plain,
    Any,
}

/// What has to be looked at in the folder before a command counts as reading.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each of them is needed or not, by itself")]
pub(super) struct Needs {
    /// A name that begins with a dash would be an option.
    pub(super) no_dashes: bool,
    /// Names from several folders are read.
    pub(super) is_wide: bool,
    /// Git runs, which may start programs.
    pub(super) uses_git: bool,
    /// A tool runs whose version a file of the folder may choose.
    pub(super) picks_version: bool,
}

/// The position of the shell in the folders.
#[derive(Debug)]
struct Position {
    /// The folder, as far as that is certain.
    at: Option<String>,
    /// The number of conditions and loops around the current command, which may run or not.
    doubts: usize,
    loops: usize,
    /// Whether a path goes up, so that it means another one in another folder.
    rises: bool,
    /// Whether a loop changes folders: an earlier command of the loop then runs again in another folder.
    strays: bool,
}

/// A walk through one command line.
pub(super) struct Walk<'t> {
    text: &'t str,
    pub(super) ground: &'t Ground,
    /// The parts that do more than read.
    pub(super) more: Vec<Range<usize>>,
    /// The simple commands that only read.
    pub(super) readers: Vec<Range<usize>>,
    /// The programs of those.
    pub(super) programs: BTreeSet<String>,
    /// Whether something was found after which nothing is certain any more.
    pub(super) is_lost: bool,
    pub(super) variables: HashMap<String, Word>,
    /// Names that are assigned more than once.
    again: BTreeSet<String>,
    /// The folders that the line changes to.
    pub(super) folders: Vec<String>,
    position: Position,
    /// The folders that git works in.
    pub(super) git: Vec<String>,
    /// The paths that are read.
    pub(super) paths: Vec<String>,
    pub(super) globs: Vec<String>,
    /// What has to be looked at in the folder.
    pub(super) needs: Needs,
    /// Whether a word is neither split nor expanded to names, because it is the value of a variable.
    pub(super) keeps_whole: bool,
    /// How many conditions, loops and subshells are around what is being looked at.
    conditions: usize,
    depth: usize,
    commands: usize,
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t str, ground: &'t Ground) -> Self {
        Self {
            text,
            ground,
            more: Vec::new(),
            readers: Vec::new(),
            programs: BTreeSet::new(),
            is_lost: false,
            variables: HashMap::new(),
            again: BTreeSet::new(),
            folders: Vec::new(),
            position: Position { at: Some(ground.here.clone()), doubts: 0, loops: 0, rises: false, strays: false },
            git: Vec::new(),
            paths: Vec::new(),
            globs: Vec::new(),
            needs: Needs::default(),
            keeps_whole: false,
            conditions: 0,
            depth: 0,
            commands: 0,
        }
    }

    pub(super) fn of(&self, node: Node<'_>) -> &'t str {
        self.slice(node.byte_range())
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    pub(super) fn has_moved(&self) -> bool {
        !self.folders.is_empty()
    }

    /// Notes that the line changes to a folder of the project.
    pub(super) fn moves(&mut self, folder: &str) {
        let there = self.position.at.take().map(|at| absolute(&at, folder));
        // An earlier command may change the folders.
        let is_certain = self.position.doubts == 0 && self.more.is_empty();
        let there = there.filter(|there| is_certain && Path::new(there).join(".").is_dir());
        self.position.strays |= self.position.loops > 0;
        self.folders.push(there.clone().unwrap_or_else(|| folder.to_owned()));
        self.position.at = there;
    }

    /// Returns the path that one with `..` leads to, if that is in the folder: as written, and as the kernel follows it.
    pub(super) fn risen(&mut self, path: &str) -> Option<PathBuf> {
        self.position.rises = true;
        let at = self.position.at.as_deref().filter(|_| self.more.is_empty())?;
        let followed = Path::new(at).canonicalize().map_or_else(|_| at.into(), |at| at.join(path));
        Path::new(&absolute(at, path)).starts_with(&self.ground.folder).then_some(followed)
    }

    /// Walks a subshell, which leaves the folder of its parent as it is.
    fn apart<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let at = self.position.at.clone();
        let value = self.conditional(body);
        self.position.at = at;
        value
    }

    /// Walks commands that may run or not.
    fn doubtful<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.position.doubts += 1;
        let value = self.conditional(body);
        self.position.doubts -= 1;
        value
    }

    /// Walks commands that may run several times.
    fn repeated<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.position.loops += 1;
        let value = self.doubtful(body);
        self.position.loops -= 1;
        value
    }

    /// Returns whether a path goes up from a folder in which the shell may not be.
    pub(super) fn rises_from_elsewhere(&self) -> bool {
        self.position.rises && self.position.strays
    }

    /// Gives up: the whole line is one part that does more than read.
    fn lose(&mut self) -> Flow {
        self.is_lost = true;
        Flow::Any
    }

    /// Walks all of a line.
    pub(super) fn line(&mut self, root: Node<'_>) {
        self.find_assigned(root, &mut BTreeSet::new());
        self.statements(root, Flow::Any);
    }

    /// Notes names that are assigned more than once: which value they have depends on what runs.
    fn find_assigned(&mut self, root: Node<'_>, seen: &mut BTreeSet<String>) {
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            let names: Vec<&str> = match node.kind() {
                "variable_assignment" => {
                    node.child_by_field_name("name").map(|name| self.of(name)).into_iter().collect()
                }
                "for_statement" => node.child_by_field_name("variable").map(|name| self.of(name)).into_iter().collect(),
                "command" if self.of(node).starts_with("read") => self.of(node).split_whitespace().skip(1).collect(),
                _ => Vec::new(),
            };
            for name in names {
                if !seen.insert(name.to_owned()) {
                    self.again.insert(name.to_owned());
                }
            }
            nodes.extend(children(node));
        }
    }

    /// Walks every statement below a node. Returns what the last one prints.
    fn statements(&mut self, node: Node<'_>, input: Flow) -> Flow {
        let all: Vec<Node<'_>> = children(node).collect();
        self.sequence(&all, input)
    }

    fn sequence(&mut self, nodes: &[Node<'_>], input: Flow) -> Flow {
        let mut flows = Vec::new();
        for node in nodes {
            match node.kind() {
                "comment" => {}
                _ if node.is_named() => flows.push(self.statement(*node, input)),
                ";" | "\n" | ";;" | "{" | "}" | "(" | ")" | "do" | "done" | "then" | "else" | "elif" | "if" | "fi"
                | "while" | "until" | "!" | "$(" | "`" => {}
                // Whatever else stands between statements: `&` runs them in the background.
                _ => return self.lose(),
            }
        }
        match flows[..] {
            [flow] => flow,
            _ => Flow::Any,
        }
    }

    fn conditional<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.conditions += 1;
        let value = body(self);
        self.conditions -= 1;
        value
    }

    pub(super) fn statement(&mut self, node: Node<'_>, input: Flow) -> Flow {
        if self.is_lost || self.depth >= MAX_DEPTH || node.has_error() {
            return self.lose();
        }
        self.depth += 1;
        let flow = self.of_kind(node, input);
        self.depth -= 1;
        flow
    }

    fn of_kind(&mut self, node: Node<'_>, input: Flow) -> Flow {
        match node.kind() {
            "command" => self.command(node, input),
            "list" | "pipeline" | "redirected_statement" => self.list(node, input),
            "negated_command" | "do_group" | "variable_assignments" => self.statements(node, input),
            "compound_statement" if !self.of(node).starts_with("((") => self.statements(node, input),
            "subshell" => self.apart(|walk| walk.statements(node, input)),
            "if_statement" | "elif_clause" | "else_clause" => self.doubtful(|walk| walk.statements(node, input)),
            "for_statement" => self.for_each(node, input),
            "while_statement" => self.repeated(|walk| walk.statements(node, input)),
            "variable_assignment" => self.assign(node).unwrap_or_else(|| self.lose()),
            "test_command" => self.test(node).unwrap_or_else(|| self.lose()),
            _ => self.lose(),
        }
    }

    fn prints_nothing(&self, node: Node<'_>) -> bool {
        let text = self.of(node);
        node.kind() == "variable_assignment"
            || node.kind() == "command" && ["cd ", "set ", "true"].iter().any(|start| text.starts_with(start))
    }

    fn for_each(&mut self, node: Node<'_>, input: Flow) -> Flow {
        let parts: Vec<Node<'_>> = children(node).collect();
        let is_for = parts.first().is_some_and(|first| first.kind() == "for");
        let (Some(name), Some(body)) = (node.child_by_field_name("variable"), node.child_by_field_name("body")) else {
            return self.lose();
        };
        let name = self.of(name).to_owned();
        let mut values = Vec::new();
        for part in &parts {
            let is_value = part.is_named() && part.start_byte() > parts[1].start_byte() && part.id() != body.id();
            if is_value && part.kind() != "comment" {
                let Some(word) = self.word(*part) else { return self.lose() };
                values.push(word);
            }
        }
        if !is_for || values.is_empty() || values.len() > MAX_TURNS || !is_harmless(&name) {
            return self.lose();
        }
        self.repeated(|walk| {
            for value in values {
                let value = match value {
                    _ if walk.again.contains(&name) => Word::Any { many: true, wild: true },
                    Word::Names(names) => Word::Names(Names { one: true, ..names }),
                    value => value,
                };
                walk.variables.insert(name.clone(), value);
                walk.statement(body, input);
            }
            walk.variables.insert(name.clone(), Word::Any { many: true, wild: true });
        });
        Flow::Any
    }

    /// `name=value`, where the name means nothing to any program.
    fn assign(&mut self, node: Node<'_>) -> Option<Flow> {
        let parts: Vec<Node<'_>> = children(node).collect();
        let name = node.child_by_field_name("name").filter(|name| name.kind() == "variable_name")?;
        let name = self.of(name).to_owned();
        let value = match parts[..] {
            [_, equals] if equals.kind() == "=" => Word::Known(String::new()),
            [_, equals, value] if equals.kind() == "=" => {
                self.keeps_whole = true;
                let word = self.word(value);
                self.keeps_whole = false;
                word?
            }
            _ => return None,
        };
        let is_certain = self.conditions == 0 && !self.again.contains(&name);
        let value = match value {
            // No splitting happens here, and no names are looked for.
            Word::Known(text) if is_certain => Word::Known(text),
            Word::Any { wild: false, .. } if is_certain => Word::Any { many: true, wild: false },
            _ => Word::Any { many: true, wild: true },
        };
        if !is_harmless(&name) {
            return None;
        }
        self.variables.insert(name, value);
        Some(Flow::Any)
    }

    /// Sets a variable to what `read` reads.
    pub(super) fn reads_into(&mut self, name: &str, input: Flow) -> bool {
        let value = match input {
            Flow::Names if !self.again.contains(name) => Word::Names(Names { dash: true, wide: true, one: true }),
            Flow::Names | Flow::Plain | Flow::Any => Word::Any { many: true, wild: true },
        };
        self.variables.insert(name.to_owned(), value);
        is_harmless(name)
    }

    fn list(&mut self, node: Node<'_>, input: Flow) -> Flow {
        let pipelines = chain(node);
        let mut redirects = pipelines.iter().flat_map(|pipeline| &pipeline.stages).flat_map(|stage| &stage.redirects);
        if redirects.any(|redirect| redirect.kind() == "heredoc_redirect") {
            return self.does_more(node.byte_range(), node);
        }
        let (mut printed, mut may_be_skipped) = (None, false);
        let before = self.folders.len();
        let mut moved = before;
        for (at, pipeline) in pipelines.iter().enumerate() {
            may_be_skipped |= pipeline.is_else;
            // What follows `cd a ||` runs where `cd` has failed.
            if pipeline.is_else && self.folders.len() > before {
                self.position.at = None;
            }
            let flow = match pipeline.stages.len() {
                2.. => self.apart(|walk| walk.pipeline(pipeline, input)),
                _ if may_be_skipped => self.doubtful(|walk| walk.pipeline(pipeline, input)),
                _ if at == 0 => self.pipeline(pipeline, input),
                _ => self.conditional(|walk| walk.pipeline(pipeline, input)),
            };
            if at == 0 {
                moved = self.folders.len();
            }
            // `a || true`: both print. `cd a && b`: only the second one does.
            let is_silent =
                at == 0 && pipelines.len() > 1 && pipeline.plain().is_some_and(|first| self.prints_nothing(first));
            if !is_silent {
                printed = Some(if printed.is_none_or(|before| before == flow) { flow } else { Flow::Any });
            }
        }
        // After `a && cd b`, the shell may be in either folder.
        if self.folders.len() > moved {
            self.position.at = None;
        }
        printed.unwrap_or(Flow::Any)
    }

    fn pipeline(&mut self, pipeline: &Pipeline<'_>, input: Flow) -> Flow {
        let at = self.position.at.clone();
        let is_one = pipeline.stages.len() == 1;
        pipeline.stages.iter().fold(input, |flow, stage| {
            let flow = self.stage(stage, flow);
            if !is_one {
                self.position.at.clone_from(&at);
            }
            flow
        })
    }

    fn stage(&mut self, stage: &Stage<'_>, mut input: Flow) -> Flow {
        let Some(body) = stage.body else { return self.lose() };
        for redirect in &stage.redirects {
            match self.redirect(*redirect) {
                Some(true) => input = Flow::Any,
                Some(false) => {}
                None => {
                    let end = stage.redirects.last().map_or(body.end_byte(), Node::end_byte);
                    return self.does_more(body.start_byte()..end, body);
                }
            }
        }
        self.statement(body, input)
    }

    /// Returns whether a redirection gives a command its input, or `None` if it does more than read.
    fn redirect(&mut self, node: Node<'_>) -> Option<bool> {
        if node.kind() == "herestring_redirect" {
            let text = children(node).find(Node::is_named)?;
            return self.word(text).map(|_| true);
        }
        if node.kind() != "file_redirect" {
            return None;
        }
        let parts: Vec<Node<'_>> = children(node).filter(|part| part.kind() != "file_descriptor").collect();
        let [operator, target] = parts[..] else { return None };
        let target = self.word(target)?;
        let text = target.text();
        match operator.kind() {
            ">" | ">>" | "&>" | "&>>" | ">|" if text == Some("/dev/null") => Some(false),
            ">&" if matches!(text, Some("1" | "2")) => Some(false),
            "<" => self.reads(&target).then_some(true),
            _ => None,
        }
    }

    /// Notes a part that does more than read. After a builtin that changes the shell, nothing is certain.
    fn does_more(&mut self, whole: Range<usize>, command: Node<'_>) -> Flow {
        let mut nodes = vec![command];
        while let Some(node) = nodes.pop() {
            match node.kind() {
                "command" => {
                    let name = node.child_by_field_name("name").map_or("", |name| self.of(name));
                    let prints = matches!(name, "echo" | "printf" | "test" | "[");
                    if !is_plain_name(name) || (rules::SHELL.contains(&name) && !prints) || name == "exec" {
                        return self.lose();
                    }
                }
                "variable_assignment" | "declaration_command" | "unset_command" | "function_definition" => {
                    let is_before_command = node.parent().is_some_and(|parent| parent.kind() == "command");
                    if !is_before_command {
                        return self.lose();
                    }
                }
                _ => {}
            }
            nodes.extend(children(node));
        }
        self.more.push(whole);
        Flow::Any
    }

    fn command(&mut self, node: Node<'_>, input: Flow) -> Flow {
        self.commands += 1;
        if self.commands > MAX_COMMANDS {
            return self.lose();
        }
        let Some(name) = node.child_by_field_name("name").map(|name| self.of(name)) else { return self.lose() };
        let Some((words, input)) = self.words_of(node, input) else { return self.does_more(node.byte_range(), node) };
        if !is_plain_name(name) {
            return self.lose();
        }
        // Names that begin with `..` mean other files in another folder.
        let goes_up = |word: &Word| word.text().is_some_and(|text| text.split('/').any(|part| part == ".."));
        match self.program(name, &words, input) {
            Some(flow) => {
                let flow = if words.iter().any(goes_up) { Flow::Any } else { flow };
                self.programs.insert(name.to_owned());
                self.readers.push(node.byte_range());
                flow
            }
            None => self.does_more(node.byte_range(), node),
        }
    }

    /// Returns the words of a command after its name, and its input.
    fn words_of(&mut self, node: Node<'_>, input: Flow) -> Option<(Vec<Word>, Flow)> {
        let (mut words, mut input, mut end) = (Vec::new(), input, None);
        for part in children(node) {
            // The grammar takes a line that begins with a backslash for more words of the line before it.
            let gap = self.slice(end.unwrap_or(part.start_byte())..part.start_byte()).replace("\\\n", "");
            if !gap.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
                return None;
            }
            end = Some(part.end_byte());
            match part.kind() {
                "command_name" | "comment" => {}
                "variable_assignment" => self.prefix(part)?,
                "herestring_redirect" | "file_redirect" => {
                    if self.redirect(part)? {
                        input = Flow::Any;
                    }
                }
                _ if part.is_named() => words.push(self.word(part)?),
                _ => return None,
            }
        }
        Some((words, input))
    }

    /// Accepts a variable before a command that only changes how it prints.
    fn prefix(&mut self, node: Node<'_>) -> Option<()> {
        let name = node.child_by_field_name("name").map(|name| self.of(name))?;
        let value = node.child_by_field_name("value").map(|value| self.of(value))?;
        let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
        (matches!(name, "LC_ALL" | "LANG" | "LC_CTYPE" | "LC_COLLATE" | "NO_COLOR" | "COLUMNS") && is_plain)
            .then_some(())
    }

    pub(super) fn substituted(&mut self, node: Node<'_>) -> Option<Flow> {
        let text = self.of(node);
        // In backquotes, a backslash changes what the text is.
        if text.starts_with('`') && text.contains('\\') {
            return None;
        }
        if self.depth >= MAX_DEPTH {
            return None;
        }
        let more = self.more.len();
        self.depth += 1;
        let keeps_whole = std::mem::take(&mut self.keeps_whole);
        let flow = self.apart(|walk| walk.statements(node, Flow::Any));
        self.keeps_whole = keeps_whole;
        self.depth -= 1;
        // The command around it is then the part that does more.
        let only_reads = self.more.len() == more && !self.is_lost;
        self.more.truncate(more);
        only_reads.then_some(flow)
    }

    /// `[ … ]` and `[[ … ]]`.
    fn test(&mut self, node: Node<'_>) -> Option<Flow> {
        let is_shell = self.of(node).starts_with("[[");
        let mut leaves = 0;
        let mut nodes: Vec<Node<'_>> = children(node).collect();
        while let Some(node) = nodes.pop() {
            match node.kind() {
                "[" | "]" | "[[" | "]]" | "!" | "(" | ")" | "=" | "==" | "!=" => {}
                "=~" | "<" | ">" | "&&" | "||" if is_shell => {}
                "unary_expression" | "binary_expression" | "parenthesized_expression" => nodes.extend(children(node)),
                // Arithmetic in `[[ ]]` evaluates text, and `-v` does everywhere.
                "test_operator" => {
                    let operator = self.of(node);
                    let evaluates = matches!(operator, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
                    if matches!(operator, "-v" | "-R" | "-o" | "-a") || (evaluates && is_shell) {
                        return None;
                    }
                }
                "regex" => {
                    if self.of(node).contains(['$', '`']) {
                        return None;
                    }
                }
                _ if node.is_named() => {
                    leaves += 1;
                    match self.word(node)? {
                        Word::Known(text) => self.stays(&text).then_some(())?,
                        // `~/x` is a path elsewhere.
                        Word::Any { .. } if node.kind() != "string" => return None,
                        Word::Names(_) | Word::Any { .. } => {}
                    }
                }
                _ => return None,
            }
        }
        (is_shell || leaves <= 2).then_some(Flow::Any)
    }
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'+'))
}

/// Returns whether a variable of this name means something only to the command itself.
fn is_harmless(name: &str) -> bool {
    let is_lower = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let is_letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let means_something = name.ends_with("_proxy")
        || name.starts_with("npm_")
        || name.starts_with("cargo_")
        || matches!(name, "path" | "cdpath" | "fpath" | "histchars" | "auto_resume" | "_" | "prompt");
    (is_lower || is_letter) && !means_something
}
