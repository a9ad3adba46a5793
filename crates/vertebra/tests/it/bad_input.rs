//! Bad input and broken parts: what a model, a tool, a hook or a journal sends never breaks more than itself.

use std::future::pending;

use serde_json::json;
use vertebra::{
    Deltas, Entry, Invocation, Journal, JournalError, JournalFault, Model, ModelError, ModelId, Request, Response,
    ToolOutput, ToolSpec, What,
    prelude::*,
    testing::{RecordingTool, Script},
};

use super::support::*;

async fn result_of(tool: &str, args: &str, set: impl FnOnce(&mut vertebra::AgentBuilder)) -> String {
    story(&Script::new().call(tool, args).say("done"), set).await[2].clone()
}

#[tokio::test]
async fn malformed_arguments_are_an_error_the_model_reads_and_hooks_see_the_raw_text() {
    let log = Log::default();
    let (before, failed) = (log.clone(), log.clone());
    let result = result_of("ls", "{\"path\": ", |b| {
        b.on(BeforeToolUse, async move |cx| {
            before.add(cx.malformed.clone().unwrap_or_default());
            proceed()
        });
        b.on(ToolUseFailed, async move |cx| {
            failed.add(cx.malformed.clone().unwrap_or_default());
            proceed()
        });
    })
    .await;
    assert_eq!(result, "ls: the arguments of `ls` are not a JSON object: {\"path\": ");
    log.check(&["{\"path\": ", "{\"path\": "]);
    for text in ["[1]", "\"ls\"", "42", "null", "{\"a\":1} trailing"] {
        let expected = format!("ls: the arguments of `ls` are not a JSON object: {text}");
        assert_eq!(result_of("ls", text, |_| {}).await, expected);
    }
    assert_eq!(result_of("ls", " ", |_| {}).await, "ls: files");
}

#[tokio::test]
async fn a_hook_may_repair_malformed_arguments() {
    let result = result_of("ls", "{path: a}", |b| {
        b.on(BeforeToolUse, async |cx| {
            cx.args_mut().set("path", "a");
            proceed()
        });
    })
    .await;
    assert_eq!(result, "ls: files");
}

#[tokio::test]
async fn arguments_are_checked_against_the_schema_after_every_change() {
    let tool = || {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        RecordingTool::new("strict").with(|spec| spec.schema(schema))
    };
    let missing = result_of("strict", "{}", |b| {
        b.tool(tool());
    })
    .await;
    assert_eq!(missing, "strict: the arguments of `strict` do not fit: \"n\" is a required property");
    let spoilt = result_of("strict", r#"{"n": 1}"#, |b| {
        b.tool(tool()).on(BeforeToolUse, async |cx| {
            cx.args_mut().set("n", "one");
            proceed()
        });
    })
    .await;
    assert_eq!(spoilt, r#"strict: the arguments of `strict` do not fit: /n: "one" is not of type "integer""#);
    let mended = result_of("strict", "{}", |b| {
        b.tool(tool()).on(BeforeToolUse, async |cx| {
            cx.args_mut().set("n", 1);
            proceed()
        });
    })
    .await;
    assert_eq!(mended, "strict: ok");
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_that_names_the_tools_there_are() {
    let result = result_of("rmrf", "{}", |_| {}).await;
    assert_eq!(result, "rmrf: unknown tool `rmrf`. Known: bad, cat, ls");
}

#[tokio::test]
async fn a_large_result_is_cut_and_says_so() {
    for (limit, text, expected) in [
        (10, "0123456789abc", "big: 0123456789\n[3 more bytes were cut: the limit is 10]"),
        (10, "0123456789", "big: 0123456789"),
        // Never in the middle of a letter.
        (4, "aäöü", "big: aä\n[4 more bytes were cut: the limit is 4]"),
    ] {
        let result = result_of("big", "{}", |b| {
            b.max_result_bytes(limit).tool(RecordingTool::new("big").by(move |_| Ok(text.into())));
        })
        .await;
        assert_eq!(result, expected);
    }
    let result = result_of("big", "{}", |b| {
        b.tool(RecordingTool::new("big").by(|_| Ok("x".repeat(200 * 1024).into())));
    })
    .await;
    assert!(result.ends_with("[102400 more bytes were cut: the limit is 102400]"));
}

/// Panics before it returns a future, or in it.
struct Panicking {
    at_once: bool,
}

impl Panicking {
    fn call<T>(&self) -> impl Future<Output = T> + Send + use<T> {
        assert!(!self.at_once, "at once");
        async { panic!("later") }
    }
}

impl Tool for Panicking {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("boom", "panics")
    }

    fn call(&self, _: Args, _: Invocation) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        Panicking::call(self)
    }
}

impl Model for Panicking {
    fn id(&self) -> ModelId {
        ModelId::new("panic", "panic-1")
    }

    fn infer(&self, _: &Request, _: &mut Deltas<'_>) -> impl Future<Output = Result<Response, ModelError>> + Send {
        Panicking::call(self)
    }
}

#[tokio::test]
async fn a_tool_that_panics_has_failed_and_the_run_goes_on() {
    for (at_once, words) in [(true, "at once"), (false, "later")] {
        let told = story(&Script::new().call("boom", "{}").say("done"), |b| {
            b.tool(Panicking { at_once });
        })
        .await;
        let result = format!("boom: tool `boom` panicked: {words}");
        assert_eq!(told, ["user: go", "model: <boom>", &result, "model: done", FINISHED]);
    }
}

#[tokio::test]
async fn a_model_that_panics_is_an_error_like_any_other() {
    for at_once in [true, false] {
        let mut builder = Agent::builder(Panicking { at_once });
        let seen = watch_all(&mut builder);
        let report = run(&mut builder).await;
        assert_eq!(ending(&report), "failed (error!) by runtime: the model's driver panicked");
        assert_eq!((seen.count("OnError"), seen.count("ExecutionEnd"), seen.count("SessionEnd")), (1, 1, 1));
    }
}

#[tokio::test]
async fn a_crash_of_a_hook_is_told_apart_from_a_deny() {
    let crashed = result_of("ls", "{}", |b| {
        b.on(BeforeToolUse.named("hook"), async |_| panic!("oh"));
    })
    .await;
    assert_eq!(crashed, "ls: blocked: hook `hook` panicked: oh");
    let failed = result_of("ls", "{}", |b| {
        b.guard(BeforeToolUse.named("guard"), async |_| Err(HookError::new("no disk")));
    })
    .await;
    assert_eq!(failed, "ls: blocked: hook `guard` failed: no disk");
    let asked = result_of("ls", "{}", |b| {
        b.on(BeforeToolUse.named("hook").fail_ask(), async |_| Err(HookError::new("no disk")));
    })
    .await;
    assert_eq!(asked, "ls: denied: hook requires approval (`hook` failed: no disk), and no approver is configured");
    let open = result_of("ls", "{}", |b| {
        b.on(BeforeToolUse.fail_open(), async |_| panic!("oh"));
    })
    .await;
    assert_eq!(open, "ls: files");
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_hangs_blocks_after_its_time() {
    let told = result_of("ls", "{}", |b| {
        b.guard(BeforeToolUse.named("slow").timeout(secs(3)), async |_| pending().await);
    })
    .await;
    assert_eq!(told, "ls: blocked: hook `slow` gave no answer within 3000 ms");
}

/// Takes so many lines, then no more.
struct FullDisk(Log, usize);

impl Journal for FullDisk {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        if self.0.lines().len() >= self.1 {
            return Err(JournalError::new(JournalFault::Full, "disk full"));
        }
        let What::ToolStarted { .. } = entry.what else {
            self.0.add("line");
            return Ok(());
        };
        self.0.add("intent");
        Ok(())
    }
}

#[tokio::test]
async fn a_journal_that_fails_ends_the_run_and_nothing_goes_on_unrecorded() {
    // Wherever the disk is full, a tool ran only if its intent was taken, and the end is told.
    for room in 0..14 {
        let (lines, ran) = (Log::default(), Log::default());
        let mut builder = agent(&Script::new().call("ls", "{}").say("done"));
        builder.tool(logged("ls", "files", &ran)).journal(FullDisk(lines.clone(), room));
        let (seen, end) = (Log::default(), Log::default());
        let told = end.clone();
        builder.watch(ExecutionEnd, async move |_| {
            told.add("end");
            Ok(())
        });
        let told = seen.clone();
        builder.on(OnError, async move |_| {
            told.add("error");
            recover("try anyway")
        });
        let report = run(&mut builder).await;
        assert_eq!(ending(&report), "failed (error!) by journal: the journal's disk is full: disk full");
        assert_eq!(ran.lines().len(), lines.count("intent"), "room for {room}");
        // Without room for its first line, the session does not open, and no run begins.
        assert_eq!(end.count("end"), usize::from(room > 0), "room for {room}");
    }
}
