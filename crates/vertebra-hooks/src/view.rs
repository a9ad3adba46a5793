//! Asks a matcher about one command and one path of an event at a time.
//!
//! A pattern over commands or paths usually holds if one of them matches. That is wrong for an exception: in `git log; rm x` the
//! innocent part must not excuse the other. And it is wrong for what allows something.

use crate::compiled::{Compiled, Facts};

/// How many pairs of a command and a path a matcher is asked about. Beyond that, a hook that refuses runs, and one that allows does not.
const MOST: usize = 10_000;

/// The commands and paths that a matcher is asked about.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    command: Seen<'v>,
    /// The forms of one path; without them, all paths.
    pub(crate) paths: Option<&'v [String]>,
    is_negated: bool,
}

#[derive(Clone, Copy)]
enum Seen<'v> {
    /// The line and all its commands: one that matches is enough.
    All,
    One(&'v str),
    /// The line as a whole. A negated pattern matches it if it matches each of its commands.
    Line(&'v str),
    /// A command that the line may run. Only a negated pattern is compared with it.
    Further(&'v str),
}

impl View<'_> {
    pub(crate) const WHOLE: Self = Self { command: Seen::All, paths: None, is_negated: false };

    pub(crate) fn negated(&self) -> Self {
        Self { is_negated: !self.is_negated, ..*self }
    }

    /// Whether the command of this view is such.
    pub(crate) fn has_command(&self, facts: &Facts<'_>, is_such: impl Fn(&str) -> bool) -> bool {
        match self.command {
            Seen::All => facts.all_commands().any(is_such),
            Seen::Line(_) if self.is_negated => facts.commands().iter().all(|command| is_such(command)),
            Seen::Further(_) if !self.is_negated => true,
            Seen::One(command) | Seen::Line(command) | Seen::Further(command) => is_such(command),
        }
    }
}

/// What a matcher asks about commands and paths.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asks {
    commands: Asked,
    paths: Asked,
}

#[derive(Clone, Copy, Default)]
struct Asked {
    plainly: bool,
    negated: bool,
}

impl Asked {
    fn at_all(self) -> bool {
        self.plainly || self.negated
    }

    fn add(&mut self, is_negated: bool) {
        self.negated |= is_negated;
        self.plainly |= !is_negated;
    }
}

impl Asks {
    pub(crate) fn of(matcher: &Compiled) -> Self {
        let mut asks = Self::default();
        asks.add(matcher, false);
        asks
    }

    fn add(&mut self, matcher: &Compiled, is_negated: bool) {
        match matcher {
            Compiled::Command(_) => self.commands.add(is_negated),
            Compiled::Path(_) => self.paths.add(is_negated),
            Compiled::All(inner) | Compiled::Any(inner) => inner.iter().for_each(|inner| self.add(inner, is_negated)),
            Compiled::Not(inner) => self.add(inner, !is_negated),
            // The first two ask for themselves.
            Compiled::Some(..)
            | Compiled::Every(..)
            | Compiled::Tool(_)
            | Compiled::Session(_)
            | Compiled::Agent(_)
            | Compiled::Step(_)
            | Compiled::Metadata { .. }
            | Compiled::Args { .. } => {}
        }
    }

    pub(crate) fn negates(self) -> bool {
        self.commands.negated || self.paths.negated
    }

    /// Whether the matcher holds for one command and one path of the event.
    pub(crate) fn holds_for_one(self, matcher: &Compiled, facts: &Facts<'_>) -> bool {
        let commands = if self.commands.negated { self.each_command(facts) } else { vec![Seen::All] };
        let paths = if self.paths.negated { each_path(facts) } else { vec![None] };
        commands.len() * paths.len() > MOST || views(&commands, &paths).any(|view| matcher.holds(facts, &view))
    }

    /// Whether the matcher holds for each command and each path. Where a pattern cannot be evaluated, it does not.
    pub(crate) fn holds_for_every(self, matcher: &Compiled, facts: &Facts<'_>) -> bool {
        let mut commands = if self.commands.at_all() { own_commands(facts) } else { vec![Seen::All] };
        if self.commands.negated {
            commands.extend(facts.further().iter().map(|command| Seen::Further(command)));
        }
        let paths = if self.paths.at_all() { each_path(facts) } else { vec![None] };
        let before = facts.unknown.take();
        let holds = commands.len() * paths.len() <= MOST
            && views(&commands, &paths).all(|view| matcher.holds(facts, &view))
            && !facts.unknown.get();
        facts.unknown.set(before);
        holds
    }

    /// Each command to which an exception must apply. Those that a line only may run count if the matcher looks for commands.
    fn each_command<'f>(self, facts: &'f Facts<'_>) -> Vec<Seen<'f>> {
        let mut commands = own_commands(facts);
        if self.commands.plainly {
            commands.extend(facts.further().iter().map(|command| Seen::One(command)));
            let line = facts.subject.command().filter(|_| !facts.commands().is_empty());
            commands.extend(line.map(Seen::Line));
        }
        commands
    }
}

fn own_commands<'f>(facts: &'f Facts<'_>) -> Vec<Seen<'f>> {
    let line = facts.subject.command().filter(|_| facts.commands().is_empty());
    let own: Vec<_> = facts.commands().iter().map(String::as_str).chain(line).map(Seen::One).collect();
    if own.is_empty() { vec![Seen::All] } else { own }
}

/// The forms of each path: a relative one, and behind it the absolute one that it is part of.
fn each_path<'f>(facts: &'f Facts<'_>) -> Vec<Option<&'f [String]>> {
    let (mut groups, mut rest) = (Vec::new(), facts.paths());
    while let [first, others @ ..] = rest {
        let is_form = |absolute: &String| absolute.strip_suffix(first.as_str()).is_some_and(|head| head.ends_with('/'));
        let end = 1 + usize::from(!first.starts_with('/') && others.first().is_some_and(is_form));
        let (group, behind) = rest.split_at(end);
        groups.push(Some(group));
        rest = behind;
    }
    if groups.is_empty() { vec![None] } else { groups }
}

fn views<'v>(commands: &'v [Seen<'v>], paths: &'v [Option<&'v [String]>]) -> impl Iterator<Item = View<'v>> {
    let pairs = commands.iter().flat_map(move |command| paths.iter().map(move |paths| (*command, *paths)));
    pairs.map(|(command, paths)| View { command, paths, is_negated: false })
}
