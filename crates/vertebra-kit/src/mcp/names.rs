//! What the tools of a server are called in an agent.

use std::collections::HashMap;

use super::McpError;

/// What every provider accepts as a tool's name.
const MAX_BYTES: usize = 64;

/// Checks that a server can be called this. Two underlines end a server's name in that of a tool, so none are in it.
pub(super) fn check_server(name: &str) -> Result<(), McpError> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let inside = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
    if (1..=32).contains(&name.len()) && plain && inside {
        return Ok(());
    }
    let shown: String = name.chars().take(40).collect();
    Err(McpError::Config(format!(
        "`{}` cannot be a server's name: use 1 to 32 letters, digits, `-` and single `_` inside",
        shown.escape_debug()
    )))
}

/// A name for each tool: `mcp__server__tool`, with other characters as underlines.
///
/// A name that is too long, or that two tools would have, ends with a fingerprint of the tool's own name instead. Both
/// of the two get one: which of them is meant by a rule for the plain name must not depend on their order.
pub(super) fn of<'t>(server: &str, tools: impl Iterator<Item = &'t str>) -> Vec<String> {
    let plain: Vec<(&str, String)> = tools.map(|tool| (tool, plain(server, tool))).collect();
    let mut count: HashMap<String, usize> = HashMap::new();
    for (_, name) in &plain {
        // Agents compare names without regard to case.
        *count.entry(name.to_ascii_lowercase()).or_default() += 1;
    }
    let unique = |name: &String| name.len() <= MAX_BYTES && count.get(&name.to_ascii_lowercase()) == Some(&1);
    plain.into_iter().map(|(tool, name)| if unique(&name) { name } else { fingerprinted(&name, tool) }).collect()
}

fn plain(server: &str, tool: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    format!("mcp__{server}__{}", tool.chars().map(clean).collect::<String>())
}

fn fingerprinted(name: &str, tool: &str) -> String {
    let mark = format!("_{:08x}", fingerprint(tool));
    // Names are ASCII by now.
    format!("{}{mark}", &name[..name.len().min(MAX_BYTES - mark.len())])
}

/// FNV-1a: the same on every machine and in every release, which is all that is asked of it.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[&str]) -> Vec<String> {
        of("s", tools.iter().copied())
    }

    #[test]
    fn names_are_made_of_what_providers_accept() {
        assert_eq!(
            names(&["get-time", "get.time/now", "größe"]),
            ["mcp__s__get-time", "mcp__s__get_time_now", "mcp__s__gr__e"]
        );
        let long = names(&[&"x".repeat(100)]);
        assert_eq!(long[0].len(), 64);
        assert!(long[0].starts_with("mcp__s__xxx"), "{long:?}");
    }

    #[test]
    fn two_tools_that_would_share_a_name_both_get_another_whatever_their_order() {
        let (one, other) = (names(&["a.b", "A_b", "c"]), names(&["c", "A_b", "a.b"]));
        assert_eq!(one[2], "mcp__s__c");
        assert!(one[0] != one[1] && one[0].starts_with("mcp__s__a_b_"), "{one:?}");
        assert_eq!([&one[0], &one[1], &one[2]], [&other[2], &other[1], &other[0]]);
    }

    #[test]
    fn a_servers_name_cannot_reach_into_that_of_another() {
        let good = ["a", "a_b", "a-b", "A1"];
        let bad = ["", "a__b", "_a", "a_", "a.b", "a b", "ä", &"a".repeat(33)];
        assert!(
            good.iter().all(|name| check_server(name).is_ok()) && bad.iter().all(|name| check_server(name).is_err())
        );
    }
}
