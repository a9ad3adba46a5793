//! A hook whose answer comes from outside, where it stands.

use std::{sync::Arc, time::Duration};

use vertebra::{
    AgentPoint, Attach as _, Guard, Hook, HookOptions, HookSet, Match as _, Name, PointVisitor, Role, Watch, at_point,
};

use super::{DEFAULT_LIMIT, External};
use crate::{settings::Stand, wire::Outside};

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
    pub(crate) fn add<P: Outside>(
        self,
        set: &mut HookSet,
        point: P,
        stand: &Stand,
        body: impl Hook<P> + Guard<P> + Watch<P>,
    ) {
        let mut site = point.named(self.name).priority(self.priority).timeout(stand.limit() + GRACE);
        if let Some(matcher) = stand.matcher.clone() {
            site = site.matching(matcher);
        }
        site = self.before.into_iter().fold(site, HookOptions::before);
        site = self.after.into_iter().fold(site, HookOptions::after);
        if stand.role == Role::Watch {
            if stand.detached {
                set.add_watch(site.detached(), body);
            } else {
                set.add_watch(site, body);
            }
            return;
        }
        let mut site = site.max_retries(stand.max_retries);
        if stand.shadow {
            site = site.shadow();
        }
        match (stand.role, stand.on_failure) {
            (Role::Guard, _) => _ = P::attach_guard(set, site, body),
            (_, Some(policy)) => _ = set.add_hook(site.on_failure(policy), body),
            (_, None) => _ = set.add_hook(site, body),
        }
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
        at_point(stand.point, Add { external: self, set, stand, name: name.into() });
    }
}

struct Add<'a> {
    external: External,
    set: &'a mut HookSet,
    stand: &'a Stand,
    name: Name,
}

impl PointVisitor for Add<'_> {
    type Out = ();

    fn at<P: AgentPoint>(self, point: P) {
        let Self { external, set, stand, name } = self;
        let names = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
        let (before, after) = (names(&stand.before), names(&stand.after));
        Placed { name, priority: stand.priority, before, after }.add(set, point, stand, external);
    }
}
