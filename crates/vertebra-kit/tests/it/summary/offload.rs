//! Long results in files.

use std::{fs, path::PathBuf, sync::Arc};

use vertebra::{
    AgentTool,
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_kit::summary::{Offload, Summarisation};

use super::built;

fn offloading(offload: Offload) -> Summarisation {
    Summarisation { offload: Some(offload), ..Summarisation::default() }
}

/// The letters of a long text, so that each place in it is known.
fn long() -> String {
    (0..4000).map(|n| format!("{n:04} ä\n")).collect::<Vec<_>>().concat()
}

fn speaker() -> RecordingTool {
    RecordingTool::new("speak").by(|_| Ok(long().into()))
}

/// What the model read of each call, in order.
fn read(state: &AgentState) -> Vec<String> {
    let output = |message: &Message| match message {
        Message::Tool { result, .. } => Some(result.output.clone()),
        Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } => None,
    };
    state.messages().iter().filter_map(output).collect()
}

#[tokio::test]
async fn a_long_result_leaves_a_preview_and_can_be_read_in_whole_page_by_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let total = long().len();
    let pages = total.div_ceil(8192);
    // Each page begins where the one before says that it ended.
    let offsets = Arc::new(std::sync::Mutex::new(String::from("0")));
    let model = (0..pages).fold(Script::new().call("speak", "{}"), |model, _| {
        model.call("read_offloaded", r#"{"id": "off-1", "offset": 0}"#)
    });
    let mut builder = Agent::builder(model.say("read"));
    builder.limits(vertebra::Limits::none()).tool(speaker());
    builder.with(offloading(Offload { folder: Some(folder.path().to_owned()), ..Offload::default() }));
    let (next, told) = (offsets.clone(), offsets);
    builder.on(BeforeToolUse.tool("read_offloaded"), async move |cx| {
        let offset: usize = next.lock().expect("no panic").parse()?;
        cx.args.set("offset", offset);
        proceed()
    });
    builder.watch(AfterToolUse.tool("read_offloaded"), async move |cx| {
        if let Some((_, rest)) = cx.result.output.split_once("next offset: ") {
            let offset = rest.split(']').next().unwrap_or_default().to_owned();
            *told.lock().expect("no panic") = offset;
        }
        Ok(())
    });
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("listen").await.expect("a run");
    let read = read(&session.state().await);

    assert!(
        read[0]
            .starts_with(&format!("[offloaded: {total} bytes kept as `off-1`, read_offloaded reads them]\n0000 ä\n"))
    );
    assert!(read[0].contains("characters left out") && read[0].ends_with("3999 ä\n"));
    assert!(read[0].len() < 5000, "{} bytes", read[0].len());
    let whole: String = read[1..].iter().filter_map(|page| page.split_once("]\n").map(|(_, text)| text)).collect();
    assert_eq!(whole, long());
    assert!(read[pages].starts_with("[bytes ") && read[pages].contains("; the end]"), "{}", &read[pages][..60]);
    let id = session.id().to_owned();
    session.close().await;
    let kept = fs::read_to_string(folder.path().join(id).join("off-1.txt")).expect("a given folder stays");
    assert_eq!(kept, long());
}

#[tokio::test]
async fn the_temporary_folder_ends_with_its_session() {
    // A text that nobody else keeps, so that its file is found among all temporary ones.
    let text = format!("{}{}", long(), std::process::id());
    let said = text.clone();
    let mut builder = Agent::builder(Script::new().call("speak", "{}").say("done"));
    builder.tool(RecordingTool::new("speak").by(move |_| Ok(said.clone().into()))).with(Summarisation::default());
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    let ours = || -> Vec<PathBuf> {
        let entries = fs::read_dir(std::env::temp_dir()).expect("a folder for temporary files");
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path().join("off-1.txt")));
        paths.filter(|path| fs::read_to_string(path).is_ok_and(|found| found == text)).collect()
    };
    assert_eq!(ours(), Vec::<PathBuf>::new());
    session.prompt("listen").await.expect("a run");
    let there = ours();
    assert_eq!(there.len(), 1);
    session.close().await;
    assert!(!there[0].exists() && there[0].parent().is_some_and(|folder| !folder.exists()));
}

#[tokio::test]
async fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = (0..3).fold(Script::new(), |model, _| model.call("speak", "{}"));
    let model =
        model.call("read_offloaded", r#"{"id": "off-1"}"#).call("read_offloaded", r#"{"id": "../../etc/passwd"}"#);
    let mut builder = Agent::builder(model.say("done"));
    let max_total_bytes = 2 * long().len() as u64 + 10;
    builder.tool(speaker()).with(offloading(Offload {
        max_total_bytes,
        folder: Some(folder.path().to_owned()),
        ..Offload::default()
    }));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("listen").await.expect("a run");
    let read = read(&session.state().await);
    assert_eq!(read[3], "nothing is kept as `off-1`; there is: off-2, off-3");
    assert_eq!(read[4], "nothing is kept as `../../etc/passwd`; there is: off-2, off-3");
    let files = fs::read_dir(folder.path().join(session.id())).expect("the folder").flatten();
    let mut names: Vec<_> = files.map(|file| file.file_name()).collect();
    names.sort();
    assert_eq!(names, ["off-2.txt", "off-3.txt"]);
}

#[tokio::test]
async fn short_results_and_pages_stay_and_what_cannot_be_kept_stays_too() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let model = Script::new().call("speak", "{}").call("whisper", "{}").say("done");
    let mut builder = Agent::builder(model);
    builder.tool(speaker()).tool(RecordingTool::new("whisper").replying("psst"));
    // A file is no folder, so nothing can be kept there.
    builder.with(offloading(Offload { folder: Some(file.path().to_owned()), ..Offload::default() }));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("listen").await.expect("a run that goes on");
    assert_eq!(read(&session.state().await), [long(), "psst".to_owned()]);
}

#[tokio::test]
async fn what_is_long_what_is_shown_and_what_is_a_page_is_as_told() {
    let model =
        Script::new().call("count", "{}").call("read_offloaded", r#"{"id": "off-1", "offset": 3, "limit": 99}"#);
    let mut builder = Agent::builder(model.say("done"));
    builder.tool(RecordingTool::new("count").replying("0123456789"));
    builder.with(offloading(Offload { over_bytes: 9, preview_chars: 3, page_bytes: 4, ..Offload::default() }));
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("count").await.expect("a run");
    let read = read(&session.state().await);
    let preview =
        "[offloaded: 10 bytes kept as `off-1`, read_offloaded reads them]\n01\n[… 7 characters left out …]\n9";
    assert_eq!(read, [preview, "[bytes 3 to 7 of 10; next offset: 7]\n3456"]);
}

#[tokio::test]
async fn a_child_without_the_tool_reads_its_results_whole() {
    let below = Script::new().call("speak", "{}").say("heard");
    let child = built(Agent::builder(below.clone()).tool(speaker()));
    let model = Script::new().call("ask", r#"{"prompt": "listen"}"#).say("done");
    let mut builder = Agent::builder(model);
    builder.limits(vertebra::Limits::none()).tool(AgentTool::new("ask", "Asks", child)).with(Summarisation::default());
    built(&mut builder).run("go").await.expect("a run");
    let heard = below.requests()[1].messages.last().map(|message| message.text().to_owned());
    assert_eq!(heard, Some(long()));
}
