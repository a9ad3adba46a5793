//! What a person says while an agent works: it waits for the next step, and passes the hooks of any prompt.
//!
//! Run it with `cargo run -p vertebra-examples --bin steering`.

use std::error::Error;

use serde_json::Value;
use vertebra::{News, prelude::*, testing::Script};
use vertebra_kit::steering::Steering;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new().call("translate", "{}").say("C'est fait.");
    let steering = Steering::default();

    // The person types while the tool runs.
    let person = steering.clone();
    let agent = Agent::builder(model.clone())
        .with(steering)
        .tool(tool("translate", "Translates the letter", async move |_: Value, _| {
            person.say("rather in French")?;
            person.say("my password is 1234")?;
            Ok("half of it is translated")
        }))
        .guard(PromptSubmit.named("no-secrets"), async |cx| {
            if cx.prompt.contains("password") { deny("no secrets") } else { proceed() }
        })
        .build()?;

    let mut stream = agent.stream("translate the letter");
    while let Some(event) = stream.next().await {
        match event.news {
            News::Step { step } => println!("step {step}"),
            News::Notice { kind, message } => println!("{kind}: {message}"),
            News::Ended { report } => println!("{}: {}", report.status, report.text),
            _ => {}
        }
    }
    let last = model.requests().pop().ok_or("the model was not asked")?;
    for message in last.messages.iter() {
        println!("the model reads: {}", message.text());
    }
    Ok(())
}
