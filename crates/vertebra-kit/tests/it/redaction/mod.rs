//! Secrets and personal data that never reach the model, the screen or the record.

mod places;
mod record;

use vertebra::{
    AgentBuilder, Channel, MemoryJournal, News, RunReport,
    prelude::*,
    testing::{FakeClock, Script},
};
use vertebra_kit::redaction::*;

use crate::{sheet::Sheet, support::built};

/// A key of a well-known shape, made up.
const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

fn agent(model: &Script) -> AgentBuilder {
    let mut builder = Agent::builder(model.clone());
    builder.clock(FakeClock::new());
    builder
}

/// What left a run: what was shown of the answers, everything that front ends were told and that was written, the report.
struct Left {
    shown: String,
    thought: String,
    everything: String,
    report: RunReport,
}

async fn left(builder: &mut AgentBuilder, prompt: &str) -> Left {
    let journal = MemoryJournal::default();
    builder.journal(journal.clone());
    let agent = built(builder);
    let mut stream = agent.stream(prompt);
    let (mut shown, mut thought, mut everything, mut last) = (String::new(), String::new(), String::new(), None);
    while let Some(event) = stream.next().await {
        everything.push_str(&serde_json::to_string(&event).expect("an event"));
        match event.news {
            News::Delta { text, channel: Channel::Text, .. } => shown.push_str(&text),
            News::Delta { text, channel: Channel::Reasoning, .. } => thought.push_str(&text),
            News::Ended { report } => last = Some(*report),
            _ => {}
        }
    }
    for entry in journal.entries() {
        everything.push_str(&serde_json::to_string(&entry).expect("an entry"));
    }
    let report = last.expect("the end is told");
    everything.push_str(&serde_json::to_string(&report).expect("a report"));
    Left { shown, thought, everything, report }
}

/// Everything that a model was ever sent.
fn sent(model: &Script) -> String {
    serde_json::to_string(&model.requests()).expect("requests")
}

pub(crate) fn sheet() -> Sheet {
    let kinds: Vec<String> =
        Redaction::default().kinds().map(|(kind, strategy)| format!("{kind} {strategy:?}")).collect();
    Sheet {
        name: "Redaction",
        purpose: "Hides secrets, and personal data if enabled, from models, front ends and the record.",
        install: |builder| {
            builder.with(Redaction::default());
        },
        knobs: vec![
            ("on, off", kinds.join(", ")),
            ("personal", "off; if on: email, credit-card, iban, ip-address, mac-address".into()),
            ("pattern, value, environment", "none".into()),
            ("secrets_at", format!("{:?}", Redaction::default().places_of_secrets().collect::<Vec<_>>())),
            ("personal_at", format!("{:?}", Redaction::default().places_of_personal().collect::<Vec<_>>())),
            ("invisible", format!("{:?}", Redaction::default().treatment_of_invisible())),
        ],
    }
}
