//! Secrets that reach neither the model nor the screen nor the journal, even in pieces.
//!
//! Run it with `cargo run -p vertebra-examples --bin redaction`.

use std::error::Error;

use vertebra::{
    MemoryJournal, News,
    prelude::*,
    testing::{FakeClock, Script, SequentialIds},
};
use vertebra_kit::redaction::{Redaction, Sensitive, Strategy};

/// Made up, like everything secret here.
const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = Script::new().call("env", r#"{"prefix": "DEPLOY"}"#).stream([
        "The token is gh",
        "p_abcdefghijklmno",
        "pqrstuvwxyz0123456789",
        ", ask ann@exa",
        "mple.org. ",
        "Bye.",
    ]);
    let env = tool("env", "Shows variables", async |_: serde_json::Value, invocation: Invocation| {
        invocation.say(format!("DEPLOY_TOKEN={TOKEN}"));
        Ok(format!("DEPLOY_TOKEN={TOKEN}\nDEPLOY_URL=https://app:s3cret@example.org\nDEPLOY_PHRASE=open sesame"))
    });
    let redaction = Redaction::default()
        .value("phrase", "open sesame")?
        .pattern("ticket", "TICKET-[0-9]{4,}")?
        .on(Sensitive::Email, Strategy::Mask);

    let journal = MemoryJournal::default();
    let agent = Agent::builder(model.clone())
        .clock(FakeClock::new())
        .ids(SequentialIds::default())
        .journal(journal.clone())
        .tool(env)
        .with(redaction)
        .build()?;

    let mut everything = String::new();
    let mut stream = agent.stream(format!("Deploy TICKET-4711 with {TOKEN}."));
    while let Some(event) = stream.next().await {
        everything.push_str(&serde_json::to_string(&event)?);
        match event.news {
            News::ToolSays { text, .. } => println!("the tool says {text}"),
            News::Delta { text, .. } => println!("shown {text:?}"),
            News::Ended { report } => println!("{}: {}", report.status, report.text),
            _ => {}
        }
    }

    println!("\nthe model was sent:");
    let last = model.requests().pop().ok_or("the model was asked")?;
    for message in last.messages.iter().filter(|message| !message.text().is_empty()) {
        println!("  {}", message.text().replace('\n', "\n  "));
    }

    everything.push_str(&serde_json::to_string(&journal.entries())?);
    for secret in [TOKEN, "ghp_", "s3cret", "open sesame", "ann@example.org"] {
        println!("{secret:?} left the run: {}", everything.contains(secret));
    }
    Ok(())
}
