//! A recorded event, from any source.

use serde::Serialize;
use serde_json::Value;
use vertebra_bridge::wire::Happened;
use vertebra_journal::{
    backtest::Opinion,
    past::{self, Moment},
};

/// How many bytes of an event's subject an example shows.
const SHOWN: usize = 400;

/// A recorded event.
pub(super) enum Event {
    /// From the journal of our own agent.
    Ours(Box<Moment>),
    /// From another agent.
    Theirs(Box<Theirs>),
}

/// An event of another agent, in our format.
pub(super) struct Theirs {
    /// The kind of source.
    pub(super) source: &'static str,
    /// The event.
    pub(super) happened: Happened,
    /// The recorded decision.
    pub(super) then: Opinion,
}

/// The description of an event in an example.
#[derive(Debug, Clone, Serialize)]
pub(super) struct About {
    /// The kind of source.
    pub(super) source: &'static str,
    pub(super) session: String,
    pub(super) when: String,
    pub(super) point: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// The command, the arguments, the prompt or the text.
    #[serde(rename = "about")]
    pub(super) words: String,
}

impl Event {
    pub(super) fn point(&self) -> &'static str {
        match self {
            Self::Ours(moment) => moment.event.point(),
            Self::Theirs(theirs) => theirs.happened.point.row().name,
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
                    tool: moment.event.call().map(|call| call.tool.to_string()),
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
                    point: point.row().name,
                    tool: Some(text("tool")).filter(|tool| !tool.is_empty()),
                    words: cut(about.unwrap_or_default()),
                }
            }
        }
    }
}

fn of_ours(event: &past::Event) -> String {
    use past::Event;
    let called = |call: &vertebra::ToolCall| arguments(&call.args.to_value()).unwrap_or_default();
    match event {
        Event::PromptSubmit(event) => event.prompt.clone(),
        Event::BeforeStep(event) => format!("step {}", event.at.step),
        Event::BeforeInference(event) => {
            event.request.messages.last().map(vertebra::Message::text).unwrap_or_default().into()
        }
        Event::AfterInference(event) => event.response.text.clone(),
        Event::BeforeToolUse(event) => called(&event.call),
        Event::ToolUseFailed(event) => called(&event.call),
        Event::AfterToolUse(event) => called(&event.call),
        Event::AfterStep(event) => event.text.clone(),
        Event::ShouldContinue(event) => event.text.clone(),
    }
}

/// Returns a command as it is, and other arguments as JSON.
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
