//! Finds tools by words. The same question gets the same answer, in the same order.

use std::cmp::Reverse;

use serde_json::Value;
use vertebra::ToolSpec;

/// How many words of a question count.
const MAX_WORDS: usize = 32;

/// What a word is worth, by where it stands.
const IN_NAME: u32 = 8;
const PART_OF_NAME: u32 = 4;
const IN_DESCRIPTION: u32 = 2;
const IN_PARAMETERS: u32 = 1;

/// The words of a question.
pub(super) struct Words(Vec<String>);

impl Words {
    pub(super) fn new(query: &str) -> Self {
        let mut words: Vec<String> = words(query).take(MAX_WORDS).collect();
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    /// The tools that any of the words speaks for: those first that more words speak for, and louder.
    pub(super) fn find<'t>(&self, tools: &'t [ToolSpec]) -> Vec<&'t ToolSpec> {
        let mut hits: Vec<(u32, &ToolSpec)> = tools.iter().map(|spec| (self.score(spec), spec)).collect();
        hits.retain(|(score, _)| *score > 0);
        hits.sort_by_key(|(score, spec)| (Reverse(*score), spec.name.clone()));
        hits.into_iter().map(|(_, spec)| spec).collect()
    }

    fn score(&self, spec: &ToolSpec) -> u32 {
        let name = spec.name.to_lowercase();
        let named: Vec<String> = words(&spec.name).chain(spec.aliases.iter().flat_map(|alias| words(alias))).collect();
        let described: Vec<String> = words(&spec.description).collect();
        let parameters: Vec<String> =
            parameters(&spec.schema).into_iter().flat_map(|text| words(&text).collect::<Vec<_>>()).collect();
        let worth = |word: &String| {
            if named.contains(word) {
                IN_NAME
            } else if word.len() > 2 && name.contains(&**word) {
                PART_OF_NAME
            } else if described.contains(word) {
                IN_DESCRIPTION
            } else if parameters.contains(word) {
                IN_PARAMETERS
            } else {
                0
            }
        };
        self.0.iter().map(worth).sum()
    }
}

/// Lower-case words, also those inside `snake_case`, `kebab-case` and `camelCase`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut split = String::with_capacity(text.len());
    let mut before_is_lower = false;
    for letter in text.chars() {
        if letter.is_uppercase() && before_is_lower {
            split.push(' ');
        }
        before_is_lower = letter.is_lowercase();
        split.extend(letter.to_lowercase());
    }
    let words: Vec<String> =
        split.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    words.into_iter()
}

/// The names and descriptions of a tool's arguments.
fn parameters(schema: &Value) -> Vec<String> {
    let arguments = schema["properties"].as_object().into_iter().flatten();
    arguments
        .flat_map(|(name, about)| [name.clone(), about["description"].as_str().unwrap_or_default().to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(query: &str) -> Vec<String> {
        let schema = json!({"properties": {"recipient": {"description": "Whom to write to"}}});
        let tools = [
            ToolSpec::new("calendar_add", "Adds an event"),
            ToolSpec::new("mailSend", "Sends a letter").schema(schema),
            ToolSpec::new("mail_list", "Lists letters"),
            ToolSpec::new("postmailer", "Prints"),
        ];
        Words::new(query).find(&tools).into_iter().map(|spec| spec.name.to_string()).collect()
    }

    #[test]
    fn names_count_more_than_descriptions_and_those_more_than_arguments() {
        assert_eq!(found("send mail"), ["mailSend", "mail_list", "postmailer"]);
        assert_eq!(found("letter"), ["mailSend"]);
        assert_eq!(found("Recipient"), ["mailSend"]);
        assert_eq!(found("event mail"), ["mailSend", "mail_list", "postmailer", "calendar_add"]);
    }

    #[test]
    fn a_word_said_twice_counts_once_and_nonsense_finds_nothing() {
        assert_eq!(found("event event event"), ["calendar_add"]);
        assert!(found("zzz !! ***").is_empty());
        assert!(found("").is_empty());
    }
}
