//! A planned agent comes to life, and everything that happens is traced.

use std::{
    future::{Future, pending, poll_fn},
    panic::resume_unwind,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    task::Poll,
};

use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vertebra::{
    AgentBuilder, AgentTool, AnswerEnd, Approval, Approver, Channel, Decision, Deltas, Divergence, Entry, Invocation,
    Journal, JournalError, Kind, Likeness, MemoryJournal, Message, Messages, Model, ModelError, ModelId, News,
    NoJournal, Request, Response, RunStream, SessionError, Tool, ToolCall, ToolOutput, ToolSpec, ToolStatus, Usage,
    What, prelude::*, testing::FakeClock,
};

use super::{
    plan::{Call, Leave, Person, Plan},
    puppet::attach,
};
use crate::support::{rejected, secs};

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    SessionStart,
    /// A hook denied the session.
    Refused,
    /// A piece of an answer, and whether it says that the answer is whole.
    Piece {
        run: String,
        whole: bool,
    },
    Answer {
        run: String,
    },
    /// This text was judged at `Output`, and let through or not.
    Judged {
        by: &'static str,
        run: String,
        text: String,
        passed: bool,
    },
    /// A front end received this text.
    Shown {
        run: String,
        text: String,
    },
    Before {
        call: String,
    },
    Accepted {
        by: &'static str,
        digest: String,
    },
    Ran {
        call: String,
        key: String,
        depth: u32,
        n: u64,
        digest: String,
    },
    After {
        call: String,
        status: ToolStatus,
    },
    RunEnd {
        run: String,
        depth: u32,
    },
    SessionEnd {
        messages: Messages,
        tokens: u64,
    },
    Line(What),
    RunBegan {
        run: String,
    },
}

#[derive(Clone, Default)]
pub(crate) struct Trace {
    events: Arc<Mutex<Vec<Event>>>,
    journal: MemoryJournal,
}

impl Trace {
    fn add(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The journal, whichever process wrote it.
    pub(crate) fn lines(&self) -> Vec<Entry> {
        self.journal.entries()
    }

    /// The journal in short: the last letters of the run, what, about what.
    pub(crate) fn story(&self) -> String {
        let word = |line: Entry| {
            let about = match &line.what {
                What::Dispatched { record, call_id, .. } => {
                    format!("{} {call_id:?} {:?}", record.point, record.verdict)
                }
                What::ToolIntended { call_id, key, tool, .. } => format!("{call_id} {tool} {key}"),
                What::ToolStarted { call_id, key } => format!("{call_id} {key}"),
                What::ToolEnded { call_id, key, result } => format!("{call_id} {key} {:?}", result.status),
                What::ToolLeftOut { call_id, .. } | What::Answered { call_id, .. } => call_id.to_string(),
                What::StepBegan { step } => step.to_string(),
                What::RunBegan { parent, for_call, .. } => format!("{parent:?} {for_call:?}"),
                What::RunEnded { report, .. } => report.stop.to_string(),
                _ => String::new(),
            };
            format!("{} {} {about}\n", &line.run_id[line.run_id.len().saturating_sub(4)..], line.what.kind())
        };
        self.lines().into_iter().map(word).collect()
    }

    /// Reads the events of a run to the end.
    async fn follow(&self, mut stream: RunStream) {
        while let Some(event) = stream.next().await {
            let told = match event.news {
                News::Delta { channel: Channel::Text, text, .. } => text,
                News::Ended { report } => report.text,
                _ => continue,
            };
            self.add(Event::Shown { run: event.run_id.to_string(), text: told });
        }
        let _ = stream.finish().await;
    }

    /// Whether a hook denied the session, in any process.
    pub(crate) fn is_refused(&self) -> bool {
        self.count(|event| matches!(event, Event::Refused)) > 0
    }

    pub(crate) fn count(&self, is: impl Fn(&Event) -> bool) -> usize {
        self.events().iter().filter(|event| is(event)).count()
    }
}

/// Whether the top agent's fence lets this through; it errs, panics or hangs on some.
pub(crate) fn top_fence(n: u64) -> bool {
    n % 7 > 3
}

/// Whether the guard of answers lets this out.
pub(crate) fn lets_out(text: &str) -> bool {
    !text.len().is_multiple_of(3) && !text.ends_with('7')
}

/// Whether the child's own fence lets this through.
pub(crate) fn child_fence(n: u64) -> bool {
    !n.is_multiple_of(5)
}

fn n_of(args: &Args) -> u64 {
    args.get("n").and_then(serde_json::Value::as_u64).unwrap_or_default()
}

/// A tool with an effect, or one that only looks.
struct Act {
    trace: Trace,
    name: &'static str,
}

impl Tool for Act {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        ToolSpec::new(self.name, "leaves a trace").schema(schema)
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let info = invocation.run().info().clone();
        self.trace.add(Event::Ran {
            call: format!("{}/{}", info.run_id, invocation.call_id()),
            key: invocation.key().to_owned(),
            depth: info.depth,
            n: n_of(&args),
            digest: args.digest(),
        });
        tokio::task::yield_now().await;
        if self.name == "fail" { Err(ToolError::new("no luck")) } else { Ok("ok".into()) }
    }

    fn only_reads(&self, _args: &Args) -> bool {
        self.name == "look"
    }
}

struct Desk {
    trace: Trace,
    journal: MemoryJournal,
    leave: Leave,
    lines: Mutex<u8>,
    cancel: CancellationToken,
    /// Cancels the run that is under way, and suspends it.
    run: Arc<OnceLock<(CancellationToken, CancellationToken)>>,
    crash: Arc<Notify>,
}

impl Journal for Desk {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        let line = {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            *lines = lines.saturating_add(1);
            *lines - 1
        };
        let crash = match self.leave {
            // Nothing behind it can be safe.
            Leave::Crash(at, _) if at < line => return pending().await,
            Leave::Crash(at, safe) if at == line => Some(safe),
            Leave::Cancel(at) if at == line => {
                self.cancel.cancel();
                self.run.get().inspect(|(cancel, _)| cancel.cancel());
                None
            }
            Leave::Suspend(at) if at == line => {
                self.run.get().inspect(|(_, suspend)| suspend.cancel());
                None
            }
            Leave::Never | Leave::AtPoll(_) | Leave::Cancel(_) | Leave::Suspend(_) | Leave::Crash(..) => None,
        };
        if crash != Some(false) {
            if let What::RunBegan { .. } = entry.what {
                self.trace.add(Event::RunBegan { run: entry.run_id.to_string() });
            }
            self.trace.add(Event::Line(entry.what.clone()));
            self.journal.append(entry).await?;
        }
        if crash.is_some() {
            self.crash.notify_one();
            return pending().await;
        }
        Ok(())
    }

    async fn claim(&self, session_id: &str) -> Result<Vec<Entry>, JournalError> {
        self.journal.claim(session_id).await
    }
}

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        match self {
            Person::Yes => approval.approve(),
            Person::No | Person::Nobody => Decision::Deny { reason: "no".to_owned() },
            Person::Edit(n) => Decision::Edit { args: Args::try_from(json!({"n": n})).expect("an object") },
            Person::OtherArguments => Decision::Approve { digest: Args::default().digest(), grants: Vec::new() },
            Person::Sleeps => pending().await,
            Person::Panics => resume_unwind(Box::new("puppet")),
        }
    }
}

/// A model whose answers depend on nothing but how far the conversation has come, so that any process can go on with it.
struct Turns(Vec<Vec<Call>>);

impl Model for Turns {
    fn id(&self) -> ModelId {
        ModelId::new("plan", "plan")
    }

    async fn infer(&self, request: &Request, _out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let answers = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        let usage = Usage { input_tokens: 3, output_tokens: 2, ..Usage::default() };
        // Says another thing after each conversation, so that the guards of answers do not all agree.
        let done = || Response { usage, ..Response::text(format!("done {}", request.messages.len())) };
        let Some(calls) = self.0.get(answers) else { return Ok(done()) };
        if calls.iter().any(|call| matches!(call, Call::NoAnswer)) {
            return Err(rejected());
        }
        let call = |(number, call): (usize, &Call)| {
            let (tool, args) = written(*call);
            ToolCall::from_text(format!("call-{}-{number}", request.messages.len()), tool, &args)
        };
        Ok(Response { calls: calls.iter().enumerate().map(call).collect(), usage, ..Response::default() })
    }
}

fn written(call: Call) -> (&'static str, String) {
    match call {
        Call::Act(n) => ("act", json!({ "n": n }).to_string()),
        Call::Fail(n) => ("fail", json!({ "n": n }).to_string()),
        Call::Look(n) => ("look", json!({ "n": n }).to_string()),
        Call::Delegate => ("helper", json!({"prompt": "look"}).to_string()),
        Call::Malformed => ("act", "{".to_owned()),
        Call::Unknown | Call::NoAnswer => ("nothing", "{}".to_owned()),
    }
}

fn planned(plan: &Plan, depth: usize, clock: &FakeClock, trace: &Trace) -> AgentBuilder {
    let mut builder = Agent::builder(Turns(plan.turns[depth].clone()));
    builder.name(["top", "child", "grandchild"][depth]).clock(clock.clone());
    if !plan.timed {
        builder.max_time(secs(1_000_000_000));
    }
    builder.max_steps(plan.max_steps.max(20));
    for name in ["act", "fail", "look"] {
        builder.tool(Act { trace: trace.clone(), name });
    }
    for hook in &plan.hooks[depth] {
        attach(&mut builder, hook, plan.timed);
    }
    if depth < 2 {
        let child = planned(plan, depth + 1, clock, trace).build().expect("a child");
        builder.tool(AgentTool::new("helper", "helps", child));
    }
    if depth == 1 {
        judges(&mut builder, trace, "child");
        let trace = trace.clone();
        builder.guard(BeforeToolUse.tool("act|fail|look"), async move |cx| {
            if !child_fence(n_of(&cx.args)) {
                return deny("fence");
            }
            trace.add(Event::Accepted { by: "child", digest: cx.args.digest() });
            proceed()
        });
    }
    builder
}

/// A guard of answers.
fn judges(builder: &mut AgentBuilder, trace: &Trace, by: &'static str) {
    let trace = trace.clone();
    builder.guard(Output.timeout(secs(1)), async move |cx| {
        let (run, text, passed) = (cx.at.run.run_id.to_string(), cx.text.clone(), lets_out(&cx.text));
        trace.add(Event::Judged { by, run, text, passed });
        if passed { proceed() } else { deny("kept in") }
    });
}

/// The fence, and the hooks that trace.
fn traced(builder: &mut AgentBuilder, trace: &Trace, ended: &Arc<Notify>) {
    let told = trace.clone();
    builder.guard(BeforeToolUse.tool("act|fail|look").timeout(secs(1)), async move |cx| {
        let n = n_of(&cx.args);
        match n % 7 {
            0 => return deny("fence"),
            1 => return Err(HookError::new("fence")),
            2 => resume_unwind(Box::new("fence")),
            3 => return pending().await,
            _ => told.add(Event::Accepted { by: "top", digest: cx.args.digest() }),
        }
        proceed()
    });
    let told = trace.clone();
    builder.on(SessionStart.priority(i32::MIN), async move |_| {
        told.add(Event::SessionStart);
        proceed()
    });
    let told = trace.clone();
    builder.watch(SessionStart, async move |cx| {
        if cx.record().verdict() == Kind::Deny {
            told.add(Event::Refused);
        }
        Ok(())
    });
    let told = trace.clone();
    builder.on(BeforeToolUse.priority(i32::MIN), async move |cx| {
        told.add(Event::Before { call: format!("{}/{}", cx.at.run.run_id, cx.call.id) });
        proceed()
    });
    let told = trace.clone();
    builder.on(AfterToolUse.priority(i32::MIN), async move |cx| {
        let call = format!("{}/{}", cx.at.run.run_id, cx.call.id);
        told.add(Event::After { call, status: cx.result.status });
        proceed()
    });
    judges(builder, trace, "top");
    let told = trace.clone();
    builder.watch(InferenceDelta, async move |cx| {
        let whole = matches!(cx.end.as_deref(), Some(AnswerEnd::Finished { .. }));
        told.add(Event::Piece { run: cx.at.run.run_id.to_string(), whole });
        Ok(())
    });
    let told = trace.clone();
    builder.watch(AfterInference, async move |cx| {
        told.add(Event::Answer { run: cx.at.run.run_id.to_string() });
        Ok(())
    });
    let told = trace.clone();
    builder.watch(ExecutionEnd, async move |cx| {
        told.add(Event::RunEnd { run: cx.at.run.run_id.to_string(), depth: cx.at.run.depth });
        Ok(())
    });
    let (told, ended) = (trace.clone(), ended.clone());
    builder.watch(SessionEnd, async move |cx| {
        told.add(Event::SessionEnd { messages: cx.state().messages().clone(), tokens: cx.total_tokens });
        ended.notify_one();
        Ok(())
    });
}

/// A planned agent with all that traces it.
fn built(plan: &Plan, trace: &Trace, ended: &Arc<Notify>, journal: impl Journal) -> Agent {
    let mut builder = planned(plan, 0, &FakeClock::new(), trace);
    traced(&mut builder, trace, ended);
    builder.journal(journal);
    builder.max_steps(plan.max_steps).approval_timeout(secs(5)).continuation_limit(3);
    if !matches!(plan.person, Person::Nobody) {
        builder.approver(plan.person);
    }
    builder.build().expect("an agent")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime")
}

/// Plays a plan to its end, or to its crash.
pub(crate) fn play(plan: &Plan) -> Trace {
    let trace = Trace::default();
    live(plan, plan.leave, &trace);
    trace
}

/// Does what the journal says once more.
pub(crate) fn replay(plan: &Plan, trace: &Trace) -> Option<Divergence> {
    let agent = built(plan, &Trace::default(), &Arc::default(), NoJournal);
    let replay = runtime().block_on(agent.replay(trace.lines(), Likeness::Hooks));
    replay.expect("a recording from its beginning").divergence
}

/// One process: it begins the session, or goes on with it, to its end or to a crash.
pub(crate) fn live(plan: &Plan, leave: Leave, trace: &Trace) {
    let (ended, crash, cancel) = (Arc::new(Notify::new()), Arc::new(Notify::new()), CancellationToken::new());
    let journal = trace.journal.another();
    let (trace, cancelled, died, over) = (trace.clone(), cancel.clone(), crash.clone(), ended.clone());
    let run = Arc::new(OnceLock::new());
    let reached = run.clone();
    let began = trace.lines().first().map(|line| line.session_id.clone());
    let run_began = trace.lines().iter().any(|line| matches!(line.what, What::RunBegan { .. }));
    let desk = Desk { trace: trace.clone(), journal, leave, lines: Mutex::new(0), cancel, run, crash };
    let agent = built(plan, &trace, &ended, desk);
    let life = async move {
        let opened = match began {
            Some(id) => agent.resume(&id).await,
            None => agent.session().await,
        };
        let mut session = match opened {
            Ok(session) => session,
            Err(SessionError::Denied { .. }) => return over.notify_one(),
            Err(error) => panic!("the process before is gone: {error}"),
        };
        let stream = if run_began { session.stream_on() } else { Some(session.stream("go")) };
        if let Some(stream) = stream {
            if cancelled.is_cancelled() {
                stream.cancel();
            }
            reached.set((stream.token(), stream.suspend_token())).expect("one run in a process");
            trace.follow(stream).await;
        }
        session.close().await;
    };
    runtime().block_on(async {
        let crashed = async {
            died.notified().await;
        };
        let lived = async {
            looked_at(life, leave).await;
            ended.notified().await;
            // Time for whatever might still come that should not.
            tokio::time::sleep(secs(100_000)).await;
        };
        let lived = tokio::time::timeout(secs(10_000_000), lived);
        futures_util::future::select(Box::pin(crashed), Box::pin(lived)).await;
    });
}

/// Polls a future to its end, or drops it when the caller leaves.
async fn looked_at<T>(future: impl Future<Output = T>, leave: Leave) {
    let (mut future, mut polls) = (Box::pin(future), 0_u64);
    poll_fn(|cx| {
        if matches!(leave, Leave::AtPoll(at) if u64::from(at) == polls) {
            return Poll::Ready(());
        }
        polls += 1;
        future.as_mut().poll(cx).map(drop)
    })
    .await;
}
