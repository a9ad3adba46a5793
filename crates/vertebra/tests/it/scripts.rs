//! A script that was not played to its end fails the test, and never hides another error.

use vertebra::{Agent, BuildError, RunFailed, prelude::*, testing::Script};

use super::support::*;

/// A script with one answer more than a run asks for.
fn long() -> Script {
    Script::new().say("first").say("second")
}

#[test]
fn an_agent_that_cannot_be_built_shows_why() {
    let build = || -> Result<Agent, BuildError> {
        Agent::builder(long()).guard(BeforeToolUse.command("(x"), async |_| deny("no")).build()
    };
    let error = build().expect_err("an invalid pattern").to_string();
    assert!(error.contains("invalid command pattern `(x`"), "{error}");
}

#[tokio::test]
async fn a_run_that_fails_shows_why() {
    let run = async |model: Script| -> Result<String, RunFailed> {
        let agent = agent(&model).error_policy(vertebra::ErrorPolicy::stop()).build().expect("an agent");
        drop(model);
        Ok(agent.run("go").await?.text)
    };
    let error = run(Script::new().fail(rejected()).say("second")).await.expect_err("the model fails");
    assert!(error.to_string().contains("too rude"), "{error}");

    let denied = async || -> Result<String, RunFailed> {
        let mut builder = agent(&long());
        let agent = builder.on(SessionStart, async |_| deny("closed")).build().expect("an agent");
        Ok(agent.run("go").await?.text)
    };
    let error = denied().await.expect_err("the session is denied");
    assert!(error.to_string().contains("closed"), "{error}");

    // It fails after a good answer.
    let broken = async || -> Result<String, RunFailed> {
        let mut builder = agent(&long());
        builder.around(vertebra::Step, async |cx, next| {
            let _ = next.run(cx).await?;
            Err(HookError::new("out of paper"))
        });
        let agent = builder.error_policy(vertebra::ErrorPolicy::stop()).build().expect("an agent");
        Ok(agent.run("go").await?.text)
    };
    let error = broken().await.expect_err("the step fails");
    assert!(error.to_string().contains("out of paper"), "{error}");
}

#[tokio::test]
#[should_panic(expected = "the script has 1 more turns that no request asked for")]
async fn a_script_that_a_finished_run_did_not_play_fails_the_test() {
    run(&mut agent(&long())).await;
}

/// The names of a program. A name that the prelude exported too would be ambiguous below.
mod program {
    pub(super) struct Test;
    pub(super) struct Kind;
    pub(super) struct State;
    pub(super) trait Match {}
    impl Match for Test {}
}

mod beside_the_prelude {
    #[expect(unused_imports, reason = "what matters is that no name is in both")]
    use vertebra::prelude::*;

    use super::program::*;

    pub(super) fn names(_: impl Match) -> (Kind, State) {
        (Kind, State)
    }
}

#[test]
fn the_prelude_leaves_general_names_to_the_program() {
    let _ = beside_the_prelude::names(program::Test);
}
