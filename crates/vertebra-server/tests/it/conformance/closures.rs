//! The cases as hooks of Rust in an agent.

use std::{future::pending, time::Duration};

use vertebra::{
    Answer, Attach as _, Cx, FailurePolicy, Guard, Hook, HookError, HookSet, Role, Seen, Watch, point_named,
};
use vertebra_bridge::{
    policy::{self, Trial},
    wire::{Happened, Outside, Reply, Visit, at_point},
};

use super::{
    case::{Case, Does, HookCase, Outcome, Saw, check_all},
    matching,
};

#[tokio::test]
async fn hooks_of_rust_come_to_what_the_cases_say() {
    check_all("rust", async |case: &Case, saw: &Saw| run(case, saw).await).await;
}

async fn run(case: &Case, saw: &Saw) -> Outcome {
    let mut set = HookSet::new();
    for hook in &case.hooks {
        let Some(point) = point_named(hook.point(case)) else {
            return Outcome::Refused(format!("there is no point `{}`", hook.point(case)));
        };
        let body = Body { does: hook.does(), name: hook.name.clone(), saw: saw.clone() };
        if !at_point(point, Add { set: &mut set, hook, body }).expect("a point") {
            return Outcome::Refused(format!("nothing is decided at {point}"));
        }
    }
    let agent = policy::bare("conformance").expect("an agent");
    if let Err(error) = agent.hooks().install(set) {
        return Outcome::Refused(error.to_string());
    }
    let happened = Happened::read(&case.event).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    fired(&policy::fire(&agent, &happened).await)
}

/// What came of an event, as it goes over the wire.
pub(crate) fn fired(Trial { judgement, record }: &Trial) -> Outcome {
    let json = |what: serde_json::Result<_>| what.expect("JSON");
    Outcome::Fired { record: json(serde_json::to_value(record)), judgement: json(serde_json::to_value(judgement)) }
}

struct Body {
    does: Does,
    name: String,
    saw: Saw,
}

impl Body {
    async fn reply<P: Outside>(&self, cx: &Cx<'_, P>) -> Result<Reply, HookError> {
        self.saw.note(&self.name, serde_json::to_value(&**cx)?);
        match &self.does {
            Does::Says(text) => Ok(Reply::read(text)?),
            Does::Fails(why) => Err(HookError::new(why)),
            Does::Hangs => pending().await,
        }
    }
}

impl<P: Outside> Hook<P> for Body {
    async fn run(&self, cx: &mut Cx<'_, P>) -> Answer<P> {
        self.reply(cx).await?.apply(cx)
    }
}

impl<P: Outside> Guard<P> for Body {
    async fn check(&self, cx: &Cx<'_, P>) -> Answer<P> {
        Ok(self.reply(cx).await?.judge::<P>()?)
    }
}

impl<P: Outside> Watch<P> for Body {
    async fn see(&self, cx: &Cx<'_, P>) -> Seen {
        self.reply(cx).await.map(drop)
    }
}

/// Adds a hook; says whether it can stand there.
struct Add<'a> {
    set: &'a mut HookSet,
    hook: &'a HookCase,
    body: Body,
}

impl Visit for Add<'_> {
    type Out = bool;

    fn at<P: Outside>(self, point: P) -> bool {
        let Self { set, hook, body } = self;
        let matcher = hook.matcher.as_ref().map(matching::in_rust);
        match hook.role {
            Role::Guard => {
                if !point.attach_guard(set, matcher, body) {
                    return false;
                }
            }
            Role::Watch => point.attach_watch(set, matcher, body),
            Role::Hook | Role::Around => point.attach_hook(set, matcher, body),
        }
        set.named(hook.name.as_str());
        if let Some(priority) = hook.priority {
            set.priority(priority);
        }
        if let Some(limit) = hook.timeout_ms {
            set.timeout(Duration::from_millis(limit.into()));
        }
        if hook.max_retries > 0 {
            set.max_retries(hook.max_retries);
        }
        match hook.on_failure {
            Some(FailurePolicy::Open) => _ = set.fail_open(),
            Some(FailurePolicy::Closed) => _ = set.fail_closed(),
            Some(FailurePolicy::Ask) => _ = set.fail_ask(),
            None => {}
        }
        if hook.shadow {
            set.shadow();
        }
        if hook.detached {
            set.detached();
        }
        for name in &hook.before {
            set.before(name.as_str());
        }
        for name in &hook.after {
            set.after(name.as_str());
        }
        true
    }
}
