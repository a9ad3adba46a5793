//! Random hooks: what they wish for, what they write, how they end.

use std::{
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};

use proptest::prelude::*;
use serde_json::{Value, json};
use vertebra_hooks::{
    Answer, Attach, Cx, FailurePolicy, Frame, Guard, Hook, HookError, HookOptions, HookSet, Kind, Lasting, Retries,
    Role, Seen as Looked, Watch,
};

use crate::world::{Call, CallVerdict, Calling, Desk, Fired, MatchCall, Seen, fire_at, hooks};

/// How a hook ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    Says(Kind),
    Errs,
    Panics,
    Hangs,
}

/// One hook. Others are named by their place in the list.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) priority: i32,
    pub(crate) before: Vec<usize>,
    pub(crate) after: Vec<usize>,
    pub(crate) only: Option<&'static str>,
    pub(crate) enabled: bool,
    pub(crate) writes: Option<&'static str>,
    pub(crate) waits: bool,
    pub(crate) ends: End,
    pub(crate) policy: FailurePolicy,
    pub(crate) shadow: bool,
}

pub(crate) fn ends() -> impl Strategy<Value = End> {
    let kinds = vec![
        Kind::Proceed,
        Kind::Proceed,
        Kind::Proceed,
        Kind::Skip,
        Kind::Allow,
        Kind::Replace,
        Kind::Retry,
        Kind::Ask,
        Kind::Stop,
        Kind::Deny,
    ];
    prop_oneof![6 => prop::sample::select(kinds).prop_map(End::Says), 3 => fails()]
}

pub(crate) fn fails() -> impl Strategy<Value = End> {
    prop::sample::select(vec![End::Errs, End::Panics, End::Hangs])
}

fn tool() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c"])
}

/// One hook among `count`.
pub(crate) fn script(count: usize) -> impl Strategy<Value = Script> {
    let role = prop::sample::select(vec![Role::Hook, Role::Hook, Role::Hook, Role::Guard, Role::Guard, Role::Watch]);
    let others = || prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(0..count, 1..3)];
    let policy = prop::sample::select(vec![FailurePolicy::Open, FailurePolicy::Closed, FailurePolicy::Ask]);
    let matches = (prop::option::weighted(0.4, tool()), prop::bool::weighted(0.9));
    let acts = (prop::option::weighted(0.5, tool()), any::<bool>(), ends(), policy, prop::bool::weighted(0.15));
    (role, 0..4, others(), others(), matches, acts).prop_map(
        |(role, priority, before, after, (only, enabled), (writes, waits, ends, policy, shadow))| Script {
            name: String::new(),
            role,
            priority,
            before,
            after,
            only,
            enabled,
            writes,
            waits,
            ends,
            // A guard fails closed and a watch's failure never matters; other policies cannot be registered for them.
            policy: match role {
                Role::Guard => FailurePolicy::Closed,
                Role::Watch => FailurePolicy::Open,
                Role::Hook | Role::Around => policy,
            },
            shadow: shadow && role != Role::Watch,
        },
    )
}

/// Up to nine hooks. Wishes about hooks of another role are dropped: the roles decide those.
pub(crate) fn scripts() -> impl Strategy<Value = Vec<Script>> {
    (1usize..10).prop_flat_map(|count| prop::collection::vec(script(count), count)).prop_map(|mut scripts| {
        let roles: Vec<Role> = scripts.iter().map(|script| script.role).collect();
        for (place, script) in scripts.iter_mut().enumerate() {
            script.name = format!("h{place}");
            script.before.retain(|other| roles[*other] == script.role);
            script.after.retain(|other| roles[*other] == script.role);
        }
        scripts
    })
}

/// The same, without wishes, so that every set can be registered.
pub(crate) fn scripts_without_wishes() -> impl Strategy<Value = Vec<Script>> {
    scripts().prop_map(|mut scripts| {
        for script in &mut scripts {
            script.before.clear();
            script.after.clear();
        }
        scripts
    })
}

pub(crate) fn retries() -> impl Strategy<Value = Retries> {
    prop::sample::select(vec![Retries::Allowed, Retries::Exhausted])
}

/// A hook that does what its script says, and tells what it saw.
struct Actor {
    script: Script,
    seen: Seen,
}

impl Actor {
    async fn act(&self) -> Answer<Calling> {
        if self.script.waits {
            tokio::task::yield_now().await;
        }
        let reason = self.script.name.clone();
        match self.script.ends {
            End::Errs => Err(HookError::new("scripted")),
            End::Panics => panic!("scripted"),
            End::Hangs => std::future::pending().await,
            End::Says(kind) => Ok(match kind {
                Kind::Skip => CallVerdict::Skip,
                Kind::Allow => CallVerdict::Allow,
                Kind::Replace => CallVerdict::Replace { with: Box::new(reason) },
                Kind::Retry => CallVerdict::Retry { after_ms: 1 },
                Kind::Ask => CallVerdict::Ask { reason },
                Kind::Stop => CallVerdict::Stop { reason },
                Kind::Deny => CallVerdict::Deny { reason },
                _ => CallVerdict::Proceed,
            }),
        }
    }

    fn look(&self, call: &Call) {
        self.seen.add(format!("{} saw {}", self.script.name, bytes(call)));
    }
}

impl Hook<Calling> for Actor {
    async fn run(&self, cx: &mut Cx<'_, Calling>) -> Answer<Calling> {
        self.look(cx);
        if let Some(tool) = self.script.writes {
            write(cx, tool, &self.script.name);
            let trail = cx.state_mut().metadata.entry("trail".into()).or_insert_with(|| json!([]));
            trail.as_array_mut().expect("only actors write it").push(json!(self.script.name));
            cx.note(Lasting::Run, &self.script.name)?;
        }
        self.act().await
    }
}

impl Guard<Calling> for Actor {
    async fn check(&self, cx: &Cx<'_, Calling>) -> Answer<Calling> {
        self.look(cx);
        self.act().await
    }
}

impl Watch<Calling> for Actor {
    async fn see(&self, cx: &Cx<'_, Calling>) -> Looked {
        self.look(cx);
        self.act().await.map(|_| ())
    }
}

/// What a hook writes: the tool, and its own name at the end of the arguments.
pub(crate) fn write(call: &mut Call, tool: &str, name: &str) {
    call.tool = tool.into();
    let mut trail = call.args.as_array().cloned().unwrap_or_default();
    trail.push(name.into());
    call.args = Value::Array(trail);
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Who wrote to the state.
pub(crate) fn trail(desk: &Desk) -> Vec<String> {
    names(desk.metadata.get("trail"))
}

/// Who wrote to the call.
pub(crate) fn written(call: &Call) -> Vec<String> {
    names(Some(&call.args))
}

pub(crate) fn bytes(call: &Call) -> String {
    serde_json::to_string(call).expect("a call serialises")
}

pub(crate) fn set(scripts: &[Script], seen: &Seen) -> HookSet {
    let mut set = HookSet::new();
    for script in scripts {
        let actor = Actor { script: script.clone(), seen: seen.clone() };
        let mut site = Calling.named(script.name.as_str()).priority(script.priority).timeout(Duration::from_secs(1));
        if let Some(tool) = script.only {
            site = site.tool(tool);
        }
        if !script.enabled {
            site = site.disabled();
        }
        site = script.before.iter().fold(site, |site, other| site.before(format!("h{other}")));
        site = script.after.iter().fold(site, |site, other| site.after(format!("h{other}")));
        match (script.role, script.shadow) {
            (Role::Guard, true) => set.add_guard(site.shadow(), actor),
            (Role::Guard, false) => set.add_guard(site, actor),
            (Role::Watch, _) => set.add_watch(site, actor),
            (Role::Hook | Role::Around, true) => set.add_hook(site.on_failure(script.policy).shadow(), actor),
            (Role::Hook | Role::Around, false) => set.add_hook(site.on_failure(script.policy), actor),
        };
    }
    set
}

/// Fires the call `a` at these hooks, in a time of its own. Answers what was left and who saw what.
pub(crate) fn play(scripts: &[Script], retries: Retries) -> (Fired, Vec<String>) {
    play_with(|seen| set(scripts, seen), retries)
}

/// The same, with hooks that meet this one event.
pub(crate) fn play_once(scripts: &[Script], retries: Retries) -> (Fired, Vec<String>) {
    let once = |seen: &Seen| {
        let mut set = set(scripts, seen);
        set.for_one_event();
        set
    };
    play_with(once, retries)
}

fn play_with(set: impl FnOnce(&Seen) -> HookSet, retries: Retries) -> (Fired, Vec<String>) {
    let seen = Seen::default();
    let hooks = hooks(set(&seen));
    let fired = runtime().block_on(fire_at(&hooks, crate::world::call("a"), Desk::default(), retries));
    (fired, seen.all())
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}

/// A dispatch that was polled a few times.
pub(crate) struct Cut {
    pub(crate) call: Call,
    pub(crate) desk: Desk,
    pub(crate) seen: Vec<String>,
    /// Whether it was dropped before it had ended.
    pub(crate) was_dropped: bool,
}

/// Fires the call `a` at these hooks and drops the dispatch after so many polls. No time passes meanwhile.
pub(crate) fn play_until(scripts: &[Script], retries: Retries, polls: usize) -> Cut {
    let seen = Seen::default();
    let hooks = hooks(set(scripts, &seen));
    let (mut call, mut desk) = (crate::world::call("a"), Desk::default());
    let runtime = runtime();
    let _entered = runtime.enter();
    let has_ended = {
        let frame = Frame { event: &mut call, state: &mut desk, scope: &"somebody", retries };
        let mut dispatch = pin!(hooks.dispatch(Calling, frame));
        let mut task = Context::from_waker(Waker::noop());
        (0..polls).any(|_| dispatch.as_mut().poll(&mut task).is_ready())
    };
    Cut { call, desk, seen: seen.all(), was_dropped: !has_ended }
}
