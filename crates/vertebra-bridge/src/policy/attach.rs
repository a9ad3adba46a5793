//! A hook of a file at its point.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use vertebra::{Answer, Attach as _, Cx, FailurePolicy, Guard, Hook, HookSet, Role, Seen, Watch, account};

use super::{PolicyHook, Standing, judge::Order};
use crate::{
    handler::{DEFAULT_LIMIT, External},
    settings::Action,
    wire::{Outside, Reply, Visit},
};

/// So much earlier do managed hooks run: before whatever another level could say.
const MANAGED_FIRST: i32 = -1_000_000;

/// How long after its own limit a handler is given up: it keeps the limit itself, and tells how it ended.
const GRACE: Duration = Duration::from_secs(5);

/// Adds a hook to a set.
pub(super) struct Add<'a> {
    pub(super) set: &'a mut HookSet,
    pub(super) hook: &'a PolicyHook,
    pub(super) all: &'a [PolicyHook],
    pub(super) order: Order,
}

impl Visit for Add<'_> {
    type Out = ();

    fn at<P: Outside>(self, point: P) {
        let Self { set, hook, all, order } = self;
        let settings = &hook.settings;
        let limit = settings.timeout.unwrap_or(DEFAULT_LIMIT);
        let origin: Arc<str> = hook.origin.spot().into();
        let body = match (&settings.action, &hook.handler) {
            (Action::Say(reply), _) => Body::Say { reply: reply.clone(), origin },
            (Action::Run(_), Some(handler)) => {
                Body::Run(External::new(handler.clone(), limit).answering_for(&*hook.name).written_at(origin))
            }
            // Only hooks in force have a handler, and only they are added.
            (Action::Run(_), None) => return,
        };
        let matcher = settings.matcher.clone();
        match settings.role {
            Role::Guard => {
                if !point.attach_guard(set, matcher, body) {
                    return;
                }
            }
            Role::Watch => point.attach_watch(set, matcher, body),
            Role::Hook | Role::Around => point.attach_hook(set, matcher, body),
        }
        let managed = if hook.is_managed() { MANAGED_FIRST } else { 0 };
        set.named(hook.name.clone()).priority(settings.priority.saturating_add(managed)).timeout(limit + GRACE);
        if settings.max_retries > 0 {
            set.max_retries(settings.max_retries);
        }
        match settings.on_failure {
            Some(FailurePolicy::Open) => _ = set.fail_open(),
            Some(FailurePolicy::Closed) => _ = set.fail_closed(),
            Some(FailurePolicy::Ask) => _ = set.fail_ask(),
            None => {}
        }
        if settings.shadow {
            set.shadow();
        }
        if settings.detached {
            set.detached();
        }
        for name in settings.before.iter().flat_map(|name| meant(name, hook, all, order)) {
            set.before(name);
        }
        for name in settings.after.iter().flat_map(|name| meant(name, hook, all, order)) {
            set.after(name);
        }
    }
}

/// The hooks that a constraint means, by the names they are registered under. One that is not in force is none.
fn meant<'a>(name: &'a str, hook: &PolicyHook, all: &'a [PolicyHook], order: Order) -> Vec<Arc<str>> {
    let mine = |other: &&PolicyHook| other.settings.name == *name && other.settings.point == hook.settings.point;
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
    Say { reply: Box<Reply>, origin: Arc<str> },
    /// Something outside answers.
    Run(External),
}

fn tell(origin: &str) {
    account(json!({ "origin": origin }));
}

impl<P: Outside> Hook<P> for Body {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        match self {
            Self::Say { reply, origin } => {
                tell(origin);
                Reply::clone(reply).apply(cx)
            }
            Self::Run(external) => external.run(cx).await,
        }
    }
}

impl<P: Outside> Guard<P> for Body {
    async fn check(&self, cx: &Cx<'_, P>) -> Answer<P> {
        match self {
            Self::Say { reply, origin } => {
                tell(origin);
                Ok(reply.judge::<P>()?)
            }
            Self::Run(external) => external.check(cx).await,
        }
    }
}

impl<P: Outside> Watch<P> for Body {
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        match self {
            // A file in which a watch answers is not read.
            Self::Say { origin, .. } => {
                tell(origin);
                Ok(())
            }
            Self::Run(external) => external.see(cx).await,
        }
    }
}
