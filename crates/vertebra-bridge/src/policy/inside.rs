//! What stands inside the matchers of a policy.

use std::path::Path;

use vertebra::Matcher;

use crate::literal_glob;

/// Whether something inside a matcher, or the matcher itself, is such.
pub(super) fn any(matcher: &Matcher, is_such: fn(&Matcher) -> bool) -> bool {
    let inside = match matcher {
        Matcher::All(inner) | Matcher::Any(inner) => inner.iter().any(|inner| any(inner, is_such)),
        Matcher::Not(inner) | Matcher::Every(inner) => any(inner, is_such),
        Matcher::Path(_)
        | Matcher::Tool(_)
        | Matcher::Command(_)
        | Matcher::Session(_)
        | Matcher::Agent(_)
        | Matcher::Step(_)
        | Matcher::Metadata { .. }
        | Matcher::Args { .. } => false,
    };
    inside || is_such(matcher)
}

/// Whether a matcher is a path that begins in the working folder: others hold at any depth, or from the root.
pub(super) fn is_relative_path(matcher: &Matcher) -> bool {
    matches!(matcher, Matcher::Path(glob) if glob.contains('/') && !glob.starts_with(['/', '*']))
}

/// The matcher, whose relative paths also hold for what lies below this folder: an event names paths from where the agent
/// has gone to, and a policy means them from where it stands.
pub(super) fn also_from(base: &Path, matcher: &Matcher) -> Matcher {
    let all = |inner: &[Matcher]| inner.iter().map(|inner| also_from(base, inner)).collect();
    match matcher {
        Matcher::Path(glob) if is_relative_path(matcher) => {
            let below = format!("{}/{}", literal_glob(base), glob.trim_start_matches("./"));
            Matcher::Any(vec![matcher.clone(), Matcher::Path(below)])
        }
        Matcher::All(inner) => Matcher::All(all(inner)),
        Matcher::Any(inner) => Matcher::Any(all(inner)),
        Matcher::Not(inner) => also_from(base, inner).negated(),
        Matcher::Every(inner) => also_from(base, inner).for_every(),
        Matcher::Path(_)
        | Matcher::Tool(_)
        | Matcher::Command(_)
        | Matcher::Session(_)
        | Matcher::Agent(_)
        | Matcher::Step(_)
        | Matcher::Metadata { .. }
        | Matcher::Args { .. } => matcher.clone(),
    }
}
