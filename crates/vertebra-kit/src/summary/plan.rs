//! Which messages stay as they are, and which are summarised.

use vertebra::{Message, Messages};

use super::{Counter, cut::head_and_tail};

/// Who writes summaries into a conversation. A message from here is a summary, and never material for one.
pub(super) const FROM: &str = "summary/so-far";
const HEAD: &str = "Summary of the conversation so far:\n";

/// The summary that a message of a conversation is, if it is one.
pub fn summary_in(text: &str) -> Option<&str> {
    text.strip_prefix(HEAD)
}

/// A conversation taken apart.
#[derive(Default)]
pub(super) struct Plan {
    /// The first prompt: what this is all about.
    pub(super) first: Option<Message>,
    /// The summary that is there already.
    pub(super) before: Option<String>,
    /// What is summarised.
    pub(super) middle: Vec<Message>,
    /// The latest prompt, if it is neither the first nor recent.
    pub(super) latest: Option<Message>,
    /// What is recent.
    pub(super) tail: Vec<Message>,
    /// How many characters of prompts do not fit.
    pub(super) left_out: usize,
}

/// How much of each part stays. All parts together stay under the target, with room for what counting rounds off.
pub(super) struct Room<'a> {
    pub(super) counter: &'a Counter,
    pub(super) target: u64,
    pub(super) keep_recent: usize,
}

impl Room<'_> {
    /// What a prompt may take.
    fn prompt(&self) -> u64 {
        self.target / 8
    }

    /// What the summary may take.
    pub(super) fn summary(&self) -> u64 {
        self.target / 8
    }

    fn tail(&self) -> u64 {
        self.target / 2
    }

    /// Takes a conversation apart.
    pub(super) fn plan(&self, messages: Vec<Message>) -> Plan {
        let mut plan = Plan::default();
        let mut rest = Vec::with_capacity(messages.len());
        for message in messages {
            match message {
                Message::Instruction { text, from } if from == FROM => {
                    plan.before = Some(text.strip_prefix(HEAD).unwrap_or(&text).to_owned());
                }
                Message::User { .. } if plan.first.is_none() => plan.first = Some(message),
                message => rest.push(message),
            }
        }
        let mut groups = groups(rest);
        let mut tail: Vec<Vec<Message>> = Vec::new();
        let (mut kept, mut tokens) = (0, 0);
        while kept < self.keep_recent
            && let Some(group) = groups.pop()
        {
            let group = if tail.is_empty() { self.shrunk(group, self.tail()) } else { group };
            let count = self.count(&group);
            if tokens + count > self.tail() {
                groups.push(group);
                break;
            }
            kept += group.len();
            tokens += count;
            tail.push(group);
        }
        plan.tail = tail.into_iter().rev().flatten().collect();
        plan.middle = groups.into_iter().flatten().collect();
        let is_prompt = |message: &Message| matches!(message, Message::User { .. });
        if !plan.tail.iter().any(is_prompt)
            && let Some(at) = plan.middle.iter().rposition(is_prompt)
        {
            plan.latest = Some(plan.middle.remove(at));
        }
        for prompt in [&mut plan.first, &mut plan.latest] {
            let Some(whole) = prompt.take() else { continue };
            let before = whole.text().chars().count();
            let fitting = self.fit(whole, self.prompt());
            plan.left_out += before.saturating_sub(fitting.text().chars().count());
            *prompt = Some(fitting);
        }
        plan
    }

    /// The conversation put together again.
    pub(super) fn assemble(&self, plan: Plan, summary: Option<String>) -> Messages {
        let summary = summary.map(|text| self.fit(Message::instruction(format!("{HEAD}{text}"), FROM), self.summary()));
        let front = [plan.first, summary, plan.latest].into_iter().flatten();
        front.chain(plan.tail).collect()
    }

    /// A group whose results are cut so that it takes no more than this, if that is possible.
    fn shrunk(&self, group: Vec<Message>, tokens: u64) -> Vec<Message> {
        if self.count(&group) <= tokens {
            return group;
        }
        let share = tokens / (group.len() as u64 + 1);
        group.into_iter().map(|message| self.fit(message, share)).collect()
    }

    /// A message cut until it takes no more than this. What a model asked for is not cut: its calls are as they were.
    fn fit(&self, mut message: Message, tokens: u64) -> Message {
        let over = |message: &Message| self.count(std::slice::from_ref(message)) > tokens;
        if over(&message)
            && let Message::Assistant { reasoning, .. } = &mut message
        {
            reasoning.clear();
        }
        let whole = message.text().to_owned();
        let mut chars = whole.len();
        while chars > 0 && over(&message) {
            chars /= 2;
            let cut = head_and_tail(&whole, chars);
            match &mut message {
                Message::User { text, .. } | Message::Instruction { text, .. } | Message::Assistant { text, .. } => {
                    *text = cut;
                }
                Message::Tool { result, .. } => result.output = cut,
            }
        }
        message
    }

    pub(super) fn count(&self, messages: &[Message]) -> u64 {
        self.counter.count(&messages.iter().cloned().collect())
    }
}

/// Messages that belong together: calls with their results, everything else alone.
fn groups(messages: Vec<Message>) -> Vec<Vec<Message>> {
    let mut groups: Vec<Vec<Message>> = Vec::new();
    for message in messages {
        match (&message, groups.last_mut()) {
            (Message::Tool { .. }, Some(group)) if matches!(group[0], Message::Assistant { .. }) => group.push(message),
            _ => groups.push(vec![message]),
        }
    }
    groups
}

/// Messages as a summariser reads them, each cut so that all of them together have so many characters.
pub(super) fn transcript(messages: &[Message], chars: usize) -> String {
    let each = (chars / messages.len().max(1)).max(40);
    let line = |message: &Message| {
        let (who, text) = match message {
            Message::User { text, .. } => ("user".to_owned(), text.clone()),
            Message::Instruction { text, from } => (format!("instruction from {from}"), text.clone()),
            Message::Assistant { text, calls, .. } => {
                let calls: Vec<String> =
                    calls.iter().map(|call| format!("{}{}", call.tool, call.args.to_value())).collect();
                ("assistant".to_owned(), format!("{text} {}", calls.join(" ")))
            }
            Message::Tool { tool, result, .. } => (format!("{tool} ({})", result.status), result.output.clone()),
        };
        format!("{who}: {}", head_and_tail(text.trim(), each))
    };
    let whole = messages.iter().map(line).collect::<Vec<_>>().join("\n");
    head_and_tail(&whole, chars)
}
