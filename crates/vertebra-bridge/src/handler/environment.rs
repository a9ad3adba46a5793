//! The environment of a program that answers for a hook: a list of what may pass, and what the event is about.

use std::{collections::BTreeMap, ffi::OsString};

use super::{Ask, Services};

/// What passes unasked: what programs need to find themselves. One `*` at the end stands for the rest of a name.
const PASSED: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TMPDIR", "TZ", "XDG_*"];

/// What passes, and what a hook names besides. Secrets are on no list, so they pass only by their name.
pub(super) fn passed(services: &Services, named: &[String]) -> BTreeMap<String, String> {
    let listed = |name: &str| {
        PASSED.iter().any(|passed| match passed.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *passed,
        })
    };
    let all = services.variables.iter();
    let chosen = all.filter(|(name, _)| listed(name) || named.contains(name));
    let mut chosen: BTreeMap<_, _> = chosen.map(|(name, value)| (name.clone(), value.clone())).collect();
    chosen.insert("VERTEBRA_PROJECT_DIR".to_owned(), services.folder.to_string_lossy().into_owned());
    chosen
}

/// That, and what this event is about.
pub(super) fn for_event(passed: &BTreeMap<String, String>, ask: &Ask<'_>) -> Vec<(OsString, OsString)> {
    let session = &*ask.run.info().session_id;
    let of_event = [("VERTEBRA_POINT", ask.point.name), ("VERTEBRA_SESSION_ID", session)];
    let of_event = of_event.into_iter().chain(ask.file.map(|file| ("FILE", file)));
    let of_event = of_event.map(|(name, value)| (name.into(), value.into()));
    plain(passed).into_iter().filter(|(name, _)| name != "FILE").chain(of_event).collect()
}

/// In the form that a program takes.
pub(super) fn plain(variables: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
    variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
}
