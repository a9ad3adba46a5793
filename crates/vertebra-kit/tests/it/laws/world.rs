//! A planned agent comes to life in a folder of its own, and everything that happens is traced.

use std::{
    collections::BTreeMap,
    fs,
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;
use vertebra::{
    AgentBuilder, Approval, Approver, Clock, Decision, Entry, Journal, JournalError, Kind, Limits, Metadata, ModelId,
    RunEvent, prelude::*,
};
use vertebra_kit::{
    bash::{Bash, Sandbox},
    bundle::UseHooks,
    critique::SelfCritique,
    files::Files,
    metadata::MetadataTools,
    permissions::{Mode, Permissions},
    planning::TaskPlanning,
    redaction::{Redaction, Sensitive},
    registry::ToolRegistry,
    resilience::{
        CachePolicy, FinishGuard, ModelCallLimit, ModelFallback, ModelRetry, ResponseCache, ToolCallLimit, ToolRetry,
        ToolTimeout,
    },
    skills::Skills,
    steering::Steering,
    structured::{Schema, StructuredOutput},
    subagents::{Subagent, Subagents},
    summary::{Offload, Summarisation, Trigger},
};

use super::{
    plan::{Has, KEY, Plan},
    puppet::{Tape, attach},
};

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Event {
    Before {
        call: String,
    },
    After {
        call: String,
    },
    /// The guard of the top agent saw this and had nothing against it.
    Accepted {
        call: String,
        args: Args,
    },
    Denied {
        call: String,
        args: Args,
    },
    RunStarted {
        run: String,
    },
    RunEnded {
        run: String,
    },
    ChildStarted {
        run: String,
    },
    ChildStopped {
        run: String,
    },
    /// A model may be asked, as far as the guard of the top agent is concerned.
    MayAsk {
        key: String,
    },
    /// What a run knew at its end.
    Knew {
        metadata: Metadata,
    },
    Compacted,
    Line(Box<Entry>),
}

/// What there is when all is over.
pub(crate) struct Aftermath {
    pub(crate) events: Vec<Event>,
    pub(crate) tape: Tape,
    pub(crate) news: Vec<RunEvent>,
    /// The files in the agent's folder.
    pub(crate) files: Vec<PathBuf>,
    /// What the MCP server was asked.
    pub(crate) server: String,
    pub(crate) ended: bool,
}

#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<Event>>>);

impl Trace {
    fn add(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

impl Journal for Trace {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        self.add(Event::Line(Box::new(entry)));
        Ok(())
    }
}

/// A clock on which a second takes five milliseconds: real processes have time, and what hangs does not take long.
struct Hurried(Instant);

const HURRY: u32 = 200;

impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        let millis = i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed() * HURRY
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration / HURRY))
    }
}

struct Person(bool);

impl Approver for Person {
    async fn decide(&self, approval: &Approval) -> Decision {
        if self.0 { approval.approve() } else { Decision::Deny { reason: "no".to_owned() } }
    }
}

/// A server with one tool, that writes down what it is asked. It is a shell's own words, and starts at once.
#[cfg(feature = "mcp")]
const SERVER: &str = r#"
while read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"note","inputSchema":{"type":"object"}}]}';;
    *'"method":"tools/call"'*) printf '%s\n' "$line" >> "$1"; result='{"content":[{"type":"text","text":"noted"}]}';;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[cfg(feature = "mcp")]
async fn server(log: &Path) -> vertebra_kit::mcp::Mcp {
    use vertebra_kit::mcp::{Mcp, McpConfig, ServerConfig, Transport};
    let args = vec!["-c".to_owned(), SERVER.to_owned(), "sh".to_owned(), log.display().to_string()];
    let stdio = Transport::Stdio { command: "/bin/sh".to_owned(), args, env: BTreeMap::new(), cwd: None };
    let servers = BTreeMap::from([("s".to_owned(), ServerConfig::new(stdio))]);
    Mcp::connect(McpConfig { servers }).await.expect("a server")
}

fn skills(folder: &Path) -> Skills {
    for (name, fields) in
        [("careful", "allowed-tools: Read, Bash"), ("fork", "context: fork\nallowed-tools: Bash, Write, mcp__s__note")]
    {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!("---\ndescription: Does things\n{fields}\n---\nDo $ARGUMENTS.\n");
        fs::write(folder.join("SKILL.md"), text).expect("written");
    }
    Skills::new().folder(folder)
}

fn subagents() -> Subagents {
    let worker = || Subagent::new("worker", "Works").limits(Limits { steps: Some(4), ..Limits::none() });
    let lead = Subagent::new("lead", "Leads").setup(move |builder| {
        builder.with(Subagents::new().agent(worker()).expect("an agent"));
    });
    Subagents::new().agent(worker()).and_then(|agents| agents.agent(lead)).expect("agents")
}

/// Of the kinds of secrets one, which takes a tenth of the time to prepare.
fn redaction() -> Redaction {
    let usual = Redaction::default();
    let others: Vec<Sensitive> =
        usual.kinds().map(|(kind, _)| kind).filter(|kind| *kind != Sensitive::GithubToken).collect();
    others.into_iter().fold(usual, Redaction::off)
}

fn permissions(plan: &Plan) -> Permissions {
    let mode = [Mode::Ask, Mode::AcceptEdits, Mode::Plan, Mode::Bypass][usize::from(plan.mode)];
    let mut permissions = Permissions::bypassing_questions().mode(mode).expect("a mode");
    for (kind, rule) in &plan.rules {
        permissions = match kind {
            0 => permissions.ask(rule),
            1 => permissions.deny(rule),
            _ => permissions.allow(rule),
        }
        .expect("a rule");
    }
    permissions
}

async fn install(builder: &mut AgentBuilder, has: Has, plan: &Plan, root: &Path) {
    let work = root.join("work");
    match has {
        Has::Bash => {
            let launcher = Some(env!("CARGO_BIN_EXE_vertebra-sandbox").into());
            let sandbox = Sandbox { launcher, ..Sandbox::default() };
            builder.with(Bash { sandbox, ..Bash::in_dir(work) })
        }
        Has::Files => builder.with(Files::new(work).expect("a folder")),
        Has::Metadata => builder.with(MetadataTools::default()),
        Has::Planning => builder.with(TaskPlanning::default()),
        Has::Skills => builder.with(skills(&root.join("skills"))),
        Has::Structured => {
            let schema = json!({"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]});
            builder.with(StructuredOutput::new([Schema::json("bill", schema).expect("a schema")]))
        }
        Has::Summary => builder.with(Summarisation {
            trigger: Trigger::Tokens(400),
            keep_recent: 2,
            offload: Some(Offload { over_bytes: 4000, preview_chars: 1000, ..Offload::default() }),
            ..Summarisation::default()
        }),
        Has::Critique => builder.with(SelfCritique::default()),
        Has::Subagents => builder.with(subagents()),
        Has::Registry => builder.with(ToolRegistry::default()),
        Has::Permissions => builder.with(permissions(plan)),
        Has::Limits => builder
            .with(ToolCallLimit::per_run(8))
            .with(ModelCallLimit { per_run: Some(12), ..ModelCallLimit::default() })
            .with(FinishGuard::default()),
        Has::Retries => builder.with(ModelRetry::default()).with(ToolRetry::default()),
        Has::Fallback => builder.with(ModelFallback::to([ModelId::new("tape", "tape-2")])),
        Has::Timeouts => builder.with(ToolTimeout::all(Duration::from_secs(20))),
        Has::Cache => builder.with(ResponseCache::new(CachePolicy::default())),
        Has::Redaction => builder.with(redaction()),
        Has::Steering => {
            let steering = Steering::default();
            steering.say(format!("and mind {KEY}")).expect("there is room");
            builder.with(steering)
        }
        #[cfg(feature = "mcp")]
        Has::Mcp => builder.with(server(&root.join("server")).await),
        #[cfg(not(feature = "mcp"))]
        Has::Mcp => builder,
        Has::Bundle => {
            let mut bundle = UseHooks::new("bundle");
            for (number, hook) in plan.hooks.iter().enumerate() {
                attach(&mut bundle, hook, number);
            }
            builder.with(bundle)
        }
    };
}

/// The guards of the top agent, and the hooks that trace.
fn traced(builder: &mut AgentBuilder, trace: &Trace, denied: &str) {
    let call = |at: &vertebra::At, id: &str| format!("{}/{id}", at.run.run_id);
    let told = trace.clone();
    builder.guard(BeforeToolUse, async move |cx| {
        let (call, args) = (call(&cx.at, &cx.call.id), cx.args.clone());
        if args.to_value().to_string().contains("canary") {
            told.add(Event::Denied { call, args });
            return deny("no canaries");
        }
        told.add(Event::Accepted { call, args });
        proceed()
    });
    let told = trace.clone();
    builder.guard(BeforeToolUse.tool(denied).optional(), async move |cx| {
        told.add(Event::Denied { call: call(&cx.at, &cx.call.id), args: cx.args.clone() });
        deny("not this tool")
    });
    let told = trace.clone();
    builder.guard(BeforeInference, async move |cx| {
        told.add(Event::MayAsk { key: cx.at.event_id() });
        proceed()
    });
    builder.on(SessionStart, async |cx| {
        cx.state_mut().metadata_mut().set("other/owner", "mine");
        proceed()
    });
    let told = trace.clone();
    builder.on(BeforeToolUse.priority(i32::MIN), async move |cx| {
        told.add(Event::Before { call: call(&cx.at, &cx.call.id) });
        proceed()
    });
    let told = trace.clone();
    builder.on(AfterToolUse.priority(i32::MIN), async move |cx| {
        told.add(Event::After { call: call(&cx.at, &cx.call.id) });
        proceed()
    });
    let told = trace.clone();
    builder.watch(ExecutionStart, async move |cx| {
        told.add(Event::RunStarted { run: cx.at.run.run_id.to_string() });
        Ok(())
    });
    let told = trace.clone();
    builder.watch(ExecutionEnd, async move |cx| {
        told.add(Event::RunEnded { run: cx.at.run.run_id.to_string() });
        told.add(Event::Knew { metadata: cx.state().metadata().clone() });
        Ok(())
    });
    let told = trace.clone();
    builder.watch(AfterCompact, async move |_| {
        told.add(Event::Compacted);
        Ok(())
    });
    let told = trace.clone();
    builder.watch(SubagentStart, async move |cx| {
        if cx.record().verdict() != Kind::Deny {
            told.add(Event::ChildStarted { run: cx.at.run.run_id.to_string() });
        }
        Ok(())
    });
    let told = trace.clone();
    builder.watch(SubagentStop, async move |cx| {
        told.add(Event::ChildStopped { run: cx.at.run.run_id.to_string() });
        Ok(())
    });
}

async fn live(plan: &Plan, root: &Path) -> Aftermath {
    let (trace, tape) = (Trace::default(), Tape::new(&plan.tape));
    let mut builder = Agent::builder(tape.clone());
    builder.name("top").working_directory(root.join("work").display().to_string());
    builder.clock(Hurried(Instant::now())).journal(trace.clone());
    builder.limits(Limits { steps: Some(plan.max_steps), tokens: Some(plan.max_tokens), ..Limits::none() });
    builder.continuation_limit(3).approval_timeout(Duration::from_secs(5));
    for has in &plan.has {
        install(&mut builder, *has, plan, root).await;
    }
    if !plan.has.contains(&Has::Bundle) {
        for (number, hook) in plan.hooks.iter().enumerate() {
            attach(&mut builder, hook, number);
        }
    }
    traced(&mut builder, &trace, plan.denied);
    if let Some(yes) = plan.person {
        builder.approver(Person(yes));
    }
    let agent = builder.build().expect("an agent");

    let mut stream = agent.stream(format!("Go. The key is {KEY}."));
    let mut news = Vec::new();
    let life = async {
        while let Some(event) = stream.next().await {
            if plan.cancel == Some(news.len()) {
                stream.cancel();
            }
            news.push(event);
        }
    };
    // Far more than any of them takes, however busy the machine.
    let ended = tokio::time::timeout(Duration::from_mins(1), life).await.is_ok();
    let events = std::mem::take(&mut *trace.0.lock().unwrap_or_else(PoisonError::into_inner));
    let server = fs::read_to_string(root.join("server")).unwrap_or_default();
    Aftermath { events, tape, news, files: files(&root.join("work")), server, ended }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(files(&path));
        }
        all.push(path);
    }
    all
}

/// Plays a plan to its end.
pub(crate) fn play(plan: &Plan) -> Aftermath {
    let root: TempDir = tempfile::tempdir().expect("a folder");
    let work = root.path().join("work");
    fs::create_dir(&work).expect("a folder");
    let long: Vec<String> = (0..600).map(|line| format!("line {line}")).collect();
    fs::write(work.join("long"), long.join("\n")).expect("written");
    fs::write(work.join("secret"), format!("token={KEY}\n")).expect("written");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(live(plan, root.path()))
}
