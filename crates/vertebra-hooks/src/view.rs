//! Asks a matcher about one command and one path of an event at a time.
//!
//! A pattern over several texts usually holds if one of them matches. That is wrong for an exception: in `git log; rm x` the
//! innocent part must not excuse the other. And it is wrong for what allows something.

use std::{borrow::Cow, slice};

use smallvec::SmallVec;

use crate::{
    AttributeValue,
    compiled::{Attributes, Compiled, CompiledPattern},
};

/// How many combinations of texts a matcher is asked about. Beyond that, a hook that refuses runs, and one that allows does not.
const MOST: usize = 10_000;

/// The texts that a matcher is asked about.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    /// What is seen of an attribute, by its place; of the others, all is seen.
    seen: &'v [(u32, Seen<'v>)],
    is_negated: bool,
}

#[derive(Clone, Copy)]
enum Seen<'v> {
    /// All texts: one that matches is enough.
    All,
    /// The forms of one text.
    One(&'v [Cow<'v, str>]),
    /// The line as a whole. A negated pattern matches it if it matches each of its commands.
    Line(&'v str),
    /// A command that the line may run. Only a negated pattern is compared with it.
    Further(&'v str),
}

impl View<'_> {
    pub(crate) const WHOLE: Self = Self { seen: &[], is_negated: false };

    pub(crate) fn negated(&self) -> Self {
        Self { is_negated: !self.is_negated, ..*self }
    }

    /// Whether the text of this attribute in this view is such.
    pub(crate) fn has(&self, place: u32, value: &AttributeValue<'_>, is_such: impl Fn(&str) -> bool) -> bool {
        let seen = self.seen.iter().find(|(seen, _)| *seen == place).map_or(Seen::All, |(_, seen)| *seen);
        match seen {
            Seen::All => value.any_text(is_such),
            Seen::One(forms) => forms.iter().any(|text| is_such(text)),
            Seen::Line(_) if self.is_negated => value.several().iter().all(|command| is_such(command)),
            Seen::Further(_) if !self.is_negated => true,
            Seen::Line(command) | Seen::Further(command) => is_such(command),
        }
    }
}

/// What a matcher asks about attributes with several texts.
#[derive(Default)]
pub(crate) struct Asks(SmallVec<[Asked; 2]>);

#[derive(Clone, Copy)]
struct Asked {
    place: u32,
    /// Whether the texts are paths, of which two may be forms of one.
    are_paths: bool,
    plainly: bool,
    negated: bool,
}

/// What can be seen of each attribute.
type Choices<'v> = SmallVec<[(u32, Vec<Seen<'v>>); 2]>;

impl Asks {
    pub(crate) fn of(matcher: &Compiled) -> Self {
        let mut asks = Self::default();
        asks.add(matcher, false);
        asks
    }

    fn add(&mut self, matcher: &Compiled, is_negated: bool) {
        match matcher {
            Compiled::Attribute { place, is: CompiledPattern::Regex(_) } => self.ask(*place, false, is_negated),
            Compiled::Attribute { place, is: CompiledPattern::Glob(_) } => self.ask(*place, true, is_negated),
            Compiled::All(inner) | Compiled::Any(inner) => inner.iter().for_each(|inner| self.add(inner, is_negated)),
            Compiled::Not(inner) => self.add(inner, !is_negated),
            // The first two ask for themselves; the others are about one thing.
            Compiled::Some(..)
            | Compiled::Every(..)
            | Compiled::Attribute { .. }
            | Compiled::Inside { .. }
            | Compiled::Metadata { .. } => {}
        }
    }

    fn ask(&mut self, place: u32, are_paths: bool, is_negated: bool) {
        let (plainly, negated) = (!is_negated, is_negated);
        match self.0.iter_mut().find(|asked| asked.place == place) {
            Some(asked) => {
                asked.plainly |= plainly;
                asked.negated |= negated;
            }
            None => self.0.push(Asked { place, are_paths, plainly, negated }),
        }
    }

    pub(crate) fn negates(&self) -> bool {
        self.0.iter().any(|asked| asked.negated)
    }

    /// Whether the matcher holds for one command and one path of the event.
    pub(crate) fn holds_for_one(&self, matcher: &Compiled, attributes: &Attributes<'_>) -> bool {
        let negated = self.0.iter().filter(|asked| asked.negated);
        let choices: Choices<'_> = negated.map(|asked| (asked.place, asked.to_be_excused(attributes))).collect();
        count(&choices) > MOST || views(&choices).any(|seen| matcher.holds(attributes, &View::of(&seen)))
    }

    /// Whether the matcher holds for each command and each path. Where a pattern cannot be evaluated, it does not.
    pub(crate) fn holds_for_every(&self, matcher: &Compiled, attributes: &Attributes<'_>) -> bool {
        let choices: Choices<'_> = self.0.iter().map(|asked| (asked.place, asked.to_be_allowed(attributes))).collect();
        let before = attributes.unknown.take();
        let holds = count(&choices) <= MOST
            && views(&choices).all(|seen| matcher.holds(attributes, &View::of(&seen)))
            && !attributes.unknown.get();
        attributes.unknown.set(before);
        holds
    }
}

impl Asked {
    /// Each text to which an exception must apply. Commands that a line only may run count if the matcher looks for commands.
    fn to_be_excused<'f>(self, attributes: &'f Attributes<'_>) -> Vec<Seen<'f>> {
        let Some(value) = attributes.kept(self.place) else { return vec![Seen::All] };
        let mut seen = self.own(value);
        if let Some(commands) = value.commands().filter(|_| self.plainly) {
            seen.extend(commands.further.iter().map(|command| Seen::One(slice::from_ref(command))));
            let line = commands.line.as_deref().filter(|_| !commands.simple.is_empty());
            seen.extend(line.map(Seen::Line));
        }
        seen
    }

    /// Each text to which what allows must apply.
    fn to_be_allowed<'f>(self, attributes: &'f Attributes<'_>) -> Vec<Seen<'f>> {
        let Some(value) = attributes.kept(self.place) else { return vec![Seen::All] };
        let mut seen = self.own(value);
        if let Some(commands) = value.commands().filter(|_| self.negated) {
            seen.extend(commands.further.iter().map(|command| Seen::Further(command)));
        }
        seen
    }

    fn own<'f>(self, value: &'f AttributeValue<'_>) -> Vec<Seen<'f>> {
        let line = value.commands().filter(|commands| commands.simple.is_empty());
        let mut rest = line.map_or_else(|| value.several(), |commands| commands.line.as_slice());
        let mut own = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let (forms, behind) = rest.split_at(if self.are_paths { forms(rest) } else { 1 });
            own.push(Seen::One(forms));
            rest = behind;
        }
        if own.is_empty() { vec![Seen::All] } else { own }
    }
}

/// How many of the first paths are forms of one: a relative path, and behind it the absolute one that ends in it.
fn forms(paths: &[Cow<'_, str>]) -> usize {
    let [first, absolute, ..] = paths else { return paths.len() };
    let is_form = || absolute.strip_suffix(&**first).is_some_and(|head| head.ends_with('/'));
    1 + usize::from(!first.starts_with('/') && is_form())
}

fn count(choices: &Choices<'_>) -> usize {
    choices.iter().fold(1, |count, (_, seen)| count.saturating_mul(seen.len()))
}

/// Every combination of what can be seen.
fn views<'v>(choices: &Choices<'v>) -> impl Iterator<Item = SmallVec<[(u32, Seen<'v>); 2]>> {
    (0..count(choices)).map(move |mut number| {
        let pick = |(place, seen): &(u32, Vec<Seen<'v>>)| {
            let one = seen[number % seen.len()];
            number /= seen.len();
            (*place, one)
        };
        choices.iter().map(pick).collect()
    })
}

impl<'v> View<'v> {
    fn of(seen: &'v [(u32, Seen<'v>)]) -> Self {
        Self { seen, is_negated: false }
    }
}
