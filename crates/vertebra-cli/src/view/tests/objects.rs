//! What a program reads.

use serde_json::Value;

use super::{Canvas, Output, Showing, people, scenes, shown};

fn objects(output: Output, events: &[vertebra::RunEvent]) -> Vec<Value> {
    let showing = Showing { output, canvas: Canvas::Pipe, ..people(false).0 };
    let paper = shown(events, &showing, 80);
    assert_eq!(paper.all, paper.answer, "a program reads standard output");
    paper.all.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

/// The names that a section of the page lists, in the order it does.
fn documented(section: &str) -> Vec<String> {
    let page = include_str!("../../../../../docs/output.md");
    let text = page.split(&format!("## {section}\n")).nth(1).expect("the section is there");
    let text = text.split("\n## ").next().unwrap_or_default();
    let names = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_object_at_the_end_has_the_fields_of_the_page_and_no_others() {
    let objects = objects(Output::Json, &scenes::task().await);
    let [object] = &objects[..] else { panic!("{objects:?}") };
    let mut fields: Vec<String> = Vec::new();
    for (name, value) in object.as_object().expect("an object") {
        fields.push(name.clone());
        match (&**name, value) {
            ("stop" | "usage", Value::Object(inner)) => fields.extend(inner.keys().map(|key| format!("{name}.{key}"))),
            ("denied", Value::Array(denied)) => {
                let first = denied[0].as_object().expect("an object");
                fields.extend(first.keys().map(|key| format!("denied[].{key}")));
            }
            _ => {}
        }
    }
    let mut documented = documented("The result object");
    fields.sort();
    documented.sort();
    assert_eq!(fields, documented);
    assert_eq!(object["status"], "completed");
    assert_eq!(object["stop"]["reason"], "finished");
    assert_eq!(object["model"], "anthropic:claude-sonnet-4-5");
    assert_eq!(object["cost_usd"], 0.0485);
    assert_eq!(object["denied"][0]["reason"], "blocked by no-deletions: deletions are for humans");
}

#[tokio::test]
async fn events_come_as_the_page_says_and_the_object_last() {
    let mut seen: Vec<String> = Vec::new();
    for events in [scenes::task().await, scenes::trouble().await, scenes::away().await] {
        let objects = objects(Output::StreamJson, &events);
        assert_eq!(objects.last().expect("objects")["event"], "result");
        for object in &objects[..objects.len() - 1] {
            for field in ["run_id", "agent", "depth", "event"] {
                assert!(object.get(field).is_some(), "{field} in {object}");
            }
            seen.push(object["event"].as_str().expect("a name").to_owned());
        }
    }
    let documented = documented("The event stream");
    for name in &seen {
        assert!(documented.contains(name), "`{name}` is not on the page");
    }
    // A front end that is too slow, and a tool that talks, are not in these runs.
    for name in documented.iter().filter(|name| !["missed", "tool_says"].contains(&name.as_str())) {
        assert!(seen.contains(name), "`{name}` is on the page and never comes");
    }
}

#[tokio::test]
async fn a_run_that_failed_has_the_same_fields() {
    let done = objects(Output::Json, &scenes::task().await);
    let failed = objects(Output::Json, &scenes::failure().await);
    let keys = |object: &Value| object.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
    assert_eq!(keys(&done[0]), keys(&failed[0]));
    assert_eq!(failed[0]["status"], "failed");
    assert_eq!(failed[0]["cost_usd"], Value::Null);
}
