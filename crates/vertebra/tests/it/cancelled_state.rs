//! What a cancelled run leaves behind.

use std::{future::pending, sync::Arc};

use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vertebra::{prelude::*, testing::Script};

use super::support::*;

#[tokio::test]
async fn the_tools_of_a_cancelled_run_are_told_apart_from_those_that_never_began() {
    let here = Arc::new(Notify::new());
    let mut builder = agent(&Script::new().calls([("ls", "{}"), ("hang", "{}")]));
    let arrived = here.clone();
    builder.tool(tool("hang", "hangs", async move |_: Value, _| {
        arrived.notify_one();
        pending::<Result<String, ToolError>>().await
    }));
    builder.tool(logged("ls", "files", &Log::default()));
    let agent = builder.build().expect("an agent");
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let mut session = agent.session().await.expect("a session");
    let (report, ()) = tokio::join!(session.prompt_until("go", &token), async {
        here.notified().await;
        cancel.cancel();
    });
    assert_eq!(report.map(|report| report.status), Ok(vertebra::RunStatus::Cancelled));
    // The conversation is whole: every call has a result.
    let state = session.state().await;
    assert_eq!(conversation(state.messages()), ["user: go", "model: <ls><hang>", "ls: files", "hang: cancelled"]);
}

#[tokio::test]
async fn a_hook_can_cancel_the_run_it_belongs_to() {
    let told = story(&Script::new().call("ls", "{}"), |b| {
        b.on(AfterToolUse, async |cx| {
            cx.scope().cancel();
            proceed()
        });
    })
    .await;
    assert_eq!(told.last().map(String::as_str), Some("= cancelled (cancelled!) by caller: the run was cancelled"));
}
