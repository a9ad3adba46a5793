//! The footer while a run is under way.

use std::{sync::Arc, time::Duration};

use vertebra::{CallInSight, Channel, News, RunEvent, ToolCall, ToolResult, Usage};

use super::{Aside, Paper, for_output, people};

fn event(news: News) -> RunEvent {
    RunEvent { run_id: "run".into(), agent: "coder".into(), depth: 0, news }
}

fn says(channel: Channel, text: &str) -> News {
    News::Delta { channel, text: text.to_owned(), call: None }
}

fn writes(index: u32, tool: &str, text: &str) -> News {
    let call = Some(CallInSight { index, tool: tool.into() });
    News::Delta { channel: Channel::Call, text: text.to_owned(), call }
}

/// The footer after each of these, with so many seconds between them.
fn footers(width: usize, news: impl IntoIterator<Item = (u64, News)>) -> (String, Paper) {
    let (showing, clock) = people(false);
    let (mut view, mut paper) = (for_output(&showing), Paper::of_width(width));
    let mut seen = String::new();
    for (seconds, news) in news {
        view.show(&event(news), &mut paper);
        clock.advance(Duration::from_secs(seconds));
        view.tick(&mut paper);
        seen += &(paper.footer.join("\n") + "\n--\n");
    }
    (seen, paper)
}

#[test]
fn the_footer_shows_the_work_its_duration_and_its_cost() {
    let bash = ToolCall::from_text("1", "bash", r#"{"command": "cargo test"}"#);
    let (seen, paper) = footers(
        60,
        [
            (2, News::Step { step: 1 }),
            (3, says(Channel::Reasoning, "The tests fail because\nthe clock ")),
            (
                0,
                says(
                    Channel::Reasoning,
                    "stands still. Perhaps I should look at how time is told before I change anything.",
                ),
            ),
            (1, says(Channel::Text, "I run the **tes")),
            (0, says(Channel::Text, "ts** first.")),
            (0, writes(0, "bash", r#"{"command": "cargo"#)),
            (1, writes(0, "bash", r#" test"}"#)),
            (0, News::Used { usage: Usage { cost_micros: 1_200, ..Usage::tokens(3_400, 120) } }),
            (61, News::ToolBegan { call: bash }),
            (
                1,
                News::ToolSays {
                    call_id: "1".into(),
                    text: "Compiling\nrunning 3 tests\n\u{1b}[2J\ntest a ... ok\ntest b ... ok\n".into(),
                },
            ),
        ],
    );
    insta::assert_snapshot!("footers", seen);
    insta::assert_snapshot!("above-the-footers", paper.written());
}

#[test]
fn a_wait_for_the_provider_is_counted_down() {
    let retry = News::Retry {
        message: "the provider was not reached: connection refused".to_owned(),
        retry: 3,
        wait_ms: 3_500,
        cut_off: false,
    };
    let (seen, paper) = footers(80, [(1, News::Step { step: 1 }), (1, retry.clone()), (4, retry)]);
    assert!(seen.contains("↻ the provider was not reached: connection refused"), "{seen}");
    assert!(seen.contains("trying again in 3 s · retry 3"), "{seen}");
    // When the wait is over, the model is asked, and why it is asked again stays there.
    let footer = paper.footer.concat();
    assert!(footer.contains("waiting for the model") && footer.contains("retry 3"), "{seen}");
    assert!(footer.contains("↻ the provider was not reached: connection refused"), "{seen}");
    assert!(!paper.written().contains("connection refused"), "nothing of it stays: {}", paper.written());
}

#[test]
fn a_long_message_that_waits_still_says_when_it_is_sent() {
    let (showing, _) = people(false);
    let (mut view, mut paper) = (for_output(&showing), Paper::of_width(50));
    view.show(&event(News::Step { step: 1 }), &mut paper);
    view.aside(Aside { keys: String::new(), waiting: vec!["and then ".repeat(20)] }, &mut paper);
    let last = paper.footer.last().expect("a footer");
    assert!(last.starts_with("› and then") && last.ends_with("… (sent at the next step)"), "{last}");
}

#[test]
fn several_calls_run_side_by_side() {
    let call = |id: &str, command: &str| News::ToolBegan {
        call: ToolCall::from_text(id, "bash", &format!(r#"{{"command": "{command}"}}"#)),
    };
    let news = [
        (1, call("1", "cargo test")),
        (1, call("2", "cargo doc --workspace --no-deps --document-private-items --all-features")),
        (1, News::ToolSays { call_id: "1".into(), text: "one\ntwo\n".into() }),
    ];
    let (seen, _) = footers(60, news);
    insta::assert_snapshot!("side-by-side", seen.split("--\n").nth(2).unwrap_or_default());
}

#[test]
fn the_footer_shows_the_keys_and_the_unread_messages() {
    let (showing, _) = people(false);
    let (mut view, mut paper) = (for_output(&showing), Paper::of_width(60));
    view.aside(Aside { keys: "esc to stop".into(), waiting: vec!["and in\nFrench".into()] }, &mut paper);
    assert!(paper.footer.is_empty(), "no run is under way");
    view.show(&event(News::Step { step: 1 }), &mut paper);
    assert_eq!(
        paper.footer,
        ["⠋ waiting for the model · 0 s · esc to stop", "› and in French (sent at the next step)"]
    );
}

#[test]
fn the_screen_follows_the_answer_and_a_new_width() {
    let (showing, _) = people(false);
    let (mut view, mut paper) = (for_output(&showing), Paper::of_width(41));
    let text = "Words that flow and flow until the row is full and then some more of them follow";
    for word in text.split_inclusive(' ') {
        view.show(&event(says(Channel::Text, word)), &mut paper);
    }
    assert_eq!(paper.all, "Words that flow and flow until the row\n");
    assert_eq!(paper.footer[..2], ["is full and then some more of them", "follow"]);
    paper.width = 21;
    view.tick(&mut paper);
    assert_eq!(paper.footer[..3], ["is full and then", "some more of them", "follow"]);
    view.end(&mut paper);
    assert_eq!(paper.all, "Words that flow and flow until the row\nis full and then\nsome more of them\nfollow\n");
}

#[test]
fn a_footer_fits_the_screen() {
    let long = "x".repeat(500);
    let call = ToolCall::from_text("1", "bash", &format!(r#"{{"command": "{long}"}}"#));
    let id: Arc<str> = "1".into();
    let news = [
        (0, says(Channel::Reasoning, &long)),
        (0, writes(0, "bash", &format!(r#"{{"command": "{long}"#))),
        (0, News::ToolBegan { call }),
        (0, News::ToolSays { call_id: id, text: "宽".repeat(300) }),
        (0, says(Channel::Text, &format!("```\n{long}"))),
    ];
    let (seen, _) = footers(30, news);
    for line in seen.lines() {
        assert!(crate::view::text::width(line) <= 30, "{line}");
    }
}

#[test]
fn children_at_work_side_by_side_are_told_apart() {
    let (showing, clock) = people(false);
    let (mut view, mut paper) = (for_output(&showing), Paper::of_width(60));
    let spawn = |id: &str, agent: &str| {
        let args = format!(r#"{{"agent": "{agent}", "prompt": "Read."}}"#);
        event(News::ToolBegan { call: ToolCall::from_text(id, "spawn_subagent", &args) })
    };
    let read = |run: &str, agent: &str, path: &str| {
        let call = ToolCall::from_text("1", "read_file", &format!(r#"{{"path": "{path}"}}"#));
        let result = ToolResult::done("     1\tx\n");
        let of_child = |news| RunEvent { run_id: run.into(), agent: agent.into(), depth: 1, news };
        [of_child(News::ToolBegan { call: call.clone() }), of_child(News::ToolEnded { call, result })]
    };
    let [scout_begins, scout_ends] = read("a", "scout", "a.rs");
    let [clerk_begins, clerk_ends] = read("b", "clerk", "b.rs");
    let [again_begins, again_ends] = read("a", "scout", "c.rs");
    for event in [spawn("1", "scout"), spawn("2", "clerk"), scout_begins, clerk_begins] {
        view.show(&event, &mut paper);
    }
    clock.advance(Duration::from_secs(3));
    view.tick(&mut paper);
    assert_eq!(
        paper.footer,
        [
            "⠋ spawn_subagent scout: Read. · 3 s",
            "⠋ spawn_subagent clerk: Read. · 3 s",
            "  ⠋ read_file a.rs · 3 s",
            "  ⠋ read_file b.rs · 3 s",
            "",
            "⠋ working · 3 s"
        ]
    );
    for event in [scout_ends, clerk_ends, again_begins, again_ends] {
        view.show(&event, &mut paper);
    }
    assert_eq!(
        paper.all.lines().collect::<Vec<_>>(),
        [
            "◆ spawn_subagent scout: Read.",
            "│ ✓ read_file a.rs · 1 line",
            "",
            "◆ spawn_subagent clerk: Read.",
            "│ ✓ read_file b.rs · 1 line · clerk",
            "│ ✓ read_file c.rs · 1 line · scout"
        ]
    );
}
