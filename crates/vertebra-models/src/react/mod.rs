//! Tool use for models that are bad at it, or were never taught it.
//!
//! [`React`] stands before any other model and asks it for text alone: thought, tool, arguments, answer as one JSON
//! object. Tools are described in the system prompt and shown in a few examples made from their schemas. A server that
//! can be held to a schema is: one branch for each tool with its own arguments, one for the answer. From a server that
//! cannot, whatever a small model makes of the format is read: code fences, prose around the object, single quotes, the
//! `Thought:`/`Action:` labels of the paper that the method is named after, a bare answer.
//!
//! What cannot be understood is asked again with the reason, as part of the same inference: hooks see one question and
//! one answer, and its usage is that of all attempts. The thought is streamed as reasoning, the answer as text and the
//! arguments as a call, each as it is written.

mod lenient;
mod prompt;
mod scan;
mod schema;
mod step;

use serde_json::json;
use vertebra::{
    CallInSight, Channel, DeltaReader, Deltas, Halted, Message, Messages, Model, ModelError, ModelId, Offer, Request,
    Response, ToolCall, Usage,
};

use self::{
    scan::{Field, Scan},
    step::{Step, Unclear},
};
use crate::RESPONSE_SCHEMA;

/// How much of an answer that could not be read is shown to the model again.
const MAX_SHOWN_CHARS: usize = 2000;
/// What our names of calls begin with.
const CALL: &str = "react-";

/// A model that uses tools by writing about them.
///
/// ```
/// use vertebra::{prelude::*, testing::{RecordingTool, Script}};
/// use vertebra_models::React;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let words = Script::new()
///     .say(r#"{"thought": "I look.", "tool": "ls", "arguments": {}}"#)
///     .say(r#"{"thought": "I know.", "answer": "Two files."}"#);
/// let ls = RecordingTool::new("ls").replying("a.txt b.txt");
/// let run = Agent::builder(React::over(words)).tool(ls.clone()).build()?.run("What is here?").await?;
/// assert_eq!((run.text.as_str(), ls.calls().len()), ("Two files.", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct React<M> {
    model: M,
    constrained: bool,
    retries: u32,
    examples: usize,
}

impl<M: Model> React<M> {
    /// Gives tool use to this model.
    pub fn over(model: M) -> Self {
        Self { model, constrained: true, retries: 2, examples: 5 }
    }

    /// Asks the server for no schema: for those that know none.
    #[must_use]
    pub fn unconstrained(mut self) -> Self {
        self.constrained = false;
        self
    }

    /// Asks again so often when an answer cannot be understood. Twice unless told otherwise.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.retries = times;
        self
    }

    /// Shows the use of so many tools, the first ones that are offered. Five unless told otherwise; without any there are
    /// no examples at all.
    #[must_use]
    pub fn examples(mut self, tools: usize) -> Self {
        self.examples = tools;
        self
    }

    /// The question as the model behind is asked it.
    fn question(&self, request: &Request) -> Request {
        let mut question = prompt::with_tools(request, self.examples);
        if self.constrained {
            let answer = request.options[RESPONSE_SCHEMA].get("schema");
            let schema = schema::of_step(&request.tools, answer);
            if question.options.is_null() {
                question.options = json!({});
            }
            // Options that are no object are a driver's own, and have no place for it.
            if let Some(options) = question.options.as_object_mut() {
                options.insert(RESPONSE_SCHEMA.to_owned(), json!({ "name": "step", "schema": schema }));
            }
        } else if let Some(options) = question.options.as_object_mut() {
            options.remove(RESPONSE_SCHEMA);
        }
        question
    }
}

impl<M: Model> Model for React<M> {
    fn id(&self) -> ModelId {
        self.model.id()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        if request.tools.is_empty() {
            return self.model.infer(&prompt::without_tools(request), out).await;
        }
        let mut question = self.question(request);
        let (mut usage, mut reasoning, mut attempt) = (Usage::default(), String::new(), 0);
        loop {
            let mut reader = Reader::new(out, &request.tools, attempt);
            let raw = self.model.infer(&question, &mut Deltas::to(&mut reader)).await?;
            let heard = reader.finish(&raw).await;
            // Whatever becomes of it: an attempt that is of no use is paid for as well.
            out.spend(raw.usage);
            usage += raw.usage;
            reasoning.push_str(&heard.thought);
            let unspoken = heard.thought.is_empty();
            let (text, calls) = match meaning(&raw, heard, request) {
                Ok((step, calls)) => {
                    if unspoken {
                        reasoning.push_str(&step.thought);
                    }
                    (step.answer.unwrap_or_default(), calls)
                }
                Err(unclear) if attempt < self.retries => {
                    question.messages.push(Message::assistant(shortened(&raw.text).into()));
                    question.messages.push(Message::user(prompt::complaint(&unclear.problem)));
                    attempt += 1;
                    continue;
                }
                // The runtime refuses it, and the model reads why: the run goes on as with any other model.
                Err(Unclear { call: Some((tool, written)), .. }) => {
                    (String::new(), vec![ToolCall::from_text(next_id(&request.messages), tool, &written)])
                }
                Err(unclear) => return Err(unreadable(&unclear, attempt + 1, &raw.text)),
            };
            return Ok(Response { text, reasoning, calls, usage, carry: None, ..raw });
        }
    }
}

/// What the model says and what it asks for.
fn meaning(raw: &Response, heard: Heard, request: &Request) -> Result<(Step, Vec<ToolCall>), Unclear> {
    let said = Step { answer: Some(heard.answer).filter(|answer| !answer.is_empty()), ..Step::default() };
    if heard.halted {
        return Ok((said, Vec::new()));
    }
    match step::read(&raw.text, &request.tools) {
        Ok(mut step) => {
            let call = step.call.take().map(|(tool, args)| ToolCall::new(next_id(&request.messages), tool, args));
            Ok((step, call.into_iter().collect()))
        }
        // The server knew a call when it saw one.
        Err(_) if !raw.calls.is_empty() => Ok((said, raw.calls.clone())),
        // It broke off in the middle of an answer that people have begun to read.
        Err(_) if said.answer.is_some() => Ok((said, Vec::new())),
        Err(unclear) => Err(unclear),
    }
}

fn unreadable(unclear: &Unclear, attempts: u32, text: &str) -> ModelError {
    let began: String = text.chars().take(100).collect();
    ModelError::Broken {
        message: format!("{attempts} answers could not be understood: {}; the last began: {began:?}", unclear.problem),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

/// A name that no call of the conversation has.
fn next_id(conversation: &Messages) -> String {
    let calls = conversation.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        Message::User { .. } | Message::Instruction { .. } | Message::Tool { .. } => &[],
    });
    let numbers = calls.filter_map(|call| call.id.strip_prefix(CALL)?.parse::<u64>().ok());
    format!("{CALL}{}", numbers.max().unwrap_or_default().saturating_add(1))
}

/// Hears what the model writes and tells the run what it means, piece by piece.
struct Reader<'o, 'd, 'r> {
    out: &'o mut Deltas<'d>,
    offers: &'r [Offer],
    attempt: u32,
    scan: Scan,
    tool: String,
    /// Arguments that cannot be told yet: they are told of a tool.
    arguments: String,
    streamed: bool,
    heard: Heard,
}

/// What was told of one answer.
#[derive(Default)]
struct Heard {
    thought: String,
    answer: String,
    /// No more is wanted.
    halted: bool,
}

impl<'o, 'd, 'r> Reader<'o, 'd, 'r> {
    fn new(out: &'o mut Deltas<'d>, offers: &'r [Offer], attempt: u32) -> Self {
        Self {
            out,
            offers,
            attempt,
            scan: Scan::default(),
            tool: String::new(),
            arguments: String::new(),
            streamed: false,
            heard: Heard::default(),
        }
    }

    /// Tells what was not streamed, and ends.
    async fn finish(mut self, raw: &Response) -> Heard {
        if self.heard.thought.is_empty() && !raw.reasoning.is_empty() {
            self.take(Channel::Reasoning, &raw.reasoning).await;
        }
        if !self.streamed {
            self.take(Channel::Text, &raw.text).await;
        }
        self.heard
    }

    async fn take(&mut self, channel: Channel, piece: &str) {
        // Remembered as `halted`.
        let _ = self.read(channel, None, piece).await;
    }

    async fn tell(&mut self, field: Field, text: &str) -> Result<(), Halted> {
        match field {
            Field::Thought => self.think(text).await,
            Field::Tool => {
                self.tool.push_str(text);
                Ok(())
            }
            Field::Arguments => {
                self.arguments.push_str(text);
                if !self.offers.iter().any(|offer| *offer.name == *self.tool) {
                    return Ok(());
                }
                let piece = std::mem::take(&mut self.arguments);
                // Another attempt writes another call.
                self.out.call(self.attempt, &self.tool, &piece).await
            }
            Field::Answer => {
                self.heard.answer.push_str(text);
                self.out.text(text).await
            }
        }
    }

    async fn think(&mut self, text: &str) -> Result<(), Halted> {
        let next = if self.attempt > 0 && self.heard.thought.is_empty() { "\n" } else { "" };
        let piece = format!("{next}{text}");
        self.heard.thought.push_str(&piece);
        self.out.reasoning(&piece).await
    }

    async fn pass(&mut self, channel: Channel, piece: &str) -> Result<(), Halted> {
        match channel {
            Channel::Text => {
                self.streamed = true;
                for (field, text) in self.scan.push(piece) {
                    self.tell(field, &text).await?;
                }
                Ok(())
            }
            Channel::Reasoning => self.think(piece).await,
            // No tool was offered to be called this way. If there is a call, it comes whole.
            Channel::Call => Ok(()),
        }
    }
}

impl DeltaReader for Reader<'_, '_, '_> {
    async fn read(&mut self, channel: Channel, _call: Option<&CallInSight>, piece: &str) -> Result<(), Halted> {
        let passed = self.pass(channel, piece).await;
        self.heard.halted |= passed.is_err();
        passed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    pub(super) fn offer(name: &str, arguments: &[&str]) -> Offer {
        let properties: serde_json::Map<String, Value> =
            arguments.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": arguments });
        Offer { name: name.into(), description: format!("Does {name}").into(), schema: schema.into() }
    }

    pub(super) fn offers() -> Vec<Offer> {
        let number = |text: &str| json!({ "type": "number", "description": text });
        let sum = json!({
            "type": "object",
            "properties": { "a": number("the first"), "b": number("the second"), "round": { "enum": ["up", "down"] } },
            "required": ["a", "b"],
        });
        let add = Offer { name: "add".into(), description: "Adds two numbers. Slowly.".into(), schema: sum.into() };
        vec![Offer { description: "Runs a command".into(), ..offer("bash", &["command"]) }, add]
    }

    pub(super) fn asking(prompt: &str) -> Request {
        Request {
            model: ModelId::new("script", "script-1"),
            system_prompt: "You are a test.".into(),
            messages: [Message::user(prompt)].into_iter().collect(),
            tools: offers().into(),
            max_output_tokens: None,
            temperature: None,
            options: Value::Null,
        }
    }

    pub(super) fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z\"\\\\]{0,6}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }
}
