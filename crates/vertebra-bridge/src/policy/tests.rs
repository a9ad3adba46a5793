//! What a policy makes of events.

use serde_json::{Value, json};

use super::*;
use crate::{
    handler::Services,
    settings::{Action, HookSettings},
    wire::{Decision, Happened, Reply},
};

fn deny(name: &str, level: Level) -> crate::settings::Said<HookSettings> {
    let origin = Origin { level, place: "vertebra.toml".into(), line: Some(7) };
    origin.said(HookSettings {
        name: name.to_owned(),
        point: "BeforeToolUse",
        role: vertebra::Role::Guard,
        matcher: Some(vertebra::Matcher::Command(r"\brm\b".to_owned())),
        priority: 100,
        before: Vec::new(),
        after: Vec::new(),
        timeout: None,
        max_retries: 0,
        on_failure: None,
        enabled: true,
        shadow: false,
        detached: false,
        action: Action::Say(Reply::verdict("deny", "reason", "deletions are for humans")),
    })
}

fn call(command: &str) -> Happened {
    let event: Value = json!({ "point": "BeforeToolUse", "tool": "bash", "args": { "command": command } });
    Happened::read(&event).expect("an event")
}

#[tokio::test]
async fn a_decision_names_the_hook_and_its_line() {
    let settings = Settings { hooks: vec![deny("no-rm", Level::User)], ..Settings::default() };
    let policy = Policy::new(&settings, &Services::default()).expect("a policy");
    let judged = policy.judge(&call("cd a && rm b")).await;
    assert_eq!(judged.decision, Some(Decision::Deny));
    assert_eq!(judged.decided_by.as_deref(), Some("no-rm (vertebra.toml:7)"));
    assert_eq!(judged.reason.as_deref(), Some("deletions are for humans"));
    assert_eq!(policy.judge(&call("ls")).await.decision, None);
}
