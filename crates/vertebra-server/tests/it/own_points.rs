//! Hooks of clients at points that the server's agents know and no one else does.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vertebra::{
    AgentBuilder, AttributeValue, Event, Invocation, Kind, PatternKind, PointDeclaration, Points, point, prelude::*,
    verdict,
};
use vertebra_server::proto::{FireRequest, Hook, ListHooksRequest, Matcher, Patterns, Role};

use crate::world::{World, limits, results};

#[derive(Clone, Serialize, Deserialize)]
struct Deployment {
    service: String,
}

impl Event for Deployment {
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        (key == "service").then_some(AttributeValue::Text(&self.service))
    }
}

verdict! {
    enum DeployVerdict { deny }
}

point! {
    /// A service is about to be deployed.
    BeforeDeploy: Deployment => DeployVerdict {
        attributes: [service: Name],
        sample: Deployment { service: "shop".to_owned() },
    }
}

async fn deploy(args: Value, invocation: Invocation) -> Result<String, ToolError> {
    let (deployment, outcome) = invocation.fire(BeforeDeploy, serde_json::from_value(args)?).await?;
    match outcome.verdict() {
        DeployVerdict::Deny { reason } => Err(ToolError::new(reason)),
        DeployVerdict::Proceed | DeployVerdict::Skip => Ok(format!("{} is up", deployment.service)),
    }
}

/// A tool that fires its own point, and a point that a file would declare.
fn deployer(builder: &mut AgentBuilder) {
    let declared = PointDeclaration {
        name: "BeforeMigration".to_owned(),
        attributes: vec![("table".to_owned(), PatternKind::Glob)],
        powers: vec![Kind::Deny, Kind::Ask],
        ..PointDeclaration::default()
    };
    let mut points = Points::default();
    points.add(declared.point().expect("a declaration")).expect("a new name");
    builder.tool(tool("deploy", "deploys", deploy)).point(BeforeDeploy).points(&points);
}

async fn world() -> World {
    let calls = || {
        vertebra::testing::Script::new()
            .call("deploy", r#"{"service": "shop"}"#)
            .call("deploy", r#"{"service": "bank-eu"}"#)
            .say("done")
            .may_end_early()
    };
    World::with(calls, deployer, limits()).await
}

fn hook(name: &str, point: &str, attribute: (&str, &str)) -> Hook {
    let patterns = Patterns { any: vec![attribute.1.to_owned()] };
    let matcher = Matcher { attributes: HashMap::from([(attribute.0.to_owned(), patterns)]), ..Matcher::default() };
    Hook {
        name: name.to_owned(),
        point: point.to_owned(),
        role: Role::Guard.into(),
        r#match: Some(matcher),
        ..Hook::default()
    }
}

#[tokio::test]
async fn a_guard_of_a_client_holds_at_a_point_that_a_tool_fires_in_a_run() {
    let world = world().await;
    let mut client = world.client("c").await;
    client.register(hook("no-banks", "before_deploy", ("service", "bank-*"))).await.expect("it stands");
    let _there = client.answering(|event, seen| {
        assert_eq!((&*event.point, &seen["service"], &seen["step"]), ("BeforeDeploy", &json!("bank-eu"), &json!(2)));
        json!({ "verdict": "deny", "reason": "not the bank" })
    });
    let session = world.open().await;
    assert_eq!(results(&world.run(&session).await), ["shop is up", "not the bank"]);
    let listed = world.hooks().await.list(ListHooksRequest { session_id: session }).await.expect("a list").into_inner();
    let listed: Vec<_> = listed.hooks.iter().map(|hook| (&*hook.name, &*hook.point)).collect();
    assert_eq!(listed, [("no-banks", "BeforeDeploy")]);
}

#[tokio::test]
async fn a_client_fires_a_declared_point_at_the_hooks_of_clients() {
    let world = world().await;
    let mut client = world.client("c").await;
    client.register(hook("no-users", "BeforeMigration", ("table", "users/**"))).await.expect("it stands");
    let _there = client.answering(|_, seen| json!({ "verdict": "ask", "reason": seen["table"] }));
    let session = world.open().await;
    for session_id in [String::new(), session] {
        let event_json = json!({ "point": "BeforeMigration", "table": "users/eu", "rows": 3 }).to_string();
        let fired = world.hooks().await.fire(FireRequest { event_json, session_id }).await.expect("it is judged");
        let judgement: Value = serde_json::from_str(&fired.get_ref().judgement_json).expect("JSON");
        assert_eq!((&judgement["decision"], &judgement["reason"]), (&json!("ask"), &json!("users/eu")));
        let record: Value = serde_json::from_str(&fired.get_ref().record_json).expect("JSON");
        assert_eq!((&record["point"], &record["decided_by"]), (&json!("BeforeMigration"), &json!("no-users")));
    }
}

#[tokio::test]
async fn a_verdict_that_a_point_lacks_is_a_failure_of_the_guard_and_refuses() {
    let world = world().await;
    let mut client = world.client("c").await;
    client.register(hook("no-banks", "BeforeDeploy", ("service", "bank-*"))).await.expect("it stands");
    let _there = client.answering(|_, _| json!({ "verdict": "ask", "reason": "sure?" }));
    let session = world.open().await;
    let results = results(&world.run(&session).await);
    assert!(results[1].contains("`no-banks` failed: invalid answer at BeforeDeploy"), "{results:?}");
}

#[tokio::test]
async fn a_hook_that_does_not_fit_a_point_of_ones_own_is_an_error_at_registration() {
    let world = world().await;
    let mut client = world.client("c").await;
    let mut told = async |hook: Hook| client.register(hook).await.expect_err("an error");
    let unknown = told(hook("x", "BeforeDeplo", ("service", "a"))).await;
    assert!(unknown.contains("unknown point `BeforeDeplo`; did you mean `BeforeDeploy`?"), "{unknown}");
    let lacking = told(hook("x", "BeforeDeploy", ("sevice", "a"))).await;
    assert!(lacking.contains("BeforeDeploy has no attribute `sevice`; did you mean `service`?"), "{lacking}");
    let mut twice = hook("x", "BeforeToolUse", ("tool", "b*"));
    twice.r#match.as_mut().expect("a matcher").tool = vec!["bash".to_owned()];
    let twice = told(twice).await;
    assert!(twice.contains("the attribute `tool` is there twice"), "{twice}");
    let call = Hook {
        r#match: Some(Matcher { tool: vec!["bash".to_owned()], ..Matcher::default() }),
        ..hook("x", "BeforeDeploy", ("service", "a"))
    };
    let call = told(call).await;
    assert!(call.contains("BeforeDeploy has no attribute `tool`"), "{call}");
    let circle = |name: &str, other: &str| Hook {
        before: vec![other.to_owned()],
        r#match: None,
        ..hook(name, "BeforeDeploy", ("service", "a"))
    };
    client.register(Hook { r#match: None, ..hook("b", "BeforeDeploy", ("service", "a")) }).await.expect("it stands");
    client.register(circle("a", "b")).await.expect("it stands");
    let session = world.open().await;
    let error = client.register(circle("b", "a")).await.expect_err("a circle");
    assert!(error.contains("the hooks at BeforeDeploy cannot be ordered"), "{session}: {error}");
}
