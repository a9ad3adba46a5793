//! A hook of a file at its point.

use std::sync::Arc;

use serde_json::json;
use vertebra::{AgentPoint, Answer, Cx, Guard, Hook, HookSet, PointVisitor, Seen, Watch};

use super::{PolicyHook, Standing, judge::Order};
use crate::{
    handler::{External, Placed},
    settings::{Action, HookSettings, Origin},
    wire::{Outside, Reply},
};

/// So much earlier do managed hooks run: before whatever another level could say.
const MANAGED_FIRST: i32 = -1_000_000;

/// Adds a hook to a set.
pub(super) struct Add<'a> {
    pub(super) set: &'a mut HookSet,
    pub(super) hook: &'a PolicyHook,
    pub(super) all: &'a [PolicyHook],
    pub(super) order: Order,
}

impl PointVisitor for Add<'_> {
    type Out = ();

    fn at<P: AgentPoint>(self, point: P) {
        let Self { set, hook, all, order } = self;
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
        placed.add(set, point, stand, body);
    }
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

fn tell<P: Outside>(cx: &Cx<'_, P>, origin: &Origin) {
    cx.account(json!({ "origin": origin.spot() }));
}

impl<P: Outside> Hook<P> for Body {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        match self {
            Self::Say { reply, origin } => {
                tell(cx, origin);
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
                tell(cx, origin);
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
                tell(cx, origin);
                Ok(())
            }
            Self::Run(external) => external.see(cx).await,
        }
    }
}
