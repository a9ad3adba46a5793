//! The cases as hooks of Rust in an agent.

use std::{future::pending, time::Duration};

use vertebra::{
    AnyCx, AnyHook, AnySight, AnySite, AnyVerdict, BoxFuture, FailurePolicy, HookError, HookInfo, HookSet, Points,
    Role, Seen,
};
use vertebra_bridge::{
    policy::{self, Trial},
    wire::{Happened, Reply},
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
        let Ok(point) = Points::default().named(hook.point(case)) else {
            return Outcome::Refused(format!("there is no point `{}`", hook.point(case)));
        };
        if let Some(option) = unwritable(hook) {
            return Outcome::Refused(format!("{option} on a {} does not compile", hook.role));
        }
        let body = Body { does: hook.does(), name: hook.name.clone(), saw: saw.clone() };
        if !point.attach(&mut set, site(hook), body) {
            return Outcome::Refused(format!("nothing is decided at {point}"));
        }
    }
    let agent = policy::bare("conformance", &Points::default()).expect("an agent");
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
    async fn reply(&self, cx: &dyn AnySight) -> Result<Reply, HookError> {
        self.saw.note(&self.name, cx.event()?);
        match &self.does {
            Does::Says(text) => Ok(Reply::read(text)?),
            Does::Fails(why) => Err(HookError::new(why)),
            Does::Hangs => pending().await,
        }
    }
}

impl AnyHook for Body {
    fn run<'a>(&'a self, cx: &'a mut dyn AnyCx) -> BoxFuture<'a, Result<AnyVerdict, HookError>> {
        Box::pin(async move { self.reply(cx.sight()).await?.apply(cx) })
    }

    fn check<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Result<AnyVerdict, HookError>> {
        Box::pin(async move { Ok(self.reply(cx).await?.judge(cx.point())?) })
    }

    fn see<'a>(&'a self, cx: &'a dyn AnySight) -> BoxFuture<'a, Seen> {
        Box::pin(async move { self.reply(cx).await.map(drop) })
    }
}

/// Where a hook stands.
fn site(hook: &HookCase) -> AnySite {
    AnySite {
        name: hook.name.as_str().into(),
        role: hook.role,
        matcher: hook.matcher.as_ref().map(matching::in_rust),
        priority: hook.priority.unwrap_or(HookInfo::DEFAULT_PRIORITY),
        before: hook.before.iter().map(|name| name.as_str().into()).collect(),
        after: hook.after.iter().map(|name| name.as_str().into()).collect(),
        timeout: hook.timeout_ms.map_or(HookInfo::DEFAULT_TIMEOUT, |limit| Duration::from_millis(limit.into())),
        max_retries: hook.max_retries,
        on_failure: hook.on_failure,
        shadow: hook.shadow,
        detached: hook.detached,
    }
}
