//! The check of a tool: after hooks and guards, before anyone is asked, and in the journal.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use vertebra::{
    CheckCx, Checked, Invocation, Likeness, MemoryJournal, ToolSpec, What,
    prelude::*,
    testing::{FakeClock, FixedApprover, Script},
};

/// A tool that writes to places: none to `full`, and to `safe` only if a person agrees.
#[derive(Clone, Default)]
struct Writes {
    checked: Arc<AtomicUsize>,
    wrote: Arc<AtomicUsize>,
}

impl Tool for Writes {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("write", "writes").idempotent()
    }

    async fn check(&self, args: Args, cx: CheckCx) -> Result<Option<Checked>, ToolError> {
        self.checked.fetch_add(1, Ordering::Relaxed);
        assert_eq!(cx.earlier().len(), 0);
        match args.text("to") {
            Some("full") => Err(ToolError::new("there is no room")),
            Some("panic") => panic!("oh"),
            Some("safe") => {
                Ok(Some(Checked { ask: Some("`safe` is locked".to_owned()), preview: Some("+x".to_owned()) }))
            }
            _ => Ok(Some(Checked::default())),
        }
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        if args.text("to") == Some("safe") && invocation.approved() != Some("`safe` is locked") {
            return Err(ToolError::new("locked"));
        }
        self.wrote.fetch_add(1, Ordering::Relaxed);
        Ok("written".into())
    }
}

struct Told {
    results: Vec<String>,
    asked: Vec<vertebra::Approval>,
    tool: Writes,
    journal: MemoryJournal,
}

fn agent(model: &Script, tool: &Writes, approver: &FixedApprover, journal: &MemoryJournal) -> Agent {
    let mut builder = Agent::builder(model.clone());
    builder.tool(tool.clone()).approver(approver.clone()).journal(journal.clone()).clock(FakeClock::new());
    builder.guard(BeforeToolUse.named("fence"), async |cx| match cx.args.text("to") {
        Some("denied") => deny("no"),
        Some("safe") => allow(),
        _ => ask("sure?"),
    });
    builder.on(PermissionRequest, async |_| proceed());
    builder.build().expect("an agent")
}

async fn told(to: &[&str]) -> Told {
    let model =
        to.iter().fold(Script::new(), |model, to| model.call("write", &format!(r#"{{"to": "{to}"}}"#))).say("done");
    let (tool, approver, journal) = (Writes::default(), FixedApprover::yes(), MemoryJournal::default());
    let agent = agent(&model, &tool, &approver, &journal);
    agent.run("go").await.expect("a run");
    let results = model.requests().last().map(|request| {
        let result = |message: &Message| match message {
            Message::Tool { result, .. } => Some(format!("{}: {}", result.status, result.output)),
            _ => None,
        };
        request.messages.iter().filter_map(result).collect()
    });
    Told { results: results.unwrap_or_default(), asked: approver.asked(), tool, journal }
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_its_tool_says_cannot_succeed() {
    let told = told(&["full", "panic", "denied", "free"]).await;
    assert_eq!(
        told.results,
        [
            "failed: there is no room",
            "failed: the check of tool `write` panicked: oh",
            "blocked: blocked by fence: no",
            "done: written"
        ]
    );
    assert_eq!((told.asked.len(), told.tool.wrote.load(Ordering::Relaxed)), (1, 1));
    assert_eq!(told.tool.checked.load(Ordering::Relaxed), 3, "what a guard denied is not looked at");
}

#[tokio::test]
async fn what_only_a_person_can_allow_is_asked_even_if_hooks_allow_it() {
    let told = told(&["safe"]).await;
    assert_eq!(told.results, ["done: written"]);
    let asked = &told.asked[0];
    assert_eq!((asked.reason.as_str(), &*asked.asked_by), ("`safe` is locked", "write"));
    assert_eq!((asked.preview.as_deref(), asked.only_once), (Some("+x"), true));
}

#[tokio::test]
async fn an_outcome_is_in_the_journal_and_a_replay_takes_it_from_there() {
    let told = told(&["full", "safe", "free"]).await;
    let outcomes: Vec<(Option<String>, Option<String>)> = told
        .journal
        .entries()
        .into_iter()
        .filter_map(|line| match line.what {
            What::ToolChecked { ask, problem, .. } => Some((ask, problem)),
            _ => None,
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(outcomes, [(None, text("there is no room")), (text("`safe` is locked"), None), (None, None)]);

    let (tool, nobody) = (Writes::default(), FixedApprover::no("nobody is asked"));
    let again = agent(&Script::new(), &tool, &nobody, &MemoryJournal::default());
    let replay = again.replay(told.journal.entries(), Likeness::Hooks).await.expect("a recording");
    assert_eq!(replay.divergence, None);
    assert_eq!((tool.checked.load(Ordering::Relaxed), tool.wrote.load(Ordering::Relaxed)), (0, 0));
}

#[tokio::test]
async fn a_resumed_call_that_had_started_keeps_its_admission_and_one_that_had_not_is_checked_again() {
    let told = told(&["safe"]).await;
    let lines = told.journal.entries();
    let at = |is: fn(&What) -> bool| lines.iter().position(|line| is(&line.what)).expect("a line");
    let started = at(|what| matches!(what, What::ToolStarted { .. }));
    let checked = at(|what| matches!(what, What::ToolChecked { .. }));
    // The journal breaks off right after the start, and right after the check.
    for (cut, checks, questions) in [(started, 0, 0), (checked, 1, 1)] {
        let journal = MemoryJournal::default();
        for line in lines.iter().take(cut + 1) {
            vertebra::Journal::append(&journal, line.clone()).await.expect("a line");
        }
        let session_id = lines[0].session_id.clone();
        vertebra::Journal::release(&journal, &session_id).await.expect("let go");
        let (tool, approver) = (Writes::default(), FixedApprover::yes());
        let agent = agent(&Script::new().say("done"), &tool, &approver, &journal);
        let mut session = agent.resume(&session_id).await.expect("a session");
        session.go_on().await.expect("unfinished").expect("a run");
        assert_eq!(tool.checked.load(Ordering::Relaxed), checks, "cut at {cut}");
        assert_eq!((approver.asked().len(), tool.wrote.load(Ordering::Relaxed)), (questions, 1), "cut at {cut}");
    }
}

#[tokio::test]
async fn a_journal_from_before_checks_were_recorded_still_resumes() {
    let told = told(&["free"]).await;
    let lines = told.journal.entries();
    let started = lines.iter().position(|line| matches!(line.what, What::ToolStarted { .. })).expect("a start");
    let journal = MemoryJournal::default();
    for line in lines.iter().take(started + 1).filter(|line| !matches!(line.what, What::ToolChecked { .. })) {
        vertebra::Journal::append(&journal, line.clone()).await.expect("a line");
    }
    vertebra::Journal::release(&journal, &lines[0].session_id).await.expect("let go");
    let (tool, approver) = (Writes::default(), FixedApprover::yes());
    let agent = agent(&Script::new().say("done"), &tool, &approver, &journal);
    let mut session = agent.resume(&lines[0].session_id).await.expect("a session");
    session.go_on().await.expect("unfinished").expect("a run");
    assert_eq!((tool.checked.load(Ordering::Relaxed), tool.wrote.load(Ordering::Relaxed)), (0, 1));
}
