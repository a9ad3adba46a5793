//! A hook of a file at its point.

use std::{future::ready, sync::Arc};

use serde_json::json;
use vertebra::{AnyCx, AnyHook, AnySight, AnyVerdict, BoxFuture, HookError, HookSet, Seen};

use super::{PolicyHook, Standing, judge::Order};
use crate::{
    handler::{External, Placed},
    settings::{Action, HookSettings, Origin},
    wire::Reply,
};

/// So much earlier do managed hooks run: before whatever another level could say.
const MANAGED_FIRST: i32 = -1_000_000;

/// Adds a hook to a set.
pub(super) fn add(set: &mut HookSet, hook: &PolicyHook, all: &[PolicyHook], order: Order) {
    let HookSettings { stand, action, .. } = &*hook.settings;
    let body = match (action, &hook.handler) {
        (Action::Say(reply), _) => Body::Say { reply: reply.clone(), origin: hook.origin.clone() },
        (Action::Run(_), Some(handler)) => {
            let external = External::new(handler.clone(), stand.limit()).answering_for(&*hook.name);
            Body::Run(external.written_at(hook.origin.spot()))
        }
        // Only hooks in force have a handler, and only they are added.
        (Action::Run(_), None) => return,
    };
    let managed = if hook.is_managed() { MANAGED_FIRST } else { 0 };
    let placed = Placed {
        name: hook.name.clone(),
        priority: stand.priority.saturating_add(managed),
        before: stand.before.iter().flat_map(|name| meant(name, hook, all, order)).collect(),
        after: stand.after.iter().flat_map(|name| meant(name, hook, all, order)).collect(),
    };
    placed.add(set, stand, body);
}

/// The hooks that a constraint means, by the names they are registered under. One that is not in force is none.
fn meant<'a>(name: &'a str, hook: &PolicyHook, all: &'a [PolicyHook], order: Order) -> Vec<Arc<str>> {
    let mine = |other: &&PolicyHook| other.goes_by(name) && other.settings.stand.point == hook.settings.stand.point;
    let in_force = |other: &&PolicyHook| other.standing == Standing::InForce;
    if all.iter().any(|other| mine(&other)) {
        return all.iter().filter(mine).filter(in_force).map(|other| other.name.clone()).collect();
    }
    match order {
        Order::WithOthers => vec![name.into()],
        Order::Alone => Vec::new(),
    }
}

/// What a hook of a file does.
enum Body {
    /// It answers itself.
    Say { reply: Arc<Reply>, origin: Origin },
    /// Something outside answers.
    Run(External),
}

fn tell(cx: &dyn AnySight, origin: &Origin) {
    cx.account(json!({ "origin": origin.spot() }));
}

impl AnyHook for Body {
    fn run<'a>(&'a self, cx: &'a mut dyn AnyCx) -> BoxFuture<'a, Result<AnyVerdict, HookError>> {
        match self {
            Self::Say { reply, origin } => {
                tell(cx.sight(), origin);
                Box::pin(ready(Reply::clone(reply).apply(cx)))
            }
            Self::Run(external) => external.run(cx),
        }
    }

    fn check<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Result<AnyVerdict, HookError>> {
        match self {
            Self::Say { reply, origin } => {
                tell(cx, origin);
                Box::pin(ready(reply.judge(cx.point()).map_err(HookError::from)))
            }
            Self::Run(external) => external.check(cx),
        }
    }

    fn see<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Seen> {
        match self {
            // A file in which a watch answers is not read.
            Self::Say { origin, .. } => {
                tell(cx, origin);
                Box::pin(ready(Ok(())))
            }
            Self::Run(external) => external.see(cx),
        }
    }
}
