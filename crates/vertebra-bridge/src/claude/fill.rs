//! Texts of settings with values in place.

/// The text with `$NAME` and `${NAME}` in place.
pub(super) fn expanded(text: &str, value: impl Fn(&str) -> String) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        made.push_str(before);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let braced = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        rest = if let Some((name, after)) = braced.filter(|(name, _)| name.chars().all(is_name)) {
            made.push_str(&value(name));
            after
        } else {
            let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            if name.is_empty() {
                made.push('$');
            } else {
                made.push_str(&value(name));
            }
            after
        };
    }
    made + rest
}

/// The text with `${a.b}` in place.
pub(super) fn braced(text: &str, value: impl Fn(&str) -> String) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        made.push_str(before);
        let Some((path, after)) = after.split_once('}') else {
            return made + "${" + after;
        };
        made.push_str(&value(path));
        rest = after;
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_stand_in_headers_in_both_forms_and_are_empty_unless_named() {
        let value = |name: &str| if name == "TOKEN" { "t".to_owned() } else { String::new() };
        assert_eq!(expanded("Bearer $TOKEN", value), "Bearer t");
        assert_eq!(expanded("${TOKEN}-$OTHER-${OTHER}.", value), "t--.");
        assert_eq!(expanded("5$ and $", value), "5$ and $");
    }
}
