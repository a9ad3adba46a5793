//! Sessions that a hook at `SessionStart` denies: they do not open, and the caller reads why.

use vertebra::{
    Agent, AgentBuilder, Handle, HookableAgent, Journal, Likeness, MemoryJournal, News, RunStatus, SessionError,
    StopReason, What, prelude::*, testing::Script,
};

use super::support::*;

const WHY: &str = "the session was denied by office-hours: come back on Monday";

fn closed(builder: &mut AgentBuilder) -> &mut AgentBuilder {
    builder.guard(SessionStart.named("office-hours"), async |_| deny("come back on Monday"))
}

fn kinds(journal: &MemoryJournal) -> Vec<&'static str> {
    journal.entries().iter().map(|line| line.what.kind()).collect()
}

#[tokio::test]
async fn a_denied_session_does_not_open_and_the_caller_reads_why() {
    let mut builder = agent(&Script::new().say("hi").may_end_early());
    let seen = watch_all(closed(&mut builder));
    let agent = builder.build().expect("an agent");
    let Err(error) = agent.session().await else { panic!("it opened") };
    assert_eq!(error.to_string(), WHY);
    let SessionError::Denied { session_id, by, reason } = error else { panic!("{error:?}") };
    assert_eq!((&*session_id, &*by, &*reason), ("session-1", "office-hours", "come back on Monday"));

    let failed = agent.run("go").await.expect_err("no run");
    assert_eq!(failed.to_string(), format!("{WHY} (office-hours)"));
    assert_eq!((failed.0.status, failed.0.stop.reason), (RunStatus::Failed, StopReason::Requested));
    assert_eq!((failed.0.steps, &*failed.0.session_id), (0, "session-2"));

    let mut stream = agent.stream("go");
    let mut news = Vec::new();
    while let Some(event) = stream.next().await {
        news.push(event.news);
    }
    let [News::Ended { report }] = &news[..] else { panic!("{news:?}") };
    assert_eq!(report.stop.message, WHY);
    assert!(stream.finish().await.is_err());

    let loops = HookableAgent::new(agent);
    let failed = loops.run("go", async |_: Handle| Ok("done".to_owned())).await.expect_err("no run");
    assert_eq!(failed.0.stop.message, WHY);
    // A session that never opened does not end.
    assert_eq!(seen.lines(), ["SessionStart"; 4]);
    assert!(seen.seen().iter().all(|sighting| sighting.verdict == vertebra::Kind::Deny));
}

#[tokio::test]
async fn a_guard_sees_the_system_prompt_that_hooks_left() {
    for (addition, opens) in [("", true), (" and rude", false)] {
        let mut builder = agent(&Script::new().say("hi").may_end_early());
        builder.on(SessionStart, async move |cx| {
            cx.system_prompt = format!("{}{addition}", cx.system_prompt).into();
            proceed()
        });
        builder
            .guard(SessionStart, async |cx| if cx.system_prompt.contains("rude") { deny("rude") } else { proceed() });
        let agent = builder.build().expect("an agent");
        assert_eq!(agent.session().await.is_ok(), opens, "{addition}");
    }
}

#[tokio::test]
async fn a_hook_that_fails_keeps_the_session_closed_unless_it_fails_open() {
    let mut builder = agent(&Script::new().say("hi").may_end_early());
    builder.on(SessionStart.named("shaky"), async |_| Err(HookError::new("no network")));
    let error = builder.build().expect("an agent").session().await.err().expect("it stays closed");
    assert_eq!(error.to_string(), "the session was denied by shaky: `shaky` failed: no network");

    let mut builder = agent(&Script::new().say("hi").may_end_early());
    builder.on(SessionStart.named("shaky").fail_open(), async |_| Err(HookError::new("no network")));
    assert_eq!(run(&mut builder).await.text, "hi");
}

#[tokio::test]
async fn the_journal_keeps_the_denial_and_lets_the_session_go() {
    let journal = MemoryJournal::default();
    let mut builder = agent(&Script::new());
    let agent = closed(builder.journal(journal.clone())).build().expect("an agent");
    assert!(agent.session().await.is_err());
    assert_eq!(kinds(&journal), ["session_began", "dispatched", "session_ended"]);
    let What::Dispatched { record, .. } = &journal.entries()[1].what else { panic!("{:?}", journal.entries()) };
    assert_eq!(
        (record.decided_by.as_deref(), record.reason.as_deref()),
        (Some("office-hours"), Some("come back on Monday"))
    );
    assert!(journal.another().claim("session-1").await.is_ok(), "the session is free");
    let replay = agent.replay(journal.entries(), Likeness::Hooks).await.expect("a recording");
    assert_eq!((replay.runs, replay.divergence), (0, None));
    let open = super::support::agent(&Script::new()).build().expect("an agent");
    let divergence = open.replay(journal.entries(), Likeness::Hooks).await.expect("a recording").divergence;
    assert_eq!(divergence.expect("the denial is missing").place, "SessionStart");
}

async fn recorded(journal: &MemoryJournal) -> Agent {
    let mut builder = agent(&Script::new().say("one").may_end_early());
    let agent = builder.journal(journal.clone()).build().expect("an agent");
    let mut session = agent.session().await.expect("a session");
    session.prompt("a").await.expect("a run");
    session.leave().await;
    agent
}

#[tokio::test]
async fn a_denied_resume_leaves_the_session_as_it_was() {
    let journal = MemoryJournal::default();
    let open = recorded(&journal).await;
    let mut builder = agent(&Script::new());
    let strict = builder.journal(journal.another()).on(SessionStart.named("office-hours"), async |cx| {
        if cx.resumed { deny("come back on Monday") } else { proceed() }
    });
    let strict = strict.build().expect("an agent");
    let error = strict.resume("session-1").await.err().expect("it stays closed");
    assert_eq!(error.to_string(), WHY);
    assert!(!kinds(&journal).contains(&"session_ended"));
    let resumed = open.resume("session-1").await.expect("it is as it was");
    assert_eq!(conversation(resumed.state().await.messages()), ["user: a", "model: one"]);
}

#[tokio::test]
async fn a_fork_can_be_denied_like_any_other_session() {
    let journal = MemoryJournal::default();
    recorded(&journal).await;
    let mut builder = agent(&Script::new());
    let strict = closed(builder.journal(MemoryJournal::default())).build().expect("an agent");
    let error = strict.fork(journal.entries(), None).await.err().expect("it stays closed");
    assert_eq!(error.to_string(), WHY);
}
