//! What a person sees stays readable, whatever the model, a tool or the window does.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::pty::{Person, Place, bash, say};

/// Orders to a terminal: a title, a colour, an empty screen, the first corner, a link, the clipboard, a question.
const HOSTILE: &str =
    "\x1b]0;owned\x07\x1b[31mred\x1b[2J\x1b[1;1H\x1b]8;;http://evil\x1b\\x\x1b]52;c;eA==\x07\x1b[6n\u{9b}5m\r\u{202e}";

/// Whether every escape sequence in the bytes is one of our own.
fn has_only_our_orders(bytes: &str) -> bool {
    bytes.split('\x1b').skip(1).all(|rest| {
        let Some(rest) = rest.strip_prefix('[') else { return false };
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
        match (&rest[..end], &rest[end..]) {
            ("?2026" | "?25" | "?2004", rest) => rest.starts_with(['h', 'l']),
            (">1" | "<1", rest) => rest.starts_with('u'),
            (number, rest) if rest.starts_with(['A', 'C', 'J']) => number.chars().all(|c| c.is_ascii_digit()),
            (number, rest) => rest.starts_with('m') && number.chars().all(|c| c.is_ascii_digit() || c == ';'),
        }
    })
}

#[test]
fn orders_of_a_model_and_of_a_tool_are_shown_and_not_obeyed() {
    let place = Place::new();
    place.write("hostile.txt", HOSTILE);
    let turns = [
        json!({"think": HOSTILE, "say": format!("Look: {HOSTILE} end"), "call": {"tool": "bash", "args": {"command": format!("cat hostile.txt # {HOSTILE}")}}}),
        say(&format!("{HOSTILE} END")),
    ];
    let mut person = place.sits("run", &turns, &["look"]);
    person.is_asked();
    assert!(person.sees().contains("⟨U+001B⟩"), "{}", person.sees());
    person.types("y");
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let (seen, bytes) = (person.sees(), person.bytes());
    assert!(seen.contains("END") && seen.contains("Look:"), "{seen}");
    assert!(has_only_our_orders(&bytes), "{bytes:?}");
    assert!(!bytes.contains(['\u{7}', '\u{9b}', '\u{202e}']), "{bytes:?}");
}

/// Characters that a terminal draws as nothing, as a space or in another direction.
const UNSEEN: &str =
    "\u{200b}\u{200d}\u{2066}\u{ad}\u{3164}\u{115f}\u{2800}\u{e000}\u{e0041}\u{fe01}\u{feff}\u{ffa0}\u{f0000}";

/// The text of the model, its thoughts, its arguments, the output of a tool, the name of a file and the reason of a hook.
#[test]
fn no_surface_shows_what_a_person_cannot_see() {
    let settings = format!(
        "[[hook]]\nname = \"stop-it\"\npoint = \"BeforeToolUse\"\nmatch = {{ command = 'forbidden' }}\ndeny = \"reason{UNSEEN}\"\n"
    );
    let turns = || {
        vec![
            json!({"think": format!("thought{UNSEEN}"), "say": format!("said{UNSEEN}"), "call": {"tool": "bash", "args": {"command": format!("cat hidden.txt # {UNSEEN}")}}}),
            json!({"call": {"tool": "write_file", "args": {"path": format!("name{UNSEEN}.txt"), "content": format!("written{UNSEEN}\n")}}}),
            json!({"call": {"tool": "bash", "args": {"command": "echo forbidden"}}}),
            say(&format!(
                "# head{UNSEEN}\n\n- item{UNSEEN}\n\n```\ncode{UNSEEN}\n```\n\n| a{UNSEEN} | b |\n|---|---|\n| c | d |\n\nEND{UNSEEN}"
            )),
        ]
    };
    let place = Place::new();
    place.write("hidden.txt", &format!("output{UNSEEN}\n"));
    place.write("vertebra.toml", &settings);
    let mut person = place.sits("run", &turns(), &["--trust", "look"]);
    for tool in ["$ cat", "write_file"] {
        person.waits_for(&format!("┌ {tool}"));
        person.is_asked();
        person.types("y");
    }
    assert_eq!(person.waits_for_the_end(), 0, "{}", person.sees());
    let bytes = person.bytes();
    for word in ["said", "output", "reason", "head", "item", "code", "END", "written"] {
        assert!(bytes.contains(word), "{word}:\n{}", person.sees());
    }
    let unseen: Vec<char> = UNSEEN.chars().filter(|c| bytes.contains(*c)).collect();
    assert!(unseen.is_empty(), "{unseen:?}\n{}", person.sees());

    // The same without a terminal.
    let mut command = place.command("run", &turns(), &["--trust", "--mode", "bypass", "look"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().and_then(Child::wait_with_output).expect("a run");
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let unseen: Vec<char> = UNSEEN.chars().filter(|c| told.contains(*c)).collect();
    assert!(unseen.is_empty() && told.contains("END"), "{unseen:?}\n{told}");
}

fn numbered(lines: usize) -> Value {
    let pieces: Vec<String> = (1..=lines).map(|number| format!("- item {number} of the list\n")).collect();
    json!({"stream": pieces, "pause_ms": 40})
}

/// Each item stands there once.
fn has_each_item_once(person: &Person, lines: usize) {
    let seen = person.sees();
    for number in 1..=lines {
        let item = format!("item {number} of");
        assert_eq!(seen.matches(&item).count(), 1, "{item}:\n{seen}");
    }
}

#[test]
fn a_window_may_change_its_size_while_an_answer_streams() {
    let place = Place::new();
    let mut person = place.sits("run", &[numbered(18)], &["count"]);
    person.waits_for("item 4 of");
    person.resizes(50, 30);
    person.waits_for("item 9 of");
    person.resizes(110, 40);
    assert_eq!(person.waits_for_the_end(), 0);
    has_each_item_once(&person, 18);
    assert!(!person.sees().contains('❯'), "{}", person.sees());
    insta::assert_snapshot!("resized", place.anywhere(&person.sees()));
}

#[test]
fn long_lines_are_wrapped_and_cut_and_leave_one_footer() {
    let place = Place::new();
    let long = format!("seq -s '' 1 900; printf '%0300d' 7; echo {}", "x".repeat(150));
    let turns = [bash(&long), say(&format!("{} {}", "word ".repeat(40), "y".repeat(200)))];
    let mut person = place.sits("run", &turns, &["--mode=bypass", "print a lot"]);
    assert_eq!(person.waits_for_the_end(), 0);
    let seen = person.sees();
    assert!(seen.matches('y').count() >= 200, "{seen}");
    insta::assert_snapshot!("long_lines", place.anywhere(&seen));
}

#[test]
fn wide_characters_take_their_room() {
    let place = Place::new();
    let mut person = place.sits("chat", &[say("你好，世界 👨‍👩‍👧 done")], &[]);
    person.waits_for("/help");
    person.types("你好x\x7f世");
    person.waits_for("❯ 你好世");
    let (_, column) = person.cursor();
    assert_eq!(column, 2 + 6);
    person.types("\x1b[D\x7f");
    person.waits_for("❯ 你世");
    person.types("\r");
    person.waits_for("done");
    let seen = person.sees();
    assert!(seen.contains("你好，世界"), "{seen}");
}

#[test]
fn without_colours_there_are_none() {
    let place = Place::new();
    let mut command = place.command("run", &[bash("true"), say("**bold** `code`")], &["--mode=bypass", "go"]);
    let mut person = Person::sit(command.env("NO_COLOR", "1"));
    assert_eq!(person.waits_for_the_end(), 0);
    let coloured = person.bytes().split("\x1b[").skip(1).any(|rest| {
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        rest[end..].starts_with('m')
    });
    assert!(!coloured, "{:?}", person.bytes());
    assert!(person.sees().contains("bold"), "{}", person.sees());
}

#[test]
fn a_long_output_is_counted_whole_and_the_screen_says_where_it_is() {
    let place = Place::new();
    let mut person = place.sits("run", &[bash("seq 1 60000"), say("All counted.")], &["--mode=bypass", "count"]);
    assert_eq!(person.waits_for_the_end(), 0);
    let shown = person.sees();
    assert!(shown.contains("… 59995 more lines"), "{shown}");
    // A path that is wrapped is still one path.
    let joined: String = shown.lines().map(str::trim).collect();
    assert!(joined.contains("all of it: ") && joined.contains("/.local/state/vertebra/outputs/session-"), "{shown}");
    assert!(!shown.contains("left out here") && !shown.contains("the whole output"), "{shown}");
}
