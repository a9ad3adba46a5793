//! A collector that is not there, refuses or never answers is not noticed by a run.

use super::*;

/// Runs an agent beside a collector, and gives back its telemetry before it has ended.
async fn run_beside(settings: &Settings) -> Telemetry {
    let telemetry = start(settings);
    let mut builder = Agent::builder(Script::new().call("ls", "{}").say("done"));
    let agent = builder.journal(telemetry.beside(MemoryJournal::default())).tool(RecordingTool::new("ls")).build();
    let report = agent.expect("an agent").run("go").await.expect("a run");
    assert_eq!(report.text, "done");
    telemetry
}

#[tokio::test]
async fn a_collector_that_never_answers_delays_nothing_and_is_given_up() {
    let collector = Collector::that(Manner::NeverAnswers);
    let settings = Settings { metrics: None, ..Settings::to(&collector.url()).expect("an address") };
    let telemetry = run_beside(&settings).await;
    let flush = tokio::spawn({
        let telemetry = telemetry.clone();
        async move { telemetry.finish(PATIENCE).await }
    });
    let waiting = collector.clone();
    tokio::task::spawn_blocking(move || waiting.wait_for_a_request()).await.expect("a request");
    // The collector holds its answer, and runs go on beside it.
    run_beside(&settings).await;
    let delivered = telemetry.finish(Duration::from_millis(1)).await;
    assert!(delivered.spans == 0 && delivered.lost > 0, "{delivered:?}");
    assert!(!flush.is_finished(), "it is not answered yet");
    flush.abort();
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted_and_said() {
    let collector = Collector::that(Manner::Refuses);
    let telemetry = run_beside(&Settings::to(&collector.url()).expect("an address")).await;
    let delivered = telemetry.finish(PATIENCE).await;
    assert!(delivered.spans == 0 && delivered.lost > 0, "{delivered:?}");
    assert!(delivered.to_string().contains("500"), "{delivered}");
}

#[tokio::test]
async fn a_collector_that_is_not_there_is_said() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let telemetry = run_beside(&Settings::to(&format!("http://127.0.0.1:{port}")).expect("an address")).await;
    let delivered = telemetry.finish(PATIENCE).await;
    assert!(delivered.spans == 0 && delivered.lost > 0 && delivered.problem.is_some(), "{delivered:?}");
}

#[tokio::test]
async fn what_is_more_than_the_queue_holds_is_dropped_counted_and_said() {
    let collector = Collector::that(Manner::Hesitates);
    let settings = Settings { metrics: None, ..Settings::to(&collector.url()).expect("an address") };
    let telemetry = start(&settings);
    let prompts = 250;
    let model = (0..prompts).fold(Script::new(), |script, _| script.say("done"));
    let mut builder = Agent::builder(model);
    builder.on(PromptSubmit, async |_| proceed());
    builder.on(ExecutionStart, async |_| proceed());
    builder.on(BeforeStep, async |_| proceed());
    builder.on(BeforeInference, async |_| proceed());
    builder.on(AfterInference, async |_| proceed());
    builder.on(AfterStep, async |_| proceed());
    builder.on(ShouldContinue, async |_| proceed());
    builder.on(ExecutionEnd, async |_| proceed());
    let agent = builder.journal(telemetry.beside(MemoryJournal::default())).build().expect("an agent");
    for _ in 0..prompts {
        agent.run("go").await.expect("a run");
    }
    collector.let_go();
    let delivered = telemetry.finish(PATIENCE).await;
    // A session, a run, a step, a model call and eight dispatches each: more than a queue of 2048 and a batch of 512.
    assert_eq!(delivered.spans + delivered.lost, prompts * 12, "{delivered}");
    assert!(delivered.spans <= 2048 + 512, "{delivered}");
    assert_eq!(delivered.spans, collector.spans().len() as u64);
    assert!(delivered.to_string().contains("than the queue holds"), "{delivered}");
}

#[tokio::test]
async fn what_is_open_when_it_ends_is_exported_as_far_as_it_came() {
    let collector = Collector::that(Manner::Takes);
    let telemetry = to(&collector);
    let mut builder = Agent::builder(Script::new().call("wait", "{}").may_end_early());
    let (says, mut waits) = tokio::sync::mpsc::channel::<()>(1);
    builder.tool(tool("wait", "waits", async move |_: serde_json::Value, _| {
        let _ = says.send(()).await;
        std::future::pending::<Result<String, ToolError>>().await
    }));
    let agent = builder.journal(telemetry.beside(MemoryJournal::default())).build().expect("an agent");
    let run = tokio::spawn(async move { agent.run("go").await });
    waits.recv().await.expect("it waits");
    telemetry.finish(PATIENCE).await;
    run.abort();
    let names = tree(&collector.spans(), |_| String::new());
    assert!(names.contains("      execute_tool wait\n"), "{names}");
}
