//! A hook whose answer comes from outside, where it stands.

use std::{sync::Arc, time::Duration};

use vertebra::{AnyHook, AnySite, HookSet, Name};

use super::{DEFAULT_LIMIT, External};
use crate::settings::Stand;

/// How long after its own limit a handler is given up: it keeps the limit itself, and tells how it ended.
const GRACE: Duration = Duration::from_secs(5);

/// What of a hook depends on those it stands with.
pub(crate) struct Placed {
    pub(crate) name: Name,
    pub(crate) priority: i32,
    pub(crate) before: Vec<Arc<str>>,
    pub(crate) after: Vec<Arc<str>>,
}

impl Placed {
    /// Adds the hook to a set, unless it is a guard where nothing is decided.
    pub(crate) fn add(self, set: &mut HookSet, stand: &Stand, body: impl AnyHook) {
        let Self { name, priority, before, after } = self;
        let site = AnySite {
            name,
            role: stand.role,
            matcher: stand.matcher.clone(),
            priority,
            before,
            after,
            timeout: stand.limit() + GRACE,
            max_retries: stand.max_retries,
            on_failure: stand.on_failure,
            shadow: stand.shadow,
            detached: stand.detached,
        };
        stand.point.attach(set, site, body);
    }
}

impl Stand {
    /// How long an answer may take.
    pub fn limit(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_LIMIT)
    }
}

impl External {
    /// Adds this to a set, where `stand` says, under this name.
    pub fn stand(self, set: &mut HookSet, stand: &Stand, name: impl Into<Name>) {
        let names = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
        let (before, after) = (names(&stand.before), names(&stand.after));
        Placed { name: name.into(), priority: stand.priority, before, after }.add(set, stand, self);
    }
}
