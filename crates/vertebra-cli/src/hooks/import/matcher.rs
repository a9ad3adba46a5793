//! Converts matchers of Claude Code to our tool patterns.

/// The old and the new name of a tool. A matcher for one also matches the other.
const RENAMED: [&str; 2] = ["Task", "Agent"];

/// Converts a matcher to a pattern. In Claude Code commas also separate names, and anything else is a regex.
pub(super) fn as_pattern(matcher: &str) -> String {
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "_- ,|".contains(letter);
    if !matcher.chars().all(is_of_a_name) {
        let twin = with_words(matcher, |word| RENAMED.iter().find(|other| RENAMED.contains(&word) && **other != word));
        let either = if twin == matcher { matcher.to_owned() } else { format!("{matcher}|{twin}") };
        // There a regex may match anywhere in a name; here it must match the whole name.
        return format!("/.*(?:{either}).*/");
    }
    let names = matcher.split([',', '|']).map(str::trim).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = names.collect();
    if names.iter().any(|name| RENAMED.contains(name)) {
        names.extend(RENAMED.iter().filter(|name| !names.contains(name)).copied().collect::<Vec<_>>());
    }
    names.join("|")
}

/// Replaces words in a text.
fn with_words(text: &str, other: impl Fn(&str) -> Option<&&'static str>) -> String {
    let is_of_a_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut made = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_a_word) {
        let end = rest[start..].find(|letter| !is_of_a_word(letter)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        made.push_str(&rest[..start]);
        made.push_str(other(word).copied().unwrap_or(word));
        rest = &rest[end..];
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_tool_is_matched_by_both_names() {
        for (matcher, pattern) in [
            ("Bash", "Bash"),
            ("Edit, Write", "Edit|Write"),
            ("Task", "Task|Agent"),
            ("Agent|Bash", "Agent|Bash|Task"),
            ("^Task$", "/.*(?:^Task$|^Agent$).*/"),
            ("Multi.*", "/.*(?:Multi.*).*/"),
            ("mcp__.*__TaskList", "/.*(?:mcp__.*__TaskList).*/"),
        ] {
            assert_eq!(as_pattern(matcher), pattern);
        }
    }
}
