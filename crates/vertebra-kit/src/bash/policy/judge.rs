//! Collects findings, within limits on depth and work.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use vertebra::{Clock, shell};

use crate::{invisible::is_joiner, is_invisible};

use super::{
    Class, Decision, Ground, Judgement, Line,
    budget::Budget,
    fields::plain,
    parse::{Parsed, parse},
    places::is_below,
    scope::{Cwd, Scope},
    value::{UNKNOWN, shown},
};

/// The longest command that is analysed. A shell accepts no longer argument either.
const MAX_COMMAND: usize = 128 * 1024;
/// The longest command that is judged at once, whoever waits.
const MAX_QUICK: usize = 2 * 1024;
/// The longest command that a second parser reads properly; a longer one is likely a document.
const MAX_SECOND: usize = 64 * 1024;
/// How deeply scripts, substitutions and compound commands are followed.
const MAX_DEPTH: usize = 40;
/// How many commands are judged.
pub(super) const MAX_COMMANDS: usize = 3000;
const MAX_FINDINGS: usize = 200;
const MAX_LINES: usize = 400;

/// The origin of a text in the judged command.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The text starts at this byte.
    At(usize),
    /// The text was derived from this range.
    Within(Range<usize>),
}

impl Origin {
    pub(super) fn span(&self, range: Range<usize>) -> Range<usize> {
        match self {
            Self::At(begin) => begin + range.start..begin + range.end,
            Self::Within(span) => span.clone(),
        }
    }

    /// Returns the origin of the text after an offset.
    pub(super) fn inner(&self, offset: usize) -> Self {
        match self {
            Self::At(begin) => Self::At(begin + offset),
            Self::Within(span) => Self::Within(span.clone()),
        }
    }
}

pub(super) struct Finding {
    pub(super) decision: Decision,
    pub(super) class: Class,
    reason: String,
    span: Range<usize>,
}

/// The standard input of a command, or `None` if it is not redirected.
pub(super) type Input = Option<String>;

pub(super) struct Judge<'g> {
    pub(super) ground: &'g Ground,
    pub(super) scope: Scope,
    pub(super) findings: Vec<Finding>,
    /// The range that findings point at.
    pub(super) at: Range<usize>,
    /// Functions that are being followed.
    pub(super) calling: Vec<String>,
    /// Functions that were defined and not called yet.
    pub(super) uncalled: BTreeSet<String>,
    /// Whether the current command runs in a pipeline or in the background.
    pub(super) beside: bool,
    outline: Vec<Line>,
    named: HashSet<String>,
    pub(super) budget: Budget<'g>,
    depth: usize,
    pub(super) commands: usize,
    /// What git executes in the working folder, once a change to it has to be judged.
    pub(super) git: OnceCell<Vec<String>>,
    /// The git commands: the folder of each, and its words after `git`.
    pub(super) git_commands: Vec<(String, Vec<String>)>,
    /// The protected paths that are changed.
    pub(super) protected: BTreeSet<String>,
    /// The limit that was reached, in words for people.
    gave_up: Option<String>,
}

pub(super) fn judge(command: &str, ground: &Ground, clock: &dyn Clock) -> Judgement {
    follow(command, ground, clock).finish(command)
}

/// Judges a command if that takes few steps.
pub(super) fn quick(command: &str, ground: &Ground, clock: &dyn Clock) -> Option<Judgement> {
    if command.len() > MAX_QUICK {
        return None;
    }
    let judge = within(command, ground, Budget::quick(clock));
    (!judge.budget.is_over()).then(|| judge.finish(command))
}

/// Returns the protected paths that a command changes, if following it takes few steps.
pub(super) fn protected(command: &str, ground: &Ground, clock: &dyn Clock) -> Vec<String> {
    if command.len() > MAX_SECOND {
        return Vec::new();
    }
    let judge = within(command, ground, Budget::quick(clock));
    if judge.budget.is_over() { Vec::new() } else { judge.protected.into_iter().collect() }
}

pub(super) fn follow<'g>(command: &str, ground: &'g Ground, clock: &'g dyn Clock) -> Judge<'g> {
    within(command, ground, Budget::new(command.len().min(MAX_COMMAND), clock))
}

fn within<'g>(command: &str, ground: &'g Ground, budget: Budget<'g>) -> Judge<'g> {
    let mut judge = Judge::new(ground, budget);
    judge.at = 0..command.len();
    if command.len() > MAX_COMMAND {
        judge.give_up(format!("the command is too long to judge (limit: {} KiB)", MAX_COMMAND / 1024));
    } else {
        judge.hidden(command);
        judge.script(command, &Origin::At(0), &None);
        judge.follow_uncalled();
        judge.second_opinion(command);
    }
    if let Some(reason) = judge.gave_up.take() {
        judge.deny(Class::Unknown, reason);
    }
    if judge.scope.overflown {
        judge.unknown("the command uses too many variables, functions or files to analyse");
    }
    judge
}

impl<'g> Judge<'g> {
    fn new(ground: &'g Ground, budget: Budget<'g>) -> Self {
        Self {
            ground,
            scope: Scope::new(&ground.here, &ground.home),
            findings: Vec::new(),
            at: 0..0,
            calling: Vec::new(),
            uncalled: BTreeSet::new(),
            beside: false,
            outline: Vec::new(),
            named: HashSet::new(),
            budget,
            depth: 0,
            commands: 0,
            git: OnceCell::new(),
            git_commands: Vec::new(),
            protected: BTreeSet::new(),
            gave_up: None,
        }
    }

    pub(super) fn deny(&mut self, class: Class, reason: impl Into<String>) {
        self.find(Decision::Deny, class, reason);
    }

    pub(super) fn ask(&mut self, class: Class, reason: impl Into<String>) {
        self.find(Decision::Ask, class, reason);
    }

    pub(super) fn unknown(&mut self, reason: impl Into<String>) {
        self.ask(Class::Unknown, reason);
    }

    /// Denies code that the command downloads and runs.
    pub(super) fn runs_download(&mut self) {
        self.deny(Class::RemoteCode, "runs code downloaded from the network; save it to a file and read it first");
    }

    pub(super) fn find(&mut self, decision: Decision, class: Class, reason: impl Into<String>) {
        if self.findings.len() < MAX_FINDINGS || decision > self.worst() {
            self.findings.push(Finding { decision, class, reason: reason.into(), span: self.at.clone() });
        }
    }

    pub(super) fn worst(&self) -> Decision {
        self.findings.iter().map(|finding| finding.decision).max().unwrap_or(Decision::Allow)
    }

    /// Goes one level deeper. Over a limit it reports that and returns `false`.
    pub(super) fn enter(&mut self, steps: usize) -> bool {
        let affordable = self.charge(steps + 1) && self.commands <= MAX_COMMANDS;
        let within_limits = affordable && self.depth < MAX_DEPTH;
        if within_limits {
            self.depth += 1;
        } else if affordable {
            self.give_up(format!("the command is too complex to judge: it has more than {MAX_DEPTH} levels"));
        } else {
            self.too_complex();
        }
        within_limits
    }

    /// Counts steps. Over the limit it reports that and returns `false`.
    pub(super) fn charge(&mut self, steps: usize) -> bool {
        let enough = self.budget.spend(steps);
        if !enough {
            self.too_complex();
        }
        enough
    }

    fn too_complex(&mut self) {
        self.give_up("the command is too complex to judge; split it into simpler commands");
    }

    /// Denies a command that is over a limit: what is behind the limit was not seen.
    fn give_up(&mut self, reason: impl Into<String>) {
        self.gave_up.get_or_insert_with(|| reason.into());
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Judges a script, and returns its output as far as it is known.
    pub(super) fn script(&mut self, text: &str, origin: &Origin, input: &Input) -> String {
        if !self.enter(text.len()) {
            return UNKNOWN.to_string();
        }
        let printed = if let Some(Parsed { text, tree }) = parse(text, &mut self.budget) {
            if tree.root_node().has_error() {
                self.unknown("part of the command is not shell syntax that the policy can parse");
            }
            let source = super::walk::Source { text: &text, origin: origin.clone() };
            self.statements(&source, tree.root_node(), input)
        } else {
            if self.budget.is_over() {
                self.too_complex();
            } else {
                self.unknown("part of the command is not shell syntax that the policy can parse");
            }
            UNKNOWN.to_string()
        };
        self.leave();
        printed
    }

    /// Runs `body` in a subshell, whose changes to the shell are dropped.
    pub(super) fn subshell<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.clone();
        let value = body(self);
        self.scope.leave_subshell(outer);
        value
    }

    /// Runs `body` as something that may or may not happen.
    pub(super) fn perhaps<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.scope.clone();
        self.charge(before.vars.size());
        let value = body(self);
        let folder = &self.ground.folder;
        let outside = |cwd: &Cwd| cwd.path.as_ref().is_none_or(|path| !is_below(path, folder));
        self.scope.join(&before, outside);
        value
    }

    /// Runs `body` as a trial. Returns its worst finding and keeps nothing.
    pub(super) fn trial(&mut self, body: impl FnOnce(&mut Self)) -> Option<(Decision, Class, String)> {
        let findings = std::mem::take(&mut self.findings);
        let lines = self.outline.len();
        self.subshell(body);
        self.outline.truncate(lines);
        let found = std::mem::replace(&mut self.findings, findings);
        let worst = found.iter().map(|finding| finding.decision).max()?;
        found.into_iter().find(|finding| finding.decision == worst).map(|f| (worst, f.class, f.reason))
    }

    /// Records a command by its first word.
    pub(super) fn name(&mut self, word: &str) {
        self.commands += 1;
        self.charge(word.len());
        self.named.insert(word.to_owned());
        // The second parser removes quotes.
        self.named.insert(word.trim_matches('"').to_owned());
    }

    pub(super) fn line(&mut self, what: &'static str, text: &str) {
        self.charge(text.len());
        if self.outline.len() < MAX_LINES {
            // A command is one level deeper than its statement, which also contains the redirections.
            let own = usize::from(what == "command");
            self.outline.push(Line { depth: self.depth.saturating_sub(own), what, text: shown(text) });
        }
    }

    /// Reports characters that make a command look like another one.
    fn hidden(&mut self, command: &str) {
        let found = command.char_indices().find(|(at, c)| match c {
            '\n' | '\t' => false,
            '\r' => !command[at + 1..].starts_with('\n'),
            &c => c.is_control() || is_invisible(c) || is_joiner(c),
        });
        if let Some((at, c)) = found {
            let all = std::mem::replace(&mut self.at, at..at + c.len_utf8());
            self.unknown(format!("an invisible character (U+{:04X}) may hide part of the command", u32::from(c)));
            self.at = all;
        }
    }

    fn follow_uncalled(&mut self) {
        for name in std::mem::take(&mut self.uncalled) {
            if let Some(body) = self.scope.functions.get(&name).cloned() {
                self.scope.args = vec![UNKNOWN.to_string(); 9].into();
                self.script(&body, &Origin::Within(self.at.clone()), &None);
            }
        }
    }

    /// Checks the commands that a second parser finds. A command that the grammar did not show must be harmless.
    fn second_opinion(&mut self, command: &str) {
        let limits = shell::ParseLimits::default();
        let parsed = shell::parse(command, limits);
        let others = parsed.texts();
        if command.len() <= MAX_SECOND && parsed.is_beyond_reading() {
            self.too_complex();
        } else if others.len() >= limits.commands {
            self.unknown(format!("the line has too many commands to analyse (limit: {})", limits.commands));
        }
        // A plain line is what the grammar shows.
        for other in others.iter().filter(|other| **other != command) {
            if !self.charge(other.len()) {
                return;
            }
            let words: Vec<&str> = other.split(' ').filter(|word| !word.is_empty()).collect();
            let Some(first) = words.first() else { continue };
            if self.named.contains(*first) || first.contains(['=', '<', '>']) {
                continue;
            }
            let argv = plain(words.iter().map(|&word| word.to_owned()));
            if self.trial(|judge| drop(judge.invoke(argv, &None))).is_some() {
                self.unknown(format!("the policy cannot tell whether the shell runs `{}` as a command", shown(first)));
            }
        }
    }

    fn finish(self, command: &str) -> Judgement {
        let decision = self.worst();
        let cause = self.findings.iter().find(|finding| finding.decision == decision);
        Judgement {
            decision,
            classes: self.findings.iter().map(|finding| finding.class).collect(),
            reason: cause.map(|cause| cause.reason.clone()).unwrap_or_default(),
            span: cause.map(|cause| snapped(command, &cause.span)),
            outline: outlined(self.outline),
        }
    }
}

/// The span within the command, on character boundaries.
fn snapped(command: &str, span: &Range<usize>) -> Range<usize> {
    let end = command.ceil_char_boundary(span.end.min(command.len()));
    command.floor_char_boundary(span.start.min(end))..end
}

/// Sets the depth of each line by its parent, instead of by the depth of the analysis.
fn outlined(mut lines: Vec<Line>) -> Vec<Line> {
    let mut above: Vec<usize> = Vec::new();
    for line in &mut lines {
        while above.last().is_some_and(|depth| *depth >= line.depth) {
            above.pop();
        }
        let depth = above.len();
        above.push(std::mem::replace(&mut line.depth, depth));
    }
    lines
}
