//! Secrets and personal data that never reach the model, the screen or the record.
//!
//! ```
//! use vertebra::{Agent, testing::Script};
//! use vertebra_kit::redaction::{Redaction, Sensitive, Strategy};
//!
//! let redaction = Redaction::default()
//!     .environment(["DEPLOY_TOKEN"])?
//!     .pattern("ticket", r"TICKET-[0-9]{4,}")?
//!     .on(Sensitive::Email, Strategy::Mask);
//! let agent = Agent::builder(Script::new()).with(redaction).build();
//! # agent.unwrap();
//! # Ok::<(), vertebra_kit::redaction::RedactionError>(())
//! ```
//!
//! What is found is found by its shape or its exact value. A secret that is encoded, split over two results or spelt out is
//! not; what must not be told must not be given to an agent.
//!
//! In a stream nothing of a secret is shown at any time, however it is cut into pieces: the end of the text that may be the
//! beginning of one is kept back, and nothing else is. What a running tool shows piece by piece is searched piece by
//! piece.

mod checks;
mod hooks;
mod invisible;
mod kinds;
pub(crate) mod marks;
mod prefix;
mod redactor;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use regex::Regex;
use regex_syntax::hir::{Hir, HirKind};
use vertebra::{Capability, Kit};

use self::{
    hooks::Places,
    kinds::{Edge, Rule},
    redactor::{Finder, Redactor},
};
pub use self::{invisible::Invisible, kinds::Sensitive, redactor::Strategy};

/// How short a value of one's own may be: shorter ones are in every other word.
const SHORTEST_VALUE: usize = 6;

/// How long something may be that is not yet known to be a match.
const LONGEST_UNDECIDED: usize = 4096;

/// Hides secrets, and personal data if asked to.
#[derive(Debug, Clone)]
pub struct Redaction {
    secrets: BTreeSet<Place>,
    personal: BTreeSet<Place>,
    kinds: BTreeMap<Sensitive, Strategy>,
    own: Vec<Finder>,
    invisible: Invisible,
    key: [u8; 32],
}

/// What kind of text is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Any,
    /// From a file whose name says that it is configuration.
    Configuration,
}

/// Where something is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Place {
    /// In what a person asks.
    Prompt,
    /// In the arguments of tools. A tool then works with what is left.
    Arguments,
    /// In what tools give back.
    Results,
    /// In everything that is sent to a model, old messages included.
    Requests,
    /// In what models say and think, as it streams.
    Answers,
    /// In the journal, in what front ends are told, and in the report.
    Record,
}

/// Something of one's own that cannot be looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactionError {
    /// The pattern is not a regular expression.
    #[error("the pattern of `{kind}` is not a regular expression: {message}")]
    Pattern {
        /// Its name.
        kind: String,
        /// What is wrong with it.
        message: String,
    },
    /// The pattern would hold a stream back for ever.
    #[error(
        "the pattern of `{kind}` may go on without end before it has matched: let only its last part repeat without end, and bound the others as in `{{1,100}}`"
    )]
    Endless {
        /// Its name.
        kind: String,
    },
    /// The pattern looks at what stands before it, or matches nothing at all.
    #[error(
        "the pattern of `{kind}` has to match at least one character, and must not look around: leave out `^`, `$` and `\\b`"
    )]
    LooksAround {
        /// Its name.
        kind: String,
    },
    /// The value is too short.
    #[error("the value of `{kind}` is shorter than {SHORTEST_VALUE} characters, and would be found everywhere")]
    TooShort {
        /// Its name.
        kind: String,
    },
}

impl Default for Redaction {
    /// All secrets, everywhere but in the arguments of tools; no personal data.
    fn default() -> Self {
        use Place::{Answers, Prompt, Record, Requests, Results};
        Self {
            secrets: [Prompt, Results, Requests, Answers, Record].into(),
            personal: [Results, Answers, Record].into(),
            kinds: Sensitive::SECRETS.map(|kind| (kind, Strategy::Redact)).into(),
            own: Vec::new(),
            invisible: Invisible::Strip,
            key: random_key(),
        }
    }
}

impl Redaction {
    /// Looks for this, too, or treats it otherwise.
    #[must_use]
    pub fn on(mut self, kind: Sensitive, strategy: Strategy) -> Self {
        self.kinds.insert(kind, strategy);
        self
    }

    /// Does not look for this.
    #[must_use]
    pub fn off(mut self, kind: Sensitive) -> Self {
        self.kinds.remove(&kind);
        self
    }

    /// Looks for personal data, too: in results, answers and the record.
    #[must_use]
    pub fn personal(self) -> Self {
        Sensitive::PERSONAL.into_iter().fold(self, |redaction, kind| redaction.on(kind, Strategy::Redact))
    }

    /// Where personal data is hidden.
    #[must_use]
    pub fn personal_at(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        self.personal = places.into_iter().collect();
        self
    }

    /// Where secrets are hidden, and what has a pattern or a value of one's own.
    #[must_use]
    pub fn secrets_at(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        self.secrets = places.into_iter().collect();
        self
    }

    /// What becomes of invisible characters in the results of tools.
    #[must_use]
    pub fn invisible(mut self, invisible: Invisible) -> Self {
        self.invisible = invisible;
        self
    }

    /// The key of hashes; unless told otherwise one that lasts as long as the process.
    #[must_use]
    pub fn hash_key(mut self, key: [u8; 32]) -> Self {
        self.key = key;
        self
    }

    /// Looks for a regular expression of one's own. If it has a group, only what is in the first is hidden.
    pub fn pattern(mut self, kind: &str, pattern: &str) -> Result<Self, RedactionError> {
        let kind_of = || kind.to_owned();
        let wrong = |message: String| RedactionError::Pattern { kind: kind_of(), message };
        let hir = regex_syntax::parse(pattern).map_err(|error| wrong(error.to_string()))?;
        let properties = hir.properties();
        if properties.minimum_len().is_none_or(|least| least == 0) || !properties.look_set().is_empty() {
            return Err(RedactionError::LooksAround { kind: kind_of() });
        }
        if undecided(&hir).is_none_or(|longest| longest > LONGEST_UNDECIDED) {
            return Err(RedactionError::Endless { kind: kind_of() });
        }
        let regex = Regex::new(pattern).map_err(|error| wrong(error.to_string()))?;
        let (kind, strategy) = (kind.into(), Some(Strategy::Redact));
        self.own.push(Finder { kind, strategy, regex, hir, edge: Edge::Any, check: |_| true });
        Ok(self)
    }

    /// Looks for exactly this value.
    pub fn value(self, kind: &str, value: &str) -> Result<Self, RedactionError> {
        if value.chars().count() < SHORTEST_VALUE {
            return Err(RedactionError::TooShort { kind: kind.to_owned() });
        }
        self.pattern(kind, &regex::escape(value))
    }

    /// Looks for the values that these environment variables have now. Those that are not set are left out.
    pub fn environment<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Result<Self, RedactionError> {
        names.into_iter().try_fold(self, |redaction, name| match std::env::var(name) {
            Ok(value) => redaction.value(name, &value),
            Err(_) => Ok(redaction),
        })
    }

    /// What is looked for, and what is put in its place.
    pub fn kinds(&self) -> impl Iterator<Item = (Sensitive, Strategy)> {
        self.kinds.iter().map(|(kind, strategy)| (*kind, *strategy))
    }

    /// Where secrets are hidden.
    pub fn places_of_secrets(&self) -> impl Iterator<Item = Place> {
        self.secrets.iter().copied()
    }

    /// Where personal data is hidden, if it is looked for.
    pub fn places_of_personal(&self) -> impl Iterator<Item = Place> {
        self.personal.iter().copied()
    }

    /// What becomes of invisible characters.
    pub fn treatment_of_invisible(&self) -> Invisible {
        self.invisible
    }

    /// Hides in any text what is hidden in records: for what leaves a program beside its runs, such as a recording.
    ///
    /// ```
    /// # use vertebra_kit::redaction::Redaction;
    /// let veil = Redaction::default().veil();
    /// assert_eq!(veil("token ghp_0123456789abcdefghijABCDEFGHIJ012345"), "token [REDACTED:github-token]");
    /// ```
    pub fn veil(&self) -> impl for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync + use<> {
        let redactor = self.redactor(self.scope(Place::Record));
        move |text| redactor.veil(text)
    }

    /// What is looked for in a place: secrets, personal data.
    fn scope(&self, place: Place) -> (bool, bool) {
        let any_personal = self.kinds.keys().any(|kind| !kind.is_secret());
        (self.secrets.contains(&place), any_personal && self.personal.contains(&place))
    }

    fn redactor(&self, scope: (bool, bool)) -> Redactor {
        self.redactor_of(scope, Text::Any)
    }

    /// The same for the text of a kind of file.
    fn redactor_of(&self, (secrets, personal): (bool, bool), text: Text) -> Redactor {
        let own = self.own.iter().filter(|_| secrets).cloned();
        let kinds = self.kinds.iter().filter(|(kind, _)| if kind.is_secret() { secrets } else { personal });
        let built_in = kinds
            .flat_map(|(kind, strategy)| kind.rules().into_iter().map(|rule| finder(*kind, Some(*strategy), &rule)));
        let shown = (secrets && self.kinds.contains_key(&Sensitive::Password))
            .then(|| finder(Sensitive::Password, None, &kinds::DECLARED));
        let strategy = self.kinds.get(&Sensitive::Password).filter(|_| secrets && text == Text::Configuration);
        let configured = strategy.map(|strategy| finder(Sensitive::Password, Some(*strategy), &kinds::CONFIGURED));
        Redactor::new(own.chain(built_in).chain(shown).chain(configured).collect(), self.key)
            .expect("beginnings of regular expressions are such")
    }
}

impl Capability for Redaction {
    fn install(self, kit: &mut Kit) {
        let mut made: BTreeMap<(bool, bool), Arc<Redactor>> = BTreeMap::new();
        let mut at = |place| {
            let scope = self.scope(place);
            made.entry(scope).or_insert_with(|| Arc::new(self.redactor(scope))).clone()
        };
        let places = Places {
            prompt: at(Place::Prompt),
            arguments: at(Place::Arguments),
            results: at(Place::Results),
            configuration: self.redactor_of(self.scope(Place::Results), Text::Configuration),
            requests: at(Place::Requests),
            answers: at(Place::Answers),
            record: at(Place::Record),
            invisible: self.invisible,
        };
        hooks::install(kit, &Arc::new(places));
    }
}

fn finder(kind: Sensitive, strategy: Option<Strategy>, rule: &Rule) -> Finder {
    let pattern = match rule.edge {
        Edge::Any => rule.pattern.to_owned(),
        Edge::Word => format!(r"(?-u:\b{{start-half}})(?:{})", rule.pattern),
    };
    Finder {
        kind: kind.to_string().into(),
        strategy,
        regex: Regex::new(&pattern).expect("the built-in patterns are regular expressions"),
        hir: regex_syntax::parse(&pattern).expect("the built-in patterns are regular expressions"),
        edge: rule.edge,
        check: rule.check,
    }
}

/// How long something may be that begins a match and is none; `None` if there is no end to it.
fn undecided(hir: &Hir) -> Option<usize> {
    if let Some(longest) = hir.properties().maximum_len() {
        return Some(longest);
    }
    match hir.kind() {
        HirKind::Concat(parts) => {
            let (last, first) = parts.split_last()?;
            let before: Option<usize> = first.iter().map(|part| part.properties().maximum_len()).sum();
            Some(before? + undecided(last)?)
        }
        HirKind::Alternation(branches) => {
            branches.iter().map(undecided).try_fold(0, |longest, one| Some(longest.max(one?)))
        }
        HirKind::Capture(capture) => undecided(&capture.sub),
        HirKind::Repetition(repetition) => {
            let each = repetition.sub.properties().maximum_len()?;
            each.checked_mul(usize::try_from(repetition.min.max(1)).ok()?)
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => None,
    }
}

/// Not for secrets but against guessing: who does not know it cannot try values against a hash.
fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    for (part, chunk) in key.chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&RandomState::new().hash_one(part).to_le_bytes());
    }
    key
}
