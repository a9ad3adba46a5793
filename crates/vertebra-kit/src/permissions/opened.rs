//! Judges what a tool has opened by the deny and ask rules about paths.
//!
//! The judgement before a call is about the text of a path. What the path leads to can change before the tool opens it, so
//! the tool asks again about the file that it holds.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    path::{Base, PathPattern},
    rule::{Access, Part, Rule},
};
use crate::denied::PathRules;

/// Deny and ask rules about paths, ready to match.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    rules: Vec<Rule>,
    questions: Vec<Rule>,
    base: Base,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It, or its name, is read.
    Read,
    /// It is made or changed.
    Change,
}

impl Refusals {
    /// Returns the rules of a note. The last ones are kept, because most calls have the same.
    pub(crate) fn of(noted: &PathRules) -> Result<Arc<Self>, String> {
        static LAST: Mutex<Option<(PathRules, Arc<Refusals>)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, refusals)) = last.as_ref().filter(|(rules, _)| rules == noted) {
            return Ok(refusals.clone());
        }
        let parsed = |texts: &[String]| -> Result<Vec<Rule>, String> {
            texts.iter().map(|rule| rule.parse::<Rule>().map_err(|error| error.to_string())).collect()
        };
        let base = Base { folders: noted.folders.clone(), home: noted.home.clone() };
        let refusals = Arc::new(Self { rules: parsed(&noted.deny)?, questions: parsed(&noted.ask)?, base });
        *last = Some((noted.clone(), refusals.clone()));
        Ok(refusals)
    }

    /// Returns whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.questions.is_empty()
    }

    /// Returns the rule that refuses a tool to use a file with one of these absolute paths.
    pub(crate) fn refuse(&self, names: &[String], done: Use, paths: &[PathBuf]) -> Option<&str> {
        let refuses = |rule: &&Rule| self.applies(rule, names, done, paths);
        self.rules.iter().find(refuses).map(|rule| &**rule.text())
    }

    /// Returns the rule by which a person has to be asked about a file with one of these absolute paths, and was not asked,
    /// because the path that the call named is not one that the rule is about.
    pub(crate) fn unasked(&self, names: &[String], done: Use, paths: &[PathBuf], asked: &Path) -> Option<&str> {
        let asked = [asked.to_owned()];
        let is_unasked =
            |rule: &&Rule| self.applies(rule, names, done, paths) && !self.applies(rule, names, done, &asked);
        self.questions.iter().find(is_unasked).map(|rule| &**rule.text())
    }

    fn applies(&self, rule: &Rule, names: &[String], done: Use, paths: &[PathBuf]) -> bool {
        let holds =
            |pattern: &PathPattern| paths.iter().any(|path| pattern.refuses(&path.to_string_lossy(), &self.base));
        match &rule.part {
            Part::Path(Access::Read, pattern) => holds(pattern),
            Part::Path(Access::Edit, pattern) => done == Use::Change && holds(pattern),
            Part::Path(Access::Named, pattern) => names.iter().any(|name| rule.tool.holds(name)) && holds(pattern),
            Part::All | Part::Command(_) | Part::Host(_) => false,
        }
    }
}
