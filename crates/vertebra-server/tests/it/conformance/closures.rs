//! The cases as hooks of Rust in an agent.

use std::{future::pending, time::Duration};

use vertebra::{
    AgentPoint, Answer, Attach as _, Cx, FailurePolicy, Guard, Hook, HookError, HookOptions as _, HookSet, Match as _,
    PointVisitor, Role, Seen, Watch, at_point, point_named,
};
use vertebra_bridge::{
    policy::{self, Trial},
    wire::{Happened, Outside, Reply},
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
        if let Some(option) = unwritable(hook) {
            return Outcome::Refused(format!("{option} on a {} does not compile", hook.role));
        }
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

/// An option that the role cannot have. In Rust such a hook does not compile, as the tests of `vertebra-hooks` show.
fn unwritable(hook: &HookCase) -> Option<&'static str> {
    match hook.role {
        Role::Guard if hook.on_failure.is_some_and(|policy| policy != FailurePolicy::Closed) => {
            Some("a failure policy")
        }
        Role::Watch if hook.on_failure.is_some() => Some("a failure policy"),
        Role::Watch if hook.max_retries > 0 => Some("`max_retries`"),
        Role::Watch if hook.shadow => Some("`shadow`"),
        Role::Guard | Role::Hook | Role::Around if hook.detached => Some("`detached`"),
        Role::Guard | Role::Hook | Role::Around | Role::Watch => None,
    }
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

impl PointVisitor for Add<'_> {
    type Out = bool;

    fn at<P: AgentPoint>(self, point: P) -> bool {
        let Self { set, hook, body } = self;
        let mut site = point.named(hook.name.as_str());
        if let Some(matcher) = hook.matcher.as_ref().map(matching::in_rust) {
            site = site.matching(matcher);
        }
        if let Some(priority) = hook.priority {
            site = site.priority(priority);
        }
        if let Some(limit) = hook.timeout_ms {
            site = site.timeout(Duration::from_millis(limit.into()));
        }
        site = hook.before.iter().fold(site, |site, name| site.before(name.as_str()));
        site = hook.after.iter().fold(site, |site, name| site.after(name.as_str()));
        if hook.role == Role::Watch {
            if hook.detached {
                set.add_watch(site.detached(), body);
            } else {
                set.add_watch(site, body);
            }
            return true;
        }
        let mut site = site.max_retries(hook.max_retries);
        if hook.shadow {
            site = site.shadow();
        }
        match (hook.role, hook.on_failure) {
            (Role::Guard, _) => return P::attach_guard(set, site, body),
            (_, Some(policy)) => set.add_hook(site.on_failure(policy), body),
            (_, None) => set.add_hook(site, body),
        };
        true
    }
}
