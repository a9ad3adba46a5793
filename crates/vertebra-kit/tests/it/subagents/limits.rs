//! Limits of children: declared ones are kept, and the parent's hold in any case.

use std::{fs, time::Duration};

use vertebra::{
    RunStatus, Usage,
    testing::{FakeClock, Script},
};
use vertebra_kit::subagents::{Subagent, Subagents};

use super::{agents, last_results, lead, lead_on, task, tools, with_tools};
use crate::support::{built, run};

/// What the parent reads of a child under these limits that says `looking`, uses a tool, and would go on.
async fn limited(limits: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("name: worker\ndescription: Works\nprompt: Work.\nlimits: {{{limits}}}\n");
    fs::write(folder.path().join("worker.yaml"), text).expect("written");
    let clock = FakeClock::new();
    let usage = Usage { cost_micros: 700_000, ..Usage::tokens(800, 100) };
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "go"))
        .call("read_file", "{}")
        .saying("looking")
        .using(usage)
        .taking(Duration::from_secs(40), &clock)
        .say("Done.");
    let mut builder = lead_on(&model, &clock);
    with_tools(&mut builder, &tools());
    let report = run(&built(builder.with(Subagents::new().folder(folder.path()))), "go").await;
    assert_eq!((report.status, &*report.text), (RunStatus::Completed, "Done."), "the parent goes on");
    last_results(&model).concat()
}

#[tokio::test]
async fn every_declared_limit_is_kept_and_a_child_it_stops_gives_what_it_has() {
    let cases = [
        ("max_steps: 1", "used 1 of 1 steps"),
        ("max_tokens: 900", "used 900 of 900 tokens"),
        ("max_seconds: 30", "reached the time limit of 30s"),
        ("max_cost: 0.50", "used 700000 of 500000 millionths of a dollar"),
        ("deadline: 1970-01-01T00:00:20Z", "the deadline 1970-01-01T00:00:20Z has passed"),
    ];
    for (limits, why) in cases {
        assert_eq!(limited(limits).await, format!("done: [stopped: {why} (limits of worker)]\nlooking"), "{limits}");
    }
}

#[tokio::test]
async fn what_a_child_uses_is_charged_to_its_parent() {
    let cases = [(32_768, "finished (model)"), (4100, "used 4100 of 4100 tokens (limits of lead)")];
    for (limit, ending) in cases {
        let model = Script::new().call("spawn_subagent", &task("worker", "go")).costing(100, 0);
        let model = model.say("child").costing(4000, 0).say("Done.").may_end_early();
        let mut builder = lead(&model);
        builder.max_tokens(limit).with(agents([Subagent::new("worker", "Works")]));
        assert_eq!(run(&built(&mut builder), "go").await.stop.to_string(), ending);
    }
}

#[tokio::test]
async fn without_limits_of_its_own_a_child_is_held_by_its_parents() {
    let model = Script::new()
        .call("spawn_subagent", &task("worker", "go"))
        .call("read_file", "{}")
        .call("read_file", "{}")
        .saying("still reading");
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    builder.max_steps(3).with(agents([Subagent::new("worker", "Works")]));
    let report = run(&built(&mut builder), "go").await;
    assert_eq!(report.stop.to_string(), "used 3 of 3 steps (limits of lead)");
    model.assert_played();
}

#[tokio::test]
async fn children_at_the_same_time_cannot_overspend_together() {
    let spawn = task("worker", "go");
    let call = ("spawn_subagent", &*spawn);
    let mut model = Script::new().calls([call, call, call]).may_end_early();
    for _ in 0..20 {
        model = model.call("read_file", "{}");
    }
    let mut builder = lead(&model);
    with_tools(&mut builder, &tools());
    builder.max_steps(7).with(agents([Subagent::new("worker", "Works")]));
    let report = run(&built(&mut builder), "go").await;
    assert_eq!(report.stop.to_string(), "used 7 of 7 steps (limits of lead)");
    assert_eq!(model.requests().len(), 7);
}
