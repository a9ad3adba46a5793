//! A critic that reads final answers.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use serde_json::json;
use vertebra::{
    AgentBuilder, AgentTool, Purpose, Reach, RunReport, RunStatus,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};
use vertebra_kit::{
    critique::{AtLimit, Case, Critic, Judgement, LAST, OnFailure, Outcome, Review, SelfCritique},
    structured::Extract,
};

use crate::{
    sheet::Sheet,
    support::{built, run},
};

pub(crate) fn sheet() -> Sheet {
    let knobs = SelfCritique::default();
    Sheet {
        name: "SelfCritique",
        purpose: "Reviews each final answer against the task of its run, and sends the model back with the problems found.",
        install: |builder| {
            builder.with(SelfCritique::default());
        },
        knobs: vec![
            ("critic", format!("{:?}", knobs.critic)),
            ("max_iterations", knobs.max_iterations.to_string()),
            ("at_limit", format!("{:?}", knobs.at_limit)),
            ("on_failure", format!("{:?}", knobs.on_failure)),
            ("evidence_chars", knobs.evidence_chars.to_string()),
            ("max_retries", knobs.max_retries.to_string()),
            ("timeout", format!("{:?}", knobs.timeout)),
            ("reach", format!("{:?}", knobs.reach)),
        ],
    }
}

/// A critic that approves answers with a `!` and remembers what it was shown.
#[derive(Clone, Default)]
struct Loud(Arc<Mutex<Vec<Case>>>);

impl Loud {
    fn critique(&self) -> SelfCritique {
        let seen = self.clone();
        let critic = Critic::by(async move |case: Case| {
            let good = case.answer.ends_with('!');
            seen.cases().push(case);
            Ok(if good { Review::approve("loud enough") } else { Review::reject("too quiet") })
        });
        SelfCritique { critic, ..SelfCritique::default() }
    }

    fn cases(&self) -> MutexGuard<'_, Vec<Case>> {
        self.0.lock().expect("no panic")
    }

    fn answers(&self) -> Vec<String> {
        self.cases().iter().map(|case| case.answer.clone()).collect()
    }
}

fn judgement(state: &AgentState) -> Option<Judgement> {
    state.metadata().read(LAST).expect("a judgement")
}

/// Runs one prompt and answers with the report, the judgement that is left and the notifications.
async fn judged(builder: &mut AgentBuilder) -> (RunReport, Judgement, Vec<String>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    builder.watch(Notification, async move |cx| {
        seen.lock().expect("no panic").push(format!("{}: {}", cx.kind, cx.message));
        Ok(())
    });
    let agent = built(builder);
    let mut session = agent.session().await.expect("a session");
    let report = session.prompt("sing").await.expect("a run");
    let judgement = judgement(&session.state().await).expect("a judgement");
    session.close().await;
    let told = told.lock().expect("no panic").clone();
    (report, judgement, told)
}

#[tokio::test]
async fn a_rejected_answer_goes_back_once_with_the_feedback_and_stands_in_the_conversation_once() {
    let model = Script::new().say("la").say("la!");
    let critic = Critic::by(async |case: Case| {
        let lists = |text: &str| vec![text.to_owned()];
        Ok(match case.attempt {
            1 => Review {
                strengths: lists("in tune"),
                weaknesses: lists("no verve"),
                suggestions: lists("louder"),
                ..Review::reject("too quiet")
            },
            _ => Review::approve("fine"),
        })
    });
    let critique = SelfCritique { critic, ..SelfCritique::default() };
    let (report, judgement, told) = judged(Agent::builder(model.clone()).with(critique)).await;

    assert_eq!((report.status, &*report.text, report.steps), (RunStatus::Completed, "la!", 2));
    let read: Vec<String> = model.requests()[1].messages.iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(read[..2], ["sing", "la"]);
    assert_eq!(
        read[2],
        "A reviewer did not accept your answer: too quiet\nKeep:\n- in tune\nWrong with it:\n- no verve\nTo do:\n- louder\n\
         Revise the answer, with tools where that helps, and give it again in whole."
    );
    assert_eq!(read.len(), 3, "the rejected answer is there once: {read:?}");
    assert_eq!((judgement.outcome, judgement.iteration, judgement.review.approved), (Outcome::Approved, 1, true));
    assert_eq!(told, ["critique: sent back: too quiet", "critique: approved: fine"]);
}

#[tokio::test]
async fn each_run_of_a_session_has_its_own_task_its_own_evidence_and_its_own_count() {
    let critic = Loud::default();
    let model = Script::new().call("hum", "{}").say("a").say("b").say("c").say("d").say("e").say("f!");
    let mut builder = Agent::builder(model.clone());
    builder.with(critic.critique()).tool(RecordingTool::new("hum").replying("hmm"));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    let first = session.prompt("sing").await.expect("a run");
    let after_first = judgement(&session.state().await).expect("a judgement");
    let second = session.prompt("shout").await.expect("a run");
    let after_second = judgement(&session.state().await).expect("a judgement");

    assert_eq!((&*first.text, &*second.text), ("c", "f!"), "each is sent back twice");
    assert_eq!((after_first.outcome, after_second.outcome), (Outcome::Rejected, Outcome::Approved));
    assert_eq!((after_first.run_id, after_second.run_id), (first.run_id, second.run_id));
    let shown: Vec<_> = critic.cases().iter().map(|c| (c.task.clone(), c.evidence.clone(), c.attempt)).collect();
    let hummed = "hum{} (done): hmm";
    let wanted = [
        ("sing", hummed, 1),
        ("sing", hummed, 2),
        ("sing", hummed, 3),
        ("shout", "", 1),
        ("shout", "", 2),
        ("shout", "", 3),
    ];
    assert_eq!(shown, wanted.map(|(task, evidence, attempt)| (task.to_owned(), evidence.to_owned(), attempt)));
}

#[tokio::test]
async fn at_the_limit_the_last_answer_stands_and_everybody_can_see_how() {
    for (at_limit, max_iterations, status) in [
        (AtLimit::Keep, 2, RunStatus::Completed),
        (AtLimit::Stop, 1, RunStatus::Stopped),
        (AtLimit::Keep, 0, RunStatus::Completed),
    ] {
        let model = (0..=max_iterations).fold(Script::new(), |model, n| model.say(format!("la {n}")));
        let critique = SelfCritique { at_limit, max_iterations, ..Loud::default().critique() };
        let (report, judgement, told) = judged(Agent::builder(model.clone()).with(critique)).await;
        assert_eq!((report.status, report.text), (status, format!("la {max_iterations}")));
        assert_eq!((judgement.outcome, judgement.iteration), (Outcome::Rejected, max_iterations));
        assert_eq!(told.last().map(String::as_str), Some("critique: rejected: too quiet"));
        if at_limit == AtLimit::Stop {
            assert_eq!(report.stop.message, "after 1 revisions the critic still rejects the answer: too quiet");
        }
        model.assert_played();
    }
}

#[tokio::test]
async fn a_critic_that_fails_is_treated_as_told() {
    let broken = || Critic::by(async |_: Case| Err(HookError::new("out of ink")));
    let cases = [
        (OnFailure::Approve, RunStatus::Completed, 1, Outcome::NotJudged),
        (OnFailure::Reject, RunStatus::Completed, 3, Outcome::Rejected),
        (OnFailure::Stop, RunStatus::Stopped, 1, Outcome::NotJudged),
    ];
    for (on_failure, status, steps, outcome) in cases {
        let model = (0..steps).fold(Script::new(), |model, _| model.say("la"));
        let critique = SelfCritique { critic: broken(), on_failure, ..SelfCritique::default() };
        let (report, judgement, _) = judged(Agent::builder(model).with(critique)).await;
        assert_eq!((report.status, report.steps, judgement.outcome), (status, steps, outcome), "{on_failure:?}");
        assert_eq!(judgement.review.summary, "the critic failed: out of ink");
    }
}

#[tokio::test]
async fn a_critic_that_never_answers_has_failed_once_the_runs_clock_says_so() {
    let critic = Critic::by(async |_: Case| std::future::pending().await);
    let critique = SelfCritique { critic, timeout: Duration::from_secs(70_000), ..SelfCritique::default() };
    let mut builder = Agent::builder(Script::new().say("la"));
    builder.max_time(Duration::MAX).clock(FakeClock::new()).with(critique);
    let (report, judgement, _) = judged(&mut builder).await;
    assert_eq!(report.status, RunStatus::Completed);
    assert_eq!(judgement.review.summary, "the critic failed: no judgement within 70000s");
}

#[tokio::test]
async fn the_model_judges_between_the_hooks_and_out_of_the_budget() {
    let purposes = Arc::new(Mutex::new(Vec::new()));
    let seen = purposes.clone();
    let model = Script::new()
        .call("hum", r#"{"note": "c"}"#)
        .say("la")
        .say("Not bad, but no.")
        .say(r#"{"approved": false, "summary": "flat"}"#)
        .costing(30, 12)
        .say("la!")
        .say(r#"{"approved": true, "summary": "good"}"#);
    let mut builder = Agent::builder(model.clone());
    builder.system_prompt("sing along").tool(RecordingTool::new("hum").replying("hmm")).with(SelfCritique::default());
    builder.watch(BeforeInference, async move |cx| {
        seen.lock().expect("no panic").push(cx.purpose.clone());
        Ok(())
    });
    let (report, judgement, _) = judged(&mut builder).await;

    let (step, critic) = (Purpose::Step, Purpose::Capability("critique".into()));
    let wanted = [&step, &step, &critic, &critic, &step, &critic].map(Clone::clone);
    assert_eq!(*purposes.lock().expect("no panic"), wanted);
    assert_eq!((report.usage.total_tokens(), &*report.text, judgement.outcome), (42, "la!", Outcome::Approved));
    let request = &model.requests()[2];
    let asked = request.messages.last().map(|message| message.text().to_owned()).unwrap_or_default();
    let wanted =
        "<task>\nsing\n</task>\n<evidence>\nhum{\"note\":\"c\"} (done): hmm\n</evidence>\n<answer>\nla\n</answer>\n";
    assert!(asked.starts_with(wanted), "{asked}");
    assert!(request.tools.is_empty() && !request.system_prompt.contains("sing along"));
    assert_eq!(request.options["response_schema"]["name"], "Review");
}

#[tokio::test]
async fn a_judgement_that_does_not_fit_is_asked_for_again_as_often_as_told() {
    for max_retries in [0, 2] {
        let model = (0..=max_retries).fold(Script::new().say("la"), |model, _| model.say("hm"));
        let critique = SelfCritique { max_retries, ..SelfCritique::default() };
        let (report, judgement, _) = judged(Agent::builder(model.clone()).with(critique)).await;
        assert_eq!((report.status, judgement.outcome), (RunStatus::Completed, Outcome::NotJudged));
        let wanted = format!("after {max_retries} retries the answer still does not fit `Review`");
        assert!(judgement.review.summary.contains(&wanted), "{}", judgement.review.summary);
        model.assert_played();
    }
}

#[tokio::test]
async fn evidence_is_cut_in_the_middle() {
    let critic = Loud::default();
    let model = Script::new().call("hum", "{}").say("la!");
    let mut builder = Agent::builder(model);
    let hums = |_: &Args| Ok(format!("begin {} end", "m".repeat(90)).into());
    builder.tool(RecordingTool::new("hum").by(hums));
    builder.with(SelfCritique { evidence_chars: 60, ..critic.critique() });
    run(&built(&mut builder), "sing").await;
    let evidence = critic.cases()[0].evidence.clone();
    assert!(evidence.starts_with("hum{} (done): begin mmm") && evidence.ends_with("mmm end"), "{evidence}");
    assert!(evidence.contains("[… 54 characters left out …]"), "{evidence}");
}

#[tokio::test]
async fn limits_end_a_run_that_the_critic_would_send_back() {
    let critic = Loud::default();
    let model = Script::new().say("la").say("la la");
    let agent = built(Agent::builder(model).max_steps(2).with(critic.critique()));
    let report = run(&agent, "sing").await;
    assert_eq!((report.status, report.steps), (RunStatus::Stopped, 2));
    assert_eq!(report.stop.reason, vertebra::StopReason::Steps);
    assert_eq!(critic.answers(), ["la", "la la"]);
}

#[tokio::test]
async fn what_a_hook_ends_is_neither_judged_nor_sent_back() {
    let critic = Loud::default();
    let mut builder = Agent::builder(Script::new().say("la"));
    builder.with(critic.critique());
    builder.on(AfterStep.named("night"), async |_cx| stop("quiet now"));
    let report = run(&built(&mut builder), "sing").await;
    assert_eq!((&*report.stop.source, critic.answers().len()), ("night", 0));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_its_schema_is_not_shown_to_the_critic() {
    let critic = Loud::default();
    let model = Script::new().say("la").say("\"la\"").say("\"la!\"").say("\"la!\"");
    let agent = built(Agent::builder(model).with(critic.critique()));
    let extracted = agent.extract::<String>("sing").await.expect("a song");
    assert_eq!((&*extracted.value, extracted.report.steps), ("la!", 4));
    assert_eq!(critic.answers(), ["\"la\"", "\"la!\"", "\"la!\""]);
}

/// A parent that has one child sing, and says what it says.
async fn family(above: Option<SelfCritique>, below: Option<SelfCritique>, child_says: &[&str]) {
    let song = child_says.iter().fold(Script::new(), |model, text| model.say(*text));
    let mut child = Agent::builder(song.clone());
    child.name("child");
    below.map(|critique| child.with(critique));
    let model = Script::new().call("sing", r#"{"prompt": "sing"}"#).say("done!");
    let mut parent = Agent::builder(model);
    parent.name("parent").tool(AgentTool::new("sing", "Sings", built(&mut child)));
    above.map(|critique| parent.with(critique));
    assert_eq!(run(&built(&mut parent), "have it sung").await.status, RunStatus::Completed);
    song.assert_played();
}

#[tokio::test]
async fn a_critic_judges_the_agent_it_was_given_to_wherever_that_agent_runs() {
    let (above, below) = (Loud::default(), Loud::default());
    family(Some(above.critique()), None, &["la"]).await;
    assert_eq!(above.answers(), ["done!"], "not its children");

    family(None, Some(below.critique()), &["la", "la!"]).await;
    assert_eq!(below.answers(), ["la", "la!"], "also as a child");

    let (above, below) = (Loud::default(), Loud::default());
    family(Some(above.critique()), Some(below.critique()), &["la", "la!"]).await;
    assert_eq!((above.answers(), below.answers()), (vec!["done!".to_owned()], vec!["la".to_owned(), "la!".to_owned()]));
}

#[tokio::test]
async fn a_critic_judges_children_too_if_asked_each_run_for_itself() {
    let critic = Loud::default();
    family(Some(SelfCritique { reach: Reach::Children, ..critic.critique() }), None, &["la", "la!"]).await;
    assert_eq!(critic.answers(), ["la", "la!", "done!"]);
    let tasks: Vec<_> = critic.cases().iter().map(|case| (case.task.clone(), case.attempt)).collect();
    assert_eq!(json!(tasks), json!([["sing", 1], ["sing", 2], ["have it sung", 1]]));
}
