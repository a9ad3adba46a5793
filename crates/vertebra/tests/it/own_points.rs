//! Points of a program's own obey the laws of the built-in ones: in a subagent, in parallel calls, in a resumed run, on
//! replay, and when a hook at them fails.

use std::{future::pending, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;
use vertebra::{
    AgentBuilder, AgentTool, AttributeValue, BuildError, CancellationToken, Event, HookInfo, Invocation, Kind,
    Likeness, MemoryJournal, PatternKind, PointDeclaration, PointError, RunStatus, ToolSpec, What, point,
    prelude::*,
    testing::{FakeClock, Script},
    verdict,
};

use super::support::*;

/// What the tool of these tests is about to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Deployment {
    pub(crate) service: String,
    #[serde(default)]
    pub(crate) replicas: u32,
}

impl Event for Deployment {
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        (key == "service").then_some(AttributeValue::Text(&self.service))
    }
}

verdict! {
    pub(crate) enum DeployVerdict { deny, stop }
}

point! {
    /// A service is about to be deployed.
    pub(crate) BeforeDeploy: Deployment => DeployVerdict {
        aliases: ["PreDeploy"],
        attributes: [service: Name],
        changes: ["replicas"],
        sample: Deployment { service: "shop".to_owned(), replicas: 2 },
    }
}

/// Fires the point, and says what became of the deployment.
async fn deploy(deployment: Deployment, invocation: Invocation) -> Result<String, ToolError> {
    let (deployment, outcome) = invocation.fire(BeforeDeploy, deployment).await?;
    match outcome.verdict() {
        DeployVerdict::Deny { reason } => Err(ToolError::new(reason)),
        DeployVerdict::Stop { .. } | DeployVerdict::Proceed | DeployVerdict::Skip => {
            Ok(format!("{} x{}", deployment.service, deployment.replicas))
        }
    }
}

async fn deploy_args(args: serde_json::Value, invocation: Invocation) -> Result<String, ToolError> {
    deploy(serde_json::from_value(args)?, invocation).await
}

/// An agent with the tool and the point.
fn deployer(model: &Script) -> AgentBuilder {
    let mut builder = agent(model);
    builder.tool(tool("deploy", "deploys", deploy_args));
    builder.point(BeforeDeploy);
    builder
}

fn shop() -> Script {
    Script::new().call("deploy", r#"{"service": "shop"}"#).say("done")
}

#[tokio::test]
async fn hooks_guards_and_watches_at_an_own_point_change_decide_and_see() {
    let model =
        Script::new().calls([("deploy", r#"{"service": "shop"}"#), ("deploy", r#"{"service": "bank"}"#)]).say("done");
    let journal = MemoryJournal::default();
    let mut builder = deployer(&model);
    builder.journal(journal.clone());
    builder.on(BeforeDeploy.named("two"), async |cx| {
        cx.replicas = 2;
        proceed()
    });
    builder.guard(BeforeDeploy.matching(Matcher::attribute("service", "bank|vault")).named("no-banks"), async |cx| {
        deny(format!("no {} x{}", cx.service, cx.replicas))
    });
    let seen = Everything::default();
    builder.add_watch(BeforeDeploy.named("everything"), seen.clone());
    run(&mut builder).await;

    assert_eq!(read_by_model(&model), ["done: shop x2", "failed: no bank x2"]);
    let events = seen.at("BeforeDeploy");
    assert_eq!(events.iter().map(|one| one.verdict).collect::<Vec<_>>(), [Kind::Proceed, Kind::Deny]);
    let event = &events[0].event;
    assert!(events[0].survives_the_wire, "{event}");
    for (field, value) in [
        ("point", json!("BeforeDeploy")),
        ("session_id", json!("session-1")),
        ("agent", json!("tester")),
        ("depth", json!(0)),
        ("step", json!(1)),
        ("working_directory", json!("/repo")),
        ("service", json!("shop")),
        ("replicas", json!(2)),
    ] {
        assert_eq!(event[field], value, "{field}");
    }
    let records: Vec<_> = journal
        .entries()
        .into_iter()
        .filter_map(|line| match line.what {
            What::Dispatched { record, .. } if record.point == "BeforeDeploy" => Some((line.within, record)),
            _ => None,
        })
        .collect();
    let [(Some(within), first), (Some(_), second)] = &records[..] else { panic!("two dispatches: {records:?}") };
    assert_eq!(&**within, "call-1");
    assert_eq!(first.changes().map(|(by, change)| (by, &*change.path)).collect::<Vec<_>>(), [("two", "/replicas")]);
    assert_eq!(second.to_string(), "denied by no-banks: no bank x2");
}

#[tokio::test]
async fn a_stop_at_an_own_point_ends_the_run() {
    let model = shop().may_end_early();
    let mut builder = deployer(&model);
    builder.guard(BeforeDeploy.named("enough"), async |_| stop("enough for today"));
    let report = run(&mut builder).await;
    assert_eq!(ending(&report), "stopped (requested) by enough: enough for today");
}

#[tokio::test]
async fn a_guard_of_the_parent_holds_at_an_own_point_of_its_child() {
    let child_model = shop();
    let child = deployer(&child_model).name("child").build().expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "deploy"}"#).say("done");
    let mut builder = agent(&model);
    builder.tool(AgentTool::new("helper", "helps", child)).point(BeforeDeploy);
    builder.guard(BeforeDeploy.agent("child").named("parents"), async |cx| {
        deny(format!("not {} at depth {}", cx.service, cx.at.run.depth))
    });
    run(&mut builder).await;
    assert_eq!(read_by_model(&child_model), ["failed: not shop at depth 1"]);
}

#[tokio::test]
async fn a_child_fires_a_point_that_only_its_parent_has_registered() {
    let child_model = shop();
    let mut child = agent(&child_model);
    child.tool(tool("deploy", "deploys", deploy_args));
    let child = child.name("child").build().expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "deploy"}"#).say("done");
    let mut builder = agent(&model);
    builder.tool(AgentTool::new("helper", "helps", child)).point(BeforeDeploy);
    run(&mut builder).await;
    assert_eq!(read_by_model(&child_model), ["done: shop x0"]);
}

/// Another point of the same name.
mod of_the_child {
    use super::*;

    point! {
        /// A service of the child is about to be deployed.
        pub(crate) BeforeDeploy: Deployment => DeployVerdict {
            sample: Deployment { service: "shop".to_owned(), replicas: 2 },
        }
    }
    point! {
        /// Only the parent has registered it.
        pub(crate) BeforeRelease: Deployment => DeployVerdict {
            sample: Deployment { service: "shop".to_owned(), replicas: 2 },
        }
    }
}

#[tokio::test]
async fn a_child_with_a_point_of_the_same_name_still_knows_the_other_points_of_its_parent() {
    let inner = shop();
    let mut child = agent(&inner);
    child.tool(tool("deploy", "deploys", deploy_args)).point(of_the_child::BeforeDeploy);
    let outer = Script::new().call("delegate", r#"{"prompt": "deploy"}"#).say("done");
    let mut parent = agent(&outer);
    parent.tool(AgentTool::new("delegate", "delegates", child.build().expect("a child")));
    parent.point(BeforeDeploy).point(of_the_child::BeforeRelease);
    parent.guard(of_the_child::BeforeRelease.named("no-releases"), async |_| deny("not today"));
    parent.on(BeforeToolUse.tool("deploy").named("release-first"), async |cx| {
        let release = Deployment { service: "shop".to_owned(), replicas: 1 };
        let run = cx.scope().clone();
        let (_, outcome) = run.fire(of_the_child::BeforeRelease, release, cx.state_mut()).await?;
        match outcome.verdict() {
            DeployVerdict::Deny { reason } => deny(reason),
            DeployVerdict::Stop { .. } | DeployVerdict::Proceed | DeployVerdict::Skip => proceed(),
        }
    });
    run(&mut parent).await;
    assert_eq!(read_by_model(&inner), ["blocked: blocked by release-first: not today"]);
}

#[tokio::test]
async fn a_point_that_nobody_registered_is_not_fired() {
    let model = shop();
    let mut builder = agent(&model);
    builder.tool(tool("deploy", "deploys", deploy_args));
    run(&mut builder).await;
    let read = read_by_model(&model).concat();
    assert!(read.contains("`tester` does not know the point BeforeDeploy: add `.point(BeforeDeploy)`"), "{read}");
}

/// The hooks of parallel calls come one after another, and each sees the state that the one before left.
#[tokio::test]
async fn hooks_at_an_own_point_see_the_state_in_order_also_in_parallel_calls() {
    let model = Script::new()
        .calls([("look", r#"{"service": "a"}"#), ("look", r#"{"service": "b"}"#), ("look", r#"{"service": "c"}"#)])
        .say("done");
    let mut builder = agent(&model);
    builder.point(BeforeDeploy);
    builder.tool(tool("look", "looks", deploy_args).with(ToolSpec::read_only));
    builder.on(BeforeDeploy, async |cx| {
        let count = cx.state().metadata().get("count").and_then(serde_json::Value::as_u64).unwrap_or_default();
        tokio::task::yield_now().await;
        cx.state_mut().metadata_mut().set("count", json!(count + 1));
        cx.replicas = u32::try_from(count).expect("few");
        proceed()
    });
    run(&mut builder).await;
    let mut read = read_by_model(&model);
    read.sort_by_key(|line| line.chars().last());
    assert_eq!(read.iter().map(|line| line.chars().last().expect("a line")).collect::<String>(), "012");
}

#[tokio::test]
async fn a_failing_hook_at_an_own_point_leaves_event_and_state_as_before_it() {
    type Fails = fn(&mut AgentBuilder);
    let cases: [(&str, Fails); 3] = [
        ("panics", |builder| {
            builder.on(BeforeDeploy.named("bad").fail_open(), async |cx| {
                cx.replicas = 9;
                cx.state_mut().metadata_mut().set("by", "bad");
                panic!("oh no")
            });
        }),
        ("errors", |builder| {
            builder.on(BeforeDeploy.named("bad").fail_open(), async |cx| {
                cx.replicas = 9;
                cx.state_mut().metadata_mut().set("by", "bad");
                Err(HookError::new("oh no"))
            });
        }),
        ("hangs", |builder| {
            builder.on(BeforeDeploy.named("bad").fail_open().timeout(Duration::from_millis(1)), async |cx| {
                cx.replicas = 9;
                cx.state_mut().metadata_mut().set("by", "bad");
                pending().await
            });
        }),
    ];
    for (how, fails) in cases {
        let model = shop();
        let mut builder = deployer(&model);
        fails(&mut builder);
        let agent = builder.build().expect("an agent");
        let mut session = agent.session().await.expect("a session");
        session.prompt("go").await.expect("a run");
        assert_eq!(read_by_model(&model), ["done: shop x0"], "{how}");
        assert_eq!(session.state().await.metadata().get("by"), None, "{how}");

        // One that fails closed refuses.
        let model = shop();
        let mut builder = deployer(&model);
        builder.guard(BeforeDeploy.named("broken"), async |_| Err(HookError::new("oh no")));
        run(&mut builder).await;
        assert_eq!(read_by_model(&model), ["failed: `broken` failed: oh no"]);
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_at_an_own_point_keeps_the_state_from_before() {
    let arrived = Arc::new(Notify::new());
    let model = Script::new().call("deploy", r#"{"service": "shop"}"#);
    let mut builder = deployer(&model);
    builder.on(BeforeDeploy.priority(1), async |cx| {
        cx.state_mut().metadata_mut().set("first", true);
        proceed()
    });
    let here = arrived.clone();
    builder.on(BeforeDeploy.priority(2), async move |cx| {
        cx.state_mut().metadata_mut().set("second", true);
        here.notify_one();
        pending().await
    });
    let agent = builder.build().expect("an agent");
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let mut session = agent.session().await.expect("a session");
    let (report, ()) = tokio::join!(session.prompt_until("go", &token), async {
        arrived.notified().await;
        cancel.cancel();
    });
    assert_eq!(report.map(|report| report.status), Ok(RunStatus::Cancelled));
    let state = session.state().await;
    // The dispatch was not finished and is not in the journal, so nothing of it is in the state.
    assert_eq!((state.metadata().get("first"), state.metadata().get("second")), (None, None));
}

#[tokio::test]
async fn a_replay_makes_the_changes_of_hooks_at_an_own_point_again_without_the_tool() {
    let journal = MemoryJournal::default();
    let make = |model: Script, journal: Option<MemoryJournal>| {
        let mut builder = deployer(&model);
        builder.clock(FakeClock::new());
        if let Some(journal) = journal {
            builder.journal(journal);
        }
        builder.on(BeforeDeploy.named("remember"), async |cx| {
            let service = cx.service.clone();
            cx.state_mut().metadata_mut().set("deployed", service);
            proceed()
        });
        // What is in the state decides later, so a replay that forgot it would take another course.
        builder.guard(BeforeToolUse.tool("deploy"), async |cx| {
            if cx.state().metadata().get("deployed").is_some() { deny("one is enough") } else { proceed() }
        });
        builder.build().expect("an agent")
    };
    let calls = || {
        Script::new()
            .call("deploy", r#"{"service": "shop"}"#)
            .call("deploy", r#"{"service": "bank"}"#)
            .say("done")
            .may_end_early()
    };
    make(calls(), Some(journal.clone())).run("go").await.expect("a run");
    let replay = make(Script::new().may_end_early(), None).replay(journal.entries(), Likeness::Hooks).await;
    let replay = replay.expect("a recording");
    assert_eq!((replay.runs, replay.divergence), (1, None));
}

mod names {
    use super::*;

    verdict! {
        pub(crate) enum NoVerdict {}
    }

    point! {
        /// A name that is taken.
        pub(super) BeforeToolUse: Deployment => NoVerdict { sample: Deployment { service: String::new(), replicas: 0 } }
    }
    point! {
        /// An alias that is taken.
        pub(super) Deploying: Deployment => NoVerdict {
            aliases: ["PreDeploy"],
            sample: Deployment { service: String::new(), replicas: 0 },
        }
    }
    point! {
        /// An attribute that is there twice.
        pub(super) Twice: Deployment => NoVerdict {
            attributes: [service: Name, service: Glob],
            sample: Deployment { service: String::new(), replicas: 0 },
        }
    }
}

#[test]
fn a_point_whose_name_alias_or_attribute_is_taken_is_an_error_that_names_both() {
    let error = |register: fn(&mut AgentBuilder)| {
        let mut builder = deployer(&Script::new().may_end_early());
        register(&mut builder);
        match builder.build() {
            Err(BuildError::Point(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        error(|builder| _ = builder.point(names::BeforeToolUse)),
        "the point BeforeToolUse cannot be called `BeforeToolUse`: a built-in point has that name; choose another name"
    );
    assert_eq!(
        error(|builder| _ = builder.point(names::Deploying)),
        "the point Deploying cannot be called `PreDeploy`: the point BeforeDeploy already has this name; choose another name"
    );
    assert_eq!(
        error(|builder| _ = builder.point(names::Twice)),
        "the point Twice cannot have the attribute `service`: it is declared twice"
    );
    assert!(deployer(&Script::new().may_end_early()).point(BeforeDeploy).build().is_ok(), "once more is once");
}

#[test]
fn bad_hooks_at_an_own_point_are_errors_that_say_what_to_write() {
    let error = |add: fn(&mut AgentBuilder)| {
        let mut builder = deployer(&Script::new().may_end_early());
        add(&mut builder);
        builder.build().expect_err("an error").to_string()
    };
    assert_eq!(
        error(|builder| {
            let site = BeforeDeploy.matching(Matcher::attribute("sevice", "shop")).named("typo");
            builder.guard(site, async |_| proceed());
        }),
        "`typo` matches `sevice`, but BeforeDeploy has no attribute `sevice`: did you mean `service`?"
    );
    assert_eq!(
        error(|builder| {
            builder.guard(BeforeDeploy.named("a").before("b"), async |_| proceed());
            builder.guard(BeforeDeploy.named("b").before("a"), async |_| proceed());
        }),
        "the hooks at BeforeDeploy cannot be ordered, because each has to run before the next: a → b → a; remove one of \
         these constraints"
    );
    let many = error(|builder| {
        for number in 0..=HookInfo::MAX_AT_POINT {
            builder.watch(BeforeDeploy.named(format!("hook-{number}")), async |_| ());
        }
    });
    assert!(many.starts_with("BeforeDeploy cannot have 65536 hooks, `hook-65535` among them"), "{many}");
}

fn declaration(name: &str) -> PointDeclaration {
    PointDeclaration {
        name: name.to_owned(),
        attributes: vec![("service".to_owned(), PatternKind::Name)],
        powers: vec![Kind::Deny],
        ..PointDeclaration::default()
    }
}

#[test]
fn a_declaration_that_cannot_hold_is_an_error() {
    let mut points = vertebra::Points::default();
    let mut add = |declaration: PointDeclaration| {
        let point = declaration.point();
        point.and_then(|point| points.add(point)).expect_err("an error").to_string()
    };
    let cases = [
        add(declaration("beforeDeploy")),
        add(PointDeclaration { powers: vec![Kind::Ask], ..declaration("Asking") }),
        add(PointDeclaration { powers: vec![Kind::Deny, Kind::Retry], ..declaration("Retrying") }),
        add(PointDeclaration { aliases: vec!["PreToolUse".to_owned()], ..declaration("Calling") }),
        add(PointDeclaration { attributes: vec![("depth".to_owned(), PatternKind::Exact)], ..declaration("Deep") }),
        add(PointDeclaration { attributes: vec![("tool".to_owned(), PatternKind::Glob)], ..declaration("Tooled") }),
        add(PointDeclaration { changes: vec!["working_directory".to_owned()], ..declaration("Moved") }),
    ];
    insta::assert_snapshot!(cases.join("\n"), @r"
    `beforeDeploy` cannot be the name of a point: write letters and digits that begin with a capital, such as `BeforeDeploy`
    the point Asking has the power `ask` but not `deny`, so a hook that fails could not refuse anything: add `deny`
    the point Retrying cannot have the power `retry`: a declared point has `deny`, `ask`, `allow` and `stop`
    the point Calling cannot be called `PreToolUse`: the built-in point BeforeToolUse already has this name; choose another name
    the point Deep cannot have the attribute `depth`: every event or matcher has a field of that name; choose another
    the point Tooled cannot have the attribute `tool`: its patterns are of another kind than those of the built-in attribute of that name
    the point Moved cannot have the field `working_directory`: the head of every event has a field of that name; choose another
    ");
    let one = declaration("OneDeclared").point().expect("a point");
    assert_eq!(one, declaration("OneDeclared").point().expect("a point"));
    assert_eq!(points.add(one), Ok(()));
    let other =
        PointDeclaration { about: "another".to_owned(), ..declaration("OneDeclared") }.point().expect("a point");
    assert!(matches!(points.add(other), Err(PointError::Taken { by: "OneDeclared", is_built_in: false, .. })));
    let unknown = points.named("OneDeclred").expect_err("a typo").to_string();
    assert_eq!(unknown, "unknown point `OneDeclred`; did you mean `OneDeclared`?");
}
