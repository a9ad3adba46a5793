//! What belongs to somebody else: it is not there, and it is not governed.

use serde_json::Value;
use tonic::{Code, Streaming};
use vertebra::{Agent, prelude::*, testing::Script};
use vertebra_server::proto::{
    AnswerApprovalRequest, Approval, ApprovalEvent, CancelRequest, CloseSessionRequest, CreateSessionRequest,
    EventsRequest, FireRequest, GetSessionRequest, ListApprovalsRequest, ListHooksRequest, ListSessionsRequest,
    ReadRecordsRequest, ResumeRequest, Scope, SessionStatus, WhenLost, answer_approval_request::Decision,
    approval_event::Event as News, scope,
};

use super::world::{BOT, CI, Client, OPS, World, guard, limits, open, patient_guard, prompt, results, soon, three};

fn every() -> ListApprovalsRequest {
    ListApprovalsRequest::default()
}

fn of(session_id: &str) -> ListApprovalsRequest {
    ListApprovalsRequest { session_id: session_id.to_owned() }
}

fn yes(asked: &Approval) -> AnswerApprovalRequest {
    AnswerApprovalRequest {
        session_id: asked.session_id.clone(),
        call_id: asked.call_id.clone(),
        decision: Some(Decision::ApproveDigest(asked.digest.clone())),
    }
}

/// What is refused as if it were not there.
#[track_caller]
fn hidden<T>(answer: Result<T, tonic::Status>, what: &str) {
    let status = answer.err().unwrap_or_else(|| panic!("{what}: it is somebody else's"));
    assert_eq!(status.code(), Code::NotFound, "{what}: {status}");
}

#[tokio::test]
async fn a_session_of_another_cannot_be_seen_run_read_answered_or_ended() {
    let world = World::behind(&["ask"], limits(), three(), None).await;
    let (session_id, events) = world.asks(CI).await;
    let id = || session_id.clone();
    let mut bot = world.sessions_of(BOT).await;
    hidden(bot.get(GetSessionRequest { session_id: id() }).await, "get");
    hidden(prompt(&mut bot, &session_id).await, "prompt");
    hidden(bot.events(EventsRequest { session_id: id(), after: 0 }).await, "events");
    hidden(bot.resume(ResumeRequest { session_id: id() }).await, "resume");
    hidden(bot.cancel(CancelRequest { session_id: id() }).await, "cancel");
    hidden(bot.close(CloseSessionRequest { session_id: id() }).await, "close");
    let mut hooks = world.hooks_of(BOT).await;
    hidden(hooks.list(ListHooksRequest { session_id: id() }).await, "its hooks");
    let event_json = r#"{"point":"BeforeToolUse","tool":"bash","args":{"command":"ask"}}"#.to_owned();
    hidden(hooks.fire(FireRequest { event_json, session_id: id() }).await, "an event for its hooks");
    let read = ReadRecordsRequest { session_id: id(), ..ReadRecordsRequest::default() };
    hidden(world.records_of(BOT).await.read(read.clone()).await, "its records");
    let mut approvals = world.approvals_of(BOT).await;
    for request in [every(), of(&session_id)] {
        assert_eq!(approvals.list(request).await.expect("a list").into_inner().approvals, []);
    }
    let asked = world.approvals_of(CI).await.list(every()).await.expect("a list").into_inner().approvals;
    let [asked] = &asked[..] else { panic!("its owner is asked: {asked:?}") };
    hidden(approvals.answer(yes(asked)).await, "an answer");
    assert_eq!(world.calls(), 0);
    let told = world.sessions_of(CI).await.get(GetSessionRequest { session_id: id() }).await.expect("it is its own");
    assert_eq!(told.into_inner().status(), SessionStatus::Running);
    // Who may see all of them sees all of that.
    let mut lines = world.records_of(OPS).await.read(read).await.expect("its records").into_inner();
    assert_eq!(soon(lines.message()).await.expect("a line").expect("a line").kind, "session_began");
    let mut ops = world.approvals_of(OPS).await;
    let seen = ops.list(every()).await.expect("a list").into_inner().approvals;
    assert_eq!(seen.iter().map(|asked| &asked.session_id).collect::<Vec<_>>(), [&session_id]);
    ops.answer(yes(asked)).await.expect("it may");
    results(events).await;
    assert_eq!(world.calls(), 1, "the run of its owner went on as if nobody had tried");
}

#[tokio::test]
async fn whoever_watches_questions_hears_of_those_that_it_may_answer() {
    let world = World::behind(&["ask"], limits(), three(), None).await;
    let mut bot = world.approvals_of(BOT).await.watch(every()).await.expect("it watches").into_inner();
    let (of_ci, _events) = world.asks(CI).await;
    let (of_bot, _events) = world.asks(BOT).await;
    assert_eq!(heard(&mut bot).await, ("asked".to_owned(), of_bot.clone()), "nothing of others");
    // Whoever comes later hears first of what waits, and of one session if it wants that.
    let mut ops = world.approvals_of(OPS).await;
    let mut one = ops.watch(of(&of_ci)).await.expect("it watches").into_inner();
    assert_eq!(heard(&mut one).await, ("asked".to_owned(), of_ci.clone()));
    // Another question is put, which is heard by who wants to hear of all.
    let mut all = ops.watch(every()).await.expect("it watches").into_inner();
    let (another, _events) = world.asks(CI).await;
    loop {
        match soon(all.message()).await.expect("news").and_then(|event| event.event) {
            Some(News::Asked(asked)) if asked.session_id == another => break,
            other => assert!(other.is_some(), "it is told"),
        }
    }
    for request in [of(&of_ci), of(&of_bot)] {
        let asked = ops.list(request.clone()).await.expect("a list").into_inner().approvals;
        assert_eq!(asked.iter().map(|asked| &asked.session_id).collect::<Vec<_>>(), [&request.session_id]);
        ops.answer(yes(&asked[0])).await.expect("it may");
    }
    assert_eq!(settled(&mut one, &of_ci).await, "approve");
    assert_eq!(settled(&mut bot, &of_bot).await, "approve");
}

/// The next piece of news: that somebody is asked, or what was decided; and the session.
async fn heard(news: &mut Streaming<ApprovalEvent>) -> (String, String) {
    match soon(news.message()).await.expect("news").and_then(|event| event.event) {
        Some(News::Asked(asked)) => ("asked".to_owned(), asked.session_id),
        Some(News::Settled(settled)) => (settled.decision, settled.session_id),
        None => panic!("there is no more news"),
    }
}

/// What was decided in a session, of which all news is. A question that is found in the journal at first is told of again
/// when it is put.
async fn settled(news: &mut Streaming<ApprovalEvent>, session_id: &str) -> String {
    loop {
        let (what, of) = heard(news).await;
        assert_eq!(of, session_id, "{what}");
        if what != "asked" {
            return what;
        }
    }
}

#[tokio::test]
async fn what_waits_in_the_journal_is_for_who_may_see_everything() {
    let world = World::behind(&[], limits(), three(), None).await;
    // Another process asked, was not answered, and left.
    let mut builder = Agent::builder(Script::new().call("work", "{}").may_end_early());
    builder.journal(world.journal.clone()).approver(world.journal.inbox());
    builder.tool(tool("work", "works", async |_: Value, _| Ok("it is done".to_owned())));
    builder.guard(BeforeToolUse, async |_| ask("may I?"));
    let mut session = builder.build().expect("an agent").session().await.expect("a session");
    let session_id = session.id().to_owned();
    session.prompt("go").await.expect("it is suspended");
    session.leave().await;

    let id = || session_id.clone();
    let mut ci = world.sessions_of(CI).await;
    let list = ListSessionsRequest::default;
    assert_eq!(ci.list(list()).await.expect("a list").into_inner().sessions, []);
    hidden(ci.resume(ResumeRequest { session_id: id() }).await, "resume");
    let read = ReadRecordsRequest { session_id: id(), ..ReadRecordsRequest::default() };
    hidden(world.records_of(CI).await.read(read).await, "its records");
    let mut approvals = world.approvals_of(CI).await;
    assert_eq!(approvals.list(of(&session_id)).await.expect("a list").into_inner().approvals, []);

    let mut ops = world.sessions_of(OPS).await;
    let waits = ops.list(list()).await.expect("a list").into_inner().sessions;
    let told: Vec<_> = waits.iter().map(|session| (session.id.as_str(), session.status())).collect();
    assert_eq!(told, [(session_id.as_str(), SessionStatus::Suspended)]);
    let asked = world.approvals_of(OPS).await.list(every()).await.expect("a list").into_inner().approvals;
    let [asked] = &asked[..] else { panic!("it is asked: {asked:?}") };
    assert!(asked.suspended);
    hidden(approvals.answer(yes(asked)).await, "an answer");
    let other = Approval { digest: "of something else".to_owned(), ..asked.clone() };
    let refused = world.approvals_of(OPS).await.answer(yes(&other)).await.expect_err("it is a yes to something else");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let mut news = world.approvals_of(OPS).await.watch(every()).await.expect("it watches").into_inner();
    assert_eq!(heard(&mut news).await, ("asked".to_owned(), id()));
    assert!(!world.approvals_of(OPS).await.answer(yes(asked)).await.expect("it is kept").into_inner().taken);
    assert_eq!(heard(&mut news).await, ("approve".to_owned(), id()));
    let beginning = session_id[..session_id.len() - 1].to_owned();
    hidden(ops.resume(ResumeRequest { session_id: beginning }).await, "a part of its name");
    hidden(ops.resume(ResumeRequest { session_id: "last".to_owned() }).await, "another name for it");
    ops.resume(ResumeRequest { session_id: id() }).await.expect("it goes on");
    assert_eq!(ops.get(GetSessionRequest { session_id: id() }).await.expect("it is open").into_inner().owner, "ops");
}

/// The hooks of clients that are in force in a session.
async fn in_force(world: &World, session_id: &str) -> Vec<String> {
    let listed = world.hooks_of(OPS).await.list(ListHooksRequest { session_id: session_id.to_owned() }).await;
    let listed = listed.expect("a list").into_inner().hooks.into_iter();
    let mut names: Vec<_> = listed.filter(|hook| !hook.client_id.is_empty()).map(|hook| hook.name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_hook_governs_the_sessions_that_its_scope_says_and_no_others() {
    let world = World::behind(&[], limits(), three(), None).await;
    let (mut ci, mut bot) = (world.sessions_of(CI).await, world.sessions_of(BOT).await);
    let (one, two, of_bot) = (open(&mut ci).await, open(&mut ci).await, open(&mut bot).await);
    let only = |id: &str| Some(Scope { which: Some(scope::Which::SessionId(id.to_owned())) });
    let attach = async |token| Client::attach(world.hooks_of(token).await, "c").await.expect("it is let in");
    let (mut of_ci, mut of_ops, mut other) = (attach(CI).await, attach(OPS).await, attach(BOT).await);
    of_ci.register(guard("own")).await.expect("it stands");
    of_ci.register_for(guard("one"), only(&one)).await.expect("it stands");
    let everything = Scope { which: Some(scope::Which::Everything(scope::Everything {})) };
    of_ops.register_for(guard("everything"), Some(everything)).await.expect("it may");
    of_ops.register_for(guard("bots"), only(&of_bot)).await.expect("it may");
    of_ops.register(guard("nothing")).await.expect("it has no sessions yet");
    let refused = other.register_for(guard("theirs"), only(&one)).await.expect_err("it is somebody else's");
    assert_eq!(refused, format!("there is no open session `{one}` that you may govern"));
    assert_eq!(in_force(&world, &one).await, ["everything", "one", "own"]);
    assert_eq!(in_force(&world, &two).await, ["everything", "own"]);
    assert_eq!(in_force(&world, &of_bot).await, ["bots", "everything"]);
    let later = open(&mut ci).await;
    assert_eq!(in_force(&world, &later).await, ["everything", "own"], "those to come included");
}

#[tokio::test]
async fn a_name_of_a_client_is_its_principals_own() {
    let world = World::behind(&["ls"], limits(), three(), None).await;
    let mut of_ci = Client::attach(world.hooks_of(CI).await, "c").await.expect("it is let in");
    of_ci.register(patient_guard("g")).await.expect("it stands");
    let mut of_bot = Client::attach(world.hooks_of(BOT).await, "c").await.expect("it is let in");
    of_bot.register(patient_guard("g")).await.expect("it stands, and the other does");
    let mut sessions = world.sessions_of(CI).await;
    let session_id = open(&mut sessions).await;
    let events = prompt(&mut sessions, &session_id).await.expect("a run");
    let event = of_ci.event().await;
    assert_eq!((&event.session_id, &*event.hook, event.deadline_ms), (&session_id, "g", 60_000));
    of_ci.answer(event.id, r#"{"verdict":"deny","reason":"says ci"}"#).await;
    assert_eq!(results(events).await, ["blocked by g: says ci"]);
}

#[tokio::test]
async fn a_run_is_not_suspended_for_a_client_that_does_not_govern_it() {
    let world = World::behind(&["ls"], limits(), three(), None).await;
    let mut of_ci = Client::attach(world.hooks_of(CI).await, "c").await.expect("it is let in");
    of_ci.register(patient_guard("g")).await.expect("it stands");
    let mut sessions = world.sessions_of(CI).await;
    let request = CreateSessionRequest { when_lost: WhenLost::Suspend.into(), ..CreateSessionRequest::default() };
    let session_id = sessions.create(request).await.expect("a session").into_inner().id;
    let events = prompt(&mut sessions, &session_id).await.expect("a run");
    let event = of_ci.event().await;
    let mut of_bot = Client::attach(world.hooks_of(BOT).await, "c").await.expect("it is let in");
    of_bot.register(guard("g")).await.expect("it stands");
    drop(of_bot);
    let mut hooks = world.hooks_of(BOT).await;
    let own = ListHooksRequest::default;
    soon(async { while !hooks.list(own()).await.expect("a list").into_inner().hooks.is_empty() {} }).await;
    of_ci.answer(event.id, "{}").await;
    results(events).await;
    let told = sessions.get(GetSessionRequest { session_id }).await.expect("it is open").into_inner();
    assert_eq!(told.status(), SessionStatus::Idle);
    assert_eq!(world.calls(), 1);
}
