//! Where two requests differ first.

use std::fmt;

use serde_json::Value;

/// How much is shown of a value, in characters.
const SHOWN: usize = 120;

/// How much is shown of what is equal before a difference.
const BEFORE: usize = 40;

/// What is looked at first: what holds for the whole conversation tells more than what is in it.
const ORDER: [&str; 3] = ["model", "system_prompt", "tools"];

/// The first place where two values differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    path: String,
    recorded: String,
    asked: String,
}

impl Difference {
    pub(super) fn first(recorded: &Value, asked: &Value) -> Option<Self> {
        find(&mut String::new(), Some(recorded), Some(asked))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "all of it" } else { self.path.trim_start_matches('.') };
        write!(f, "at {path}\n  recorded: {}\n  asked:    {}", self.recorded, self.asked)
    }
}

fn find(path: &mut String, recorded: Option<&Value>, asked: Option<&Value>) -> Option<Difference> {
    if recorded == asked {
        return None;
    }
    let mut within = |step: String, recorded: Option<&Value>, asked: Option<&Value>| {
        let length = path.len();
        path.push_str(&step);
        let found = find(path, recorded, asked);
        path.truncate(length);
        found
    };
    match (recorded, asked) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort_by_key(|key| (ORDER.iter().position(|first| first == key).unwrap_or(ORDER.len()), *key));
            keys.into_iter().find_map(|key| within(format!(".{key}"), one.get(key), other.get(key)))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let longer = one.len().max(other.len());
            (0..longer).find_map(|at| within(format!("[{at}]"), one.get(at), other.get(at)))
        }
        (recorded, asked) => {
            let (recorded, asked) = (text(recorded), text(asked));
            let equal = recorded.chars().zip(asked.chars()).take_while(|(one, other)| one == other).count();
            let path = path.clone();
            Some(Difference { path, recorded: around(&recorded, equal), asked: around(&asked, equal) })
        }
    }
}

fn text(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

/// The part of a text where the difference is.
fn around(text: &str, equal: usize) -> String {
    let from = equal.saturating_sub(BEFORE);
    let mut rest = text.chars().skip(from);
    let shown: String = rest.by_ref().take(SHOWN).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check([recorded, asked]: [Value; 2], expected: &str) {
        let told = Difference::first(&recorded, &asked).map(|difference| difference.to_string());
        assert_eq!(told.unwrap_or_default(), expected);
    }

    #[test]
    fn the_first_difference_is_told_with_its_place() {
        check([json!({"a": 1}), json!({"a": 1})], "");
        check([json!({"a": [1, {"b": 2}]}), json!({"a": [1, {"b": 3}]})], "at a[1].b\n  recorded: 2\n  asked:    3");
        check([json!({"a": [1]}), json!({"a": [1, 2]})], "at a[1]\n  recorded: nothing\n  asked:    2");
        check([json!(1), json!("1")], "at all of it\n  recorded: 1\n  asked:    \"1\"");
    }

    #[test]
    fn what_holds_for_the_whole_conversation_comes_first() {
        let request = |prompt, text| json!({"messages": [text], "system_prompt": prompt});
        let told = "at system_prompt\n  recorded: \"be brief\"\n  asked:    \"be long\"";
        check([request("be brief", "a"), request("be long", "b")], told);
    }

    #[test]
    fn of_a_long_text_the_part_is_shown_where_it_differs() {
        let long = |middle: &str| json!(format!("{}{middle}{}", "a".repeat(1000), "z".repeat(1000)));
        let told = Difference::first(&long("ONE"), &long("TWO")).expect("a difference").to_string();
        let (a, z) = ("a".repeat(40), "z".repeat(77));
        assert_eq!(told, format!("at all of it\n  recorded: …{a}ONE{z}…\n  asked:    …{a}TWO{z}…"));
    }
}
