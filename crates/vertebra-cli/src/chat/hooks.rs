//! The hooks in force, for people.

use std::sync::Arc;

use vertebra::{Agent, HookInfo};

use crate::view::{
    rows::{BOLD, DIM, PLAIN, Row},
    text,
};

/// Point after point: which hooks stand there, in the order they run.
pub(super) fn table(agent: &Agent) -> Vec<Row> {
    let mut hooks = agent.hooks().list();
    let mut points: Vec<&str> = Vec::new();
    for hook in &hooks {
        if !points.contains(&hook.point) {
            points.push(hook.point);
        }
    }
    let place = |hook: &HookInfo| points.iter().position(|point| *point == hook.point);
    hooks.sort_by_key(|hook| (place(hook), hook.role, hook.priority));
    let mut rows = Vec::new();
    let mut point = "";
    for hook in &hooks {
        if hook.point != point {
            point = hook.point;
            rows.push(Row::default().with(BOLD, point));
        }
        rows.push(row(hook));
    }
    rows
}

fn row(hook: &Arc<HookInfo>) -> Row {
    let row = Row::default().with(PLAIN, format!("  {:<7} {}", hook.role.to_string(), text::on_one_line(&hook.name)));
    let matcher = hook.matcher.as_ref().and_then(|matcher| serde_json::to_string(matcher).ok());
    let mut besides: Vec<String> = matcher.iter().map(|matcher| text::on_one_line(matcher)).collect();
    if hook.has_condition {
        besides.push("under a condition".to_owned());
    }
    if hook.detached {
        besides.push("behind the scenes".to_owned());
    }
    if !hook.enabled {
        besides.push("off".to_owned());
    }
    besides.into_iter().fold(row, |row, words| row.with(DIM, "  ").with(DIM, words))
}
