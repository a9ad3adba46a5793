//! An event of the past, wherever it was recorded.

use serde::Serialize;
use serde_json::Value;
use vertebra::Event as _;
use vertebra_bridge::wire::Happened;
use vertebra_journal::{
    backtest::Opinion,
    past::{self, Moment},
};

/// How much of what an event is about an example shows.
const SHOWN: usize = 400;

/// An event of the past.
pub(super) enum Event {
    /// Of an agent of ours, from the journal.
    Ours(Box<Moment>),
    /// Of another agent.
    Theirs(Box<Theirs>),
}

/// An event of another agent, in our words.
pub(super) struct Theirs {
    /// Where it was recorded.
    pub(super) source: &'static str,
    /// The event.
    pub(super) happened: Happened,
    /// What was decided.
    pub(super) then: Opinion,
}

/// What an example tells of an event.
#[derive(Debug, Clone, Serialize)]
pub(super) struct About {
    /// Where it was recorded.
    pub(super) source: &'static str,
    pub(super) session: String,
    pub(super) when: String,
    pub(super) point: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// The command, the arguments, the prompt, the text.
    #[serde(rename = "about")]
    pub(super) words: String,
}

impl Event {
    pub(super) fn point(&self) -> &'static str {
        match self {
            Self::Ours(moment) => moment.event.point(),
            Self::Theirs(theirs) => theirs.happened.point,
        }
    }
}

impl About {
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Ours(moment) => {
                let at = moment.event.at();
                Self {
                    source: "journal",
                    session: at.run.session_id.to_string(),
                    when: at.timestamp.to_string(),
                    point: moment.event.point(),
                    tool: moment.event.tool().map(str::to_owned),
                    words: cut(of_ours(&moment.event)),
                }
            }
            Event::Theirs(theirs) => {
                let Happened { point, event } = &theirs.happened;
                let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                let words = ["prompt", "text", "message", "error"].iter().map(|key| text(key));
                let words = words.filter(|text| !text.is_empty());
                let about = arguments(&event["args"]).or_else(|| words.into_iter().next());
                Self {
                    source: theirs.source,
                    session: text("session_id"),
                    when: text("timestamp"),
                    point,
                    tool: Some(text("tool")).filter(|tool| !tool.is_empty()),
                    words: cut(about.unwrap_or_default()),
                }
            }
        }
    }
}

fn of_ours(event: &past::Event) -> String {
    use past::Event;
    let called = |args: Option<Value>| args.and_then(|args| arguments(&args)).unwrap_or_default();
    match event {
        Event::PromptSubmit(event) => event.prompt.clone(),
        Event::BeforeStep(event) => format!("step {}", event.at.step),
        Event::BeforeInference(event) => {
            event.request.messages.last().map(vertebra::Message::text).unwrap_or_default().into()
        }
        Event::AfterInference(event) => event.response.text.clone(),
        Event::BeforeToolUse(event) => called(event.arguments()),
        Event::ToolUseFailed(event) => called(event.arguments()),
        Event::AfterToolUse(event) => called(event.arguments()),
        Event::AfterStep(event) => event.text.clone(),
        Event::ShouldContinue(event) => event.text.clone(),
    }
}

/// A command as it is, any other arguments as JSON.
fn arguments(args: &Value) -> Option<String> {
    let args = args.as_object().filter(|args| !args.is_empty())?;
    let command = ["command", "cmd"].iter().find_map(|key| args.get(*key)?.as_str());
    Some(command.map_or_else(|| Value::Object(args.clone()).to_string(), str::to_owned))
}

fn cut(mut text: String) -> String {
    if text.len() > SHOWN {
        text.truncate(text.floor_char_boundary(SHOWN));
        text.push('…');
    }
    text
}
