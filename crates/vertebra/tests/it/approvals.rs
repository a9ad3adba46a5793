//! Asking a person: bound to the exact arguments, guarded, bounded in time, and not on the agent's time.

use std::{future::pending, sync::Arc};

use serde_json::json;
use tokio::sync::Notify;
use vertebra::{
    Approval, Approver, Decision,
    prelude::*,
    testing::{FakeClock, FixedApprover, Script},
};

use super::support::*;

fn one_call() -> Script {
    Script::new().call("ls", r#"{"path": "a"}"#).say("done")
}

/// What the model reads, and what ran, if somebody asks about `ls` and this approver answers.
async fn check(approver: Option<FixedApprover>, expected: &[&str]) {
    let told = story(&one_call(), |b| {
        b.on(BeforeToolUse.named("careful"), async |_| ask("sure?"));
        b.guard(BeforeToolUse.path("/etc/**").named("fence"), async |_| deny("not there"));
        if let Some(approver) = approver {
            b.approver(approver);
        }
    })
    .await;
    let ends = ["user: go", "model: <ls>", "model: done", FINISHED];
    let told: Vec<&str> = told.iter().map(String::as_str).filter(|line| !ends.contains(line)).collect();
    assert_eq!(told, expected);
}

fn edited(args: serde_json::Value) -> FixedApprover {
    FixedApprover::by(move |_| Decision::Edit { args: Args::try_from(args.clone()).expect("an object") })
}

#[tokio::test]
async fn yes_no_nobody_and_something_else() {
    check(Some(FixedApprover::yes()), &["ls: files", r#"ran ls {"path":"a"}"#]).await;
    check(Some(FixedApprover::no("not now")), &["ls: denied: not now"]).await;
    check(None, &["ls: denied: careful requires approval (sure?), and no approver is configured"]).await;
    check(Some(edited(json!({"path": "b"}))), &["ls: files", r#"ran ls {"path":"b"}"#]).await;
}

#[tokio::test]
async fn an_approval_of_other_arguments_is_refused() {
    let other = FixedApprover::by(|_| Decision::Approve { digest: Args::default().digest(), grants: Vec::new() });
    check(Some(other), &["ls: denied: the approval was for other arguments"]).await;
}

#[tokio::test]
async fn what_a_person_writes_is_guarded_again() {
    check(Some(edited(json!({"path": "../etc/passwd"}))), &["ls: blocked by fence: not there"]).await;
}

#[tokio::test]
async fn what_a_person_writes_is_validated_again() {
    let model = Script::new().call("strict", r#"{"n": 1}"#).say("done");
    let told = story(&model, |b| {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        b.tool(vertebra::testing::RecordingTool::new("strict").with(|spec| spec.schema(schema)));
        b.approver(edited(json!({"n": "many"}))).on(BeforeToolUse, async |_| ask("sure?"));
    })
    .await;
    assert_eq!(told[2], r#"strict: the arguments of `strict` do not fit: /n: "many" is not of type "integer""#);
}

#[tokio::test]
async fn a_person_sees_the_final_arguments_and_their_fingerprint() {
    let approver = FixedApprover::yes();
    let shown = approver.clone();
    story(&one_call(), |b| {
        b.approver(approver);
        b.on(BeforeToolUse.named("careful").priority(1), async |_| ask("sure?"));
        b.on(BeforeToolUse.priority(2), async |cx| {
            cx.args_mut().set("path", "c");
            proceed()
        });
    })
    .await;
    let Approval { at, tool, args, digest, reason, asked_by, .. } = shown.asked().remove(0);
    assert_eq!((&*at.run.agent, &*at.run.working_directory), ("tester", "/repo"));
    assert_eq!((&*tool, &*reason, &*asked_by), ("ls", "sure?", "careful"));
    assert_eq!((args.to_value(), digest), (json!({"path": "c"}), args.digest()));
}

#[tokio::test]
async fn a_fixed_approver_answers_in_turn() {
    let person = FixedApprover::yes().then(FixedApprover::no("enough")).then(FixedApprover::no("really"));
    let model = Script::new().calls([("ls", "{}"), ("ls", "{}"), ("ls", "{}")]).say("done");
    let told = story(&model, |b| {
        b.approver(person).on(BeforeToolUse, async |_| ask("sure?"));
    })
    .await;
    assert_eq!(told[2..5], ["ls: files", "ls: denied: enough", "ls: denied: really"]);
}

#[tokio::test]
async fn a_guard_knows_what_is_known_of_a_tool() {
    let told = story(&one_call(), |b| {
        b.guard(BeforeToolUse.named("reader"), async |cx| match cx.scope().tool_spec(&cx.tool) {
            Some(spec) if spec.read_only => deny("it only reads"),
            Some(_) => proceed(),
            None => deny("nobody has it"),
        });
    })
    .await;
    assert_eq!(told[2], "ls: blocked by reader: it only reads");
}

#[tokio::test]
async fn a_person_who_changes_for_ever_is_told_that_it_is_enough() {
    let count = Log::default();
    let counting = count.clone();
    let restless = FixedApprover::by(move |_| {
        counting.add("asked");
        let n = counting.count("asked");
        Decision::Edit { args: Args::try_from(json!({"n": n})).expect("an object") }
    });
    let told = story(&one_call(), |b| {
        b.approver(restless).on(BeforeToolUse, async |cx| {
            // Never what was approved.
            let n = cx.args.get("n").and_then(serde_json::Value::as_u64).unwrap_or_default();
            cx.args_mut().set("n", n + 100);
            ask("sure?")
        });
    })
    .await;
    assert_eq!(told[2], "ls: the arguments were changed too often");
    assert!(count.count("asked") <= 8);
}

#[tokio::test]
async fn a_call_that_is_blocked_or_impossible_never_reaches_the_person() {
    let person = FixedApprover::yes();
    let asked = person.clone();
    let model = Script::new().calls([("ls", "{}"), ("nothing", "{}"), ("cat", "not json")]).say("done");
    let told = story(&model, |b| {
        b.approver(person).on(BeforeToolUse, async |_| ask("sure?"));
        b.guard(BeforeToolUse.tool("ls").named("guard"), async |_| deny("no"));
    })
    .await;
    assert_eq!(
        told[2..5],
        [
            "ls: blocked by guard: no",
            "nothing: unknown tool `nothing`. Known: bad, cat, ls",
            "cat: the arguments of `cat` are not a JSON object: not json"
        ]
    );
    assert_eq!(asked.asked(), []);
}

#[tokio::test]
async fn ask_is_stronger_than_allow_and_weaker_than_deny_in_any_order() {
    let allowed = |b: &mut vertebra::AgentBuilder, at| {
        b.on(BeforeToolUse.priority(at), async |_| allow());
    };
    for (asks, allows) in [(1, 2), (2, 1)] {
        let told = story(&one_call(), |b| {
            allowed(b, allows);
            b.on(BeforeToolUse.named("careful").priority(asks), async |_| ask("sure?"));
        })
        .await;
        assert_eq!(told[2], "ls: denied: careful requires approval (sure?), and no approver is configured");
        let told = story(&one_call(), |b| {
            allowed(b, allows);
            b.on(BeforeToolUse.named("never").priority(asks), async |_| deny("no"));
        })
        .await;
        assert_eq!(told[2], "ls: blocked by never: no");
    }
}

struct Sleepy;

impl Approver for Sleepy {
    async fn decide(&self, _: &Approval) -> Decision {
        pending().await
    }
}

#[tokio::test]
async fn a_question_nobody_answers_in_time_is_a_no_and_costs_no_time() {
    let clock = FakeClock::new();
    let told = story_on(&one_call(), &clock, |b| {
        b.approver(Sleepy).approval_timeout(secs(3600)).max_time(secs(10));
        b.on(BeforeToolUse, async |_| ask("sure?"));
    })
    .await;
    assert_eq!(told[2..], ["ls: denied: no one answered in time", "model: done", FINISHED]);
    assert_eq!(clock.sleeps(), [secs(3600)]);
}

struct Panicking;

impl Approver for Panicking {
    fn decide(&self, _: &Approval) -> impl Future<Output = Decision> + Send {
        panic!("before any future");
        #[allow(unreachable_code)]
        pending()
    }
}

#[tokio::test]
async fn an_approver_that_panics_has_said_no() {
    let told = story(&one_call(), |b| {
        b.approver(Panicking).on(BeforeToolUse, async |_| ask("sure?"));
    })
    .await;
    assert_eq!(told[2], "ls: denied: the approver panicked");
}

/// Says yes when told to.
struct WhenTold(Arc<Notify>);

impl Approver for WhenTold {
    async fn decide(&self, approval: &Approval) -> Decision {
        self.0.notified().await;
        approval.approve()
    }
}

#[tokio::test]
async fn a_wait_for_a_person_deep_down_does_not_count_as_anybodys_time() {
    let clock = FakeClock::by_hand();
    let (asked, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let child = agent_on(&Script::new().call("ls", "{}").say("seen"), &clock)
        .name("child")
        .tool(logged("ls", "files", &Log::default()))
        .build()
        .expect("a child");
    let model = Script::new().call("helper", r#"{"prompt": "look"}"#).say("done");
    let mut builder = agent_on(&model, &clock);
    builder.tool(vertebra::AgentTool::new("helper", "helps", child)).approver(WhenTold(told.clone()));
    builder.max_time(secs(10));
    builder.on(BeforeToolUse.tool("ls"), async |_| ask("sure?"));
    let question = asked.clone();
    builder.watch(Notification, async move |_| {
        question.notify_one();
        Ok(())
    });
    let agent = builder.build().expect("an agent");
    let mut running = tokio::spawn(async move { agent.run("go").await });
    tokio::select! {
        () = asked.notified() => {}
        ended = &mut running => panic!("nobody was asked: {ended:?}"),
    }
    tokio::task::yield_now().await;
    clock.advance(secs(500));
    told.notify_one();
    let report = report(running.await.expect("no panic"));
    assert_eq!(format!("= {}", ending(&report)), FINISHED);
    assert_eq!(read_by_model(&model), ["done: seen"]);
}
