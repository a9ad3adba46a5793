//! What a person says while an agent works.

use serde_json::Value;
use vertebra::{AgentBuilder, News, prelude::*, testing::Script, tool};
use vertebra_kit::steering::{MAX_WAITING, Steering};

use crate::{sheet::Sheet, support::built};

pub(crate) fn sheet() -> Sheet {
    Sheet {
        name: "Steering",
        purpose: "Adds what a person writes while the agent works to its next step, after the hooks of any prompt.",
        install: |builder| {
            builder.with(Steering::default());
        },
        knobs: Vec::new(),
    }
}

/// An agent whose only tool hears a person say something.
fn interrupted(model: &Script, steering: &Steering, words: &'static str) -> AgentBuilder {
    let person = steering.clone();
    let mut builder = Agent::builder(model.clone());
    builder.with(steering.clone()).tool(tool("work", "works", async move |_: Value, _| {
        person.say(words).expect("there is room");
        Ok("worked")
    }));
    builder
}

#[tokio::test]
async fn what_is_said_during_a_step_is_read_in_the_next() {
    let (model, steering) = (Script::new().call("work", "{}").say("bien"), Steering::default());
    built(&mut interrupted(&model, &steering, "in French, please")).run("go").await.expect("a run");
    let request = model.requests().pop().expect("a second request");
    assert_eq!(request.messages.last(), Some(&Message::user("in French, please")));
    assert_eq!(steering.waiting(), 0);
}

#[tokio::test]
async fn it_passes_the_hooks_of_a_prompt_and_a_refusal_is_told() {
    let (model, steering) = (Script::new().call("work", "{}").say("done"), Steering::default());
    let mut builder = interrupted(&model, &steering, "the password is 1234");
    builder.guard(PromptSubmit, async |cx| if cx.prompt.contains("password") { deny("no secrets") } else { proceed() });
    let mut stream = built(&mut builder).stream("go");
    let mut notices = Vec::new();
    while let Some(event) = stream.next().await {
        if let News::Notice { message, .. } = event.news {
            notices.push(message);
        }
    }
    assert!(notices.iter().any(|notice| notice.contains("no secrets")), "{notices:?}");
    let sent = serde_json::to_string(&model.requests()).expect("requests");
    assert!(!sent.contains("password"), "{sent}");
}

#[tokio::test]
async fn what_comes_after_the_last_step_is_not_lost() {
    let (model, steering) = (Script::new().say("done"), Steering::default());
    let person = steering.clone();
    let mut builder = Agent::builder(model);
    builder.with(steering.clone()).watch(AfterStep, async move |_| {
        person.say("one more thing").expect("there is room");
        Ok(())
    });
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(steering.take(), [vertebra::Prompt::from("one more thing")]);
}

#[test]
fn a_person_who_says_too_much_is_told_and_keeps_the_words() {
    let steering = Steering::default();
    for number in 0..MAX_WAITING {
        steering.say(number.to_string()).expect("there is room");
    }
    let full = steering.say("and this").expect_err("no room");
    assert_eq!((full.to_string(), full.0.text), ("32 messages are waiting already".to_owned(), "and this".to_owned()));
}
