//! A process that dies after some line of its journal, and all that its agent may do.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{runtime::Builder, sync::Notify};
use vertebra::{
    Agent, AgentState, AgentTool, Approval, Approver, Decision, Deltas, Entry, Journal, JournalError, Likeness,
    MemoryJournal, Message, Model, ModelError, ModelId, Replay, Request, Response, RunReport, ToolCall, ToolStatus,
    What, prelude::*, testing::FakeClock,
};

use super::super::support::Log;

type Last = dyn Fn(&What) -> bool + Send + Sync;

/// A journal whose process dies in the middle of a line.
#[derive(Clone)]
pub(crate) struct Mortal {
    journal: MemoryJournal,
    left: Arc<AtomicUsize>,
    last: Arc<Last>,
    dead: Arc<Notify>,
}

impl Mortal {
    fn new(journal: MemoryJournal, left: usize, last: impl Fn(&What) -> bool + Send + Sync + 'static) -> Self {
        Self { journal, left: Arc::new(AtomicUsize::new(left)), last: Arc::new(last), dead: Arc::default() }
    }

    /// Dies before it writes such a line. The second value reads what it wrote, as another process.
    pub(crate) fn until(last: impl Fn(&What) -> bool + Send + Sync + 'static) -> (Self, MemoryJournal) {
        let journal = MemoryJournal::default();
        let elsewhere = journal.another();
        (Self::new(journal, usize::MAX, last), elsewhere)
    }

    pub(crate) fn forever() -> (Self, MemoryJournal) {
        Self::until(|_| false)
    }

    /// Another process, which does not die.
    pub(crate) fn immortal(journal: &MemoryJournal) -> Self {
        Self::new(journal.another(), usize::MAX, |_| false)
    }
}

impl Journal for Mortal {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        let one_less = |left: usize| left.checked_sub(1);
        if (self.last)(&entry.what) || self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less).is_err() {
            // Whatever else goes on in the process comes no further either.
            self.left.store(0, Ordering::Release);
            self.dead.notify_one();
            return pending().await;
        }
        self.journal.append(entry).await
    }

    async fn claim(&self, session_id: &str) -> Result<Vec<Entry>, JournalError> {
        self.journal.claim(session_id).await
    }

    async fn release(&self, session_id: &str) -> Result<(), JournalError> {
        self.journal.release(session_id).await
    }
}

/// A model whose answers depend on nothing but how far the conversation has come.
#[derive(Clone)]
pub(crate) struct Plan(Arc<Vec<Response>>);

impl Plan {
    /// One call a step, then these words.
    pub(crate) fn new(calls: &[(&str, &str)], words: &str) -> Self {
        Self::of(calls.iter().map(|call| vec![*call]).collect(), words)
    }

    pub(crate) fn of(steps: Vec<Vec<(&str, &str)>>, words: &str) -> Self {
        let calls = |(step, calls): (usize, Vec<(&str, &str)>)| Response {
            calls: calls
                .into_iter()
                .enumerate()
                .map(|(number, (tool, args))| ToolCall::from_text(format!("call-{step}-{number}"), tool, args))
                .collect(),
            ..Response::default()
        };
        let steps = steps.into_iter().enumerate().map(calls);
        Self(Arc::new(steps.chain([Response::text(words)]).collect()))
    }
}

impl Model for Plan {
    fn id(&self) -> ModelId {
        ModelId::new("plan", "plan")
    }

    async fn infer(&self, request: &Request, _out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let since = |message: &&Message| !matches!(message, Message::User { .. });
        let said = request.messages.iter().rev().take_while(since);
        let step = said.filter(|message| matches!(message, Message::Assistant { .. })).count();
        self.0.get(step).cloned().ok_or(ModelError::Rejected { message: "there is no such step".to_owned() })
    }
}

/// What a tool is about to do.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Effect {
    of: String,
}

impl vertebra::Event for Effect {}

vertebra::verdict! {
    pub(crate) enum EffectVerdict { deny }
}

vertebra::point! {
    /// Before a tool has its effect.
    pub(crate) BeforeEffect: Effect => EffectVerdict { sample: Effect { of: "write".to_owned() } }
}

/// What stands outside of all processes.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) log: Log,
    /// A tool that a guard denies.
    pub(crate) denies: Option<&'static str>,
    /// Whether the person says "later".
    pub(crate) later: bool,
    /// What they say, if not yes.
    pub(crate) answer: Option<Decision>,
    pub(crate) clock: Option<FakeClock>,
}

struct Person(bool, Option<Decision>);

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        match self {
            Self(true, _) => Decision::Later,
            Self(false, Some(decision)) => decision.clone(),
            Self(false, None) => approval.approve(),
        }
    }
}

impl World {
    /// How often each effect happened.
    pub(crate) fn effects(&self) -> BTreeMap<String, usize> {
        let mut effects = BTreeMap::new();
        for line in self.log.lines() {
            *effects.entry(line).or_default() += 1;
        }
        effects
    }

    /// An agent with parallel calls, a child, a person to ask, hooks that change things, and a retry.
    pub(crate) fn agent(&self, journal: Mortal) -> Agent {
        let effect = |name: &'static str| {
            let log = self.log.clone();
            tool(name, "has an effect", async move |args: serde_json::Value, invocation: vertebra::Invocation| {
                tokio::task::yield_now().await;
                let what = args["what"].as_str().unwrap_or_default().to_owned();
                let (_, outcome) = invocation.fire(BeforeEffect, Effect { of: name.to_owned() }).await?;
                assert_eq!(outcome.kind(), vertebra::Kind::Proceed);
                log.add(format!("{name} {what}").trim().to_owned());
                Ok::<_, ToolError>(format!("{name} {what} is done"))
            })
        };
        let child =
            Agent::builder(Plan::new(&[("dig", r#"{"what": "deep"}"#), ("dig", r#"{"what": "deeper"}"#)], "dug"))
                .name("child")
                .tool(effect("dig"))
                .build()
                .expect("a child");
        let plan = Plan::of(
            vec![
                vec![("write", r#"{"what": "a"}"#), ("write", r#"{"what": "b"}"#)],
                vec![("helper", r#"{"prompt": "dig"}"#), ("write", r#"{"what": "c"}"#)],
                vec![("risky", "{}")],
            ],
            "all done",
        );
        let mut builder = Agent::builder(plan);
        if let Some(clock) = &self.clock {
            builder.clock(clock.clone());
        }
        builder.journal(journal).approver(Person(self.later, self.answer.clone()));
        builder.tool(effect("write")).tool(effect("risky")).tool(AgentTool::new("helper", "helps", child));
        builder.on(BeforeToolUse.tool("risky"), async |_| ask("sure?"));
        builder.on(BeforeToolUse.tool("write"), async |cx| {
            let seen = cx.state().metadata().get("seen").and_then(serde_json::Value::as_u64).unwrap_or_default();
            cx.state_mut().metadata_mut().set("seen", json!(seen + 1));
            cx.args_mut().set("by", json!("hook"));
            proceed()
        });
        builder.on(AfterToolUse.tool("write"), async |cx| {
            cx.result.output.push_str(", and seen");
            proceed()
        });
        builder.on(AfterInference, async |cx| {
            if cx.text == "all done" {
                cx.text.push('.');
            }
            proceed()
        });
        // Hooks at a custom point change the state, too.
        builder.point(BeforeEffect).on(BeforeEffect, async |cx| {
            let before = cx.state().metadata().get("effects").and_then(serde_json::Value::as_u64).unwrap_or_default();
            cx.state_mut().metadata_mut().set("effects", json!(before + 1));
            cx.of.push('!');
            proceed()
        });
        builder.watch(ExecutionEnd, async |_| Ok(()));
        if let Some(name) = self.denies {
            builder.guard(BeforeToolUse.tool(name), async |_| deny("not any more"));
        }
        builder.build().expect("an agent")
    }

    /// The agent in another process, after all that it can still do.
    pub(crate) fn resumed(&self, journal: &MemoryJournal) -> After {
        resume(journal, &self.agent(Mortal::immortal(journal)))
    }

    pub(crate) fn replay(&self, lines: Vec<Entry>, likeness: Likeness) -> Replay {
        let agent = self.agent(Mortal::forever().0);
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(agent.replay(lines, likeness)).expect("a recording from its beginning")
    }
}

/// What a session came to.
pub(crate) struct After {
    pub(crate) state: AgentState,
    pub(crate) text: String,
    pub(crate) steps: u32,
    pub(crate) lines: Vec<Entry>,
    /// Whether the child was told of something unknown.
    pub(crate) child_unknown: bool,
}

/// A process with this agent, until it has done its work or its journal dies.
pub(crate) fn live(mortal: Mortal, agent: Agent) -> Option<RunReport> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime");
    let report = runtime.block_on(async {
        let work = async {
            let mut session = agent.session().await.expect("a session");
            let report = session.prompt("go").await;
            session.close().await;
            report.unwrap_or_else(|failed| *failed.0)
        };
        tokio::select! {
            report = work => Some(report),
            () = mortal.dead.notified() => None,
        }
    });
    drop((agent, mortal));
    // Nothing in it comes any further: its journal takes no more lines.
    drop(runtime);
    report
}

/// The journal of a process that died after so many lines.
pub(crate) fn die_after(world: &World, lines: usize) -> MemoryJournal {
    let journal = MemoryJournal::default();
    let elsewhere = journal.another();
    let mortal = Mortal::new(journal, lines, |_| false);
    live(mortal.clone(), world.agent(mortal));
    elsewhere
}

/// Goes on in another process.
pub(crate) fn resume(journal: &MemoryJournal, agent: &Agent) -> After {
    let id = journal.entries().first().expect("a session").session_id.clone();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime");
    let (state, report) = runtime.block_on(async {
        let mut session = agent.resume(&id).await.expect("the process that ran it is dead");
        let report = match session.go_on().await {
            Some(report) => report,
            // It died before its run began.
            None => session.prompt("go").await,
        };
        let state = session.state().await;
        session.close().await;
        (state, report.expect("a run that ends well"))
    });
    let lines = journal.entries();
    let unknown =
        |line: &Entry| matches!(&line.what, What::ToolEnded { result, .. } if result.status == ToolStatus::Unknown);
    let child_unknown = lines.iter().any(|line| unknown(line) && line.run_id != report.run_id);
    After { state, text: report.text, steps: report.steps, lines, child_unknown }
}

/// The session undisturbed.
pub(crate) fn whole(world: &World) -> After {
    let (mortal, journal) = Mortal::forever();
    let agent = world.agent(mortal);
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let (state, report) = runtime.block_on(async {
        let mut session = agent.session().await.expect("a session");
        let report = session.prompt("go").await.expect("a run that ends well");
        let state = session.state().await;
        session.close().await;
        (state, report)
    });
    After { state, text: report.text, steps: report.steps, lines: journal.entries(), child_unknown: false }
}
