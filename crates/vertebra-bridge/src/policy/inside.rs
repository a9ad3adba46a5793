//! What stands inside the matchers of a policy.

use std::path::Path;

use vertebra::Matcher;

use crate::literal_glob;

/// Whether a matcher is a path that begins in the working folder: others hold at any depth, or from the root.
pub(super) fn is_relative_path(matcher: &Matcher) -> bool {
    matcher.pattern_for("path").is_some_and(|glob| glob.contains('/') && !glob.starts_with(['/', '*']))
}

/// The matcher, whose relative paths also hold for what lies below this folder: an event names paths from where the agent
/// has gone to, and a policy means them from where it stands.
pub(super) fn also_from(base: &Path, matcher: &Matcher) -> Matcher {
    let all = |inner: &[Matcher]| inner.iter().map(|inner| also_from(base, inner)).collect();
    match matcher {
        Matcher::Attribute { key, pattern } if is_relative_path(matcher) => {
            let below = format!("{}/{}", literal_glob(base), pattern.trim_start_matches("./"));
            Matcher::Any(vec![matcher.clone(), Matcher::attribute(key.clone(), below)])
        }
        Matcher::All(inner) => Matcher::All(all(inner)),
        Matcher::Any(inner) => Matcher::Any(all(inner)),
        Matcher::Not(inner) => also_from(base, inner).negated(),
        Matcher::Every(inner) => also_from(base, inner).for_every(),
        Matcher::Attribute { .. } | Matcher::Inside { .. } | Matcher::Metadata { .. } => matcher.clone(),
    }
}
