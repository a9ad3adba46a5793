//! A stream that never shows a secret: pieces are held back until it is clear that they are harmless.
//!
//! Run it with `cargo run -p vertebra-examples --bin streaming`.

use std::error::Error;

use vertebra::{News, prelude::*, testing::Script};

/// Blots out a secret, also one that arrives in pieces.
struct Blot {
    secret: &'static str,
}

impl Hook<InferenceDelta> for Blot {
    async fn run(&self, cx: &mut DeltaCx<'_>) -> Answer<InferenceDelta> {
        if cx.text.contains(self.secret) {
            cx.text = cx.text.replace(self.secret, "[secret]");
        }
        // The end of this piece may be the beginning of the secret: wait for the next one.
        let begun = (1..self.secret.len()).any(|length| cx.text.ends_with(&self.secret[..length]));
        if begun && !cx.last { hold() } else { proceed() }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let pieces = ["The key ", "is sk-", "12", "34, and the ", "task is", " sk-etched."];
    println!("the model says {pieces:?}");
    let model = Script::new().stream(pieces);
    let agent = Agent::builder(model).add_hook(InferenceDelta.named("blot"), Blot { secret: "sk-1234" }).build()?;

    let mut stream = agent.stream("Which key do we use?");
    while let Some(event) = stream.next().await {
        match event.news {
            News::Hooks { record, .. } => println!("  {record}"),
            News::Delta { text, .. } => println!("shown {text:?}"),
            News::Ended { report } => println!("{}: {}", report.status, report.text),
            _ => {}
        }
    }
    Ok(())
}
