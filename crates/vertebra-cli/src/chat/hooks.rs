//! `/hooks`: the hooks in force.

use std::sync::Arc;

use vertebra::{Agent, HookInfo};
use vertebra_bridge::policy::{BUNDLE, Policy};

use crate::view::{
    rows::{BOLD, DIM, PLAIN, Row},
    text,
};

/// Lists the hooks of each point in the order in which they run, with file and line for those from settings.
pub(super) fn table(agent: &Agent, policy: &Policy) -> Vec<Row> {
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
        rows.push(row(hook, policy));
    }
    rows
}

fn row(hook: &Arc<HookInfo>, policy: &Policy) -> Row {
    let row = Row::default().with(PLAIN, format!("  {:<7} {}", hook.role.to_string(), text::on_one_line(&hook.name)));
    let of_file = policy.hook(&hook.name).filter(|_| hook.bundle.as_deref() == Some(BUNDLE));
    let matcher = match of_file {
        Some(of_file) => Some(format!("{} · {} · {}", of_file.when(), of_file.does(), of_file.origin.spot())),
        None => hook.matcher.as_ref().and_then(|matcher| serde_json::to_string(matcher).ok()),
    };
    let mut besides: Vec<String> = matcher.iter().map(|matcher| text::on_one_line(matcher)).collect();
    if hook.has_condition {
        besides.push("conditional".to_owned());
    }
    if hook.detached {
        besides.push("in the background".to_owned());
    }
    if !hook.enabled {
        besides.push("off".to_owned());
    }
    besides.into_iter().fold(row, |row, words| row.with(DIM, "  ").with(DIM, words))
}
