//! Whatever the conversation: pairs stay whole, order is kept, the target is met, and once is enough.

use proptest::prelude::{Strategy, TestCaseError, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use vertebra::{AgentState, Compactor, Hooks, Message, Messages, Response, ToolResult, testing::scope};
use vertebra_kit::summary::{Repeated, Summarisation, Trigger};

use super::{Scribe, call};

/// Something that happens in a conversation, with how much is said.
#[derive(Debug, Clone)]
enum Turn {
    Prompt(usize),
    Instruction(usize),
    Answer(usize),
    /// Calls at the same time, each with the size of its result.
    Calls(Vec<usize>),
}

fn turn() -> impl Strategy<Value = Turn> {
    let size = || prop_oneof![3 => 0usize..200, 2 => 200usize..2000, 1 => 2000usize..9000];
    prop_oneof![
        1 => size().prop_map(Turn::Prompt),
        1 => size().prop_map(Turn::Instruction),
        2 => size().prop_map(Turn::Answer),
        4 => proptest::collection::vec(size(), 1..5).prop_map(Turn::Calls),
    ]
}

fn conversation(turns: &[Turn]) -> Messages {
    let mut messages = Messages::default();
    messages.push(Message::user("the task"));
    for (n, turn) in turns.iter().enumerate() {
        let text = |size: usize| format!("{n} {}", "x".repeat(size));
        match turn {
            Turn::Prompt(size) => messages.push(Message::user(text(*size))),
            Turn::Instruction(size) => messages.push(Message::instruction(text(*size), "somebody")),
            Turn::Answer(size) => messages.push(Message::assistant(Response::text(text(*size)))),
            Turn::Calls(sizes) => {
                // Models use the same names for calls again and again.
                let calls: Vec<_> = (0..sizes.len()).map(|one| call(&format!("call-{one}"))).collect();
                messages.push(Message::assistant(Response { calls: calls.clone(), ..Response::default() }));
                for (call, size) in calls.into_iter().zip(sizes) {
                    messages.push(Message::tool(call, ToolResult::done(text(*size))));
                }
            }
        }
    }
    messages
}

/// Whether each call is followed by its result, and each result follows its call.
fn is_paired(messages: &Messages) -> bool {
    let mut open: Vec<String> = Vec::new();
    for message in messages.iter() {
        match message {
            Message::Tool { call_id, .. } => {
                if open.is_empty() || open.remove(0) != **call_id {
                    return false;
                }
            }
            Message::User { .. } | Message::Instruction { .. } | Message::Assistant { .. } if !open.is_empty() => {
                return false;
            }
            Message::Assistant { calls, .. } => open = calls.iter().map(|call| call.id.to_string()).collect(),
            Message::User { .. } | Message::Instruction { .. } => {}
        }
    }
    open.is_empty()
}

/// The numbers of the turns that are still told of, in order.
fn numbers(messages: &Messages) -> Vec<usize> {
    let number = |message: &Message| message.text().split(' ').next().and_then(|word| word.parse().ok());
    messages.iter().filter_map(number).collect()
}

fn compact(knobs: &Summarisation, messages: Messages, twice: &mut Option<Messages>) -> Messages {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let run = scope(&Hooks::default());
        let mut state = AgentState::default();
        *state.messages_mut() = messages;
        let once = knobs.compact(&run, &mut state, "").await.expect("the summariser never fails");
        *state.messages_mut() = once.clone();
        *twice = Some(knobs.compact(&run, &mut state, "").await.expect("the summariser never fails"));
        once
    })
}

fn check(turns: &[Turn], knobs: &Summarisation) -> Result<(), TestCaseError> {
    let before = conversation(turns);
    prop_assert!(is_paired(&before));
    let mut twice = None;
    let after = compact(knobs, before.clone(), &mut twice);

    prop_assert!(is_paired(&after), "a call without its result, or the other way round: {after:?}");
    prop_assert!(after.estimated_tokens() <= knobs.target_tokens(), "{} tokens", after.estimated_tokens());
    prop_assert_eq!(after.get(0).map(Message::text), Some("the task"));
    let latest = |messages: &Messages| {
        messages
            .iter()
            .rev()
            .find(|message| matches!(message, Message::User { .. }))
            .map(|message| message.text().chars().take(9).collect::<String>())
    };
    prop_assert_eq!(latest(&after), latest(&before), "the latest prompt is still the latest");
    let told = numbers(&after);
    prop_assert!(told.is_sorted(), "out of order: {told:?}");
    if before.estimated_tokens() > knobs.target_tokens() {
        prop_assert!(after.len() <= before.len() + 1);
    }
    prop_assert_eq!(Some(after), twice, "once is enough");
    Ok(())
}

proptest! {
    #[test]
    fn pairs_stay_whole_order_is_kept_the_target_is_met_and_once_is_enough(
        turns in proptest::collection::vec(turn(), 0..60),
        keep_recent in 0usize..30,
        keep_tool_results in proptest::option::of(0usize..6),
        point in any::<bool>(),
        target in 0.1f64..0.9,
    ) {
        let scribe = Scribe::default();
        let knobs = Summarisation {
            trigger: Trigger::Tokens(4000),
            target,
            repeated: if point { Repeated::Point } else { Repeated::Keep },
            keep_tool_results,
            keep_recent,
            summariser: scribe.summariser(),
            offload: None,
            ..Summarisation::default()
        };
        check(&turns, &knobs)?;
    }
}
